//! Bodies as Gemini wants them, and recorded bytes as it sends them.

use serde_json::{Value, json};

use super::{GeminiDecoder, body};
use crate::message::{Block, Message, StopReason, Usage};
use crate::provider::testing::{Decoded, decode_split, request, sse};
use crate::provider::{ErrorKind, ThinkingLevel, ToolSpec};

fn decode(chunks: &[Value]) -> Decoded {
    decode_split(&sse(chunks), || GeminiDecoder::new("acme"))
}

fn chunk(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": reason}], "usageMetadata": {
        "promptTokenCount": 50, "cachedContentTokenCount": 20, "candidatesTokenCount": 4,
        "thoughtsTokenCount": 3, "totalTokenCount": 57}})
}

fn call(name: &str, args: Value) -> Value {
    json!({"functionCall": {"name": name, "args": args}})
}

fn signed(mut part: Value, signature: &str) -> Value {
    part["thoughtSignature"] = json!(signature);
    part
}

#[test]
fn f66_parts_in_order_each_with_its_signature() {
    let decoded = decode(&[
        chunk(json!([{"text": "음, ", "thought": true}])),
        chunk(json!([{"text": "hm", "thought": true}])),
        chunk(json!([{"text": "안녕 "}])),
        chunk(json!([{"text": "👩‍👩‍👧"}])),
        chunk(json!([signed(json!({"text": ""}), "t")])),
        chunk(json!([signed(call("read", json!({"path": "가"})), "c"), call("ls", json!({}))])),
        finish("STOP"),
    ]);
    let message = decoded.message();
    assert!(
        matches!(&message.content[0], Block::Thinking { thinking, .. } if thinking == "음, hm")
    );
    let expected =
        Block::Text { text: "안녕 👩‍👩‍👧".into(), text_signature: Some("t".into()) };
    assert_eq!(message.content[1], expected);
    let calls: Vec<_> = message
        .tool_calls()
        .map(|call| (&*call.id, call.arguments.clone(), call.thought_signature.as_deref()))
        .collect();
    assert_eq!(calls, [("call_2", json!({"path": "가"}), Some("c")), ("call_3", json!({}), None)]);
    let usage =
        Usage { input: 30, output: 7, cache_read: 20, total_tokens: 57, ..Usage::default() };
    assert_eq!((message.usage, message.stop_reason), (usage, StopReason::ToolUse));

    let mut again =
        request(json!({"id": "gemini-3-pro"}), json!([{"role": "user", "content": "q"}]));
    again.messages.push(Message::Assistant(message).into());
    let parts = body(&again)["contents"][1]["parts"].clone();
    assert_eq!(parts[1], json!({"text": "안녕 👩‍👩‍👧", "thoughtSignature": "t"}));
    assert_eq!(parts[2]["thoughtSignature"], "c");
    assert!(
        parts[3].get("thoughtSignature").is_none(),
        "only the first of parallel calls is signed"
    );
}

#[test]
fn f66_a_lost_signature_has_its_placeholder_where_one_is_demanded() {
    let history = json!([{"role": "user", "content": "q"},
        {"role": "assistant", "content": [
            {"type": "toolCall", "id": "a", "name": "ls", "arguments": {}},
            {"type": "toolCall", "id": "b", "name": "ls", "arguments": {}}]}]);
    let parts = |id: &str| {
        body(&request(json!({"id": id}), history.clone()))["contents"][1]["parts"].clone()
    };
    let signatures = |id: &str| {
        parts(id)
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["thoughtSignature"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        signatures("gemini-3.8-flash"),
        [json!("skip_thought_signature_validator"), Value::Null]
    );
    assert_eq!(signatures("gemini-2.5-pro"), [Value::Null, Value::Null]);
}

#[test]
fn f60_a_finish_reason_or_a_regular_end() {
    let said = chunk(json!([{"text": "a"}]));
    assert_eq!(decode(&[said.clone(), finish("STOP")]).message().text(), "a");
    assert_eq!(decode(std::slice::from_ref(&said)).message().text(), "a");
    assert_eq!(decode(&[]).error().kind, ErrorKind::Cut);
    let thought = chunk(json!([{"text": "hm", "thought": true}]));
    assert_eq!(decode(std::slice::from_ref(&thought)).error().kind, ErrorKind::Cut);
    assert_eq!(decode(&[thought, finish("STOP")]).message().text(), "");
    let body = sse(&[said.clone(), finish("STOP")]);
    let torn = decode_split(&body[..body.len() - 30], || GeminiDecoder::new("acme"));
    assert_eq!(torn.error().kind, ErrorKind::Cut);
    for end in ["\r\n", "\r"] {
        let body = format!(": comment\n\n{body}").replace('\n', end);
        assert_eq!(decode_split(&body, || GeminiDecoder::new("acme")).message().text(), "a");
    }
    let length = decode(&[said, finish("MAX_TOKENS")]).message();
    assert_eq!(length.stop_reason, StopReason::Length);
}

#[test]
fn f62_errors_in_the_stream_after_two_deltas() {
    let error = |code: u16, status: &str| json!({"error": {"code": code, "status": status, "message": "the words"}});
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    for (event, kind) in [
        (error(503, "UNAVAILABLE"), ErrorKind::Transient),
        (error(429, "RESOURCE_EXHAUSTED"), ErrorKind::RateLimit),
        (error(400, "INVALID_ARGUMENT"), ErrorKind::BadRequest),
        (blocked, ErrorKind::Refused),
        (finish("PROHIBITED_CONTENT"), ErrorKind::Refused),
        (finish("MALFORMED_FUNCTION_CALL"), ErrorKind::Cut),
    ] {
        let decoded =
            decode(&[chunk(json!([{"text": "a"}])), chunk(json!([{"text": "b"}])), event]);
        assert_eq!(decoded.error().kind, kind);
        assert_eq!(decoded.partial().text(), "ab");
    }
}

#[test]
fn i10_two_hundred_kilobytes_of_arguments() {
    let content = "한글 and ascii 🙂 \\n".repeat(9_000);
    let message =
        decode(&[chunk(json!([call("write", json!({"content": content}))])), finish("STOP")])
            .message();
    assert_eq!(message.tool_calls().next().unwrap().arguments["content"], json!(content));
}

#[test]
fn p2_unknown_parts_and_servers_own_ids() {
    let message = decode(&[
        chunk(json!([{"executableCode": {}}, {"functionCall": {"id": "own", "name": "ls"}}])),
        json!({"candidates": []}),
        json!({"usageMetadata": {}}),
        finish("STOP"),
    ])
    .message();
    let call = message.tool_calls().next().unwrap();
    assert_eq!((&*call.id, &call.arguments), ("own", &json!({})));
}

#[test]
fn p1_a_round_with_tools_images_and_errors() {
    let history = json!([
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "data": "QQ==", "mimeType": "image/png"}]},
        {"role": "assistant", "content": [
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}, "thoughtSignature": "s"},
            {"type": "toolCall", "id": "c2", "name": "ls", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": [{"type": "image", "data": "Qg==", "mimeType": "image/png"}]},
        {"role": "toolResult", "toolCallId": "c2", "toolName": "ls", "content": "no such folder", "isError": true},
        {"role": "user", "content": "and?"}]);
    let mut request = request(json!({"id": "gemini-3-flash"}), history);
    request.tools = vec![ToolSpec {
        name: "ls".into(),
        description: "d".into(),
        parameters: json!({"type": "object"}),
    }];
    request.parameters = json!({"top_p": 0.5}).as_object().unwrap().clone();
    let image = |data: &str| json!({"inlineData": {"mimeType": "image/png", "data": data}});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "be good"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "look"}, image("QQ==")]},
            {"role": "model", "parts": [
                {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "s"},
                {"functionCall": {"id": "c2", "name": "ls", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "(see the attached image)"}, "parts": [image("Qg==")]}},
                {"functionResponse": {"id": "c2", "name": "ls", "response": {"error": "no such folder"}}}]},
            {"role": "user", "parts": [{"text": "and?"}]}],
        "tools": [{"functionDeclarations": [{"name": "ls", "description": "d", "parametersJsonSchema": {"type": "object"}}]}],
        "generationConfig": {"maxOutputTokens": 16_000,
            "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"}, "topP": 0.5},
    });
    assert_eq!(Value::Object(body(&request)), expected);
    request.model =
        crate::provider::testing::request(json!({"id": "gemini-2.5-flash"}), json!([])).model;
    let older = body(&request);
    assert_eq!(
        older["contents"][3]["parts"],
        json!([{"text": "The images of these results:"}, image("Qg==")])
    );
}

#[test]
fn p1_each_model_is_asked_to_think_in_its_way() {
    let config = |id: &str, level| {
        let mut request = request(json!({"id": id}), json!([{"role": "user", "content": "q"}]));
        request.thinking = level;
        body(&request)["generationConfig"].get("thinkingConfig").cloned()
    };
    let budget = |tokens: u64, shown: bool| {
        Some(json!({"includeThoughts": shown, "thinkingBudget": tokens}))
    };
    let level =
        |word: &str, shown: bool| Some(json!({"includeThoughts": shown, "thinkingLevel": word}));
    assert_eq!(config("gemini-2.5-pro", ThinkingLevel::Off), budget(128, false));
    assert_eq!(config("gemini-2.5-flash", ThinkingLevel::Off), budget(0, false));
    assert_eq!(config("gemini-2.5-flash", ThinkingLevel::Xhigh), budget(24_576, true));
    assert_eq!(config("gemini-3-flash-preview", ThinkingLevel::Off), level("minimal", false));
    assert_eq!(config("gemini-4-argon", ThinkingLevel::Xhigh), level("high", true));
    assert_eq!(config("gemini-4-argon", ThinkingLevel::Off), level("low", false));
    assert_eq!(config("gemma-4-31b-it", ThinkingLevel::High), None);
}
