//! A conversation as plain text for a model that summarises it (SPEC C16). Pure.
//!
//! It takes messages as a model sees them (roles user, assistant and toolResult) and writes neither
//! images nor signatures. It does not decide which messages are summarised.

use std::sync::Arc;

use crate::message::{Content, Message, ToolCall};

/// Most UTF-16 units of one tool result that a summary gets to read.
pub const TOOL_RESULT_LIMIT: usize = 2_000;

/// The conversation as text: one block for each part of a message, joined by blank lines.
#[must_use]
pub fn serialize_conversation(messages: &[Arc<Message>]) -> String {
    serialize_messages(messages).join("\n\n")
}

/// The same, a text for each message that says anything; joined by blank lines they are the whole.
#[must_use]
pub fn serialize_messages(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().filter_map(|message| serialize_message(message)).collect()
}

fn serialize_message(message: &Message) -> Option<String> {
    let blocks = match message {
        Message::User(user) => labelled("[User]", run_together(&user.content)),
        Message::ToolResult(result) => {
            labelled("[Tool result]", clip_result(run_together(&result.content)))
        }
        Message::Assistant(answer) => {
            let calls: Vec<_> = answer.tool_calls().map(serialize_call).collect();
            [
                labelled("[Assistant thinking]", thinking_of(answer)),
                labelled("[Assistant]", answer.text()),
                labelled("[Assistant tool calls]", calls.join("; ")),
            ]
            .into_iter()
            .flatten()
            .reduce(|before, block| before + "\n\n" + &block)
        }
        _ => None,
    };
    blocks.filter(|text| !text.is_empty())
}

fn labelled(label: &str, text: String) -> Option<String> {
    (!text.is_empty()).then(|| format!("{label}: {text}"))
}

fn thinking_of(answer: &crate::message::AssistantMessage) -> String {
    let thoughts: Vec<_> = answer
        .content
        .iter()
        .filter_map(|block| match block {
            crate::message::Block::Thinking { thinking, .. } => Some(thinking.as_str()),
            _ => None,
        })
        .collect();
    thoughts.join("\n")
}

/// `name(arg=json, …)`.
fn serialize_call(call: &ToolCall) -> String {
    let arguments = match &call.arguments {
        serde_json::Value::Object(fields) => {
            let parts: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
            parts.join(", ")
        }
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    format!("{}({arguments})", call.name)
}

/// The text blocks of a content, without anything between them.
fn run_together(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => {
            blocks.iter().filter_map(crate::message::Block::as_text).collect()
        }
    }
}

/// Cuts a tool result to [`TOOL_RESULT_LIMIT`], and says so. Never splits a character.
fn clip_result(mut text: String) -> String {
    let mut units = 0;
    let mut end = None;
    for (at, character) in text.char_indices() {
        units += character.len_utf16();
        if units > TOOL_RESULT_LIMIT && end.is_none() {
            end = Some((at, units - character.len_utf16()));
        }
    }
    if let Some((end, kept)) = end {
        let more = units - kept;
        text.truncate(end);
        text.push_str(&format!("\n\n[... {more} more characters truncated]"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(messages: Value, expected: &str) {
        let messages: Vec<Arc<Message>> = serde_json::from_value(messages).unwrap();
        assert_eq!(serialize_conversation(&messages), expected);
    }

    #[test]
    fn c16_every_part_has_its_label_and_nothing_else_gets_in() {
        check(
            json!([
                {"role": "user", "content": [
                    {"type": "text", "text": "고쳐 줘"},
                    {"type": "image", "data": "AAAA", "mimeType": "image/png"}
                ]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "thinkingSignature": "secret"},
                    {"type": "thinking", "thinking": "so"},
                    {"type": "text", "text": "Looking."},
                    {"type": "text", "text": "And more."},
                    {"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a b", "limit": 3}},
                    {"type": "toolCall", "id": "2", "name": "ls", "arguments": {}}
                ]},
                {"role": "toolResult", "toolCallId": "1", "toolName": "read",
                 "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
                {"role": "toolResult", "toolCallId": "2", "toolName": "ls", "content": []}
            ]),
            "[User]: 고쳐 줘\n\n\
             [Assistant thinking]: hm\nso\n\n\
             [Assistant]: Looking.\nAnd more.\n\n\
             [Assistant tool calls]: read(path=\"a b\", limit=3); ls()\n\n\
             [Tool result]: xy",
        );
    }

    #[test]
    fn c16_long_results_are_cut_and_say_by_how_much() {
        let cut = |text: String| clip_result(text);
        assert_eq!(cut("x".repeat(2_000)), "x".repeat(2_000));
        let kept = "x".repeat(2_000);
        assert_eq!(cut("x".repeat(2_007)), format!("{kept}\n\n[... 7 more characters truncated]"));
        let split = format!("{}🙂🙂", "x".repeat(1_999));
        let kept = "x".repeat(1_999);
        assert_eq!(cut(split), format!("{kept}\n\n[... 4 more characters truncated]"), "F76");
    }

    #[test]
    fn i12_arguments_that_did_not_parse_are_shown_as_they_came() {
        check(
            json!([{"role": "assistant", "content": [
                {"type": "toolCall", "id": "1", "name": "write", "arguments": "{\"path\":"}
            ]}]),
            r#"[Assistant tool calls]: write("{\"path\":")"#,
        );
    }
}
