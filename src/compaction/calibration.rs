//! How far the estimates of a branch are off, measured where a provider counted (SPEC S12). Pure.

use super::overflow::is_truncated;
use super::tokens::Calibration;
use super::trigger::estimate;
use crate::session::context::ContextOutline;
use crate::session::tree::{AnswerFacts, NodeKind, SessionTree};

/// Measures the estimates of what is in context.
///
/// Between two answers of one model the prompt grows by what was said in between; that growth is
/// compared with its estimate. So system prompt and tools, which both prompts share, do not disturb.
/// Left out: growth across a compaction, what holds pruned results (they were longer when they were
/// counted), what shrank, and what a server has truncated (F37).
#[must_use]
pub fn calibrate(tree: &SessionTree, outline: &ContextOutline) -> Calibration {
    let mut calibration = Calibration::default();
    let (before, after) = outline.nodes.split_at(outline.after_compaction.min(outline.nodes.len()));
    for run in [before, after] {
        let mut last: Option<&AnswerFacts> = None;
        let mut estimated = 0;
        let mut is_clean = true;
        for index in run {
            let node = tree.node(*index);
            if let NodeKind::Assistant(answer) = &node.kind
                && answer.succeeded()
                && answer.usage.prompt_tokens() > 0
            {
                if let Some(last) = last.filter(|last| is_clean && last.model == answer.model) {
                    calibration = observe(calibration, last, answer, estimated);
                }
                last = Some(answer);
                (estimated, is_clean) = (0, true);
            }
            is_clean &= !matches!(node.kind, NodeKind::ToolResult { pruned_at: Some(_), .. });
            estimated += estimate(node);
        }
    }
    tracing::debug!(?calibration, ratio = calibration.ratio(), "estimates calibrated");
    calibration
}

fn observe(
    calibration: Calibration,
    last: &AnswerFacts,
    answer: &AnswerFacts,
    estimated: u64,
) -> Calibration {
    let (before, now) = (last.usage.prompt_tokens(), answer.usage.prompt_tokens());
    match now.checked_sub(before).filter(|grown| *grown > 0) {
        Some(grown) if !is_truncated(grown, estimated) => Calibration {
            reported: calibration.reported + grown,
            estimated: calibration.estimated + estimated,
        },
        _ => calibration,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::tree;
    use super::*;
    use crate::session::context::build_session_context;

    #[track_caller]
    fn check(line: &str, reported: u64, estimated: u64) {
        let tree = tree(line);
        let outline = build_session_context(&tree, tree.leaf());
        assert_eq!(calibrate(&tree, &outline), Calibration { reported, estimated }, "{line}");
    }

    #[test]
    fn s12_growth_is_compared_with_its_estimate() {
        check("u100 a100=5000 u100 a100=5400 u900", 400, 200);
        check("u100 a100=5000 u100 a100=5400 r100 a10=5500", 500, 400);
        check("u100 a100=5000", 0, 0);
    }

    #[test]
    fn s12_what_cannot_be_compared_is_left_out() {
        // Across a compaction, and what shrank.
        check("u100 a100=5000 c50@1 u100 a100=900", 0, 0);
        check("u100 a100=5000 u100 a100=4000 u100 a100=4300", 300, 200);
        // F37: a server that dropped most of the prompt.
        check("u100 a100=1000 r30000 a100=2000 u100 a100=2200", 200, 200);
        // An answer that counted nothing does not break the chain.
        check("u100 a100=5000 u100 a100 u100 a100=5600", 600, 400);
    }

    #[test]
    fn s12_the_ratio_needs_enough_to_go_by() {
        let ratio = |reported, estimated| Calibration { reported, estimated }.ratio();
        assert!((ratio(300, 100) - 1.0).abs() < 1e-9);
        assert!((ratio(1_500, 1_000) - 1.5).abs() < 1e-9);
        assert!((ratio(90_000, 1_000) - 4.0).abs() < 1e-9);
        assert_eq!(Calibration { reported: 1_500, estimated: 1_000 }.apply(10), 15);
    }
}
