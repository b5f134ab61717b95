//! The body of a Responses request. The messages come repaired (X4).

use serde_json::{Map, Value, json};

use crate::message::{AssistantMessage, Block, Content, Message, ToolResultMessage};
use crate::provider::effort::effort;
use crate::provider::{Request, ThinkingLevel, ToolSpec};

/// The least output limit that the protocol takes.
const LEAST_OUTPUT: u64 = 16;

/// The whole body as JSON.
#[must_use]
pub fn body(request: &Request) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    set("model", json!(request.model.id));
    if !request.system.is_empty() {
        set("instructions", json!(request.system));
    }
    set("input", Value::Array(input(request)));
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
    }
    set("stream", json!(true));
    set("store", json!(false));
    set("max_output_tokens", json!(limit(request)));
    if request.cache && !request.session_id.is_empty() {
        set("prompt_cache_key", json!(request.session_id));
    }
    if let Some(reasoning) = reasoning(request) {
        set("reasoning", reasoning);
        set("include", json!(["reasoning.encrypted_content"]));
    }
    for (name, value) in &request.parameters {
        set(name, value.clone());
    }
    body
}

/// The most tokens of output that `request` allows.
#[must_use]
pub fn limit(request: &Request) -> u64 {
    request.max_tokens.max(LEAST_OUTPUT)
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        // Strict schemas would demand every field of every tool.
        "strict": false,
    })
}

fn reasoning(request: &Request) -> Option<Value> {
    if !request.model.reasoning {
        return None;
    }
    let mut reasoning = Map::new();
    if let Some(word) = effort(&request.model.id, request.thinking) {
        reasoning.insert("effort".into(), json!(word));
    }
    if request.thinking != ThinkingLevel::Off {
        reasoning.insert("summary".into(), json!("auto"));
    }
    Some(Value::Object(reasoning))
}

fn input(request: &Request) -> Vec<Value> {
    let mut items = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match &**message {
            Message::User(user) => {
                items.push(json!({"role": "user", "content": parts(&user.content)}));
            }
            Message::Assistant(answer) => items.extend(assistant(answer)),
            Message::ToolResult(result) => items.push(tool_result(result)),
            // Nothing else is left after conversion and repair.
            _ => {}
        }
    }
    items
}

fn parts(content: &Content) -> Vec<Value> {
    let text = |text: &str| json!({"type": "input_text", "text": text});
    match content {
        Content::Text(words) => vec![text(words)],
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text { text: words, .. } => Some(text(words)),
                Block::Image(image) => Some(json!({
                    "type": "input_image",
                    "detail": "auto",
                    "image_url": format!("data:{};base64,{}", image.mime_type, image.data),
                })),
                _ => None,
            })
            .collect(),
    }
}

fn tool_result(result: &ToolResultMessage) -> Value {
    let output = if result.content.images().next().is_some() {
        Value::Array(parts(&result.content))
    } else {
        Value::String(result.content.text())
    };
    json!({"type": "function_call_output", "call_id": result.tool_call_id, "output": output})
}

fn assistant(answer: &AssistantMessage) -> impl Iterator<Item = Value> {
    answer.content.iter().filter_map(|block| match block {
        Block::Text { text, text_signature } => {
            let mut item = json!({"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": text, "annotations": []}]});
            if let Some(phase) = text_signature.as_deref().and_then(phase) {
                item["phase"] = phase;
            }
            Some(item)
        }
        // The signature is the whole item, encrypted reasoning and all.
        Block::Thinking { thinking_signature: Some(signature), .. } => {
            let item: Value = serde_json::from_str(signature).ok()?;
            (item["type"] == "reasoning").then_some(item)
        }
        Block::ToolCall(call) => Some(json!({"type": "function_call", "call_id": call.id,
            "name": call.name, "arguments": call.arguments.to_string()})),
        Block::Thinking { .. } | Block::Image(_) | Block::Other(_) => None,
    })
}

/// Whether a text was a remark on the way or the answer; models want to be told what they meant.
fn phase(signature: &str) -> Option<Value> {
    let signature: Value = serde_json::from_str(signature).ok()?;
    signature.get("phase").filter(|phase| phase.is_string()).cloned()
}
