//! From an entry to the node that stands for it in the tree.

use std::sync::Arc;

use super::entry::{EntryBody, LEAF_MARK, SessionEntry};
use super::tree::{AnswerFacts, LineSpan, ModelRef, Node, NodeKind};
use crate::compaction::tokens::Estimator;
use crate::ids::Timestamp;
use crate::message::{Block, Content, Message};

/// Longest preview, in characters.
pub const PREVIEW_CHARS: usize = 120;

/// The node of an entry whose body is at hand.
#[must_use]
pub fn describe(entry: &SessionEntry, estimator: Estimator, span: LineSpan) -> Node {
    Node {
        id: entry.id.clone(),
        kind: kind_of(&entry.body),
        timestamp: entry.timestamp,
        tokens: tokens_of(&entry.body, estimator),
        preview: preview_of(&entry.body).into_boxed_str(),
        span,
    }
}

fn kind_of(body: &EntryBody) -> NodeKind {
    match body {
        EntryBody::Message { message } => kind_of_message(message),
        EntryBody::ModelChange { provider, model_id } => {
            NodeKind::ModelChange(ModelRef::new(provider, model_id))
        }
        EntryBody::ThinkingLevelChange { thinking_level } => {
            NodeKind::ThinkingLevelChange(Arc::from(thinking_level.as_str()))
        }
        EntryBody::Compaction(compaction) => NodeKind::Compaction {
            first_kept: compaction.first_kept_entry_id.clone(),
            tokens_before: compaction.tokens_before,
        },
        EntryBody::BranchSummary(summary) => {
            NodeKind::BranchSummary { from: Some(summary.from_id.clone()) }
        }
        EntryBody::Custom { custom_type, .. } if custom_type == LEAF_MARK => NodeKind::LeafMark,
        EntryBody::Custom { .. } => NodeKind::CustomData,
        EntryBody::CustomMessage { display, .. } => {
            NodeKind::Custom { entry: true, display: *display }
        }
        EntryBody::Label { target_id, label } => {
            NodeKind::Label { target: target_id.clone(), label: label.as_deref().map(Arc::from) }
        }
        EntryBody::SessionInfo { name } => {
            NodeKind::SessionInfo { name: name.as_deref().map(Arc::from) }
        }
        EntryBody::Unknown(_) => NodeKind::Unknown,
    }
}

fn kind_of_message(message: &Message) -> NodeKind {
    match message {
        Message::User(_) => NodeKind::User,
        Message::Assistant(answer) => NodeKind::Assistant(Box::new(AnswerFacts {
            model: ModelRef::new(&answer.provider, &answer.model),
            usage: answer.usage,
            stop: answer.stop_reason,
            tool_calls: u16::try_from(answer.tool_calls().count()).unwrap_or(u16::MAX),
        })),
        Message::ToolResult(result) => NodeKind::ToolResult {
            tool: Arc::from(result.tool_name.as_str()),
            is_error: result.is_error,
            pruned_at: result.pruned_at.map(Timestamp::from_millis),
        },
        Message::BashExecution(run) => {
            NodeKind::BashExecution { excluded: run.exclude_from_context == Some(true) }
        }
        Message::Custom(custom) | Message::HookMessage(custom) => {
            NodeKind::Custom { entry: false, display: custom.display }
        }
        Message::BranchSummary(_) => NodeKind::BranchSummary { from: None },
        Message::CompactionSummary(_) => NodeKind::CompactionSummary,
        Message::FileMention(_) | Message::Other(_) => NodeKind::OtherMessage,
    }
}

fn tokens_of(body: &EntryBody, estimator: Estimator) -> u32 {
    match body {
        EntryBody::Message { message } => estimator.message(message),
        EntryBody::Compaction(compaction) => estimator.text(&compaction.summary),
        EntryBody::BranchSummary(summary) => estimator.text(&summary.summary),
        EntryBody::CustomMessage { content, .. } => estimator.content(content),
        _ => 0,
    }
}

fn preview_of(body: &EntryBody) -> String {
    match body {
        EntryBody::Message { message } => preview_of_message(message),
        EntryBody::ModelChange { provider, model_id } => format!("{provider}/{model_id}"),
        EntryBody::ThinkingLevelChange { thinking_level } => thinking_level.clone(),
        EntryBody::Compaction(compaction) => {
            one_line(compaction.short_summary.as_deref().unwrap_or(&compaction.summary))
        }
        EntryBody::BranchSummary(summary) => one_line(summary_headline(&summary.summary)),
        EntryBody::Custom { custom_type, .. } => custom_type.clone(),
        EntryBody::CustomMessage { content, .. } => preview_of_content(content),
        EntryBody::Label { label, .. } => one_line(label.as_deref().unwrap_or_default()),
        EntryBody::SessionInfo { name } => one_line(name.as_deref().unwrap_or_default()),
        EntryBody::Unknown(fields) => {
            fields.get("type").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        }
    }
}

fn preview_of_message(message: &Message) -> String {
    match message {
        Message::User(user) => preview_of_content(&user.content),
        Message::Assistant(answer) => {
            let text = answer
                .content
                .iter()
                .filter_map(Block::as_text)
                .find(|text| !text.trim().is_empty());
            match (text, answer.tool_calls().next()) {
                (Some(text), _) => one_line(text),
                (None, Some(call)) => one_line(&preview_of_call(&call.name, &call.arguments)),
                (None, None) => one_line(answer.error_message.as_deref().unwrap_or_default()),
            }
        }
        Message::ToolResult(result) => preview_of_content(&result.content),
        Message::BashExecution(run) => one_line(&run.command),
        Message::Custom(custom) | Message::HookMessage(custom) => {
            preview_of_content(&custom.content)
        }
        Message::BranchSummary(summary) => one_line(summary_headline(&summary.summary)),
        Message::CompactionSummary(summary) => one_line(&summary.summary),
        Message::FileMention(_) | Message::Other(_) => String::new(),
    }
}

/// A tool call in a few words: its name and the argument that says most.
#[must_use]
pub fn preview_of_call(name: &str, arguments: &serde_json::Value) -> String {
    let subject = ["command", "pattern", "query", "path", "name"]
        .iter()
        .find_map(|key| arguments.get(key).and_then(serde_json::Value::as_str));
    match subject {
        Some(subject) => format!("{name} {subject}"),
        None => name.to_owned(),
    }
}

fn preview_of_content(content: &Content) -> String {
    match content {
        Content::Text(text) => one_line(text),
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(Block::as_text)
            .find(|text| !text.trim().is_empty())
            .map_or_else(
                || if blocks.is_empty() { String::new() } else { "[image]".to_owned() },
                one_line,
            ),
    }
}

/// The line of a branch summary that says what it is about: the first one of text after the
/// preamble and headings.
#[must_use]
pub fn summary_headline(summary: &str) -> &str {
    let lines = summary.lines().map(str::trim).filter(|line| !line.is_empty());
    let goal =
        lines.clone().skip_while(|line| !(line.starts_with('#') && line.contains("Goal"))).nth(1);
    goal.or_else(|| lines.clone().skip(1).find(|line| !line.starts_with('#')))
        .or_else(|| lines.clone().next())
        .unwrap_or_default()
        .trim_start_matches(['-', '*', ' '])
}

/// The beginning of a text on one line: white space and control characters folded to single blanks.
#[must_use]
pub fn one_line(text: &str) -> String {
    one_line_of(text.chars())
}

/// As [`one_line`], from characters; takes no more of them than it needs.
pub(crate) fn one_line_of(characters: impl Iterator<Item = char>) -> String {
    let mut line = String::new();
    write_one_line(&mut line, characters);
    line
}

/// As [`one_line_of`], added to a text.
pub(crate) fn write_one_line(line: &mut String, characters: impl Iterator<Item = char>) {
    let start = line.len();
    let mut blank = false;
    let mut room = PREVIEW_CHARS;
    for character in characters {
        // Most characters are these; the others are looked up in tables.
        let is_plain = ('!'..='~').contains(&character);
        if !is_plain && (character.is_whitespace() || character.is_control()) {
            blank = line.len() > start;
            continue;
        }
        if room == 0 {
            line.push('…');
            break;
        }
        if blank {
            line.push(' ');
            blank = false;
        }
        line.push(character);
        room -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_previews_are_one_bounded_line() {
        assert_eq!(one_line("  a\n\n\tb\u{1b}c  "), "a b c");
        assert_eq!(one_line(&"가".repeat(500)).chars().count(), PREVIEW_CHARS + 1);
    }

    #[test]
    fn u5_a_branch_is_named_by_its_goal() {
        assert_eq!(
            summary_headline("Preamble.\n\n## Goal\nMacro attempt\n\n## Progress\n- x"),
            "Macro attempt"
        );
        assert_eq!(summary_headline("Preamble.\n\n- Tried a macro"), "Tried a macro");
        assert_eq!(summary_headline("Only this"), "Only this");
    }
}
