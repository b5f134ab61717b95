//! Kind `contextPruning`: old tool results in the model's view.

use std::sync::Arc;

use regrow::compaction::context_pruning::prune_context;
use regrow::message::{
    AssistantMessage, Block, Content, Message, ToolCall, ToolResultMessage, UserMessage,
};
use regrow::settings::ContextPruningSettings;
use serde_json::Value;

use crate::cases::{cases, rows};
use crate::tally::Tally;

fn message(value: &Value) -> Arc<Message> {
    let text = value["content"].as_str().unwrap_or_default().to_owned();
    Arc::new(match value["role"].as_str().unwrap() {
        "human" => Message::User(UserMessage { content: Content::Text(text), timestamp: 0 }),
        "tool" => Message::ToolResult(ToolResultMessage {
            content: Content::Text(text),
            ..ToolResultMessage::default()
        }),
        "ai" => {
            let calls = value["toolCalls"].as_array().into_iter().flatten();
            let calls = calls.map(|_| Block::ToolCall(ToolCall::default()));
            let content = std::iter::once(Block::text(text)).chain(calls).collect();
            Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() })
        }
        // The system message stands in their list; it takes a place, and no more.
        _ => Message::Other(Value::Null),
    })
}

/// Settings as the cases write them.
fn pruning(config: &Value) -> ContextPruningSettings {
    let mut settings = ContextPruningSettings::default();
    let count = |value: &Value, target: &mut usize| {
        if let Some(number) = value.as_u64() {
            *target = number as usize;
        }
    };
    settings.enabled = config["enabled"] == true;
    count(&config["keepLastAssistants"], &mut settings.keep_last_assistants);
    count(&config["minPrunableToolChars"], &mut settings.min_prunable_tool_chars);
    count(&config["softTrim"]["maxChars"], &mut settings.soft_trim_max_chars);
    count(&config["softTrim"]["headChars"], &mut settings.soft_trim_head_chars);
    count(&config["softTrim"]["tailChars"], &mut settings.soft_trim_tail_chars);
    let ratio = |value: &Value, target: &mut f64| {
        if let Some(number) = value.as_f64() {
            *target = number;
        }
    };
    ratio(&config["softTrimRatio"], &mut settings.soft_trim_ratio);
    ratio(&config["hardClearRatio"], &mut settings.hard_clear_ratio);
    if let Some(enabled) = config["hardClear"]["enabled"].as_bool() {
        settings.hard_clear_enabled = enabled;
    }
    if let Some(placeholder) = config["hardClear"]["placeholder"].as_str() {
        settings.hard_clear_placeholder = placeholder.to_owned();
    }
    settings
}

fn text_of(message: &Message) -> String {
    match message {
        Message::ToolResult(result) => result.content.text(),
        _ => String::new(),
    }
}

#[test]
fn s8_degraded_results() {
    let mut tally = Tally::new("contextPruning");
    let cases = cases("contextPruning");
    for case in &cases {
        let values = case["input"]["messages"].as_array().unwrap();
        let messages: Vec<_> = values.iter().map(message).collect();
        for row in rows(case) {
            let settings = pruning(&row["config"]);
            let place = format!("{} {}", case["name"], row["config"]);
            let ours = prune_context(messages.clone(), &settings);
            for (index, (before, after)) in messages.iter().zip(&ours).enumerate() {
                let changed = row["expected"]["changed"].as_array().unwrap().iter();
                let theirs = changed.clone().find(|change| change["index"] == index);
                let (before, after) = (text_of(before), text_of(after));
                compare(
                    &mut tally,
                    &format!("{place} #{index}"),
                    &settings,
                    &before,
                    &after,
                    theirs,
                );
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 1_000 });
}

fn compare(
    tally: &mut Tally,
    place: &str,
    settings: &ContextPruningSettings,
    before: &str,
    after: &str,
    theirs: Option<&Value>,
) {
    let (head, tail) = (settings.soft_trim_head_chars, settings.soft_trim_tail_chars);
    let length = before.chars().count();
    let action = if before == after {
        "none"
    } else if after == settings.hard_clear_placeholder {
        "hard"
    } else {
        "soft"
    };
    let expected = theirs.map_or("none", |change| change["action"].as_str().unwrap());
    let would_not_shrink = match expected {
        "hard" => length <= settings.hard_clear_placeholder.chars().count(),
        "soft" => length <= head + tail + 30,
        _ => false,
    };
    if action != expected {
        if head + tail > settings.soft_trim_max_chars && expected == "soft" {
            return tally.except("row 30: head and tail never overlap");
        }
        if settings.keep_last_assistants == 0 && expected == "none" {
            return tally.except("row 27: 0 protects none");
        }
        if would_not_shrink && action == "none" {
            return tally.except("row 30: a result that would not get shorter stays");
        }
        if length != before.encode_utf16().count() {
            return tally.except("S8: characters are Unicode scalar values");
        }
    }
    tally.compare(place, action, expected);
    let Some(text) = theirs.and_then(|change| change["text"].as_str()) else { return };
    if action == "soft" && expected == "soft" && length == before.encode_utf16().count() {
        let first = |text: &str| text.chars().take(head).collect::<String>();
        let last = |text: &str| text.chars().rev().take(tail).collect::<String>();
        tally.compare(place, first(after), first(text));
        tally.compare(place, last(after), last(text));
    }
}
