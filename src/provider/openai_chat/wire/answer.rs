//! The stream of a Chat Completions answer, from any server that claims to speak it.
//!
//! Terminal signals: `finish_reason` or `[DONE]`, whichever a server sends (F60, F61). Errors inside
//! the stream are errors (F62). Tool calls are told apart by [`calls`](super::calls).

use serde_json::Value;

use super::calls::Calls;
use super::usage::read_usage;
use crate::message::StopReason;
use crate::provider::decode::{self, Decode, Progress};
use crate::provider::sse::Frame;
use crate::provider::{BlockStart, ProviderError, StreamEvent};

/// The fields under which servers send reasoning; of several in one chunk the first counts.
const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// Decodes one answer.
#[derive(Debug)]
pub struct ChatDecoder {
    provider: String,
    /// The number of the next block.
    next: usize,
    open: Open,
    calls: Calls,
    /// OpenRouter's `reasoning_details`, joined; they go back as they came.
    details: Vec<Value>,
    details_block: Option<usize>,
    finish: Option<StopReason>,
}

/// The block that text or reasoning goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    None,
    Text(usize),
    Thinking(usize),
}

impl Decode for ChatDecoder {
    fn frame(
        &mut self,
        frame: &Frame,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Progress, ProviderError> {
        let data = frame.data.trim();
        if data.is_empty() {
            return Ok(self.progress());
        }
        if data == "[DONE]" {
            self.finish(events);
            return Ok(Progress::Done);
        }
        let chunk = decode::parse(&self.provider, data)?;
        let failed = frame.event.as_deref() == Some("error")
            || chunk.get("error").is_some_and(|error| !error.is_null())
            || chunk.get("object").and_then(Value::as_str) == Some("error");
        if failed {
            return Err(decode::reported(&self.provider, data));
        }
        if let Some(choice) = first_choice(&chunk) {
            self.choice(choice, events)?;
        }
        if let Some(usage) = read_usage(&chunk) {
            events.push(StreamEvent::Usage(usage));
        }
        Ok(self.progress())
    }

    fn end(&mut self, events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if self.finish.is_some() {
            self.finish(events);
            return Ok(());
        }
        Err(decode::cut(&self.provider))
    }
}

impl ChatDecoder {
    /// For one answer of `provider`, whose name is for messages.
    #[must_use]
    pub fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            next: 0,
            open: Open::None,
            calls: Calls::default(),
            details: Vec::new(),
            details_block: None,
            finish: None,
        }
    }

    fn progress(&self) -> Progress {
        if self.finish.is_some() { Progress::Settled } else { Progress::Open }
    }

    fn choice(
        &mut self,
        choice: &Value,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        // Servers that do not stream send `message` instead.
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.delta(delta, events);
        }
        match choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default() {
            "" => {}
            "content_filter" => {
                return Err(decode::refused(&self.provider, "filtered the answer"));
            }
            "error" => return Err(decode::reported(&self.provider, &choice.to_string())),
            "length" => self.finish = Some(StopReason::Length),
            "tool_calls" | "function_call" => self.finish = Some(StopReason::ToolUse),
            _ => self.finish = Some(StopReason::Stop),
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, events: &mut Vec<StreamEvent>) {
        if let Some((field, text)) = reasoning_text(delta) {
            self.thinking(field, text, events);
        }
        for detail in list(delta.get("reasoning_details")) {
            self.reasoning_detail(detail, events);
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.text(text, events),
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, events);
                }
            }
            _ => {}
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str) {
            self.text(text, events);
        }
        for call in list(delta.get("tool_calls")) {
            if self.calls.take(call, &mut self.next, events) {
                self.open = Open::None;
            }
        }
    }

    /// A part of a content list, in the manner of Mistral.
    fn part(&mut self, part: &Value, events: &mut Vec<StreamEvent>) {
        let text = |value: &Value| value.get("text").and_then(Value::as_str).map(str::to_owned);
        match part.get("type").and_then(Value::as_str) {
            Some("thinking") => match part.get("thinking") {
                Some(Value::String(thinking)) => self.thinking("thinking", thinking, events),
                thinking => {
                    for inner in list(thinking).iter().filter_map(text) {
                        self.thinking("thinking", &inner, events);
                    }
                }
            },
            _ => {
                if let Some(text) = text(part) {
                    self.text(&text, events);
                }
            }
        }
    }

    fn text(&mut self, text: &str, events: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let index = match self.open {
            Open::Text(index) => index,
            _ => {
                let index = self.start(BlockStart::Text, events);
                self.open = Open::Text(index);
                index
            }
        };
        events.push(StreamEvent::Delta { index, text: text.to_owned() });
    }

    /// The signature of such reasoning is the name of its field, for sending it back.
    fn thinking(&mut self, field: &str, text: &str, events: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let index = match self.open {
            Open::Thinking(index) => index,
            _ => {
                let index = self.start(BlockStart::Thinking { redacted: false }, events);
                self.open = Open::Thinking(index);
                events.push(StreamEvent::Signature { index, signature: field.to_owned() });
                index
            }
        };
        self.details_block.get_or_insert(index);
        events.push(StreamEvent::Delta { index, text: text.to_owned() });
    }

    /// Collects a detail; pieces of one detail are joined by their index.
    fn reasoning_detail(&mut self, detail: &Value, events: &mut Vec<StreamEvent>) {
        if self.details_block.is_none() {
            let index = self.start(BlockStart::Thinking { redacted: true }, events);
            self.details_block = Some(index);
        }
        let same = |known: &&mut Value| {
            ["type", "index"].iter().all(|name| known.get(name) == detail.get(name))
                && detail.get("index").is_some()
        };
        let known = self.details.iter_mut().find(same).and_then(Value::as_object_mut);
        match (known, detail.as_object()) {
            (Some(known), Some(detail)) => {
                for (name, more) in detail {
                    let text_field = matches!(name.as_str(), "text" | "summary" | "data");
                    match (known.get_mut(name), more) {
                        (Some(Value::String(text)), Value::String(more)) if text_field => {
                            text.push_str(more);
                        }
                        (_, Value::Null) => {}
                        _ => {
                            known.insert(name.clone(), more.clone());
                        }
                    }
                }
            }
            _ => self.details.push(detail.clone()),
        }
    }

    fn start(&mut self, block: BlockStart, events: &mut Vec<StreamEvent>) -> usize {
        let index = self.next;
        self.next += 1;
        events.push(StreamEvent::BlockStart { index, block });
        index
    }

    fn finish(&mut self, events: &mut Vec<StreamEvent>) {
        self.calls.close(&mut self.next, events);
        if let (Some(index), false) = (self.details_block, self.details.is_empty()) {
            let signature = Value::Array(std::mem::take(&mut self.details)).to_string();
            events.push(StreamEvent::Signature { index, signature });
        }
        // Some servers say `stop` after tool calls, some say nothing at all (F61).
        let reason = match self.finish {
            Some(StopReason::Length) => StopReason::Length,
            _ if !self.calls.is_empty() => StopReason::ToolUse,
            _ => StopReason::Stop,
        };
        events.push(StreamEvent::Finish { reason });
    }
}

/// The answer that was asked for; more than one never is.
fn first_choice(chunk: &Value) -> Option<&Value> {
    list(chunk.get("choices"))
        .iter()
        .find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

fn reasoning_text(delta: &Value) -> Option<(&'static str, &str)> {
    REASONING_FIELDS.into_iter().find_map(|field| {
        let text = delta.get(field)?.as_str()?;
        (!text.is_empty()).then_some((field, text))
    })
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
