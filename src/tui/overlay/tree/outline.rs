//! What the tree view needs to know of every entry, in flat arrays made in two passes (I10, F90):
//! where it stands in a walk of the whole tree, how it relates to the active path, and how much
//! hangs above and below it. Pure; filters and folds are the business of [`super::rows`].

use crate::ids::Timestamp;
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};

/// The facts of all entries of one state of a tree. After the tree has changed it is stale and must
/// be made again.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    order: Vec<NodeIndex>,
    facts: Vec<Facts>,
    leaf: Option<NodeIndex>,
    counted: u32,
    /// By entry: the filters that show it.
    visibility: Vec<u8>,
    summaries: Vec<NodeIndex>,
}

#[derive(Debug, Clone, Copy)]
struct Facts {
    parent: Option<NodeIndex>,
    /// Deepest entry of the active path that lies above, the entry itself included.
    anchor: Option<NodeIndex>,
    /// Newest counted entry of the part of the tree that begins here.
    tip: Option<NodeIndex>,
    enter: u32,
    /// One after the last `enter` below.
    exit: u32,
    above: Size,
    below: Size,
}

/// How much a part of the tree holds. Entries that only carry bookkeeping do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Entries.
    pub entries: u32,
    /// Estimated tokens.
    pub tokens: u64,
}

impl std::ops::AddAssign for Size {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.tokens += other.tokens;
    }
}

impl std::ops::Sub for Size {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            entries: self.entries.saturating_sub(other.entries),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }
}

/// Whether an entry only carries bookkeeping: nothing that was said or done.
#[must_use]
pub const fn is_metadata(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::ModelChange(_)
            | NodeKind::ThinkingLevelChange(_)
            | NodeKind::LeafMark
            | NodeKind::CustomData
            | NodeKind::Label { .. }
            | NodeKind::SessionInfo { .. }
            | NodeKind::Unknown
    )
}

impl Outline {
    /// Looks at every entry of `tree` twice.
    #[must_use]
    pub fn new(tree: &SessionTree) -> Self {
        let nothing = Facts {
            parent: None,
            anchor: None,
            tip: None,
            enter: 0,
            exit: 0,
            above: Size::default(),
            below: Size::default(),
        };
        let mut outline = Self {
            order: Vec::with_capacity(tree.len()),
            facts: vec![nothing; tree.len()],
            leaf: leaf_shown(tree),
            ..Self::default()
        };
        let mut on_path = vec![false; tree.len()];
        for index in tree.leaf().into_iter().flat_map(|leaf| tree.ancestors(leaf)) {
            on_path[index.get()] = true;
        }
        outline.descend(tree, &on_path);
        outline.gather();
        outline.visibility = super::filter::visibility(tree, &outline);
        outline
    }

    /// Walks from the roots down: order, anchors, what stands above.
    fn descend(&mut self, tree: &SessionTree, on_path: &[bool]) {
        let mut open: Vec<NodeIndex> = tree.children(None).collect();
        open.reverse();
        while let Some(index) = open.pop() {
            let node = tree.node(index);
            if matches!(node.kind, NodeKind::BranchSummary { from: Some(_) }) {
                self.summaries.push(index);
            }
            let parent = tree.parent(index);
            let above = parent.map(|parent| self.facts[parent.get()]);
            let own = if is_metadata(&node.kind) {
                Size::default()
            } else {
                Size { entries: 1, tokens: u64::from(node.tokens) }
            };
            let mut total = above.map_or_else(Size::default, |above| above.above);
            total += own;
            self.counted += own.entries;
            self.facts[index.get()] = Facts {
                parent,
                anchor: if on_path[index.get()] {
                    Some(index)
                } else {
                    above.and_then(|above| above.anchor)
                },
                tip: (own.entries > 0).then_some(index),
                enter: self.order.len() as u32,
                exit: self.order.len() as u32 + 1,
                above: total,
                below: own,
            };
            self.order.push(index);
            let first = open.len();
            open.extend(tree.children(Some(index)));
            open[first..].reverse();
        }
    }

    /// Walks back up: what hangs below.
    fn gather(&mut self) {
        for index in self.order.iter().rev() {
            let facts = self.facts[index.get()];
            let Some(parent) = facts.parent else { continue };
            let parent = &mut self.facts[parent.get()];
            parent.below += facts.below;
            parent.tip = parent.tip.max(facts.tip);
            parent.exit = parent.exit.max(facts.exit);
        }
    }

    /// All entries, parents before children, children in file order.
    #[must_use]
    pub fn order(&self) -> &[NodeIndex] {
        &self.order
    }

    /// The leaf as it is shown: bookkeeping at the end of the path stands for the entry before it.
    #[must_use]
    pub const fn leaf(&self) -> Option<NodeIndex> {
        self.leaf
    }

    /// Whether a filter with this bit shows an entry.
    pub(super) fn is_shown_by(&self, index: NodeIndex, bit: u8) -> bool {
        self.visibility[index.get()] & bit != 0
    }

    /// The branch summaries that are entries of their own.
    pub(super) fn summaries(&self) -> &[NodeIndex] {
        &self.summaries
    }

    /// How many entries of the whole tree count.
    #[must_use]
    pub const fn counted(&self) -> u32 {
        self.counted
    }

    /// The parent of an entry.
    #[must_use]
    pub fn parent(&self, index: NodeIndex) -> Option<NodeIndex> {
        self.facts[index.get()].parent
    }

    /// Whether an entry lies on the active path.
    #[must_use]
    pub fn on_path(&self, index: NodeIndex) -> bool {
        self.facts[index.get()].anchor == Some(index)
    }

    /// Whether `below` is `above` or lies below it.
    #[must_use]
    pub fn is_above(&self, above: NodeIndex, below: NodeIndex) -> bool {
        let (above, below) = (&self.facts[above.get()], &self.facts[below.get()]);
        (above.enter..above.exit).contains(&below.enter)
    }

    /// Size of the part of the tree that begins at an entry.
    #[must_use]
    pub fn size(&self, index: NodeIndex) -> Size {
        self.facts[index.get()].below
    }

    /// The newest entry of the part of the tree that begins at an entry; the entry itself when
    /// nothing there counts.
    #[must_use]
    pub fn tip(&self, index: NodeIndex) -> NodeIndex {
        self.facts[index.get()].tip.unwrap_or(index)
    }

    /// When the newest entry below (or at) an entry was appended.
    #[must_use]
    pub fn newest(&self, tree: &SessionTree, index: NodeIndex) -> Timestamp {
        tree.node(self.tip(index)).timestamp
    }

    /// Size of the path from the root to an entry.
    #[must_use]
    pub fn path_size(&self, index: NodeIndex) -> Size {
        self.facts[index.get()].above
    }

    /// Size of the path from `first` to just before `end`; nothing when `first` is not above it.
    #[must_use]
    pub fn between(&self, first: NodeIndex, end: NodeIndex) -> Size {
        if first == end || !self.is_above(first, end) {
            return Size::default();
        }
        let above = |index: Option<NodeIndex>| {
            index.map_or_else(Size::default, |index| self.facts[index.get()].above)
        };
        above(self.parent(end)) - above(self.parent(first))
    }

    /// What a move from the leaf to `target` leaves behind (B2): the path from their deepest common
    /// ancestor, which stays, to the leaf. Costs nothing, whatever the size.
    #[must_use]
    pub fn left_behind(&self, target: NodeIndex) -> Size {
        let Some(leaf) = self.leaf else { return Size::default() };
        let above = |index: NodeIndex| self.facts[index.get()].above;
        let stays = self.facts[target.get()].anchor.map_or_else(Size::default, above);
        above(leaf) - stays
    }
}

/// The deepest entry at or above the leaf that is more than bookkeeping.
fn leaf_shown(tree: &SessionTree) -> Option<NodeIndex> {
    tree.ancestors(tree.leaf()?).find(|index| !is_metadata(&tree.node(*index).kind))
}

#[cfg(test)]
mod tests {
    use super::super::notation::Session;
    use super::*;

    #[test]
    fn u5_what_a_move_leaves_behind() {
        let session = Session::parse(
            "u1 user 'one' / a1 assistant 'x' / u2 user 'two' / a2 assistant 'y'
             / u3 user 'aside' < a1 / a3 assistant 'z' / leaf a2",
        );
        let outline = Outline::new(&session.tree());
        for (target, entries) in [("a2", 0), ("u2", 1), ("a1", 2), ("u1", 3), ("a3", 2)] {
            assert_eq!(outline.left_behind(session.at(target)).entries, entries, "{target}");
        }
        assert_eq!(outline.size(session.at("u3")).entries, 2);
        assert_eq!(outline.tip(session.at("u1")), session.at("a3"));
    }

    #[test]
    fn j6_a_leaf_mark_stands_for_its_parent() {
        let session = Session::parse("u1 user 'one' / a1 assistant 'x' / m1 mark < u1 / leaf m1");
        let outline = Outline::new(&session.tree());
        assert_eq!(outline.leaf(), Some(session.at("u1")));
        assert_eq!(outline.counted(), 2);
        assert_eq!(outline.left_behind(session.at("a1")).entries, 0);
    }

    #[test]
    fn f90_a_long_chain_needs_no_stack() {
        let session = Session::chain(30_000);
        let outline = Outline::new(&session.tree());
        assert_eq!(outline.size(outline.order()[0]).entries, 30_000);
    }
}
