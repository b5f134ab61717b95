//! Kinds `configValidation` and `resolveSettings`: the `summarization` block.

use std::path::Path;

use regrow::settings::Settings;
use regrow::settings::layers::{Layer, Merged};
use regrow::settings::node::Format;
use regrow::settings::resolve::resolve;
use serde_json::{Value, json};

use super::view::pruning;
use crate::cases::{cases, rows};
use crate::tally::Tally;

/// The settings of a file with this `summarization` block; `Err` with the first mistake.
fn read(block: &Value) -> Result<Settings, String> {
    let text = json!({ "summarization": block }).to_string();
    let first = |errors: Vec<_>| format!("{:?}", errors.first());
    let layer = Layer::from_file(Path::new("settings.json"), &text, Format::Json).map_err(first)?;
    resolve(&Merged::of([layer])).map_err(|errors| format!("{:?}", errors.first()))
}

#[test]
fn g1_what_is_valid() {
    let mut tally = Tally::new("configValidation");
    let cases = cases("configValidation");
    for row in cases.iter().flat_map(rows) {
        let ours = read(&row["input"]);
        let valid = row["valid"] == true;
        if valid && row["stripped"] == true && ours.is_err() {
            tally.except("G1 and row 29: unknown keys are mistakes, and known ones are checked");
            continue;
        }
        tally.compare(format!("{} {ours:?}", row["input"]), ours.is_ok(), valid);
    }
    tally.finish(if cases.is_empty() { 0 } else { 50 });
}

#[test]
fn s8_defaults_and_overrides() {
    let mut tally = Tally::new("resolveSettings");
    let cases = cases("resolveSettings");
    for row in cases.iter().flat_map(rows) {
        let block = match &row["overrides"] {
            Value::Null => json!({}),
            overrides => json!({ "contextPruning": overrides }),
        };
        let theirs = pruning(&row["resolved"]);
        let out_of_range = theirs.soft_trim_ratio > theirs.hard_clear_ratio
            || theirs.soft_trim_head_chars + theirs.soft_trim_tail_chars
                > theirs.soft_trim_max_chars;
        if out_of_range {
            assert!(read(&block).is_err(), "{block}");
            tally.except("S8: ratios in order, head and tail within maxChars");
            continue;
        }
        let ours = read(&block).map(|settings| settings.summarization.context_pruning);
        tally.compare(&row["overrides"], ours, Ok(theirs));
    }
    tally.finish(if cases.is_empty() { 0 } else { 10 });
}
