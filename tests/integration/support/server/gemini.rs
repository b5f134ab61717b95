//! Gemini, as strict as Google.

use serde_json::{Value, json};

use super::reply::{Pieces, Reply, Step, words};
use super::{Recorded, SIGNATURE};

const FIELDS: &[&str] = &["systemInstruction", "contents", "tools", "generationConfig"];

pub(super) fn check(request: &Recorded) -> Result<(), String> {
    let body = &request.body;
    let fields = body.as_object().ok_or("the body is no object")?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("Invalid JSON payload received. Unknown name \"{unknown}\""));
    }
    if body["generationConfig"]["maxOutputTokens"].as_u64().unwrap_or(0) == 0 {
        return Err("maxOutputTokens must be positive".into());
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        for declaration in tool["functionDeclarations"].as_array().into_iter().flatten() {
            if !declaration["parametersJsonSchema"].is_object() {
                return Err(format!("Invalid declaration: {declaration}"));
            }
        }
    }
    let contents = body["contents"].as_array().filter(|contents| !contents.is_empty());
    let contents = contents.ok_or("GenerateContentRequest.contents: contents is not specified")?;
    if contents.first().is_some_and(|first| first["role"] != "user") {
        return Err("the first content must be with the user role".into());
    }
    let mut calls: Vec<Value> = Vec::new();
    for content in contents {
        let parts = content["parts"].as_array().filter(|parts| !parts.is_empty());
        let parts = parts.ok_or("contents.parts must not be empty")?;
        parts.iter().try_for_each(check_part)?;
        let pick = |name: &str| -> Vec<Value> {
            parts.iter().map(|part| part[name].clone()).filter(|part| !part.is_null()).collect()
        };
        let responses = pick("functionResponse");
        let names = |list: &[Value]| list.iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
        if names(&calls) != names(&responses) {
            return Err("the number of function response parts must be equal to the number of function call parts of the function call turn".into());
        }
        calls = pick("functionCall");
        if content["role"] == "model" {
            let first = parts.iter().find(|part| !part["functionCall"].is_null());
            if first.is_some_and(|part| part["thoughtSignature"].is_null()) {
                return Err(
                    "Function call is missing a thought_signature in functionCall parts".into()
                );
            }
        } else if !calls.is_empty() {
            return Err("function calls are the model's".into());
        }
    }
    if !calls.is_empty() || contents.last().is_some_and(|last| last["role"] != "user") {
        return Err("the last content must be the user's".into());
    }
    Ok(())
}

fn check_part(part: &Value) -> Result<(), String> {
    let placeholder = "skip_thought_signature_validator";
    if let Some(signature) = part["thoughtSignature"].as_str()
        && signature != SIGNATURE
        && signature != placeholder
    {
        return Err("Thought signature is not valid".into());
    }
    if let Some(text) = part["text"].as_str() {
        if text.trim().is_empty() {
            return Err("Unable to submit request because it has an empty text parameter".into());
        }
        return Ok(());
    }
    let whole = part["functionCall"]["args"].is_object()
        || part["functionResponse"]["response"].is_object()
        || part["inlineData"]["data"].is_string();
    if whole {
        Ok(())
    } else {
        Err(format!("required oneof field 'data' must be initialized: {part}"))
    }
}

pub(super) fn render(reply: &Reply) -> Pieces {
    let mut pieces = Pieces::default();
    let part = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]});
    for step in &reply.steps {
        match step {
            Step::Text(text) => {
                words(text).for_each(|word| pieces.event(&part(json!({"text": word}))));
            }
            Step::Thinking(text) => {
                words(text)
                    .for_each(|word| pieces.event(&part(json!({"text": word, "thought": true}))));
            }
            Step::Call { id, name, arguments } => {
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                pieces.event(&part(
                    json!({"functionCall": {"id": id, "name": name, "args": arguments},
                    "thoughtSignature": SIGNATURE}),
                ));
            }
            Step::Error(message) => {
                pieces.event(
                    &json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": message}}),
                );
            }
            Step::Hold(gate) => pieces.hold(gate),
            Step::Raw(text) => pieces.raw(text),
            Step::Finish(reason) => {
                let reason = match *reason {
                    "length" => "MAX_TOKENS",
                    "content_filter" => "SAFETY",
                    _ => "STOP",
                };
                let usage = reply.usage.map(|tokens| {
                    json!({"promptTokenCount": tokens.input, "cachedContentTokenCount": tokens.cached,
                        "candidatesTokenCount": tokens.output, "totalTokenCount": tokens.input + tokens.output})
                });
                pieces.event(&json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": reason}],
                    "usageMetadata": usage}));
            }
        }
    }
    pieces
}
