//! A session case as a tree with its messages.

use std::sync::Arc;

use regrow::compaction::tokens::Estimator;
use regrow::ids::EntryId;
use regrow::message::{BranchSummaryMessage, CompactionSummaryMessage, CustomMessage, Message};
use regrow::session::describe::describe;
use regrow::session::entry::{EntryBody, SessionEntry};
use regrow::session::tree::{LineSpan, NodeIndex, NodeKind, SessionTree};
use serde_json::Value;

pub(super) struct Scene {
    pub(super) name: String,
    tags: Vec<String>,
    entries: Vec<SessionEntry>,
    pub(super) tree: SessionTree,
    pub(super) path: Vec<NodeIndex>,
}

impl Scene {
    pub(super) fn of(case: &Value) -> Self {
        let mut tree = SessionTree::new();
        let mut entries = Vec::new();
        for entry in case["input"]["entries"].as_array().unwrap() {
            let entry: SessionEntry = serde_json::from_value(entry.clone()).unwrap();
            let parent = entry.parent_id.as_ref().and_then(|id| tree.find(id));
            let mut node = describe(&entry, Estimator::CharsPerFour, LineSpan::default());
            // Row 7: the expected cuts take custom messages for nothing.
            if matches!(node.kind, NodeKind::Custom { .. }) {
                node.tokens = 0;
            }
            tree.insert(node, parent);
            entries.push(entry);
        }
        let leaf = case["input"]["leafId"].as_str().and_then(|id| tree.find(&EntryId::new(id)));
        tree.set_leaf(leaf);
        let tags = case["tags"].as_array().into_iter().flatten();
        Self {
            name: case["name"].as_str().unwrap().to_owned(),
            tags: tags.filter_map(Value::as_str).map(str::to_owned).collect(),
            entries,
            path: tree.active_path(),
            tree,
        }
    }

    pub(super) fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| own == tag)
    }

    pub(super) fn entry(&self, index: NodeIndex) -> &SessionEntry {
        let id = &self.tree.node(index).id;
        self.entries.iter().find(|entry| entry.id == *id).unwrap()
    }

    pub(super) fn by_id(&self, id: &Value) -> Option<NodeIndex> {
        self.tree.find(&EntryId::new(id.as_str()?))
    }

    /// The messages of nodes; nodes that give none are left out.
    pub(super) fn messages(&self, nodes: &[NodeIndex]) -> Vec<Arc<Message>> {
        nodes.iter().filter_map(|index| message_of(self.entry(*index)).map(Arc::new)).collect()
    }

    /// `details` of summaries that were not an extension's (C20).
    pub(super) fn own_details(&self, nodes: &[NodeIndex]) -> Vec<Value> {
        nodes
            .iter()
            .filter_map(|index| match &self.entry(*index).body {
                EntryBody::Compaction(entry) if entry.from_extension != Some(true) => {
                    entry.details.clone()
                }
                EntryBody::BranchSummary(entry) if entry.from_extension != Some(true) => {
                    entry.details.clone()
                }
                _ => None,
            })
            .collect()
    }
}

fn message_of(entry: &SessionEntry) -> Option<Message> {
    match entry.body.clone() {
        EntryBody::Message { message } => Some(message),
        EntryBody::Compaction(entry) => {
            Some(Message::CompactionSummary(CompactionSummaryMessage {
                summary: entry.summary,
                ..CompactionSummaryMessage::default()
            }))
        }
        EntryBody::BranchSummary(entry) if !entry.summary.is_empty() => {
            Some(Message::BranchSummary(BranchSummaryMessage {
                summary: entry.summary,
                from_id: entry.from_id,
                timestamp: 0,
            }))
        }
        EntryBody::CustomMessage { content, .. } => {
            Some(Message::Custom(CustomMessage { content, ..CustomMessage::default() }))
        }
        _ => None,
    }
}
