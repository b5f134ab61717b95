//! The stream of a Responses answer. Terminal signals: `response.completed`, `.incomplete` and
//! `.failed` (F60); there is no `[DONE]`.

use serde_json::{Value, json};

use crate::message::{StopReason, Usage};
use crate::provider::decode::{self, Decode, Progress};
use crate::provider::sse::Frame;
use crate::provider::{BlockStart, ProviderError, StreamEvent};

/// Decodes one answer.
#[derive(Debug)]
pub struct ResponsesDecoder {
    provider: String,
    /// The number of the next block.
    next: usize,
    items: Vec<Item>,
    calls: bool,
    /// Output tokens that the request allowed.
    limit: u64,
}

/// An item of the answer, which is one block here.
#[derive(Debug)]
struct Item {
    /// The server's number or, where it sends none, its id.
    key: Key,
    kind: Kind,
    block: usize,
    /// Whether deltas have come; the whole at the end is for those who send none.
    has_deltas: bool,
    done: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    Number(u64),
    Id(String),
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    Call,
}

impl Key {
    fn of(event: &Value) -> Self {
        if let Some(number) = event["output_index"].as_u64() {
            return Self::Number(number);
        }
        let id = event["item_id"].as_str().or_else(|| event["item"]["id"].as_str());
        id.map_or(Self::None, |id| Self::Id(id.to_owned()))
    }
}

impl ResponsesDecoder {
    /// For one answer of `provider`, whose name is for messages, to a request that allowed it
    /// `limit` tokens.
    #[must_use]
    pub fn new(provider: &str, limit: u64) -> Self {
        Self { provider: provider.to_owned(), next: 0, items: Vec::new(), calls: false, limit }
    }

    /// Begins the block of an item, unless it is of a kind that is not known here.
    fn added(&mut self, key: Key, item: &Value, events: &mut Vec<StreamEvent>) {
        let words = |name: &str| item[name].as_str().unwrap_or_default();
        let (kind, block) = match words("type") {
            "message" => (Kind::Text, BlockStart::Text),
            "reasoning" => (Kind::Reasoning, BlockStart::Thinking { redacted: false }),
            "function_call" => {
                let id = [words("call_id"), words("id")].into_iter().find(|id| !id.is_empty());
                let id = id.map_or_else(|| format!("call_{}", self.next), str::to_owned);
                (Kind::Call, BlockStart::ToolCall { id, name: words("name").to_owned() })
            }
            _ => return,
        };
        self.begin(key, kind, block, events);
    }

    fn begin(
        &mut self,
        key: Key,
        kind: Kind,
        block: BlockStart,
        events: &mut Vec<StreamEvent>,
    ) -> usize {
        let index = self.next;
        self.next += 1;
        self.calls |= kind == Kind::Call;
        events.push(StreamEvent::BlockStart { index, block });
        self.items.push(Item { key, kind, block: index, has_deltas: false, done: false });
        self.items.len() - 1
    }

    /// The item of this kind that an event belongs to. Without a number or id, the newest one.
    fn find(&self, key: &Key, kind: Kind) -> Option<usize> {
        self.items.iter().rposition(|item| {
            item.kind == kind && !item.done && (item.key == *key || *key == Key::None)
        })
    }

    fn delta(&mut self, event: &Value, kind: Kind, events: &mut Vec<StreamEvent>) {
        let text = event["delta"].as_str().unwrap_or_default();
        if text.is_empty() {
            return;
        }
        let key = Key::of(event);
        let place = match (self.find(&key, kind), kind) {
            (Some(place), _) => place,
            // The start was lost; words are not to be lost as well.
            (None, Kind::Text) => self.begin(key, kind, BlockStart::Text, events),
            (None, Kind::Reasoning) => {
                self.begin(key, kind, BlockStart::Thinking { redacted: false }, events)
            }
            (None, Kind::Call) => return,
        };
        self.push(place, text, events);
    }

    fn push(&mut self, place: usize, text: &str, events: &mut Vec<StreamEvent>) {
        let item = &mut self.items[place];
        item.has_deltas = true;
        events.push(StreamEvent::Delta { index: item.block, text: text.to_owned() });
    }

    /// Parts of a summary are paragraphs.
    fn next_part(&mut self, event: &Value, events: &mut Vec<StreamEvent>) {
        let place = self.find(&Key::of(event), Kind::Reasoning);
        if let Some(place) = place.filter(|place| self.items[*place].has_deltas) {
            self.push(place, "\n\n", events);
        }
    }

    /// Ends the block of an item: what no delta brought is taken from the whole.
    fn done(&mut self, key: &Key, item: &Value, events: &mut Vec<StreamEvent>) {
        let kind = match item["type"].as_str() {
            Some("message") => Kind::Text,
            Some("reasoning") => Kind::Reasoning,
            Some("function_call") => Kind::Call,
            _ => return,
        };
        if self.find(key, kind).is_none() {
            self.added(key.clone(), item, events);
        }
        let Some(place) = self.find(key, kind) else { return };
        if !self.items[place].has_deltas {
            let whole = whole_text(item);
            if !whole.is_empty() {
                self.push(place, &whole, events);
            }
        }
        let index = self.items[place].block;
        self.items[place].done = true;
        if let Some(signature) = signature(kind, item) {
            events.push(StreamEvent::Signature { index, signature });
        }
    }

    /// The end of the answer; a server that sent no items on the way has them all here.
    fn completed(
        &mut self,
        response: &Value,
        reason: StopReason,
        events: &mut Vec<StreamEvent>,
    ) -> Progress {
        if self.items.is_empty() {
            for (number, item) in list(&response["output"]).iter().enumerate() {
                self.done(&Key::Number(number as u64), item, events);
            }
        }
        let usage = read_usage(&response["usage"]);
        // llama.cpp calls an answer complete that its limit cut off; the figures tell.
        let ran_out = usage.is_some_and(|usage| usage.output >= self.limit);
        events.extend(usage.map(StreamEvent::Usage));
        let reason = match reason {
            StopReason::Stop if ran_out => StopReason::Length,
            StopReason::Stop if self.calls => StopReason::ToolUse,
            reason => reason,
        };
        events.push(StreamEvent::Finish { reason });
        Progress::Done
    }

    fn incomplete(
        &mut self,
        response: &Value,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Progress, ProviderError> {
        if response["incomplete_details"]["reason"] == "content_filter" {
            return Err(decode::refused(&self.provider, "filtered the answer"));
        }
        Ok(self.completed(response, StopReason::Length, events))
    }
}

impl Decode for ResponsesDecoder {
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
            "response.output_item.added" => self.added(Key::of(&event), &event["item"], events),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.delta(&event, Kind::Text, events);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.delta(&event, Kind::Reasoning, events);
            }
            "response.reasoning_summary_part.added" => self.next_part(&event, events),
            "response.function_call_arguments.delta" => self.delta(&event, Kind::Call, events),
            "response.output_item.done" => self.done(&Key::of(&event), &event["item"], events),
            "response.completed" | "response.done" => {
                return Ok(self.completed(&event["response"], StopReason::Stop, events));
            }
            "response.incomplete" => return self.incomplete(&event["response"], events),
            "response.failed" | "response.cancelled" => {
                let error = json!({"error": event["response"]["error"]});
                return Err(decode::reported(&self.provider, &error.to_string()));
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

/// All that an item says, for servers that send no deltas.
fn whole_text(item: &Value) -> String {
    if let Some(arguments) = item["arguments"].as_str() {
        return arguments.to_owned();
    }
    let parts = |name: &str| -> Vec<&str> { list(&item[name]).iter().map(part_text).collect() };
    match item["type"].as_str() {
        Some("reasoning") => {
            let summary = parts("summary").join("\n\n");
            if summary.is_empty() { parts("content").concat() } else { summary }
        }
        _ => parts("content").concat(),
    }
}

fn part_text(part: &Value) -> &str {
    part["text"].as_str().or_else(|| part["refusal"].as_str()).unwrap_or_default()
}

/// What must come back with the item: reasoning whole, of texts what they were meant as.
fn signature(kind: Kind, item: &Value) -> Option<String> {
    match kind {
        Kind::Reasoning => {
            let mut item = item.as_object()?.clone();
            item.remove("status");
            item.entry("summary").or_insert_with(|| json!([]));
            Some(Value::Object(item).to_string())
        }
        Kind::Text => {
            let phase = item.get("phase").filter(|phase| phase.is_string())?;
            Some(json!({"v": 1, "id": item["id"], "phase": phase}).to_string())
        }
        Kind::Call => None,
    }
}

fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |place: &str| usage.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    let (input, output) = (number("/input_tokens"), number("/output_tokens"));
    let cache_read = number("/input_tokens_details/cached_tokens");
    let cache_write = number("/input_tokens_details/cache_write_tokens");
    let total = number("/total_tokens");
    usage.is_object().then(|| Usage {
        input: input.saturating_sub(cache_read + cache_write),
        output,
        cache_read,
        cache_write,
        total_tokens: if total > 0 { total } else { input + output },
        ..Usage::default()
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
