//! Reads a checkpoint that was made before, whoever wrote it, back into its sections.

use super::checkpoint::Checkpoint;
use super::sentences::{clip, without_mark};
use crate::compaction::file_ops::without_file_blocks;
use crate::compaction::request::carry_request;

/// Which section a heading opens.
fn section<'a>(checkpoint: &'a mut Checkpoint, heading: &str) -> &'a mut Vec<String> {
    let heading = heading.to_lowercase();
    let opens = |words: &[&str]| words.iter().any(|word| heading.contains(word));
    if opens(&["goal", "original request", "목표"]) {
        &mut checkpoint.goal
    } else if opens(&["constraint", "preference", "제약"]) {
        &mut checkpoint.constraints
    } else if opens(&["in progress", "진행 중"]) {
        &mut checkpoint.in_progress
    } else if opens(&["blocked", "cancelled", "막힌"]) {
        &mut checkpoint.blocked
    } else if opens(&["done", "progress", "완료"]) {
        &mut checkpoint.done
    } else if opens(&["decision", "결정"]) {
        &mut checkpoint.decisions
    } else if opens(&["next", "다음"]) {
        &mut checkpoint.next
    } else {
        &mut checkpoint.critical
    }
}

/// The sections of a summary; a text without headings goes to the critical context.
pub(super) fn parse(summary: &str, line_limit: usize) -> Checkpoint {
    // The latest request stands among the goals already.
    let text = carry_request(&without_file_blocks(summary), None);
    let mut checkpoint = Checkpoint::default();
    let mut heading = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('#') {
            heading = name.trim_start_matches('#').trim().to_owned();
            continue;
        }
        let content = without_mark(line);
        let is_frame = content.is_empty()
            || matches!(
                content,
                "---" | "(none)" | "No prior history." | "**Turn Context (split turn):**"
            );
        if !is_frame {
            section(&mut checkpoint, &heading).push(clip(content, line_limit));
        }
    }
    checkpoint
}
