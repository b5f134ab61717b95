//! Which entries the summary of an abandoned branch is made of (SPEC B2, B3). Pure.

use std::collections::HashSet;

use crate::session::tree::{NodeIndex, NodeKind, SessionTree};

/// The entries that a move in the tree leaves behind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchEntries {
    /// From below the common ancestor to the old leaf, oldest first; all kinds of entries.
    pub entries: Vec<NodeIndex>,
    /// The deepest entry that both paths share; `None` when they share none.
    pub common_ancestor: Option<NodeIndex>,
}

/// Collects what moving from `old_leaf` to `target` leaves behind (B2). Compactions do not stop it.
#[must_use]
pub fn collect_entries_for_branch_summary(
    tree: &SessionTree,
    old_leaf: Option<NodeIndex>,
    target: Option<NodeIndex>,
) -> BranchEntries {
    let Some(old_leaf) = old_leaf else { return BranchEntries::default() };
    let above_target: HashSet<_> =
        target.into_iter().flat_map(|target| tree.ancestors(target)).collect();
    let mut found = BranchEntries::default();
    for index in tree.ancestors(old_leaf) {
        if above_target.contains(&index) {
            found.common_ancestor = Some(index);
            break;
        }
        found.entries.push(index);
    }
    found.entries.reverse();
    found
}

/// The entries whose messages a branch summary reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchSelection {
    /// In path order; tool results left out, compactions as the summaries that they are.
    pub messages: Vec<NodeIndex>,
    /// Their estimated tokens.
    pub tokens: u64,
}

/// Selects entries from the newest on until the budget is reached (B3, second pass). A summary that
/// would cross the budget is still taken while less than 90 % of it is used, because it stands for
/// much. A budget of 0 is no limit.
#[must_use]
pub fn prepare_branch_entries(
    tree: &SessionTree,
    entries: &[NodeIndex],
    budget: u64,
) -> BranchSelection {
    let mut selection = BranchSelection::default();
    for index in entries.iter().rev() {
        let node = tree.node(*index);
        if !is_read(&node.kind) {
            continue;
        }
        let tokens = u64::from(node.tokens);
        let crosses = budget > 0 && selection.tokens + tokens > budget;
        let is_summary = matches!(
            node.kind,
            NodeKind::Compaction { .. } | NodeKind::BranchSummary { from: Some(_) }
        );
        let is_taken = !crosses || (is_summary && selection.tokens * 10 < budget * 9);
        if is_taken {
            selection.messages.push(*index);
            selection.tokens += tokens;
        }
        if crosses {
            break;
        }
    }
    selection.messages.reverse();
    selection
}

/// Whether the summary of a branch reads this entry.
const fn is_read(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::ToolResult { .. } => false,
        NodeKind::Compaction { .. } => true,
        kind => kind.bears_message(),
    }
}
