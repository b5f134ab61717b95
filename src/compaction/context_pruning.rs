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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AssistantMessage, Image, UserMessage};

    fn user() -> Arc<Message> {
        Arc::new(Message::User(UserMessage::default()))
    }

    fn answer() -> Arc<Message> {
        Arc::new(Message::Assistant(AssistantMessage::default()))
    }

    fn result(content: Content) -> Arc<Message> {
        Arc::new(Message::ToolResult(ToolResultMessage { content, ..ToolResultMessage::default() }))
    }

    fn settings() -> ContextPruningSettings {
        ContextPruningSettings {
            enabled: true,
            keep_last_assistants: 1,
            min_prunable_tool_chars: 100,
            soft_trim_max_chars: 200,
            soft_trim_head_chars: 10,
            soft_trim_tail_chars: 5,
            ..ContextPruningSettings::default()
        }
    }

    fn texts(messages: &[Arc<Message>]) -> Vec<String> {
        let text = |message: &Arc<Message>| match &**message {
            Message::ToolResult(result) => Some(result.content.text()),
            _ => None,
        };
        messages.iter().filter_map(text).collect()
    }

    #[test]
    fn s8_old_results_are_cleared_younger_ones_trimmed_the_newest_kept() {
        let long = "가".repeat(250);
        let turn = || [user(), answer(), result(Content::from_text(long.clone()))];
        let messages: Vec<_> = (0..4).flat_map(|_| turn()).collect();
        let pruned = prune_context(messages.clone(), &settings());
        let trimmed =
            format!("{}\n[... 235 characters cut ...]\n{}", "가".repeat(10), "가".repeat(5));
        let cleared = "[Old tool result content cleared]";
        assert_eq!(texts(&pruned), [cleared, cleared, &trimmed, &long]);
        assert!(Arc::ptr_eq(&messages[11], &pruned[11]), "what stays is shared");
        let off = ContextPruningSettings { enabled: false, ..settings() };
        assert_eq!(prune_context(messages, &off), (0..4).flat_map(|_| turn()).collect::<Vec<_>>());
    }

    #[test]
    fn s8_what_is_protected() {
        let old = |text: &str| {
            let messages =
                vec![user(), answer(), result(Content::from_text(text)), user(), answer()];
            texts(&prune_context(messages, &settings())).remove(0)
        };
        assert_eq!(old(&"x".repeat(99)), "x".repeat(99), "small ones");
        assert_eq!(old(&"x".repeat(100)), "[Old tool result content cleared]");
        let image =
            Content::Blocks(vec![Block::text("x".repeat(300)), Block::Image(Image::default())]);
        let messages = vec![user(), answer(), result(image), user(), answer()];
        assert_eq!(prune_context(messages.clone(), &settings()), messages, "images");
        let long = || result(Content::from_text("x".repeat(300)));
        let messages = vec![answer(), long(), user(), answer(), long(), answer(), long()];
        let all = ContextPruningSettings { keep_last_assistants: 0, ..settings() };
        assert_eq!(
            prune_context(messages.clone(), &settings()),
            messages,
            "before the first user, last turn"
        );
        assert_eq!(texts(&prune_context(messages.clone(), &all))[0], "x".repeat(300));
        assert_ne!(prune_context(messages, &all)[4], long(), "0 protects no turn");
    }

    #[test]
    fn s8_a_result_never_grows_and_head_and_tail_never_overlap() {
        let trim = |text: &str, head, tail| {
            let settings = ContextPruningSettings {
                soft_trim_head_chars: head,
                soft_trim_tail_chars: tail,
                hard_clear_enabled: false,
                soft_trim_ratio: 0.0,
                min_prunable_tool_chars: 0,
                soft_trim_max_chars: 5,
                keep_last_assistants: 0,
                ..settings()
            };
            texts(&prune_context(
                vec![user(), answer(), result(Content::from_text(text))],
                &settings,
            ))
            .remove(0)
        };
        let text = "0123456789".repeat(6);
        assert_eq!(trim(&text, 40, 40), text);
        assert_eq!(trim(&text, 30, 10), text, "the note would be longer");
        assert_eq!(trim(&text, 6, 0), "012345\n[... 54 characters cut ...]\n");
        assert_eq!(trim(&"😀가".repeat(40), 1, 1), "😀\n[... 78 characters cut ...]\n가");
    }
}
