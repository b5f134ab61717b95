//! Sentences that every shell for people says alike: on the screen, and line by line.

use std::path::Path;

use serde_json::Value;

use super::amount::{count, money, tokens};
use super::overlay::tree::paint;
use crate::agent_session::event::Gauge;
use crate::compaction::Reason;
use crate::nearest::nearest;
use crate::provider::model::Model;
use crate::session::reader::SessionReader;
use crate::session::tree::ModelRef;

/// What a compaction would do (C26).
#[must_use]
pub fn plan(plan: &Value) -> String {
    if let Some(reason) = plan.get("nothing").and_then(Value::as_str) {
        return reason.to_owned();
    }
    let length = |key: &str| plan.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    let number = |key: &str| plan.get(key).and_then(Value::as_u64).unwrap_or_default();
    let mut words = vec![
        format!("would summarise {}", entries(length("summarize") + length("turnPrefix"))),
        format!("keep {}", entries(length("kept"))),
        format!("{} tokens now", tokens(number("tokensBefore"))),
    ];
    if plan.get("isSplitTurn").and_then(Value::as_bool) == Some(true) {
        words.push("the cut goes through a turn".into());
    }
    let first = plan.get("firstKeptEntryId").and_then(Value::as_str).unwrap_or_default();
    words.push(format!("kept from {first}"));
    for (key, what) in [("modifiedFiles", "changed file"), ("readFiles", "read file")] {
        let files = length(key);
        if files > 0 {
            words.push(count(files, what));
        }
    }
    words.join(" · ")
}

/// Why a compaction failed; C25 gives the words of automatic ones.
#[must_use]
pub fn failed_compaction(reason: Reason, error: &str) -> String {
    let prefix = match reason {
        Reason::Manual => "Compaction failed: ",
        Reason::Threshold => "Auto-compaction failed: ",
        Reason::Overflow => "Context overflow recovery failed: ",
    };
    if error.starts_with(prefix) { error.to_owned() } else { format!("{prefix}{error}") }
}

/// A session's file, size, tokens and cost.
#[must_use]
pub fn session(reader: &SessionReader, file: Option<&Path>, gauge: &Gauge) -> String {
    let file = file.filter(|_| !reader.tree().is_empty());
    let file = file.map_or("not written yet".to_owned(), |file| file.display().to_string());
    let (all, on_path) = (reader.tree().len(), reader.tree().active_path().len());
    let mut words = vec![
        entries(all),
        format!("{} on the path", entries(on_path)),
        format!("{} tokens sent", tokens(gauge.total_input)),
        format!("{} received", tokens(gauge.total_output)),
        money(gauge.cost),
    ];
    words.retain(|word| !word.is_empty());
    format!("{file}\n{}", words.join(" · "))
}

/// The model of a name: `provider/model`, or an id; one that could be asked comes first.
///
/// # Errors
/// None has it; in a sentence.
pub fn wanted_model(wanted: &str, models: &[(Model, bool)]) -> Result<ModelRef, String> {
    let names = |model: &Model| [model.id.clone(), model.model_ref().to_string()];
    let is_wanted = |(model, _): &&(Model, bool)| names(model).iter().any(|name| name == wanted);
    if let Some((model, _)) = models.iter().filter(is_wanted).min_by_key(|(_, usable)| !usable) {
        return Ok(model.model_ref());
    }
    let known: Vec<String> = models.iter().flat_map(|(model, _)| names(model)).collect();
    let near = nearest(wanted, known.iter().map(String::as_str));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Err(format!("there is no model {wanted}{hint} · /model lists them"))
}

fn entries(number: usize) -> String {
    paint::entries(u32::try_from(number).unwrap_or(u32::MAX))
}
