//! Which entries of a path reach a model, and in what order (SPEC X1, X2). Decided on the tree alone;
//! bodies are read afterwards, for the entries named here and no others.

use std::sync::Arc;

use super::tree::{ModelRef, NodeIndex, NodeKind, SessionTree};

/// The model's view of a path, as entries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextOutline {
    /// Message-bearing entries in the order in which their messages are sent; the compaction, when
    /// there is one, comes first.
    pub nodes: Vec<NodeIndex>,
    /// The newest compaction of the path.
    pub compaction: Option<NodeIndex>,
    /// Where in `nodes` the entries begin that came after the compaction; before them are the
    /// compaction and what it kept. 0 without a compaction.
    pub after_compaction: usize,
    /// The compaction names a first kept entry that is not on the path before it: nothing before the
    /// compaction is kept (X1), and the person should know.
    pub first_kept_missing: bool,
    /// The model that the path was last worked on with.
    pub model: Option<ModelRef>,
    /// The thinking level that the path last asked for.
    pub thinking: Option<Arc<str>>,
}

/// Builds the outline of what a model sees at `leaf` (X1).
#[must_use]
pub fn build_session_context(tree: &SessionTree, leaf: Option<NodeIndex>) -> ContextOutline {
    let path = tree.path(leaf);
    let mut outline = ContextOutline::default();
    let mut newest = None;
    for (position, index) in path.iter().enumerate() {
        match &tree.node(*index).kind {
            NodeKind::Compaction { .. } => newest = Some(position),
            NodeKind::ModelChange(model) => outline.model = Some(model.clone()),
            NodeKind::Assistant(facts) if !facts.model.id.is_empty() => {
                outline.model = Some(facts.model.clone());
            }
            NodeKind::ThinkingLevelChange(level) => outline.thinking = Some(level.clone()),
            _ => {}
        }
    }
    let bears = |index: &&NodeIndex| tree.node(**index).kind.bears_message();
    let Some(position) = newest else {
        outline.nodes = path.iter().filter(bears).copied().collect();
        return outline;
    };
    let compaction = path[position];
    outline.compaction = Some(compaction);
    outline.nodes.push(compaction);
    let first_kept = match &tree.node(compaction).kind {
        NodeKind::Compaction { first_kept, .. } => {
            path[..position].iter().position(|index| tree.node(*index).id == *first_kept)
        }
        _ => None,
    };
    outline.first_kept_missing = first_kept.is_none();
    let kept = &path[first_kept.unwrap_or(position)..position];
    outline.nodes.extend(kept.iter().filter(bears));
    outline.after_compaction = outline.nodes.len();
    outline.nodes.extend(path[position + 1..].iter().filter(bears));
    outline
}
