//! OpenAI's Responses, as strict as OpenAI.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::reply::{Pieces, Reply, Step, fragments, words};
use super::{Recorded, SIGNATURE};

const FIELDS: &[&str] = &[
    "model",
    "instructions",
    "input",
    "tools",
    "stream",
    "store",
    "max_output_tokens",
    "prompt_cache_key",
    "reasoning",
    "include",
    "temperature",
    "top_p",
];

pub(super) fn check(request: &Recorded) -> Result<(), String> {
    let body = &request.body;
    let fields = body.as_object().ok_or("the body is no object")?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("Unknown parameter: '{unknown}'."));
    }
    if body["stream"] != json!(true) || body["store"] != json!(false) {
        return Err("this server only streams and stores nothing".into());
    }
    if body["max_output_tokens"].as_u64().unwrap_or(0) < 16 {
        return Err(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16"
                .into(),
        );
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        if tool["type"] != "function"
            || !tool["parameters"].is_object()
            || tool["strict"] != json!(false)
        {
            return Err(format!("Invalid tool: {tool}"));
        }
    }
    let items = body["input"].as_array().filter(|items| !items.is_empty());
    check_items(items.ok_or("Missing required parameter: 'input'.")?)
}

fn check_items(items: &[Value]) -> Result<(), String> {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut reasoned = false;
    for (index, item) in items.iter().enumerate() {
        let at = |what: String| format!("input[{index}]: {what}");
        let kind = item["type"].as_str().unwrap_or("message");
        if kind != "function_call_output" && kind != "function_call" && !open.is_empty() {
            return Err(at(format!("No tool output found for function call {open:?}.")));
        }
        let follows = matches!(kind, "function_call" | "reasoning") || item["role"] == "assistant";
        if reasoned && !follows {
            return Err(at(
                "Item of type 'reasoning' was provided without its required following item.".into(),
            ));
        }
        reasoned = kind == "reasoning";
        match kind {
            "message" => check_message(item).map_err(at)?,
            "reasoning" if item["encrypted_content"] == SIGNATURE => {}
            "reasoning" => return Err(at("The encrypted content could not be verified.".into())),
            "function_call" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                let arguments = item["arguments"].as_str().unwrap_or_default();
                if id.is_empty() || id.len() > 64 || !seen.insert(id.to_owned()) {
                    return Err(at(format!("Invalid or repeated 'call_id': {id:?}")));
                }
                if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
                    return Err(at(format!("arguments are not an object: {arguments}")));
                }
                open.insert(id.to_owned());
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    return Err(at(format!(
                        "No tool call found for function call output with call_id {id}."
                    )));
                }
                check_parts(&item["output"], "input_").map_err(at)?;
            }
            other => return Err(at(format!("Invalid value: '{other}'."))),
        }
    }
    if !open.is_empty() {
        return Err(format!("No tool output found for function call {open:?}."));
    }
    if reasoned {
        return Err(
            "Item of type 'reasoning' was provided without its required following item.".into()
        );
    }
    Ok(())
}

fn check_message(item: &Value) -> Result<(), String> {
    match item["role"].as_str() {
        Some("user") => check_parts(&item["content"], "input_"),
        Some("assistant") => check_parts(&item["content"], "output_"),
        other => Err(format!("Invalid role: {other:?}; the system prompt is in 'instructions'")),
    }
}

fn check_parts(content: &Value, prefix: &str) -> Result<(), String> {
    match content {
        Value::String(text) if !text.trim().is_empty() => Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts.iter().try_for_each(|part| {
            let kind = part["type"].as_str().unwrap_or_default().strip_prefix(prefix);
            let text = part["text"].as_str().unwrap_or_default();
            let url = part["image_url"].as_str().unwrap_or_default();
            match kind {
                Some("text") if !text.trim().is_empty() => Ok(()),
                Some("image") if url.starts_with("data:image/") => Ok(()),
                _ => Err(format!("Invalid content part: {part}")),
            }
        }),
        other => Err(format!("Invalid content: {other}")),
    }
}

pub(super) fn render(reply: &Reply) -> Pieces {
    let mut pieces = Pieces::default();
    if !reply.is_empty() {
        pieces.event(&json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}));
    }
    let mut index = 0;
    for step in &reply.steps {
        let (empty, kind, deltas, whole) = match step {
            Step::Text(text) => (
                json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []}),
                "output_text",
                words(text).map(str::to_owned).collect(),
                json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]}),
            ),
            Step::Thinking(text) => (
                json!({"type": "reasoning", "id": "rs_1", "summary": []}),
                "reasoning_summary_text",
                words(text).map(str::to_owned).collect::<Vec<_>>(),
                json!({"type": "reasoning", "id": "rs_1", "encrypted_content": SIGNATURE, "summary": [{"type": "summary_text", "text": text}]}),
            ),
            Step::Call { id, name, arguments } => (
                json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": ""}),
                "function_call_arguments",
                fragments(arguments),
                json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": arguments}),
            ),
            Step::Error(message) => {
                let error = json!({"code": "server_error", "message": message});
                pieces.event(&json!({"type": "response.failed", "response": {"status": "failed", "error": error}}));
                continue;
            }
            Step::Finish(reason) => {
                finish(&mut pieces, reply, reason);
                continue;
            }
            Step::Hold(gate) => {
                pieces.hold(gate);
                continue;
            }
            Step::Raw(text) => {
                pieces.raw(text);
                continue;
            }
        };
        pieces.event(
            &json!({"type": "response.output_item.added", "output_index": index, "item": empty}),
        );
        for delta in deltas {
            pieces.event(&json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": delta}));
        }
        pieces.event(
            &json!({"type": "response.output_item.done", "output_index": index, "item": whole}),
        );
        index += 1;
    }
    pieces
}

fn finish(pieces: &mut Pieces, reply: &Reply, reason: &str) {
    let usage = reply.usage.map(|tokens| {
        json!({"input_tokens": tokens.input, "input_tokens_details": {"cached_tokens": tokens.cached},
            "output_tokens": tokens.output, "total_tokens": tokens.input + tokens.output})
    });
    let (status, details) = match reason {
        "length" => ("incomplete", json!({"reason": "max_output_tokens"})),
        "content_filter" => ("incomplete", json!({"reason": "content_filter"})),
        _ => ("completed", Value::Null),
    };
    pieces.event(&json!({"type": format!("response.{status}"),
        "response": {"status": status, "incomplete_details": details, "usage": usage}}));
}
