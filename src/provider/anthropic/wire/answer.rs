//! The stream of a Messages answer. Terminal signal: `message_stop` (F60).

use serde_json::Value;

use crate::message::{StopReason, Usage};
use crate::provider::decode::{self, Decode, Progress};
use crate::provider::sse::Frame;
use crate::provider::{BlockStart, ProviderError, StreamEvent};

/// Decodes one answer.
#[derive(Debug)]
pub struct MessagesDecoder {
    provider: String,
    /// The number of the next block.
    next: usize,
    /// The block that stands at each of the server's numbers now.
    open: Vec<Open>,
    usage: Usage,
    calls: bool,
    reason: Option<StopReason>,
}

#[derive(Debug)]
struct Open {
    wire: u64,
    /// `None` for a kind of block that is not known here.
    block: Option<usize>,
    /// Arguments that came with the start; they count if no others follow.
    whole_input: Option<String>,
    signature: String,
}

impl MessagesDecoder {
    /// For one answer of `provider`, whose name is for messages.
    #[must_use]
    pub fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            next: 0,
            open: Vec::new(),
            usage: Usage::default(),
            calls: false,
            reason: None,
        }
    }

    fn start(&mut self, block: BlockStart, events: &mut Vec<StreamEvent>) -> usize {
        let index = self.next;
        self.next += 1;
        self.calls |= matches!(block, BlockStart::ToolCall { .. });
        events.push(StreamEvent::BlockStart { index, block });
        index
    }

    fn block_start(&mut self, event: &Value, events: &mut Vec<StreamEvent>) {
        let wire = number(event, "index");
        let content = &event["content_block"];
        let words = |name: &str| content[name].as_str().unwrap_or_default();
        let mut whole_input = None;
        let block = match words("type") {
            "text" => {
                let index = self.start(BlockStart::Text, events);
                push_delta(index, words("text"), events);
                Some(index)
            }
            "thinking" => {
                let index = self.start(BlockStart::Thinking { redacted: false }, events);
                push_delta(index, words("thinking"), events);
                push_signature(index, words("signature"), events);
                Some(index)
            }
            "redacted_thinking" => {
                let index = self.start(BlockStart::Thinking { redacted: true }, events);
                push_signature(index, words("data"), events);
                Some(index)
            }
            "tool_use" => {
                let id = match words("id") {
                    "" => format!("call_{}", self.next),
                    id => id.to_owned(),
                };
                let input = content["input"].as_object().filter(|input| !input.is_empty());
                whole_input = input.map(|input| Value::Object(input.clone()).to_string());
                let name = words("name").to_owned();
                Some(self.start(BlockStart::ToolCall { id, name }, events))
            }
            _ => None,
        };
        self.stop(wire, events);
        self.open.push(Open { wire, block, whole_input, signature: String::new() });
    }

    fn block_delta(&mut self, event: &Value, events: &mut Vec<StreamEvent>) {
        let wire = number(event, "index");
        let delta = &event["delta"];
        let words = |name: &str| delta[name].as_str().unwrap_or_default();
        let kind = words("type");
        let mut signature = String::new();
        let known = self.open.iter_mut().rev().find(|open| open.wire == wire);
        let block = match (known, kind) {
            (Some(open), _) => {
                if kind == "signature_delta" {
                    open.signature.push_str(words("signature"));
                    signature.clone_from(&open.signature);
                }
                if kind == "input_json_delta" && !words("partial_json").is_empty() {
                    open.whole_input = None;
                }
                open.block
            }
            // A proxy lost the start; the words are not to be lost as well.
            (None, "text_delta") => {
                let index = self.start(BlockStart::Text, events);
                self.open.push(Open {
                    wire,
                    block: Some(index),
                    whole_input: None,
                    signature: String::new(),
                });
                Some(index)
            }
            (None, _) => None,
        };
        let Some(index) = block else { return };
        match kind {
            "text_delta" => push_delta(index, words("text"), events),
            "thinking_delta" => push_delta(index, words("thinking"), events),
            "input_json_delta" => push_delta(index, words("partial_json"), events),
            "signature_delta" => push_signature(index, &signature, events),
            _ => {}
        }
    }

    /// Nothing more will come for this number of the server's.
    fn stop(&mut self, wire: u64, events: &mut Vec<StreamEvent>) {
        self.open.retain(|open| {
            let stays = open.wire != wire;
            if let (false, Some(index), Some(input)) = (stays, open.block, &open.whole_input) {
                push_delta(index, input, events);
            }
            stays
        });
    }

    fn take_usage(&mut self, usage: &Value, events: &mut Vec<StreamEvent>) {
        let mut take = |name: &str, place: fn(&mut Usage) -> &mut u64| {
            if let Some(count) = usage[name].as_u64() {
                *place(&mut self.usage) = count;
            }
        };
        take("input_tokens", |usage| &mut usage.input);
        take("output_tokens", |usage| &mut usage.output);
        take("cache_read_input_tokens", |usage| &mut usage.cache_read);
        take("cache_creation_input_tokens", |usage| &mut usage.cache_write);
        self.usage.total_tokens = self.usage.prompt_tokens() + self.usage.output;
        if usage.is_object() {
            events.push(StreamEvent::Usage(self.usage));
        }
    }

    fn take_reason(&mut self, reason: &str) -> Result<(), ProviderError> {
        self.reason = match reason {
            "" => return Ok(()),
            "refusal" => return Err(decode::refused(&self.provider, "refused to answer")),
            "max_tokens" | "model_context_window_exceeded" => Some(StopReason::Length),
            "tool_use" => Some(StopReason::ToolUse),
            _ => Some(StopReason::Stop),
        };
        Ok(())
    }

    fn finish(&mut self, events: &mut Vec<StreamEvent>) {
        while let Some(wire) = self.open.first().map(|open| open.wire) {
            self.stop(wire, events);
        }
        let reason = match self.reason {
            Some(StopReason::Length) => StopReason::Length,
            _ if self.calls => StopReason::ToolUse,
            _ => StopReason::Stop,
        };
        events.push(StreamEvent::Finish { reason });
    }
}

impl Decode for MessagesDecoder {
    fn frame(
        &mut self,
        frame: &Frame,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Progress, ProviderError> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Progress::Open);
        }
        let event = decode::parse(&self.provider, data)?;
        match event["type"].as_str().or(frame.event.as_deref()).unwrap_or_default() {
            "message_start" => self.take_usage(&event["message"]["usage"], events),
            "content_block_start" => self.block_start(&event, events),
            "content_block_delta" => self.block_delta(&event, events),
            "content_block_stop" => self.stop(number(&event, "index"), events),
            "message_delta" => {
                self.take_usage(&event["usage"], events);
                self.take_reason(event["delta"]["stop_reason"].as_str().unwrap_or_default())?;
            }
            "message_stop" => {
                self.finish(events);
                return Ok(Progress::Done);
            }
            "error" => return Err(decode::reported(&self.provider, data)),
            _ if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(decode::reported(&self.provider, data));
            }
            _ => {}
        }
        Ok(Progress::Open)
    }

    fn end(&mut self, _events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        Err(decode::cut(&self.provider))
    }
}

fn number(event: &Value, name: &str) -> u64 {
    event[name].as_u64().unwrap_or(0)
}

fn push_delta(index: usize, text: &str, events: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        events.push(StreamEvent::Delta { index, text: text.to_owned() });
    }
}

fn push_signature(index: usize, signature: &str, events: &mut Vec<StreamEvent>) {
    if !signature.is_empty() {
        events.push(StreamEvent::Signature { index, signature: signature.to_owned() });
    }
}
