//! What goes into a summary and what comes out: data only (SPEC C14–C20, B2–B4).
//!
//! Shared by the summarisers with a model ([`super::summarizer`]) and without ([`super::extractive`]).

use std::sync::Arc;

use serde_json::Value;

use crate::message::{Message, Usage};

/// Everything that the summary of a compaction is made of.
#[derive(Debug, Clone, Default)]
pub struct CompactionInput {
    /// Messages to summarise, oldest first (C15).
    pub history: Vec<Arc<Message>>,
    /// The split turn's messages before the cut (C14).
    pub turn_prefix: Vec<Arc<Message>>,
    /// The messages that stay; the short summary reads them (C17).
    pub kept: Vec<Arc<Message>>,
    /// The previous compaction's summary.
    pub previous_summary: Option<String>,
    /// `details` of earlier compactions and branch summaries of our own making (C20).
    pub earlier_details: Vec<Value>,
    /// `Additional focus` of the person.
    pub instructions: Option<String>,
    /// A hook's prompt in place of the built-in one.
    pub prompt: Option<String>,
    /// A hook's lines for `<additional-context>`.
    pub hook_context: Vec<String>,
    /// Tokens of what the summary replaces; a summary that is not smaller is a failure (C19).
    pub replaces_tokens: u64,
}

/// Everything that the summary of a branch is made of (B2–B4).
#[derive(Debug, Clone, Default)]
pub struct BranchInput {
    /// Messages within the budget, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// All messages of the branch, for file operations.
    pub all: Vec<Arc<Message>>,
    /// `details` of own summaries on the branch.
    pub earlier_details: Vec<Value>,
    /// The person's words, and whether they replace the prompt or are added as a focus.
    pub instructions: Option<BranchInstructions>,
}

/// See [`BranchInput::instructions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchInstructions {
    /// Added as `Additional focus`.
    Focus(String),
    /// Used in place of the built-in prompt.
    Replace(String),
}

/// A summary that can be stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// The text, file blocks included.
    pub text: String,
    /// One or two sentences for the screen; compactions only.
    pub short: Option<String>,
    /// `{readFiles, modifiedFiles}`.
    pub details: Value,
    /// What the calls used and cost: counts for the bill, never for the gauge (F35).
    pub usage: Usage,
    /// Whether it was made without a model (C22).
    pub extractive: bool,
}

/// The stored text of a compaction: history, and below it the beginning of a split turn (C14).
#[must_use]
pub fn merge_split_turn(
    history: Option<&str>,
    previous: Option<&str>,
    turn_prefix: Option<&str>,
) -> String {
    let history = history.or(previous).unwrap_or("No prior history.").trim();
    match turn_prefix {
        Some(prefix) => {
            format!("{history}\n\n---\n\n**Turn Context (split turn):**\n\n{}", prefix.trim())
        }
        None => history.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c14_a_split_turn_follows_its_history() {
        let merged = "H\n\n---\n\n**Turn Context (split turn):**\n\nP";
        assert_eq!(merge_split_turn(Some("H\n"), Some("old"), Some("P")), merged);
        assert_eq!(merge_split_turn(Some("H"), None, None), "H");
        let kept = merge_split_turn(None, Some("old"), Some("P"));
        assert!(kept.starts_with("old\n\n---"), "the previous summary is not lost: {kept}");
        assert!(merge_split_turn(None, None, Some("P")).starts_with("No prior history.\n\n---"));
    }
}
