//! From entries of the session to blocks: which are shown, and what a result is shown with.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Block, NodeIndex, NodeKind, Origin};
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::reader::SessionReader;
use crate::session::tree::SessionTree;
use crate::tui::cell::{Cell, Shown, cells_of};

/// Adds the cells of an entry to `made`; a result goes to its call, there or in `calls`.
pub(super) fn add_entry(
    made: &mut Vec<Block>,
    calls: Option<&mut VecDeque<Block>>,
    index: NodeIndex,
    entry: &SessionEntry,
    after: Option<u64>,
) {
    let result = match cells_of(entry, after) {
        Shown::Cells(cells) => {
            let time = Some(entry.timestamp);
            let block = |cell| Block { time, ..Block::new(0, Origin::Entry(index), cell) };
            made.extend(cells.into_iter().map(block));
            return;
        }
        Shown::Result(result) => result,
    };
    let before = calls.into_iter().flat_map(|blocks| blocks.iter_mut().rev());
    let call = made.iter_mut().rev().chain(before).find_map(|block| match &mut block.cell {
        Cell::Tool(tool) if tool.awaits(&result.tool_call_id) => Some((tool, &mut block.look)),
        _ => None,
    });
    if let Some((tool, look)) = call {
        tool.finish(result);
        *look = None;
    }
}

/// Whether an answer speaks of an entry.
pub(super) fn holds(
    entries: &[(NodeIndex, Arc<SessionEntry>)],
    failed: &[(NodeIndex, String)],
    index: NodeIndex,
) -> bool {
    entries.iter().any(|(found, _)| *found == index) || failed.iter().any(|(f, _)| *f == index)
}

/// The entries of the active path that the transcript shows.
pub(super) fn visible_path(tree: &SessionTree) -> Vec<NodeIndex> {
    let mut path = tree.active_path();
    let mut begun = false;
    path.retain(|index| {
        let visible = is_visible(&tree.node(*index).kind, begun);
        begun |= visible;
        visible
    });
    path
}

/// Whether entries of a kind are shown. A change of the model before anything was said is not.
pub(super) const fn is_visible(kind: &NodeKind, begun: bool) -> bool {
    match kind {
        NodeKind::User
        | NodeKind::Assistant(_)
        | NodeKind::ToolResult { .. }
        | NodeKind::BashExecution { .. }
        | NodeKind::BranchSummary { .. }
        | NodeKind::CompactionSummary
        | NodeKind::Compaction { .. } => true,
        NodeKind::Custom { display, .. } => *display,
        NodeKind::ModelChange(_) => begun,
        _ => false,
    }
}

/// Tokens that a compaction left in context: its summary and the kept tail.
pub(super) fn tokens_after(
    reader: &SessionReader,
    index: NodeIndex,
    entry: &SessionEntry,
) -> Option<u64> {
    let EntryBody::Compaction(compaction) = &entry.body else { return None };
    let tree = reader.tree();
    let mut tokens = u64::from(tree.node(index).tokens);
    for above in tree.ancestors(index).skip(1) {
        let node = tree.node(above);
        tokens += u64::from(node.tokens);
        if node.id == compaction.first_kept_entry_id {
            return Some(tokens);
        }
    }
    None
}
