//! What a round tells the session while it runs.

use serde::Serialize;

use crate::message::{AssistantMessage, ToolCall, ToolResultMessage};
use crate::provider::{BlockStart, ProviderError, StreamEvent};

/// A step of a round.
#[derive(Debug, Clone)]
pub enum AgentEvent {
    /// More of the answer.
    Stream(StreamDelta),
    /// The answer is complete; it must be appended before its results.
    Answer(AssistantMessage),
    /// A call starts.
    ToolStarted(ToolCall),
    /// Output of a running call, for the screen.
    ToolProgress {
        /// The call's id.
        call_id: String,
        /// A piece of output.
        text: String,
    },
    /// A call has settled; results come in the order of the calls.
    ToolResult(ToolResultMessage),
}

/// How a round ended.
#[derive(Debug, Clone)]
pub enum RoundEnd {
    /// The answer is complete and all its calls have results.
    Done,
    /// The request failed; what had arrived is in `partial`, and none of its calls was run.
    Failed {
        /// What went wrong; of kind `Cancelled` when it was stopped.
        error: ProviderError,
        /// What had arrived, marked as failed or stopped.
        partial: Box<AssistantMessage>,
    },
    /// It was stopped while tools ran; every call has a result.
    Stopped,
}

/// More of an answer that streams. `block` numbers the blocks of the answer from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StreamDelta {
    /// A new answer begins; what streamed before is void.
    Start,
    /// Visible text.
    Text {
        /// Which block.
        block: usize,
        /// What to add.
        text: String,
    },
    /// Reasoning.
    Thinking {
        /// Which block.
        block: usize,
        /// What to add.
        text: String,
    },
    /// A tool call begins.
    ToolCall {
        /// Which block.
        block: usize,
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments, as JSON text.
    Arguments {
        /// Which block.
        block: usize,
        /// What to add.
        text: String,
    },
}

/// Turns provider events into what a screen shows; remembers of what kind each block is.
#[derive(Debug, Default)]
pub struct DeltaSorter {
    kinds: Vec<(usize, DeltaKind)>,
}

#[derive(Debug, Clone, Copy)]
enum DeltaKind {
    Text,
    Thinking,
    Arguments,
}

impl DeltaSorter {
    /// What a screen needs to know of an event, if anything.
    pub fn sort(&mut self, event: &StreamEvent) -> Option<StreamDelta> {
        match event {
            StreamEvent::BlockStart { index, block } => {
                let kind = match block {
                    BlockStart::Text => DeltaKind::Text,
                    BlockStart::Thinking { .. } => DeltaKind::Thinking,
                    BlockStart::ToolCall { .. } => DeltaKind::Arguments,
                };
                self.kinds.push((*index, kind));
                match block {
                    BlockStart::ToolCall { id, name } => Some(StreamDelta::ToolCall {
                        block: *index,
                        id: id.clone(),
                        name: name.clone(),
                    }),
                    _ => None,
                }
            }
            StreamEvent::Delta { index, text } => {
                let (block, text) = (*index, text.clone());
                let kind = self.kinds.iter().rev().find(|(known, _)| known == index)?.1;
                Some(match kind {
                    DeltaKind::Text => StreamDelta::Text { block, text },
                    DeltaKind::Thinking => StreamDelta::Thinking { block, text },
                    DeltaKind::Arguments => StreamDelta::Arguments { block, text },
                })
            }
            _ => None,
        }
    }
}
