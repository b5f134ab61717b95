//! The session that `--tour` opens: it must be what it promises to be, or the first thing that a
//! newcomer sees is broken.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use regrow::compaction::plan::prepare_compaction;
use regrow::compaction::tokens::Estimator;
use regrow::compaction::trigger::compacts_at;
use regrow::export::{self, Format, Secrets, Source};
use regrow::message::{Message, StopReason};
use regrow::session::entry::{EntryBody, FORMAT_VERSION, SessionEntry, SessionHeader};
use regrow::session::store::{Access, SessionStore};
use regrow::settings::Settings;

fn text() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets/sessions/tour.jsonl");
    std::fs::read_to_string(path).unwrap()
}

/// The tour as a session on disk; the folder goes with it.
fn opened() -> (tempfile::TempDir, SessionStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tour.jsonl");
    std::fs::write(&path, text()).unwrap();
    let opened = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert!(opened.warnings.is_empty(), "{:?}", opened.warnings);
    (folder, opened.store)
}

fn exported(format: Format, secrets: Secrets) -> String {
    let (_folder, store) = opened();
    let reader = store.reader();
    let (header, _) = entries();
    let leaf = reader.tree().leaf();
    let source = Source { reader, header: &header, leaf, file: None };
    let mut out = Vec::new();
    let problems = export::export(format, &source, secrets, &mut out).unwrap();
    assert_eq!(problems, [""; 0]);
    String::from_utf8(out).unwrap()
}

fn entries() -> (SessionHeader, Vec<SessionEntry>) {
    let text = text();
    let mut lines = text.lines();
    let header = serde_json::from_str(lines.next().unwrap()).unwrap();
    (header, lines.map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn j2_every_line_is_an_entry_of_the_current_format() {
    let (header, entries) = entries();
    assert_eq!((header.kind.as_str(), header.version), ("session", FORMAT_VERSION));
    assert!(entries.len() <= 60, "a tour is short, this has {} entries", entries.len());
    let mut known = HashSet::new();
    for entry in &entries {
        let id = entry.id.as_str();
        assert!(id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit() && !c.is_uppercase()));
        assert!(entry.parent_id.as_ref().is_none_or(|parent| known.contains(parent)), "{entry:?}");
        assert!(!matches!(entry.body, EntryBody::Unknown(_)), "{entry:?}");
        assert!(known.insert(entry.id.clone()), "{id} stands twice");
    }
    let times: Vec<_> = entries.iter().map(|entry| entry.timestamp).collect();
    assert!(times.is_sorted(), "entries are in the order in which they happened");
}

#[test]
fn j2_rewriting_the_tour_loses_nothing() {
    for line in text().lines().skip(1) {
        let entry: SessionEntry = serde_json::from_str(line).unwrap();
        let written: serde_json::Value = serde_json::from_str(&entry.to_line()).unwrap();
        assert_eq!(written, serde_json::from_str::<serde_json::Value>(line).unwrap());
    }
}

#[test]
fn u5_the_tour_has_three_branches_a_compaction_and_a_branch_summary() {
    let (_, entries) = entries();
    let count = |wanted: fn(&EntryBody) -> bool| entries.iter().filter(|e| wanted(&e.body)).count();
    assert_eq!(count(|body| matches!(body, EntryBody::Compaction(_))), 1);
    assert_eq!(count(|body| matches!(body, EntryBody::BranchSummary(_))), 1);
    assert!(count(|body| matches!(body, EntryBody::Label { .. })) >= 2);
    let parents: HashSet<_> = entries.iter().filter_map(|entry| entry.parent_id.clone()).collect();
    let ends = entries.iter().filter(|entry| !parents.contains(&entry.id)).count();
    assert_eq!(ends, 3, "branches");
    for entry in &entries {
        let named = match &entry.body {
            EntryBody::Compaction(compaction) => &compaction.first_kept_entry_id,
            EntryBody::BranchSummary(summary) => &summary.from_id,
            EntryBody::Label { target_id, .. } => target_id,
            _ => continue,
        };
        assert!(entries.iter().any(|entry| entry.id == *named), "{named} is not in the tour");
    }
}

#[test]
fn x4_every_call_of_the_tour_has_its_result_right_behind_it() {
    let (_, entries) = entries();
    let mut open: HashMap<String, String> = HashMap::new();
    for entry in &entries {
        let EntryBody::Message { message } = &entry.body else { continue };
        if let Message::ToolResult(result) = message {
            let name = open.remove(&result.tool_call_id);
            assert_eq!(name.as_deref(), Some(result.tool_name.as_str()), "{entry:?}");
            let summary = result.details.as_ref().and_then(|details| details.get("summary"));
            assert!(summary.is_some_and(serde_json::Value::is_string), "the screen needs it");
            continue;
        }
        assert!(open.is_empty(), "calls without results before {}", entry.id);
        if let Message::Assistant(answer) = message {
            open.extend(answer.tool_calls().map(|call| (call.id.clone(), call.name.clone())));
            assert_eq!(answer.stop_reason == StopReason::ToolUse, !open.is_empty());
            let usage = answer.usage;
            assert_eq!(usage.total_tokens, usage.prompt_tokens() + usage.output);
            let parts = usage.cost;
            let sum = parts.input + parts.output + parts.cache_read + parts.cache_write;
            assert!((sum - parts.total).abs() < 2e-6, "{usage:?}");
        }
    }
    assert!(open.is_empty());
}

#[test]
fn c10_compact_has_something_to_do_in_the_tour() {
    let (_folder, store) = opened();
    let reader = store.reader();
    let tree = reader.tree();
    // The window of the built-in model, which answers where no other is set up: `/compact` has
    // something to do there, and the first prompt is not held up by a compaction of its own.
    let window = regrow::provider::offline::model().context_window;
    let settings = Settings::default();
    let plan = prepare_compaction(&tree, tree.leaf(), &settings, window).unwrap();
    let summarized = plan.summarize.len() + plan.turn_prefix.len();
    assert!(summarized >= 5 && plan.kept.len() >= 3, "{plan:?}");
    let limit = compacts_at(window, &settings).unwrap();
    assert!(plan.tokens_before < limit * 9 / 10, "{} of {limit} tokens", plan.tokens_before);
}

#[test]
fn j3_the_tour_exported_is_the_tour() {
    assert_eq!(exported(Format::Jsonl, Secrets::Keep), text());
    // Nothing in it looks like a key, so there is nothing to black out either.
    assert_eq!(exported(Format::Jsonl, Secrets::Redact), text());
}

#[test]
fn u4_the_tour_as_markdown_shows_the_path_and_nothing_else() {
    let page = exported(Format::Markdown, Secrets::Keep);
    assert!(page.starts_with("# forms\n\n2026-01-14T"), "{}", &page[..80]);
    for shown in [
        "## You\n\nMake the login form say which field failed",
        "## regrow (claude-sonnet-5)",
        "`edit src/auth/error.rs`",
        "<summary>compacted: Login errors name their field",
        "<summary>summary of a branch that was left</summary>",
        "## You ran\n\n`git diff --stat`",
        "bash · exit 101",
    ] {
        assert!(page.contains(shown), "{shown} is missing in\n{page}");
    }
    let abandoned = "What if we validate on the client?";
    assert!(text().contains(abandoned) && !page.contains(abandoned));
    assert_eq!(page.matches("<details>").count(), page.matches("</details>").count());
}
