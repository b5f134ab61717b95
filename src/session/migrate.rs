//! Older versions of the format, and entries without ids, made version 3 (SPEC J5, F54): pure, line
//! by line, on JSON values.
//!
//! New ids are made of the session's id and the entry's position, so that migrating a file again
//! gives the same ids.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::entry::FORMAT_VERSION;
use crate::ids::entry_id;

/// One file on its way to the current version. Lines are given in file order.
#[derive(Debug)]
pub struct Migration {
    from: u64,
    seed: u64,
    /// Ids that are taken.
    ids: HashSet<String>,
    /// Ids of the records so far; the header is the first and has none.
    records: Vec<Option<String>>,
}

impl Migration {
    /// From version `from`; `session_id` and `taken` decide on new ids.
    #[must_use]
    pub fn new(from: u64, session_id: &str, taken: HashSet<String>) -> Self {
        let seed = fnv(0xcbf2_9ce4_8422_2325, session_id.as_bytes());
        Self { from, seed, ids: taken, records: Vec::new() }
    }

    /// Brings the next record, the header included, to the current version.
    pub fn record(&mut self, record: &mut Map<String, Value>) {
        if record.get("type").and_then(Value::as_str) == Some("session") {
            if self.from < FORMAT_VERSION {
                set_version(record);
            }
            self.records.push(None);
            return;
        }
        if self.from < FORMAT_VERSION {
            rename_hook_message(record);
        }
        let known = record.get("id").and_then(Value::as_str).map(str::to_owned);
        let id = match known {
            Some(id) if self.from > 1 => id,
            _ => {
                let id = self.fresh_id();
                let parent = self.records.iter().rev().find_map(Clone::clone);
                put_head(record, &id, parent);
                self.first_kept_entry(record);
                id
            }
        };
        self.records.push(Some(id));
    }

    fn fresh_id(&mut self) -> String {
        let mut hash = fnv(self.seed, &self.records.len().to_le_bytes());
        loop {
            let id = entry_id((hash ^ (hash >> 32)) as u32).as_str().to_owned();
            if self.ids.insert(id.clone()) {
                return id;
            }
            hash = fnv(hash, b"taken");
        }
    }

    /// Version 1 named the first kept entry by its position among the records before.
    fn first_kept_entry(&self, record: &mut Map<String, Value>) {
        let Some(position) = record.shift_remove("firstKeptEntryIndex") else { return };
        let position = position.as_u64().and_then(|position| usize::try_from(position).ok());
        let id = position.and_then(|position| self.records.get(position).cloned().flatten());
        // Without a name that exists nothing is kept (X1).
        record.insert("firstKeptEntryId".to_owned(), json!(id.unwrap_or_default()));
    }
}

fn set_version(header: &mut Map<String, Value>) {
    let mut rest = std::mem::take(header);
    rest.shift_remove("version");
    header.insert("type".to_owned(), json!("session"));
    header.insert("version".to_owned(), json!(FORMAT_VERSION));
    header.extend(rest.into_iter().filter(|(key, _)| key != "type"));
}

/// Puts the keys that say where an entry belongs first.
fn put_head(record: &mut Map<String, Value>, id: &str, parent: Option<String>) {
    let rest = std::mem::take(record);
    if let Some(kind) = rest.get("type") {
        record.insert("type".to_owned(), kind.clone());
    }
    record.insert("id".to_owned(), json!(id));
    record.insert("parentId".to_owned(), json!(parent));
    for (key, value) in rest {
        record.entry(key).or_insert(value);
    }
}

fn rename_hook_message(record: &mut Map<String, Value>) {
    let role = record.get_mut("message").and_then(|message| message.get_mut("role"));
    if let Some(role) = role.filter(|role| *role == "hookMessage") {
        *role = json!("custom");
    }
}

fn fnv(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated(from: u64, records: Value) -> Vec<Value> {
        let mut migration = Migration::new(from, "s", HashSet::new());
        let Value::Array(mut records) = records else { panic!() };
        for record in &mut records {
            migration.record(record.as_object_mut().unwrap());
        }
        records
    }

    #[test]
    fn j5_version_1_becomes_a_chain() {
        let records = json!([
            {"type": "session", "id": "s", "cwd": "/w"},
            {"type": "message", "message": {"role": "user", "content": "a"}},
            {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 1},
            {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 99},
            {"type": "message", "message": {"role": "hookMessage"}, "extra": {"kept": true}},
        ]);
        let after = migrated(1, records.clone());
        assert_eq!(after[0], json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}));
        assert_eq!(after[1]["parentId"], Value::Null);
        for pair in after[1..].windows(2) {
            assert_eq!(pair[1]["parentId"], pair[0]["id"]);
        }
        assert_eq!(after[2]["firstKeptEntryId"], after[1]["id"]);
        assert_eq!(after[3]["firstKeptEntryId"], "");
        assert_eq!(after[4]["message"]["role"], "custom");
        assert_eq!(after[4]["extra"], json!({"kept": true}));
        assert_eq!(migrated(1, records), after);
    }

    #[test]
    fn j5_later_versions_keep_their_ids() {
        let entry = json!({"type": "message", "id": "a", "parentId": null,
                           "message": {"role": "hookMessage"}});
        assert_eq!(migrated(2, json!([entry]))[0]["message"]["role"], "custom");
        assert_eq!(migrated(3, json!([entry])), [entry]);
    }

    #[test]
    fn f54_entries_without_ids_are_chained_in_file_order() {
        let after = migrated(
            3,
            json!([
                {"type": "message", "id": "a", "parentId": null},
                {"type": "message", "timestamp": "t"},
            ]),
        );
        assert_eq!(after[1]["parentId"], "a");
        assert_eq!(after[1]["id"].as_str().unwrap().len(), 8);
    }
}
