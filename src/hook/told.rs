//! Events that are told and take no answer (SPEC section 6): a session begins or ends, something was
//! stored, a turn is over. Pure.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::EventName;
use super::answer::{Fields, fields_of};
use super::chain::{Occasion, Taken};
use crate::ids::EntryId;
use crate::message::Message;
use crate::session::entry::SessionEntry;

/// Something that has happened.
#[derive(Debug, Clone)]
pub struct Told {
    event: EventName,
    data: Map<String, Value>,
}

impl Told {
    fn new(event: EventName, data: Value) -> Self {
        Self { event, data: fields_of(data) }
    }

    /// A session is open. `reason`: `startup`, `new`, `resume`, `fork` or `clone`.
    #[must_use]
    pub fn session_start(reason: &str) -> Self {
        Self::new(EventName::SessionStart, json!({ "reason": reason }))
    }

    /// A session is left. `reason`: `quit`, or how the next one begins.
    #[must_use]
    pub fn session_shutdown(reason: &str) -> Self {
        Self::new(EventName::SessionShutdown, json!({ "reason": reason }))
    }

    /// A compaction was stored; `from_extension` when a hook made it.
    #[must_use]
    pub fn session_compact(entry: &SessionEntry, from_extension: bool) -> Self {
        let data = json!({ "compactionEntry": entry, "fromExtension": from_extension });
        Self::new(EventName::SessionCompact, data)
    }

    /// The leaf has moved; `summary` is the entry that was stored with it, and `from_extension` is
    /// set when a hook made that.
    #[must_use]
    pub fn session_tree(
        new_leaf: Option<&EntryId>,
        old_leaf: Option<&EntryId>,
        summary: Option<&SessionEntry>,
        from_extension: bool,
    ) -> Self {
        let mut data = json!({
            "newLeafId": new_leaf, "oldLeafId": old_leaf, "fromExtension": from_extension
        });
        if let Some(summary) = summary {
            data["summaryEntry"] = json!(summary);
        }
        Self::new(EventName::SessionTree, data)
    }

    /// A turn is over: the model's last message in it, and the results of all its tool calls.
    #[must_use]
    pub fn turn_end(message: Option<&Message>, results: &[Arc<Message>]) -> Self {
        let data = json!({ "message": message, "toolResults": results });
        Self::new(EventName::TurnEnd, data)
    }
}

impl Occasion for Told {
    fn event(&self) -> EventName {
        self.event
    }

    fn data(&self) -> Map<String, Value> {
        self.data.clone()
    }

    fn take(&mut self, _hook: &str, fields: Map<String, Value>) -> Result<Taken, String> {
        Fields::new(fields).done().map(|()| Taken::Accepted)
    }
}
