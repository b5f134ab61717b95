//! Token figures under all the names that Chat Completions servers have for them. Pure.

use serde_json::Value;

use crate::message::Usage;

/// The figures of a chunk: at its top, in its choice (Moonshot), or in Groq's corner.
pub(super) fn read_usage(chunk: &Value) -> Option<Usage> {
    let usage = ["/usage", "/choices/0/usage", "/x_groq/usage"]
        .iter()
        .find_map(|place| chunk.pointer(place).filter(|usage| usage.is_object()))?;
    let number = |places: &[&str]| {
        places.iter().find_map(|place| usage.pointer(place).and_then(count)).unwrap_or(0)
    };
    let prompt = number(&["/prompt_tokens"]);
    let completion = number(&["/completion_tokens"]);
    let cache_read = number(&[
        "/prompt_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cached_tokens",
    ]);
    let cache_write = number(&["/prompt_tokens_details/cache_write_tokens"]);
    let reasoning = number(&["/completion_tokens_details/reasoning_tokens"]);
    let total = number(&["/total_tokens"]);
    // Most count reasoning as part of the completion; where the total shows that it is not, it is
    // added.
    let apart = reasoning > 0 && total == prompt + completion + reasoning;
    let output = if apart { completion + reasoning } else { completion };
    Some(Usage {
        input: prompt.saturating_sub(cache_read + cache_write),
        output,
        cache_read,
        cache_write,
        total_tokens: if total > 0 { total } else { prompt + output },
        ..Usage::default()
    })
}

fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().map(|number| number.max(0.0) as u64))
}
