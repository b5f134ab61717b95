//! The offline model as the session meets it: requests in, streams out.

use super::*;
use crate::compaction::prompts::{Ask, SummaryPrompt, Template};
use crate::message::{Content, ToolCall, UserMessage};
use crate::provider::assemble::Assembler;
use crate::provider::{ThinkingLevel, ToolSpec};
use serde_json::{Value, json};

fn request(purpose: Purpose, messages: Value) -> Request {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({}),
    };
    Request {
        purpose,
        model: Arc::new(model()),
        system: "system".into(),
        messages: serde_json::from_value(messages).unwrap(),
        tools: ["read", "ls", "find", "grep", "bash", "write", "edit"].map(tool).to_vec(),
        max_tokens: 4_096,
        thinking: ThinkingLevel::Off,
        parameters: serde_json::Map::new(),
        session_id: "s".into(),
        cache: true,
    }
}

fn unpaced() -> Offline {
    Offline { pace: Duration::ZERO, ..Offline::default() }
}

async fn answer(request: Request) -> Result<AssistantMessage, ProviderError> {
    let model = model();
    let mut assembler = Assembler::new(&model, crate::ids::Timestamp::default());
    let mut stream = unpaced().stream(request, CancellationToken::new());
    while let Some(event) = stream.next().await {
        let event = event?;
        assembler.apply(&event);
        if let StreamEvent::Finish { reason } = event {
            return Ok(assembler.finish(reason, &model));
        }
    }
    panic!("the stream ended without its terminal signal")
}

async fn turn_of(messages: Value) -> AssistantMessage {
    answer(request(Purpose::Turn, messages)).await.unwrap()
}

fn calls(message: &AssistantMessage) -> Vec<String> {
    message.tool_calls().map(|call| format!("{} {}", call.name, call.arguments)).collect()
}

#[tokio::test]
async fn s9_a_command_becomes_a_call_and_its_result_an_answer() {
    let ask = json!({"role": "user", "content": "read Cargo.toml then run cargo check"});
    let first = turn_of(json!([ask])).await;
    assert_eq!(calls(&first), [r#"read {"path":"Cargo.toml"}"#]);
    assert_eq!(
        (first.text().as_str(), first.stop_reason),
        ("Reading `Cargo.toml`.", StopReason::ToolUse)
    );
    assert!(first.usage.input > 0 && first.usage.output > 0 && first.usage.total_tokens > 0);

    let result = |text: &str, error: bool| json!({"role": "toolResult", "toolCallId": "x", "toolName": "t", "content": text, "isError": error});
    let first = serde_json::to_value(Message::Assistant(first)).unwrap();
    let second = turn_of(json!([ask, first, result("1\t[package]", false)])).await;
    assert_eq!(calls(&second), [r#"bash {"command":"cargo check"}"#]);

    let gave_up = turn_of(json!([ask, first, result("no such file", true)])).await;
    assert_eq!(gave_up.stop_reason, StopReason::Stop);
    assert!(gave_up.text().contains("failed") && gave_up.text().contains("left out the 1 command"));

    let second = serde_json::to_value(Message::Assistant(second)).unwrap();
    let closing = turn_of(json!([
        ask,
        first,
        result("1\t[package]", false),
        second,
        result("(no output)", false)
    ]))
    .await;
    assert_eq!(
        closing.text(),
        "I read 1 line of `Cargo.toml`; the first says `[package]`. `cargo check` ended well and printed nothing."
    );
    assert_eq!(calls(&closing), Vec::<String>::new());
}

#[tokio::test]
async fn s9_parallel_calls_have_ids_of_their_own() {
    let message = turn_of(json!([{"role": "user", "content": "read 가.md\nls\nfind *.rs"}])).await;
    let ids: Vec<_> = message.tool_calls().map(|call: &ToolCall| call.id.clone()).collect();
    assert_eq!(ids, ["offline_1_0", "offline_1_1", "offline_1_2"]);
    assert_eq!(calls(&message)[0], r#"read {"path":"가.md"}"#);
}

#[tokio::test]
async fn s9_prose_is_answered_with_what_it_is_and_how_to_get_a_model() {
    for text in ["Fix the parser, please.", "안녕!"] {
        let said = turn_of(json!([{"role": "user", "content": text}])).await.text();
        assert!(
            said.contains("not a language model") && said.contains("ANTHROPIC_API_KEY"),
            "{said}"
        );
    }
    let said = turn_of(json!([{"role": "user", "content": CONTINUE_PROMPT}])).await.text();
    assert!(said.contains("no next steps"), "C3: no loop: {said}");
}

#[tokio::test]
async fn a_tool_that_is_not_on_offer_is_not_called() {
    let mut request = request(Purpose::Turn, json!([{"role": "user", "content": "run ls"}]));
    request.tools.retain(|tool| tool.name != "bash");
    let message = answer(request).await.unwrap();
    assert!(
        message.text().contains("needs the tool `bash`") && message.tool_calls().next().is_none()
    );
}

#[tokio::test]
async fn c16_a_summary_prompt_is_answered_with_a_summary() {
    let prompt = |template, previous| SummaryPrompt {
        conversation: "[User]: src/lib.rs를 고쳐 줘. 반드시 테스트해.\n\n[Assistant]: 고쳤습니다.",
        previous_summary: previous,
        additional_context: &[],
        ask: Ask::BuiltIn(template),
        focus: None,
        words: None,
    };
    let ask = |template, previous: Option<&'static str>| {
        let text = prompt(template, previous).render();
        let user = Message::User(UserMessage { content: Content::from_text(text), timestamp: 0 });
        let mut request = request(Purpose::Compaction, json!([]));
        request.messages = vec![Arc::new(user)];
        request.tools.clear();
        answer(request)
    };
    let first = ask(Template::Summary, None).await.unwrap().text();
    assert!(
        first.starts_with("## Goal\nsrc/lib.rs를 고쳐 줘.") && first.contains("반드시 테스트해"),
        "{first}"
    );
    let update = ask(Template::UpdateSummary, Some("## Goal\nMake the parser read comments"))
        .await
        .unwrap()
        .text();
    assert!(
        update.contains("- Make the parser read comments\n- 가장 최근 요청: src/lib.rs"),
        "{update}"
    );
    let prefix = ask(Template::TurnPrefix, None).await.unwrap().text();
    assert!(prefix.starts_with("## Original Request\nsrc/lib.rs"), "{prefix}");
    let short = ask(Template::ShortSummary, Some("## Goal\nMake the parser read comments"))
        .await
        .unwrap()
        .text();
    assert!(!short.contains('#') && short.contains("Make the parser read comments"), "{short}");
}

#[tokio::test]
async fn c6_a_prompt_over_the_window_is_an_overflow() {
    let text = "가".repeat(40_000);
    let request = request(Purpose::Turn, json!([{"role": "user", "content": text}]));
    let error = answer(request).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Overflow);
}

#[tokio::test]
async fn c19_the_output_limit_holds() {
    let mut request = request(Purpose::Turn, json!([{"role": "user", "content": "hello"}]));
    request.max_tokens = 20;
    let message = answer(request).await.unwrap();
    assert_eq!(message.stop_reason, StopReason::Length);
    assert!(Estimator::default().text(&message.text()) <= 20);
}

#[tokio::test]
async fn i7_escape_ends_the_stream_at_once() {
    let cancel = CancellationToken::new();
    let request = request(Purpose::Turn, json!([{"role": "user", "content": "hello"}]));
    let mut stream = unpaced().stream(request, cancel.clone());
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::BlockStart { .. }))));
    cancel.cancel();
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert!(stream.next().await.is_none());
}
