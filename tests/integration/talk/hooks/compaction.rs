//! `session_before_compact`, `session.compacting` and `session_compact` through the real session.

use regrow::agent_session::command::SessionCommand;
use regrow::agent_session::event::SessionEvent;
use regrow::hook::EventName::{SessionBeforeCompact, SessionCompact, SessionCompacting};
use regrow::provider::scripted::Script;
use regrow::session::entry::{CompactionEntry, EntryBody};
use serde_json::json;

use super::super::compaction::talk_much;
use super::super::harness::{Talk, text_of};
use super::{FAILURES, at, required, with, written};

const SUMMARY: &str = "## Goal\nCount.\n\n## Progress\n### Done\n- counted";

fn stored(talk: &Talk) -> Option<CompactionEntry> {
    talk.entries().into_iter().find_map(|entry| match entry.body {
        EntryBody::Compaction(compaction) => Some(compaction),
        _ => None,
    })
}

/// Compacts, with a summary prepared, and gives the error, if any.
async fn compact(talk: &mut Talk) -> Option<String> {
    talk.model.push(Script::says(SUMMARY));
    talk.model.push(Script::says("Counted."));
    talk.send(SessionCommand::Compact { instructions: Some("numbers".into()) });
    let end =
        talk.until("the end", |event| matches!(event, SessionEvent::CompactionEnd { .. })).await;
    let SessionEvent::CompactionEnd { error, .. } = end else { panic!() };
    talk.idle().await;
    error
}

#[tokio::test]
async fn a_hook_sees_the_preparation_and_gives_the_compaction() {
    let answer = r#"cat > event.json
        printf '{"compaction": {"summary": "My own.", "shortSummary": "Mine.",
            "firstKeptEntryId": "%s", "tokensBefore": 77,
            "details": {"by": "me"}, "preserveData": {"n": 1}}}' "$(sed 's/.*"firstKeptEntryId":"\([^"]*\)".*/\1/' event.json)""#;
    let told = at(SessionCompact, "cat > told.json");
    let mut talk = Talk::with(with([at(SessionBeforeCompact, answer), told]));
    talk_much(&mut talk).await;
    let requests = talk.requests().len();
    assert_eq!(compact(&mut talk).await, None, "{:?}", talk.notices());
    assert_eq!(talk.requests().len(), requests, "no model is asked");

    let event = written(talk.dir.path(), "event.json");
    let preparation = &event["preparation"];
    assert_eq!(event["reason"], "manual");
    assert_eq!(event["customInstructions"], "numbers");
    assert_eq!(event["branchEntries"].as_array().unwrap().len(), 16);
    assert!(preparation["messagesToSummarize"][0]["content"].to_string().contains("question 0"));
    assert!(preparation["tokensBefore"].as_u64().unwrap() > 10_000);
    assert_eq!(preparation["fileOps"], json!({"readFiles": [], "modifiedFiles": []}));

    let compaction = stored(&talk).unwrap();
    assert_eq!(compaction.summary, "My own.");
    assert_eq!(compaction.short_summary.as_deref(), Some("Mine."));
    assert_eq!(compaction.tokens_before, 77);
    assert_eq!(compaction.first_kept_entry_id.as_str(), preparation["firstKeptEntryId"]);
    assert_eq!(compaction.details, Some(json!({"by": "me"})));
    assert_eq!(compaction.preserve_data, Some(json!({"n": 1})));
    assert_eq!(compaction.from_extension, Some(true));

    talk.say("and now?", [Script::says("On.")]).await;
    let text = text_of(talk.requests().last().unwrap());
    assert!(text.contains("My own.") && !text.contains("question 0"));
    talk.quit().await;
    let told = written(talk.dir.path(), "told.json");
    assert_eq!(told["fromExtension"], true);
    assert_eq!(told["compactionEntry"]["summary"], "My own.");
}

#[tokio::test]
async fn i6_a_hook_that_keeps_nothing_but_the_end_does_not_lose_the_request() {
    let answer = r#"id=$(sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
        printf '{"compaction": {"summary": "All.", "firstKeptEntryId": "%s"}}' "$id""#;
    let mut talk = Talk::with(with([at(SessionBeforeCompact, answer)]));
    talk_much(&mut talk).await;
    let last = talk.entries().last().unwrap().id.clone();
    assert_eq!(compact(&mut talk).await, None, "{:?}", talk.notices());
    let compaction = stored(&talk).unwrap();
    assert_eq!(compaction.first_kept_entry_id, last);
    assert!(compaction.summary.contains("<latest-request>\nquestion 7"), "the request stays");
}

#[tokio::test]
async fn a_hook_cancels_and_nothing_is_written() {
    for line in ["echo '{\"cancel\": true, \"reason\": \"not now\"}'", "echo 'not now' >&2; exit 2"]
    {
        let mut talk = Talk::with(with([at(SessionBeforeCompact, line)]));
        talk_much(&mut talk).await;
        let (before, requests) = (talk.bytes(), talk.requests().len());
        let error = compact(&mut talk).await.unwrap();
        assert_eq!(error, "Compaction failed: the hook `h` stopped it: not now");
        assert_eq!((talk.bytes(), talk.requests().len()), (before, requests));
    }
}

#[tokio::test]
async fn c16_hooks_change_the_prompt_add_context_and_keep_data() {
    let first = at(
        SessionCompacting,
        r#"cat > event.json; echo '{"context": ["the answer is 42"], "preserveData": {"a": 1}}'"#,
    );
    let second =
        at(SessionCompacting, r#"echo '{"prompt": "Just a haiku.", "preserveData": {"b": 2}}'"#);
    let told = at(SessionCompact, "cat > told.json");
    let mut talk = Talk::with(with([first, second, told]));
    talk_much(&mut talk).await;
    assert_eq!(compact(&mut talk).await, None);
    let event = written(talk.dir.path(), "event.json");
    assert_eq!(event["sessionId"], "s");
    assert!(event["messages"][0]["content"].to_string().contains("question 0"));
    let requests = talk.requests();
    let asked = text_of(&requests[8]);
    assert!(asked.contains("<additional-context>\\n- the answer is 42"), "{asked}");
    assert!(asked.contains("Just a haiku."));
    let compaction = stored(&talk).unwrap();
    assert!(compaction.summary.contains("counted"));
    assert_eq!(compaction.preserve_data, Some(json!({"a": 1, "b": 2})));
    assert_eq!(compaction.from_extension, None);
    talk.quit().await;
    assert_eq!(written(talk.dir.path(), "told.json")["fromExtension"], false);
}

#[tokio::test]
async fn f81_a_failing_hook_is_told_and_ignored_and_a_required_one_cancels() {
    for (line, words) in FAILURES {
        let mut talk = Talk::with(with([at(SessionBeforeCompact, line)]));
        talk_much(&mut talk).await;
        assert_eq!(compact(&mut talk).await, None, "{line}");
        assert!(stored(&talk).unwrap().summary.contains("counted"));
        assert!(talk.notices().iter().any(|notice| notice.contains(words)), "{line}");

        let mut talk = Talk::with(with([required(at(SessionBeforeCompact, line))]));
        talk_much(&mut talk).await;
        let before = talk.bytes();
        let error = compact(&mut talk).await.unwrap();
        assert!(error.contains("required") && error.contains(words), "{line}: {error}");
        assert_eq!(talk.bytes(), before);
    }
}

#[tokio::test]
async fn c19_a_hooks_summary_must_make_the_context_smaller() {
    let large = r#"printf '{"compaction": {"summary": "%0200000d"}}' 1"#;
    let mut talk = Talk::with(with([at(SessionBeforeCompact, large)]));
    talk_much(&mut talk).await;
    let before = talk.bytes();
    let error = compact(&mut talk).await.unwrap();
    assert!(error.contains("would not make the context smaller"), "{error}");
    assert_eq!(talk.bytes(), before);
}
