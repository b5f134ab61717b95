//! Chat Completions, as strict as the strictest server of it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::reply::{Pieces, Reply, Step, fragments, words};
use super::{Recorded, Rules};

/// Fields that some server takes; anything else is a mistake.
const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "store",
    "prompt_cache_key",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "chat_template_kwargs",
    "temperature",
    "top_p",
];

pub(super) fn check(request: &Recorded, rules: &Rules) -> Result<(), String> {
    let body = &request.body;
    let fields = body.as_object().ok_or("the body is no object")?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("Unrecognized request argument supplied: {unknown}"));
    }
    if body["model"].as_str().unwrap_or_default().is_empty() {
        return Err("you must provide a model parameter".into());
    }
    if body["stream"] != json!(true) {
        return Err("this server only streams".into());
    }
    let limit = body["max_tokens"].as_u64().or_else(|| body["max_completion_tokens"].as_u64());
    if limit.unwrap_or(0) == 0 {
        return Err("max_tokens must be a positive integer".into());
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        let function = &tool["function"];
        if tool["type"] != "function" || !function["parameters"].is_object() {
            return Err(format!("Invalid tool: {tool}"));
        }
    }
    if body.get("tools").is_some_and(|tools| tools.as_array().is_none_or(Vec::is_empty)) {
        return Err("[] is too short - 'tools'".into());
    }
    check_messages(body["messages"].as_array().map_or(&[][..], Vec::as_slice), rules)
}

fn check_messages(messages: &[Value], rules: &Rules) -> Result<(), String> {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let place = |what: String| format!("messages[{index}]: {what}");
        let at = |what: &str| Err(place(what.to_owned()));
        if role != "tool" && !open.is_empty() {
            return at(&format!("tool_call_ids did not have response messages: {open:?}"));
        }
        match role {
            "system" if index > 0 => return at("System message must be at the beginning"),
            "system" | "user" => {
                check_content(&message["content"]).map_err(place)?;
                if role == "user" && before == "user" && rules.alternate {
                    return at("Conversation roles must alternate user/assistant/user/assistant");
                }
            }
            "assistant" => {
                if before == "assistant" && rules.alternate {
                    return at("Conversation roles must alternate user/assistant/user/assistant");
                }
                open = check_answer(message).map_err(place)?;
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    return at(&format!("role 'tool' must answer a preceding call, not {id:?}"));
                }
                if message["content"].as_str().unwrap_or_default().is_empty() {
                    return at("content of a tool message must not be empty");
                }
            }
            other => return at(&format!("'{other}' is not one of the roles")),
        }
        before = role;
    }
    if !open.is_empty() {
        return Err(format!("tool_call_ids did not have response messages: {open:?}"));
    }
    if !matches!(before, "user" | "tool") {
        return Err("the last message must be the user's or a tool's".into());
    }
    Ok(())
}

fn check_content(content: &Value) -> Result<(), String> {
    match content {
        Value::String(text) if !text.trim().is_empty() => Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts.iter().try_for_each(|part| {
            let url = part["image_url"]["url"].as_str().unwrap_or_default();
            match part["type"].as_str() {
                Some("text") if !part["text"].as_str().unwrap_or_default().trim().is_empty() => {
                    Ok(())
                }
                Some("image_url") if url.starts_with("data:image/") => Ok(()),
                _ => Err(format!("Invalid content part: {part}")),
            }
        }),
        _ => Err(format!("Invalid content: {content}")),
    }
}

/// The ids of the calls of an assistant message.
fn check_answer(message: &Value) -> Result<BTreeSet<String>, String> {
    let mut ids = BTreeSet::new();
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if id.is_empty() || !ids.insert(id.to_owned()) {
            return Err(format!("Duplicate or empty tool call id {id:?}"));
        }
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
            return Err(format!("arguments of {id} are not a JSON object: {arguments}"));
        }
        if call["function"]["name"].as_str().unwrap_or_default().is_empty() {
            return Err(format!("call {id} has no name"));
        }
    }
    match &message["content"] {
        Value::Null if !calls.is_empty() => {}
        Value::String(text) if !text.trim().is_empty() => {}
        other => return Err(format!("Invalid content of an assistant message: {other}")),
    }
    Ok(ids)
}

pub(super) fn render(reply: &Reply) -> Pieces {
    let mut pieces = Pieces::default();
    pieces.event(&chunk(json!({"role": "assistant", "content": ""}), None));
    let mut calls = 0;
    for step in &reply.steps {
        match step {
            Step::Text(text) => {
                words(text).for_each(|word| pieces.event(&chunk(json!({"content": word}), None)));
            }
            Step::Thinking(text) => words(text).for_each(|word| {
                pieces.event(&chunk(json!({"reasoning_content": word}), None));
            }),
            Step::Call { id, name, arguments } => {
                let call = json!({"index": calls, "id": id, "type": "function",
                    "function": {"name": name, "arguments": ""}});
                pieces.event(&chunk(json!({"tool_calls": [call]}), None));
                for fragment in fragments(arguments) {
                    let call = json!({"index": calls, "function": {"arguments": fragment}});
                    pieces.event(&chunk(json!({"tool_calls": [call]}), None));
                }
                calls += 1;
            }
            Step::Error(message) => {
                pieces.event(&json!({"error": {"message": message, "type": "server_error"}}));
            }
            Step::Hold(gate) => pieces.hold(gate),
            Step::Raw(text) => pieces.raw(text),
            Step::Finish(reason) => {
                pieces.event(&chunk(json!({}), Some(reason)));
                if let Some(tokens) = reply.usage {
                    let usage = json!({"prompt_tokens": tokens.input, "completion_tokens": tokens.output,
                        "total_tokens": tokens.input + tokens.output,
                        "prompt_tokens_details": {"cached_tokens": tokens.cached}});
                    pieces.event(&json!({"choices": [], "usage": usage}));
                }
                pieces.raw("data: [DONE]\n\n");
            }
        }
    }
    pieces
}

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]})
}
