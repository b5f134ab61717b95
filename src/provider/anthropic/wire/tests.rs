//! Bodies as Messages servers want them, and recorded bytes as they send them.

use serde_json::{Value, json};

use super::{Body, MessagesDecoder, body};
use crate::message::{Block, StopReason, Usage};
use crate::provider::testing::{Decoded, decode_split, request, sse};
use crate::provider::{ErrorKind, StreamEvent, ThinkingLevel, ToolSpec};

fn decode(body: &str) -> Decoded {
    decode_split(body, || MessagesDecoder::new("acme"))
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(index: u64, words: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": words}))
}

fn arguments(index: u64, json: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": json}))
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn begin() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "usage":
        {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 5, "output_tokens": 1}}})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 40}}),
        json!({"type": "message_stop"}),
    ]
}

/// A whole answer around `events`.
fn answer(events: &[Value], reason: &str) -> String {
    sse(&[&[begin()][..], events, &end(reason)[..]].concat())
}

#[test]
fn p2_blocks_in_order_with_signatures_and_figures() {
    let message = decode(&answer(
        &[
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "음, "})),
            json!({"type": "ping"}),
            delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
            delta(0, json!({"type": "signature_delta", "signature": "sig+/="})),
            stop(0),
            start(1, json!({"type": "redacted_thinking", "data": "secret"})),
            stop(1),
            start(2, json!({"type": "text", "text": ""})),
            text(2, "안녕 "),
            text(2, "👩‍👩‍👧"),
            stop(2),
            start(3, json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})),
            arguments(3, ""),
            arguments(3, "{\"path\": \"가"),
            arguments(3, ".txt\"}"),
            stop(3),
            start(4, json!({"type": "tool_use", "id": "toolu_2", "name": "ls", "input": {}})),
            stop(4),
        ],
        "tool_use",
    ))
    .message();
    let thinking = |thinking: &str, signature: &str, redacted| Block::Thinking {
        thinking: thinking.into(),
        thinking_signature: Some(signature.into()),
        redacted,
    };
    assert_eq!(
        message.content[..2],
        [thinking("음, hm", "sig+/=", None), thinking("", "secret", Some(true))]
    );
    assert_eq!(message.text(), "안녕 👩‍👩‍👧");
    let calls: Vec<_> =
        message.tool_calls().map(|call| (&*call.id, call.arguments.clone())).collect();
    assert_eq!(calls, [("toolu_1", json!({"path": "가.txt"})), ("toolu_2", json!({}))]);
    let usage = Usage {
        input: 10,
        output: 40,
        cache_read: 20,
        cache_write: 5,
        total_tokens: 75,
        ..Usage::default()
    };
    assert_eq!((message.usage, message.stop_reason), (usage, StopReason::ToolUse));
}

#[test]
fn f59_line_ends_comments_and_unknown_events() {
    let body = answer(
        &[
            start(0, json!({"type": "text", "text": "a"})),
            json!({"type": "new_thing", "x": 1}),
            text(0, "b"),
            start(1, json!({"type": "server_tool_use", "id": "x"})),
            arguments(1, "{}"),
            text(0, "c"),
        ],
        "end_turn",
    );
    for end in ["\n", "\r\n", "\r"] {
        let body = format!(": hello\n\n{body}").replace('\n', end);
        assert_eq!(decode(&body).message().content, [Block::text("abc")], "{end:?}");
    }
}

#[test]
fn f60_without_message_stop_the_answer_was_cut() {
    let body = answer(&[start(0, json!({"type": "text", "text": "half"}))], "end_turn");
    let cut = body.find("event: message_stop").unwrap();
    for end in [cut, cut - 30, body.find("event: message_delta").unwrap()] {
        let decoded = decode(&body[..end]);
        assert_eq!(decoded.error().kind, ErrorKind::Cut);
        assert_eq!(decoded.partial().text(), "half");
    }
}

#[test]
fn f62_errors_in_the_stream_after_two_deltas() {
    for (kind, name) in [
        (ErrorKind::Transient, "overloaded_error"),
        (ErrorKind::Transient, "api_error"),
        (ErrorKind::RateLimit, "rate_limit_error"),
        (ErrorKind::BadRequest, "invalid_request_error"),
    ] {
        let error = json!({"type": "error", "error": {"type": name, "message": "the words"}});
        let body =
            sse(&[begin(), start(0, json!({"type": "text"})), text(0, "a"), text(0, "b"), error]);
        let decoded = decode(&body);
        assert_eq!(decoded.error().kind, kind, "{name}");
        assert!(decoded.error().message.contains("the words"));
        assert_eq!(decoded.partial().text(), "ab");
    }
    let refusal = decode(&answer(&[start(0, json!({"type": "text", "text": "I"}))], "refusal"));
    assert_eq!(refusal.error().kind, ErrorKind::Refused);
}

#[test]
fn f63_arguments_that_were_cut_are_not_empty_arguments() {
    let call = start(0, json!({"type": "tool_use", "id": "a", "name": "write", "input": {}}));
    let message = decode(&answer(&[call, arguments(0, "{\"path\": \"x")], "max_tokens")).message();
    assert_eq!(message.stop_reason, StopReason::Length);
    assert_eq!(message.tool_calls().next().unwrap().arguments, json!("{\"path\": \"x"));
    let whole =
        start(0, json!({"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "x"}}));
    let message = decode(&answer(&[whole, stop(0)], "end_turn")).message();
    assert_eq!(message.tool_calls().next().unwrap().arguments, json!({"path": "x"}));
    assert_eq!(message.stop_reason, StopReason::ToolUse);
}

#[test]
fn f64_two_calls_at_one_index_and_a_missing_id() {
    let call =
        |id: &str| start(0, json!({"type": "tool_use", "id": id, "name": "ls", "input": {}}));
    let message = decode(&answer(
        &[
            call("a"),
            arguments(0, "{\"path\":\"1\"}"),
            call("b"),
            arguments(0, "{\"path\":\"2\"}"),
            call(""),
        ],
        "tool_use",
    ))
    .message();
    let calls: Vec<_> =
        message.tool_calls().map(|c| (&*c.id, c.arguments["path"].clone())).collect();
    assert_eq!(calls, [("a", json!("1")), ("b", json!("2")), ("call_2", Value::Null)]);
}

#[test]
fn i10_two_hundred_kilobytes_of_arguments() {
    let content = "한글 and ascii 🙂 \\n".repeat(9_000);
    let whole: Vec<char> = json!({"content": content}).to_string().chars().collect();
    let mut events =
        vec![start(0, json!({"type": "tool_use", "id": "a", "name": "write", "input": {}}))];
    events.extend(whole.chunks(97).map(|piece| arguments(0, &piece.iter().collect::<String>())));
    let message = decode(&answer(&events, "tool_use")).message();
    assert_eq!(message.tool_calls().next().unwrap().arguments["content"], json!(content));
}

#[test]
fn p2_figures_come_early_and_again() {
    let decoded = decode(&answer(&[], "end_turn"));
    let outputs: Vec<_> = decoded
        .events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::Usage(usage) => Some(usage.output),
            _ => None,
        })
        .collect();
    assert_eq!(outputs, [1, 40]);
}

fn round() -> Value {
    json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
            {"type": "thinking", "thinking": "", "thinkingSignature": "r", "redacted": true},
            {"type": "text", "text": "I look"},
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}},
            {"type": "toolCall", "id": "c2", "name": "ls", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": [
            {"type": "text", "text": "seen"}, {"type": "image", "data": "Qg==", "mimeType": "image/png"}]},
        {"role": "toolResult", "toolCallId": "c2", "toolName": "ls", "content": "no such folder", "isError": true},
        {"role": "user", "content": "and?"}
    ])
}

#[test]
fn p1_a_round_with_tools_images_errors_and_cache_marks() {
    let mut request = request(json!({"id": "claude-sonnet-5-5"}), round());
    request.tools = ["read", "ls"]
        .map(|name| ToolSpec {
            name: name.into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
        })
        .into();
    let Body { body, betas } = body(&request);
    let marked = |mut block: Value| {
        block["cache_control"] = json!({"type": "ephemeral"});
        block
    };
    let expected = json!({
        "model": "claude-sonnet-5-5", "max_tokens": 16_000, "stream": true,
        "tools": [
            {"name": "read", "description": "d", "input_schema": {"type": "object"}},
            marked(json!({"name": "ls", "description": "d", "input_schema": {"type": "object"}}))],
        "system": [marked(json!({"type": "text", "text": "be good"}))],
        "messages": [
            {"role": "user", "content": [marked(json!({"type": "text", "text": "look"}))]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "r"},
                {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "c2", "name": "ls", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [
                    {"type": "text", "text": "seen"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Qg=="}}]},
                {"type": "tool_result", "tool_use_id": "c2", "is_error": true,
                    "content": [{"type": "text", "text": "no such folder"}]},
                marked(json!({"type": "text", "text": "and?"}))]}],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low"},
    });
    assert_eq!(Value::Object(body), expected);
    assert!(betas.is_empty());
}

#[test]
fn p1_each_model_is_asked_to_think_in_its_way() {
    let fields = |id: &str, level, max_tokens| {
        let mut request = request(json!({"id": id}), round());
        request.thinking = level;
        request.max_tokens = max_tokens;
        let Body { body, betas } = body(&request);
        (body.get("thinking").cloned(), body.get("output_config").cloned(), betas.len())
    };
    let budget = |tokens: u64| Some(json!({"type": "enabled", "budget_tokens": tokens}));
    assert_eq!(fields("claude-haiku-4-5", ThinkingLevel::Low, 16_000), (budget(4_096), None, 1));
    assert_eq!(fields("claude-haiku-4-5", ThinkingLevel::High, 8_000), (budget(6_976), None, 1));
    assert_eq!(fields("claude-haiku-4-5", ThinkingLevel::High, 2_000), (None, None, 0));
    assert_eq!(fields("claude-opus-5", ThinkingLevel::Off, 16_000), (None, None, 0));
    let effort = |word: &str| Some(json!({"effort": word}));
    let adaptive = Some(json!({"type": "adaptive"}));
    assert_eq!(
        fields("claude-opus-4-6", ThinkingLevel::Xhigh, 9_000),
        (adaptive, effort("high"), 0)
    );
    assert_eq!(fields("claude-opus-4-8", ThinkingLevel::Xhigh, 9_000).1, effort("xhigh"));
    assert_eq!(fields("qwen3", ThinkingLevel::Minimal, 9_000), (budget(1_024), None, 1));
}

#[test]
fn f65_thinking_does_not_set_in_between_a_call_and_its_result() {
    let messages = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "c", "toolName": "ls", "content": "x"}]);
    let mut request = request(json!({"id": "claude-haiku-4-5"}), messages);
    request.parameters = json!({"temperature": 0.5}).as_object().unwrap().clone();
    let without = body(&request).body;
    assert!(!without.contains_key("thinking") && without["temperature"] == 0.5);
    request.messages.truncate(1);
    let with = body(&request).body;
    assert!(with.contains_key("thinking") && !with.contains_key("temperature"));
}

#[test]
fn s1_without_caching_nothing_is_marked() {
    let mut request = request(json!({}), round());
    request.cache = false;
    let text = Value::Object(body(&request).body).to_string();
    assert!(!text.contains("cache_control"), "{text}");
}
