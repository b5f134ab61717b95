//! The port to hooks: programs and embedders that watch, change or stop what the session does
//! (SPEC section 6). Every method has a default that does nothing.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A watcher of a session's events.
pub trait Hook: Send + Sync {
    /// A name for messages to the person.
    fn name(&self) -> &str;

    /// Called for each [`HookEvent`] in configured order; `None` means no opinion.
    ///
    /// # Errors
    /// What went wrong; it is reported, and ignored unless [`Hook::required`] (F81).
    fn on_event<'a>(
        &'a self,
        event: &'a HookEvent,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<HookAnswer>, String>>;

    /// Whether a failure of this hook cancels an event that can be cancelled.
    fn required(&self) -> bool {
        false
    }
}

/// An event as hooks see it: its name and one JSON object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HookEvent {
    /// Such as `session_before_compact`.
    pub event: &'static str,
    /// The event's data; what earlier hooks changed is already in it.
    #[serde(flatten)]
    pub data: Value,
}

/// What a hook answers; which fields count depends on the event.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HookAnswer {
    /// Stops the operation.
    pub cancel: bool,
    /// Why it was stopped, for the person.
    pub reason: Option<String>,
    /// Everything else, by the event's own names.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Value>,
}
