//! How models are asked to think: data by the beginning of the model's id.

use serde_json::{Map, Value, json};

use crate::provider::{Request, ThinkingLevel};

/// Lets older models think between tool calls; newer ones do so by themselves.
pub(super) const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";

/// The least that a budget may be, and the least that must be left for the answer.
const LEAST: u64 = 1_024;

/// The ways in which thinking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `thinking: {type: "enabled", budget_tokens}`: older models, and servers of other models.
    Budget,
    /// `thinking: {type: "adaptive"}` and an effort up to `high`.
    Effort,
    /// The same with more efforts; what is thought is shown only on request.
    WideEffort,
}

/// The first match counts.
const WAYS: &[(&str, Way)] = &[
    ("claude-3", Way::Budget),
    ("claude-opus-4-0", Way::Budget),
    ("claude-opus-4-1", Way::Budget),
    ("claude-opus-4-2", Way::Budget),
    ("claude-opus-4-5", Way::Budget),
    ("claude-opus-4-6", Way::Effort),
    ("claude-sonnet-4-0", Way::Budget),
    ("claude-sonnet-4-2", Way::Budget),
    ("claude-sonnet-4-5", Way::Budget),
    ("claude-sonnet-4-6", Way::Effort),
    ("claude-haiku-4-5", Way::Budget),
    ("claude-", Way::WideEffort),
];

/// Whether the request will think with a fixed budget.
pub(super) fn has_budget(body: &Map<String, Value>) -> bool {
    body.get("thinking").is_some_and(|thinking| thinking["type"] == "enabled")
}

/// The fields that ask for thinking; none when it is off or there is no room for it.
pub(super) fn fields(request: &Request) -> Vec<(&'static str, Value)> {
    if !request.model.reasoning || request.thinking == ThinkingLevel::Off {
        return Vec::new();
    }
    let id = &request.model.id;
    let known = WAYS.iter().find(|(beginning, _)| id.starts_with(beginning));
    match known.map_or(Way::Budget, |(_, way)| *way) {
        Way::Budget => budget(request),
        Way::Effort => adaptive(request, json!({"type": "adaptive"}), ThinkingLevel::High),
        Way::WideEffort => {
            let thinking = json!({"type": "adaptive", "display": "summarized"});
            adaptive(request, thinking, ThinkingLevel::Xhigh)
        }
    }
}

fn adaptive(request: &Request, thinking: Value, most: ThinkingLevel) -> Vec<(&'static str, Value)> {
    let level = request.thinking.clamp(ThinkingLevel::Low, most);
    vec![("thinking", thinking), ("output_config", json!({"effort": level.as_str()}))]
}

fn budget(request: &Request) -> Vec<(&'static str, Value)> {
    let wanted = match request.thinking {
        ThinkingLevel::Off | ThinkingLevel::Minimal => 1_024,
        ThinkingLevel::Low => 4_096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 24_576,
        ThinkingLevel::Xhigh => 32_768,
    };
    let budget = wanted.min(request.max_tokens.saturating_sub(LEAST));
    if budget < LEAST {
        return Vec::new();
    }
    vec![("thinking", json!({"type": "enabled", "budget_tokens": budget}))]
}
