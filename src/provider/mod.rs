//! The port to language models: what is asked, what streams back, what can go wrong (SPEC P1, P2).
//!
//! Adapters live in the sub-modules. They translate between these types and a wire protocol, and
//! they keep their own retries off: whether to try again is decided by [`retry`] and the session.

use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::message::{Message, StopReason, Usage};
use model::Model;

pub mod anthropic;
pub mod assemble;
pub mod azure;
pub mod catalogue;
pub mod decode;
pub mod effort;
pub mod endpoint;
pub mod failure;
pub mod gemini;
pub mod http;
pub mod key_file;
pub mod local;
pub mod model;
pub mod offline;
pub mod openai_chat;
pub mod openai_responses;
pub mod registry;
pub mod retry;
pub mod scripted;
pub mod secret;
pub mod sse;
#[cfg(test)]
pub mod testing;

/// Speaks to one provider. Cheap to share; holds connections, not conversations.
pub trait Provider: Send + Sync {
    /// Sends one request and streams the answer.
    ///
    /// The stream ends after [`StreamEvent::Finish`] or after one `Err`. A connection that closes
    /// without the protocol's terminal signal is an `Err` of kind [`ErrorKind::Cut`] (F60). Dropping the
    /// stream, or cancelling the token, closes the connection at once.
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>>;
}

/// Why a model is asked (F15): recovery from overflow, queues and hooks differ between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A turn of the conversation.
    Turn,
    /// One of the summaries of a compaction.
    Compaction,
    /// The summary of a branch that is left.
    BranchSummary,
}

/// Everything that one request needs; derived anew each time, never patched.
#[derive(Debug, Clone)]
pub struct Request {
    /// Why it is made.
    pub purpose: Purpose,
    /// Whom it is for.
    pub model: Arc<Model>,
    /// The one system message.
    pub system: String,
    /// Only roles user, assistant and toolResult, already repaired (X4).
    pub messages: Vec<Arc<Message>>,
    /// The tools on offer; empty for summaries.
    pub tools: Vec<ToolSpec>,
    /// Output limit in tokens, already clamped to the room that is left (C4).
    pub max_tokens: u64,
    /// How much reasoning to ask for.
    pub thinking: ThinkingLevel,
    /// Passed through to the wire (S2), such as `temperature`.
    pub parameters: Map<String, Value>,
    /// Same for all requests of a session: providers route caches by it.
    pub session_id: String,
    /// Whether prompt caching may be used (`cache` of section 8).
    pub cache: bool,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// The name to call it by.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// How much a model should think before it answers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all, where the model can do without.
    #[default]
    Off,
    /// As little as the model allows.
    Minimal,
    /// A little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// As much as the model allows.
    Xhigh,
}

impl ThinkingLevel {
    /// All levels, least first.
    pub const ALL: [Self; 6] =
        [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh];

    /// The name used in session files and settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }

    /// Reads a level's name, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(name))
    }
}

/// One step of an answer. `index` numbers the blocks of the answer from 0, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// A block begins.
    BlockStart {
        /// Which.
        index: usize,
        /// Of what kind.
        block: BlockStart,
    },
    /// More of a block: text, reasoning, or a piece of a call's JSON arguments.
    Delta {
        /// Which block.
        index: usize,
        /// What to add.
        text: String,
    },
    /// The opaque signature of a block, whole.
    Signature {
        /// Which block.
        index: usize,
        /// Goes back only to the model that made it (X4).
        signature: String,
    },
    /// Figures so far; later ones replace earlier ones. Cost is left to the receiver.
    Usage(Usage),
    /// The protocol's terminal signal (F60): the answer is complete.
    Finish {
        /// Why it ended; never `Error` or `Aborted`.
        reason: StopReason,
    },
}

/// See [`StreamEvent::BlockStart`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockStart {
    /// Visible text.
    Text,
    /// Reasoning. `redacted` when only a signature will come.
    Thinking {
        /// Whether the provider hides it.
        redacted: bool,
    },
    /// A tool call; its arguments follow as deltas.
    ToolCall {
        /// The provider's id; made up by the adapter when the server sends none.
        id: String,
        /// The tool's name.
        name: String,
    },
}

/// What went wrong, told apart by what can be done about it (SPEC P2, issue of retries: A1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Server trouble or lost connection before anything was said: try again.
    Transient,
    /// Too many requests for now.
    RateLimit,
    /// The account has run out; trying again does not help.
    Quota,
    /// The input does not fit the model's window (C6).
    Overflow,
    /// The key is missing or wrong.
    Auth,
    /// The server rejects the request as it is.
    BadRequest,
    /// The model or a filter declined.
    Refused,
    /// The answer broke off in the middle.
    Cut,
    /// The server said nothing for too long.
    Timeout,
    /// It was stopped by us.
    Cancelled,
}

/// A failed request.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What can be done about it.
    pub kind: ErrorKind,
    /// One sentence with the provider's own words; never holds a key (P3).
    pub message: String,
    /// The HTTP status, if it came that far.
    pub status: Option<u16>,
    /// How long the server wants us to wait.
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// An error without status or waiting time.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None }
    }

    /// The request was stopped by us.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "stopped")
    }
}

/// Finds the adapter for a model. Built in `startup`.
pub trait Providers: Send + Sync {
    /// The provider that serves `model`.
    ///
    /// # Errors
    /// When the provider is unknown or has no key; the message says what to do.
    fn provider_for(&self, model: &Model) -> Result<Arc<dyn Provider>, ProviderError>;
    /// All models that can be used now.
    fn models(&self) -> Vec<Arc<Model>>;
}
