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
        tracing::debug!(entry = %node.id, tool = %tool, tokens = node.tokens, is_protected, "prunable?");
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

#[cfg(test)]
mod tests {
    use super::super::sketch::{numbers, tree};
    use super::*;
    use crate::message::Image;

    fn policy(protect_tokens: u64, minimum_savings: u64) -> PrunePolicy {
        PrunePolicy { protect_tokens, minimum_savings, ..PrunePolicy::default() }
    }

    #[test]
    fn c8_the_newest_output_is_protected_and_little_is_not_worth_it() {
        let tree = tree("u1 a1/1 r30000 a1/1 r20000 a1/1 r40000 u1");
        let prune = |policy: &PrunePolicy| plan_prune(&tree, &tree.active_path(), policy);
        let plan = prune(&PrunePolicy::default());
        assert_eq!(
            numbers(&plan.results.iter().map(|(index, _)| *index).collect::<Vec<_>>()),
            [2, 4]
        );
        assert!(plan.saved > 49_900 && plan.saved < 50_000, "{}", plan.saved);
        assert_eq!(prune(&policy(40_000, 50_000)), PrunePlan::default());
        assert_eq!(prune(&policy(60_000, 0)).results.len(), 1);
        assert_eq!(prune(&policy(90_000, 0)), PrunePlan::default());
    }

    #[test]
    fn c8_f93_protected_tools_errors_and_pruned_results_stay() {
        let mut tree = tree("u1 a1/4 r30000 r30000 r30000 r30000 r30000 r50000");
        let kind = |tool: &str, is_error, pruned: Option<i64>| NodeKind::ToolResult {
            tool: tool.into(),
            is_error,
            pruned_at: pruned.map(crate::ids::Timestamp::from_millis),
        };
        let others = [
            kind("read", false, None),
            kind("edit", false, None),
            kind("bash", true, None),
            kind("bash", false, Some(1)),
        ];
        for (position, other) in others.into_iter().enumerate() {
            tree.node_mut(NodeIndex::new(position + 2)).kind = other;
        }
        let plan = plan_prune(&tree, &tree.active_path(), &PrunePolicy::default());
        assert_eq!(plan.results, [(NodeIndex::new(6), 30_000)]);
    }

    #[test]
    fn c8_a_note_that_is_no_shorter_saves_nothing() {
        let tree = tree("u1 a1/2 r3 r9");
        let plan = plan_prune(&tree, &tree.active_path(), &policy(0, 0));
        assert_eq!((plan.results.len(), plan.saved), (2, 1));
    }

    #[test]
    fn c8_a_pruned_result_says_what_was_there_and_keeps_its_call() {
        let result = ToolResultMessage {
            tool_call_id: "c1".into(),
            tool_name: "bash".into(),
            content: Content::Blocks(vec![crate::message::Block::Image(Image::default())]),
            is_error: true,
            timestamp: 7,
            ..ToolResultMessage::default()
        };
        let pruned = pruned_message(&result, 1_234, 99);
        assert_eq!(pruned.content, Content::from_text("[Output truncated - 1234 tokens]"));
        assert_eq!(pruned.pruned_at, Some(99));
        let restored =
            ToolResultMessage { content: result.content.clone(), pruned_at: None, ..pruned };
        assert_eq!(restored, result);
    }
}
