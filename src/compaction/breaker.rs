//! Keeps automatic compactions from running in circles (SPEC C4; F01, F02, F94). Pure state.

use super::trigger::estimate;
use crate::session::tree::{NodeIndex, SessionTree};

/// Growth that is asked for after each further compaction in a row that did not help: this part of
/// the window.
const STEP: u64 = 20;

/// Remembers that the last automatic compaction did not help.
///
/// It failed, or it left the context above the trigger: then none runs again until something new is
/// there to be summarised. Each further one that does not help makes the next one wait for more, so
/// that a context that cannot be made small (a system prompt that fills the window) does not pay for
/// a summary at every turn. It never latches: enough new content, a move in the tree or a manual
/// compaction re-arm it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Breaker {
    tripped: Option<Trip>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trip {
    leaf: Option<NodeIndex>,
    in_a_row: u64,
}

/// How an automatic compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The context is below the trigger.
    Helped,
    /// It failed, or the context is still above the trigger.
    Useless,
}

impl Breaker {
    /// Notes how an automatic compaction ended; `leaf` is the leaf after it.
    pub fn record(&mut self, outcome: Outcome, leaf: Option<NodeIndex>) {
        self.tripped = match outcome {
            Outcome::Helped => None,
            Outcome::Useless => {
                let in_a_row = self.tripped.map_or(0, |trip| trip.in_a_row) + 1;
                Some(Trip { leaf, in_a_row })
            }
        };
    }

    /// Forgets what was: the person compacted by hand, or changed the model or the settings.
    pub fn rearm(&mut self) {
        self.tripped = None;
    }

    /// Whether an automatic compaction may run at `leaf`. Costs what was appended since.
    #[must_use]
    pub fn is_armed(&self, tree: &SessionTree, leaf: Option<NodeIndex>, window: u64) -> bool {
        let Some(trip) = self.tripped else { return true };
        let mut new_messages = false;
        let mut new_tokens = 0;
        for index in leaf.into_iter().flat_map(|leaf| tree.ancestors(leaf)) {
            if Some(index) == trip.leaf {
                return new_messages && new_tokens >= (trip.in_a_row - 1) * window / STEP;
            }
            let node = tree.node(index);
            new_messages |= node.kind.bears_message();
            new_tokens += estimate(node);
        }
        // The entry at which it tripped is not on the path any more: this is another conversation.
        trip.leaf.is_some() || new_messages
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::{extend, tree};
    use super::*;

    #[test]
    fn c4_a_useless_compaction_waits_for_new_content() {
        let mut tree = tree("u10 a10 c5@1");
        let mut breaker = Breaker::default();
        assert!(breaker.is_armed(&tree, tree.leaf(), 4_096));
        breaker.record(Outcome::Useless, tree.leaf());
        assert!(!breaker.is_armed(&tree, tree.leaf(), 4_096));
        extend(&mut tree, "l m");
        assert!(!breaker.is_armed(&tree, tree.leaf(), 4_096), "metadata is no content");
        extend(&mut tree, "u1");
        assert!(breaker.is_armed(&tree, tree.leaf(), 4_096));
    }

    #[test]
    fn f01_again_and_again_useless_waits_for_more_each_time() {
        let mut tree = tree("u10 a10");
        let mut breaker = Breaker::default();
        for needed in [0, 50, 100] {
            breaker.record(Outcome::Useless, tree.leaf());
            extend(&mut tree, &format!("u{needed}"));
            assert!(breaker.is_armed(&tree, tree.leaf(), 1_000));
            if needed > 0 {
                let before = tree.leaf().and_then(|leaf| tree.parent(leaf));
                let mut less = tree.clone();
                less.set_leaf(before);
                extend(&mut less, &format!("u{}", needed - 1));
                assert!(!breaker.is_armed(&less, less.leaf(), 1_000));
            }
        }
        breaker.record(Outcome::Helped, tree.leaf());
        assert_eq!(breaker, Breaker::default());
    }

    #[test]
    fn f94_it_never_latches() {
        let mut tree = tree("u10 a10");
        let mut breaker = Breaker::default();
        breaker.record(Outcome::Useless, tree.leaf());
        breaker.record(Outcome::Useless, tree.leaf());
        let root = Some(NodeIndex::new(0));
        assert!(breaker.is_armed(&tree, root, 4_096), "another branch is another conversation");
        breaker.rearm();
        assert!(breaker.is_armed(&tree, tree.leaf(), 4_096));
        let mut breaker = Breaker::default();
        breaker.record(Outcome::Useless, None);
        tree.set_leaf(None);
        assert!(!breaker.is_armed(&tree, None, 4_096));
    }
}
