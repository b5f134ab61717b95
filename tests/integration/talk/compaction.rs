//! Compaction through the real session: three reasons, one way (SPEC C1–C3, C10, C19, C23, C25).

use regrow::agent_session::command::{Delivery, SessionCommand};
use regrow::agent_session::event::{CompactionResult, SessionEvent};
use regrow::compaction::Reason;
use regrow::message::StopReason;
use regrow::provider::scripted::Script;
use regrow::provider::{ErrorKind, Purpose};
use regrow::settings::Fallback;

use super::harness::{Setup, Talk, text_of};

/// A good summary of [`talk_much`].
const SUMMARY: &str =
    "## Goal\nCount.\n\n## Progress\n### Done\n- counted\n\n## Next Steps\n1. go on";

/// Enough turns that a compaction has something to do with a window of 200 000.
pub async fn talk_much(talk: &mut Talk) {
    for number in 0..8 {
        let long = format!("question {number} {}", "alpha beta gamma ".repeat(1_000));
        talk.say(&long, [Script::says(&format!("answer {number}"))]).await;
    }
}

fn ended(talk: &Talk) -> Vec<(Reason, Option<CompactionResult>, Option<String>)> {
    talk.seen
        .iter()
        .filter_map(|event| match event {
            SessionEvent::CompactionEnd { reason, result, error, .. } => {
                Some((*reason, result.clone(), error.clone()))
            }
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn c10_with_nothing_to_do_nothing_is_asked_and_nothing_written() {
    let mut talk = Talk::start();
    talk.compact().await;
    talk.say("hi", [Script::says("Hello.")]).await;
    let before = talk.bytes();
    talk.compact().await;
    assert!(
        talk.notices().iter().any(|notice| notice == "Nothing to compact"),
        "{:?}",
        talk.notices()
    );
    assert_eq!(talk.bytes(), before);
    assert_eq!(talk.requests().len(), 1);
}

#[tokio::test]
async fn c1_compact_stores_one_entry_and_waits_for_the_person() {
    let mut talk = Talk::start();
    talk_much(&mut talk).await;
    talk.model.push(Script::says(SUMMARY));
    talk.model.push(Script::says("Counted things."));
    talk.send(SessionCommand::Compact { instructions: Some("the numbers".into()) });
    talk.idle().await;
    let (reason, result, error) = ended(&talk).remove(0);
    let result = result.unwrap_or_else(|| panic!("{error:?}"));
    assert_eq!((reason, error), (Reason::Manual, None));
    assert!(result.tokens_after < result.tokens_before, "{result:?}");
    assert_eq!(result.short_summary.as_deref(), Some("Counted things."));
    let requests = talk.requests();
    let history = &requests[8];
    assert_eq!(history.purpose, Purpose::Compaction);
    assert!(history.tools.is_empty());
    assert!(text_of(history).contains("Additional focus: the numbers"));
    assert!(text_of(history).contains("question 0"));
    assert_eq!(requests.len(), 10, "nothing is sent after a manual compaction");

    talk.say("and now?", [Script::says("On.")]).await;
    let text = text_of(talk.requests().last().unwrap());
    assert!(
        text.contains("counted") && text.contains("question 7") && !text.contains("question 0")
    );

    talk.compact().await;
    let entries = talk.entries();
    let leaf = entries.last().unwrap();
    assert!(
        super::harness::tell(&leaf.body).starts_with("assistant: On."),
        "I4: nothing new to compact"
    );
}

#[tokio::test]
async fn c1_a_turn_that_runs_is_stopped_first() {
    let mut talk = Talk::start();
    talk_much(&mut talk).await;
    let hold = regrow::provider::scripted::Hold::default();
    talk.model.push(Script::new().text("Wait").hold(&hold).finish(StopReason::Stop));
    talk.prompt("slow", Delivery::FollowUp);
    hold.reached().await;
    talk.model.push(Script::says(SUMMARY));
    talk.model.push(Script::says("Short."));
    talk.send(SessionCommand::Compact { instructions: None });
    talk.until("the end", |event| matches!(event, SessionEvent::CompactionEnd { .. })).await;
    let story = talk.story();
    assert!(story.iter().any(|line| line == "assistant (aborted): Wait"), "{story:?}");
    assert!(story.last().unwrap().starts_with("compaction: "));
}

/// A window of 8 192 tokens, whose reserve is 2 048 (C4).
fn small() -> Setup {
    Setup { window: 8_192, ..Setup::default() }
}

async fn nearly_fill(talk: &mut Talk) {
    for number in 0..3 {
        let long = format!("question {number} {}", "alpha beta gamma ".repeat(200));
        talk.say(&long, [Script::says(&format!("answer {number}"))]).await;
    }
}

#[tokio::test]
async fn c3_over_the_threshold_the_session_compacts_and_goes_on_by_itself() {
    let mut talk = Talk::with(small());
    nearly_fill(&mut talk).await;
    for script in [
        Script::new().text("That was much.").usage(7_000, 100).finish(StopReason::Stop),
        Script::says(SUMMARY),
        Script::says("Short."),
        Script::says("Going on."),
    ] {
        talk.model.push(script);
    }
    talk.prompt("go", Delivery::FollowUp);
    talk.until("the continuation", |event| {
        matches!(event, SessionEvent::Appended { entry }
            if super::harness::tell(&entry.body) == "assistant: Going on.")
    })
    .await;
    let story = talk.story();
    let compaction = story.iter().position(|line| line.starts_with("compaction")).unwrap();
    assert_eq!(story[compaction + 1], "user: Continue if you have next steps.");
    talk.requests();
}

#[tokio::test]
async fn i4_going_on_by_itself_happens_once_unless_work_was_done() {
    let mut talk = Talk::with(small());
    nearly_fill(&mut talk).await;
    let full = || Script::new().text("Said much.").usage(7_000, 100).finish(StopReason::Stop);
    for _ in 0..6 {
        talk.model.push(full());
        talk.model.push(Script::says(SUMMARY));
        talk.model.push(Script::says("Short."));
    }
    talk.prompt("go", Delivery::FollowUp);
    talk.idle().await;
    let story = talk.story();
    let continued =
        story.iter().filter(|line| line.contains("Continue if you have next steps")).count();
    assert_eq!(continued, 1, "{story:#?}");
}

#[tokio::test]
async fn c3_a_queued_message_is_sent_instead_and_a_question_waits() {
    let mut talk = Talk::with(small());
    nearly_fill(&mut talk).await;
    talk.say(
        "go",
        [
            Script::new().text("Shall I go on?").usage(7_000, 100).finish(StopReason::Stop),
            Script::says(SUMMARY),
            Script::says("Short."),
        ],
    )
    .await;
    let story = talk.story();
    assert!(story.last().unwrap().starts_with("compaction"), "{story:?}");
    assert_eq!(talk.model.scripts_left(), 0);
}

#[tokio::test]
async fn c2_an_overflow_is_recovered_once_and_the_request_goes_on() {
    let mut talk = Talk::with(small());
    nearly_fill(&mut talk).await;
    let overflow =
        || Script::fails(ErrorKind::Overflow, "the request exceeds the available context size");
    talk.say(
        "go",
        [overflow(), Script::says(SUMMARY), Script::says("Short."), Script::says("Fine.")],
    )
    .await;
    let story = talk.story();
    assert_eq!(story.last().unwrap(), "assistant: Fine.", "{:#?}", ended(&talk));
    let last = text_of(talk.requests().last().unwrap());
    assert_eq!(last.matches("\"go\"").count(), 1, "I6: the request stands verbatim, once");
    assert!(!last.contains("available context size"));

    // A second one right after is an error to the person, not a loop.
    let requests = talk.requests().len();
    talk.say("more", [overflow(), Script::says(SUMMARY), Script::says("Short."), overflow()]).await;
    assert!(talk.requests().len() <= requests + 4);
    let complaint =
        talk.notices().into_iter().chain(ended(&talk).into_iter().filter_map(|end| end.2));
    let complaint = complaint.last().unwrap();
    assert!(
        complaint.contains("does not fit") || complaint.contains("recovery failed"),
        "{complaint}"
    );
}

/// Seven commands with much output, about 11 000 tokens each.
async fn much_output(talk: &mut Talk) {
    for number in 0..7 {
        let call = Script::new()
            .tool_call(
                &format!("c{number}"),
                "bash",
                r#"{"command":"yes abcdefghijklmnopqrstuvwxyz | head -1700"}"#,
            )
            .finish(StopReason::ToolUse);
        talk.say(&format!("count {number}"), [call, Script::says("Counted.")]).await;
    }
}

#[tokio::test]
async fn c2_the_cheapest_way_out_of_an_overflow_is_to_prune_and_unprune_puts_all_back() {
    let mut talk = Talk::start();
    much_output(&mut talk).await;
    let before = talk.bytes();
    let asked = talk.requests().len();
    talk.say(
        "go",
        [Script::fails(ErrorKind::Overflow, "prompt is too long"), Script::says("Fine.")],
    )
    .await;
    assert_eq!(talk.story().last().unwrap(), "assistant: Fine.");
    assert!(ended(&talk).is_empty(), "no summary was needed");
    let requests = talk.requests();
    assert_eq!(requests.len(), asked + 2);
    let (failed, retried) = (text_of(&requests[asked]), text_of(&requests[asked + 1]));
    assert!(retried.contains("[Output truncated - ") && retried.len() < failed.len());
    let pruned = String::from_utf8(talk.bytes()).unwrap();
    assert!(pruned.contains("prunedAt"));

    talk.send(SessionCommand::Unprune);
    talk.until(
        "the originals",
        |event| matches!(event, SessionEvent::Notice { text, .. } if text.contains("whole again")),
    )
    .await;
    assert!(talk.bytes().starts_with(&before), "C9: every original is back, byte for byte");
}

#[tokio::test]
async fn c2_with_automatic_compaction_off_the_overflow_is_reported_with_advice() {
    let mut setup = small();
    setup.settings.compaction.enabled = false;
    let mut talk = Talk::with(setup);
    nearly_fill(&mut talk).await;
    talk.say("go", [Script::fails(ErrorKind::Overflow, "prompt is too long")]).await;
    assert!(
        talk.notices().iter().any(|notice| notice.contains("/compact")),
        "{:?}",
        talk.notices()
    );
    assert!(ended(&talk).is_empty());
}

#[tokio::test]
async fn c2_an_unknown_client_error_far_from_the_window_is_what_it_says() {
    let error = || {
        Script::new().error(regrow::provider::ProviderError {
            status: Some(400),
            ..regrow::provider::ProviderError::new(ErrorKind::BadRequest, "invalid argument")
        })
    };
    // Far from the window it is what it says.
    let mut talk = Talk::with(small());
    nearly_fill(&mut talk).await;
    talk.say("go", [error()]).await;
    assert!(ended(&talk).is_empty());
    assert!(talk.story().last().unwrap().starts_with("assistant (error)"));
}

#[tokio::test]
async fn c22_when_every_model_fails_the_summary_is_made_without_one() {
    let mut talk = Talk::start();
    talk_much(&mut talk).await;
    for _ in 0..12 {
        talk.model.push(Script::fails(ErrorKind::Auth, "no such key"));
    }
    talk.send(SessionCommand::Compact { instructions: None });
    talk.idle().await;
    let (_, result, error) = ended(&talk).remove(0);
    let result = result.unwrap_or_else(|| panic!("{error:?}"));
    assert!(result.extractive);
    assert!(talk.story().last().unwrap().contains("## Goal"));
}

#[tokio::test]
async fn c22_without_a_fallback_the_failure_is_told_and_the_session_stays_usable() {
    let mut setup = Setup::default();
    setup.settings.compaction.fallback = Fallback::None;
    let mut talk = Talk::with(setup);
    talk_much(&mut talk).await;
    let before = talk.bytes();
    for _ in 0..12 {
        talk.model.push(Script::fails(ErrorKind::Auth, "no such key"));
    }
    talk.send(SessionCommand::Compact { instructions: None });
    talk.idle().await;
    let (_, result, error) = ended(&talk).remove(0);
    assert!(result.is_none());
    assert!(error.unwrap().contains("no such key"));
    assert_eq!(talk.bytes(), before);
}

#[tokio::test]
async fn c26_undo_goes_back_before_the_compaction() {
    let mut talk = Talk::start();
    talk_much(&mut talk).await;
    talk.model.push(Script::says(SUMMARY));
    talk.model.push(Script::says("Short."));
    talk.compact().await;
    talk.idle().await;
    talk.send(SessionCommand::UndoCompaction);
    talk.until("the move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    talk.say("all there?", [Script::says("Yes.")]).await;
    let text = text_of(talk.requests().last().unwrap());
    assert!(text.contains("question 0") && !text.contains("counted"));
}

#[tokio::test]
async fn s9_the_bill_counts_summaries_and_survives_a_reopen() {
    let mut talk = Talk::start();
    talk_much(&mut talk).await;
    talk.model.push(Script::new().text(SUMMARY).usage(10_000, 1_000).finish(StopReason::Stop));
    talk.model.push(Script::new().text("Short.").usage(1_000, 100).finish(StopReason::Stop));
    talk.compact().await;
    talk.idle().await;
    let gauge = |talk: &Talk| {
        talk.seen
            .iter()
            .rev()
            .find_map(|event| match event {
                SessionEvent::Gauge(gauge) => Some(*gauge),
                _ => None,
            })
            .unwrap()
    };
    let before = gauge(&talk);
    assert!(before.estimated, "F35: the summary's usage says nothing about the context");
    assert!(before.cost > 0.0132 - 1e-9, "{before:?}");
    let mut talk = talk.reopen(Setup::default()).await;
    talk.until("the gauge", |event| matches!(event, SessionEvent::Gauge(_))).await;
    assert!((gauge(&talk).cost - before.cost).abs() < 1e-9);
}

#[tokio::test]
async fn c14_f17_the_request_of_a_long_turn_outlives_every_compaction_of_it() {
    const REQUEST: &str = "Rename `parse` to `read`, and leave the public names alone!";
    let mut talk = Talk::with(small());
    std::fs::write(talk.dir.path().join("a.txt"), "alpha beta gamma\n".repeat(200)).unwrap();
    let read = |tokens| {
        Script::new()
            .tool_call("c1", "read", r#"{"path":"a.txt"}"#)
            .usage(tokens, 50)
            .finish(StopReason::ToolUse)
    };
    let summary = || [Script::says(SUMMARY), Script::says("Short.")];
    let turn = [read(2_000), read(3_000), read(7_000)]
        .into_iter()
        .chain(summary())
        .chain([read(3_000), read(7_000)])
        .chain(summary())
        .chain([Script::says("Renamed.")]);
    talk.say(REQUEST, turn).await;
    let story = talk.story();
    assert_eq!(story.iter().filter(|line| line.starts_with("compaction")).count(), 2, "{story:#?}");
    assert_eq!(story.last().unwrap(), "assistant: Renamed.");
    let last = text_of(talk.requests().last().unwrap());
    assert_eq!(last.matches(REQUEST).count(), 1, "I6: word for word, once: {last}");

    // Newer requests, which stay as they are, take its place.
    nearly_fill(&mut talk).await;
    summary().into_iter().for_each(|script| talk.model.push(script));
    talk.compact().await;
    talk.say("On.", [Script::says("Yes.")]).await;
    let last = text_of(talk.requests().last().unwrap());
    assert!(last.contains("question 2") && !last.contains("latest-request"), "{last}");
}

#[tokio::test]
async fn c2_f56_a_session_of_a_larger_model_is_made_to_fit_before_anything_is_sent() {
    // Once as another model left it, whose figures say nothing here, once with figures that lie.
    for model in ["elsewhere", "scripted"] {
        let mut talk = Talk::start();
        for number in 0..8 {
            let long = format!("question {number} {}", "alpha beta gamma ".repeat(1_000));
            let answer = Script::new().text("Yes.").usage(900, 5).finish(StopReason::Stop);
            talk.say(&long, [answer]).await;
        }
        let setup = Setup { window: 24_000, ..Setup::default() };
        let named = format!("\"model\":\"{model}\"");
        let edit = |text: String| text.replace("\"model\":\"scripted\"", &named);
        let mut talk = talk.reopen_edited(setup, edit).await;
        // The history is read in three pieces; then comes the sentence for the screen.
        (0..4).for_each(|_| talk.model.push(Script::says(SUMMARY)));
        talk.say("and now?", [Script::says("On we go.")]).await;
        let story = talk.story();
        assert_eq!(story.last().unwrap(), "assistant: On we go.", "{model}: {:?}", ended(&talk));
        assert!(story.iter().any(|line| line.starts_with("compaction: ")), "{model}");
        let largest = talk.requests().iter().map(|request| text_of(request).len()).max();
        assert!(largest.unwrap() / 4 < 24_000, "{model}: {largest:?}");
    }
}
