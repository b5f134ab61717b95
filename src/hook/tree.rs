//! `session_before_tree` (SPEC section 6): a move in the tree may be stopped, its summary given or its
//! instructions changed. Pure.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::EventName;
use super::answer::Fields;
use super::chain::{Occasion, Taken};
use crate::ids::EntryId;
use crate::session::entry::SessionEntry;

/// The summary of a branch that a hook made.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnBranchSummary {
    /// The text, as it is stored.
    pub summary: String,
    /// The hook's own data.
    pub details: Option<Value>,
}

/// The person wants to go somewhere else in the tree.
#[derive(Debug, Clone)]
pub struct BeforeTree {
    /// The selected entry.
    pub target: EntryId,
    /// The leaf that would be left.
    pub old_leaf: Option<EntryId>,
    /// The deepest entry that both ways share.
    pub common_ancestor: Option<EntryId>,
    /// What would be left behind, oldest first.
    pub entries: Vec<Arc<SessionEntry>>,
    /// Whether a summary was asked for.
    pub wants_summary: bool,
    /// Instructions for the summary.
    pub instructions: Option<String>,
    /// Whether they replace the built-in prompt (B4).
    pub replace: bool,
    /// A label for the target or the summary.
    pub label: Option<String>,
    /// A hook's summary. Used only if one was asked for.
    pub summary: Option<OwnBranchSummary>,
    /// Whether a hook changed the instructions.
    pub instructed: bool,
}

impl Occasion for BeforeTree {
    fn event(&self) -> EventName {
        EventName::SessionBeforeTree
    }

    fn data(&self) -> Map<String, Value> {
        let mut preparation = json!({
            "targetId": self.target,
            "oldLeafId": self.old_leaf,
            "commonAncestorId": self.common_ancestor,
            "entriesToSummarize": self.entries.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            "userWantsSummary": self.wants_summary,
        });
        if let Some(instructions) = &self.instructions {
            preparation["customInstructions"] = json!(instructions);
            preparation["replaceInstructions"] = json!(self.replace);
        }
        if let Some(label) = &self.label {
            preparation["label"] = json!(label);
        }
        let mut data = Map::from_iter([("preparation".to_owned(), preparation)]);
        if let Some(OwnBranchSummary { summary, details }) = &self.summary {
            data.insert("summary".to_owned(), json!({"summary": summary, "details": details}));
        }
        data
    }

    fn take(&mut self, _hook: &str, answer: Map<String, Value>) -> Result<Taken, String> {
        let mut answer = Fields::new(answer);
        let summary = match answer.block("summary")? {
            None => None,
            Some(mut block) => {
                let summary = block.filled_text("summary")?;
                let details = block.any("details");
                block.done()?;
                Some(OwnBranchSummary { summary, details })
            }
        };
        let instructions = answer.text("customInstructions")?;
        let replace = answer.flag("replaceInstructions")?;
        let label = answer.text("label")?;
        answer.done()?;
        if summary.is_some() {
            self.summary = summary;
        }
        // Instructions replace the prompt unless something says that they are only a focus (B4).
        let had_instructions = self.instructions.is_some();
        self.instructed |= instructions.is_some() || replace.is_some();
        self.instructions = instructions.or_else(|| self.instructions.take());
        self.replace = replace.unwrap_or(!had_instructions || self.replace);
        self.label = label.or_else(|| self.label.take());
        Ok(Taken::Accepted)
    }

    fn effect(&self) -> Option<String> {
        let mut parts = Vec::new();
        match &self.summary {
            Some(own) if self.wants_summary => {
                parts.push(format!("gives the summary: {}", own.summary));
            }
            Some(_) => parts.push("gives a summary, which nobody asked for".to_owned()),
            None => {}
        }
        if let (true, Some(instructions)) = (self.instructed, &self.instructions) {
            let how = if self.replace { "in place of the prompt" } else { "as a focus" };
            parts.push(format!("instructs the summary {how}: {instructions}"));
        }
        if let Some(label) = &self.label {
            parts.push(format!("label: {label}"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(instructions: Option<&str>) -> BeforeTree {
        BeforeTree {
            target: EntryId::new("t"),
            old_leaf: Some(EntryId::new("l")),
            common_ancestor: None,
            entries: Vec::new(),
            wants_summary: true,
            instructions: instructions.map(Into::into),
            replace: false,
            label: None,
            summary: None,
            instructed: false,
        }
    }

    fn take(before: &mut BeforeTree, answer: Value) -> Result<Taken, String> {
        let Value::Object(fields) = answer else { panic!() };
        before.take("h", fields)
    }

    #[test]
    fn the_event_names_what_is_left_and_what_was_asked_for() {
        let expected = json!({"preparation": {"targetId": "t", "oldLeafId": "l",
            "commonAncestorId": null, "entriesToSummarize": [], "userWantsSummary": true}});
        assert_eq!(Value::Object(before(None).data()), expected);
        let data = before(Some("names")).data();
        assert_eq!(data["preparation"]["customInstructions"], "names");
        assert_eq!(data["preparation"]["replaceInstructions"], false);
    }

    #[test]
    fn b4_instructions_replace_the_prompt_unless_a_focus_was_asked_for() {
        for (had, answer, expected) in [
            (None, json!({"customInstructions": "x"}), ("x", true)),
            (Some("y"), json!({"customInstructions": "x"}), ("x", false)),
            (None, json!({"customInstructions": "x", "replaceInstructions": false}), ("x", false)),
            (Some("y"), json!({"replaceInstructions": true}), ("y", true)),
        ] {
            let mut before = before(had);
            take(&mut before, answer.clone()).unwrap();
            let now = (before.instructions.as_deref().unwrap(), before.replace);
            assert_eq!(now, expected, "{had:?} {answer}");
        }
    }

    #[test]
    fn f81_an_answer_is_taken_whole_or_not_at_all() {
        let mut tried = before(None);
        for answer in [
            json!({"summary": {"summary": ""}, "label": "l"}),
            json!({"summary": "text"}),
            json!({"label": "l", "lable": "m"}),
        ] {
            take(&mut tried, answer).unwrap_err();
        }
        assert!(tried.summary.is_none() && tried.label.is_none());
        take(&mut tried, json!({"summary": {"summary": "S", "details": [1]}, "label": "l"}))
            .unwrap();
        let own = OwnBranchSummary { summary: "S".into(), details: Some(json!([1])) };
        assert_eq!((tried.summary, tried.label.as_deref()), (Some(own), Some("l")));
    }
}
