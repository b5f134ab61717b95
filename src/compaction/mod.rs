//! Keeping long work inside a window: compaction, branch summaries, pruning (SPEC sections 4, 5, 8).
//!
//! Planning is pure and apart from the model calls, which only [`summarizer`] and `remote` make.

use serde::Serialize;

pub mod file_ops;
pub mod plan;
pub mod prompts;
pub mod summarizer;
pub mod tokens;
pub mod transcript;

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
