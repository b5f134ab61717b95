//! From a line to its node without building the body (SPEC J11).
//!
//! Messages of the frequent roles are skimmed; everything else is small or rare and is read whole.
//! The result is the node that [`describe`] makes of the whole entry; a test holds the two together.

use std::sync::Arc;

use super::skim::{Cursor, Text, compact_weight};
use crate::compaction::tokens::Estimator;
use crate::ids::{EntryId, Timestamp};
use crate::message::{Cost, StopReason, Usage};
use crate::session::describe::{OneLine, describe, preview_of_call};
use crate::session::entry::{LEAF_MARK, SessionEntry};
use crate::session::tree::{AnswerFacts, LineSpan, ModelRef, Node, NodeKind};

/// What a line says about itself.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) node: Node,
    pub(super) parent: Said,
    /// The body is not what its type promises: the entry has its place, but says nothing.
    pub(super) broken_body: bool,
}

/// What a line says about its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// `null`: it is a root.
    Root,
    /// The entry of this id.
    Id(EntryId),
    /// Nothing.
    Unsaid,
}

/// The first object of a line.
#[derive(Debug)]
pub(super) enum Object {
    /// An entry.
    Entry(Facts),
    /// An object without an id.
    Anonymous {
        /// It is what version 1 had for an entry.
        is_entry: bool,
    },
    /// A session header.
    Header,
}

/// Reads lines one after the other; remembers names that come again and again.
#[derive(Debug)]
pub(super) struct Skimmer {
    estimator: Estimator,
    model: ModelRef,
    tool: Arc<str>,
    /// The id of the entry before, which is the parent of most.
    previous: EntryId,
    /// Where previews are put together.
    preview: String,
}

/// The top-level fields that say where an entry belongs.
#[derive(Default)]
struct Head<'a> {
    kind: Option<Text<'a>>,
    id: Option<Text<'a>>,
    /// `Some(None)` is `null`.
    parent: Option<Option<Text<'a>>>,
    timestamp: Option<Timestamp>,
    message: Option<MessageFacts<'a>>,
    custom_type: Option<Text<'a>>,
}

impl Skimmer {
    pub(super) fn new(estimator: Estimator) -> Self {
        let (model, previous) = (ModelRef::new("", ""), EntryId::new(""));
        Self { estimator, model, tool: Arc::from(""), previous, preview: String::new() }
    }

    /// The object that a line begins with, and its length; `None` when there is no whole one.
    ///
    /// The node's span covers the object, from `offset` on.
    pub(super) fn object(&mut self, line: &str, offset: u64) -> Option<(Object, usize)> {
        let mut cursor = Cursor::new(line);
        cursor.peek()?;
        let start = cursor.position();
        let mut head = Head::default();
        head.read(&mut cursor, self.estimator)?;
        let len = cursor.position();
        let json = &line[start..len];
        let span = LineSpan { offset: offset + start as u64, len: u32::try_from(json.len()).ok()? };
        let kind = head.kind.unwrap_or_default().to_cow();
        if kind == "session" {
            return Some((Object::Header, len));
        }
        let Some(id) = head.id.map(entry_id) else {
            let is_entry = head.timestamp.is_some() && head.kind.is_some();
            return Some((Object::Anonymous { is_entry }, len));
        };
        let parent = match head.parent {
            None => Said::Unsaid,
            Some(None) => Said::Root,
            Some(Some(parent)) if parent.raw == self.previous.as_str() => {
                Said::Id(self.previous.clone())
            }
            Some(Some(parent)) => Said::Id(entry_id(parent)),
        };
        self.previous = id.clone();
        let (node, broken_body) = match self.skimmed(&kind, &head, &id, span) {
            Some(node) => (node, false),
            None => match serde_json::from_str::<SessionEntry>(json) {
                Ok(entry) => (describe(&entry, self.estimator, span), false),
                Err(_) => (husk(id, &kind, head.timestamp, span), true),
            },
        };
        Some((Object::Entry(Facts { node, parent, broken_body }), len))
    }

    /// The node of an entry whose facts are all in its head.
    fn skimmed(
        &mut self,
        kind: &str,
        head: &Head<'_>,
        id: &EntryId,
        span: LineSpan,
    ) -> Option<Node> {
        self.preview.clear();
        let (kind, tokens) = match kind {
            "message" => {
                let message = head.message.as_ref()?;
                let kind = self.kind_of(message)?;
                self.write_preview(&kind, message);
                let tokens = match kind {
                    NodeKind::User if self.estimator == Estimator::CharsPerFour => {
                        self.estimator.tokens(message.text_weight, 0)
                    }
                    _ => self.estimator.tokens(message.weight, message.images),
                };
                (kind, tokens)
            }
            "custom" => {
                let name = head.custom_type?.to_text();
                self.preview.push_str(&name);
                let is_mark = name == LEAF_MARK;
                (if is_mark { NodeKind::LeafMark } else { NodeKind::CustomData }, 0)
            }
            _ => return None,
        };
        let timestamp = head.timestamp.unwrap_or_default();
        let preview = self.preview.as_str().into();
        Some(Node { id: id.clone(), kind, timestamp, tokens, preview, span })
    }

    fn kind_of(&mut self, message: &MessageFacts<'_>) -> Option<NodeKind> {
        Some(match message.role?.plain()? {
            "user" => NodeKind::User,
            "assistant" if !message.plain_content => NodeKind::Assistant(Box::new(AnswerFacts {
                model: self.model_ref(message),
                usage: message.usage,
                stop: message.stop,
                tool_calls: message.tool_calls,
            })),
            "toolResult" => NodeKind::ToolResult {
                tool: self.tool_name(message.tool_name),
                is_error: message.is_error,
                pruned_at: message.pruned_at,
            },
            _ => return None,
        })
    }

    fn write_preview(&mut self, kind: &NodeKind, message: &MessageFacts<'_>) {
        let line = &mut self.preview;
        let is_answer = matches!(kind, NodeKind::Assistant(_));
        match (message.said, message.first_call) {
            (Some(text), _) => text.write_one_line(line),
            (None, Some((name, arguments))) if is_answer => {
                let arguments = serde_json::from_str(arguments).unwrap_or_default();
                OneLine::new(line).push_str(&preview_of_call(&name.to_text(), &arguments));
            }
            (None, _) if is_answer => {
                if let Some(error) = message.error {
                    error.write_one_line(line);
                }
            }
            _ if message.blocks > 0 => line.push_str("[image]"),
            _ => {}
        }
    }

    fn model_ref(&mut self, message: &MessageFacts<'_>) -> ModelRef {
        let provider = message.provider.unwrap_or_default().to_cow();
        let id = message.model.unwrap_or_default().to_cow();
        if *self.model.provider != *provider || *self.model.id != *id {
            self.model = ModelRef::new(provider, id);
        }
        self.model.clone()
    }

    fn tool_name(&mut self, name: Option<Text<'_>>) -> Arc<str> {
        let name = name.unwrap_or_default().to_cow();
        if *self.tool != *name {
            self.tool = Arc::from(name);
        }
        self.tool.clone()
    }
}

/// An entry whose body cannot be read, in its place.
fn husk(id: EntryId, kind: &str, timestamp: Option<Timestamp>, span: LineSpan) -> Node {
    let kind = if kind == "message" { NodeKind::OtherMessage } else { NodeKind::Unknown };
    let timestamp = timestamp.unwrap_or_default();
    Node { id, kind, timestamp, tokens: 0, preview: "(damaged)".into(), span }
}

/// The id of half an entry, and what it says about its parent, where that much is left.
pub(super) fn head_of(line: &str) -> (Option<EntryId>, Option<EntryId>) {
    let mut head = Head::default();
    // That it breaks off is no news.
    let _ = head.read(&mut Cursor::new(line), Estimator::default());
    (head.id.map(entry_id), head.parent.flatten().map(entry_id))
}

fn entry_id(text: Text<'_>) -> EntryId {
    EntryId::new(text.to_cow())
}

impl<'a> Head<'a> {
    /// Reads an object; what was found before it breaks off stays.
    fn read(&mut self, cursor: &mut Cursor<'a>, estimator: Estimator) -> Option<()> {
        cursor.object(|cursor, key| {
            match key {
                "type" => self.kind = cursor.text_or_skip()?,
                "id" => self.id = cursor.text_or_skip()?,
                "parentId" => self.parent = Some(cursor.text_or_skip()?),
                "timestamp" => self.timestamp = read_timestamp(cursor.skip()?),
                "customType" => self.custom_type = cursor.text_or_skip()?,
                "message" if cursor.peek()? == b'{' => {
                    self.message = Some(MessageFacts::read(cursor, estimator)?);
                }
                _ => {
                    cursor.skip()?;
                }
            }
            Some(())
        })
    }
}

/// What a message says that its node repeats.
#[derive(Default)]
struct MessageFacts<'a> {
    role: Option<Text<'a>>,
    /// The content is a string, not a list of blocks.
    plain_content: bool,
    weight: u64,
    /// What the texts alone weigh.
    text_weight: u64,
    images: u64,
    blocks: usize,
    tool_calls: u16,
    /// The first text that is not blank.
    said: Option<Text<'a>>,
    first_call: Option<(Text<'a>, &'a str)>,
    provider: Option<Text<'a>>,
    model: Option<Text<'a>>,
    usage: Usage,
    stop: StopReason,
    error: Option<Text<'a>>,
    tool_name: Option<Text<'a>>,
    is_error: bool,
    pruned_at: Option<Timestamp>,
}

impl<'a> MessageFacts<'a> {
    fn read(cursor: &mut Cursor<'a>, estimator: Estimator) -> Option<Self> {
        let mut facts = Self::default();
        cursor.object(|cursor, key| {
            match key {
                "role" => facts.role = cursor.text_or_skip()?,
                "content" => facts.content(cursor, estimator)?,
                "provider" => facts.provider = cursor.text_or_skip()?,
                "model" => facts.model = cursor.text_or_skip()?,
                "usage" => facts.usage = read_usage(cursor)?,
                "stopReason" => facts.stop = stop_reason(cursor.text_or_skip()?),
                "errorMessage" => facts.error = cursor.text_or_skip()?,
                "toolName" => facts.tool_name = cursor.text_or_skip()?,
                "isError" => facts.is_error = cursor.skip()? == "true",
                "prunedAt" => facts.pruned_at = number(cursor.skip()?).map(in_millis),
                _ => {
                    cursor.skip()?;
                }
            }
            Some(())
        })?;
        Some(facts)
    }

    fn content(&mut self, cursor: &mut Cursor<'a>, estimator: Estimator) -> Option<()> {
        match cursor.peek()? {
            b'"' => {
                let text = cursor.text()?;
                self.plain_content = true;
                self.text_weight = text.weight(estimator);
                self.weight = self.text_weight;
                self.said = Some(text);
                Some(())
            }
            b'[' => cursor.array(|cursor| {
                self.blocks += 1;
                if cursor.peek()? == b'{' {
                    self.block(cursor, estimator)
                } else {
                    cursor.skip().map(|_| ())
                }
            }),
            _ => cursor.skip().map(|_| ()),
        }
    }

    fn block(&mut self, cursor: &mut Cursor<'a>, estimator: Estimator) -> Option<()> {
        let (mut kind, mut text, mut thinking, mut name) = (None, None, None, None);
        let mut arguments = "null";
        cursor.object(|cursor, key| {
            match key {
                "type" => kind = cursor.text_or_skip()?,
                "text" => text = cursor.text_or_skip()?,
                "thinking" => thinking = cursor.text_or_skip()?,
                "name" => name = cursor.text_or_skip()?,
                "arguments" => arguments = cursor.skip()?,
                _ => {
                    cursor.skip()?;
                }
            }
            Some(())
        })?;
        match kind.and_then(|kind| kind.plain()) {
            Some("text") => {
                let text: Text<'_> = text.unwrap_or_default();
                let weight = text.weight(estimator);
                self.weight += weight;
                self.text_weight += weight;
                if self.said.is_none() && !text.is_blank() {
                    self.said = Some(text);
                }
            }
            Some("thinking") => {
                self.weight += thinking.map_or(0, |text: Text<'_>| text.weight(estimator));
            }
            Some("toolCall") => {
                let name: Text<'_> = name.unwrap_or_default();
                self.tool_calls = self.tool_calls.saturating_add(1);
                self.weight += name.weight(estimator) + arguments_weight(arguments, estimator);
                self.first_call.get_or_insert((name, arguments));
            }
            Some("image") => self.images += 1,
            _ => {}
        }
        Some(())
    }
}

fn arguments_weight(json: &str, estimator: Estimator) -> u64 {
    compact_weight(json, estimator).unwrap_or_else(|| {
        let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
        estimator.weight(&value.to_string())
    })
}

fn stop_reason(text: Option<Text<'_>>) -> StopReason {
    match text.and_then(|text| text.plain()) {
        None | Some("stop") => StopReason::Stop,
        Some("length") => StopReason::Length,
        Some("toolUse") => StopReason::ToolUse,
        Some("error") => StopReason::Error,
        Some("aborted") => StopReason::Aborted,
        Some(_) => StopReason::Unknown,
    }
}

fn read_usage(cursor: &mut Cursor<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    if cursor.peek()? != b'{' {
        return cursor.skip().map(|_| usage);
    }
    cursor.object(|cursor, key| {
        match key {
            "input" => usage.input = count(cursor.skip()?),
            "output" => usage.output = count(cursor.skip()?),
            "cacheRead" => usage.cache_read = count(cursor.skip()?),
            "cacheWrite" => usage.cache_write = count(cursor.skip()?),
            "totalTokens" => usage.total_tokens = count(cursor.skip()?),
            "cost" if cursor.peek()? == b'{' => usage.cost = read_cost(cursor)?,
            _ => {
                cursor.skip()?;
            }
        }
        Some(())
    })?;
    Some(usage)
}

fn read_cost(cursor: &mut Cursor<'_>) -> Option<Cost> {
    let mut cost = Cost::default();
    cursor.object(|cursor, key| {
        let place = match key {
            "input" => &mut cost.input,
            "output" => &mut cost.output,
            "cacheRead" => &mut cost.cache_read,
            "cacheWrite" => &mut cost.cache_write,
            "total" => &mut cost.total,
            _ => return cursor.skip().map(|_| ()),
        };
        *place = number(cursor.skip()?).unwrap_or_default();
        Some(())
    })?;
    Some(cost)
}

fn in_millis(number: f64) -> Timestamp {
    Timestamp::from_millis(number as i64)
}

fn number(json: &str) -> Option<f64> {
    if json == "0" { Some(0.0) } else { json.parse().ok() }
}

/// A count, however some servers write it.
fn count(json: &str) -> u64 {
    if let Ok(count) = json.parse() {
        return count;
    }
    number(json).map_or(0, |number| number.max(0.0) as u64)
}

/// A time stamp as entries have it; the common form without the detour of a calendar.
fn read_timestamp(json: &str) -> Option<Timestamp> {
    utc_millis(json.as_bytes())
        .map(Timestamp::from_millis)
        .or_else(|| serde_json::from_str(json).ok())
}

/// Milliseconds since the epoch of `"2026-01-14T15:00:37.013Z"`, quotes included.
fn utc_millis(json: &[u8]) -> Option<i64> {
    const FORM: &[u8; 26] = b"\"0000-00-00T00:00:00.000Z\"";
    let fits = json.len() == FORM.len()
        && json.iter().zip(FORM).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        });
    if !fits {
        return None;
    }
    let part = |from: usize, to: usize| {
        json[from..to].iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (part(1, 5), part(6, 8), part(9, 11));
    let (hour, minute, second) = (part(12, 14), part(15, 17), part(18, 20));
    if !(1..=12).contains(&month)
        || !(1..=28).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None; // Ends of months and leap seconds are left to the calendar.
    }
    // Days since 1970-03-01 in years that begin with March, so that leap days come last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + part(21, 24))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Skimming and reading whole must agree on every node.
    #[track_caller]
    fn check(line: &str) {
        for estimator in [Estimator::CharsPerFour, Estimator::ScriptAware] {
            let (object, len) = Skimmer::new(estimator).object(line, 7).unwrap();
            assert_eq!(len, line.len());
            let Object::Entry(facts) = object else { panic!("{line}") };
            let entry: SessionEntry = serde_json::from_str(line).unwrap();
            let span = LineSpan { offset: 7, len: line.len() as u32 };
            assert_eq!(facts.node, describe(&entry, estimator, span), "{line}");
            let parent = entry.parent_id.map_or(Said::Root, Said::Id);
            assert_eq!(facts.parent, parent);
            assert!(!facts.broken_body);
        }
    }

    fn message(message: Value) -> String {
        json!({"type": "message", "id": "a", "parentId": "b",
               "timestamp": "2026-02-28T15:00:37.013Z", "message": message})
        .to_string()
    }

    #[test]
    fn j11_skimmed_nodes_are_those_of_whole_entries() {
        check(&message(json!({"role": "user", "content": "  a\n\"b\"  "})));
        check(&message(json!({"role": "user", "content": null})));
        check(&message(json!({"role": "user", "content": [{"type": "image", "data": "AA"},
            {"type": "thinking", "thinking": "t"}, {"type": "text", "text": "t"}]})));
        check(&message(json!({"role": "user", "content": [{"type": "image", "data": "AA"}]})));
        check(&message(
            json!({"role": "user", "content": [{"type": "text", "text": " "}, {"x": 1}]}),
        ));
        check(&message(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "흠", "thinkingSignature": "s"},
            {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "é\n", "n": 1.5}},
            {"type": "toolCall", "id": "d", "name": "x"}],
            "api": "x", "provider": "p", "model": "m", "stopReason": "toolUse",
            "usage": {"input": 1.0, "output": -1, "cacheRead": null, "totalTokens": 7,
                      "cost": {"total": 0.25}}})));
        check(&message(json!({"role": "assistant", "content": [], "stopReason": "error",
            "errorMessage": "no\nway"})));
        check(&message(json!({"role": "assistant", "content": null, "stopReason": "odd"})));
        check(&message(json!({"role": "toolResult", "toolCallId": "c", "toolName": "bash",
            "content": [{"type": "text", "text": ""}], "isError": true, "prunedAt": 5})));
        check(&message(json!({"role": "bashExecution", "command": "ls", "output": "x"})));
        check(&message(json!({"role": "developer", "content": "x"})));
        let entry = |kind: &str, more: &str| {
            format!(
                "{{\"type\":\"{kind}\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2024-02-29T23:59:59.999Z\"{more}}}"
            )
        };
        check(&entry("custom", ",\"customType\":\"regrow.leaf\""));
        check(&entry("custom", ",\"customType\":\"t\",\"data\":[{}]"));
        check(&entry("label", ",\"targetId\":\"x\",\"label\":\"l\""));
        check(&entry(
            "compaction",
            ",\"summary\":\"s\",\"firstKeptEntryId\":\"b\",\"tokensBefore\":3",
        ));
        check(&entry("from_the_future", ""));
    }

    #[test]
    fn j7_an_entry_with_a_broken_body_keeps_its_place() {
        let line = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"bashExecution","command":7}}"#;
        let (object, _) = Skimmer::new(Estimator::default()).object(line, 0).unwrap();
        let Object::Entry(facts) = object else { panic!() };
        assert!(facts.broken_body);
        assert_eq!((facts.node.id.as_str(), &facts.parent), ("a", &Said::Root));
    }

    #[test]
    fn f47_half_a_line_is_no_object() {
        let line = message(json!({"role": "user", "content": [{"type": "text", "text": "x{}"}]}));
        for cut in 1..line.len() {
            let found = Skimmer::new(Estimator::default()).object(&line[..cut], 0);
            assert!(found.is_none(), "{}", &line[..cut]);
        }
    }

    proptest! {
        #[test]
        fn s12_any_text_weighs_the_same(text in ".*", more in prop::collection::vec(".*", 0..3)) {
            check(&message(json!({"role": "user", "content": text})));
            let blocks: Vec<_> =
                more.iter().map(|text| json!({"type": "text", "text": text})).collect();
            check(&message(json!({"role": "assistant", "content": blocks})));
            let call = json!({"type": "toolCall", "id": "c", "name": text, "arguments": more});
            check(&message(json!({"role": "assistant", "content": [call]})));
        }

        #[test]
        fn j2_times_are_read_as_the_calendar_reads_them(millis in 0_i64..4_102_444_800_000) {
            let text = format!("\"{}\"", Timestamp::from_millis(millis));
            prop_assert_eq!(read_timestamp(&text), Some(Timestamp::from_millis(millis)));
        }
    }
}
