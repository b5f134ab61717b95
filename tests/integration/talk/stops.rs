//! Escape, at every stage (SPEC I7, C24; F27–F33, F41, F89).

use std::time::{Duration, Instant};

use regrow::agent_session::command::{Delivery, SessionCommand, SummaryChoice};
use regrow::agent_session::event::{ActivityKind, SessionEvent};
use regrow::message::StopReason;
use regrow::provider::scripted::{Hold, Script};
use regrow::provider::{ErrorKind, ProviderError};

use super::harness::{Talk, text_of};

/// Presses Escape and gives the time until the session is idle.
async fn escape(talk: &mut Talk) -> Duration {
    let pressed = Instant::now();
    talk.send(SessionCommand::Abort);
    talk.idle().await;
    pressed.elapsed()
}

/// Escape acts within 100 ms; the test allows a busy machine some more.
const SOON: Duration = Duration::from_millis(400);

#[tokio::test]
async fn i7_a_stop_in_mid_stream_keeps_what_was_said_and_returns_the_queue() {
    let mut talk = Talk::start();
    let hold = Hold::default();
    talk.model
        .push(Script::new().text("So far so go").hold(&hold).text("od").finish(StopReason::Stop));
    talk.prompt("tell me", Delivery::FollowUp);
    talk.until("text", |event| matches!(event, SessionEvent::Stream { .. })).await;
    hold.reached().await;
    talk.prompt("and then", Delivery::FollowUp);
    assert!(escape(&mut talk).await < SOON);
    assert_eq!(talk.story(), ["user: tell me", "assistant (aborted): So far so go"]);
    let returned = talk.seen.iter().any(
        |event| matches!(event, SessionEvent::QueueReturned { text, .. } if text == "and then"),
    );
    assert!(returned);
    talk.say("go on", [Script::says("Good.")]).await;
    assert_eq!(talk.requests().len(), 2);
}

#[tokio::test]
async fn i7_a_stopped_command_settles_at_once_and_leaves_no_process() {
    let mut talk = Talk::start();
    let call = Script::new()
        .tool_call("c1", "bash", r#"{"command":"echo started; sleep 987"}"#)
        .tool_call("c2", "ls", "{}")
        .finish(StopReason::ToolUse);
    talk.model.push(call);
    talk.prompt("run", Delivery::FollowUp);
    talk.until("output", |event| matches!(event, SessionEvent::ToolProgress { .. })).await;
    assert!(escape(&mut talk).await < SOON);
    let story = talk.story();
    assert_eq!(story.len(), 4, "{story:?}");
    assert!(story[2].starts_with("result (error)") && story[3].starts_with("result (error)"));
    let alive = || {
        let found = std::process::Command::new("pgrep").args(["-f", "^sleep 987$"]).output();
        found.is_ok_and(|found| !found.stdout.is_empty())
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while alive() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!alive(), "the command's process is still there");
}

#[tokio::test]
async fn f70_a_stop_ends_the_wait_for_another_try() {
    let mut talk = Talk::start();
    let error = ProviderError {
        retry_after: Some(Duration::from_secs(50)),
        ..ProviderError::new(ErrorKind::RateLimit, "slow down")
    };
    talk.model.push(Script::new().error(error));
    talk.prompt("hi", Delivery::FollowUp);
    talk.until("a wait", |event| {
        matches!(event, SessionEvent::Activity { kind: ActivityKind::Retrying })
    })
    .await;
    assert!(escape(&mut talk).await < SOON);
    assert_eq!(talk.story(), ["user: hi"]);
    assert_eq!(talk.requests().len(), 1);
}

#[tokio::test]
async fn f89_an_empty_prompt_leaves_the_queue_alone() {
    let mut talk = Talk::start();
    let hold = Hold::default();
    talk.model.push(Script::new().text("One.").hold(&hold).finish(StopReason::Stop));
    talk.model.push(Script::says("Two."));
    talk.prompt("first", Delivery::FollowUp);
    hold.reached().await;
    talk.prompt("second", Delivery::FollowUp);
    talk.prompt("  ", Delivery::FollowUp);
    hold.release();
    talk.until("the second answer", |event| {
        matches!(event, SessionEvent::Appended { entry }
            if super::harness::tell(&entry.body) == "assistant: Two.")
    })
    .await;
}

#[tokio::test]
async fn f28_a_stop_of_the_persons_own_command_starts_nothing() {
    let mut talk = Talk::start();
    talk.send(SessionCommand::Shell { command: "echo on; sleep 985".into(), excluded: false });
    talk.until("output", |event| matches!(event, SessionEvent::ToolProgress { .. })).await;
    talk.prompt("typed meanwhile", Delivery::FollowUp);
    assert!(escape(&mut talk).await < SOON);
    assert!(talk.requests().is_empty());
    assert!(talk.seen.iter().any(|event| {
        matches!(event, SessionEvent::QueueReturned { text, .. } if text == "typed meanwhile")
    }));
}

#[tokio::test]
async fn c24_a_stopped_compaction_leaves_the_file_as_it_was() {
    let mut talk = Talk::start();
    super::compaction::talk_much(&mut talk).await;
    let before = talk.bytes();
    let requests = talk.requests().len();
    let hold = Hold::default();
    talk.model.push(Script::new().text("## Goal").hold(&hold).finish(StopReason::Stop));
    talk.send(SessionCommand::Compact { instructions: None });
    hold.reached().await;
    talk.prompt("typed meanwhile", Delivery::FollowUp);
    assert!(escape(&mut talk).await < SOON);
    hold.release();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(talk.bytes(), before);
    assert_eq!(talk.requests().len(), requests + 1, "nothing is asked after a stop");
    let ended = talk.seen.iter().rev().find_map(|event| match event {
        SessionEvent::CompactionEnd { aborted, result, error, .. } => {
            Some((*aborted, result.is_some(), error.is_some()))
        }
        _ => None,
    });
    assert_eq!(ended, Some((true, false, false)));
    assert!(talk.seen.iter().any(|event| {
        matches!(event, SessionEvent::QueueReturned { text, .. } if text == "typed meanwhile")
    }));
    talk.say("still there?", [Script::says("Yes.")]).await;
    assert!(talk.story().last().unwrap().ends_with("Yes."));
}

#[tokio::test]
async fn b7_a_stopped_branch_summary_leaves_leaf_and_file_as_they_were() {
    let mut talk = Talk::start();
    talk.say("one", [Script::says("First.")]).await;
    talk.say("two", [Script::says("Second.")]).await;
    let before = talk.bytes();
    let first = talk.entries()[1].id.clone();
    let hold = Hold::default();
    talk.model.push(Script::new().text("## Goal").hold(&hold).finish(StopReason::Stop));
    talk.go(&first, SummaryChoice::Default);
    hold.reached().await;
    talk.prompt("typed meanwhile", Delivery::FollowUp);
    talk.model.push(Script::says("Third."));
    talk.send(SessionCommand::Abort);
    talk.idle().await;
    assert!(talk.seen.iter().any(|event| {
        matches!(event, SessionEvent::NavigationEnded { aborted: true, error: None, .. })
    }));
    assert_eq!(talk.bytes()[..before.len()], before);
    // B7: what was typed meanwhile is said where one still is.
    let entries = talk.entries();
    assert_eq!(entries[4].parent_id, Some(entries[3].id.clone()));
    assert!(text_of(talk.requests().last().unwrap()).contains("Second."));
}
