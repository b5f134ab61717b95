//! The lines of a session file as types (SPEC J2, J3).
//!
//! An entry is read from one JSON line and written as one. Kinds that this version does not know
//! are kept as they are; a *known* kind with a broken body is an error that the store reports.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::ids::{EntryId, Timestamp};
use crate::message::{Content, Message};

/// The version of the format that this program writes.
pub const FORMAT_VERSION: u64 = 3;

/// The `customType` of the entry that marks a moved leaf (J6).
pub const LEAF_MARK: &str = "regrow.leaf";

/// The first line of a session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    /// Always `session`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of the format; files of version 1 do not say.
    #[serde(default = "first_version")]
    pub version: u64,
    /// The session's id.
    pub id: String,
    /// When the session began.
    #[serde(default)]
    pub timestamp: Timestamp,
    /// The folder it works in.
    #[serde(default)]
    pub cwd: String,
    /// The file that this session was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

const fn first_version() -> u64 {
    1
}

impl SessionHeader {
    /// A header of the current version.
    #[must_use]
    pub fn new(id: String, timestamp: Timestamp, cwd: String) -> Self {
        Self {
            kind: "session".to_owned(),
            version: FORMAT_VERSION,
            id,
            timestamp,
            cwd,
            parent_session: None,
            rest: Map::new(),
        }
    }

    /// The header as one line, `\n` included.
    #[must_use]
    pub fn to_line(&self) -> String {
        // A struct of strings and JSON values always serialises.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// One line after the header: a node of the conversation's tree.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Unique within the file.
    pub id: EntryId,
    /// The entry that this one follows; `None` for a root.
    pub parent_id: Option<EntryId>,
    /// When it was appended.
    pub timestamp: Timestamp,
    /// What it holds.
    pub body: EntryBody,
}

/// What an entry holds, by its `type` (J3).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EntryBody {
    /// A message of the conversation.
    Message {
        /// The message.
        message: Message,
    },
    /// From here on another model answers.
    #[serde(rename_all = "camelCase")]
    ModelChange {
        /// The provider's name.
        provider: String,
        /// The model's id there.
        model_id: String,
    },
    /// From here on another thinking level is asked for.
    #[serde(rename_all = "camelCase")]
    ThinkingLevelChange {
        /// `off`, `minimal`, `low`, `medium`, `high` …
        thinking_level: String,
    },
    /// Older history was replaced by a summary.
    Compaction(CompactionEntry),
    /// A branch was left and summarised.
    BranchSummary(BranchSummaryEntry),
    /// An extension's own data; never in context.
    #[serde(rename_all = "camelCase")]
    Custom {
        /// The extension's name for it.
        custom_type: String,
        /// Whatever it stores.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// An extension's message; in context.
    #[serde(rename_all = "camelCase")]
    CustomMessage {
        /// The extension's name for it.
        custom_type: String,
        /// What the model gets to see.
        content: Content,
        /// Whether the transcript shows it.
        display: bool,
        /// The extension's own data.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A name for an entry; without `label` the name is taken away.
    #[serde(rename_all = "camelCase")]
    Label {
        /// The entry that is named.
        target_id: EntryId,
        /// The name.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// A name for the session.
    SessionInfo {
        /// The name; `None` takes it away.
        name: Option<String>,
    },
    /// A kind that this version does not know: all fields of the line except `id`, `parentId`
    /// and `timestamp`.
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

/// See [`EntryBody::Compaction`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEntry {
    /// The checkpoint, file blocks included (C20).
    pub summary: String,
    /// One or two sentences for the screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_summary: Option<String>,
    /// The kept tail begins here.
    pub first_kept_entry_id: EntryId,
    /// Tokens in context before (C5).
    #[serde(default)]
    pub tokens_before: u64,
    /// `{readFiles, modifiedFiles}` when regrow made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What a hook wants to find again at the next compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_data: Option<Value>,
    /// Whether a hook made it. Older files say `fromHook`.
    #[serde(default, alias = "fromHook", skip_serializing_if = "Option::is_none")]
    pub from_extension: Option<bool>,
}

/// See [`EntryBody::BranchSummary`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEntry {
    /// The leaf of the branch that was left (B5).
    pub from_id: EntryId,
    /// The summary, preamble and file blocks included.
    pub summary: String,
    /// `{readFiles, modifiedFiles}` when regrow made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether a hook made it. Older files say `fromHook`.
    #[serde(default, alias = "fromHook", skip_serializing_if = "Option::is_none")]
    pub from_extension: Option<bool>,
}

impl SessionEntry {
    /// The entry as one line, `\n` included, header keys first (J2, J7).
    #[must_use]
    pub fn to_line(&self) -> String {
        // Strings, numbers and JSON values always serialise.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

impl Serialize for SessionEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::{Error, SerializeMap};
        let body = serde_json::to_value(&self.body).map_err(S::Error::custom)?;
        let Value::Object(mut fields) = body else {
            return Err(S::Error::custom("an entry's body must be an object"));
        };
        let kind = fields.shift_remove("type").unwrap_or(Value::Null);
        let mut map = serializer.serialize_map(Some(fields.len() + 4))?;
        map.serialize_entry("type", &kind)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("parentId", &self.parent_id)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        for (key, value) in &fields {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for SessionEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut fields = Map::deserialize(deserializer)?;
        let id = match fields.shift_remove("id") {
            Some(Value::String(id)) => EntryId::new(id),
            _ => return Err(D::Error::custom("an entry needs a text `id`")),
        };
        let parent_id = match fields.shift_remove("parentId") {
            Some(Value::String(parent)) => Some(EntryId::new(parent)),
            _ => None,
        };
        let timestamp = fields
            .shift_remove("timestamp")
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default();
        let body = EntryBody::from_fields(fields).map_err(D::Error::custom)?;
        Ok(Self { id, parent_id, timestamp, body })
    }
}

impl EntryBody {
    /// Reads a body from the fields of a line.
    fn from_fields(mut fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        use serde::de::Error;
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = |fields: &mut Map<String, Value>, key: &str| match fields.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let required = |fields: &mut Map<String, Value>, key: &str| {
            text(fields, key)
                .ok_or_else(|| serde_json::Error::custom(format!("{kind} needs a text `{key}`")))
        };
        Ok(match kind.as_str() {
            "message" => {
                let message = fields
                    .shift_remove("message")
                    .ok_or_else(|| serde_json::Error::custom("message entry without `message`"))?;
                Self::Message { message: serde_json::from_value(message)? }
            }
            // oh-my-pi names models for other jobs too; only the default one answers the person.
            "model_change" if is_for_another_job(&fields) => Self::Unknown(fields),
            "model_change" => {
                // oh-my-pi writes `model: "provider/id"`, pi writes the two apart.
                if let Some(model) = text(&mut fields, "model") {
                    let (provider, id) = model.split_once('/').unwrap_or(("", &model));
                    Self::ModelChange { provider: provider.to_owned(), model_id: id.to_owned() }
                } else {
                    let provider = required(&mut fields, "provider")?;
                    Self::ModelChange { provider, model_id: required(&mut fields, "modelId")? }
                }
            }
            "thinking_level_change" => Self::ThinkingLevelChange {
                thinking_level: required(&mut fields, "thinkingLevel")?,
            },
            "compaction" => Self::Compaction(serde_json::from_value(Value::Object(fields))?),
            "branch_summary" => Self::BranchSummary(serde_json::from_value(Value::Object(fields))?),
            "custom" => Self::Custom {
                custom_type: required(&mut fields, "customType")?,
                data: fields.shift_remove("data"),
            },
            "custom_message" => Self::CustomMessage {
                custom_type: required(&mut fields, "customType")?,
                content: serde_json::from_value(
                    fields.shift_remove("content").unwrap_or_default(),
                )?,
                display: fields.get("display").and_then(Value::as_bool).unwrap_or_default(),
                details: fields.shift_remove("details"),
            },
            "label" => Self::Label {
                target_id: EntryId::new(required(&mut fields, "targetId")?),
                label: text(&mut fields, "label"),
            },
            "session_info" => Self::SessionInfo { name: text(&mut fields, "name") },
            _ => Self::Unknown(fields),
        })
    }
}

fn is_for_another_job(model_change: &Map<String, Value>) -> bool {
    model_change.get("role").and_then(Value::as_str).is_some_and(|role| role != "default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check_round_trip(line: Value) {
        let entry: SessionEntry = serde_json::from_value(line.clone()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&entry.to_line()).unwrap(), line);
    }

    #[test]
    fn j3_every_kind_round_trips() {
        let head = |kind: &str, rest: Value| {
            let mut line = json!({"type": kind, "id": "0000000a", "parentId": null,
                                  "timestamp": "2026-01-14T15:00:37.013Z"});
            let (Value::Object(line_map), Value::Object(rest)) = (&mut line, rest) else {
                panic!()
            };
            line_map.extend(rest);
            line
        };
        check_round_trip(head(
            "message",
            json!({"message": {"role": "user", "content": "x", "timestamp": 1}}),
        ));
        check_round_trip(head("model_change", json!({"provider": "p", "modelId": "a/b"})));
        check_round_trip(head("thinking_level_change", json!({"thinkingLevel": "high"})));
        check_round_trip(head(
            "compaction",
            json!({"summary": "s", "firstKeptEntryId": "b", "tokensBefore": 3,
            "details": {"readFiles": []}, "fromExtension": true}),
        ));
        check_round_trip(head("branch_summary", json!({"fromId": "b", "summary": "s"})));
        check_round_trip(head("custom", json!({"customType": "t", "data": [1]})));
        check_round_trip(head(
            "custom_message",
            json!({"customType": "t", "content": "c", "display": false}),
        ));
        check_round_trip(head("label", json!({"targetId": "b", "label": "l"})));
        check_round_trip(head("session_info", json!({"name": "n"})));
        check_round_trip(head("from_the_future", json!({"x": {"y": 1}})));
    }

    #[test]
    fn j3_reads_the_spellings_of_other_programs() {
        let entry: SessionEntry = serde_json::from_value(json!({"type": "model_change", "id": "a",
            "parentId": null, "timestamp": "x", "model": "openai/gpt/5"}))
        .unwrap();
        assert_eq!(
            entry.body,
            EntryBody::ModelChange { provider: "openai".into(), model_id: "gpt/5".into() }
        );
        let small = json!({"type": "model_change", "id": "a", "parentId": null, "role": "smol",
                           "timestamp": "2026-01-14T15:00:37.013Z", "model": "openai/mini"});
        let entry: SessionEntry = serde_json::from_value(small.clone()).unwrap();
        assert!(matches!(entry.body, EntryBody::Unknown(_)));
        check_round_trip(small);
        let entry: SessionEntry =
            serde_json::from_value(json!({"type": "branch_summary", "id": "a",
            "parentId": null, "fromId": "b", "summary": "s", "fromHook": true}))
            .unwrap();
        let EntryBody::BranchSummary(summary) = entry.body else { panic!("{entry:?}") };
        assert_eq!(summary.from_extension, Some(true));
    }

    #[test]
    fn j2_header_keys_come_first_on_a_line() {
        let entry = SessionEntry {
            id: EntryId::new("0000000a"),
            parent_id: None,
            timestamp: Timestamp::from_millis(0),
            body: EntryBody::SessionInfo { name: Some("n".into()) },
        };
        assert_eq!(
            entry.to_line(),
            "{\"type\":\"session_info\",\"id\":\"0000000a\",\"parentId\":null,\
             \"timestamp\":\"1970-01-01T00:00:00.000Z\",\"name\":\"n\"}\n"
        );
    }
}
