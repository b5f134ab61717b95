//! Who hangs on whom, when all lines have been read (J7, F47, F91).

use std::cell::OnceCell;
use std::collections::HashMap;

use super::Damage;
use super::facts::Said;
use crate::ids::EntryId;
use crate::session::tree::{Node, NodeIndex, Parent};

/// Collects what lines say about parents.
#[derive(Debug, Default)]
pub(super) struct Linker {
    parents: Vec<Said>,
    gaps: Vec<Gap>,
}

/// A line that could not be read.
#[derive(Debug)]
struct Gap {
    /// Entries before it.
    position: usize,
    id: Option<EntryId>,
    parent: Option<EntryId>,
}

impl Linker {
    /// Notes the next entry.
    pub(super) fn entry(&mut self, parent: Said) {
        self.parents.push(parent);
    }

    /// Notes that an entry is missing here, with what can still be read of it.
    pub(super) fn gap(&mut self, id: Option<EntryId>, parent: Option<EntryId>) {
        self.gaps.push(Gap { position: self.parents.len(), id, parent });
    }

    /// The last `count` gaps turned out to be none.
    pub(super) fn forget_gaps(&mut self, count: usize) {
        self.gaps.truncate(self.gaps.len().saturating_sub(count));
    }

    /// The parent of each entry.
    pub(super) fn finish(self, nodes: &[Node], damage: &mut Damage) -> Vec<Parent> {
        let by_id = OnceCell::new();
        let gaps: HashMap<_, _> =
            self.gaps.iter().filter_map(|gap| Some((gap.id.as_ref()?, gap))).collect();
        let nameless: Vec<_> =
            self.gaps.iter().filter(|gap| gap.id.is_none()).map(|gap| gap.position).collect();
        let mut parents = Vec::with_capacity(nodes.len());
        for (position, said) in self.parents.iter().enumerate() {
            let parent = match said {
                Said::Root => Parent::None,
                Said::Unsaid => before(position),
                // Nearly always it is the entry before.
                Said::Id(id) if position > 0 && nodes[position - 1].id == *id => before(position),
                Said::Id(id) => match by_id.get_or_init(|| positions(nodes)).get(id) {
                    Some(parent) => Parent::Entry(NodeIndex::new(*parent)),
                    None => {
                        let by_id = by_id.get_or_init(|| positions(nodes));
                        let found = across_gaps(id, position, by_id, &gaps, &nameless);
                        match found {
                            Some(_) => damage.rehung += 1,
                            None => damage.lost_parents += 1,
                        }
                        found.unwrap_or(Parent::Lost)
                    }
                },
            };
            parents.push(parent);
        }
        parents
    }
}

fn positions(nodes: &[Node]) -> HashMap<&EntryId, usize> {
    let mut by_id = HashMap::with_capacity(nodes.len());
    for (position, node) in nodes.iter().enumerate() {
        by_id.entry(&node.id).or_insert(position);
    }
    by_id
}

/// The nearest entry that is left above a parent that could not be read.
fn across_gaps(
    id: &EntryId,
    child: usize,
    by_id: &HashMap<&EntryId, usize>,
    gaps: &HashMap<&EntryId, &Gap>,
    nameless: &[usize],
) -> Option<Parent> {
    let mut id = id;
    // As many steps as there are gaps: they may name each other in a circle.
    for _ in 0..=gaps.len() {
        let Some(gap) = gaps.get(id) else { break };
        let Some(parent) = &gap.parent else { return Some(before(gap.position)) };
        if let Some(found) = by_id.get(parent) {
            return Some(Parent::Entry(NodeIndex::new(*found)));
        }
        id = parent;
    }
    // A line of which nothing can be read may have been the parent: the last one before the child.
    let at = nameless.partition_point(|position| *position <= child);
    Some(before(*nameless[..at].last()?))
}

fn before(position: usize) -> Parent {
    position.checked_sub(1).map_or(Parent::None, |entry| Parent::Entry(NodeIndex::new(entry)))
}
