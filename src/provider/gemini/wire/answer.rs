//! The stream of a Gemini answer. Terminal signals: a `finishReason`, or the regular end of the body
//! after something was said (F60); a call never comes in pieces.

use serde_json::Value;

use crate::message::{StopReason, Usage};
use crate::provider::decode::{self, Decode, Progress};
use crate::provider::sse::Frame;
use crate::provider::{BlockStart, ErrorKind, ProviderError, StreamEvent};

/// Decodes one answer.
#[derive(Debug)]
pub struct GeminiDecoder {
    provider: String,
    /// The number of the next block.
    next: usize,
    open: Option<Open>,
    calls: bool,
    /// Something other than thoughts has come.
    answers: bool,
    finish: Option<StopReason>,
}

/// The block that text goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    block: usize,
    is_thought: bool,
    is_signed: bool,
}

impl GeminiDecoder {
    /// For one answer of `provider`, whose name is for messages.
    #[must_use]
    pub fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            next: 0,
            open: None,
            calls: false,
            answers: false,
            finish: None,
        }
    }

    fn start(&mut self, block: BlockStart, events: &mut Vec<StreamEvent>) -> usize {
        let index = self.next;
        self.next += 1;
        events.push(StreamEvent::BlockStart { index, block });
        index
    }

    fn part(&mut self, part: &Value, events: &mut Vec<StreamEvent>) {
        let signature = part["thoughtSignature"].as_str().filter(|text| !text.is_empty());
        if part["functionCall"].is_object() {
            return self.call(&part["functionCall"], signature, events);
        }
        let Some(text) = part["text"].as_str() else { return };
        let is_thought = part["thought"].as_bool().unwrap_or(false);
        if text.is_empty() {
            // A signature alone belongs to what was said last.
            if let (Some(open), Some(signature)) = (&mut self.open, signature) {
                open.is_signed = true;
                events.push(sign(open.block, signature));
            }
            return;
        }
        self.answers |= !is_thought;
        // A signed part is whole: what follows is another one.
        let open = self.open.filter(|open| open.is_thought == is_thought && !open.is_signed);
        let mut open = open.unwrap_or_else(|| {
            let block = match is_thought {
                true => BlockStart::Thinking { redacted: false },
                false => BlockStart::Text,
            };
            Open { block: self.start(block, events), is_thought, is_signed: false }
        });
        events.push(StreamEvent::Delta { index: open.block, text: text.to_owned() });
        if let Some(signature) = signature {
            open.is_signed = true;
            events.push(sign(open.block, signature));
        }
        self.open = Some(open);
    }

    fn call(&mut self, call: &Value, signature: Option<&str>, events: &mut Vec<StreamEvent>) {
        self.open = None;
        self.calls = true;
        self.answers = true;
        let id = call["id"].as_str().filter(|id| !id.is_empty());
        let id = id.map_or_else(|| format!("call_{}", self.next), str::to_owned);
        let name = call["name"].as_str().unwrap_or_default().to_owned();
        let index = self.start(BlockStart::ToolCall { id, name }, events);
        if let Some(arguments) = call.get("args").filter(|arguments| !arguments.is_null()) {
            events.push(StreamEvent::Delta { index, text: arguments.to_string() });
        }
        events.extend(signature.map(|signature| sign(index, signature)));
    }

    fn take_reason(&mut self, candidate: &Value) -> Result<(), ProviderError> {
        let reason = candidate["finishReason"].as_str().unwrap_or_default();
        self.finish = match reason {
            "" | "FINISH_REASON_UNSPECIFIED" => return Ok(()),
            "STOP" => Some(StopReason::Stop),
            "MAX_TOKENS" => Some(StopReason::Length),
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "OTHER" => {
                let detail = candidate["finishMessage"].as_str().unwrap_or_default();
                let message = format!("{} ended the answer with {reason} {detail}", self.provider);
                return Err(ProviderError::new(ErrorKind::Cut, message.trim_end()));
            }
            _ => {
                return Err(decode::refused(
                    &self.provider,
                    &format!("stopped the answer: {reason}"),
                ));
            }
        };
        Ok(())
    }

    fn finish(&mut self, events: &mut Vec<StreamEvent>) {
        let reason = match self.finish {
            Some(StopReason::Length) => StopReason::Length,
            _ if self.calls => StopReason::ToolUse,
            _ => StopReason::Stop,
        };
        events.push(StreamEvent::Finish { reason });
    }
}

impl Decode for GeminiDecoder {
    fn frame(
        &mut self,
        frame: &Frame,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Progress, ProviderError> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            self.finish(events);
            return Ok(Progress::Done);
        }
        if !data.is_empty() {
            let chunk = decode::parse(&self.provider, data)?;
            if chunk.get("error").is_some_and(|error| !error.is_null()) {
                return Err(decode::reported(&self.provider, data));
            }
            if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
                let what = format!("blocked the request: {reason}");
                return Err(decode::refused(&self.provider, &what));
            }
            let candidate = &chunk["candidates"][0];
            for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
                self.part(part, events);
            }
            events.extend(read_usage(&chunk["usageMetadata"]).map(StreamEvent::Usage));
            self.take_reason(candidate)?;
        }
        Ok(if self.finish.is_some() { Progress::Settled } else { Progress::Open })
    }

    fn end(&mut self, events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        // Without a reason, the end of the body is the end of an answer that has said something (F60).
        if self.finish.is_none() && !self.answers {
            return Err(decode::cut(&self.provider));
        }
        self.finish(events);
        Ok(())
    }
}

fn sign(index: usize, signature: &str) -> StreamEvent {
    StreamEvent::Signature { index, signature: signature.to_owned() }
}

fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |name: &str| usage[name].as_u64().unwrap_or(0);
    let prompt = number("promptTokenCount") + number("toolUsePromptTokenCount");
    let cache_read = number("cachedContentTokenCount");
    let output = number("candidatesTokenCount") + number("thoughtsTokenCount");
    let total = number("totalTokenCount");
    usage.is_object().then(|| Usage {
        input: prompt.saturating_sub(cache_read),
        output,
        cache_read,
        total_tokens: if total > 0 { total } else { prompt + output },
        ..Usage::default()
    })
}
