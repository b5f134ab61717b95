//! Replaces old tool output by a note (SPEC C7, C8; F18, F92, F93): which results, and with what.
//! Pure; rewriting the file is the store's business (C9).

use super::tokens::Estimator;
use crate::message::{Content, ToolResultMessage};
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};

/// What may be pruned, and when it is worth it (C8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunePolicy {
    /// This much of the newest tool output is left alone, in tokens.
    pub protect_tokens: u64,
    /// Nothing is pruned unless this many tokens are saved in all: each pruning costs the prompt
    /// cache (F92).
    pub minimum_savings: u64,
    /// Results of these tools are never pruned.
    pub protected_tools: Vec<String>,
    /// Whether failed calls keep their results: they are short, and their last lines say why (F93).
    pub protect_errors: bool,
}

impl Default for PrunePolicy {
    fn default() -> Self {
        Self {
            protect_tokens: 40_000,
            minimum_savings: 20_000,
            // The last two beyond C8: what was changed must not be forgotten (F93), and such results
            // are short.
            protected_tools: ["skill", "read", "edit", "write"].map(str::to_owned).to_vec(),
            protect_errors: true,
        }
    }
}

/// Which results to prune.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PrunePlan {
    /// The results in path order, each with the estimated tokens that it has now.
    pub results: Vec<(NodeIndex, u32)>,
    /// Tokens that go away, the notes taken into account.
    pub saved: u64,
}

/// Plans a pruning of the results among `nodes`, which are in path order. Pass the entries that are
/// in context: pruning others would save nothing.
#[must_use]
pub fn plan_prune(tree: &SessionTree, nodes: &[NodeIndex], policy: &PrunePolicy) -> PrunePlan {
    let mut plan = PrunePlan::default();
    let mut seen = 0;
    for index in nodes.iter().rev() {
        let node = tree.node(*index);
        let NodeKind::ToolResult { tool, is_error, pruned_at } = &node.kind else { continue };
        let is_protected = seen < policy.protect_tokens
            || pruned_at.is_some()
            || (policy.protect_errors && *is_error)
            || policy.protected_tools.iter().any(|name| **name == **tool);
        seen += u64::from(node.tokens);
        if !is_protected {
            plan.results.push((*index, node.tokens));
            plan.saved += saving(node.tokens);
        }
    }
    if plan.saved < policy.minimum_savings || plan.results.is_empty() {
        return PrunePlan::default();
    }
    plan.results.reverse();
    tracing::debug!(results = plan.results.len(), saved = plan.saved, "tool output is pruned");
    plan
}

/// Tokens that a note in place of a result saves.
fn saving(tokens: u32) -> u64 {
    u64::from(tokens.saturating_sub(Estimator::CharsPerFour.text(&note(tokens))))
}

fn note(tokens: u32) -> String {
    format!("[Output truncated - {tokens} tokens]")
}

/// The result as it stands after pruning; `now` in milliseconds since the Unix epoch.
#[must_use]
pub fn pruned_message(result: &ToolResultMessage, tokens: u32, now: i64) -> ToolResultMessage {
    ToolResultMessage {
        content: Content::from_text(note(tokens)),
        pruned_at: Some(now),
        ..result.clone()
    }
}
