//! Anthropic's Messages, as strict as Anthropic.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::reply::{Pieces, Reply, Step, Tokens, fragments, words};
use super::{Recorded, SIGNATURE};

const FIELDS: &[&str] = &[
    "model",
    "max_tokens",
    "stream",
    "tools",
    "system",
    "messages",
    "thinking",
    "output_config",
    "temperature",
    "top_p",
    "top_k",
];

pub(super) fn check(request: &Recorded) -> Result<(), String> {
    let body = &request.body;
    if request.headers.get("anthropic-version").is_none() {
        return Err("anthropic-version: header is required".into());
    }
    let fields = body.as_object().ok_or("the body is no object")?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("{unknown}: Extra inputs are not permitted"));
    }
    let limit = body["max_tokens"]
        .as_u64()
        .filter(|limit| *limit > 0)
        .ok_or("max_tokens: Field required")?;
    if body["stream"] != json!(true) || body["model"].as_str().unwrap_or_default().is_empty() {
        return Err("this server needs a model and only streams".into());
    }
    if body["thinking"]["type"] == "enabled" {
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        if budget < 1_024 || budget >= limit {
            return Err(
                "`max_tokens` must be greater than `thinking.budget_tokens` (>= 1024)".into()
            );
        }
        if body.get("temperature").is_some() {
            return Err("`temperature` may only be set to 1 when thinking is enabled".into());
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        if !tool["input_schema"].is_object() || !tool["name"].is_string() {
            return Err(format!("tools: invalid: {tool}"));
        }
    }
    if body.to_string().matches("\"cache_control\"").count() > 4 {
        return Err("A maximum of 4 blocks with cache_control may be provided".into());
    }
    if let Some(system) = body.get("system") {
        check_texts(system)?;
    }
    check_messages(body)
}

fn check_texts(blocks: &Value) -> Result<(), String> {
    let blocks = blocks.as_array().filter(|blocks| !blocks.is_empty()).ok_or("empty content")?;
    for block in blocks {
        if block["type"] == "text" && block["text"].as_str().unwrap_or_default().trim().is_empty() {
            return Err("text content blocks must be non-empty".into());
        }
    }
    Ok(())
}

fn check_messages(body: &Value) -> Result<(), String> {
    let messages = body["messages"].as_array().filter(|all| !all.is_empty());
    let messages = messages.ok_or("messages: at least one message is required")?;
    let mut open: BTreeSet<String> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let place = |what: String| format!("messages.{index}: {what}");
        let expected = if index % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Err(place("roles must alternate, beginning with user".into()));
        }
        check_texts(&message["content"]).map_err(place)?;
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        if expected == "user" {
            check_results(blocks, &mut open).map_err(place)?;
        } else {
            open = check_answer(blocks).map_err(place)?;
        }
    }
    if messages.len() % 2 == 0 {
        return Err("the last message must be the user's".into());
    }
    let last_answer = messages.len().checked_sub(2).map(|index| &messages[index]["content"]);
    let in_turn = messages.last().is_some_and(|last| last["content"][0]["type"] == "tool_result");
    let thinks = last_answer.is_some_and(|content| {
        content[0]["type"].as_str().is_some_and(|kind| kind.contains("thinking"))
    });
    if body["thinking"]["type"] == "enabled" && in_turn && !thinks {
        return Err("Expected `thinking` or `redacted_thinking`, but found `tool_use`".into());
    }
    Ok(())
}

fn check_results(blocks: &[Value], open: &mut BTreeSet<String>) -> Result<(), String> {
    let mut words_came = false;
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_result") => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if words_came {
                    return Err("tool_result blocks must come first".into());
                }
                if !open.remove(id) {
                    return Err(format!("unexpected `tool_use_id` found in `tool_result`: {id}"));
                }
                check_texts(&block["content"])?;
                if block["is_error"] == json!(true)
                    && block["content"].to_string().contains("\"image\"")
                {
                    return Err("all content must be type \"text\" if \"is_error\" is true".into());
                }
            }
            Some("text") => words_came = true,
            Some("image")
                if block["source"]["data"].as_str().is_some_and(|data| !data.is_empty()) => {}
            _ => return Err(format!("invalid block {block}")),
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {open:?}"
    ))
}

fn check_answer(blocks: &[Value]) -> Result<BTreeSet<String>, String> {
    let mut ids = BTreeSet::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => {}
            Some("thinking") if block["signature"] == SIGNATURE => {}
            Some("redacted_thinking") if block["data"] == SIGNATURE => {}
            Some("thinking" | "redacted_thinking") => {
                return Err("Invalid `signature` in `thinking` block".into());
            }
            Some("tool_use") => {
                let id = block["id"].as_str().unwrap_or_default();
                let word = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
                if id.is_empty() || !id.chars().all(word) {
                    return Err(format!("tool_use.id: should match '^[a-zA-Z0-9_-]+$': {id:?}"));
                }
                if !ids.insert(id.to_owned()) {
                    return Err("`tool_use` ids must be unique".into());
                }
                if !block["input"].is_object() {
                    return Err("tool_use.input: Input should be a valid dictionary".into());
                }
            }
            _ => return Err(format!("invalid block {block}")),
        }
    }
    Ok(ids)
}

pub(super) fn render(reply: &Reply) -> Pieces {
    let tokens = reply.usage.unwrap_or(Tokens { input: 0, output: 0, cached: 0 });
    let usage = json!({"input_tokens": tokens.input - tokens.cached, "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": 0, "output_tokens": 1});
    let mut pieces = Pieces::default();
    if !reply.is_empty() {
        pieces.event(&json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "usage": usage}}));
    }
    let mut index = 0;
    for step in &reply.steps {
        let (block, deltas) = match step {
            Step::Text(text) => (
                json!({"type": "text", "text": ""}),
                words(text).map(|word| json!({"type": "text_delta", "text": word})).collect(),
            ),
            Step::Thinking(text) => {
                let mut deltas: Vec<Value> = words(text)
                    .map(|word| json!({"type": "thinking_delta", "thinking": word}))
                    .collect();
                deltas.push(json!({"type": "signature_delta", "signature": SIGNATURE}));
                (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
            }
            Step::Call { id, name, arguments } => (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                fragments(arguments)
                    .iter()
                    .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                    .collect::<Vec<_>>(),
            ),
            Step::Error(message) => {
                pieces.event(&json!({"type": "error", "error": {"type": "overloaded_error", "message": message}}));
                continue;
            }
            Step::Finish(reason) => {
                let reason = match *reason {
                    "length" => "max_tokens",
                    "tool_calls" => "tool_use",
                    "content_filter" => "refusal",
                    _ => "end_turn",
                };
                pieces.event(&json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": tokens.output}}));
                pieces.event(&json!({"type": "message_stop"}));
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
        pieces
            .event(&json!({"type": "content_block_start", "index": index, "content_block": block}));
        for delta in deltas {
            pieces.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        pieces.event(&json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    pieces
}
