//! The real session against a strict Chat Completions server over a real socket: the flows of a
//! day, and no request that the server would reject (SPEC A1, C2, C24, B5, P2; I2, I7).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use regrow::agent_session::command::{Delivery, SessionCommand, SummaryChoice};
use regrow::agent_session::event::SessionEvent;
use regrow::message::Image;
use regrow::provider::registry::{ProviderRegistry, RegistryFiles};
use serde_json::json;

use super::harness::{Setup, Talk};
use crate::support::server::{Gate, ModelServer, Reply, Rules};

/// A server, and a session that talks to it.
pub async fn serve(rules: Rules, setup: Setup) -> (ModelServer, Talk) {
    let server = ModelServer::start(rules).await;
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models.json");
    let config = json!({"providers": {"test": {
        "baseUrl": server.v1(), "api": "openai-completions", "apiKey": "sk-test-1234567890",
        "models": [{"id": "m", "contextWindow": setup.window, "maxTokens": 1_000, "images": true}]}}});
    std::fs::write(&models, config.to_string()).unwrap();
    let files = RegistryFiles { models: Some(models), keys: None };
    let registry = ProviderRegistry::new(&setup.settings, HashMap::new(), files);
    let model = registry.choose_model(Some("test"), None).unwrap();
    let talk = Talk::served(setup, Arc::new(registry), model);
    (server, talk)
}

pub async fn ask(talk: &mut Talk, text: &str) {
    talk.prompt(text, Delivery::FollowUp);
    talk.idle().await;
}

#[tokio::test]
async fn a1_a_day_of_streams_calls_stops_and_moves_is_accepted_by_a_strict_server() {
    let rules = Rules { alternate: true, ..Rules::default() };
    let (server, mut talk) = serve(rules, Setup::default()).await;
    for number in 0..5 {
        std::fs::write(talk.dir.path().join(format!("{number}.txt")), format!("file {number}\n"))
            .unwrap();
    }

    server.push(Reply::says("네, 안녕하세요 👋").split(1));
    ask(&mut talk, "안녕").await;
    assert_eq!(talk.story().last().unwrap(), "assistant: 네, 안녕하세요 👋");

    server.push(Reply::calls("c1", "read", json!({"path": "0.txt"})));
    server.push(Reply::says("One file."));
    ask(&mut talk, "read one").await;

    let mut five = Reply::default();
    for number in 0..5 {
        let arguments = json!({"path": format!("{number}.txt")}).to_string();
        five = five.call(&format!("p{number}"), "read", &arguments);
    }
    server.push(five.finish("tool_calls"));
    server.push(Reply::says("Five files."));
    ask(&mut talk, "read five").await;
    assert!(talk.story().iter().any(|line| line.contains("file 4")));

    let gate = Gate::default();
    server.push(Reply::default().text("Half an ans").hold(&gate).text("wer").finish("stop"));
    talk.prompt("slow", Delivery::FollowUp);
    while !talk.streamed().ends_with("Half an ans") {
        talk.next("text").await;
    }
    talk.send(SessionCommand::Abort);
    talk.idle().await;
    gate.closed().await;
    assert_eq!(talk.story().last().unwrap(), "assistant (aborted): Half an ans");

    // F41: two stops in a row leave two neighbours of the person's.
    let gate = Gate::default();
    server.push(Reply::default().hold(&gate).finish("stop"));
    talk.prompt("stopped before a word", Delivery::FollowUp);
    gate.reached().await;
    talk.send(SessionCommand::Abort);
    talk.idle().await;
    server.push(Reply::says("Here."));
    ask(&mut talk, "are you there?").await;

    let first = talk.entries()[1].id.clone();
    server.push(Reply::says("## Goal\nRead files"));
    talk.go(&first, SummaryChoice::Default);
    talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    talk.idle().await;
    server.push(Reply::says("From the start."));
    ask(&mut talk, "again").await;
    let body = server.last().to_string();
    assert!(body.contains("Read files") && !body.contains("Five files"), "I1: {body}");
    assert_eq!(server.rejections(), Vec::<String>::new());
}

#[tokio::test]
async fn c24_a_summary_that_is_held_open_can_be_stopped_and_the_next_prompt_is_answered() {
    let (server, mut talk) = serve(Rules::default(), Setup::default()).await;
    for number in 0..8 {
        server.push(Reply::says(&format!("answer {number}")));
        ask(&mut talk, &format!("question {number} {}", "alpha beta gamma ".repeat(1_000))).await;
    }
    let before = talk.bytes();
    let asked = server.requests().len();
    let gate = Gate::default();
    server.push(Reply::default().text("## Goal").hold(&gate).finish("stop"));
    talk.send(SessionCommand::Compact { instructions: None });
    gate.reached().await;
    talk.send(SessionCommand::Abort);
    talk.idle().await;
    gate.closed().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(talk.bytes(), before, "the file is as it was, two seconds later");
    assert_eq!(server.requests().len(), asked + 1, "nothing more was asked");
    server.push(Reply::says("Still here."));
    ask(&mut talk, "and?").await;
    assert_eq!(talk.story().last().unwrap(), "assistant: Still here.");
    assert_eq!(server.rejections(), Vec::<String>::new());
}

#[tokio::test]
async fn c2_a_server_with_a_smaller_window_than_configured_is_recovered_from() {
    // The server holds 6 000 tokens and says so only by refusing; 32 768 are configured.
    let rules = Rules { window: Some(6_000), ..Rules::default() };
    let (server, mut talk) = serve(rules, Setup { window: 32_768, ..Setup::default() }).await;
    server.otherwise(|request| {
        let is_summary = request.body.to_string().contains("<conversation>");
        Reply::says(if is_summary {
            "## Goal\nTalk.\n\n## Progress\n- much said"
        } else {
            "I see."
        })
    });
    for number in 0..12 {
        ask(&mut talk, &format!("part {number}: {}", "one two three four ".repeat(100))).await;
    }
    let story = talk.story();
    assert_eq!(story.last().unwrap(), "assistant: I see.", "{story:#?}");
    let compactions = story.iter().filter(|line| line.starts_with("compaction")).count();
    assert!((1..=8).contains(&compactions), "{compactions}");
    let asked_twice = story.iter().filter(|line| line.starts_with("assistant (error)")).count();
    assert!(asked_twice <= 2, "the smaller window is learned: {story:#?}");
}

#[tokio::test]
async fn f68_a_refused_image_becomes_a_placeholder_and_the_turn_goes_on() {
    let (server, mut talk) = serve(Rules::default(), Setup::default()).await;
    let picture = Image { data: "aGVsbG8=".into(), mime_type: "image/png".into() };
    let show = |talk: &mut Talk, text: &str| {
        talk.send(SessionCommand::Prompt {
            text: text.into(),
            images: vec![picture.clone()],
            delivery: Delivery::FollowUp,
        });
    };
    let refusal = || {
        let message = "messages.0.content.1: image dimensions exceed max allowed size: 8000 pixels";
        Reply::status(400, &json!({"error": {"message": message}}).to_string())
    };
    server.push(refusal());
    server.push(Reply::says("I cannot see it."));
    show(&mut talk, "what is this?");
    talk.idle().await;
    assert_eq!(talk.story().last().unwrap(), "assistant: I cannot see it.");
    assert!(talk.notices().iter().any(|notice| notice.contains("8000 pixels")));
    let sent: Vec<String> =
        server.requests().iter().map(|request| request.body.to_string()).collect();
    assert_eq!(sent.len(), 2);
    assert!(sent[0].contains("image_url") && !sent[1].contains("image_url"), "{}", sent[1]);
    assert!(sent[1].contains("what is this?") && sent[1].contains("[image left out]"));
    assert!(String::from_utf8(talk.bytes()).unwrap().contains("aGVsbG8="), "the file keeps it");

    // The refused one stays out; another is tried, and refused in its turn without a loop.
    server.push(refusal());
    server.push(Reply::says("Neither this."));
    show(&mut talk, "and this?");
    talk.idle().await;
    let sent: Vec<String> =
        server.requests().iter().map(|request| request.body.to_string()).collect();
    assert_eq!(sent[2].matches("image_url\":").count(), 1, "{}", sent[2]);
    assert_eq!(sent.len(), 4);
    assert_eq!(server.rejections(), Vec::<String>::new());
}
