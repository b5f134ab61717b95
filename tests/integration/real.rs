//! The three protocols and a whole session against a real model server (P1, P2, C2, C6; I7, I8).
//!
//! `REGROW_TEST_SERVER` names it: a llama.cpp server with one slot and a window of 4 096 tokens, such
//! as `llama-server -m MODEL.gguf -c 4096 -np 1 --jinja --chat-template-file
//! tests/integration/support/chat.jinja`. Without it these tests say loudly that they
//! were skipped. `cargo test --test integration real:: -- --nocapture` prints the figures.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use regrow::agent_session::command::{Delivery, SessionCommand};
use regrow::agent_session::event::SessionEvent;
use regrow::ids::Timestamp;
use regrow::message::{AssistantMessage, Content, Message, StopReason, UserMessage};
use regrow::provider::assemble::Assembler;
use regrow::provider::model::Model;
use regrow::provider::registry::{ProviderRegistry, RegistryFiles};
use regrow::provider::{
    ErrorKind, ProviderError, Providers, Purpose, Request, StreamEvent, ThinkingLevel, ToolSpec,
};
use regrow::settings::Settings;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::talk::harness::{Setup, Talk};

/// What llama.cpp speaks, and where each protocol's base URL ends.
const PROTOCOLS: &[(&str, &str)] =
    &[("openai-completions", "/v1"), ("openai-responses", "/v1"), ("anthropic-messages", "")];

/// The server's window in tokens.
const WINDOW: u64 = 4_096;

/// How often something is said in a session; it overfills [`WINDOW`] well before the last.
const NOTES: usize = 7;

/// The server has one slot: one test at a time.
static TURN: Mutex<()> = Mutex::const_new(());

/// The server's address without a path; `None`, said loudly, when there is none.
fn server() -> Option<String> {
    let origin = std::env::var("REGROW_TEST_SERVER").ok().filter(|origin| !origin.is_empty());
    if origin.is_none() {
        eprintln!("SKIPPED: REGROW_TEST_SERVER names no model server; nothing real was tested");
    }
    origin.map(|origin| origin.trim_end_matches('/').to_owned())
}

/// The server's model, told with a window of `window` tokens.
fn registry(
    origin: &str,
    (api, path): (&str, &str),
    window: u64,
) -> (ProviderRegistry, Arc<Model>) {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models.json");
    let config = json!({"providers": {"real": {
        "baseUrl": format!("{origin}{path}"), "api": api, "apiKey": "none",
        "models": [{"id": "m", "contextWindow": window, "maxTokens": 160}]}}});
    std::fs::write(&models, config.to_string()).unwrap();
    let files = RegistryFiles { models: Some(models), keys: None };
    let registry = ProviderRegistry::new(&Settings::default(), HashMap::new(), files);
    let model = registry.choose_model(Some("real"), None).unwrap();
    (registry, model)
}

fn request(model: &Arc<Model>, text: &str, max_tokens: u64) -> Request {
    let content = Content::from_text(text);
    Request {
        purpose: Purpose::Turn,
        model: model.clone(),
        system: "You help.".into(),
        messages: vec![Arc::new(Message::User(UserMessage { content, timestamp: 0 }))],
        tools: Vec::new(),
        max_tokens,
        thinking: ThinkingLevel::Off,
        parameters: serde_json::Map::new(),
        session_id: "s".into(),
        cache: true,
    }
}

/// The answer, and how many pieces of it came after which time; `cancel_after` pieces it is stopped.
async fn ask(
    registry: &ProviderRegistry,
    request: Request,
    cancel_after: Option<usize>,
) -> Result<(AssistantMessage, usize), ProviderError> {
    let cancel = CancellationToken::new();
    let model = request.model.clone();
    let provider = registry.provider_for(&model).unwrap();
    let mut stream = provider.stream(request, cancel.clone());
    let mut assembler = Assembler::new(&model, Timestamp::from_millis(0));
    let mut pieces = 0;
    let mut finish = None;
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Finish { reason } => finish = Some(reason),
            event => {
                pieces += usize::from(!matches!(event, StreamEvent::Usage(_)));
                assembler.apply(&event);
            }
        }
        if cancel_after == Some(pieces) {
            cancel.cancel();
        }
    }
    Ok((assembler.finish(finish.expect("a terminal signal"), &model), pieces))
}

/// Three rounds: a question, a call, its result, an answer; and then a question.
fn earlier_rounds(model: &Model) -> Vec<Arc<Message>> {
    let message = |value: Value| Arc::new(serde_json::from_value::<Message>(value).unwrap());
    let answer = |content: Value| {
        message(json!({"role": "assistant", "content": content, "api": model.api,
            "provider": model.provider, "model": model.id, "timestamp": 0}))
    };
    let question = |folder: &str| {
        let text = format!("Which files are in {folder}?");
        message(json!({"role": "user", "content": text, "timestamp": 0}))
    };
    let mut messages = Vec::new();
    for (number, folder) in ["docs", "src", "docs"].into_iter().enumerate() {
        let id = format!("call_{number}");
        let call =
            json!([{"type": "toolCall", "id": id, "name": "ls", "arguments": {"path": folder}}]);
        messages.extend([
            question(folder),
            answer(call),
            message(json!({"role": "toolResult", "toolCallId": id, "toolName": "ls",
                "content": [{"type": "text", "text": "one.md"}], "isError": false, "timestamp": 0})),
            answer(json!([{"type": "text", "text": "There is one.md."}])),
        ]);
    }
    messages.push(question("src"));
    messages
}

/// Whether the server is at work on an answer.
async fn is_busy(origin: &str) -> bool {
    let slots: Value = reqwest::get(format!("{origin}/slots")).await.unwrap().json().await.unwrap();
    slots.as_array().unwrap().iter().any(|slot| slot["is_processing"] == true)
}

#[tokio::test]
async fn p2_a_real_answer_streams_with_its_usage_in_three_protocols() {
    let Some(origin) = server() else { return };
    let _turn = TURN.lock().await;
    for protocol in PROTOCOLS {
        let (registry, model) = registry(&origin, *protocol, WINDOW);
        let began = Instant::now();
        let asked = request(&model, "안녕하세요. Tell me about rivers.", 60);
        let (answer, pieces) = ask(&registry, asked, None).await.unwrap();
        assert!(!answer.text().is_empty() && pieces > 5, "{}: {pieces} pieces", protocol.0);
        let usage = &answer.usage;
        assert!(usage.prompt_tokens() > 10 && usage.output > 5, "{}: {usage:?}", protocol.0);
        assert!(usage.output <= 60, "{}: {usage:?}", protocol.0);
        eprintln!(
            "{}: {pieces} pieces in {:?}, {} tokens in, {} out, ended by {:?}",
            protocol.0,
            began.elapsed(),
            usage.prompt_tokens(),
            usage.output,
            answer.stop_reason,
        );
    }
}

#[tokio::test]
async fn i7_a_real_server_sees_the_stop_and_ends_its_work_in_three_protocols() {
    let Some(origin) = server() else { return };
    let _turn = TURN.lock().await;
    for protocol in PROTOCOLS {
        let (registry, model) = registry(&origin, *protocol, WINDOW);
        let mut asked = request(&model, "Count from one to ten thousand.", 3_500);
        asked.parameters.insert("ignore_eos".into(), json!(true));
        let error = ask(&registry, asked, Some(3)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cancelled, "{}: {error}", protocol.0);
        let stopped = Instant::now();
        while is_busy(&origin).await {
            assert!(stopped.elapsed() < Duration::from_secs(5), "{} goes on", protocol.0);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        eprintln!("{}: idle {:?} after the stop", protocol.0, stopped.elapsed());
    }
}

#[tokio::test]
async fn c6_a_real_overflow_is_known_as_one_in_three_protocols() {
    let Some(origin) = server() else { return };
    let _turn = TURN.lock().await;
    for protocol in PROTOCOLS {
        let (registry, model) = registry(&origin, *protocol, WINDOW);
        let asked = request(&model, &"one two three four five ".repeat(1_200), 60);
        let error = ask(&registry, asked, None).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Overflow, "{}: {error:?}", protocol.0);
        eprintln!("{}: {:?} {}", protocol.0, error.status, error.message);
    }
}

#[tokio::test]
async fn a1_a_real_tool_call_arrives_whole_in_three_protocols() {
    let Some(origin) = server() else { return };
    let _turn = TURN.lock().await;
    for protocol in PROTOCOLS {
        let (registry, model) = registry(&origin, *protocol, WINDOW);
        let mut asked = request(&model, "", 60);
        // Rounds have been: the server reads calls and results, and a small model does likewise.
        asked.messages = earlier_rounds(&model);
        asked.parameters.insert("temperature".into(), json!(0));
        asked.tools = vec![ToolSpec {
            name: "ls".into(),
            description: "Lists a folder.".into(),
            parameters: json!({"type": "object", "required": ["path"],
                "properties": {"path": {"type": "string", "enum": ["src", "docs"]}}}),
        }];
        let forced = match protocol.0 {
            "anthropic-messages" => json!({"type": "any"}),
            _ => json!("required"),
        };
        asked.parameters.insert("tool_choice".into(), forced);
        let (answer, _) = ask(&registry, asked, None).await.unwrap();
        let calls: Vec<_> = answer.tool_calls().collect();
        assert!(!calls.is_empty(), "{}: {answer:?}", protocol.0);
        for call in &calls {
            assert!(call.name == "ls" && !call.id.is_empty(), "{}: {call:?}", protocol.0);
            assert_eq!(call.arguments, json!({"path": "src"}), "{}", protocol.0);
        }
        // A model without an end goes on calling until its limit.
        assert!(
            matches!(answer.stop_reason, StopReason::ToolUse | StopReason::Length),
            "{}: {answer:?}",
            protocol.0
        );
        eprintln!("{}: {} calls of `ls` with {}", protocol.0, calls.len(), calls[0].arguments);
    }
}

/// Says things until the window has been filled several times over.
async fn talk_on(told_window: u64, protocol: (&str, &str), origin: &str) {
    let (registry, model) = registry(origin, protocol, told_window);
    let mut setup = Setup { window: told_window, ..Setup::default() };
    // Only the person speaks, so that the run's length is known.
    setup.settings.compaction.auto_continue = false;
    let mut talk = Talk::served(setup, Arc::new(registry), model);
    talk.patience = Duration::from_secs(300);
    let began = Instant::now();
    for number in 0..NOTES {
        let words = format!("The river number {number} flows past old mills and quiet towns. ");
        talk.prompt(&format!("Note {number}: {}", words.repeat(35)), Delivery::FollowUp);
        talk.idle().await;
    }
    let story = talk.story();
    let compactions: Vec<_> = talk
        .seen
        .iter()
        .filter_map(|event| match event {
            SessionEvent::CompactionEnd { reason, result: Some(result), .. } => {
                Some((*reason, result.tokens_before, result.tokens_after, result.extractive))
            }
            _ => None,
        })
        .collect();
    let failed = story.iter().filter(|line| line.starts_with("assistant (error)")).count();
    let answered = story.iter().filter(|line| line.starts_with("assistant: ")).count();
    eprintln!(
        "{} told {told_window}: {answered} answers, {failed} refused, {:?}, compactions {compactions:?}",
        protocol.0,
        began.elapsed()
    );
    assert!(!compactions.is_empty(), "{:#?}", talk.notices());
    assert!(answered >= NOTES, "{story:#?}");
    let last = story.iter().rfind(|line| !line.starts_with("compaction: "));
    assert!(last.unwrap().starts_with("assistant: "), "{story:#?}");
    talk.send(SessionCommand::Abort);
    talk.quit().await;
}

#[tokio::test]
async fn c3_a_real_window_is_filled_by_talking_and_the_session_goes_on() {
    let Some(origin) = server() else { return };
    let _turn = TURN.lock().await;
    talk_on(WINDOW, PROTOCOLS[0], &origin).await;
}

#[tokio::test]
async fn c2_a_real_overflow_is_recovered_from_in_three_protocols() {
    let Some(origin) = server() else { return };
    let _turn = TURN.lock().await;
    for protocol in PROTOCOLS {
        // Eight times the truth: only the server's refusal tells.
        talk_on(8 * WINDOW, *protocol, &origin).await;
    }
}
