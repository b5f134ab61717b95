//! Bodies as Responses servers want them, and recorded bytes as they send them.

use serde_json::{Value, json};

use super::{ResponsesDecoder, body};
use crate::message::{Block, Message, StopReason, Usage};
use crate::provider::testing::{Decoded, decode_split, request, sse};
use crate::provider::{ErrorKind, ThinkingLevel, ToolSpec};

fn decode(events: &[Value]) -> Decoded {
    decode_bytes(&sse(events))
}

fn decode_bytes(body: &str) -> Decoded {
    decode_split(body, || ResponsesDecoder::new("acme", 1_000))
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn delta(kind: &str, index: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "item_id": "x", "delta": text})
}

fn call(index: u64, id: &str) -> Value {
    added(
        index,
        json!({"type": "function_call", "id": "fc", "call_id": id, "name": "read", "arguments": ""}),
    )
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 7, "total_tokens": 57,
        "output_tokens_details": {"reasoning_tokens": 3}}}})
}

fn reasoning() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "abc=", "summary": [{"type": "summary_text", "text": "음"}]})
}

#[test]
fn p2_items_in_order_with_encrypted_reasoning_and_figures() {
    let decoded = decode(&[
        json!({"type": "response.created", "response": {}}),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0}),
        delta("reasoning_summary_text", 0, "음"),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1}),
        delta("reasoning_summary_text", 0, "hm"),
        done(0, reasoning()),
        added(1, json!({"type": "message", "id": "msg_1", "content": []})),
        delta("output_text", 1, "안녕 "),
        delta("output_text", 1, "👩‍👩‍👧"),
        done(
            1,
            json!({"type": "message", "id": "msg_1", "phase": "commentary",
            "content": [{"type": "output_text", "text": "안녕 👩‍👩‍👧"}]}),
        ),
        call(2, "c1"),
        call(3, "c2"),
        delta("function_call_arguments", 3, "{\"path\":\"b\"}"),
        delta("function_call_arguments", 2, "{\"path\":"),
        delta("function_call_arguments", 2, "\"가\"}"),
        done(
            2,
            json!({"type": "function_call", "call_id": "c1", "arguments": "{\"path\":\"가\"}"}),
        ),
        completed(),
        json!({"type": "response.after_the_end"}),
    ]);
    let message = decoded.message();
    let Block::Thinking { thinking, thinking_signature: Some(signature), .. } = &message.content[0]
    else {
        panic!("{message:?}")
    };
    assert_eq!(thinking, "음\n\nhm");
    assert_eq!(serde_json::from_str::<Value>(signature).unwrap(), reasoning());
    assert_eq!(message.text(), "안녕 👩‍👩‍👧");
    let calls: Vec<_> =
        message.tool_calls().map(|c| (&*c.id, c.arguments["path"].clone())).collect();
    assert_eq!(calls, [("c1", json!("가")), ("c2", json!("b"))]);
    let usage =
        Usage { input: 30, output: 7, cache_read: 20, total_tokens: 57, ..Usage::default() };
    assert_eq!((message.usage, message.stop_reason), (usage, StopReason::ToolUse));

    // What came goes back as it came, to the same model.
    let history = json!([{"role": "user", "content": "q"}]);
    let mut again = request(json!({"id": "gpt-5"}), history);
    again.messages.push(Message::Assistant(message).into());
    let input = body(&again)["input"].clone();
    assert_eq!(input[1], reasoning());
    assert_eq!(
        (&input[2]["phase"], &input[2]["content"][0]["text"]),
        (&json!("commentary"), &json!("안녕 👩‍👩‍👧"))
    );
    assert_eq!(
        input[3],
        json!({"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"가\"}"})
    );
}

#[test]
fn c19_f60_an_answer_that_used_up_its_limit_was_cut_whatever_the_server_calls_it() {
    let ended = |output: u64| {
        let events = [
            added(0, json!({"type": "message"})),
            delta("output_text", 0, "half a sum"),
            json!({"type": "response.completed", "response": {"status": "completed",
                "usage": {"input_tokens": 50, "output_tokens": output}}}),
        ];
        decode(&events).message().stop_reason
    };
    assert_eq!(ended(999), StopReason::Stop);
    assert_eq!(ended(1_000), StopReason::Length);
}

#[test]
fn f60_only_the_terminal_event_ends_an_answer() {
    let said = [added(0, json!({"type": "message"})), delta("output_text", 0, "half")];
    let decoded = decode_bytes(&format!("{}data: [DONE]\n\n", sse(&said)));
    assert_eq!((decoded.error().kind, decoded.partial().text()), (ErrorKind::Cut, "half".into()));
    let whole = sse(&[&said[..], &[completed()]].concat());
    let torn = &whole[..whole.len() - 40];
    assert_eq!(decode_bytes(torn).error().kind, ErrorKind::Cut);
    for end in ["\n", "\r\n", "\r"] {
        assert_eq!(decode_bytes(&whole.replace('\n', end)).message().text(), "half");
    }
    let length = json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}});
    let decoded = decode(&[call(0, "c"), delta("function_call_arguments", 0, "{\"a"), length]);
    assert_eq!(decoded.message().stop_reason, StopReason::Length);
    assert_eq!(decoded.message().tool_calls().next().unwrap().arguments, json!("{\"a"));
}

#[test]
fn f62_errors_in_the_stream_after_two_deltas() {
    let failed = |code: &str| json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": "the words"}}});
    for (event, kind) in [
        (failed("server_error"), ErrorKind::Transient),
        (failed("rate_limit_exceeded"), ErrorKind::RateLimit),
        (failed("context_length_exceeded"), ErrorKind::Overflow),
        (failed("invalid_prompt"), ErrorKind::BadRequest),
        (
            json!({"type": "error", "code": "insufficient_quota", "message": "the words"}),
            ErrorKind::Quota,
        ),
        (json!({"error": {"type": "server_error", "message": "the words"}}), ErrorKind::Transient),
    ] {
        let decoded = decode(&[delta("output_text", 0, "a"), delta("output_text", 0, "b"), event]);
        assert_eq!(decoded.error().kind, kind);
        assert!(decoded.error().message.contains("the words"));
        assert_eq!(decoded.partial().text(), "ab");
    }
    let filtered = json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}});
    assert_eq!(decode(&[filtered]).error().kind, ErrorKind::Refused);
    let refusal = decode(&[delta("refusal", 0, "I cannot"), completed()]);
    assert_eq!(refusal.message().text(), "I cannot");
}

#[test]
fn p2_servers_that_send_wholes_instead_of_deltas() {
    let items = [
        json!({"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "hm"}]}),
        json!({"type": "message", "content": [{"type": "output_text", "text": "hi"}]}),
        json!({"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}),
        json!({"type": "web_search_call"}),
    ];
    let late: Vec<Value> =
        items.iter().zip(0..).map(|(item, index)| done(index, item.clone())).collect();
    let at_the_end = json!({"type": "response.completed", "response": {"output": items}});
    for events in [[&late[..], &[completed()]].concat(), vec![at_the_end]] {
        let message = decode(&events).message();
        assert_eq!(message.text(), "hi");
        assert!(
            matches!(&message.content[0], Block::Thinking { thinking, .. } if thinking == "hm")
        );
        assert_eq!((message.content.len(), message.stop_reason), (3, StopReason::ToolUse));
    }
}

#[test]
fn f64_missing_numbers_and_ids() {
    let item = |id: &str| json!({"type": "response.output_item.added", "item": {"type": "function_call", "id": id, "name": "ls"}});
    let piece = |id: &str, text: &str| json!({"type": "response.function_call_arguments.delta", "item_id": id, "delta": text});
    let message = decode(&[
        item("a"),
        item("b"),
        piece("b", "{\"x\":2}"),
        piece("a", "{\"x\":1}"),
        item(""),
        completed(),
    ])
    .message();
    let calls: Vec<_> = message.tool_calls().map(|c| (&*c.id, c.arguments["x"].clone())).collect();
    assert_eq!(calls, [("a", json!(1)), ("b", json!(2)), ("call_2", Value::Null)]);
    // Number 0 for every call: the one that is not done yet is meant.
    let whole =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "ls", "arguments": "{}"});
    let message = decode(&[
        call(0, "c1"),
        delta("function_call_arguments", 0, "{\"x\":1}"),
        done(0, whole("c1")),
        call(0, "c2"),
        delta("function_call_arguments", 0, "{\"x\":2}"),
        done(0, whole("c2")),
        completed(),
    ])
    .message();
    let calls: Vec<_> = message.tool_calls().map(|c| (&*c.id, c.arguments["x"].clone())).collect();
    assert_eq!(calls, [("c1", json!(1)), ("c2", json!(2))]);
}

#[test]
fn i10_two_hundred_kilobytes_of_arguments() {
    let content = "한글 and ascii 🙂 \\n".repeat(9_000);
    let whole: Vec<char> = json!({"content": content}).to_string().chars().collect();
    let mut events = vec![call(0, "c")];
    events.extend(
        whole
            .chunks(97)
            .map(|piece| delta("function_call_arguments", 0, &piece.iter().collect::<String>())),
    );
    events.push(completed());
    assert_eq!(
        decode(&events).message().tool_calls().next().unwrap().arguments["content"],
        json!(content)
    );
}

#[test]
fn p1_a_round_with_tools_and_images() {
    let mut request = request(
        json!({"id": "gpt-5.1"}),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "data": "QQ==", "mimeType": "image/png"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "not an item"},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}]},
            {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": [
                {"type": "text", "text": "seen"}, {"type": "image", "data": "Qg==", "mimeType": "image/png"}]}
        ]),
    );
    request.tools = vec![ToolSpec {
        name: "ls".into(),
        description: "d".into(),
        parameters: json!({"type": "object"}),
    }];
    request.max_tokens = 3;
    let image = |data: &str| json!({"type": "input_image", "detail": "auto", "image_url": format!("data:image/png;base64,{data}")});
    let expected = json!({
        "model": "gpt-5.1", "instructions": "be good",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "look"}, image("QQ==")]},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "seen"}, image("Qg==")]}],
        "tools": [{"type": "function", "name": "ls", "description": "d", "parameters": {"type": "object"}, "strict": false}],
        "stream": true, "store": false, "max_output_tokens": 16, "prompt_cache_key": "s1",
        "reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"],
    });
    assert_eq!(Value::Object(body(&request)), expected);
    request.thinking = ThinkingLevel::Off;
    assert_eq!(body(&request)["reasoning"], json!({"effort": "none"}));
}
