//! The summarization block against the schema that it comes from: kinds `configValidation` and
//! `resolveSettings`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use regrow::settings::layers::{Layer, Merged};
use regrow::settings::node::Format;
use regrow::settings::origin::SettingsError;
use regrow::settings::resolve::resolve;
use regrow::settings::{ContextPruningSettings, Settings};

use crate::cases::{cases, rows};
use crate::tally::Tally;

fn load(file: &Value) -> Result<Settings, Vec<SettingsError>> {
    let layer = Layer::from_file(Path::new("settings.json"), &file.to_string(), Format::Json)?;
    resolve(&Merged::of([layer]))
}

/// The keys that errors name, as the cases name them: inside the block.
fn keys(errors: &[SettingsError]) -> BTreeSet<String> {
    let key = |error: &SettingsError| {
        let key = error.key.as_ref().map(ToString::to_string).unwrap_or_default();
        key.trim_start_matches("summarization.").to_owned()
    };
    errors.iter().map(key).collect()
}

#[test]
fn s1_the_same_blocks_are_valid() {
    let mut tally = Tally::new("configValidation");
    let mut any = false;
    for case in cases("configValidation") {
        any = true;
        for row in rows(&case) {
            let input = &row["input"];
            if row["stripped"] == true {
                // What the other program silently drops is a value of ours or an error (G1).
                tally.except("row 29: sub-keys are accepted and checked, unknown keys are errors");
                continue;
            }
            let ours = load(&json!({ "summarization": input }));
            tally.compare(input, ours.is_ok(), row["valid"] == true);
            let issues = row["issues"].as_array().into_iter().flatten();
            let theirs: BTreeSet<String> =
                issues.filter_map(|issue| issue["path"].as_str()).map(ToOwned::to_owned).collect();
            tally.compare(
                format!("{input}: the keys at fault"),
                ours.err().map(|errors| keys(&errors)).unwrap_or_default(),
                theirs,
            );
        }
    }
    tally.finish(if any { 100 } else { 0 });
}

#[test]
fn s8_defaults_are_filled_in_alike() {
    let mut tally = Tally::new("resolveSettings");
    let mut any = false;
    for case in cases("resolveSettings") {
        any = true;
        for row in rows(&case) {
            let overrides = match &row["overrides"] {
                Value::Null => json!({}),
                overrides => overrides.clone(),
            };
            match load(&json!({ "summarization": { "contextPruning": overrides } })) {
                Ok(settings) => {
                    let ours = written(&settings.summarization.context_pruning);
                    tally.compare(&overrides, ours, numbers(&row["resolved"]));
                }
                Err(errors) => {
                    let known = ["softTrimRatio", "softTrim.headChars"];
                    let known = known.map(|key| format!("contextPruning.{key}"));
                    assert!(keys(&errors).iter().all(|key| known.contains(key)), "{errors:?}");
                    tally.except("S8: values that contradict each other are an error");
                }
            }
        }
    }
    tally.finish(if any { 8 } else { 0 });
}

/// The settings as the cases write them.
fn written(settings: &ContextPruningSettings) -> Value {
    numbers(&json!({
        "enabled": settings.enabled,
        "keepLastAssistants": settings.keep_last_assistants,
        "softTrimRatio": settings.soft_trim_ratio,
        "hardClearRatio": settings.hard_clear_ratio,
        "minPrunableToolChars": settings.min_prunable_tool_chars,
        "softTrim": {
            "maxChars": settings.soft_trim_max_chars,
            "headChars": settings.soft_trim_head_chars,
            "tailChars": settings.soft_trim_tail_chars,
        },
        "hardClear": {
            "enabled": settings.hard_clear_enabled,
            "placeholder": settings.hard_clear_placeholder,
        },
    }))
}

/// All numbers as floats, so that `1` and `1.0` are the same.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Object(keys) => {
            keys.iter().map(|(key, value)| (key.clone(), numbers(value))).collect()
        }
        other => other.clone(),
    }
}
