//! `session_before_tree` and `session_tree` through the real session.

use regrow::agent_session::command::{Navigation, SessionCommand, SummaryChoice};
use regrow::agent_session::event::SessionEvent;
use regrow::hook::EventName::{SessionBeforeTree, SessionTree};
use regrow::ids::EntryId;
use regrow::provider::scripted::Script;
use regrow::session::entry::{BranchSummaryEntry, EntryBody};
use regrow::settings::HookSettings;
use serde_json::json;

use super::super::harness::{Talk, text_of};
use super::{FAILURES, at, required, with, written};

/// Two turns; the first answer, to go back to, and the leaf.
async fn two_turns(hooks: Vec<HookSettings>) -> (Talk, EntryId, EntryId) {
    let mut talk = Talk::with(with(hooks));
    talk.say("one", [Script::says("First.")]).await;
    talk.say("two xyzzy", [Script::says("Second.")]).await;
    let entries = talk.entries();
    let (first, leaf) = (entries[1].id.clone(), entries[3].id.clone());
    (talk, first, leaf)
}

fn stored(talk: &Talk) -> Option<BranchSummaryEntry> {
    talk.entries().into_iter().find_map(|entry| match entry.body {
        EntryBody::BranchSummary(summary) => Some(summary),
        _ => None,
    })
}

/// Goes somewhere and waits for the move, or for its end without one.
async fn go(talk: &mut Talk, target: &EntryId, summary: SummaryChoice) -> SessionEvent {
    talk.go(target, summary);
    let end = talk
        .until("the end of the move", |event| {
            matches!(event, SessionEvent::Moved { .. } | SessionEvent::NavigationEnded { .. })
        })
        .await;
    talk.idle().await;
    end
}

#[tokio::test]
async fn a_hook_sees_the_move_and_gives_its_summary() {
    let answer = r#"cat > event.json
        echo '{"summary": {"summary": "Went astray.", "details": {"by": "me"}}, "label": "astray"}'"#;
    let told = at(SessionTree, "cat > told.json");
    let (mut talk, first, leaf) = two_turns(vec![at(SessionBeforeTree, answer), told]).await;
    let requests = talk.requests().len();
    go(&mut talk, &first, SummaryChoice::Focus("names".into())).await;
    let event = written(talk.dir.path(), "event.json");
    let preparation = &event["preparation"];
    assert_eq!(preparation["targetId"], first.as_str());
    assert_eq!(preparation["oldLeafId"], leaf.as_str());
    assert_eq!(preparation["commonAncestorId"], first.as_str());
    assert_eq!(preparation["userWantsSummary"], true);
    assert_eq!(preparation["customInstructions"], "names");
    assert_eq!(preparation["replaceInstructions"], false);
    let left = preparation["entriesToSummarize"].as_array().unwrap();
    assert!(left.len() == 2 && left[0].to_string().contains("xyzzy"));

    assert_eq!(talk.requests().len(), requests, "no model is asked");
    let summary = stored(&talk).unwrap();
    assert_eq!(summary.summary, "Went astray.");
    assert_eq!(summary.from_id, leaf);
    assert_eq!(summary.details, Some(json!({"by": "me"})));
    assert_eq!(summary.from_extension, Some(true));
    let entries = talk.entries();
    let entry = &entries[4];
    assert_eq!(entry.parent_id, Some(first));
    assert!(matches!(&entries[5].body, EntryBody::Label { target_id, label: Some(label) }
        if *target_id == entry.id && label == "astray"));
    talk.quit().await;
    let told = written(talk.dir.path(), "told.json");
    assert_eq!(told["newLeafId"], entry.id.as_str());
    assert_eq!(told["oldLeafId"], leaf.as_str());
    assert_eq!(told["summaryEntry"]["summary"], "Went astray.");
    assert_eq!(told["fromExtension"], true);
}

#[tokio::test]
async fn a_summary_that_nobody_asked_for_is_not_used() {
    let answer = r#"cat > event.json; echo '{"summary": {"summary": "Went astray."}}'"#;
    let told = at(SessionTree, "cat > told.json");
    let (mut talk, first, leaf) = two_turns(vec![at(SessionBeforeTree, answer), told]).await;
    let end = go(&mut talk, &first, SummaryChoice::None).await;
    assert!(matches!(end, SessionEvent::Moved { .. }), "{end:?}");
    let event = written(talk.dir.path(), "event.json");
    assert_eq!(event["preparation"]["userWantsSummary"], false);
    assert_eq!(stored(&talk), None);
    talk.quit().await;
    let told = written(talk.dir.path(), "told.json");
    assert_eq!((&told["newLeafId"], &told["oldLeafId"]), (&json!(first), &json!(leaf)));
    assert!(told.get("summaryEntry").is_none());
}

#[tokio::test]
async fn a_hook_cancels_and_one_stays_where_one_was() {
    for choice in [SummaryChoice::None, SummaryChoice::Default] {
        let guard = at(SessionBeforeTree, "echo 'stay here' >&2; exit 2");
        let (mut talk, first, leaf) = two_turns(vec![guard]).await;
        let (before, requests) = (talk.bytes(), talk.requests().len());
        let end = go(&mut talk, &first, choice).await;
        assert!(
            matches!(end, SessionEvent::NavigationEnded { aborted: true, error: None, .. }),
            "{end:?}"
        );
        assert!(talk.notices().iter().any(|notice| notice.contains("stay here")));
        assert_eq!((talk.bytes(), talk.requests().len()), (before, requests));
        talk.say("go on", [Script::says("Third.")]).await;
        assert_eq!(talk.entries()[4].parent_id, Some(leaf));
    }
}

#[tokio::test]
async fn b4_a_hook_instructs_the_summary() {
    for (answer, choice, replaced, expected) in [
        (r#"{"customInstructions": "A haiku."}"#, SummaryChoice::Default, true, "A haiku."),
        (
            r#"{"customInstructions": "Verbs.", "replaceInstructions": false}"#,
            SummaryChoice::Default,
            false,
            "Additional focus: Verbs.",
        ),
        (
            r#"{"customInstructions": "Verbs."}"#,
            SummaryChoice::Focus("names".into()),
            false,
            "Additional focus: Verbs.",
        ),
        (
            r#"{"replaceInstructions": true}"#,
            SummaryChoice::Focus("Just names.".into()),
            true,
            "Just names.",
        ),
    ] {
        let (mut talk, first, _) =
            two_turns(vec![at(SessionBeforeTree, &format!("echo '{answer}'"))]).await;
        talk.model.push(Script::says("## Goal\nTwo"));
        go(&mut talk, &first, choice).await;
        let asked = text_of(talk.requests().last().unwrap());
        assert!(asked.contains(expected), "{answer}: {asked}");
        assert_eq!(!asked.contains("## Goal"), replaced, "{answer}");
        assert_eq!(stored(&talk).unwrap().from_extension, None);
    }
}

#[tokio::test]
async fn a_label_is_given_by_the_person_or_a_hook() {
    let (mut talk, first, _) =
        two_turns(vec![at(SessionBeforeTree, "cat > event.json; echo '{\"label\": \"hook\"}'")])
            .await;
    let label = Some("mine".to_owned());
    let navigation = Navigation { target: first.clone(), summary: SummaryChoice::None, label };
    talk.send(SessionCommand::Navigate(navigation));
    talk.until("a move", |event| matches!(event, SessionEvent::Moved { .. })).await;
    talk.idle().await;
    assert_eq!(written(talk.dir.path(), "event.json")["preparation"]["label"], "mine");
    assert!(talk.entries().iter().any(|entry| matches!(&entry.body,
        EntryBody::Label { target_id, label: Some(label) } if *target_id == first && label == "hook")));
}

#[tokio::test]
async fn f81_a_failing_hook_is_told_and_ignored_and_a_required_one_cancels() {
    for (line, words) in FAILURES {
        let (mut talk, first, _) = two_turns(vec![at(SessionBeforeTree, line)]).await;
        let end = go(&mut talk, &first, SummaryChoice::None).await;
        assert!(matches!(end, SessionEvent::Moved { .. }), "{line}: {end:?}");
        assert!(talk.notices().iter().any(|notice| notice.contains(words)), "{line}");

        let (mut talk, first, _) = two_turns(vec![required(at(SessionBeforeTree, line))]).await;
        let before = talk.bytes();
        let end = go(&mut talk, &first, SummaryChoice::None).await;
        assert!(matches!(end, SessionEvent::NavigationEnded { aborted: true, .. }), "{line}");
        assert!(talk.notices().iter().any(|notice| notice.contains("required")), "{line}");
        assert_eq!(talk.bytes(), before);
    }
}
