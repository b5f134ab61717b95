//! Sessions for tests, written as `u1 user 'hi' / a1 assistant 'x' call=read:src/a.rs < u1 / leaf a1`.
//!
//! An entry hangs below the one before it unless `< id` says otherwise (`< -`: a root). Kinds: `user`,
//! `assistant`, `result`, `shell`, `note`, `compaction`, `summary`, `mark`, `label`, `name`, `model`.

use std::io;
use std::sync::{Arc, RwLock};

use serde_json::{Value, json};

use crate::compaction::tokens::Estimator;
use crate::ids::{EntryId, Timestamp};
use crate::session::describe::describe;
use crate::session::entry::SessionEntry;
use crate::session::reader::{Lines, SessionReader};
use crate::session::tree::{LineSpan, NodeIndex, SessionTree};

/// A session in memory with its bodies.
pub(crate) struct Session {
    pub(crate) reader: SessionReader,
    pub(crate) shared: Arc<RwLock<SessionTree>>,
}

struct Memory(Vec<u8>);

impl Lines for Memory {
    fn read(&self, span: LineSpan) -> io::Result<Vec<u8>> {
        let start = span.offset as usize;
        Ok(self.0[start..start + span.len as usize].to_vec())
    }
}

/// Midday; entries are a minute apart and end at this time unless `at=` says otherwise.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_768_402_800_000);

impl Session {
    pub(crate) fn parse(text: &str) -> Self {
        let parts: Vec<&str> =
            text.split(" / ").map(str::trim).filter(|part| !part.is_empty()).collect();
        let mut entries: Vec<Value> = Vec::new();
        let mut leaf: Option<String> = None;
        for (position, part) in parts.iter().enumerate() {
            let words = words(part);
            if words[0] == "leaf" {
                leaf = Some(words[1].clone());
                continue;
            }
            let previous = entries.last().map_or(Value::Null, |entry| entry["id"].clone());
            let minutes = parts.len() - position;
            entries.push(entry(&words, &previous, minutes as i64));
        }
        Self::build(&entries, leaf.as_deref())
    }

    /// A conversation of `length` entries without a fork.
    pub(crate) fn chain(length: usize) -> Self {
        let entries: Vec<Value> = (0..length)
            .map(|number| {
                let parent = match number {
                    0 => Value::Null,
                    _ => json!(format!("e{}", number - 1)),
                };
                let kind = if number % 2 == 0 { "user" } else { "assistant" };
                let words = [format!("e{number}"), kind.to_owned(), format!("'text {number}'")];
                let mut entry = entry(&words, &Value::Null, (length - number) as i64);
                entry["parentId"] = parent;
                entry
            })
            .collect();
        Self::build(&entries, None)
    }

    pub(crate) fn build(entries: &[Value], leaf: Option<&str>) -> Self {
        let mut bytes = Vec::new();
        let mut tree = SessionTree::new();
        for entry in entries {
            let line = entry.to_string();
            let span = LineSpan { offset: bytes.len() as u64, len: line.len() as u32 };
            bytes.extend_from_slice(line.as_bytes());
            let entry: SessionEntry = serde_json::from_str(&line).unwrap();
            let parent = entry.parent_id.as_ref().and_then(|parent| tree.find(parent));
            let index = tree.insert(describe(&entry, Estimator::ScriptAware, span), parent);
            tree.set_leaf(Some(index));
        }
        if let Some(leaf) = leaf {
            let leaf = (leaf != "-").then(|| tree.find(&EntryId::new(leaf)).unwrap());
            tree.set_leaf(leaf);
        }
        let shared = Arc::new(RwLock::new(tree));
        let reader = SessionReader::new(shared.clone(), Arc::new(Memory(bytes)));
        Self { reader, shared }
    }

    pub(crate) fn tree(&self) -> SessionTree {
        self.reader.tree().clone()
    }

    pub(crate) fn at(&self, id: &str) -> NodeIndex {
        self.reader.tree().find(&EntryId::new(id)).unwrap_or_else(|| panic!("no entry {id}"))
    }
}

/// Splits at blanks outside quotes.
fn words(part: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in part.chars() {
        match character {
            '\'' => {
                quoted = !quoted;
                words.last_mut().unwrap().push('\'');
            }
            c if c.is_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn entry(words: &[String], previous: &Value, minutes: i64) -> Value {
    let kind = words[1].as_str();
    let text = words
        .iter()
        .find_map(|word| word.strip_prefix('\''))
        .map(|text| text.trim_end_matches('\'').replace("\\n", "\n"));
    let text = text.unwrap_or_default();
    let field = |name: &str| {
        words.iter().find_map(|word| word.strip_prefix(&format!("{name}=")).map(str::to_owned))
    };
    let ago = field("ago").map_or(minutes, |ago| ago.parse().unwrap());
    let stamp = NOW.as_millis() - ago * 60_000;
    let message = |role: &str, mut rest: Value| {
        rest["role"] = json!(role);
        rest["timestamp"] = json!(stamp);
        json!({"type": "message", "message": rest})
    };
    let calls: Vec<Value> = words
        .iter()
        .filter_map(|word| word.strip_prefix("call="))
        .enumerate()
        .map(|(number, call)| {
            let (name, subject) = call.split_once(':').unwrap_or((call, ""));
            let key = if name == "bash" { "command" } else { "path" };
            json!({"type": "toolCall", "id": format!("{}-{number}", words[0]), "name": name,
                   "arguments": {key: subject.replace('_', " ")}})
        })
        .collect();
    let mut entry = match kind {
        "user" => message("user", json!({"content": text})),
        "assistant" => {
            let mut content = Vec::new();
            if !text.is_empty() {
                content.push(json!({"type": "text", "text": text}));
            }
            content.extend(calls);
            message("assistant", json!({"content": content, "provider": "p", "model": "m"}))
        }
        "result" => message(
            "toolResult",
            json!({"toolCallId": field("of").unwrap_or_default(), "content": text,
                   "toolName": field("tool").unwrap_or_default(),
                   "isError": words.iter().any(|word| word == "failed")}),
        ),
        "shell" => {
            message("bashExecution", json!({"command": text, "output": "ok", "exitCode": 0}))
        }
        "note" => json!({"type": "custom_message", "customType": "x", "content": text,
                         "display": true}),
        "compaction" => json!({"type": "compaction", "summary": text,
            "firstKeptEntryId": field("keep").unwrap_or_default(), "tokensBefore": 41_200}),
        "summary" => json!({"type": "branch_summary", "summary": text,
            "fromId": field("from").unwrap_or_default()}),
        "mark" => json!({"type": "custom", "customType": "regrow.leaf"}),
        "label" => json!({"type": "label", "targetId": field("of"), "label": text}),
        "name" => json!({"type": "session_info", "name": text}),
        "model" => json!({"type": "model_change", "provider": "p", "modelId": text}),
        other => panic!("no kind {other}"),
    };
    let parent = words.iter().position(|word| word == "<").map(|at| words[at + 1].as_str());
    entry["id"] = json!(words[0]);
    entry["timestamp"] = json!(Timestamp::from_millis(stamp).to_string());
    entry["parentId"] = match parent {
        Some("-") => Value::Null,
        Some(parent) => json!(parent),
        None => previous.clone(),
    };
    entry
}
