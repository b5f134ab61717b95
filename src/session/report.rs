//! What fills a model's window (SPEC section 12, `context`): figures for `/context` and for
//! `regrow context --json`. Data only; whoever builds the context fills it in.

use serde::{Deserialize, Serialize};

use crate::ids::Timestamp;

/// The `tokens` part of what `regrow context --json` prints. All figures are tokens unless said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextReport {
    /// Everything that a model would be sent now.
    pub tokens: u64,
    /// Whether `tokens` is an estimate rather than a provider's count.
    pub estimated: bool,
    /// The model's window.
    pub window: u64,
    /// Where the next automatic compaction starts; `None` when it is off.
    pub compacts_at: Option<u64>,
    /// The system prompt without project instructions.
    pub system_prompt: u64,
    /// The descriptions of the tools.
    pub tools: u64,
    /// Project instructions (X5).
    pub instructions: u64,
    /// The summary that the newest compaction left; `None` without one.
    pub summary: Option<SummaryShare>,
    /// What the newest compaction kept verbatim.
    pub kept_tail: Share,
    /// What came after it; everything when there was no compaction.
    pub since: Share,
    /// The largest messages, largest first, each with a name such as `bash "cargo test"`.
    pub largest: Vec<(String, u64)>,
    /// How much of the last request the provider read from its cache; `None` before a request.
    pub cached: Option<u64>,
}

/// A number of entries and what they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Share {
    /// Tokens.
    pub tokens: u64,
    /// Entries that bear a message.
    pub entries: usize,
}

/// See [`ContextReport::summary`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummaryShare {
    /// Tokens of the summary.
    pub tokens: u64,
    /// Entries of the path that it stands for.
    pub entries: usize,
    /// When the compaction was made.
    pub made: Timestamp,
}
