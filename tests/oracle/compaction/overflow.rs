//! Kind `overflow`: texts of errors and shapes of usage.

use regrow::compaction::overflow::{SilentSign, is_overflow, silent_overflow};
use regrow::message::{AssistantMessage, Block};
use serde_json::{Value, json};

use crate::cases::{OMP, PI, cases, rows};
use crate::tally::Tally;

/// Row 24: the union of both tables, without texts about throttling.
#[test]
fn c6_errors() {
    let mut tally = Tally::new("overflow errors");
    let cases = cases("overflow");
    for row in cases.iter().flat_map(rows) {
        let Some(message) = row["message"].as_str() else { continue };
        let theirs = row["expected"][OMP] == true || row["expected"][PI] == true;
        let throttled = ["too many requests", "throttling", "service unavailable"];
        let lower = message.to_lowercase();
        if theirs && throttled.iter().any(|word| lower.contains(word)) {
            tally.except("row 24: throttling is never overflow");
            assert!(!is_overflow(None, message), "{message}");
            continue;
        }
        tally.compare(message, is_overflow(None, message), theirs);
    }
    tally.finish(if cases.is_empty() { 0 } else { 35 });
}

#[test]
fn c6_usage() {
    let mut tally = Tally::new("overflow usage");
    let cases = cases("overflow");
    for row in cases.iter().flat_map(rows).filter(|row| row["usage"].is_object()) {
        let mut fields =
            json!({ "content": [], "usage": row["usage"], "stopReason": row["stopReason"] });
        if let Value::String(error) = &row["errorMessage"] {
            fields["errorMessage"] = json!(error);
        }
        let mut answer: AssistantMessage = serde_json::from_value(fields).unwrap();
        answer.content.push(Block::text("x"));
        let window = row["contextWindow"].as_u64().unwrap_or_default();
        let ours = silent_overflow(&answer, window, 0).is_some_and(SilentSign::is_overflow);
        tally.compare(row, ours, row["expected"][PI] == true);
    }
    tally.finish(if cases.is_empty() { 0 } else { 60 });
}
