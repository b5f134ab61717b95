//! From messages to a summary, with a model or without (SPEC C16–C22, B4).

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
