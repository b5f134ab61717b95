//! What a compaction would do, decided on the tree alone (SPEC C10–C15).

use crate::session::tree::NodeIndex;

/// Which entries a compaction summarises and which it keeps. Nodes of one path, in path order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionPlan {
    /// The leaf that the plan was made for; when it is another one later, the plan is void (C23).
    pub leaf: NodeIndex,
    /// The kept tail begins here.
    pub first_kept: NodeIndex,
    /// Whether the cut goes through a turn (C14).
    pub is_split_turn: bool,
    /// Message-bearing entries to be summarised, what the previous compaction had kept included (C15).
    pub summarize: Vec<NodeIndex>,
    /// Message-bearing entries of the split turn before the cut.
    pub turn_prefix: Vec<NodeIndex>,
    /// Entries from `first_kept` on.
    pub kept: Vec<NodeIndex>,
    /// The compaction before this one.
    pub previous: Option<NodeIndex>,
    /// Tokens in context now (C5).
    pub tokens_before: u64,
    /// Tokens of recent messages that were asked to stay, after C4 and C11.
    pub keep_recent_tokens: u64,
}

/// Why there is nothing to compact (C10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NothingToCompact {
    /// The path ends in a compaction.
    #[error("Already compacted")]
    AlreadyCompacted,
    /// Nothing to summarise, or no valid cut point.
    #[error("Nothing to compact")]
    Nothing,
}
