//! The body of a Gemini request. The messages come repaired (X4).

use serde_json::{Map, Value, json};

use super::thinking;
use crate::message::{AssistantMessage, Block, Content, Image, Message, ToolResultMessage};
use crate::provider::{Request, ToolSpec};

/// What stands for a signature that was lost or made by another model; the server accepts it
/// unchecked (F66).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The whole body as JSON.
#[must_use]
pub fn body(request: &Request) -> Map<String, Value> {
    let mut body = Map::new();
    if !request.system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": request.system}]}));
    }
    body.insert("contents".into(), Value::Array(contents(request)));
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": declarations}]));
    }
    let mut config = Map::new();
    config.insert("maxOutputTokens".into(), json!(request.max_tokens));
    if request.model.reasoning
        && let Some(thinking) = thinking::config(&request.model.id, request.thinking)
    {
        config.insert("thinkingConfig".into(), thinking);
    }
    for (name, value) in &request.parameters {
        config.insert(camel_case(name), value.clone());
    }
    body.insert("generationConfig".into(), Value::Object(config));
    body
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "name": spec.name,
        "description": spec.description,
        "parametersJsonSchema": spec.parameters,
    })
}

/// `top_p` as it is called here.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// Results stand in a message of their own, all those of one answer together.
fn contents(request: &Request) -> Vec<Value> {
    let model = &request.model.id;
    let signed = thinking::wants_signatures(model);
    let mut list = Vec::with_capacity(request.messages.len());
    let mut results: Vec<Value> = Vec::new();
    let mut images: Vec<Value> = Vec::new();
    for message in &request.messages {
        if !matches!(&**message, Message::ToolResult(_)) {
            flush(&mut results, &mut images, &mut list);
        }
        match &**message {
            Message::User(user) => {
                list.push(json!({"role": "user", "parts": parts(&user.content)}))
            }
            Message::Assistant(answer) => {
                list.push(json!({"role": "model", "parts": assistant(answer, signed)}));
            }
            // Models that insist on signatures also look at pictures inside results.
            Message::ToolResult(result) if signed => results.push(tool_result(result, true)),
            Message::ToolResult(result) => {
                results.push(tool_result(result, false));
                images.extend(result.content.images().map(image_part));
            }
            // Nothing else is left after conversion and repair.
            _ => {}
        }
    }
    flush(&mut results, &mut images, &mut list);
    list
}

fn flush(results: &mut Vec<Value>, images: &mut Vec<Value>, list: &mut Vec<Value>) {
    if !results.is_empty() {
        list.push(json!({"role": "user", "parts": std::mem::take(results)}));
    }
    if !images.is_empty() {
        let mut parts = vec![json!({"text": "The images of these results:"})];
        parts.append(images);
        list.push(json!({"role": "user", "parts": parts}));
    }
}

fn parts(content: &Content) -> Vec<Value> {
    match content {
        Content::Text(text) => vec![json!({"text": text})],
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text { text, .. } => Some(json!({"text": text})),
                Block::Image(image) => Some(image_part(image)),
                _ => None,
            })
            .collect(),
    }
}

fn image_part(image: &Image) -> Value {
    json!({"inlineData": {"mimeType": image.mime_type, "data": image.data}})
}

fn tool_result(result: &ToolResultMessage, with_images: bool) -> Value {
    let mut text = result.content.text();
    if text.is_empty() {
        text = "(see the attached image)".into();
    }
    let key = if result.is_error { "error" } else { "output" };
    let mut response = json!({
        "id": result.tool_call_id,
        "name": result.tool_name,
        "response": {key: text},
    });
    let images: Vec<Value> = result.content.images().map(image_part).collect();
    if with_images && !images.is_empty() {
        response["parts"] = Value::Array(images);
    }
    json!({"functionResponse": response})
}

fn assistant(answer: &AssistantMessage, signed: bool) -> Vec<Value> {
    let mut is_first_call = true;
    let mut parts = Vec::new();
    for block in &answer.content {
        let (mut part, signature) = match block {
            Block::Text { text, text_signature } => {
                (json!({"text": text}), text_signature.as_deref())
            }
            Block::Thinking { thinking, thinking_signature, .. } => {
                (json!({"text": thinking, "thought": true}), thinking_signature.as_deref())
            }
            Block::ToolCall(call) => {
                let part = json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}});
                let placeholder = (signed && is_first_call).then_some(NO_SIGNATURE);
                is_first_call = false;
                (part, call.thought_signature.as_deref().or(placeholder))
            }
            Block::Image(_) | Block::Other(_) => continue,
        };
        if let Some(signature) = signature {
            part["thoughtSignature"] = json!(signature);
        }
        parts.push(part);
    }
    parts
}
