//! The messages of a conversation, in the form in which session files hold them (SPEC J4).
//!
//! These types are for reading and for writing new messages. They need not carry fields they do not
//! know: whatever rewrites an existing line works on its JSON, never on these.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::ids::EntryId;
use reading::{lenient_count, null_as_default};

mod reading;

/// One message. `timestamp` fields are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// What the person said.
    User(UserMessage),
    /// What a model said, its thinking and its tool calls included.
    Assistant(AssistantMessage),
    /// What one tool call gave back.
    ToolResult(ToolResultMessage),
    /// A command that the person ran with `!` or `!!`.
    BashExecution(BashExecutionMessage),
    /// A message put in by an extension.
    Custom(CustomMessage),
    /// The name that version 2 files had for [`Message::Custom`].
    HookMessage(CustomMessage),
    /// Files that an old version attached to a prompt. Read only.
    FileMention(FileMentionMessage),
    /// The summary of a branch that was left (section 5).
    BranchSummary(BranchSummaryMessage),
    /// The summary that stands for compacted history (section 4).
    CompactionSummary(CompactionSummaryMessage),
    /// A role this version does not know; never sent to a model.
    #[serde(untagged)]
    Other(Value),
}

/// See [`Message::User`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct UserMessage {
    /// Text, or text and images.
    #[serde(default)]
    pub content: Content,
    /// When it was sent.
    #[serde(default)]
    pub timestamp: i64,
}

/// See [`Message::Assistant`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls in the order in which they came.
    #[serde(default, deserialize_with = "null_as_default")]
    pub content: Vec<Block>,
    /// The wire protocol that was spoken, such as `openai-completions`.
    #[serde(default)]
    pub api: String,
    /// The provider's name.
    #[serde(default)]
    pub provider: String,
    /// The model's id at that provider.
    #[serde(default)]
    pub model: String,
    /// What the provider says it counted; all zero when it said nothing.
    #[serde(default, deserialize_with = "null_as_default")]
    pub usage: Usage,
    /// Why the answer ended.
    #[serde(default)]
    pub stop_reason: StopReason,
    /// The provider's words when `stop_reason` is `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// When the answer began.
    #[serde(default)]
    pub timestamp: i64,
}

impl AssistantMessage {
    /// The tool calls of this answer, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The visible text, blocks joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        join_text(&self.content)
    }

    /// Whether the answer ended as it should, so that its usage can be trusted (C5).
    #[must_use]
    pub const fn succeeded(&self) -> bool {
        !matches!(self.stop_reason, StopReason::Error | StopReason::Aborted)
    }
}

/// See [`Message::ToolResult`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The [`ToolCall::id`] that this answers.
    #[serde(default)]
    pub tool_call_id: String,
    /// The tool's name.
    #[serde(default)]
    pub tool_name: String,
    /// What the model gets to see.
    #[serde(default)]
    pub content: Content,
    /// For the screen and for hooks; never sent to a model. Bounded in size (F53).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the call failed.
    #[serde(default, deserialize_with = "null_as_default")]
    pub is_error: bool,
    /// When pruning replaced the content (C8), in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned_at: Option<i64>,
    /// When the call ended.
    #[serde(default)]
    pub timestamp: i64,
}

/// See [`Message::BashExecution`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    /// The command as typed.
    #[serde(default)]
    pub command: String,
    /// Its output, cut to the limits of A2.
    #[serde(default)]
    pub output: String,
    /// `None` when it was killed or never started.
    #[serde(default)]
    pub exit_code: Option<i64>,
    /// Whether the person stopped it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub cancelled: bool,
    /// Whether `output` is only a part.
    #[serde(default, deserialize_with = "null_as_default")]
    pub truncated: bool,
    /// Where the whole output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// `!!cmd`: kept from the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    /// When it ended.
    #[serde(default)]
    pub timestamp: i64,
}

/// See [`Message::Custom`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The extension's name for this kind of message.
    #[serde(default)]
    pub custom_type: String,
    /// What the model gets to see.
    #[serde(default)]
    pub content: Content,
    /// Whether the transcript shows it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub display: bool,
    /// The extension's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// When it was put in.
    #[serde(default)]
    pub timestamp: i64,
}

/// See [`Message::FileMention`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct FileMentionMessage {
    /// The files, each an object with at least `path` and `content`.
    #[serde(default, deserialize_with = "null_as_default")]
    pub files: Vec<Map<String, Value>>,
    /// When they were attached.
    #[serde(default)]
    pub timestamp: i64,
}

/// See [`Message::BranchSummary`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    /// The summary as stored, preamble and file blocks included.
    pub summary: String,
    /// The leaf of the branch that was left.
    pub from_id: EntryId,
    /// When it was made.
    #[serde(default)]
    pub timestamp: i64,
}

/// See [`Message::CompactionSummary`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    /// The summary as stored, file blocks included.
    pub summary: String,
    /// One or two sentences for the screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_summary: Option<String>,
    /// Tokens in context before the compaction (C5).
    #[serde(default)]
    pub tokens_before: u64,
    /// When it was made.
    #[serde(default)]
    pub timestamp: i64,
}

/// The content of a user, tool result or custom message: a string or a list of blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Blocks in order.
    Blocks(Vec<Block>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Content {
    /// All text of the content, blocks joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => join_text(blocks),
        }
    }

    /// The images, in order.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let blocks: &[Block] = match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        };
        blocks.iter().filter_map(|block| match block {
            Block::Image(image) => Some(image),
            _ => None,
        })
    }

    /// A single text block.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self::Blocks(vec![Block::text(text)])
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self::default()),
            Value::String(text) => Ok(Self::Text(text)),
            list @ Value::Array(_) => {
                serde_json::from_value(list).map(Self::Blocks).map_err(serde::de::Error::custom)
            }
            other => Err(serde::de::Error::custom(format!(
                "content must be text or a list of blocks, not {other}"
            ))),
        }
    }
}

/// One part of a message's content.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Block {
    /// Text.
    #[serde(rename_all = "camelCase")]
    Text {
        /// The text.
        text: String,
        /// Opaque; goes back only to the model that made it (X4).
        #[serde(skip_serializing_if = "Option::is_none")]
        text_signature: Option<String>,
    },
    /// A model's reasoning.
    #[serde(rename_all = "camelCase")]
    Thinking {
        /// The readable reasoning; may be empty when it is encrypted.
        thinking: String,
        /// Opaque; goes back only to the model that made it (X4).
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
        /// Set when the provider hid the reasoning and only the signature remains.
        #[serde(skip_serializing_if = "Option::is_none")]
        redacted: Option<bool>,
    },
    /// A wish to run a tool.
    ToolCall(ToolCall),
    /// A picture.
    Image(Image),
    /// A kind of block that this version does not know; never sent to a model.
    #[serde(untagged)]
    Other(Value),
}

impl Block {
    /// A text block without signature.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), text_signature: None }
    }

    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// See [`Block::ToolCall`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The provider's id of the call; unique only within one answer.
    #[serde(default)]
    pub id: String,
    /// The tool's name.
    #[serde(default)]
    pub name: String,
    /// The arguments; an object when they parsed. Text that did not parse is kept as a JSON
    /// string, and such a call is never run (I12).
    #[serde(default)]
    pub arguments: Value,
    /// Opaque; goes back only to the model that made it (F66).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
}

/// See [`Block::Image`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The file's bytes in base64.
    #[serde(default)]
    pub data: String,
    /// Such as `image/png`.
    #[serde(default)]
    pub mime_type: String,
}

/// Why an assistant message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model was done.
    #[default]
    Stop,
    /// The output limit was reached.
    Length,
    /// The model waits for tool results.
    ToolUse,
    /// The request failed.
    Error,
    /// The person stopped it.
    Aborted,
    /// A reason that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Tokens as the provider counted them, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Prompt tokens that were not read from a cache.
    #[serde(deserialize_with = "lenient_count")]
    pub input: u64,
    /// Tokens of the answer, reasoning included.
    #[serde(deserialize_with = "lenient_count")]
    pub output: u64,
    /// Prompt tokens read from a cache.
    #[serde(deserialize_with = "lenient_count")]
    pub cache_read: u64,
    /// Prompt tokens written to a cache.
    #[serde(deserialize_with = "lenient_count")]
    pub cache_write: u64,
    /// The provider's own total; zero when it gave none.
    #[serde(deserialize_with = "lenient_count")]
    pub total_tokens: u64,
    /// US dollars.
    #[serde(deserialize_with = "null_as_default")]
    pub cost: Cost,
}

impl Usage {
    /// Tokens in context after this answer (C5): the provider's total, else the sum of the parts.
    #[must_use]
    pub const fn context_tokens(&self) -> u64 {
        if self.total_tokens > 0 {
            self.total_tokens
        } else {
            self.input + self.output + self.cache_read + self.cache_write
        }
    }

    /// Tokens of the prompt, cached or not (C11).
    #[must_use]
    pub const fn prompt_tokens(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

/// What an answer cost, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// For [`Usage::input`].
    pub input: f64,
    /// For [`Usage::output`].
    pub output: f64,
    /// For [`Usage::cache_read`].
    pub cache_read: f64,
    /// For [`Usage::cache_write`].
    pub cache_write: f64,
    /// All together.
    pub total: f64,
}

fn join_text(blocks: &[Block]) -> String {
    let mut joined = String::new();
    for text in blocks.iter().filter_map(Block::as_text) {
        if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(text);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn j4_messages_keep_the_field_names_of_the_format() {
        let written = json!({
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
                {"type": "text", "text": "안녕"},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}
            ],
            "api": "openai-completions", "provider": "p", "model": "m",
            "usage": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
                      "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0}},
            "stopReason": "toolUse", "timestamp": 5
        });
        let message: Message = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&message).unwrap(), written);
    }

    #[test]
    fn j3_unknown_roles_and_blocks_survive() {
        for written in [
            json!({"role": "oracle", "content": 1}),
            json!({"role": "user", "content": [{"type": "video", "url": "x"}], "timestamp": 1}),
        ] {
            let message: Message = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(serde_json::to_value(&message).unwrap(), written);
        }
    }

    #[test]
    fn j4_a_known_role_with_a_broken_body_is_an_error() {
        let broken = json!({"role": "user", "content": 7});
        let error = serde_json::from_value::<Message>(broken).unwrap_err().to_string();
        assert!(error.contains("role user"), "{error}");
    }

    #[test]
    fn c5_usage_falls_back_to_the_sum_of_its_parts() {
        let usage: Usage =
            serde_json::from_value(json!({"input": 1, "output": 2.0, "cacheRead": null})).unwrap();
        assert_eq!((usage.context_tokens(), usage.prompt_tokens()), (3, 1));
    }
}
