//! Answers that end at every byte, in every protocol (I2, I12; F58, F60, F62, F63).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use futures::stream::{self, StreamExt};
use regrow::agent_session::event::SessionEvent;
use regrow::ids::Timestamp;
use regrow::message::{AssistantMessage, StopReason};
use regrow::provider::StreamEvent;
use regrow::provider::anthropic::wire::MessagesDecoder;
use regrow::provider::assemble::Assembler;
use regrow::provider::catalogue::guessed_model;
use regrow::provider::decode::{Decode, Progress};
use regrow::provider::gemini::wire::GeminiDecoder;
use regrow::provider::openai_chat::wire::ChatDecoder;
use regrow::provider::openai_responses::wire::ResponsesDecoder;
use regrow::provider::registry::{ProviderRegistry, RegistryFiles};
use regrow::provider::sse;
use serde_json::json;

use crate::support::dice::number;
use crate::support::server::{Gate, ModelServer, Reply, Rules, rendered};
use crate::talk::harness::{Setup, Talk};
use crate::talk::served::ask;

/// Protocols, and where their base URLs end.
const PROTOCOLS: &[(&str, &str)] = &[
    ("openai-completions", "/v1"),
    ("anthropic-messages", ""),
    ("openai-responses", "/v1"),
    ("google-generative-ai", "/v1beta"),
];

fn decoder(api: &str) -> Box<dyn Decode> {
    match api {
        "openai-completions" => Box::new(ChatDecoder::new("acme")),
        "anthropic-messages" => Box::new(MessagesDecoder::new("acme")),
        "openai-responses" => Box::new(ResponsesDecoder::new("acme", 1_000)),
        _ => Box::new(GeminiDecoder::new("acme")),
    }
}

/// A text and a call that leaves a trace where it runs.
fn answer() -> Reply {
    let arguments = json!({"command": "echo ran >> ran.txt"}).to_string();
    Reply::default()
        .thinking("hm")
        .text("그럼 한번 run it 👍")
        .call("call_1", "bash", &arguments)
        .usage(900, 40)
        .finish("tool_calls")
}

/// What a decoder makes of these bytes: the answer so far, how it ended, and whether that was said.
fn decode(api: &str, bytes: &[u8]) -> (AssistantMessage, Option<StopReason>, bool) {
    let pieces = [Ok::<_, std::convert::Infallible>(Bytes::copy_from_slice(bytes))];
    let frames = futures::executor::block_on(sse::frames(stream::iter(pieces)).collect::<Vec<_>>());
    let mut decoder = decoder(api);
    let mut events = Vec::new();
    let (mut ended, mut settled, mut done) = (false, false, false);
    for frame in frames {
        let Ok(frame) = frame else {
            ended = true;
            break;
        };
        match decoder.frame(&frame, &mut events) {
            Ok(Progress::Done) => (ended, done) = (true, true),
            Ok(progress) => settled = progress == Progress::Settled,
            // As the adapters do: after the terminal signal only figures can be torn.
            Err(_) if settled => break,
            Err(_) => ended = true,
        }
        if ended {
            break;
        }
    }
    if !ended {
        // An error of its own when the end was not said.
        let _ = decoder.end(&mut events);
    }
    let model = guessed_model("acme", "m", None, 1_000);
    let mut assembler = Assembler::new(&model, Timestamp::from_millis(0));
    events.iter().for_each(|event| assembler.apply(event));
    let finish = events.iter().find_map(|event| match event {
        StreamEvent::Finish { reason } => Some(*reason),
        _ => None,
    });
    (assembler.finish(finish.unwrap_or(StopReason::Error), &model), finish, settled || done)
}

/// I12: cut after any byte, an answer is either whole or no answer.
#[test]
fn i12_f60_an_answer_that_is_cut_after_any_byte_is_never_a_finished_half() {
    for (api, _) in PROTOCOLS {
        let bytes = rendered(api, &answer());
        let (whole, finish, _) = decode(api, &bytes);
        let ends_by_itself = *api == "google-generative-ai";
        assert_eq!(finish, Some(StopReason::ToolUse), "{api}");
        let calls = |answer: &AssistantMessage| {
            let calls = answer.tool_calls();
            calls.map(|call| (call.name.clone(), call.arguments.clone())).collect::<Vec<_>>()
        };
        let mut finished_from = None;
        for cut in 0..bytes.len() {
            let (part, finish, said) = decode(api, &bytes[..cut]);
            assert!(
                whole.text().starts_with(part.text().trim_end_matches('\u{fffd}')),
                "{api} {cut}"
            );
            if finish.is_none() {
                assert_eq!(finished_from, None, "{api} {cut}: finished, and with more bytes not");
                continue;
            }
            if ends_by_itself && !said {
                // F60: here the end of the body is the end, once something was said; calls are whole.
                assert!(!part.text().is_empty(), "{api} {cut}");
                assert!(calls(&part).is_empty() || calls(&part) == calls(&whole), "{api} {cut}");
                continue;
            }
            // What follows the terminal signal are figures.
            finished_from.get_or_insert(cut);
            assert_eq!(part.text(), whole.text(), "{api} {cut}");
            assert_eq!(calls(&part), calls(&whole), "{api} {cut}");
            assert_eq!(part.stop_reason, StopReason::ToolUse, "{api} {cut}");
        }
        println!("{api}: cut after each of {} bytes, finished from {finished_from:?}", bytes.len());
    }
}

/// A session that talks to a server of this protocol.
async fn serve(api: &str, path: &str) -> (ModelServer, Talk) {
    let server = ModelServer::start(Rules::default()).await;
    let mut setup = Setup::default();
    setup.settings.timeouts.idle = 1;
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models.json");
    let config = json!({"providers": {"test": {
        "baseUrl": format!("{}{path}", server.origin()), "api": api, "apiKey": "sk-test-1234567890",
        "models": [{"id": "m", "contextWindow": setup.window, "maxTokens": 1_000}]}}});
    std::fs::write(&models, config.to_string()).unwrap();
    let files = RegistryFiles { models: Some(models), keys: None };
    let registry = ProviderRegistry::new(&setup.settings, HashMap::new(), files);
    let model = registry.choose_model(Some("test"), None).unwrap();
    let mut talk = Talk::served(setup, Arc::new(registry), model);
    talk.patience = Duration::from_secs(60);
    (server, talk)
}

/// The ways in which an answer ends too soon after its first `cut` bytes, and how it has ended then
/// for all who can read.
fn broken(api: &str, start: &[u8]) -> Vec<(&'static str, Reply, Option<StopReason>)> {
    let text = String::from_utf8_lossy(start).into_owned();
    let error = rendered(api, &Reply::default().error("Overloaded"));
    let failed = format!("{text}\n\n{}", String::from_utf8(error).unwrap());
    let (_, ended, said) = decode(api, start);
    // The end of a body that breaks is no end, even where a clean one is (F60).
    let called = ended.filter(|_| said);
    vec![
        ("ends", Reply::raw(&text), ended),
        ("resets", Reply::raw(&text).reset(), called),
        ("reports an error", Reply::raw(&failed), decode(api, failed.as_bytes()).1),
    ]
}

/// All cuts of a protocol, one after the other in one session.
async fn strike(api: &'static str, path: &str) -> usize {
    let (server, mut talk) = serve(api, path).await;
    server.otherwise(|_| Reply::says("Recovered."));
    let bytes = rendered(api, &answer());
    let (mut asked, mut ran) = (0, 0);
    let ends = bytes.windows(2).enumerate().filter(|(_, pair)| pair == b"\n\n");
    let ends: Vec<usize> = ends.map(|(place, _)| place + 2).collect();
    // At the end of each event, and in the middle of the next; in the usual run of every third, and
    // of the last ones.
    let step = if number("REGROW_FAULT_ROUNDS", 8) < 100 { 3 } else { 1 };
    let struck = ends.iter().enumerate();
    let struck = struck.filter(|(place, _)| place % step == 0 || place + 3 >= ends.len());
    let cuts = std::iter::once(0)
        .chain(struck.flat_map(|(_, end)| [*end, (end + 9).min(bytes.len())]))
        .filter(|cut| bytes.get(*cut).is_none_or(u8::is_ascii));
    for cut in cuts {
        for (how, reply, ended) in broken(api, &bytes[..cut]) {
            server.push(reply);
            asked += 1;
            ran += usize::from(ended == Some(StopReason::ToolUse));
            ask(&mut talk, &format!("question {asked}")).await;
            let what = format!("{api}: {how} after {cut}");
            if ended == Some(StopReason::Stop) {
                assert!(talk.story().last().unwrap().starts_with("assistant: 그럼"), "{what}");
                ask(&mut talk, &format!("question {asked}, again")).await;
            }
            check(&talk, &server, ran, &what);
        }
    }
    // A server that says nothing more: in the beginning, in the middle of the call, before its end.
    for cut in [ends[0], ends[ends.len() / 2], ends[ends.len() - 3]] {
        let start = String::from_utf8_lossy(&bytes[..cut]).into_owned();
        let (_, _, said) = decode(api, &bytes[..cut]);
        server.push(Reply::raw(&start).hold(&Gate::default()));
        asked += 1;
        ran += usize::from(said);
        ask(&mut talk, &format!("question {asked}")).await;
        check(&talk, &server, ran, &format!("{api}: stalls after {cut}"));
    }
    let story = talk.story();
    for number in 1..=asked {
        let question = format!("user: question {number}");
        let count = story.iter().filter(|line| **line == question).count();
        assert_eq!(count, 1, "{api}: every question is in the file once");
    }
    assert!(ran > 0, "{api}: the whole answer was among them");
    asked
}

#[track_caller]
fn check(talk: &Talk, server: &ModelServer, ran: usize, what: &str) {
    let story = talk.story();
    assert_eq!(story.last().unwrap(), "assistant: Recovered.", "{what}: {story:#?}");
    assert_eq!(server.rejections(), [""; 0], "{what}");
    let traces = std::fs::read_to_string(talk.dir.path().join("ran.txt")).unwrap_or_default();
    assert_eq!(
        traces.lines().count(),
        ran,
        "{what}: how often the call ran\n{:#?}",
        talk.notices()
    );
    let started =
        talk.seen.iter().filter(|event| matches!(event, SessionEvent::ToolStarted { .. }));
    assert_eq!(started.count(), ran, "{what}: how often the call was started");
}

#[tokio::test]
async fn i2_i12_a_session_goes_on_after_an_answer_that_breaks_anywhere() {
    let struck = join_all(PROTOCOLS.iter().map(|(api, path)| strike(api, path))).await;
    println!("{struck:?} broken answers in four protocols");
    assert!(struck.iter().all(|count| *count > 15), "{struck:?}");
}
