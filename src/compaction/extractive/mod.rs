//! A summary without a model (SPEC section 9): extractive, deterministic, pure.
//!
//! It takes sentences, paths, commands and error lines out of the conversation and sorts them into
//! the sections of S3. It never invents: what it writes itself are labels. It serves the `offline`
//! model, the fallback of C22 and the way out of B7.

mod checkpoint;
mod critical;
mod earlier;
mod lexicon;
mod material;
mod next_steps;
mod sentences;
mod short;

use std::sync::Arc;

pub(crate) use lexicon::reads_as_refusal;

use super::file_ops::{FileOps, upsert_file_blocks};
use super::prompts;
use super::request::without_request;
use super::summary::{BranchInput, CompactionInput, Summary, merge_split_turn};
use super::tokens::Estimator;
use crate::message::Message;
use checkpoint::{Checkpoint, Room, Sifter};
use lexicon::Language;
use material::Item;
use sentences::clip;
use short::short_sentence;

/// From generous to terse; the first that fits is taken.
const ROOMS: [Room; 5] = [
    Room { lines: 12, chars: 280 },
    Room { lines: 8, chars: 200 },
    Room { lines: 6, chars: 140 },
    Room { lines: 4, chars: 90 },
    Room { lines: 2, chars: 60 },
];

/// Most tokens of a summary when nothing else limits it.
const MOST_TOKENS: u64 = 1_600;

/// The summary of a compaction, made without a model.
#[must_use]
pub fn extract_compaction(input: &CompactionInput) -> Summary {
    let messages = || input.history.iter().chain(&input.turn_prefix);
    let ops = FileOps::collect(messages().map(Arc::as_ref), &input.earlier_details);
    let history = material::from_messages(&input.history);
    let prefix = material::from_messages(&input.turn_prefix);
    let previous = input.previous_summary.as_deref().map(without_request);
    let previous = previous.as_deref();
    // The files' blocks come on top and cannot be shortened.
    let blocks = u64::from(Estimator::default().text(&upsert_file_blocks("", &ops)));
    let most = match input.replaces_tokens {
        0 => MOST_TOKENS,
        replaced => MOST_TOKENS.min((replaced * 3 / 4).saturating_sub(blocks)),
    };
    let text = fitting(most, |room| {
        let history = (!history.is_empty()).then(|| checkpoint_text(&history, previous, room));
        let prefix = (!prefix.is_empty()).then(|| prefix_text(&prefix, room));
        merge_split_turn(history.as_deref(), previous, prefix.as_deref())
    });
    let all: Vec<_> = messages().chain(&input.kept).cloned().collect();
    Summary {
        text: upsert_file_blocks(&text, &ops),
        short: Some(short_sentence(&material::from_messages(&all))),
        details: ops.details(),
        extractive: true,
        ..Summary::default()
    }
}

/// The summary of a branch, made without a model.
#[must_use]
pub fn extract_branch(input: &BranchInput) -> Summary {
    let ops = FileOps::collect(input.all.iter().map(Arc::as_ref), &input.earlier_details);
    // Unlike a model, this one has no window: it reads the whole branch, results included.
    let messages: &[Arc<Message>] = if input.all.is_empty() { &input.messages } else { &input.all };
    let items = material::from_messages(messages);
    let text = fitting(MOST_TOKENS, |room| checkpoint_text(&items, None, room));
    Summary {
        text: upsert_file_blocks(&format!("{}\n\n{text}", prompts::branch_preamble()), &ops),
        details: ops.details(),
        extractive: true,
        ..Summary::default()
    }
}

/// What a summary of a serialised conversation is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The sections of S3.
    Checkpoint,
    /// The beginning of a split turn.
    TurnPrefix,
    /// A sentence or two.
    Short,
}

/// A summary of a conversation that was serialised (C16), in at most about `most_tokens`.
#[must_use]
pub fn extract_transcript(
    transcript: &str,
    previous: Option<&str>,
    shape: Shape,
    most_tokens: u64,
) -> String {
    let items = material::from_transcript(transcript);
    let most = most_tokens.min(MOST_TOKENS);
    match shape {
        Shape::Checkpoint => fitting(most, |room| checkpoint_text(&items, previous, room)),
        Shape::TurnPrefix => fitting(most, |room| prefix_text(&items, room)),
        Shape::Short => {
            let mut all: Vec<_> =
                previous.map(|text| Item::Told(text.to_owned())).into_iter().collect();
            all.extend(items);
            short_sentence(&all)
        }
    }
}

/// The most generous text that takes at most `most` tokens; the tersest if none does.
fn fitting(most: u64, make: impl Fn(Room) -> String) -> String {
    let mut text = String::new();
    for room in ROOMS {
        text = make(room);
        if u64::from(Estimator::default().text(&text)) <= most {
            break;
        }
    }
    text
}

fn language_of(items: &[Item]) -> Language {
    Language::of(items.iter().filter_map(|item| match item {
        Item::Asked(text) => Some(text.as_str()),
        _ => None,
    }))
}

fn checkpoint_text(items: &[Item], previous: Option<&str>, room: Room) -> String {
    let language = match language_of(items) {
        Language::English => Language::of(previous.into_iter()),
        Language::Korean => Language::Korean,
    };
    render(&Sifter { items, language, room }.sift(previous))
}

fn render(checkpoint: &Checkpoint) -> String {
    let bullets = |lines: &[String], mark: &str| {
        if lines.is_empty() {
            return "(none)".to_owned();
        }
        lines.iter().map(|line| format!("{mark}{line}")).collect::<Vec<_>>().join("\n")
    };
    let goal = match checkpoint.goal.as_slice() {
        [only] => only.clone(),
        lines => bullets(lines, "- "),
    };
    let numbered: Vec<_> = checkpoint
        .next
        .iter()
        .enumerate()
        .map(|(at, step)| format!("{}. {step}", at + 1))
        .collect();
    [
        ("## Goal", goal),
        ("## Constraints & Preferences", bullets(&checkpoint.constraints, "- ")),
        ("## Progress\n### Done", bullets(&checkpoint.done, "- [x] ")),
        ("### In Progress", bullets(&checkpoint.in_progress, "- [ ] ")),
        ("### Blocked", bullets(&checkpoint.blocked, "- ")),
        ("## Key Decisions", bullets(&checkpoint.decisions, "- ")),
        ("## Next Steps", bullets(&numbered, "")),
        ("## Critical Context", bullets(&checkpoint.critical, "- ")),
    ]
    .map(|(heading, body)| format!("{heading}\n{body}"))
    .join("\n\n")
}

/// The beginning of a split turn, in the sections of its own prompt.
fn prefix_text(items: &[Item], room: Room) -> String {
    let language = language_of(items);
    let sifted = Sifter { items, language, room }.sift(None);
    let request = items.iter().find_map(|item| match item {
        Item::Asked(text) => Some(clip(text, room.chars * 4)),
        _ => None,
    });
    let list = |lines: Vec<String>| {
        if lines.is_empty() { "- (none)".to_owned() } else { format!("- {}", lines.join("\n- ")) }
    };
    let failed = language.pick("Failed", "실패");
    let mut progress = sifted.done;
    progress.extend(sifted.blocked.into_iter().map(|line| format!("{failed}: {line}")));
    let mut context = sifted.decisions;
    context.extend(sifted.constraints);
    context.extend(sifted.critical);
    format!(
        "## Original Request\n{}\n\n## Early Progress\n{}\n\n## Context for What Follows\n{}",
        request.unwrap_or_else(|| "(none)".to_owned()),
        list(progress),
        list(context),
    )
}

#[cfg(test)]
mod tests;
