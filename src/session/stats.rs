//! What a path, and the tree it is in, consist of: figures for `/session` and `doctor` (pure).

use serde::Serialize;

use super::tree::{NodeIndex, NodeKind, SessionTree};
use crate::message::Usage;

/// Counts over one path.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathStats {
    /// Entries of any kind.
    pub entries: usize,
    /// Messages of the person.
    pub user: usize,
    /// Answers of models.
    pub assistant: usize,
    /// Tool calls in these answers.
    pub tool_calls: usize,
    /// Results of tools.
    pub tool_results: usize,
    /// Those of them that are errors.
    pub failed: usize,
    /// Compactions.
    pub compactions: usize,
    /// Summaries of branches that were left.
    pub branch_summaries: usize,
    /// What providers counted for the answers, added up. Summarising calls are not in it: what they
    /// used is in the bodies of their entries.
    pub usage: Usage,
}

/// Counts over a whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeStats {
    /// Entries of any kind.
    pub entries: usize,
    /// Ends of branches.
    pub leaves: usize,
    /// Entries with more than one child, or several roots.
    pub forks: usize,
    /// Entries whose parent is missing.
    pub orphans: usize,
}

impl PathStats {
    /// Counts the path to `leaf`.
    #[must_use]
    pub fn of(tree: &SessionTree, leaf: Option<NodeIndex>) -> Self {
        let mut stats = Self::default();
        for index in leaf.into_iter().flat_map(|leaf| tree.ancestors(leaf)) {
            stats.entries += 1;
            match &tree.node(index).kind {
                NodeKind::User => stats.user += 1,
                NodeKind::Assistant(facts) => {
                    stats.assistant += 1;
                    stats.tool_calls += usize::from(facts.tool_calls);
                    add(&mut stats.usage, &facts.usage);
                }
                NodeKind::ToolResult { is_error, .. } => {
                    stats.tool_results += 1;
                    stats.failed += usize::from(*is_error);
                }
                NodeKind::Compaction { .. } => stats.compactions += 1,
                NodeKind::BranchSummary { .. } => stats.branch_summaries += 1,
                _ => {}
            }
        }
        stats
    }
}

impl TreeStats {
    /// Counts a tree.
    #[must_use]
    pub fn of(tree: &SessionTree) -> Self {
        let mut stats = Self { entries: tree.len(), ..Self::default() };
        stats.forks += usize::from(tree.is_fork(None));
        for (index, _) in tree.nodes() {
            let mut children = tree.children(Some(index));
            match (children.next(), children.next()) {
                (None, _) => stats.leaves += 1,
                (Some(_), Some(_)) => stats.forks += 1,
                (Some(_), None) => {}
            }
            stats.orphans += usize::from(tree.is_orphan(index));
        }
        stats
    }
}

fn add(sum: &mut Usage, usage: &Usage) {
    sum.input += usage.input;
    sum.output += usage.output;
    sum.cache_read += usage.cache_read;
    sum.cache_write += usage.cache_write;
    sum.total_tokens += usage.context_tokens();
    sum.cost.input += usage.cost.input;
    sum.cost.output += usage.cost.output;
    sum.cost.cache_read += usage.cost.cache_read;
    sum.cost.cache_write += usage.cost.cache_write;
    sum.cost.total += usage.cost.total;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EntryId, Timestamp};
    use crate::message::{Cost, StopReason};
    use crate::session::tree::{AnswerFacts, LineSpan, ModelRef, Node};

    fn node(id: &str, kind: NodeKind) -> Node {
        Node {
            id: EntryId::new(id),
            kind,
            timestamp: Timestamp::default(),
            tokens: 0,
            preview: "".into(),
            span: LineSpan::default(),
        }
    }

    #[test]
    fn s9_figures_of_a_path_and_of_its_tree() {
        let usage = Usage {
            input: 2,
            output: 3,
            cost: Cost { total: 0.5, ..Cost::default() },
            ..Usage::default()
        };
        let answer = || {
            NodeKind::Assistant(Box::new(AnswerFacts {
                model: ModelRef::new("p", "m"),
                usage,
                stop: StopReason::Stop,
                tool_calls: 2,
            }))
        };
        let mut tree = SessionTree::new();
        let root = tree.append(node("a", NodeKind::User));
        tree.append(node("b", answer()));
        tree.append(node(
            "c",
            NodeKind::ToolResult { tool: "read".into(), is_error: true, pruned_at: None },
        ));
        let leaf = tree.append(node("d", answer()));
        tree.insert(node("e", NodeKind::User), Some(root));
        let stats = PathStats::of(&tree, Some(leaf));
        assert_eq!((stats.entries, stats.user, stats.assistant, stats.tool_calls), (4, 1, 2, 4));
        assert_eq!((stats.tool_results, stats.failed), (1, 1));
        assert_eq!((stats.usage.total_tokens, stats.usage.cost.total), (10, 1.0));
        let expect = TreeStats { entries: 5, leaves: 2, forks: 1, orphans: 0 };
        assert_eq!(TreeStats::of(&tree), expect);
    }
}
