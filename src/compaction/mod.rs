//! Keeping long work inside a window: compaction, branch summaries, pruning (SPEC sections 4, 5, 8).
//!
//! Planning is pure and apart from the model calls, which only [`summarizer`] and [`remote`] make:
//!
//! - *When?* [`trigger`] counts what is in context and decides; [`breaker`] keeps it from running in
//!   circles; [`overflow`] knows what an overflow looks like and which window to plan with after one.
//! - *What?* [`plan`] divides the context into what is summarised and what stays; [`cut`] finds where.
//!   [`branch`] does so for a branch that is left.
//! - *Into what?* [`summarizer`] and [`extractive`] make the text, with [`prompts`], [`transcript`] and
//!   [`file_ops`]; [`request`] puts the person's latest request into it, word for word.
//! - *Without a summary:* [`prune`] replaces old tool output in the file, [`context_pruning`] and [`fit`]
//!   shorten it in the model's view only.
//! - *In which measure?* [`tokens`] estimates; [`calibration`] says how far that is off.

use serde::Serialize;

pub mod branch;
pub mod breaker;
pub mod calibration;
pub mod context_pruning;
pub mod cut;
pub mod ends;
pub mod extractive;
pub mod file_ops;
pub mod fit;
pub mod overflow;
pub mod plan;
pub mod prompts;
#[cfg(test)]
mod properties;
pub mod prune;
pub mod remote;
pub mod request;
#[cfg(test)]
mod sketch;
pub mod summarizer;
pub mod summary;
pub mod tokens;
pub mod transcript;
pub mod trigger;

/// The prompt that goes on after a threshold compaction (C3). No request of the person's.
pub const CONTINUE_PROMPT: &str = "Continue if you have next steps.";

/// Why a compaction runs (C1–C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The person asked.
    Manual,
    /// A model said that its window overflowed.
    Overflow,
    /// The context crossed the threshold.
    Threshold,
}
