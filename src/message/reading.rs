//! Reading messages and blocks from JSON by hand: `role` and `type` decide first, so that a known kind with a
//! broken body is an error, and an unknown kind is kept as it is (J3). Nothing else is judged here.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Block, Message};

/// Some programs write `null` for what they leave out.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Counts are whole and not negative; some servers write `null`, `-1` or `12.0`.
pub(super) fn lenient_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_u64().unwrap_or_else(|| value.as_f64().map_or(0, |number| number.max(0.0) as u64)))
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let role = value.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
        let parsed = match role.as_str() {
            "user" => serde_json::from_value(value).map(Self::User),
            "assistant" => serde_json::from_value(value).map(Self::Assistant),
            "toolResult" => serde_json::from_value(value).map(Self::ToolResult),
            "bashExecution" => serde_json::from_value(value).map(Self::BashExecution),
            "custom" => serde_json::from_value(value).map(Self::Custom),
            "hookMessage" => serde_json::from_value(value).map(Self::HookMessage),
            "fileMention" => serde_json::from_value(value).map(Self::FileMention),
            "branchSummary" => serde_json::from_value(value).map(Self::BranchSummary),
            "compactionSummary" => serde_json::from_value(value).map(Self::CompactionSummary),
            _ => return Ok(Self::Other(value)),
        };
        parsed
            .map_err(|error| serde::de::Error::custom(format!("message with role {role}: {error}")))
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Text {
            #[serde(default, deserialize_with = "null_as_default")]
            text: String,
            #[serde(default)]
            text_signature: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Thinking {
            #[serde(default, deserialize_with = "null_as_default")]
            thinking: String,
            #[serde(default)]
            thinking_signature: Option<String>,
            #[serde(default)]
            redacted: Option<bool>,
        }
        let value = Value::deserialize(deserializer)?;
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let parsed = match kind.as_str() {
            "text" => serde_json::from_value(value)
                .map(|Text { text, text_signature }| Self::Text { text, text_signature }),
            "thinking" => serde_json::from_value(value).map(
                |Thinking { thinking, thinking_signature, redacted }| Self::Thinking {
                    thinking,
                    thinking_signature,
                    redacted,
                },
            ),
            "toolCall" => serde_json::from_value(value).map(Self::ToolCall),
            "image" => serde_json::from_value(value).map(Self::Image),
            _ => return Ok(Self::Other(value)),
        };
        parsed.map_err(|error| serde::de::Error::custom(format!("{kind} block: {error}")))
    }
}
