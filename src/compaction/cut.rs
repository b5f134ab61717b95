//! Where a compaction stops summarising and starts keeping (SPEC C12–C14). Pure; looks at nodes only.

use crate::session::tree::{NodeIndex, NodeKind, SessionTree};

/// A place to cut, as positions in the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The kept tail begins here; metadata before the first kept message is part of it (C13).
    pub first_kept: usize,
    /// Where the split turn begins.
    pub turn_start: Option<usize>,
    /// Whether the cut goes through a turn (C14).
    pub is_split_turn: bool,
}

/// What is weighed on the way back from the newest message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weigh {
    /// Messages, as the other readers of the format do.
    Messages,
    /// Whatever a model sees: `custom_message` and `branch_summary` entries too.
    All,
}

/// Finds the cut in `path[start..end]` that keeps at least `keep_recent` tokens of the newest
/// messages, as far as there are that many (C12). `None` when nothing can be cut there.
#[must_use]
pub fn find_cut_point(
    tree: &SessionTree,
    path: &[NodeIndex],
    start: usize,
    end: usize,
    keep_recent: u64,
) -> Option<Cut> {
    find_cut(tree, path, start, end, keep_recent, Weigh::Messages)
}

pub(super) fn find_cut(
    tree: &SessionTree,
    path: &[NodeIndex],
    start: usize,
    end: usize,
    keep_recent: u64,
    weigh: Weigh,
) -> Option<Cut> {
    let cuts = valid_cuts(tree, path, start, end);
    let (first, last) = (*cuts.first()?, *cuts.last()?);
    let mut sum = 0;
    let reached = (start..end).rev().find(|position| {
        let node = tree.node(path[*position]);
        let counts = match weigh {
            Weigh::Messages => is_message_entry(&node.kind),
            Weigh::All => node.kind.bears_message(),
        };
        if counts {
            sum += u64::from(node.tokens);
        }
        counts && sum >= keep_recent
    });
    let cut = match reached {
        None => first,
        Some(reached) => {
            cuts.get(cuts.partition_point(|cut| *cut < reached)).copied().unwrap_or(last)
        }
    };
    Some(cut_at(tree, path, start, cut))
}

/// The cut before the message at `position`: metadata directly before it is kept as well (C13), and
/// the first kept message decides whether a turn is split (C14).
pub(super) fn cut_at(tree: &SessionTree, path: &[NodeIndex], start: usize, position: usize) -> Cut {
    let kind = |position: usize| &tree.node(path[position]).kind;
    let mut first_kept = position;
    while first_kept > start
        && !is_message_entry(kind(first_kept - 1))
        && !matches!(kind(first_kept - 1), NodeKind::Compaction { .. })
    {
        first_kept -= 1;
    }
    let first_message = (first_kept..=position)
        .find(|position| kind(*position).bears_message())
        .unwrap_or(position);
    let turn_start = if kind(first_message).starts_turn() {
        None
    } else {
        (start..first_kept).rev().find(|position| kind(*position).starts_turn())
    };
    Cut { first_kept, turn_start, is_split_turn: turn_start.is_some() }
}

/// Positions before which a cut tears nothing apart, in order: before any message but a tool result,
/// and never between a call and its results (C12, F20).
pub(super) fn valid_cuts(
    tree: &SessionTree,
    path: &[NodeIndex],
    start: usize,
    end: usize,
) -> Vec<usize> {
    let mut cuts = Vec::new();
    // Cuts from here on in the list lie after calls whose results may still follow.
    let mut after_calls = calls_before(tree, path, start).then_some(0);
    for (position, index) in path.iter().enumerate().take(end).skip(start) {
        match &tree.node(*index).kind {
            NodeKind::ToolResult { .. } => {
                if let Some(kept) = after_calls {
                    cuts.truncate(kept);
                }
            }
            NodeKind::Assistant(answer) => {
                cuts.push(position);
                after_calls = (answer.tool_calls > 0).then_some(cuts.len());
            }
            kind if kind.bears_message() => cuts.push(position),
            _ => {}
        }
    }
    cuts
}

/// Whether the last answer before `start` has calls, so that results at `start` belong to it: a
/// compaction may stand between them in files of other programs (F19).
fn calls_before(tree: &SessionTree, path: &[NodeIndex], start: usize) -> bool {
    path[..start].iter().rev().find_map(|index| match &tree.node(*index).kind {
        NodeKind::Assistant(answer) => Some(answer.tool_calls > 0),
        _ => None,
    }) == Some(true)
}

/// Whether the entry is of type `message`, rather than a message-bearing entry of a type of its own.
const fn is_message_entry(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::Custom { entry, .. } => !*entry,
        NodeKind::BranchSummary { from } => from.is_none(),
        NodeKind::OtherMessage => true,
        kind => kind.bears_message(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::tree;
    use super::*;

    /// `expect`: first kept entry, start of the split turn.
    #[track_caller]
    fn check(line: &str, keep_recent: u64, expect: Option<(usize, Option<usize>)>) {
        let tree = tree(line);
        let path = tree.active_path();
        let cut = find_cut_point(&tree, &path, 0, path.len(), keep_recent);
        assert_eq!(cut.map(|cut| (cut.first_kept, cut.turn_start)), expect, "{line}");
        assert!(cut.is_none_or(|cut| cut.is_split_turn == cut.turn_start.is_some()));
    }

    #[test]
    fn c12_the_cut_is_at_or_after_the_message_that_reaches_the_sum() {
        let line = "u100 a100 u100 a100 u5";
        check(line, 1, Some((4, None)));
        check(line, 6, Some((3, Some(2))));
        check(line, 200, Some((2, None)));
        check(line, 10_000, Some((0, None)));
    }

    #[test]
    fn c12_never_at_a_tool_result() {
        check("u10 a10/1 r50 a10", 20, Some((3, Some(0))));
        check("r50 r50", 1, None);
        check("", 1, None);
    }

    #[test]
    fn c12_a_huge_trailing_result_is_kept_with_its_call() {
        check("u10 a10 u10 a10/1 r9000", 20, Some((3, Some(2))));
    }

    #[test]
    fn c12_f20_never_between_a_call_and_its_results() {
        // A message that the person typed while the tools ran.
        check("u10 a10 u10 a10/2 r10 u10 r10", 15, Some((3, Some(2))));
        check("u10 a10 u10 a10/2 r10 u10 r10 a10", 15, Some((7, Some(5))));
        // Results without a call of their own tear nothing.
        check("u10 a10 u10 r10", 15, Some((2, None)));
    }

    #[test]
    fn f19_results_of_a_call_before_the_window_are_not_torn_from_what_is_between() {
        let tree = tree("u10 a10/1 c5@0 u10 r10 u10");
        let path = tree.active_path();
        let cut = find_cut_point(&tree, &path, 3, path.len(), 12).unwrap();
        assert_eq!(cut.first_kept, 5);
    }

    #[test]
    fn c13_metadata_before_the_cut_is_kept() {
        check("u10 a10 m l u10 a10", 20, Some((2, None)));
        check("u10 a10 x10 u10 a10", 20, Some((2, None)));
        check("u10 a10/1 r10 l a10", 10, Some((3, Some(0))));
    }

    #[test]
    fn c14_a_cut_on_a_turn_start_splits_nothing() {
        check("u10 a10 b10 a10", 15, Some((2, None)));
        check("u10 a10 s10 a10", 10, Some((2, None)));
        check("u10 a10 x10 a10 a10", 10, Some((4, Some(2))));
    }
}
