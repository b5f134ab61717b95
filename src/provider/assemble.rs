//! From stream events to an assistant message, at any moment of the stream (pure).
//!
//! Whoever reads a stream keeps one [`Assembler`], so that what has arrived is there to be kept when
//! the person presses Escape or the connection breaks.

use serde_json::Value;

use super::model::Model;
use super::{BlockStart, StreamEvent};
use crate::ids::Timestamp;
use crate::message::{AssistantMessage, Block, StopReason, ToolCall, Usage};

/// Builds one answer.
#[derive(Debug, Clone)]
pub struct Assembler {
    message: AssistantMessage,
    /// Blocks in order of their index; indexes may have gaps.
    blocks: Vec<(usize, Growing)>,
}

#[derive(Debug, Clone)]
enum Growing {
    Text { text: String, signature: Option<String> },
    Thinking { text: String, signature: Option<String>, redacted: bool },
    Call { id: String, name: String, json: String, signature: Option<String> },
}

impl Assembler {
    /// Begins an answer of `model`.
    #[must_use]
    pub fn new(model: &Model, now: Timestamp) -> Self {
        Self {
            message: AssistantMessage {
                api: model.api.clone(),
                provider: model.provider.clone(),
                model: model.id.clone(),
                timestamp: now.as_millis(),
                ..AssistantMessage::default()
            },
            blocks: Vec::new(),
        }
    }

    /// Takes one event. [`StreamEvent::Finish`] changes nothing here: see [`Assembler::finish`].
    pub fn apply(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::BlockStart { index, block } => {
                let growing = match block {
                    BlockStart::Text => Growing::Text { text: String::new(), signature: None },
                    BlockStart::Thinking { redacted } => Growing::Thinking {
                        text: String::new(),
                        signature: None,
                        redacted: *redacted,
                    },
                    BlockStart::ToolCall { id, name } => Growing::Call {
                        id: id.clone(),
                        name: name.clone(),
                        json: String::new(),
                        signature: None,
                    },
                };
                let place = self.blocks.partition_point(|(known, _)| known <= index);
                self.blocks.insert(place, (*index, growing));
            }
            StreamEvent::Delta { index, text: more } => {
                if let Some(
                    Growing::Text { text, .. }
                    | Growing::Thinking { text, .. }
                    | Growing::Call { json: text, .. },
                ) = self.block(*index)
                {
                    text.push_str(more);
                }
            }
            StreamEvent::Signature { index, signature: whole } => {
                if let Some(
                    Growing::Text { signature, .. }
                    | Growing::Thinking { signature, .. }
                    | Growing::Call { signature, .. },
                ) = self.block(*index)
                {
                    *signature = Some(whole.clone());
                }
            }
            StreamEvent::Usage(usage) => self.message.usage = *usage,
            StreamEvent::Finish { .. } => {}
        }
    }

    fn block(&mut self, index: usize) -> Option<&mut Growing> {
        self.blocks.iter_mut().rev().find(|(known, _)| *known == index).map(|(_, block)| block)
    }

    /// What the provider counted so far.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.message.usage
    }

    /// Whether nothing that a person could read or a tool could run has arrived.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(|(_, block)| match block {
            Growing::Text { text, .. } | Growing::Thinking { text, .. } => text.trim().is_empty(),
            Growing::Call { .. } => false,
        })
    }

    /// The answer, ended for `reason`. Blocks of text without text are left out (F67); arguments that
    /// do not parse stay as a JSON string and must not be run (I12).
    #[must_use]
    pub fn finish(self, reason: StopReason, model: &Model) -> AssistantMessage {
        let mut message = self.message;
        message.stop_reason = reason;
        message.usage.cost = model.cost(&message.usage);
        message.content = self.blocks.into_iter().filter_map(|(_, block)| close(block)).collect();
        message
    }
}

fn close(block: Growing) -> Option<Block> {
    match block {
        Growing::Text { text, signature } => {
            (!text.is_empty()).then_some(Block::Text { text, text_signature: signature })
        }
        Growing::Thinking { text, signature, redacted } => {
            (!text.is_empty() || signature.is_some()).then(|| Block::Thinking {
                thinking: text,
                thinking_signature: signature,
                redacted: redacted.then_some(true),
            })
        }
        Growing::Call { id, name, json, signature } => Some(Block::ToolCall(ToolCall {
            id,
            name,
            arguments: parse_arguments(json),
            thought_signature: signature,
        })),
    }
}

/// Empty arguments mean none (F63); text that is not a JSON object is kept as text.
fn parse_arguments(json: String) -> Value {
    if json.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str::<Value>(&json) {
        Ok(arguments @ Value::Object(_)) => arguments,
        _ => Value::String(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn model() -> Model {
        serde_json::from_value(json!({
            "provider": "p", "id": "m", "api": "a", "contextWindow": 1000, "maxTokens": 100,
            "price": {"input": 1.0, "output": 2.0}
        }))
        .unwrap()
    }

    fn start(index: usize, block: BlockStart) -> StreamEvent {
        StreamEvent::BlockStart { index, block }
    }

    fn delta(index: usize, text: &str) -> StreamEvent {
        StreamEvent::Delta { index, text: text.into() }
    }

    fn call(index: usize, id: &str) -> StreamEvent {
        start(index, BlockStart::ToolCall { id: id.into(), name: "read".into() })
    }

    fn assemble(events: &[StreamEvent]) -> AssistantMessage {
        let model = model();
        let mut assembler = Assembler::new(&model, Timestamp::from_millis(7));
        for event in events {
            assembler.apply(event);
        }
        assembler.finish(StopReason::Stop, &model)
    }

    #[test]
    fn p2_blocks_keep_their_order_and_interleave() {
        let message = assemble(&[
            start(0, BlockStart::Thinking { redacted: false }),
            delta(0, "hm"),
            call(2, "b"),
            call(1, "a"),
            delta(1, "{\"path\":"),
            delta(2, "{\"path\":\"y\"}"),
            delta(1, "\"x\"}"),
            StreamEvent::Signature { index: 0, signature: "s".into() },
        ]);
        let calls: Vec<_> =
            message.tool_calls().map(|call| (&*call.id, &call.arguments["path"])).collect();
        assert_eq!(calls, [("a", &json!("x")), ("b", &json!("y"))]);
        assert!(
            matches!(&message.content[0], Block::Thinking { thinking_signature: Some(s), .. } if s == "s")
        );
    }

    #[test]
    fn f63_cut_arguments_stay_text_and_empty_ones_are_none() {
        let message = assemble(&[call(0, "a"), delta(0, "{\"path\": \"x"), call(1, "b")]);
        let arguments: Vec<_> = message.tool_calls().map(|call| call.arguments.clone()).collect();
        assert_eq!(arguments, [json!("{\"path\": \"x"), json!({})]);
    }

    #[test]
    fn f67_empty_text_is_left_out_and_usage_is_priced() {
        let usage = Usage { input: 1_000_000, output: 500_000, ..Usage::default() };
        let message = assemble(&[start(0, BlockStart::Text), StreamEvent::Usage(usage)]);
        assert!(message.content.is_empty());
        assert!((message.usage.cost.total - 2.0).abs() < 1e-9);
    }
}
