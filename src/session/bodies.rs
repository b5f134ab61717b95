//! Messages that were read lately, so that a context built for every request does not read its
//! entries again. Bounded by the length of their lines.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::tree::NodeIndex;
use crate::message::Message;

/// Most bytes of lines whose messages are kept.
const CAPACITY: usize = 16 << 20;

/// Messages by entry; the one that was not asked for longest goes first.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    kept: HashMap<NodeIndex, Kept>,
    /// Uses, oldest first; one is stale when the entry was used again since.
    uses: VecDeque<(NodeIndex, u64)>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    message: Arc<Message>,
    bytes: usize,
    used: u64,
}

impl Bodies {
    pub(super) fn get(&mut self, index: NodeIndex) -> Option<Arc<Message>> {
        self.clock += 1;
        let kept = self.kept.get_mut(&index)?;
        kept.used = self.clock;
        let message = kept.message.clone();
        self.uses.push_back((index, self.clock));
        self.trim();
        Some(message)
    }

    pub(super) fn put(&mut self, index: NodeIndex, message: Arc<Message>, bytes: usize) {
        self.clock += 1;
        let kept = Kept { message, bytes, used: self.clock };
        self.bytes += bytes;
        if let Some(old) = self.kept.insert(index, kept) {
            self.bytes -= old.bytes;
        }
        self.uses.push_back((index, self.clock));
        self.trim();
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Lets go of what is over the limit, and of notes of uses that no longer count.
    fn trim(&mut self) {
        while self.bytes > CAPACITY || self.uses.len() > 4 * self.kept.len() + 64 {
            let Some((index, used)) = self.uses.pop_front() else { return };
            let newest = self.kept.get(&index).is_some_and(|kept| kept.used == used);
            if newest && self.bytes > CAPACITY {
                if let Some(kept) = self.kept.remove(&index) {
                    self.bytes -= kept.bytes;
                }
            } else if newest {
                self.uses.push_back((index, used));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j11_what_was_used_last_stays() {
        let mut bodies = Bodies::default();
        let message = Arc::new(Message::Other(serde_json::Value::Null));
        let part = CAPACITY / 4;
        for position in 0..4 {
            bodies.put(NodeIndex::new(position), message.clone(), part);
        }
        for _ in 0..1_000 {
            assert!(bodies.get(NodeIndex::new(0)).is_some());
        }
        assert!(bodies.uses.len() < 100);
        bodies.put(NodeIndex::new(4), message, part);
        assert!(bodies.get(NodeIndex::new(0)).is_some());
        assert!(bodies.get(NodeIndex::new(1)).is_none());
    }
}
