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

#[cfg(test)]
mod tests {
    use super::super::sketch::{extend, numbers, tree};
    use super::*;

    const fn at(position: usize) -> Option<NodeIndex> {
        Some(NodeIndex::new(position))
    }

    #[test]
    fn b2_from_the_old_leaf_back_to_below_the_common_ancestor() {
        // 0 - 1 - 2 - 3 - 4 with 5 - 6 below 1.
        let mut tree = tree("u1 a1 u1 c1@1 a1");
        tree.set_leaf(at(1));
        extend(&mut tree, "u1 a1");
        let check = |old, target, entries: &[usize], ancestor| {
            let found = collect_entries_for_branch_summary(&tree, old, target);
            assert_eq!(numbers(&found.entries), entries);
            assert_eq!(found.common_ancestor, ancestor);
        };
        check(at(4), at(6), &[2, 3, 4], at(1));
        check(at(4), at(2), &[3, 4], at(2));
        check(at(2), at(4), &[], at(2));
        check(at(4), at(4), &[], at(4));
        check(at(4), None, &[0, 1, 2, 3, 4], None);
        check(None, at(4), &[], None);
    }

    #[test]
    fn b3_newest_first_within_the_budget_without_tool_results() {
        let tree = tree("u100 a50/1 r900 a50 l u10 a40");
        let select = |budget| {
            let selection = prepare_branch_entries(&tree, &tree.active_path(), budget);
            (numbers(&selection.messages), selection.tokens)
        };
        assert_eq!(select(100), (vec![3, 5, 6], 100));
        assert_eq!(select(149), (vec![3, 5, 6], 100));
        assert_eq!(select(0), (vec![0, 1, 3, 5, 6], 250));
    }

    #[test]
    fn b3_a_summary_may_cross_the_budget_while_little_of_it_is_used() {
        let tree = tree("u10 c300@0 u50 a40");
        let select =
            |budget| numbers(&prepare_branch_entries(&tree, &tree.active_path(), budget).messages);
        assert_eq!(select(101), [1, 2, 3]);
        assert_eq!(select(100), [2, 3]);
        assert_eq!(select(390), [1, 2, 3]);
    }
}
