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
    let mut line = String::new();
    OneLine::new(&mut line).push_str(text);
    line
}

/// Adds the beginning of a text to a line, as [`one_line`] has it, piece by piece.
pub(crate) struct OneLine<'a> {
    line: &'a mut String,
    start: usize,
    /// Characters that may still come.
    room: usize,
    /// White space came since the last character.
    blank: bool,
    full: bool,
}

impl<'a> OneLine<'a> {
    pub(crate) fn new(line: &'a mut String) -> Self {
        let start = line.len();
        Self { line, start, room: PREVIEW_CHARS, blank: false, full: false }
    }

    /// Whether more text would change nothing.
    pub(crate) const fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() && !self.full {
            // Words of ASCII are copied whole: previews are made of every message of a session.
            let bytes = rest.bytes().take(self.room);
            let word = bytes.take_while(u8::is_ascii_graphic).count();
            if word > 0 {
                self.end_blank();
                self.line.push_str(&rest[..word]);
                self.room -= word;
                rest = &rest[word..];
            } else {
                let mut characters = rest.chars();
                characters.by_ref().take(1).for_each(|character| self.push(character));
                rest = characters.as_str();
            }
        }
    }

    pub(crate) fn push(&mut self, character: char) {
        if character.is_whitespace() || character.is_control() {
            self.blank = self.line.len() > self.start;
        } else if self.room == 0 {
            if !self.full {
                self.line.push('…');
            }
            self.full = true;
        } else {
            self.end_blank();
            self.line.push(character);
            self.room -= 1;
        }
    }

    fn end_blank(&mut self) {
        if std::mem::take(&mut self.blank) {
            self.line.push(' ');
        }
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
