//! The body of a Chat Completions request.
//!
//! The messages come repaired (X4); nothing is checked again here. The body's beginning depends only
//! on what came before, so that servers' prompt caches work.

use serde_json::{Map, Value, json};

use super::super::quirks::{Quirks, ReasoningStyle};
use crate::message::{AssistantMessage, Block, Content, Image, Message, ToolResultMessage};
use crate::provider::effort::effort;
use crate::provider::{Request, ThinkingLevel, ToolSpec};

/// Fields of an answer that hold reasoning and can be sent back under the same name.
const REASONING_FIELDS: &[&str] = &["reasoning_content", "reasoning", "reasoning_text"];

/// The whole body as JSON.
#[must_use]
pub fn body(request: &Request, quirks: &Quirks) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    let marks = quirks.cache_marks && request.cache && request.model.id.starts_with("anthropic/");
    set("model", json!(request.model.id));
    set("messages", Value::Array(messages(request, quirks, marks)));
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
    }
    set("stream", json!(true));
    if quirks.stream_usage {
        set("stream_options", json!({"include_usage": true}));
    }
    set(quirks.max_tokens_field.as_str(), json!(request.max_tokens));
    if quirks.store {
        set("store", json!(false));
    }
    if quirks.prompt_cache_key && request.cache && !request.session_id.is_empty() {
        set("prompt_cache_key", json!(request.session_id));
    }
    if let Some((name, value)) = reasoning(request, quirks.reasoning) {
        set(name, value);
    }
    for (name, value) in &request.parameters {
        set(name, value.clone());
    }
    body
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    }})
}

fn reasoning(request: &Request, style: ReasoningStyle) -> Option<(&'static str, Value)> {
    let wanted = request.thinking != ThinkingLevel::Off;
    // Templates ignore what they do not know, so models are told even if nobody knows them.
    if style == ReasoningStyle::Template {
        return Some(("chat_template_kwargs", json!({"enable_thinking": wanted})));
    }
    if !request.model.reasoning {
        return None;
    }
    match style {
        ReasoningStyle::None | ReasoningStyle::Template => None,
        ReasoningStyle::Effort => effort(&request.model.id, request.thinking)
            .map(|word| ("reasoning_effort", json!(word))),
        ReasoningStyle::EffortObject if wanted => effort(&request.model.id, request.thinking)
            .map(|word| ("reasoning", json!({"effort": word}))),
        ReasoningStyle::EffortObject => Some(("reasoning", json!({"enabled": false}))),
        ReasoningStyle::ThinkingType => {
            let kind = if wanted { "enabled" } else { "disabled" };
            Some(("thinking", json!({"type": kind})))
        }
    }
}

fn messages(request: &Request, quirks: &Quirks, marks: bool) -> Vec<Value> {
    let mut list = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        list.push(json!({"role": "system", "content": request.system}));
    }
    // Images in tool results: the protocol has no place for them there, so they follow as the
    // person's, before anything else is said.
    let mut images: Vec<Value> = Vec::new();
    for message in &request.messages {
        match &**message {
            Message::User(user) => {
                let content = user_content(&user.content, std::mem::take(&mut images));
                list.push(json!({"role": "user", "content": content}));
            }
            Message::Assistant(answer) => {
                flush(&mut images, &mut list);
                list.push(assistant(answer, quirks));
            }
            Message::ToolResult(result) => {
                images.extend(result_images(result));
                list.push(tool_result(result, quirks));
            }
            // Nothing else is left after conversion and repair.
            _ => {}
        }
    }
    flush(&mut images, &mut list);
    if marks {
        mark_for_cache(&mut list);
    }
    list
}

fn flush(images: &mut Vec<Value>, list: &mut Vec<Value>) {
    if !images.is_empty() {
        list.push(json!({"role": "user", "content": std::mem::take(images)}));
    }
}

/// Plain text as a string, which every server takes; parts only where there are images.
fn user_content(content: &Content, before: Vec<Value>) -> Value {
    if before.is_empty() && content.images().next().is_none() {
        return Value::String(content.text());
    }
    let mut parts = before;
    match content {
        Content::Text(text) => parts.push(text_part(text)),
        Content::Blocks(blocks) => {
            for block in blocks {
                match block {
                    Block::Text { text, .. } => parts.push(text_part(text)),
                    Block::Image(image) => parts.push(image_part(image)),
                    _ => {}
                }
            }
        }
    }
    Value::Array(parts)
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image_part(image: &Image) -> Value {
    let url = format!("data:{};base64,{}", image.mime_type, image.data);
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn assistant(answer: &AssistantMessage, quirks: &Quirks) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    let texts: Vec<&str> = answer.content.iter().filter_map(Block::as_text).collect();
    let calls: Vec<Value> = answer
        .tool_calls()
        .map(|call| {
            json!({"id": call.id, "type": "function", "function": {
                "name": call.name,
                "arguments": call.arguments.to_string(),
            }})
        })
        .collect();
    let content =
        if texts.is_empty() && !calls.is_empty() { Value::Null } else { json!(texts.concat()) };
    message.insert("content".into(), content);
    if quirks.replay_reasoning {
        replay_reasoning(answer, &mut message);
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    Value::Object(message)
}

/// Reasoning goes back under the name it came with; the signature says which (see the decoder).
fn replay_reasoning(answer: &AssistantMessage, message: &mut Map<String, Value>) {
    for block in &answer.content {
        let Block::Thinking { thinking, thinking_signature: Some(signature), .. } = block else {
            continue;
        };
        if REASONING_FIELDS.contains(&signature.as_str()) {
            match message.get_mut(signature) {
                Some(Value::String(text)) => text.push_str(thinking),
                _ => {
                    message.insert(signature.clone(), json!(thinking));
                }
            }
        } else if let Ok(details @ Value::Array(_)) = serde_json::from_str(signature) {
            message.insert("reasoning_details".into(), details);
        }
    }
}

fn tool_result(result: &ToolResultMessage, quirks: &Quirks) -> Value {
    let mut text = result.content.text();
    if text.is_empty() {
        text = "(see the attached image)".into();
    }
    let mut message = json!({"role": "tool", "tool_call_id": result.tool_call_id, "content": text});
    if quirks.tool_result_name {
        message["name"] = json!(result.tool_name);
    }
    message
}

fn result_images(result: &ToolResultMessage) -> Vec<Value> {
    let mut parts: Vec<Value> = result.content.images().map(image_part).collect();
    if !parts.is_empty() {
        parts.insert(0, text_part(&format!("From the result of {}:", result.tool_name)));
    }
    parts
}

/// Marks the system message and the last message for Anthropic's cache.
fn mark_for_cache(list: &mut [Value]) {
    let last = list.len().saturating_sub(1);
    for index in [0, last] {
        let Some(content) = list.get_mut(index).and_then(|message| message.get_mut("content"))
        else {
            continue;
        };
        if let Value::String(text) = content {
            *content = json!([text_part(text)]);
        }
        if let Some(part) = content.as_array_mut().and_then(|parts| parts.last_mut()) {
            part["cache_control"] = json!({"type": "ephemeral"});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::testing::request;

    fn built(request: &Request) -> Value {
        Value::Object(body(request, &Quirks::of(&request.model)))
    }

    fn round() -> Value {
        json!([
            {"role": "user", "content": [{"type": "text", "text": "look"},
                {"type": "image", "data": "QQ==", "mimeType": "image/png"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning_content"},
                {"type": "text", "text": "I "}, {"type": "text", "text": "look"},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}},
                {"type": "toolCall", "id": "c2", "name": "ls", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "c1", "toolName": "read",
                "content": [{"type": "image", "data": "Qg==", "mimeType": "image/jpeg"}]},
            {"role": "toolResult", "toolCallId": "c2", "toolName": "ls", "content": "b"},
            {"role": "user", "content": "and?"}
        ])
    }

    #[test]
    fn p1_a_round_with_tools_and_images() {
        let messages = built(&request(json!({}), round()))["messages"].clone();
        let image = |data: &str| json!({"type": "image_url", "image_url": {"url": data}});
        let expected = json!([
            {"role": "system", "content": "be good"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, image("data:image/png;base64,QQ==")]},
            {"role": "assistant", "content": "I look", "reasoning_content": "hm", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
                {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "(see the attached image)"},
            {"role": "tool", "tool_call_id": "c2", "content": "b"},
            {"role": "user", "content": [
                {"type": "text", "text": "From the result of read:"}, image("data:image/jpeg;base64,Qg=="),
                {"type": "text", "text": "and?"}]},
        ]);
        assert_eq!(messages, expected);
    }

    #[test]
    fn p1_servers_get_the_fields_they_know() {
        let openai = built(&request(json!({"provider": "openai", "id": "gpt-5.1"}), round()));
        assert_eq!(openai["max_completion_tokens"], 16_000);
        assert_eq!(openai["reasoning_effort"], "low");
        assert_eq!(openai["prompt_cache_key"], "s1");
        assert_eq!(openai["store"], false);
        assert!(openai["messages"][2].get("reasoning_content").is_none());
        let mistral = built(&request(json!({"provider": "mistral"}), round()));
        assert_eq!(mistral["max_tokens"], 16_000);
        assert_eq!(mistral["messages"][3]["name"], "read");
        let local = built(&request(json!({"provider": "llama.cpp", "reasoning": false}), round()));
        assert_eq!(local["chat_template_kwargs"], json!({"enable_thinking": true}));
        let zai = built(&request(json!({"provider": "zai"}), round()));
        assert_eq!(zai["thinking"], json!({"type": "enabled"}));
        let mut off = request(json!({"provider": "openrouter", "id": "anthropic/x"}), round());
        off.thinking = ThinkingLevel::Off;
        let off = built(&off);
        assert_eq!(off["reasoning"], json!({"enabled": false}));
        assert_eq!(off["messages"][0]["content"][0]["cache_control"]["type"], "ephemeral");
        assert_eq!(off["messages"][5]["content"][2]["cache_control"]["type"], "ephemeral");
    }

    #[test]
    fn s2_parameters_pass_through_and_win() {
        let mut request = request(json!({}), json!([{"role": "user", "content": "a"}]));
        request.parameters =
            json!({"temperature": 0.2, "stream_options": {}}).as_object().unwrap().clone();
        request.cache = false;
        request.tools = vec![ToolSpec {
            name: "ls".into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
        }];
        let body = built(&request);
        assert_eq!(body["temperature"], 0.2);
        assert_eq!(body["stream_options"], json!({}));
        assert_eq!(body["tools"][0]["function"]["parameters"], json!({"type": "object"}));
        assert!(body.get("prompt_cache_key").is_none());
    }

    #[test]
    fn s8_the_beginning_of_the_body_is_stable_from_round_to_round() {
        let short = request(json!({}), json!([{"role": "user", "content": "a"}]));
        let long = request(
            json!({}),
            json!([{"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}]}, {"role": "user", "content": "c"}]),
        );
        let (short, long) = (built(&short).to_string(), built(&long).to_string());
        let common = short.bytes().zip(long.bytes()).take_while(|(a, b)| a == b).count();
        assert!(short[..common].ends_with("\"content\":\"a\"}"), "{}", &short[..common]);
    }
}
