//! Kinds `parse`, `migration`, `facts` and `fixture`: what is read from a file, and what older
//! files become.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use regrow::compaction::tokens::Estimator;
use regrow::ids::{EntryId, Stamper, Timestamp};
use regrow::message::{AssistantMessage, Block, Content, Message, UserMessage};
use regrow::session::context::build_session_context;
use regrow::session::entry::{BranchSummaryEntry, CompactionEntry, EntryBody, SessionHeader};
use regrow::session::store::{Access, SessionStore};
use regrow::session::tree::{NodeKind, SessionTree};
use serde_json::{Map, Value, json};

use super::Written;
use crate::cases::{OMP, cases, rows};
use crate::tally::Tally;

#[test]
fn j7_lines_that_are_read() {
    let cases = cases("parse");
    let mut tally = Tally::new("parse, loadFile");
    for row in cases.iter().flat_map(rows) {
        // The rows speak of lines, not of versions.
        let text = row["text"].as_str().unwrap();
        let current = text.replace(r#""type":"session""#, r#""type":"session","version":3"#);
        let opened = Written::new(&current).open(Access::ReadOnly);
        let entries = opened.as_ref().map_or(0, |opened| opened.store.reader().tree().len());
        let expected = &row["expected"][OMP];
        if let Some(count) = expected.as_u64() {
            if entries > 0 && !text.starts_with(r#"{"type":"session""#) {
                tally.except("entries of a file without its header are not given up (F49)");
                continue;
            }
            tally.compare(row, entries as u64, if count == 0 { 0 } else { count - 1 });
            continue;
        }
        if text.starts_with('\u{feff}') {
            tally.except("a byte order mark is no damage (as in pi)");
            continue;
        }
        let mut ours = Vec::new();
        if let Ok(opened) = &opened
            && !text.is_empty()
        {
            ours.push(json!(opened.store.header().id));
            let tree = opened.store.reader().tree();
            ours.extend(tree.nodes().map(|(_, node)| json!(node.id)));
        }
        let mut theirs = expected["ids"].as_array().unwrap().clone();
        let is_record = |line: &&str| serde_json::from_str::<Map<String, Value>>(line).is_ok();
        let values = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok());
        if values.clone().count() == theirs.len() && !values.clone().all(|line| is_record(&line)) {
            tally.except("JSON values that are no objects are bad lines");
            let mut records = values.map(|line| is_record(&line));
            theirs.retain(|_| records.next() == Some(true));
        }
        tally.compare(row, ours, theirs);
    }
    tally.finish(if cases.is_empty() { 0 } else { 9 });
}

#[test]
fn j5_what_older_files_become() {
    let cases = cases("migration");
    let mut tally = Tally::new("migration");
    for row in cases.iter().flat_map(rows) {
        let lines: Vec<_> = row["input"].as_array().unwrap().iter().map(Value::to_string).collect();
        let written = Written::new(&(lines.join("\n") + "\n"));
        let opened = written.open(Access::Write).unwrap();
        let expected = &row["expected"][OMP];
        let place = &row["name"];
        tally.compare(
            place,
            json!(opened.store.header().version),
            expected["headerVersion"].clone(),
        );
        let reader = opened.store.reader();
        let tree = reader.tree();
        let position =
            |id: &EntryId| tree.find(id).map_or(Value::Null, |index| json!(index.get() + 1));
        let mut parents = vec![Value::Null];
        let mut roles = vec![Value::Null];
        let mut first_kept = Vec::new();
        let mut ids = Vec::new();
        for (index, node) in tree.nodes() {
            let line: Value = serde_json::from_slice(&reader.line(index).unwrap()).unwrap();
            parents.push(tree.parent(index).map_or(Value::Null, |up| position(&tree.node(up).id)));
            roles.push(line["message"]["role"].clone());
            if let NodeKind::Compaction { first_kept: id, .. } = &node.kind {
                first_kept.push(json!({"firstKeptIndex": position(id),
                    "hasFirstKeptEntryIndexField": line.get("firstKeptEntryIndex").is_some()}));
            }
            ids.push(node.id.to_string());
        }
        let hex = |id: &String| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let before: Vec<_> = row["input"].as_array().unwrap()[1..]
            .iter()
            .map(|entry| entry["id"].as_str().unwrap_or_default().to_owned())
            .collect();
        tally.compare(place, json!(parents), expected["parentIndex"].clone());
        tally.compare(place, json!(roles), expected["roles"].clone());
        tally.compare(place, json!(first_kept), expected["compaction"].clone());
        tally.compare(place, json!(ids.iter().all(hex)), expected["idsMatch8Hex"].clone());
        tally.compare(place, json!(ids == before), expected["idsUnchanged"].clone());
    }
    tally.finish(if cases.is_empty() { 0 } else { 30 });
}

struct Counter(AtomicU32);

impl Stamper for Counter {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_768_402_837_013)
    }
    fn entry_bits(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
    fn session_id(&self) -> String {
        "s".to_owned()
    }
}

#[test]
fn j2_j3_what_is_written() {
    let cases = cases("facts");
    let mut tally = Tally::new("facts");
    for case in &cases {
        let expected = &case["expected"][OMP];
        let dir = tempfile::tempdir().unwrap();
        let ids = Counter(AtomicU32::new(1));
        let header = SessionHeader::new("s".into(), ids.now(), "/w".into());
        let mut store = SessionStore::create(dir.path(), header, Estimator::CharsPerFour);
        let user = UserMessage { content: Content::Text("a".into()), timestamp: 1 };
        let answer = AssistantMessage { content: vec![Block::text("b")], ..Default::default() };
        let first = store.append(message(Message::User(user)), &ids).unwrap();
        tally.except(
            "a session is written with the first user message, not with the first answer (J10)",
        );
        store.append(message(Message::Assistant(answer)), &ids).unwrap();
        tally.compare(
            "file",
            store.path().unwrap().exists(),
            expected["fileExistsAfterAssistant"] == true,
        );
        let compaction = CompactionEntry {
            summary: "s".into(),
            short_summary: Some("s".into()),
            first_kept_entry_id: first.id.clone(),
            tokens_before: 1,
            details: Some(json!({})),
            preserve_data: Some(json!({})),
            from_extension: Some(false),
        };
        store.append(EntryBody::Compaction(compaction), &ids).unwrap();
        let branch = |from: &EntryId| {
            EntryBody::BranchSummary(BranchSummaryEntry {
                from_id: from.clone(),
                summary: "s".into(),
                details: Some(json!({})),
                from_extension: Some(false),
            })
        };
        let at = store.reader().tree().find(&first.id);
        let below = store.append_at(at, branch(&first.id), &ids).unwrap();
        tally.compare("branch", below.parent_id.as_ref(), Some(&first.id));
        tally.compare("leaf", store.reader().tree().leaf(), store.reader().tree().find(&below.id));
        let root = store.append_at(None, branch(&first.id), &ids).unwrap();
        tally.compare(
            "root",
            json!(root.parent_id),
            expected["branchEntryRoot"]["parentId"].clone(),
        );
        let text = std::fs::read_to_string(store.path().unwrap()).unwrap();
        let lines: Vec<Map<String, Value>> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<_> = lines.iter().map(|line| line["type"].clone()).collect();
        tally.compare("types", json!(kinds), expected["fileLineTypes"].clone());
        let keys = |line: &Map<String, Value>| {
            let mut keys: Vec<_> = line.keys().cloned().collect();
            keys.sort();
            keys
        };
        let sorted = |keys: &Value| {
            let mut keys: Vec<String> = serde_json::from_value(keys.clone()).unwrap();
            keys.sort();
            keys
        };
        tally.compare("header", keys(&lines[0]), sorted(&expected["headerKeys"]));
        tally.compare("compaction", keys(&lines[3]), sorted(&expected["compactionEntryKeys"]));
        tally.compare("branch", keys(&lines[4]), sorted(&expected["branchEntry"]["keys"]));
    }
    tally.finish(if cases.is_empty() { 0 } else { 8 });
}

fn message(message: Message) -> EntryBody {
    EntryBody::Message { message }
}

#[test]
fn j5_a_real_session_of_version_1() {
    let cases = cases("fixture");
    let place =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures/real-session-v1.jsonl");
    let Ok(text) = std::fs::read_to_string(&place) else {
        println!("SKIPPED fixture: no file {}", place.display());
        return;
    };
    let mut tally = Tally::new("fixture");
    for case in &cases {
        let expected = &case["expected"][OMP];
        let written = Written::new(&text);
        drop(written.open(Access::Write).unwrap());
        let opened = written.open(Access::Write).unwrap();
        assert_eq!(opened.warnings, [""; 0], "the second time nothing is left to do");
        let reader = opened.store.reader();
        let tree = reader.tree();
        let outline = build_session_context(&tree, tree.leaf());
        let count = |tree: &SessionTree, is: fn(&NodeKind) -> bool| {
            json!(tree.nodes().filter(|(_, node)| is(&node.kind)).count())
        };
        let roles = &expected["messageRoles"];
        tally.compare("entries", json!(tree.len()), expected["entriesWithoutHeader"].clone());
        tally.compare("path", json!(tree.active_path().len()), expected["pathLength"].clone());
        tally.compare("context", json!(outline.nodes.len()), expected["contextMessages"].clone());
        tally.compare("user", count(&tree, |kind| *kind == NodeKind::User), roles["user"].clone());
        let answers = count(&tree, |kind| matches!(kind, NodeKind::Assistant(_)));
        tally.compare("assistant", answers, roles["assistant"].clone());
        let results = count(&tree, |kind| matches!(kind, NodeKind::ToolResult { .. }));
        tally.compare("toolResult", results, roles["toolResult"].clone());
        let total: u64 = tree.nodes().map(|(_, node)| u64::from(node.tokens)).sum();
        tally.compare("tokens", json!(total), expected["estimateTokensTotal"].clone());
        drop(tree);
        let (messages, problems) = reader.messages(&outline.nodes);
        tally.compare("messages", (messages.len(), problems.len()), (outline.nodes.len(), 0));
        drop(opened);
        let backup = std::fs::read_to_string(written.path.with_file_name("session.jsonl.v1.bak"));
        tally.compare("backup", backup.unwrap() == text, true);
    }
    tally.finish(if cases.is_empty() { 0 } else { 9 });
}
