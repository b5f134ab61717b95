//! Moving in the tree through the real session (SPEC B1, B5–B7, J6; F22–F25).

use regrow::agent_session::command::{Delivery, SessionCommand, SummaryChoice, SwitchTo};
use regrow::agent_session::event::SessionEvent;
use regrow::message::StopReason;
use regrow::provider::scripted::{Hold, Script};
use regrow::provider::{ErrorKind, Purpose};
use regrow::session::entry::EntryBody;

use super::harness::{Setup, Talk, text_of};

/// Two turns; the second one holds a word that stands nowhere else.
async fn two_turns(talk: &mut Talk) {
    talk.say("one", [Script::says("First.")]).await;
    talk.say("two xyzzy", [Script::says("Second plugh.")]).await;
}

#[tokio::test]
async fn b6_a_user_message_goes_back_to_the_editor_and_its_branch_leaves_the_context() {
    let mut talk = Talk::start();
    two_turns(&mut talk).await;
    let second = talk.entries()[2].id.clone();
    talk.go(&second, SummaryChoice::None);
    let moved = talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    assert!(
        matches!(&moved, SessionEvent::Moved { editor: Some(text), .. } if text == "two xyzzy"),
        "{moved:?}"
    );
    talk.say("another way", [Script::says("Third.")]).await;
    let text = text_of(talk.requests().last().unwrap());
    assert!(text.contains("First.") && !text.contains("xyzzy") && !text.contains("plugh"));
    let entries = talk.entries();
    assert!(
        matches!(&entries[4].body, EntryBody::Custom { custom_type, .. } if custom_type == "regrow.leaf")
    );
}

#[tokio::test]
async fn j6_a_reopened_session_stands_where_it_was_left() {
    let mut talk = Talk::start();
    two_turns(&mut talk).await;
    let first = talk.entries()[1].id.clone();
    talk.go(&first, SummaryChoice::None);
    talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    let mut talk = talk.reopen(Setup::default()).await;
    talk.say("another way", [Script::says("Third.")]).await;
    let text = text_of(talk.requests().last().unwrap());
    assert!(text.contains("First.") && !text.contains("xyzzy"));
}

#[tokio::test]
async fn b5_the_summary_hangs_at_the_new_leaf_and_is_all_that_is_left_of_the_branch() {
    let mut talk = Talk::start();
    two_turns(&mut talk).await;
    let entries = talk.entries();
    let (first, leaf) = (entries[1].id.clone(), entries[3].id.clone());
    talk.model.push(Script::says("## Goal\nTry the second way"));
    talk.go(&first, SummaryChoice::Focus("names".into()));
    talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    let request = talk.requests().pop().unwrap();
    assert_eq!(request.purpose, Purpose::BranchSummary);
    let asked = text_of(&request);
    assert!(asked.contains("xyzzy") && asked.contains("Additional focus: names"));
    assert!(!asked.contains("First."), "B2: what both ways share is not summarised");
    let entries = talk.entries();
    let summary = entries.last().unwrap();
    assert_eq!(summary.parent_id, Some(first));
    let EntryBody::BranchSummary(body) = &summary.body else { panic!("{summary:?}") };
    assert_eq!(body.from_id, leaf);
    talk.idle().await;
    talk.say("go on", [Script::says("Third.")]).await;
    let text = text_of(talk.requests().last().unwrap());
    assert!(
        text.contains("Try the second way") && !text.contains("xyzzy") && !text.contains("plugh")
    );
}

#[tokio::test]
async fn b7_a_failed_summary_cancels_the_move_and_an_extractive_one_needs_no_model() {
    let mut talk = Talk::start();
    two_turns(&mut talk).await;
    let before = talk.bytes();
    let first = talk.entries()[1].id.clone();
    for _ in 0..12 {
        talk.model.push(Script::fails(ErrorKind::Auth, "no such key"));
    }
    talk.go(&first, SummaryChoice::Default);
    let end =
        talk.until("the end", |event| matches!(event, SessionEvent::NavigationEnded { .. })).await;
    assert!(
        matches!(&end, SessionEvent::NavigationEnded { aborted: false, error: Some(error), .. }
            if error.contains("no such key")),
        "{end:?}"
    );
    talk.idle().await;
    assert_eq!(talk.bytes(), before);
    let requests = talk.requests().len();
    talk.go(&first, SummaryChoice::Extractive);
    talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    assert_eq!(talk.requests().len(), requests);
    assert!(talk.story().last().unwrap().contains("two xyzzy"), "{:?}", talk.story());
}

#[tokio::test]
async fn b1_going_where_one_is_says_so_and_does_nothing() {
    let mut talk = Talk::start();
    two_turns(&mut talk).await;
    let before = talk.bytes();
    let leaf = talk.entries()[3].id.clone();
    talk.go(&leaf, SummaryChoice::Default);
    talk.until("a notice", |event| matches!(event, SessionEvent::Notice { .. })).await;
    assert_eq!(talk.bytes(), before);
}

#[tokio::test]
async fn b1_a_place_that_one_was_moved_to_is_where_one_is() {
    let mut talk = Talk::start();
    two_turns(&mut talk).await;
    let first = talk.entries()[1].id.clone();
    talk.go(&first, SummaryChoice::None);
    talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    let before = talk.bytes();
    talk.go(&first, SummaryChoice::None);
    talk.until("a notice", |event| matches!(event, SessionEvent::Notice { .. })).await;
    assert_eq!(talk.bytes(), before);
}

#[tokio::test]
async fn f24_a_running_turn_is_stopped_and_settled_before_the_leaf_moves() {
    let mut talk = Talk::start();
    two_turns(&mut talk).await;
    let first = talk.entries()[1].id.clone();
    let hold = Hold::default();
    talk.model.push(Script::new().text("Slow").hold(&hold).finish(StopReason::Stop));
    talk.prompt("three", Delivery::FollowUp);
    hold.reached().await;
    talk.go(&first, SummaryChoice::None);
    talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    let entries = talk.entries();
    let aborted = entries.len() - 2;
    assert_eq!(super::harness::tell(&entries[aborted].body), "assistant (aborted): Slow");
    assert_eq!(entries[aborted].parent_id, Some(entries[aborted - 1].id.clone()));
    assert_eq!(entries[aborted + 1].parent_id, Some(first));
}

#[tokio::test]
async fn f22_a_branch_with_a_dangling_call_grows_by_nothing_but_marks_and_words() {
    let mut talk = Talk::start();
    let cut = Script::new().tool_call("c1", "ls", "{}").finish(StopReason::ToolUse);
    talk.say("one", [cut, Script::says("First.")]).await;
    let call = talk.entries()[1].id.clone();
    talk.say("two", [Script::says("Second.")]).await;
    let other = talk.entries().last().unwrap().id.clone();
    let before = talk.entries().len();
    for _ in 0..3 {
        talk.go(&call, SummaryChoice::None);
        talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
        talk.go(&other, SummaryChoice::None);
        talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    }
    assert_eq!(talk.entries().len(), before + 6);
    talk.go(&call, SummaryChoice::None);
    talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    talk.say("and now", [Script::says("Third.")]).await;
    assert_eq!(talk.entries().len(), before + 9);
    assert!(text_of(talk.requests().last().unwrap()).contains("no result recorded"));
}

#[tokio::test]
async fn f56_a_fork_holds_the_path_and_nothing_else() {
    let mut talk = Talk::start();
    two_turns(&mut talk).await;
    let original = talk.file();
    let bytes = talk.bytes();
    let first = talk.entries()[1].id.clone();
    talk.send(SessionCommand::Switch(SwitchTo::Fork(Some(first))));
    let opened = talk.until("the fork", |event| matches!(event, SessionEvent::Opened { .. })).await;
    // The first one is the session itself.
    let opened = match opened {
        SessionEvent::Opened { file: None, .. } => {
            talk.until("the fork", |event| matches!(event, SessionEvent::Opened { .. })).await
        }
        opened => opened,
    };
    let SessionEvent::Opened { file: Some(file), .. } = opened else { panic!() };
    assert_ne!(file, original);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("First.") && !text.contains("xyzzy"));
    assert!(text.lines().next().unwrap().contains("parentSession"));
    assert_eq!(std::fs::read(&original).unwrap(), bytes);
}

#[tokio::test]
async fn j8_switching_to_the_open_session_leaves_it_writable() {
    let mut talk = Talk::start();
    talk.say("one", [Script::says("First.")]).await;
    let file = talk.file();
    talk.send(SessionCommand::Switch(SwitchTo::Open(file)));
    talk.until("a word", |event| {
        assert!(!matches!(event, SessionEvent::Opened { read_only: true, .. }), "{event:?}");
        matches!(event, SessionEvent::Notice { text, .. } if text.contains("open already"))
    })
    .await;
    talk.say("two", [Script::says("Second.")]).await;
    assert_eq!(talk.story().last().unwrap(), "assistant: Second.");
}
