//! A session case as a tree.

use regrow::compaction::tokens::Estimator;
use regrow::ids::EntryId;
use regrow::session::describe::describe;
use regrow::session::entry::SessionEntry;
use regrow::session::tree::{LineSpan, NodeIndex, NodeKind, SessionTree};
use serde_json::Value;

/// The tree of a case, estimated as the systems of the seeds do, and the path to its leaf.
pub(super) struct Scene {
    pub(super) name: String,
    pub(super) tags: Vec<String>,
    pub(super) tree: SessionTree,
    pub(super) path: Vec<NodeIndex>,
}

impl Scene {
    pub(super) fn of(case: &Value) -> Self {
        let mut tree = SessionTree::new();
        for entry in case["input"]["entries"].as_array().unwrap() {
            let entry: SessionEntry = serde_json::from_value(entry.clone()).unwrap();
            let parent = entry.parent_id.as_ref().and_then(|id| tree.find(id));
            tree.insert(describe(&entry, Estimator::CharsPerFour, LineSpan::default()), parent);
        }
        let leaf = find(&tree, &case["input"]["leafId"]);
        tree.set_leaf(leaf);
        let texts =
            |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        Self {
            name: text(&case["name"]),
            tags: texts(&case["tags"]),
            path: tree.active_path(),
            tree,
        }
    }

    pub(super) fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| own == tag)
    }

    /// Row 7: where the expected figures take custom messages for nothing, so does the comparison.
    pub(super) fn forget_custom_tokens(&mut self) {
        for position in 0..self.tree.len() {
            let node = self.tree.node_mut(NodeIndex::new(position));
            if matches!(node.kind, NodeKind::Custom { .. }) {
                node.tokens = 0;
            }
        }
    }

    pub(super) fn find(&self, id: &Value) -> Option<NodeIndex> {
        find(&self.tree, id)
    }

    pub(super) fn id(&self, index: NodeIndex) -> String {
        self.tree.node(index).id.to_string()
    }

    pub(super) fn ids(&self, nodes: &[NodeIndex]) -> Vec<String> {
        nodes.iter().map(|index| self.id(*index)).collect()
    }
}

fn find(tree: &SessionTree, id: &Value) -> Option<NodeIndex> {
    tree.find(&EntryId::new(id.as_str()?))
}

/// A JSON string's text; empty for anything else.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A list of JSON strings.
pub(super) fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}
