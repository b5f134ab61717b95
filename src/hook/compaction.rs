//! `session_before_compact` and `session.compacting` (SPEC section 6): a compaction may be stopped or
//! made by a hook, the built-in one may get another prompt and more context. Pure.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::EventName;
use super::answer::Fields;
use super::chain::{Occasion, Taken};
use crate::compaction::Reason;
use crate::compaction::file_ops::FileOps;
use crate::ids::EntryId;
use crate::message::Message;
use crate::session::entry::{EntryBody, SessionEntry};
use crate::settings::CompactionSettings;

/// What a compaction is about to do.
#[derive(Debug, Clone)]
pub struct Preparation {
    /// Where the kept tail would begin.
    pub first_kept: EntryId,
    /// The messages to be summarised, oldest first.
    pub history: Vec<Arc<Message>>,
    /// The split turn's messages before the cut.
    pub turn_prefix: Vec<Arc<Message>>,
    /// Whether the cut goes through a turn.
    pub is_split_turn: bool,
    /// Tokens in context now.
    pub tokens_before: u64,
    /// The summary of the compaction before.
    pub previous_summary: Option<String>,
    /// What a hook stored with it.
    pub previous_data: Option<Value>,
    /// Files that the messages and earlier summaries name.
    pub file_ops: FileOps,
    /// The settings in force.
    pub settings: CompactionSettings,
}

/// A compaction that a hook made.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnCompaction {
    /// The text, as it is stored.
    pub summary: String,
    /// One or two sentences for the screen.
    pub short_summary: Option<String>,
    /// Where the kept tail begins: an entry of the path.
    pub first_kept: EntryId,
    /// Tokens in context before.
    pub tokens_before: u64,
    /// The hook's own data.
    pub details: Option<Value>,
    /// Data for the compaction after this one.
    pub preserve_data: Option<Value>,
}

/// A compaction is due.
#[derive(Debug, Clone)]
pub struct BeforeCompact {
    /// Why.
    pub reason: Reason,
    /// What it would do.
    pub preparation: Preparation,
    /// All entries of the path, oldest first.
    pub branch: Vec<Arc<SessionEntry>>,
    /// What the person asked of the summary.
    pub instructions: Option<String>,
    /// A hook's compaction.
    pub own: Option<OwnCompaction>,
}

impl BeforeCompact {
    /// Whether a kept tail can begin at an entry: on the path, and never at a tool's result (C12).
    fn check_first_kept(&self, id: &EntryId) -> Result<(), String> {
        let Some(entry) = self.branch.iter().find(|entry| entry.id == *id) else {
            return Err(format!(
                "`compaction.firstKeptEntryId` must be an entry of this branch, not {id}"
            ));
        };
        match &entry.body {
            EntryBody::Message { message: Message::ToolResult(_) } => Err(format!(
                "`compaction.firstKeptEntryId` must not be a tool's result ({id}), whose call would be lost"
            )),
            _ => Ok(()),
        }
    }

    fn own(&self, mut block: Fields) -> Result<OwnCompaction, String> {
        let summary = block.filled_text("summary")?;
        let short_summary = block.text("shortSummary")?;
        let first_kept = block.text("firstKeptEntryId")?.map(EntryId::new);
        let tokens_before = block.count("tokensBefore")?;
        let details = block.any("details");
        let preserve_data = block.any("preserveData");
        block.done()?;
        let first_kept = match first_kept {
            Some(id) => {
                self.check_first_kept(&id)?;
                id
            }
            None => self.preparation.first_kept.clone(),
        };
        let tokens_before = tokens_before.unwrap_or(self.preparation.tokens_before);
        Ok(OwnCompaction {
            summary,
            short_summary,
            first_kept,
            tokens_before,
            details,
            preserve_data,
        })
    }
}

impl Occasion for BeforeCompact {
    fn event(&self) -> EventName {
        EventName::SessionBeforeCompact
    }

    fn data(&self) -> Map<String, Value> {
        let about = &self.preparation;
        let CompactionSettings {
            enabled, reserve_tokens, keep_recent_tokens, auto_continue, ..
        } = about.settings;
        let mut preparation = json!({
            "firstKeptEntryId": about.first_kept,
            "messagesToSummarize": about.history,
            "turnPrefixMessages": about.turn_prefix,
            "isSplitTurn": about.is_split_turn,
            "tokensBefore": about.tokens_before,
            "fileOps": about.file_ops.details(),
            "settings": {
                "enabled": enabled, "reserveTokens": reserve_tokens,
                "keepRecentTokens": keep_recent_tokens, "autoContinue": auto_continue,
            },
        });
        if let Some(summary) = &about.previous_summary {
            preparation["previousSummary"] = json!(summary);
        }
        if let Some(data) = &about.previous_data {
            preparation["previousPreserveData"] = data.clone();
        }
        let branch: Vec<_> = self.branch.iter().map(AsRef::as_ref).collect();
        let mut data = Map::from_iter([
            ("reason".to_owned(), json!(self.reason)),
            ("preparation".to_owned(), preparation),
            ("branchEntries".to_owned(), json!(branch)),
        ]);
        if let Some(instructions) = &self.instructions {
            data.insert("customInstructions".to_owned(), json!(instructions));
        }
        if let Some(own) = &self.own {
            let value = json!({
                "summary": own.summary, "shortSummary": own.short_summary,
                "firstKeptEntryId": own.first_kept, "tokensBefore": own.tokens_before,
                "details": own.details, "preserveData": own.preserve_data,
            });
            data.insert("compaction".to_owned(), value);
        }
        data
    }

    fn take(&mut self, _hook: &str, answer: Map<String, Value>) -> Result<Taken, String> {
        let mut answer = Fields::new(answer);
        let own = answer.block("compaction")?.map(|block| self.own(block)).transpose()?;
        answer.done()?;
        self.own = own.or_else(|| self.own.take());
        Ok(Taken::Accepted)
    }

    fn effect(&self) -> Option<String> {
        self.own.as_ref().map(|own| {
            format!("makes the compaction, kept from {}: {}", own.first_kept, own.summary)
        })
    }
}

/// The built-in compaction is about to ask a model.
#[derive(Debug, Clone, Default)]
pub struct Compacting {
    /// The messages that are summarised.
    pub messages: Vec<Arc<Message>>,
    /// A prompt in place of the built-in one.
    pub prompt: Option<String>,
    /// Lines for `<additional-context>` (C16).
    pub context: Vec<String>,
    /// Data to store with the compaction.
    pub preserve_data: Option<Value>,
}

impl Occasion for Compacting {
    fn event(&self) -> EventName {
        EventName::SessionCompacting
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = Map::from_iter([("messages".to_owned(), json!(self.messages))]);
        if let Some(prompt) = &self.prompt {
            data.insert("prompt".to_owned(), json!(prompt));
        }
        if !self.context.is_empty() {
            data.insert("context".to_owned(), json!(self.context));
        }
        if let Some(preserved) = &self.preserve_data {
            data.insert("preserveData".to_owned(), preserved.clone());
        }
        data
    }

    fn take(&mut self, _hook: &str, answer: Map<String, Value>) -> Result<Taken, String> {
        let mut answer = Fields::new(answer);
        let prompt = answer.text("prompt")?.filter(|prompt| !prompt.trim().is_empty());
        let context = answer.lines("context")?;
        let data = answer.any("preserveData");
        answer.done()?;
        self.prompt = prompt.or_else(|| self.prompt.take());
        self.context.extend(context.into_iter().filter(|line| !line.trim().is_empty()));
        self.preserve_data = match (self.preserve_data.take(), data) {
            // Each hook has its own keys; a later one wins where they share one.
            (Some(Value::Object(mut kept)), Some(Value::Object(more))) => {
                kept.extend(more);
                Some(Value::Object(kept))
            }
            (kept, data) => data.or(kept),
        };
        Ok(Taken::Accepted)
    }

    fn effect(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(prompt) = &self.prompt {
            parts.push(format!("replaces the prompt by: {prompt}"));
        }
        if !self.context.is_empty() {
            parts.push(format!("adds context: {}", self.context.join("; ")));
        }
        if let Some(data) = &self.preserve_data {
            parts.push(format!("stores {data}"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: Value) -> Arc<SessionEntry> {
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn before() -> BeforeCompact {
        let at = "2026-01-14T15:00:00Z";
        let user = json!({"type": "message", "id": "u1", "parentId": null, "timestamp": at,
            "message": {"role": "user", "content": "hi"}});
        let result = json!({"type": "message", "id": "r1", "parentId": "u1", "timestamp": at,
            "message": {"role": "toolResult", "toolCallId": "c", "toolName": "ls", "content": "a"}});
        BeforeCompact {
            reason: Reason::Manual,
            preparation: Preparation {
                first_kept: EntryId::new("u1"),
                history: Vec::new(),
                turn_prefix: Vec::new(),
                is_split_turn: false,
                tokens_before: 7,
                previous_summary: None,
                previous_data: None,
                file_ops: FileOps::default(),
                settings: CompactionSettings::default(),
            },
            branch: vec![entry(user), entry(result)],
            instructions: Some("names".into()),
            own: None,
        }
    }

    fn take(occasion: &mut dyn Occasion, answer: Value) -> Result<Taken, String> {
        let Value::Object(fields) = answer else { panic!() };
        occasion.take("h", fields)
    }

    #[test]
    fn the_event_says_what_the_compaction_would_do() {
        let data = Value::Object(before().data());
        let preparation = data["preparation"].as_object().unwrap();
        let names: Vec<_> = preparation.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "firstKeptEntryId",
                "messagesToSummarize",
                "turnPrefixMessages",
                "isSplitTurn",
                "tokensBefore",
                "fileOps",
                "settings"
            ]
        );
        assert_eq!(data["customInstructions"], "names");
        assert_eq!(data["reason"], "manual");
        assert_eq!(data["branchEntries"][0]["message"]["content"], "hi");
        assert_eq!(preparation["settings"]["reserveTokens"], 16_384);
    }

    #[test]
    fn f81_a_compaction_must_hold_together() {
        for (answer, words) in [
            (json!({"compaction": {}}), "`compaction.summary` is missing"),
            (json!({"compaction": {"summary": "S", "firstKeptEntryId": "zz"}}), "of this branch"),
            (json!({"compaction": {"summary": "S", "firstKeptEntryId": "r1"}}), "tool's result"),
            (json!({"compaction": {"summary": "S", "tokensBefore": "7"}}), "a whole number"),
            (json!({"compaction": "S"}), "an object"),
            (json!({"compactoin": {"summary": "S"}}), "did you mean `compaction`?"),
        ] {
            let mut before = before();
            let error = take(&mut before, answer.clone()).unwrap_err();
            assert!(error.contains(words), "{answer}: {error}");
            assert_eq!(before.own, None);
        }
        let mut before = before();
        take(&mut before, json!({"compaction": {"summary": "S", "preserveData": {"a": 1}}}))
            .unwrap();
        let own = before.own.clone().unwrap();
        assert_eq!((own.first_kept.as_str(), own.tokens_before), ("u1", 7));
        assert_eq!(before.data()["compaction"]["summary"], "S", "the next hook sees it");
        take(&mut before, json!({"compaction": {"summary": "T"}})).unwrap();
        assert_eq!(before.own.unwrap().summary, "T");
    }

    #[test]
    fn c16_hooks_add_up_their_context() {
        let mut compacting = Compacting::default();
        take(&mut compacting, json!({"context": "one", "preserveData": {"a": 1}})).unwrap();
        take(&mut compacting, json!({"context": ["two", " "], "prompt": "P"})).unwrap();
        take(&mut compacting, json!({"preserveData": {"b": 2}})).unwrap();
        assert_eq!(compacting.context, ["one", "two"]);
        assert_eq!(compacting.prompt.as_deref(), Some("P"));
        assert_eq!(compacting.preserve_data, Some(json!({"a": 1, "b": 2})));
        assert_eq!(compacting.data()["context"], json!(["one", "two"]));
    }
}
