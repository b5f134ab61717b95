//! Shortens large old tool results by their position, in the model's view only (SPEC S8). Pure; the
//! session file is never touched by it.

use std::sync::Arc;

use crate::message::{Block, Content, Message, ToolResultMessage};
use crate::settings::ContextPruningSettings;

/// The messages with old large tool results trimmed or cleared. Messages that stay are shared.
#[must_use]
pub fn prune_context(
    messages: Vec<Arc<Message>>,
    settings: &ContextPruningSettings,
) -> Vec<Arc<Message>> {
    if !settings.enabled {
        return messages;
    }
    let prunable = prunable_range(&messages, settings.keep_last_assistants);
    let count = messages.len();
    let degrade = |(position, message): (usize, Arc<Message>)| {
        let Message::ToolResult(result) = message.as_ref() else { return message };
        if !prunable.contains(&position) {
            return message;
        }
        let age_ratio = (count - position) as f64 / count as f64;
        match shortened(result, age_ratio, settings) {
            Some(text) => {
                tracing::debug!(
                    position,
                    age_ratio,
                    left = text.len(),
                    "old tool result shortened"
                );
                let content = Content::from_text(text);
                Arc::new(Message::ToolResult(ToolResultMessage { content, ..result.clone() }))
            }
            None => message,
        }
    };
    messages.into_iter().enumerate().map(degrade).collect()
}

/// Positions of messages that may be touched: from the first user message on, up to the last
/// protected assistant turns. An assistant turn is a run of assistant messages and their results.
fn prunable_range(
    messages: &[Arc<Message>],
    keep_last_assistants: usize,
) -> std::ops::Range<usize> {
    let is_user = |message: &Arc<Message>| matches!(**message, Message::User(_));
    let in_turn =
        |message: &Message| matches!(message, Message::Assistant(_) | Message::ToolResult(_));
    let Some(first) = messages.iter().position(is_user) else { return 0..0 };
    let mut end = messages.len();
    let mut turns = 0;
    let mut position = messages.len();
    while turns < keep_last_assistants {
        let Some(last) = messages[..position].iter().rposition(|message| in_turn(message)) else {
            return 0..0;
        };
        position =
            messages[..last].iter().rposition(|message| !in_turn(message)).map_or(0, |at| at + 1);
        end = position;
        turns += 1;
    }
    first..end.max(first)
}

/// What stays of a result of this age; `None` when it stays as it is.
fn shortened(
    result: &ToolResultMessage,
    age_ratio: f64,
    settings: &ContextPruningSettings,
) -> Option<String> {
    let text = only_text(&result.content)?;
    let length = text.chars().count();
    if length < settings.min_prunable_tool_chars {
        return None;
    }
    let shorter = if settings.hard_clear_enabled && age_ratio >= settings.hard_clear_ratio {
        settings.hard_clear_placeholder.clone()
    } else if age_ratio >= settings.soft_trim_ratio && length > settings.soft_trim_max_chars {
        soft_trim(&text, length, settings)?
    } else {
        return None;
    };
    (shorter.chars().count() < length).then_some(shorter)
}

/// The first and the last characters, with a line between them that says what was cut.
fn soft_trim(text: &str, length: usize, settings: &ContextPruningSettings) -> Option<String> {
    let (head, tail) = (settings.soft_trim_head_chars, settings.soft_trim_tail_chars);
    let cut = length.checked_sub(head + tail).filter(|cut| *cut > 0)?;
    let head_end = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().nth(length - tail).map_or(text.len(), |(at, _)| at);
    Some(format!("{}\n[... {cut} characters cut ...]\n{}", &text[..head_end], &text[tail_start..]))
}

/// The text of a content that holds nothing else.
fn only_text(content: &Content) -> Option<String> {
    match content {
        Content::Text(text) => Some(text.clone()),
        Content::Blocks(blocks) => {
            blocks.iter().all(|block| matches!(block, Block::Text { .. })).then(|| content.text())
        }
    }
}
