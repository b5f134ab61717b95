//! What is known of a model: window, limits, prices (pure data).

use serde::{Deserialize, Serialize};

use crate::message::{Cost, Usage};
use crate::session::tree::ModelRef;

/// A model that can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// The provider's name, lower case.
    #[serde(default)]
    pub provider: String,
    /// The model's id at that provider.
    pub id: String,
    /// The wire protocol: `anthropic-messages`, `openai-responses`, `openai-completions`,
    /// `google-generative-ai`, `offline`.
    #[serde(default)]
    pub api: String,
    /// Where the server is; empty for `offline`.
    #[serde(default)]
    pub base_url: String,
    /// Tokens that fit in, input and output together.
    pub context_window: u64,
    /// Most tokens of one answer.
    pub max_tokens: u64,
    /// Whether it can think.
    #[serde(default)]
    pub reasoning: bool,
    /// Whether it takes images.
    #[serde(default)]
    pub images: bool,
    /// US dollars per million tokens.
    #[serde(default)]
    pub price: Price,
    /// Whether the window is a guess of ours rather than a fact.
    #[serde(default)]
    pub window_is_guess: bool,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Price {
    /// Prompt tokens.
    pub input: f64,
    /// Answer tokens.
    pub output: f64,
    /// Prompt tokens read from a cache.
    pub cache_read: f64,
    /// Prompt tokens written to a cache.
    pub cache_write: f64,
}

impl Model {
    /// Provider and id.
    #[must_use]
    pub fn model_ref(&self) -> ModelRef {
        ModelRef::new(&self.provider, &self.id)
    }

    /// What an answer with this usage cost.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Cost {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        let input = part(usage.input, self.price.input);
        let output = part(usage.output, self.price.output);
        let cache_read = part(usage.cache_read, self.price.cache_read);
        let cache_write = part(usage.cache_write, self.price.cache_write);
        Cost {
            input,
            output,
            cache_read,
            cache_write,
            total: input + output + cache_read + cache_write,
        }
    }
}
