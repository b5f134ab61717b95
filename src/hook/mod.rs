//! The port to hooks: programs and embedders that watch, change or stop what the session does
//! (SPEC section 6, F81).
//!
//! A [`Hook`] gets an event as one JSON object and may answer with another. What an event says and
//! which answers it takes is known by its [`Occasion`](chain::Occasion), one for each family:
//! [`compaction`], [`tree`], [`conversation`], and [`told`] for events that take none. The one way
//! to run hooks is [`Hooks::run`](chain::Hooks::run). Programs are started by [`external`]. All but
//! that one is pure; when chains run is `agent_session`'s business.

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub mod answer;
pub mod chain;
pub mod compaction;
pub mod conversation;
pub mod external;
pub mod told;
pub mod tree;

pub use crate::settings::layer::EventName;

/// A watcher of a session's events.
pub trait Hook: Send + Sync {
    /// A name for messages to the person.
    fn name(&self) -> &str;

    /// Whether it wants to hear of these events; `tool` is set for those about a tool's call. The
    /// data of an event that nobody wants is not even gathered.
    fn wants(&self, event: EventName, tool: Option<&str>) -> bool {
        let _ = (event, tool);
        true
    }

    /// Called for each [`HookEvent`] that it wants, in configured order; `None` means no opinion.
    /// When `cancel` fires, the future is dropped.
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

impl EventName {
    /// All events, in the order of the settings' schema.
    pub const ALL: [Self; 11] = [
        Self::SessionBeforeCompact,
        Self::SessionCompacting,
        Self::SessionCompact,
        Self::SessionBeforeTree,
        Self::SessionTree,
        Self::SessionStart,
        Self::SessionShutdown,
        Self::BeforePrompt,
        Self::ToolCall,
        Self::ToolResult,
        Self::TurnEnd,
    ];

    /// The name in settings and in the event's JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionBeforeCompact => "session_before_compact",
            Self::SessionCompacting => "session.compacting",
            Self::SessionCompact => "session_compact",
            Self::SessionBeforeTree => "session_before_tree",
            Self::SessionTree => "session_tree",
            Self::SessionStart => "session_start",
            Self::SessionShutdown => "session_shutdown",
            Self::BeforePrompt => "before_prompt",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::TurnEnd => "turn_end",
        }
    }

    /// Whether a hook can stop what the event speaks of.
    #[must_use]
    pub const fn can_cancel(self) -> bool {
        matches!(
            self,
            Self::SessionBeforeCompact
                | Self::SessionBeforeTree
                | Self::BeforePrompt
                | Self::ToolCall
        )
    }
}

impl std::fmt::Display for EventName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which session an event is about; part of every event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFacts {
    /// Its id.
    pub id: String,
    /// Its file, which need not be there yet; `None` for one in memory.
    pub file: Option<PathBuf>,
    /// Its folder, in which programs are started.
    pub cwd: PathBuf,
}

/// An event as hooks see it: as JSON one object `{event, sessionId, sessionFile, cwd, …data}`.
/// `type` says the same as `event`, as hooks of related programs expect it.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEvent {
    /// Which event.
    pub event: EventName,
    /// Whose.
    pub session: SessionFacts,
    /// The event's data; what earlier hooks changed is already in it.
    pub data: Map<String, Value>,
}

impl Serialize for HookEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event", self.event.as_str())?;
        map.serialize_entry("type", self.event.as_str())?;
        map.serialize_entry("sessionId", &self.session.id)?;
        let file = self.session.file.as_ref().map(|file| file.to_string_lossy());
        map.serialize_entry("sessionFile", &file)?;
        map.serialize_entry("cwd", &self.session.cwd.to_string_lossy())?;
        for (name, value) in &self.data {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// What a hook answers; which fields count depends on the event.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct HookAnswer {
    /// Stops the operation.
    pub cancel: bool,
    /// Why it was stopped, for the person.
    pub reason: Option<String>,
    /// Everything else, by the event's own names.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl HookAnswer {
    /// An answer that stops what is about to happen.
    #[must_use]
    pub fn cancel(reason: impl Into<String>) -> Self {
        Self { cancel: true, reason: Some(reason.into()), ..Self::default() }
    }

    /// Reads what a program wrote: one JSON object, or nothing for no opinion. A field that is `null`
    /// counts as absent.
    ///
    /// # Errors
    /// It is something else; the sentence says what.
    pub fn read(output: &[u8]) -> Result<Option<Self>, String> {
        if output.trim_ascii().is_empty() {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(output)
            .map_err(|error| format!("its answer is not one JSON object: {error}"))?;
        let Value::Object(mut fields) = value else {
            return Err("its answer is JSON, but not an object".to_owned());
        };
        fields.retain(|_, value| !value.is_null());
        serde_json::from_value(Value::Object(fields))
            .map(Some)
            .map_err(|error| format!("its answer cannot be used: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_names_of_events_are_those_of_the_settings() {
        for event in EventName::ALL {
            assert_eq!(serde_json::to_value(event).unwrap(), event.as_str());
        }
    }

    #[test]
    fn an_event_is_one_object_with_its_session() {
        let event = HookEvent {
            event: EventName::ToolCall,
            session: SessionFacts { id: "s".into(), file: None, cwd: "/project".into() },
            data: Map::from_iter([("toolName".to_owned(), json!("bash"))]),
        };
        let expected = json!({"event": "tool_call", "type": "tool_call", "sessionId": "s",
            "sessionFile": null, "cwd": "/project", "toolName": "bash"});
        assert_eq!(serde_json::to_value(&event).unwrap(), expected);
    }

    #[test]
    fn f81_an_answer_is_one_object_or_nothing() {
        assert_eq!(HookAnswer::read(b" \n\t"), Ok(None));
        assert_eq!(HookAnswer::read(b"{}"), Ok(Some(HookAnswer::default())));
        let answer = HookAnswer::read(br#"{"cancel": true, "reason": null, "x": 1}"#);
        let answer = answer.unwrap().unwrap();
        assert!(answer.cancel && answer.reason.is_none() && answer.rest.contains_key("x"));
        for (garbage, words) in [
            (&b"no"[..], "not one JSON object"),
            (b"[1]", "not an object"),
            (b"{} {}", "not one JSON object"),
            (b"{\"cancel\": \"yes\"}", "cannot be used"),
            (b"\xff\xfe", "not one JSON object"),
        ] {
            let error = HookAnswer::read(garbage).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
