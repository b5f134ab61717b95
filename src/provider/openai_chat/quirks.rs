//! How Chat Completions servers differ, as data: one line per server, no branches on names
//! anywhere else (P1). A user's `models.json` can change each value under `quirks`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::provider::model::Model;

/// The habits of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Quirks {
    /// The field of the output limit.
    pub max_tokens_field: MaxTokensField,
    /// How reasoning is asked for.
    pub reasoning: ReasoningStyle,
    /// Whether `reasoning_content` of this model's own answers is sent back to it.
    pub replay_reasoning: bool,
    /// Whether `stream_options.include_usage` is known.
    pub stream_usage: bool,
    /// Whether `prompt_cache_key` is known.
    pub prompt_cache_key: bool,
    /// Whether `store: false` is known, and wanted.
    pub store: bool,
    /// Whether cache marks in the manner of Anthropic are passed on.
    pub cache_marks: bool,
    /// Whether a tool result must carry the tool's name.
    pub tool_result_name: bool,
}

/// See [`Quirks::max_tokens_field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// The old name, which nearly every server knows.
    MaxTokens,
    /// OpenAI's new one; reasoning models there know no other.
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// See [`Quirks::reasoning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningStyle {
    /// Nothing is sent: the model does as it likes.
    None,
    /// `reasoning_effort: "low"`.
    Effort,
    /// `reasoning: {effort: "low"}` or `{enabled: false}`.
    EffortObject,
    /// `thinking: {type: "enabled"}` or `"disabled"`.
    ThinkingType,
    /// `chat_template_kwargs: {enable_thinking: true}`.
    Template,
}

/// What is safe with a server nobody knows.
const CAUTIOUS: Quirks = Quirks {
    max_tokens_field: MaxTokensField::MaxTokens,
    reasoning: ReasoningStyle::None,
    replay_reasoning: true,
    stream_usage: true,
    prompt_cache_key: false,
    store: false,
    cache_marks: false,
    tool_result_name: false,
};

const OPENAI: Quirks = Quirks {
    max_tokens_field: MaxTokensField::MaxCompletionTokens,
    reasoning: ReasoningStyle::Effort,
    replay_reasoning: false,
    prompt_cache_key: true,
    store: true,
    ..CAUTIOUS
};

const EFFORT: Quirks = Quirks { reasoning: ReasoningStyle::Effort, ..CAUTIOUS };
const THINKING: Quirks = Quirks { reasoning: ReasoningStyle::ThinkingType, ..CAUTIOUS };
const TEMPLATE: Quirks = Quirks { reasoning: ReasoningStyle::Template, ..CAUTIOUS };

/// Provider names, and the ends of host names for servers under another name.
const SERVERS: &[(&str, &str, Quirks)] = &[
    ("openai", "api.openai.com", OPENAI),
    ("azure", ".azure.com", Quirks { store: false, ..OPENAI }),
    (
        "openrouter",
        "openrouter.ai",
        Quirks { reasoning: ReasoningStyle::EffortObject, cache_marks: true, ..CAUTIOUS },
    ),
    (
        "groq",
        "api.groq.com",
        Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..EFFORT },
    ),
    ("deepseek", "api.deepseek.com", THINKING),
    (
        "mistral",
        "api.mistral.ai",
        Quirks { tool_result_name: true, replay_reasoning: false, ..CAUTIOUS },
    ),
    ("xai", "api.x.ai", Quirks { replay_reasoning: false, ..CAUTIOUS }),
    ("together", "api.together.xyz", CAUTIOUS),
    ("fireworks", "api.fireworks.ai", EFFORT),
    (
        "cerebras",
        "api.cerebras.ai",
        Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..EFFORT },
    ),
    ("moonshot", "api.moonshot.ai", Quirks { prompt_cache_key: true, ..THINKING }),
    ("zai", "api.z.ai", THINKING),
    ("minimax", "api.minimax.io", CAUTIOUS),
    ("llama.cpp", "", TEMPLATE),
    ("vllm", "", TEMPLATE),
    ("lm-studio", "", CAUTIOUS),
    ("ollama", "", EFFORT),
];

impl Default for Quirks {
    fn default() -> Self {
        CAUTIOUS
    }
}

impl Quirks {
    /// The habits of the server that serves `model`: by the provider's name, else by its host.
    #[must_use]
    pub fn of(model: &Model) -> Self {
        let host = host(&model.base_url);
        let by_name = SERVERS.iter().find(|(name, ..)| *name == model.provider);
        let by_host = || SERVERS.iter().find(|(_, end, _)| !end.is_empty() && host.ends_with(end));
        by_name.or_else(by_host).map_or(CAUTIOUS, |(.., quirks)| *quirks)
    }

    /// These, with some changed by the user.
    ///
    /// # Errors
    /// When a name or value is unknown; the text says which.
    pub fn with(self, changes: &Map<String, Value>) -> Result<Self, String> {
        let whole = serde_json::to_value(self).map_err(|error| error.to_string())?;
        let Value::Object(mut whole) = whole else { return Ok(self) };
        whole.extend(changes.clone());
        serde_json::from_value(Value::Object(whole)).map_err(|error| error.to_string())
    }
}

/// The host of a URL, without port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', ':', '?']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn model(provider: &str, base_url: &str) -> Model {
        let facts = json!({"provider": provider, "id": "m", "baseUrl": base_url,
            "contextWindow": 1, "maxTokens": 1});
        serde_json::from_value(facts).unwrap()
    }

    #[test]
    fn p1_servers_are_known_by_name_or_host() {
        assert_eq!(Quirks::of(&model("openai", "")), OPENAI);
        assert_eq!(Quirks::of(&model("mine", "https://api.openai.com:443/v1")), OPENAI);
        assert!(Quirks::of(&model("mine", "https://me.openai.azure.com/x")).prompt_cache_key);
        assert!(Quirks::of(&model("mistral", "http://127.0.0.1/v1")).tool_result_name);
        assert_eq!(Quirks::of(&model("mine", "http://127.0.0.1:9/v1")), CAUTIOUS);
    }

    #[test]
    fn p1_users_change_single_values() {
        let changes = json!({"reasoning": "thinking_type", "store": true});
        let changed = CAUTIOUS.with(changes.as_object().unwrap()).unwrap();
        assert_eq!(changed, Quirks { store: true, ..THINKING });
        for wrong in [json!({"stor": true}), json!({"reasoning": "much"})] {
            assert!(CAUTIOUS.with(wrong.as_object().unwrap()).is_err());
        }
    }
}
