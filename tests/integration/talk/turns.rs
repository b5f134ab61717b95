//! Turns: streaming, tool calls, queue, retries, permission (SPEC A1–A3, U3).

use regrow::agent_session::Attendance;
use regrow::agent_session::command::{Delivery, PermissionAnswer, SessionCommand};
use regrow::agent_session::event::SessionEvent;
use regrow::message::StopReason;
use regrow::provider::scripted::{Hold, Script};
use regrow::provider::{ErrorKind, ProviderError};
use regrow::settings::PermissionMode;

use super::harness::{Setup, Talk, text_of};

#[tokio::test]
async fn a1_text_streams_and_is_appended_once() {
    let mut talk = Talk::start();
    talk.say("안녕", [Script::new().text("네, ").text("안녕하세요").finish(StopReason::Stop)])
        .await;
    assert_eq!(talk.streamed(), "네, 안녕하세요");
    assert_eq!(talk.story()[0], "user: 안녕");
    assert_eq!(talk.story().len(), 2);
}

#[tokio::test]
async fn a1_a_tool_round_trip_goes_back_to_the_model() {
    let mut talk = Talk::start();
    std::fs::write(talk.dir.path().join("a.txt"), "first line\n").unwrap();
    let call =
        Script::new().tool_call("c1", "read", r#"{"path":"a.txt"}"#).finish(StopReason::ToolUse);
    talk.say("read it", [call, Script::says("It has one line.")]).await;
    let story = talk.story();
    assert_eq!(story[1], "assistant: read");
    assert!(story[2].contains("first line"), "{story:?}");
    assert_eq!(story[3], "assistant: It has one line.");
    let requests = talk.requests();
    assert_eq!(requests.len(), 2);
    assert!(text_of(&requests[1]).contains("first line"));
}

#[tokio::test]
async fn a1_five_parallel_calls_settle_in_their_order() {
    let mut talk = Talk::start();
    let mut script = Script::new();
    for number in 0..5 {
        std::fs::write(talk.dir.path().join(format!("{number}.txt")), format!("file {number}\n"))
            .unwrap();
        let arguments = format!(r#"{{"path":"{number}.txt"}}"#);
        script = script.tool_call(&format!("c{number}"), "read", &arguments);
    }
    talk.say("read all", [script.finish(StopReason::ToolUse), Script::says("Done.")]).await;
    let story = talk.story();
    for number in 0..5 {
        assert!(story[2 + number].contains(&format!("file {number}")), "{story:?}");
    }
    talk.requests();
}

#[tokio::test]
async fn f63_a_cut_or_unreadable_call_is_never_run() {
    let mut talk = Talk::start();
    let path = talk.dir.path().join("made.txt");
    let cut = Script::new()
        .tool_call("c1", "write", r#"{"path":"made.txt","content":"x"}"#)
        .finish(StopReason::Length);
    let broken = Script::new()
        .tool_call("c2", "write", r#"{"path":"made.txt","con"#)
        .finish(StopReason::ToolUse);
    let unknown = Script::new().tool_call("c3", "teleport", "{}").finish(StopReason::ToolUse);
    talk.say("go", [cut, broken, unknown, Script::says("Sorry.")]).await;
    assert!(!path.exists());
    let story = talk.story();
    assert!(story[2].contains("cut off at the output limit"), "{story:?}");
    assert!(story[4].contains("not a JSON object"), "{story:?}");
    assert!(story[6].contains("There is no tool `teleport`"), "{story:?}");
}

#[tokio::test]
async fn f89_steering_skips_calls_not_yet_started_and_follow_ups_wait_for_the_end() {
    let mut talk = Talk::start();
    let hold = Hold::default();
    let calls = Script::new().hold(&hold).tool_call("c1", "ls", "{}").finish(StopReason::ToolUse);
    talk.model.push(calls);
    talk.model.push(Script::says("Steered."));
    talk.model.push(Script::says("Followed."));
    talk.prompt("start", Delivery::FollowUp);
    hold.reached().await;
    talk.prompt("later", Delivery::FollowUp);
    talk.prompt("rather this", Delivery::Steer);
    talk.until(
        "the queue",
        |event| matches!(event, SessionEvent::Queue { steering, .. } if !steering.is_empty()),
    )
    .await;
    hold.release();
    talk.idle().await;
    let story = talk.story();
    assert!(
        story[2].starts_with("result (error): Not run: the user sent a new message"),
        "{story:?}"
    );
    assert_eq!(
        story[3..],
        ["user: rather this", "assistant: Steered.", "user: later", "assistant: Followed."]
    );
    talk.requests();
}

#[tokio::test]
async fn a1_transient_failures_are_tried_again_and_leave_nothing_behind() {
    let mut talk = Talk::start();
    let busy = Script::fails(ErrorKind::Transient, "overloaded");
    talk.say("hi", [busy.clone(), busy, Script::says("Hello.")]).await;
    assert_eq!(talk.story(), ["user: hi", "assistant: Hello."]);
    let retries =
        talk.seen.iter().filter(|event| matches!(event, SessionEvent::Retry { .. })).count();
    assert_eq!(retries, 2);
}

#[tokio::test]
async fn f60_an_answer_that_breaks_off_is_kept_and_asked_for_again() {
    let mut talk = Talk::start();
    let cut = Script::new().text("half an ans");
    talk.say("hi", [cut, Script::says("A whole answer.")]).await;
    assert_eq!(
        talk.story(),
        ["user: hi", "assistant (error): half an ans", "assistant: A whole answer."]
    );
    let requests = talk.requests();
    assert!(!text_of(&requests[1]).contains("half an ans"), "the request is made anew");
}

#[tokio::test]
async fn f70_a_wait_that_is_too_long_is_told_and_not_slept() {
    let mut talk = Talk::start();
    let error = ProviderError {
        retry_after: Some(std::time::Duration::from_secs(1_209_600)),
        ..ProviderError::new(ErrorKind::RateLimit, "too many requests, come back in two weeks")
    };
    talk.say("hi", [Script::new().error(error)]).await;
    assert_eq!(talk.story().len(), 2);
    assert!(talk.story()[1].starts_with("assistant (error)"));
}

#[tokio::test]
async fn a3_a_question_waits_for_its_answer_and_no_is_told_to_the_model() {
    let mut setup = Setup::default();
    setup.settings.permissions.mode = PermissionMode::Ask;
    let mut talk = Talk::with(setup);
    let write = |id: &str| {
        Script::new()
            .tool_call(id, "write", r#"{"path":"new.txt","content":"x\n"}"#)
            .finish(StopReason::ToolUse)
    };
    for (answer, exists) in [
        (PermissionAnswer::No { reason: Some("not now".into()) }, false),
        (PermissionAnswer::Once, true),
    ] {
        talk.model.push(write("c"));
        talk.model.push(Script::says("Well."));
        talk.prompt("write it", Delivery::FollowUp);
        let asked = talk
            .until("a question", |event| matches!(event, SessionEvent::PermissionAsked(_)))
            .await;
        let SessionEvent::PermissionAsked(question) = asked else { unreachable!() };
        assert!(question.diff.as_deref().is_some_and(|diff| diff.contains("+x")), "{question:?}");
        assert!(!talk.dir.path().join("new.txt").exists());
        talk.send(SessionCommand::Permission { question: question.question, answer });
        talk.idle().await;
        assert_eq!(talk.dir.path().join("new.txt").exists(), exists);
    }
    assert!(talk.story()[2].contains("not now"));
}

#[tokio::test]
async fn a3_without_a_person_what_would_be_asked_is_refused() {
    let mut setup = Setup { attendance: Attendance::Unattended, ..Setup::default() };
    setup.settings.permissions.mode = PermissionMode::Ask;
    let mut talk = Talk::with(setup);
    let run = Script::new()
        .tool_call("c", "bash", r#"{"command":"touch made"}"#)
        .finish(StopReason::ToolUse);
    talk.say("run", [run, Script::says("Refused.")]).await;
    assert!(!talk.dir.path().join("made").exists());
    assert!(talk.story()[2].contains("--permission full"), "{:?}", talk.story());
}

#[tokio::test]
async fn j10_an_untouched_session_leaves_no_file() {
    let mut talk = Talk::start();
    talk.quit().await;
    assert!(!talk.dir.path().join("sessions").exists());
}
