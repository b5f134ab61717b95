//! Kinds `estimateTokens`, `usage`, `shouldCompact`, `trigger`, `pruneToBudget`: figures and what
//! fires on them.

use regrow::compaction::tokens::Estimator;
use regrow::compaction::trigger::{Situation, compacts_at, should_compact};
use regrow::message::{Message, Usage};
use regrow::settings::{Settings, Trigger};
use serde_json::Value;

use crate::cases::{OMP, PI, cases, rows};
use crate::tally::Tally;

#[test]
fn s12_estimates_of_messages() {
    let mut tally = Tally::new("estimateTokens");
    let cases = cases("estimateTokens");
    for row in cases.iter().flat_map(rows) {
        let message: Message = serde_json::from_value(row["message"].clone()).unwrap();
        let ours = u64::from(Estimator::CharsPerFour.message(&message));
        // Row 7: custom messages count, under either name.
        let theirs = row["expected"][OMP].as_u64().max(row["expected"][PI].as_u64());
        tally.compare(&row["message"], Some(ours), theirs);
    }
    tally.finish(if cases.is_empty() { 0 } else { 100 });
}

#[test]
fn c5_usage() {
    let mut tally = Tally::new("usage");
    let cases = cases("usage");
    for row in cases.iter().flat_map(rows) {
        let usage: Usage = serde_json::from_value(row["usage"].clone()).unwrap();
        let theirs = &row["expected"][OMP];
        tally.compare(
            &row["usage"],
            Some(usage.context_tokens()),
            theirs["contextTokens"].as_u64(),
        );
        if usage.prompt_tokens() == 0 && usage.context_tokens() > 0 {
            tally.except("C11: prompt tokens are input and cache, never output");
        } else {
            tally.compare(
                &row["usage"],
                Some(usage.prompt_tokens()),
                theirs["promptTokens"].as_u64(),
            );
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 7 });
}

#[test]
fn c3_thresholds() {
    let mut tally = Tally::new("shouldCompact");
    let cases = cases("shouldCompact");
    for case in &cases {
        for row in rows(case).iter().filter_map(Value::as_array) {
            let [tokens, window, reserve, enabled, _, theirs] = row.as_slice() else {
                tally.except("rows 1 and 22: settings that only one system has");
                continue;
            };
            let number = |value: &Value| value.as_u64().unwrap();
            let (tokens, window, reserve) = (number(tokens), number(window), number(reserve));
            let mut settings = Settings::default();
            settings.compaction.reserve_tokens = reserve;
            settings.compaction.enabled = enabled == true;
            // The budget of S5 would fire earlier where the reserve is less than 5 %.
            settings.summarization.reserve_ratio = 0.0;
            let situation = Situation { tokens, window, overhead: 0, to_refine: 1 };
            let place = format!("{tokens} in {window}, {reserve} reserved");
            if window == 0 {
                tally.except("row 1: no window, no trigger");
            } else if window <= 2 * reserve {
                tally.except("C4: small windows reserve a quarter");
            } else {
                tally.compare(place, should_compact(&situation, &settings), theirs == true);
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 100 });
}

const OVER_WINDOW: &str = "C3: a context over its window is compacted whatever the trigger";

/// A trigger as the cases write it; `None` when the settings do not allow it (S6).
fn trigger(kind: &str, value: &Value) -> Option<Trigger> {
    Some(match kind {
        "token_ratio" => {
            Trigger::TokenRatio(value.as_f64().filter(|ratio| (0.0..=1.0).contains(ratio))?)
        }
        "remaining_tokens" => {
            Trigger::RemainingTokens(value.as_u64().filter(|tokens| *tokens > 0)?)
        }
        "messages_to_refine" => {
            Trigger::MessagesToRefine(value.as_u64().filter(|count| *count > 0)?)
        }
        _ => return None,
    })
}

#[test]
fn s6_triggers() {
    let mut tally = Tally::new("trigger");
    let cases = cases("trigger");
    for row in cases.iter().flat_map(rows).filter_map(Value::as_array) {
        let [kind, value, window, tokens, remaining, to_refine, theirs] = row.as_slice() else {
            panic!()
        };
        let mut settings = Settings::default();
        settings.summarization.trigger = trigger(kind.as_str().unwrap_or_default(), value);
        if settings.summarization.trigger.is_none() {
            tally.except("S6: without a valid trigger C3 and S5 decide");
            continue;
        }
        let (Some(window), false) =
            (window.as_u64().filter(|window| *window > 0), tokens.is_null() && remaining.is_null())
        else {
            tally.except("a window is needed to decide, and figures");
            continue;
        };
        let tokens = match (tokens.as_u64(), remaining.as_u64()) {
            (Some(tokens), _) => tokens,
            (None, Some(remaining)) => window.saturating_sub(remaining),
            (None, None) => continue,
        };
        let to_refine = to_refine.as_u64().unwrap() as usize;
        let situation = Situation { tokens, window, overhead: 0, to_refine };
        if tokens > window && theirs == false && to_refine > 0 {
            tally.except(OVER_WINDOW);
            continue;
        }
        tally.compare(format!("{row:?}"), should_compact(&situation, &settings), theirs == true);
    }
    tally.finish(if cases.is_empty() { 0 } else { 400 });
}

#[test]
fn s5_budgets() {
    let mut tally = Tally::new("pruneToBudget");
    let cases = cases("pruneToBudget");
    for case in &cases {
        for row in rows(case) {
            let number = |key: &str| row[key].as_u64().unwrap();
            let window = number("maxTokens");
            let mut settings = Settings::default();
            settings.compaction.reserve_tokens = 0;
            if let Some(ratio) = row["reserveRatio"].as_f64() {
                settings.summarization.reserve_ratio = ratio;
            }
            let place = format!("{} {window} {}", case["name"], row["reserveRatio"]);
            tally.compare(
                &place,
                compacts_at(window, &settings),
                Some(number("contextBudget") + 1),
            );
            let situation = Situation {
                tokens: number("prePruneContextTokens"),
                window,
                overhead: 0,
                to_refine: row["messagesToRefineIndexes"].as_array().unwrap().len(),
            };
            for fired in row["triggers"].as_array().unwrap() {
                let kind = fired[0].as_str().unwrap_or_default();
                settings.summarization.trigger = trigger(kind, &fired[1]);
                let place = format!("{place} {kind} {}", fired[1]);
                let ours = should_compact(&situation, &settings);
                if ours && fired[2] == false && situation.tokens > window {
                    tally.except(OVER_WINDOW);
                    continue;
                }
                let room = number("contextBudget").checked_sub(situation.tokens);
                if kind.is_empty() && room.is_some_and(|room| room < 3) {
                    tally.except("S5: three tokens that begin an answer are not messages");
                    continue;
                }
                tally.compare(place, ours, fired[2] == true);
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 1_000 });
}
