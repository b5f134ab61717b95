//! Whether an automatic compaction should run (SPEC C3–C5, S5, S6): one function for all automatic
//! triggers, and the figures that it and the gauge read. Pure.

use crate::session::context::ContextOutline;
use crate::session::tree::{Node, NodeIndex, NodeKind, SessionTree};
use crate::settings::{CompactionSettings, Settings, Trigger};

/// The least that is asked of a model as an answer's limit; below it an answer is not worth a
/// request, and some servers refuse it.
const OUTPUT_FLOOR: u64 = 256;

/// How full a context is (C5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextTokens {
    /// What a provider counted plus the estimate of what came after; without a fresh count the
    /// estimate of all messages, system prompt and tools not included.
    pub tokens: u64,
    /// Whether no fresh count was there.
    pub estimated: bool,
    /// The part of `tokens` that is an estimate.
    pub guessed: u64,
}

impl ContextTokens {
    /// The same with the estimated part corrected (S12).
    #[must_use]
    pub fn calibrated(self, calibration: super::tokens::Calibration) -> Self {
        let guessed = calibration.apply(self.guessed);
        Self { tokens: self.tokens - self.guessed + guessed, guessed, ..self }
    }
}

/// Counts what is in context (C5): the usage of the newest answer that still speaks of this context,
/// plus the estimate of what follows it; else the estimate of everything.
///
/// A usage is stale when a compaction, a change of model or a pruning came after it (F34, F36).
#[must_use]
pub fn context_tokens(tree: &SessionTree, outline: &ContextOutline) -> ContextTokens {
    let pruned = outline.nodes.iter().filter_map(|index| pruned_at(tree, *index)).max();
    let is_fresh = |node: &Node| pruned.is_none_or(|pruned| node.timestamp >= pruned);
    let (before, after) = outline.nodes.split_at(outline.after_compaction.min(outline.nodes.len()));
    let mut guessed = 0;
    for index in after.iter().rev() {
        let node = tree.node(*index);
        if let Some(counted) = usage_of(node, outline).filter(|_| is_fresh(node)) {
            return ContextTokens { tokens: counted + guessed, estimated: false, guessed };
        }
        guessed += estimate(node);
    }
    guessed += before.iter().map(|index| estimate(tree.node(*index))).sum::<u64>();
    ContextTokens { tokens: guessed, estimated: true, guessed }
}

/// Estimated tokens of a node in context; `!!` commands are not in it.
pub(super) const fn estimate(node: &Node) -> u64 {
    match node.kind {
        NodeKind::BashExecution { excluded: true } => 0,
        _ => node.tokens as u64,
    }
}

fn pruned_at(tree: &SessionTree, index: NodeIndex) -> Option<crate::ids::Timestamp> {
    match tree.node(index).kind {
        NodeKind::ToolResult { pruned_at, .. } => pruned_at,
        _ => None,
    }
}

/// What a provider counted with an answer of the model in force; `None` when the answer failed or
/// nothing was counted.
fn usage_of(node: &Node, outline: &ContextOutline) -> Option<u64> {
    let NodeKind::Assistant(answer) = &node.kind else { return None };
    let same_model = outline.model.as_ref().is_none_or(|model| *model == answer.model)
        || answer.model.id.is_empty();
    let counted = answer.usage.context_tokens();
    (answer.succeeded() && same_model && counted > 0).then_some(counted)
}

/// How a window is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Tokens kept free for the answer.
    pub reserve: u64,
    /// Tokens of recent messages that a compaction keeps.
    pub keep_recent: u64,
}

/// The limits in force in a window (C4): in a small one a quarter is reserved. What is kept is never
/// more than half of what is left, or a compaction could not bring the context under its trigger; in
/// a small window that is a quarter at most.
#[must_use]
pub const fn limits(window: u64, settings: &CompactionSettings) -> Limits {
    let (reserve, keep_recent) = (settings.reserve_tokens, settings.keep_recent_tokens);
    if window == 0 {
        return Limits { reserve, keep_recent };
    }
    if window <= reserve.saturating_mul(2) {
        return Limits { reserve: window / 4, keep_recent: min(keep_recent, window / 4) };
    }
    Limits { reserve, keep_recent: min(keep_recent, (window - reserve) / 2) }
}

const fn min(one: u64, other: u64) -> u64 {
    if one < other { one } else { other }
}

/// What the decision about an automatic compaction is made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// Tokens in context, system prompt and tools included.
    pub tokens: u64,
    /// The model's window; 0 when it is not known.
    pub window: u64,
    /// The part of `tokens` that is system prompt and tools.
    pub overhead: u64,
    /// Messages that a compaction now would summarise.
    pub to_refine: usize,
}

/// Whether an automatic compaction should run now (C3, C4, S5, S6). Nothing to summarise, no known
/// window or `compaction.enabled = false`: never. A context over its window: always, whatever the
/// trigger.
#[must_use]
pub fn should_compact(situation: &Situation, settings: &Settings) -> bool {
    let fires = settings.compaction.enabled
        && situation.window > 0
        && situation.to_refine > 0
        && (situation.tokens > situation.window || trigger_fires(situation, settings));
    tracing::debug!(?situation, fires, "automatic compaction considered");
    fires
}

/// Whether the configured trigger (S6), or without one the threshold of C3 or the budget of S5,
/// asks for a compaction.
fn trigger_fires(situation: &Situation, settings: &Settings) -> bool {
    let Situation { tokens, window, overhead, to_refine } = *situation;
    let remaining = window.saturating_sub(tokens);
    match settings.summarization.trigger {
        None => {
            let reserve = limits(window, &settings.compaction).reserve;
            let messages = tokens.saturating_sub(overhead);
            tokens > window - reserve.min(window)
                || messages > message_budget(window, overhead, settings)
        }
        Some(Trigger::TokenRatio(ratio)) => used_ratio(tokens, window) >= ratio,
        Some(Trigger::RemainingTokens(tokens)) => remaining <= tokens,
        Some(Trigger::MessagesToRefine(count)) => to_refine as u64 >= count,
    }
}

/// Tokens that messages may take (S5): the window without its headroom, system prompt and tools. A
/// ratio of 1 would leave nothing and is taken for none.
fn message_budget(window: u64, overhead: u64, settings: &Settings) -> u64 {
    let ratio = settings.summarization.reserve_ratio;
    let headroom =
        if ratio > 0.0 && ratio < 1.0 { (window as f64 * ratio).round() as u64 } else { 0 };
    window.saturating_sub(headroom).saturating_sub(overhead)
}

/// The used part of a window, in the arithmetic of S6: `1 − remaining / window`.
fn used_ratio(tokens: u64, window: u64) -> f64 {
    1.0 - (window as f64 - tokens as f64) / window as f64
}

/// The fewest tokens in context at which an automatic compaction runs, for the gauge. `None` when it
/// never does, or when the trigger counts messages.
#[must_use]
pub fn compacts_at(window: u64, settings: &Settings) -> Option<u64> {
    let by_messages = matches!(settings.summarization.trigger, Some(Trigger::MessagesToRefine(_)));
    (settings.compaction.enabled && window > 0 && !by_messages).then(|| threshold(window, settings))
}

/// The fewest tokens at which the trigger fires or the window is exceeded.
pub(super) fn threshold(window: u64, settings: &Settings) -> u64 {
    let over = window.saturating_add(1);
    let at = match settings.summarization.trigger {
        None => {
            let reserve = limits(window, &settings.compaction).reserve;
            window.saturating_sub(reserve).min(message_budget(window, 0, settings)) + 1
        }
        Some(Trigger::TokenRatio(ratio)) => first_at_ratio(window, ratio),
        Some(Trigger::RemainingTokens(tokens)) => window.saturating_sub(tokens),
        Some(Trigger::MessagesToRefine(_)) => over,
    };
    at.min(over)
}

/// The fewest tokens whose [`used_ratio`] reaches `ratio`; rounding can move it by one either way.
fn first_at_ratio(window: u64, ratio: f64) -> u64 {
    let near = (window as f64 * ratio.max(0.0)).floor() as u64;
    let candidates = near.saturating_sub(1)..=near.saturating_add(2);
    candidates
        .into_iter()
        .find(|tokens| used_ratio(*tokens, window) >= ratio)
        .unwrap_or(near.saturating_add(2))
}

/// The output limit to ask for: what the model can, clamped to the room that the estimate leaves
/// (C4, F09), but never so little that no answer fits.
#[must_use]
pub fn clamp_output(max_tokens: u64, window: u64, estimate: u64) -> u64 {
    if window == 0 {
        return max_tokens;
    }
    max_tokens.min(window.saturating_sub(estimate).max(OUTPUT_FLOOR))
}

#[cfg(test)]
mod tests {
    use super::super::sketch::{extend, tree};
    use super::super::tokens::Calibration;
    use super::*;
    use crate::ids::Timestamp;
    use crate::session::context::build_session_context;

    #[track_caller]
    fn check(line: &str, tokens: u64, guessed: u64) {
        let tree = tree(line);
        let outline = build_session_context(&tree, tree.leaf());
        let expect = ContextTokens { tokens, estimated: tokens == guessed, guessed };
        assert_eq!(context_tokens(&tree, &outline), expect, "{line}");
    }

    #[test]
    fn c5_the_newest_usage_and_an_estimate_of_what_follows() {
        check("u10 a20=5000 r30 r40", 5_070, 70);
        check("u10 a20=5000 u10 a20 u10", 5_040, 40);
        check("u10 a20 r30", 60, 60);
        check("", 0, 0);
    }

    #[test]
    fn c5_f34_a_usage_from_before_a_compaction_or_by_another_model_is_stale() {
        check("u10 a20=90000 c50@0 u10", 90, 90);
        check("u10 a20=90000 c50@0 u10 a20=700 u10", 710, 10);
        check("u10 a20=90000 m u10", 40, 40);
    }

    #[test]
    fn f36_a_usage_from_before_a_pruning_is_stale() {
        let mut tree = tree("u10 a20/1 r40 a20=9000 u10");
        let context = |tree: &SessionTree| {
            context_tokens(tree, &build_session_context(tree, tree.leaf())).tokens
        };
        assert_eq!(context(&tree), 9_010);
        let result = &mut tree.node_mut(NodeIndex::new(2)).kind;
        if let NodeKind::ToolResult { pruned_at, .. } = result {
            *pruned_at = Some(Timestamp::from_millis(4));
        }
        assert_eq!(context(&tree), 100);
        extend(&mut tree, "a20=500");
        assert_eq!(context(&tree), 500);
    }

    #[test]
    fn s12_only_the_estimated_part_is_corrected() {
        let counted = ContextTokens { tokens: 5_100, estimated: false, guessed: 100 };
        let twice = Calibration { reported: 2_000, estimated: 1_000 };
        assert_eq!(counted.calibrated(twice).tokens, 5_200);
        assert_eq!(counted.calibrated(Calibration::default()), counted);
    }

    #[test]
    fn c4_limits_of_small_windows() {
        let limits = |window| {
            let Limits { reserve, keep_recent } = limits(window, &CompactionSettings::default());
            (reserve, keep_recent)
        };
        assert_eq!(limits(200_000), (16_384, 20_000));
        assert_eq!(limits(32_768), (8_192, 8_192));
        assert_eq!(limits(4_096), (1_024, 1_024));
        // Just above, 20 000 kept tokens would be more than the trigger allows.
        assert_eq!(limits(33_000), (16_384, 8_308));
        assert_eq!(limits(0), (16_384, 20_000));
    }

    fn situation(tokens: u64, window: u64) -> Situation {
        Situation { tokens, window, overhead: 1_000, to_refine: 5 }
    }

    #[test]
    fn c3_fires_above_the_threshold_and_never_without_need() {
        let mut settings = Settings::default();
        let at = 200_000 - 16_384;
        assert!(!should_compact(&situation(at, 200_000), &settings));
        assert!(should_compact(&situation(at + 1, 200_000), &settings));
        let nothing = Situation { to_refine: 0, ..situation(300_000, 200_000) };
        assert!(!should_compact(&nothing, &settings));
        assert!(!should_compact(&situation(9_999, 0), &settings));
        settings.compaction.enabled = false;
        assert!(!should_compact(&situation(300_000, 200_000), &settings));
        assert_eq!(compacts_at(200_000, &settings), None);
    }

    #[test]
    fn s6_each_trigger() {
        let mut settings = Settings::default();
        let mut fires = |trigger, tokens| {
            settings.summarization.trigger = Some(trigger);
            should_compact(&situation(tokens, 1_000), &settings)
        };
        assert!(fires(Trigger::TokenRatio(0.8), 800) && !fires(Trigger::TokenRatio(0.8), 799));
        // Row 31 of the comparison: in doubles 1 − 900/1000 is a little less than 0.1.
        assert!(!fires(Trigger::TokenRatio(0.1), 100) && fires(Trigger::TokenRatio(0.1), 101));
        assert!(
            fires(Trigger::RemainingTokens(300), 700) && !fires(Trigger::RemainingTokens(300), 699)
        );
        assert!(
            fires(Trigger::MessagesToRefine(5), 0) && !fires(Trigger::MessagesToRefine(6), 1_000)
        );
        assert!(fires(Trigger::MessagesToRefine(6), 1_001), "over the window in any case");
    }

    #[test]
    fn s9_the_gauge_says_exactly_when() {
        let ratios =
            [0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0].map(|ratio| Some(Trigger::TokenRatio(ratio)));
        let remaining = [1, 500, 90_000].map(|tokens| Some(Trigger::RemainingTokens(tokens)));
        let triggers = [None].into_iter().chain(ratios).chain(remaining);
        for trigger in triggers {
            for window in [1, 1_000, 4_096, 8_192, 32_768, 32_769, 200_000, 1_000_000] {
                let mut settings = Settings::default();
                settings.summarization.trigger = trigger;
                let at = compacts_at(window, &settings).unwrap();
                assert!(should_compact(&situation(at, window), &settings), "{trigger:?} {window}");
                let below = at
                    .checked_sub(1)
                    .is_none_or(|tokens| !should_compact(&situation(tokens, window), &settings));
                assert!(below, "{trigger:?} {window} fires below {at}");
            }
        }
    }

    #[test]
    fn c4_f09_output_is_clamped_to_the_room_that_is_left() {
        assert_eq!(clamp_output(32_000, 200_000, 100_000), 32_000);
        assert_eq!(clamp_output(32_000, 200_000, 190_000), 10_000);
        assert_eq!(clamp_output(32_000, 200_000, 199_999), OUTPUT_FLOOR);
        assert_eq!(clamp_output(100, 200_000, 250_000), 100);
        assert_eq!(clamp_output(32_000, 0, 250_000), 32_000);
    }
}
