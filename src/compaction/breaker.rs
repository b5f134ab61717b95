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
