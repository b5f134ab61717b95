//! The session tree: every entry as a small node in one flat array (I1, I10).
//!
//! A node holds what deciding and drawing need (kind, tokens, preview, where its line is), never the
//! body. The tree knows no files: `session::store` builds it from a scan and reads bodies on demand.
//! Nothing here is recursive, and appending costs the same at any size.
//!
//! Invariant: a node's parent has been checked not to lie below the node, so every walk towards the
//! root ends.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::{EntryId, Timestamp};
use crate::message::{StopReason, Usage};

/// Position of a node in its tree: entries in file order, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIndex(u32);

impl NodeIndex {
    /// The position as a number.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0 as usize
    }

    /// From a position.
    #[must_use]
    pub const fn new(position: usize) -> Self {
        Self(position as u32)
    }
}

/// Where the line of an entry is, `\n` left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineSpan {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

/// What an entry is, with the facts that can be decided on without its body.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// A user message.
    User,
    /// A model's answer.
    Assistant(Box<AnswerFacts>),
    /// A tool's result.
    ToolResult {
        /// The tool's name.
        tool: Arc<str>,
        /// Whether the call failed.
        is_error: bool,
        /// When pruning replaced its content (C8); usage counted before that is stale.
        pruned_at: Option<Timestamp>,
    },
    /// A `!` or `!!` command.
    BashExecution {
        /// `!!`: not in context.
        excluded: bool,
    },
    /// A `custom` or `hookMessage` message, or a `custom_message` entry.
    Custom {
        /// Whether it is an entry of its own (`custom_message`) rather than a message.
        entry: bool,
        /// Whether the transcript shows it.
        display: bool,
    },
    /// A `branchSummary` message (old files) or a `branch_summary` entry.
    BranchSummary {
        /// The leaf that was left, as the file has it; `None` when it is a message.
        from: Option<EntryId>,
    },
    /// A `compactionSummary` message (old files).
    CompactionSummary,
    /// A message of another role; in no model's context.
    OtherMessage,
    /// Another model from here on.
    ModelChange(ModelRef),
    /// Another thinking level from here on.
    ThinkingLevelChange(Arc<str>),
    /// A compaction.
    Compaction {
        /// Where the kept tail begins, as the file has it.
        first_kept: EntryId,
        /// Tokens in context before.
        tokens_before: u64,
    },
    /// The mark of a moved leaf (J6).
    LeafMark,
    /// An extension's data.
    CustomData,
    /// A name for another entry.
    Label {
        /// The named entry, as the file has it.
        target: EntryId,
        /// The name; `None` takes it away.
        label: Option<Arc<str>>,
    },
    /// A name for the session.
    SessionInfo {
        /// The name; `None` takes it away.
        name: Option<Arc<str>>,
    },
    /// A kind that this version does not know.
    Unknown,
}

impl NodeKind {
    /// Whether the entry gives the model a message (X1, X2), `!!` commands included.
    #[must_use]
    pub const fn bears_message(&self) -> bool {
        matches!(
            self,
            Self::User
                | Self::Assistant(_)
                | Self::ToolResult { .. }
                | Self::BashExecution { .. }
                | Self::Custom { .. }
                | Self::BranchSummary { .. }
                | Self::CompactionSummary
        )
    }

    /// Whether a turn begins here (SPEC section 1).
    #[must_use]
    pub const fn starts_turn(&self) -> bool {
        match self {
            Self::User | Self::BashExecution { .. } => true,
            Self::Custom { entry, .. } => *entry,
            Self::BranchSummary { from } => from.is_some(),
            _ => false,
        }
    }
}

/// What can be known of an assistant message without its body.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerFacts {
    /// Who answered.
    pub model: ModelRef,
    /// What the provider counted.
    pub usage: Usage,
    /// Why it ended.
    pub stop: StopReason,
    /// How many tool calls it has.
    pub tool_calls: u16,
}

impl AnswerFacts {
    /// Whether the answer ended as it should, so that its usage can be trusted (C5).
    #[must_use]
    pub const fn succeeded(&self) -> bool {
        !matches!(self.stop, StopReason::Error | StopReason::Aborted)
    }
}

/// A model, named by its provider and its id there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRef {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model's id at that provider.
    pub id: Arc<str>,
}

impl ModelRef {
    /// Names a model.
    pub fn new(provider: impl AsRef<str>, id: impl AsRef<str>) -> Self {
        Self { provider: Arc::from(provider.as_ref()), id: Arc::from(id.as_ref()) }
    }
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)
    }
}

/// One entry, small enough to keep a hundred thousand of them in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The entry's id.
    pub id: EntryId,
    /// What it is.
    pub kind: NodeKind,
    /// When it was appended.
    pub timestamp: Timestamp,
    /// Estimated tokens of its message; 0 when it bears none (S12).
    pub tokens: u32,
    /// The first characters of what it says, on one line, for lists and the tree.
    pub preview: Box<str>,
    /// Where its line is.
    pub span: LineSpan,
}

/// How a node hangs in the tree.
#[derive(Debug, Clone, Copy, Default)]
struct Links {
    parent: Option<NodeIndex>,
    first_child: Option<NodeIndex>,
    last_child: Option<NodeIndex>,
    next_sibling: Option<NodeIndex>,
    /// Its `parentId` named an entry that is not there, or that lies below it (F91).
    orphan: bool,
}

/// What is known of an entry's parent when a file has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// It has none: a root.
    None,
    /// It is this entry.
    Entry(NodeIndex),
    /// It named one that is not there, or that lies below it: a root with a mark.
    Lost,
}

impl Parent {
    const fn known(self) -> Option<NodeIndex> {
        match self {
            Self::Entry(index) => Some(index),
            Self::None | Self::Lost => None,
        }
    }
}

/// Cuts each circle of parents at its last entry.
fn break_circles(parents: &mut [Parent]) {
    // The walk that came by first; walks are numbered by the entry that they begin at, from 1.
    let mut seen = vec![0_u32; parents.len()];
    for start in 0..parents.len() {
        let walk = start as u32 + 1;
        let mut here = start;
        while seen[here] == 0 {
            seen[here] = walk;
            let Parent::Entry(above) = parents[here] else { break };
            here = above.get();
        }
        if seen[here] != walk || parents[here].known().is_none() {
            continue;
        }
        let circle = std::iter::successors(parents[here].known(), |above| {
            (above.get() != here).then(|| parents[above.get()].known()).flatten()
        });
        let last = circle.map(NodeIndex::get).max().unwrap_or(here);
        parents[last] = Parent::Lost;
    }
}

/// The tree and its leaf. One writer (the session), many readers.
#[derive(Debug, Clone, Default)]
pub struct SessionTree {
    nodes: Vec<Node>,
    links: Vec<Links>,
    by_id: HashMap<EntryId, NodeIndex>,
    first_root: Option<NodeIndex>,
    last_root: Option<NodeIndex>,
    leaf: Option<NodeIndex>,
    labels: HashMap<NodeIndex, Arc<str>>,
    name: Option<Arc<str>>,
}

impl SessionTree {
    /// A tree without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A tree of entries in file order, whose leaf is the last of them (J6).
    ///
    /// A parent may come later in the file than its child, or be lost. Where parents form a circle,
    /// the last entry of the circle becomes a root (F91).
    #[must_use]
    pub fn from_entries(nodes: Vec<Node>, mut parents: Vec<Parent>) -> Self {
        break_circles(&mut parents);
        let mut tree = Self {
            links: vec![Links::default(); nodes.len()],
            by_id: HashMap::with_capacity(nodes.len()),
            leaf: nodes.len().checked_sub(1).map(NodeIndex::new),
            nodes,
            ..Self::default()
        };
        for (position, parent) in parents.into_iter().enumerate() {
            let index = NodeIndex::new(position);
            tree.by_id.entry(tree.nodes[position].id.clone()).or_insert(index);
            tree.links[position].orphan = parent == Parent::Lost;
            tree.attach(index, parent.known());
        }
        tree.relabel();
        tree.name = tree
            .nodes
            .iter()
            .rev()
            .find_map(|node| match &node.kind {
                NodeKind::SessionInfo { name } => Some(name.clone()),
                _ => None,
            })
            .flatten();
        tree
    }

    /// Adds an entry below `parent` without moving the leaf.
    ///
    /// A second entry with an id that is taken is kept as a node, but only the first is found by
    /// that id.
    pub fn insert(&mut self, node: Node, parent: Option<NodeIndex>) -> NodeIndex {
        let index = NodeIndex::new(self.nodes.len());
        self.by_id.entry(node.id.clone()).or_insert(index);
        match &node.kind {
            NodeKind::Label { target, label } => {
                if let Some(target) = self.by_id.get(target).copied() {
                    match label {
                        Some(label) => self.labels.insert(target, label.clone()),
                        None => self.labels.remove(&target),
                    };
                }
            }
            NodeKind::SessionInfo { name } => self.name = name.clone(),
            _ => {}
        }
        self.nodes.push(node);
        self.links.push(Links::default());
        self.attach(index, parent);
        index
    }

    /// Adds an entry below the leaf and makes it the leaf.
    pub fn append(&mut self, node: Node) -> NodeIndex {
        let index = self.insert(node, self.leaf);
        self.leaf = Some(index);
        index
    }

    /// Whether a root stands there only because its parent is missing or lies below it.
    #[must_use]
    pub fn is_orphan(&self, index: NodeIndex) -> bool {
        self.links[index.get()].orphan
    }

    fn attach(&mut self, index: NodeIndex, parent: Option<NodeIndex>) {
        self.links[index.get()].parent = parent;
        let last = match parent {
            Some(parent) => &mut self.links[parent.get()].last_child,
            None => &mut self.last_root,
        };
        match last.replace(index) {
            Some(previous) => self.links[previous.get()].next_sibling = Some(index),
            None => match parent {
                Some(parent) => self.links[parent.get()].first_child = Some(index),
                None => self.first_root = Some(index),
            },
        }
    }

    /// Moves the leaf; `None` is the place before the first entry. Only the session calls this,
    /// after the mark of J6 is on disk.
    pub fn set_leaf(&mut self, leaf: Option<NodeIndex>) {
        self.leaf = leaf;
    }

    /// The entry that the next one will be appended to.
    #[must_use]
    pub const fn leaf(&self) -> Option<NodeIndex> {
        self.leaf
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// How many different ids the entries have.
    #[must_use]
    pub fn distinct_ids(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node at a position of this tree.
    #[must_use]
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index.get()]
    }

    /// For the store, which learns better figures when it reads a body.
    pub fn node_mut(&mut self, index: NodeIndex) -> &mut Node {
        &mut self.nodes[index.get()]
    }

    /// All nodes in file order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeIndex, &Node)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(position, node)| (NodeIndex::new(position), node))
    }

    /// The entry with this id.
    #[must_use]
    pub fn find(&self, id: &EntryId) -> Option<NodeIndex> {
        self.by_id.get(id).copied()
    }

    /// The parent of a node.
    #[must_use]
    pub fn parent(&self, index: NodeIndex) -> Option<NodeIndex> {
        self.links[index.get()].parent
    }

    /// The children of a node in file order; of `None`, the roots.
    pub fn children(&self, parent: Option<NodeIndex>) -> impl Iterator<Item = NodeIndex> {
        let first = match parent {
            Some(parent) => self.links[parent.get()].first_child,
            None => self.first_root,
        };
        std::iter::successors(first, |index| self.links[index.get()].next_sibling)
    }

    /// Whether more than one child hangs below a node (or, for `None`, there are several roots).
    #[must_use]
    pub fn is_fork(&self, parent: Option<NodeIndex>) -> bool {
        self.children(parent).nth(1).is_some()
    }

    /// A node and everything above it, newest first.
    pub fn ancestors(&self, from: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        std::iter::successors(Some(from), |index| self.parent(*index))
    }

    /// The path to a leaf, oldest first; empty for `None`.
    #[must_use]
    pub fn path(&self, leaf: Option<NodeIndex>) -> Vec<NodeIndex> {
        let mut path: Vec<_> = leaf.into_iter().flat_map(|leaf| self.ancestors(leaf)).collect();
        path.reverse();
        path
    }

    /// The path to the current leaf, oldest first.
    #[must_use]
    pub fn active_path(&self) -> Vec<NodeIndex> {
        self.path(self.leaf)
    }

    /// The deepest entry that lies on the paths to both; `None` when there is none.
    #[must_use]
    pub fn common_ancestor(&self, one: NodeIndex, other: NodeIndex) -> Option<NodeIndex> {
        let above: std::collections::HashSet<_> = self.ancestors(one).collect();
        self.ancestors(other).find(|index| above.contains(index))
    }

    /// The id of the leaf.
    #[must_use]
    pub fn leaf_id(&self) -> Option<EntryId> {
        self.leaf().map(|leaf| self.node(leaf).id.clone())
    }

    /// The label of an entry.
    #[must_use]
    pub fn label(&self, index: NodeIndex) -> Option<&str> {
        self.labels.get(&index).map(AsRef::as_ref)
    }

    /// The session's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Applies labels again in file order; for the store, when damaged files name their targets
    /// before these appear.
    pub fn relabel(&mut self) {
        self.labels.clear();
        for node in &self.nodes {
            let NodeKind::Label { target, label } = &node.kind else { continue };
            let Some(target) = self.by_id.get(target).copied() else { continue };
            match label {
                Some(label) => self.labels.insert(target, label.clone()),
                None => self.labels.remove(&target),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str) -> Node {
        Node {
            id: EntryId::new(id),
            kind: NodeKind::User,
            timestamp: Timestamp::default(),
            tokens: 1,
            preview: "".into(),
            span: LineSpan::default(),
        }
    }

    /// `a - b - c` with `d` beside `c`.
    fn small() -> (SessionTree, [NodeIndex; 4]) {
        let mut tree = SessionTree::new();
        let a = tree.append(node("a"));
        let b = tree.append(node("b"));
        let c = tree.append(node("c"));
        tree.set_leaf(Some(b));
        let d = tree.append(node("d"));
        (tree, [a, b, c, d])
    }

    #[test]
    fn i10_paths_children_and_ancestors() {
        let (tree, [a, b, c, d]) = small();
        assert_eq!(tree.active_path(), [a, b, d]);
        assert_eq!(tree.path(Some(c)), [a, b, c]);
        assert_eq!(tree.children(Some(b)).collect::<Vec<_>>(), [c, d]);
        assert!(tree.is_fork(Some(b)) && !tree.is_fork(Some(a)) && !tree.is_fork(None));
        assert_eq!(tree.common_ancestor(c, d), Some(b));
        assert_eq!(tree.common_ancestor(a, d), Some(a));
    }

    /// A tree of entries `a`, `b`, `c` … with these parents, by position.
    fn tree_of(parents: &[Parent]) -> SessionTree {
        let ids = ('a'..).take(parents.len()).map(|id| node(&id.to_string())).collect();
        SessionTree::from_entries(ids, parents.to_vec())
    }

    #[test]
    fn f91_circles_are_cut_at_their_last_entry() {
        let entry = |position| Parent::Entry(NodeIndex::new(position));
        let [a, b, c, d] = [0, 1, 2, 3].map(NodeIndex::new);
        // c hangs below b, a and b below each other, d below itself.
        let tree = tree_of(&[entry(1), entry(0), entry(1), entry(3)]);
        assert_eq!(tree.path(Some(c)), [b, c]);
        assert_eq!(tree.path(Some(a)), [b, a]);
        assert_eq!(tree.children(None).collect::<Vec<_>>(), [b, d]);
        assert!(tree.is_orphan(b) && tree.is_orphan(d) && !tree.is_orphan(a));
        assert_eq!(tree.leaf(), Some(d));
    }

    #[test]
    fn f91_a_parent_may_come_later() {
        let [a, b, c] = [0, 1, 2].map(NodeIndex::new);
        let tree = tree_of(&[Parent::Entry(c), Parent::Lost, Parent::None]);
        assert_eq!(tree.path(Some(a)), [c, a]);
        assert_eq!(tree.children(None).collect::<Vec<_>>(), [b, c]);
        assert!(tree.is_orphan(b));
    }

    #[test]
    fn i10_a_hundred_thousand_parents_in_the_wrong_order_are_linear() {
        let many = 100_000;
        let parents: Vec<_> = (0..many)
            .map(|position| match position + 1 {
                next if next < many => Parent::Entry(NodeIndex::new(next)),
                _ => Parent::Entry(NodeIndex::new(0)),
            })
            .collect();
        let nodes = (0..many).map(|number| node(&number.to_string())).collect();
        let tree = SessionTree::from_entries(nodes, parents);
        assert_eq!(tree.path(Some(NodeIndex::new(0))).len(), many);
    }

    #[test]
    fn i10_a_long_chain_needs_no_stack() {
        let mut tree = SessionTree::new();
        for number in 0..100_000 {
            tree.append(node(&number.to_string()));
        }
        assert_eq!(tree.active_path().len(), 100_000);
        drop(tree.clone());
    }

    #[test]
    fn j3_the_last_label_counts() {
        let (mut tree, [a, ..]) = small();
        let label = |label: Option<&str>| NodeKind::Label {
            target: EntryId::new("a"),
            label: label.map(Into::into),
        };
        tree.append(Node { kind: label(Some("one")), ..node("l1") });
        assert_eq!(tree.label(a), Some("one"));
        tree.append(Node { kind: label(None), ..node("l2") });
        assert_eq!(tree.label(a), None);
    }
}
