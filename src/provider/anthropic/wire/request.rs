//! The body of a Messages request.
//!
//! The messages come repaired (X4). Cache marks stand at the ends of what stays the same: the tools,
//! the system prompt, and the last two messages of the person, so that each request finds what the
//! one before it stored.

use serde_json::{Map, Value, json};

use super::thinking::{self, INTERLEAVED};
use crate::message::{AssistantMessage, Block, Content, Message, ToolResultMessage};
use crate::provider::{Request, ToolSpec};

/// A body, and the features of the protocol that it needs named in a header.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// JSON.
    pub body: Map<String, Value>,
    /// For `anthropic-beta`.
    pub betas: Vec<&'static str>,
}

/// The whole body as JSON.
#[must_use]
pub fn body(request: &Request) -> Body {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model.id));
    body.insert("max_tokens".into(), json!(request.max_tokens));
    body.insert("stream".into(), json!(true));
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
        if let Some(last) = tools.last_mut().filter(|_| request.cache) {
            mark(last);
        }
        body.insert("tools".into(), Value::Array(tools));
    }
    if !request.system.is_empty() {
        let mut system = text(&request.system);
        if request.cache {
            mark(&mut system);
        }
        body.insert("system".into(), json!([system]));
    }
    body.insert("messages".into(), Value::Array(messages(request)));
    if !continues_without_thinking(request) {
        body.extend(
            thinking::fields(request).into_iter().map(|(name, value)| (name.into(), value)),
        );
    }
    let thinks = body.contains_key("thinking");
    for (name, value) in &request.parameters {
        // Whoever thinks takes no wishes for chance.
        if !(thinks && matches!(name.as_str(), "temperature" | "top_p" | "top_k")) {
            body.insert(name.clone(), value.clone());
        }
    }
    let betas = if thinking::has_budget(&body) { vec![INTERLEAVED] } else { Vec::new() };
    Body { body, betas }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"name": spec.name, "description": spec.description, "input_schema": spec.parameters})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

/// Whether the request goes on with a turn that was begun without thinking, by another model or
/// level: thinking may not set in between a call and its result.
fn continues_without_thinking(request: &Request) -> bool {
    if !matches!(request.messages.last().map(|last| &**last), Some(Message::ToolResult(_))) {
        return false;
    }
    let answer = request.messages.iter().rev().find_map(|message| match &**message {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    });
    answer.is_some_and(|answer| !matches!(answer.content.first(), Some(Block::Thinking { .. })))
}

/// Messages in turn: what follows an answer, results and words alike, is one message of the person.
fn messages(request: &Request) -> Vec<Value> {
    let mut list: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match &**message {
            Message::User(user) => ("user", content(&user.content)),
            Message::ToolResult(result) => ("user", vec![tool_result(result)]),
            Message::Assistant(answer) => ("assistant", assistant(answer)),
            // Nothing else is left after conversion and repair.
            _ => continue,
        };
        match list.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => list.push((role, blocks)),
        }
    }
    if request.cache {
        let users = list.iter_mut().rev().filter(|(role, _)| *role == "user");
        for (_, blocks) in users.take(2) {
            if let Some(last) = blocks.last_mut() {
                mark(last);
            }
        }
    }
    list.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn content(content: &Content) -> Vec<Value> {
    match content {
        Content::Text(words) => vec![text(words)],
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text { text: words, .. } => Some(text(words)),
                Block::Image(image) => Some(json!({"type": "image", "source": {
                    "type": "base64", "media_type": image.mime_type, "data": image.data}})),
                _ => None,
            })
            .collect(),
    }
}

fn tool_result(result: &ToolResultMessage) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": content(&result.content),
    });
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

fn assistant(answer: &AssistantMessage) -> Vec<Value> {
    answer
        .content
        .iter()
        .filter_map(|block| match block {
            Block::Text { text: words, .. } => Some(text(words)),
            Block::Thinking { thinking_signature: Some(data), redacted: Some(true), .. } => {
                Some(json!({"type": "redacted_thinking", "data": data}))
            }
            Block::Thinking { thinking, thinking_signature: Some(signature), .. } => {
                Some(json!({"type": "thinking", "thinking": thinking, "signature": signature}))
            }
            Block::ToolCall(call) => Some(json!({
                "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})),
            Block::Thinking { .. } | Block::Image(_) | Block::Other(_) => None,
        })
        .collect()
}
