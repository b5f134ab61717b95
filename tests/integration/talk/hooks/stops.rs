//! Escape while a hook hangs (I7, F81): the operation stops at once, its processes are dead, the file
//! is as it was; and a hook that hangs for longer than it may is ended by its time limit.

use std::time::{Duration, Instant};

use regrow::agent_session::Attendance;
use regrow::agent_session::command::{Delivery, SessionCommand, SummaryChoice};
use regrow::agent_session::event::{ActivityKind, SessionEvent};
use regrow::hook::EventName::{
    self, BeforePrompt, SessionBeforeCompact, SessionBeforeTree, SessionCompacting, ToolCall,
    ToolResult, TurnEnd,
};
use regrow::message::StopReason;
use regrow::provider::scripted::Script;
use regrow::settings::HookSettings;

use super::super::compaction::talk_much;
use super::super::harness::{Setup, Talk};
use super::programs::gone;
use super::{at, required, with};

/// Escape acts within 100 ms; the test allows a busy machine some more.
const SOON: Duration = Duration::from_millis(400);

/// A hook that ignores SIGTERM, and sleeps in the background and the foreground.
fn hangs(event: EventName, mark: &str) -> HookSettings {
    at(event, &format!("trap '' TERM; sleep {mark} & echo > hanging; sleep {mark}"))
}

/// Waits until the hook hangs, presses Escape, and checks that everything ends soon.
async fn escape(talk: &mut Talk, mark: &str) {
    let hanging = talk.dir.path().join("hanging");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !hanging.exists() {
        assert!(Instant::now() < deadline, "the hook did not start");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let pressed = Instant::now();
    talk.send(SessionCommand::Abort);
    talk.idle().await;
    assert!(pressed.elapsed() < SOON, "{:?}", pressed.elapsed());
    gone(&format!("^sleep {mark}$")).await;
}

fn returned(talk: &Talk, expected: &str) -> bool {
    talk.seen
        .iter()
        .any(|event| matches!(event, SessionEvent::QueueReturned { text, .. } if text == expected))
}

#[tokio::test]
async fn c24_of_a_compaction() {
    for (event, mark) in [(SessionBeforeCompact, "7141"), (SessionCompacting, "7142")] {
        let mut talk = Talk::with(with([required(hangs(event, mark))]));
        talk_much(&mut talk).await;
        let (before, requests) = (talk.bytes(), talk.requests().len());
        talk.send(SessionCommand::Compact { instructions: None });
        talk.until("hooks", |event| {
            matches!(event, SessionEvent::Activity { kind: ActivityKind::Hooks })
        })
        .await;
        talk.prompt("typed meanwhile", Delivery::FollowUp);
        escape(&mut talk, mark).await;
        assert_eq!((talk.bytes(), talk.requests().len()), (before, requests));
        assert!(returned(&talk, "typed meanwhile"));
        let aborted = |event: &SessionEvent| {
            matches!(event, SessionEvent::CompactionEnd { aborted: true, error: None, .. })
        };
        assert!(talk.seen.iter().any(aborted));
    }
}

#[tokio::test]
async fn b7_of_a_move_in_the_tree() {
    for (choice, mark) in [(SummaryChoice::None, "7143"), (SummaryChoice::Default, "7144")] {
        let mut talk = Talk::with(with([hangs(SessionBeforeTree, mark)]));
        talk.say("one", [Script::says("First.")]).await;
        talk.say("two", [Script::says("Second.")]).await;
        let before = talk.bytes();
        let first = talk.entries()[1].id.clone();
        talk.go(&first, choice);
        escape(&mut talk, mark).await;
        assert_eq!(talk.bytes(), before);
        let aborted = |event: &SessionEvent| {
            matches!(event, SessionEvent::NavigationEnded { aborted: true, error: None, .. })
        };
        assert!(talk.seen.iter().any(aborted));
    }
}

#[tokio::test]
async fn i7_of_a_prompt() {
    let mut talk = Talk::with(with([hangs(BeforePrompt, "7145")]));
    talk.prompt("hello", Delivery::FollowUp);
    talk.prompt("and more", Delivery::FollowUp);
    escape(&mut talk, "7145").await;
    assert!(returned(&talk, "hello\n\nand more"), "{:?}", talk.seen);
    assert!(talk.requests().is_empty());
    assert!(!talk.dir.path().join("sessions").exists());
}

#[tokio::test]
async fn i2_of_a_call_and_of_its_result() {
    for (event, mark, ran) in [(ToolCall, "7146", false), (ToolResult, "7147", true)] {
        let mut talk = Talk::with(with([hangs(event, mark)]));
        let arguments = r#"{"command":"touch ran; echo ran"}"#;
        talk.model
            .push(Script::new().tool_call("c1", "bash", arguments).finish(StopReason::ToolUse));
        talk.prompt("go", Delivery::FollowUp);
        escape(&mut talk, mark).await;
        assert_eq!(talk.dir.path().join("ran").exists(), ran);
        let story = talk.story();
        assert_eq!(story.len(), 3, "the call has its result: {story:?}");
        // What a tool has done is told as it was.
        let expected = if ran { "result: ran" } else { "result (error): The user stopped" };
        assert!(story[2].starts_with(expected), "{}", story[2]);
    }
}

#[tokio::test]
async fn i7_of_what_is_only_told() {
    let mut talk = Talk::with(with([hangs(TurnEnd, "7148")]));
    talk.say("hi", [Script::says("Hello.")]).await;
    // The session goes on while the hook hangs.
    talk.say("more", [Script::says("Again.")]).await;
    let hanging = talk.dir.path().join("hanging");
    while !hanging.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    talk.send(SessionCommand::Abort);
    gone("^sleep 7148$").await;
    talk.quit().await;
}

#[tokio::test]
async fn f81_a_hook_that_hangs_too_long_is_ignored_unless_it_is_required() {
    let limited = |hook: HookSettings| HookSettings { timeout: 1, ..hook };
    let mut talk = Talk::with(with([limited(hangs(BeforePrompt, "7149"))]));
    talk.say("hi", [Script::says("Hello.")]).await;
    assert!(talk.notices().iter().any(|notice| notice.contains("longer than 1 s")));
    assert_eq!(talk.story().len(), 2);
    gone("^sleep 7149$").await;
    let mut talk = Talk::with(with([required(limited(hangs(BeforePrompt, "7150")))]));
    talk.say("hi", []).await;
    assert!(returned(&talk, "hi") && talk.requests().is_empty());
    gone("^sleep 7150$").await;
}

#[tokio::test]
async fn f100_leaving_does_not_wait_for_ever() {
    // Nobody is there: the hook has its own time.
    let setup = with([HookSettings { timeout: 1, ..hangs(TurnEnd, "7151") }]);
    let mut talk = Talk::with(Setup { attendance: Attendance::Unattended, ..setup });
    talk.say("hi", [Script::says("Hello.")]).await;
    talk.quit().await;
    gone("^sleep 7151$").await;
    // Somebody is there, and leaves twice.
    let mut talk = Talk::with(with([hangs(TurnEnd, "7152")]));
    talk.say("hi", [Script::says("Hello.")]).await;
    talk.send(SessionCommand::Quit);
    let asked = Instant::now();
    talk.quit().await;
    assert!(asked.elapsed() < Duration::from_secs(4));
    gone("^sleep 7152$").await;
}
