//! Recorded bytes of Chat Completions servers, delivered in pieces of every size.

use serde_json::json;

use super::ChatDecoder;
use crate::message::{AssistantMessage, Block, StopReason, Usage};
use crate::provider::testing::{Decoded, decode_split, sse};
use crate::provider::{BlockStart, ErrorKind, StreamEvent};

fn decode(body: &str) -> Decoded {
    decode_split(body, || ChatDecoder::new("acme"))
}

fn delta(delta: serde_json::Value) -> serde_json::Value {
    json!({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> serde_json::Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn call(index: u64, id: &str, name: &str, arguments: &str) -> serde_json::Value {
    let mut call =
        json!({"index": index, "type": "function", "function": {"arguments": arguments}});
    if !id.is_empty() {
        call["id"] = json!(id);
    }
    if !name.is_empty() {
        call["function"]["name"] = json!(name);
    }
    delta(json!({"tool_calls": [call]}))
}

fn calls(message: &AssistantMessage) -> Vec<(String, String, String)> {
    message
        .tool_calls()
        .map(|call| (call.id.clone(), call.name.clone(), call.arguments.to_string()))
        .collect()
}

fn triple(id: &str, name: &str, arguments: serde_json::Value) -> (String, String, String) {
    (id.into(), name.into(), arguments.to_string())
}

#[test]
fn p2_text_and_usage_in_a_trailing_chunk_without_choices() {
    let body = format!(
        "{}: keep-alive\r\n\r\ndata: [DONE]\n\n",
        sse(&[
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"content": "안녕, "})),
            delta(json!({"content": "세계 👩‍👩‍👧"})),
            finish("stop"),
            json!({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57,
                "prompt_tokens_details": {"cached_tokens": 20}}}),
        ])
    );
    let decoded = decode(&body);
    let message = decoded.message();
    assert_eq!(message.text(), "안녕, 세계 👩‍👩‍👧");
    let usage =
        Usage { input: 30, output: 7, cache_read: 20, total_tokens: 57, ..Usage::default() };
    assert_eq!((message.usage, message.stop_reason), (usage, StopReason::Stop));
    let deltas = decoded.events.iter().filter(|e| matches!(e, StreamEvent::Delta { .. })).count();
    assert_eq!(deltas, 2, "nothing is held back");
}

#[test]
fn p2_line_ends_of_every_kind() {
    let body =
        sse(&[delta(json!({"content": "a"})), delta(json!({"content": "b"})), finish("stop")]);
    for end in ["\r\n", "\r", "\n"] {
        let message = decode(&body.replace('\n', end)).message();
        assert_eq!(message.text(), "ab", "{end:?}");
    }
}

#[test]
fn f61_either_terminal_signal_is_enough() {
    let text = delta(json!({"content": "a"}));
    let finished = decode(&sse(&[text.clone(), finish("stop")])).message();
    let done = decode(&format!("{}data: [DONE]\n\n", sse(std::slice::from_ref(&text)))).message();
    assert_eq!((finished.text(), done.text()), ("a".into(), "a".into()));
    let cut = decode(&sse(std::slice::from_ref(&text)));
    assert_eq!(cut.error().kind, ErrorKind::Cut);
    assert_eq!(cut.partial().text(), "a");
    assert_eq!(decode("").error().kind, ErrorKind::Cut);
    let torn = format!("{}data: {{\"choices\":[{{\"delta\":{{\"con", sse(&[text]));
    assert_eq!(decode(&torn).error().kind, ErrorKind::Cut);
}

#[test]
fn f61_calls_without_finish_reason_still_want_results() {
    let body = format!("{}data: [DONE]\n\n", sse(&[call(0, "c", "ls", "{}")]));
    assert_eq!(decode(&body).message().stop_reason, StopReason::ToolUse);
    let stop = sse(&[call(0, "c", "ls", "{}"), finish("stop")]);
    assert_eq!(decode(&stop).message().stop_reason, StopReason::ToolUse);
    let length = sse(&[call(0, "c", "ls", "{\"pa"), finish("length")]);
    let message = decode(&length).message();
    assert_eq!(message.stop_reason, StopReason::Length);
    assert_eq!(calls(&message), [triple("c", "ls", json!("{\"pa"))]);
}

#[test]
fn f62_errors_in_the_stream_after_two_deltas() {
    let said = sse(&[delta(json!({"content": "a"})), delta(json!({"content": "b"}))]);
    for (event, kind) in [
        (r#"data: {"error":{"code":503,"message":"overloaded"}}"#, ErrorKind::Transient),
        (
            r#"data: {"error":{"type":"rate_limit_exceeded","message":"slow"}}"#,
            ErrorKind::RateLimit,
        ),
        (
            r#"data: {"object":"error","message":"bad","type":"invalid_request_error"}"#,
            ErrorKind::BadRequest,
        ),
        ("event: error\ndata: {\"message\":\"overloaded\"}", ErrorKind::Transient),
        ("data: upstream connect error", ErrorKind::Transient),
        (
            r#"data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#,
            ErrorKind::Refused,
        ),
        (
            r#"data: {"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"up"}}]}"#,
            ErrorKind::Transient,
        ),
    ] {
        let decoded = decode(&format!("{said}{event}\n\ndata: [DONE]\n\n"));
        assert_eq!(decoded.error().kind, kind, "{event}");
        assert_eq!(decoded.partial().text(), "ab", "{event}");
        assert!(decoded.error().message.contains("acme"), "{event}");
    }
}

#[test]
fn f64_parallel_calls_by_index() {
    let message = decode(&sse(&[
        call(0, "c1", "read", ""),
        call(1, "c2", "ls", ""),
        call(1, "", "", "{\"path\":"),
        call(0, "", "", "{\"path\":\"a\"}"),
        call(1, "", "", "\"b\"}"),
        finish("tool_calls"),
    ]))
    .message();
    let expected =
        [triple("c1", "read", json!({"path": "a"})), triple("c2", "ls", json!({"path": "b"}))];
    assert_eq!(calls(&message), expected);
}

#[test]
fn f64_every_call_at_index_zero_with_its_own_id() {
    let message = decode(&sse(&[
        call(0, "c1", "read", "{\"path\":\"a\"}"),
        call(0, "c2", "read", "{\"path\":"),
        call(0, "c2", "", "\"b\"}"),
        finish("tool_calls"),
    ]))
    .message();
    let expected =
        [triple("c1", "read", json!({"path": "a"})), triple("c2", "read", json!({"path": "b"}))];
    assert_eq!(calls(&message), expected);
}

#[test]
fn f64_missing_ids_indexes_and_late_names() {
    let no_ids = decode(&sse(&[
        call(0, "", "read", "{\"path\":\"a\"}"),
        call(0, "", "ls", "{}"),
        finish("tool_calls"),
    ]))
    .message();
    let expected =
        [triple("call_0", "read", json!({"path": "a"})), triple("call_1", "ls", json!({}))];
    assert_eq!(calls(&no_ids), expected);
    let no_index = decode(&sse(&[
        delta(json!({"tool_calls": [{"id": "a", "function": {"name": "ls", "arguments": ""}}]})),
        delta(json!({"tool_calls": [{"function": {"arguments": "{\"path\":\"x\"}"}}]})),
        delta(json!({"tool_calls": [{"id": "b", "function": {"name": "ls", "arguments": {"path": "y"}}}]})),
        finish("tool_calls"),
    ]))
    .message();
    let expected =
        [triple("a", "ls", json!({"path": "x"})), triple("b", "ls", json!({"path": "y"}))];
    assert_eq!(calls(&no_index), expected);
    let late = decode(&sse(&[
        call(3, "a", "", ""),
        call(3, "", "ls", "{"),
        call(3, "", "", "}"),
        finish("stop"),
    ]));
    assert_eq!(calls(&late.message()), [triple("a", "ls", json!({}))]);
}

#[test]
fn f63_empty_arguments_are_none_and_names_repeated_in_each_piece_do_no_harm() {
    let message = decode(&sse(&[
        call(0, "c", "ls", ""),
        call(0, "c", "ls", "{\"path\""),
        call(0, "c", "ls", ":\"a\"}"),
        call(1, "d", "ls", ""),
        finish("tool_calls"),
    ]))
    .message();
    assert_eq!(
        calls(&message),
        [triple("c", "ls", json!({"path": "a"})), triple("d", "ls", json!({}))]
    );
}

#[test]
fn i10_two_hundred_kilobytes_of_arguments() {
    let text = "한글 and ascii 🙂 \\n".repeat(9_000);
    let whole = json!({"content": text}).to_string();
    let mut pieces = vec![call(0, "c", "write", "")];
    let letters: Vec<char> = whole.chars().collect();
    pieces
        .extend(letters.chunks(97).map(|piece| call(0, "", "", &piece.iter().collect::<String>())));
    pieces.push(finish("tool_calls"));
    let message = decode(&sse(&pieces)).message();
    assert_eq!(message.tool_calls().next().unwrap().arguments["content"], json!(text));
}

#[test]
fn p2_reasoning_goes_before_text_and_remembers_its_field() {
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let message = decode(&sse(&[
            delta(json!({field: "h"})),
            delta(json!({field: "m", "content": null})),
            delta(json!({"content": "a"})),
            delta(json!({field: "again"})),
            finish("stop"),
        ]))
        .message();
        let thinking = |text: &str| Block::Thinking {
            thinking: text.into(),
            thinking_signature: Some(field.into()),
            redacted: None,
        };
        assert_eq!(message.content, [thinking("hm"), Block::text("a"), thinking("again")]);
    }
}

#[test]
fn p2_content_in_parts() {
    let message = decode(&sse(&[
        delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]})),
        delta(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})),
        finish("stop"),
    ]))
    .message();
    assert_eq!(message.text(), "ab");
    assert!(matches!(&message.content[0], Block::Thinking { thinking, .. } if thinking == "hm"));
}

#[test]
fn p2_encrypted_reasoning_of_routers_is_kept_whole() {
    let detail =
        |text: &str| json!({"type": "reasoning.encrypted", "index": 0, "id": "r", "data": text});
    let decoded = decode(&sse(&[
        delta(json!({"reasoning_details": [detail("ab")]})),
        delta(json!({"reasoning_details": [detail("cd")], "content": "x"})),
        finish("stop"),
    ]));
    let message = decoded.message();
    let Block::Thinking { thinking_signature: Some(signature), redacted, .. } = &message.content[0]
    else {
        panic!("{message:?}")
    };
    assert_eq!(*redacted, Some(true));
    assert_eq!(signature, &json!([detail("abcd")]).to_string());
}

#[test]
fn p2_figures_by_their_other_names() {
    let usage = |chunk: serde_json::Value| decode(&sse(&[chunk, finish("stop")])).message().usage;
    let deepseek =
        usage(json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2,
        "prompt_cache_hit_tokens": 4}}));
    assert_eq!((deepseek.input, deepseek.cache_read, deepseek.total_tokens), (6, 4, 12));
    let xai =
        usage(json!({"usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 17,
        "completion_tokens_details": {"reasoning_tokens": 5}}}));
    assert_eq!((xai.output, xai.total_tokens), (7, 17));
    let openai =
        usage(json!({"usage": {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
        "completion_tokens_details": {"reasoning_tokens": 5}}}));
    assert_eq!(openai.output, 7);
    let moonshot =
        usage(json!({"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 3}}]}));
    assert_eq!(moonshot.input, 3);
}

#[test]
fn p2_a_server_that_does_not_stream_and_chunks_nobody_knows() {
    let whole = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"},
        "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}});
    assert_eq!(decode(&sse(&[whole])).message().text(), "hi");
    let message = decode(&format!(
        "event: ping\ndata: {{}}\n\ndata:\n\ndata: {{\"choices\":null,\"new\":[1]}}\n\n{}",
        sse(&[
            delta(json!({"content": "x"})),
            json!({"choices": [{"index": 1, "delta": {"content": "other"}}]}),
            finish("eos")
        ])
    ))
    .message();
    assert_eq!((message.text().as_str(), message.stop_reason), ("x", StopReason::Stop));
}

#[test]
fn p2_blocks_are_numbered_in_order() {
    let decoded = decode(&sse(&[
        delta(json!({"content": "a"})),
        call(0, "c", "ls", "{}"),
        delta(json!({"content": "b"})),
        finish("tool_calls"),
    ]));
    let starts: Vec<_> = decoded
        .events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::BlockStart { index, block } => Some((*index, block.clone())),
            _ => None,
        })
        .collect();
    let call = BlockStart::ToolCall { id: "c".into(), name: "ls".into() };
    assert_eq!(starts, [(0, BlockStart::Text), (1, call), (2, BlockStart::Text)]);
}
