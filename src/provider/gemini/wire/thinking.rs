//! How models are asked to think, and which insist on signatures: data by the beginning of the id.

use serde_json::{Value, json};

use crate::provider::ThinkingLevel;

/// The ways in which thinking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `thinkingBudget` in tokens, between these.
    Budget { least: u64, most: u64 },
    /// `thinkingLevel`, from this on.
    Level { least: ThinkingLevel },
    /// It takes no wish.
    None,
}

/// The first match counts.
const WAYS: &[(&str, Way)] = &[
    ("gemini-2.5-pro", Way::Budget { least: 128, most: 32_768 }),
    ("gemini-2.5", Way::Budget { least: 0, most: 24_576 }),
    ("gemini-2", Way::None),
    ("gemini-exp", Way::None),
    ("gemini-flash", Way::Level { least: ThinkingLevel::Minimal }),
    ("gemini-3-flash", Way::Level { least: ThinkingLevel::Minimal }),
    ("gemini-", Way::Level { least: ThinkingLevel::Low }),
    ("", Way::None),
];

/// Models that take calls without a signature; all others of Gemini reject them (F66).
const UNSIGNED: &[&str] = &["gemini-1", "gemini-2", "gemini-exp", "gemini-gemma"];

/// The `thinkingConfig` for a level.
pub(super) fn config(model_id: &str, level: ThinkingLevel) -> Option<Value> {
    let known = WAYS.iter().find(|(beginning, _)| model_id.starts_with(beginning));
    let shown = level != ThinkingLevel::Off;
    match known.map_or(Way::None, |(_, way)| *way) {
        Way::None => None,
        Way::Budget { least, most } => {
            let wanted = match level {
                ThinkingLevel::Off => 0,
                ThinkingLevel::Minimal => 512,
                ThinkingLevel::Low => 4_096,
                ThinkingLevel::Medium => 8_192,
                ThinkingLevel::High => 24_576,
                ThinkingLevel::Xhigh => 32_768,
            };
            let budget = wanted.clamp(least, most);
            Some(json!({"includeThoughts": shown, "thinkingBudget": budget}))
        }
        Way::Level { least } => {
            let level = level.clamp(least, ThinkingLevel::High);
            Some(json!({"includeThoughts": shown, "thinkingLevel": level.as_str()}))
        }
    }
}

/// Whether the first call of each of this model's turns must carry a signature.
pub(super) fn wants_signatures(model_id: &str) -> bool {
    model_id.starts_with("gemini-")
        && !UNSIGNED.iter().any(|beginning| model_id.starts_with(beginning))
}
