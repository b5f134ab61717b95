//! Which entries have a row of their own, and what can be told of an entry from its neighbours
//! without its body. Pure.

use super::outline::{Outline, is_metadata};
use crate::session::tree::{Node, NodeIndex, NodeKind, SessionTree};

/// Which entries have a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// All that was said and done.
    #[default]
    Default,
    /// As the default, without tool calls.
    NoTools,
    /// What the person said.
    UserOnly,
    /// Entries with a label.
    Labelled,
    /// Every entry of the file.
    All,
}

impl Filter {
    /// The filter that `f` goes on to.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Default => Self::NoTools,
            Self::NoTools => Self::UserOnly,
            Self::UserOnly => Self::Labelled,
            Self::Labelled => Self::All,
            Self::All => Self::Default,
        }
    }

    /// Its name on the screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::NoTools => "no tools",
            Self::UserOnly => "user only",
            Self::Labelled => "labelled",
            Self::All => "all",
        }
    }

    /// Its bit in [`visibility`].
    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// By entry: the filters that show it, as bits. Decided once per tree, so that another filter costs no
/// look at the entries themselves.
pub(super) fn visibility(tree: &SessionTree, outline: &Outline) -> Vec<u8> {
    let of_entry = |(index, node): (NodeIndex, &Node)| {
        let mut shown = Filter::All.bit();
        if matches!(node.kind, NodeKind::User) {
            shown |= Filter::UserOnly.bit();
        }
        if tree.label(index).is_some() {
            shown |= Filter::Labelled.bit();
        }
        let is_shown = !is_metadata(&node.kind)
            && !hides_behind_calls(tree, outline, index)
            && !titles_a_branch(tree, outline, index);
        if is_shown {
            shown |= Filter::Default.bit();
        }
        if is_shown && !matches!(node.kind, NodeKind::ToolResult { .. }) {
            shown |= Filter::NoTools.bit();
        }
        shown
    };
    tree.nodes().map(of_entry).collect()
}

/// Whether an entry is the summary of another branch, and so has its row there as that branch's
/// title (B5). It keeps its own row while it is the end of its branch.
fn titles_a_branch(tree: &SessionTree, outline: &Outline, index: NodeIndex) -> bool {
    leaf_left(tree, index).is_some_and(|left| !outline.is_above(left, index))
        && outline.size(index).entries > 1
        && outline.leaf() != Some(index)
        && tree.label(index).is_none()
        && !tree.is_fork(Some(index))
}

/// Whether an answer said nothing but its tool calls, so that the rows of their results say it all.
fn hides_behind_calls(tree: &SessionTree, outline: &Outline, index: NodeIndex) -> bool {
    only_calls(tree, index).is_some()
        && outline.leaf() != Some(index)
        && tree.label(index).is_none()
        && !tree.is_fork(Some(index))
}

/// What the first call of an answer without text is about, if it is such an answer and its first
/// result is there: the preview of such an answer is its call, name first.
#[must_use]
pub fn only_calls(tree: &SessionTree, answer: NodeIndex) -> Option<&str> {
    let NodeKind::Assistant(facts) = &tree.node(answer).kind else { return None };
    if facts.tool_calls == 0 {
        return None;
    }
    let result = tree.children(Some(answer)).next()?;
    let NodeKind::ToolResult { tool, .. } = &tree.node(result).kind else { return None };
    let subject = tree.node(answer).preview.strip_prefix(&**tool)?;
    (subject.is_empty() || subject.starts_with(' ')).then(|| subject.trim_start())
}

/// The leaf that was left when a branch summary was made. Other programs of the format write the new
/// leaf into `fromId`; there the leaf that was left is the entry before the summary in the file.
#[must_use]
pub fn leaf_left(tree: &SessionTree, summary: NodeIndex) -> Option<NodeIndex> {
    let NodeKind::BranchSummary { from: Some(from) } = &tree.node(summary).kind else {
        return None;
    };
    let from = tree.find(from);
    if from.is_some() && from != tree.parent(summary) {
        return from;
    }
    summary.get().checked_sub(1).map(NodeIndex::new)
}
