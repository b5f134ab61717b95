//! What a compaction would do, decided on the tree alone (SPEC C10–C15, S7).
//!
//! Costs the length of the path once, never reads a body. Carrying the plan out is
//! `agent_session::compact`'s business.

use super::CONTINUE_PROMPT;
use super::cut::{Cut, Weigh, cut_at, find_cut, valid_cuts};
use super::trigger::{ContextTokens, context_tokens, limits, threshold};
use crate::session::context::{ContextOutline, build_session_context};
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};
use crate::settings::{RetainRecent, Settings};

/// Which entries a compaction summarises and which it keeps. Nodes of one path, in path order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionPlan {
    /// The leaf that the plan was made for; when it is another one later, the plan is void (C23).
    pub leaf: NodeIndex,
    /// The kept tail begins here.
    pub first_kept: NodeIndex,
    /// Whether the cut goes through a turn (C14).
    pub is_split_turn: bool,
    /// Message-bearing entries to be summarised, what the previous compaction had kept included (C15).
    pub summarize: Vec<NodeIndex>,
    /// Message-bearing entries of the split turn before the cut.
    pub turn_prefix: Vec<NodeIndex>,
    /// Entries from `first_kept` on.
    pub kept: Vec<NodeIndex>,
    /// The person's latest request, when it lies before `first_kept`: its text goes verbatim into
    /// the stored summary, so that it is never lost to a paraphrase (C14, F17).
    pub request: Option<NodeIndex>,
    /// The compaction before this one.
    pub previous: Option<NodeIndex>,
    /// Tokens in context now (C5).
    pub tokens_before: u64,
    /// Tokens of recent messages that were asked to stay, after C4 and C11.
    pub keep_recent_tokens: u64,
}

impl CompactionPlan {
    /// The same with another beginning of the kept tail, as a hook may ask for; `None` when that is
    /// not on the path.
    #[must_use]
    pub fn kept_from(&self, tree: &SessionTree, first_kept: NodeIndex) -> Option<Self> {
        let outline = build_session_context(tree, Some(self.leaf));
        let scene = Scene::new(tree, &outline, tree.path(Some(self.leaf)));
        let cut = scene.path.iter().position(|index| *index == first_kept)?;
        let kept = scene.path[cut..].to_vec();
        let history = scene.messages(scene.start.min(cut), cut);
        let earlier = scene.kept_before().iter().copied();
        let goes = |index: &NodeIndex| cut >= scene.start || !kept.contains(index);
        Some(Self {
            first_kept,
            is_split_turn: false,
            summarize: earlier.filter(goes).chain(history).collect(),
            turn_prefix: Vec::new(),
            kept,
            request: scene.request_before(cut),
            ..self.clone()
        })
    }

    /// Estimated tokens that leave the context: what is summarised, the summary before included,
    /// less the request that comes back verbatim. The new summary must be smaller (C19).
    #[must_use]
    pub fn replaced_tokens(&self, tree: &SessionTree) -> u64 {
        let tokens = |index: &NodeIndex| u64::from(tree.node(*index).tokens);
        let leaving = self.previous.iter().chain(&self.summarize).chain(&self.turn_prefix);
        let leaving: u64 = leaving.map(tokens).sum();
        leaving.saturating_sub(self.request.as_ref().map_or(0, tokens))
    }
}

/// Why there is nothing to compact (C10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NothingToCompact {
    /// The path ends in a compaction.
    #[error("Already compacted")]
    AlreadyCompacted,
    /// Nothing to summarise, or no valid cut point.
    #[error("Nothing to compact")]
    Nothing,
}

/// Plans a compaction of the path to `leaf` for a model with this window.
///
/// # Errors
/// When there is nothing to summarise or nowhere to cut (C10).
pub fn prepare_compaction(
    tree: &SessionTree,
    leaf: Option<NodeIndex>,
    settings: &Settings,
    window: u64,
) -> Result<CompactionPlan, NothingToCompact> {
    let leaf = leaf.ok_or(NothingToCompact::Nothing)?;
    let outline = build_session_context(tree, Some(leaf));
    let scene = Scene::new(tree, &outline, tree.path(Some(leaf)));
    if outline.nodes.len() == outline.after_compaction {
        return Err(match outline.compaction {
            Some(_) => NothingToCompact::AlreadyCompacted,
            None => NothingToCompact::Nothing,
        });
    }
    let tokens = context_tokens(tree, &outline);
    let pressed = is_pressed(tokens, settings, window);
    let keep_recent = scene.keep_recent(settings, window, pressed);
    let weigh = if pressed { Weigh::All } else { Weigh::Messages };
    let cut = find_cut(tree, &scene.path, scene.start, scene.path.len(), keep_recent, weigh)
        .ok_or(NothingToCompact::Nothing)?;
    let cut = scene.retain_recent(cut, settings.summarization.retain_recent, settings, window);

    let split_at = cut.turn_start.unwrap_or(cut.first_kept);
    let history = scene.messages(scene.start, split_at);
    let turn_prefix = scene.messages(split_at, cut.first_kept);
    let still_kept = scene.kept_before();
    // What the previous compaction kept is summarised along with newer history. Alone it is only
    // when the context is too full to wait for more.
    let alone = history.is_empty() && turn_prefix.is_empty();
    if alone && (still_kept.is_empty() || !pressed) {
        return Err(NothingToCompact::Nothing);
    }
    Ok(CompactionPlan {
        leaf,
        first_kept: scene.path[cut.first_kept],
        is_split_turn: cut.is_split_turn,
        summarize: still_kept.iter().copied().chain(history).collect(),
        turn_prefix,
        kept: scene.path[cut.first_kept..].to_vec(),
        request: scene.request_before(cut.first_kept),
        previous: outline.compaction,
        tokens_before: tokens.tokens,
        keep_recent_tokens: keep_recent,
    })
}

/// Whether the context is over its trigger, so that a compaction is needed rather than wished for.
/// An estimate leaves system prompt and tools out; a quarter of the window is allowed for them.
fn is_pressed(tokens: ContextTokens, settings: &Settings, window: u64) -> bool {
    let allowance = if tokens.estimated { window / 4 } else { 0 };
    window > 0 && tokens.tokens + allowance >= threshold(window, settings)
}

/// A path, and the part of it that a compaction looks at.
struct Scene<'a> {
    tree: &'a SessionTree,
    outline: &'a ContextOutline,
    path: Vec<NodeIndex>,
    /// Position after the newest compaction (C10).
    start: usize,
}

impl<'a> Scene<'a> {
    fn new(tree: &'a SessionTree, outline: &'a ContextOutline, path: Vec<NodeIndex>) -> Self {
        let start = outline.compaction.map_or(0, |compaction| {
            path.iter().rposition(|index| *index == compaction).map_or(0, |position| position + 1)
        });
        Self { tree, outline, path, start }
    }

    /// Messages that the previous compaction kept (C15).
    fn kept_before(&self) -> &'a [NodeIndex] {
        let end = self.outline.after_compaction;
        self.outline.nodes.get(1..end).unwrap_or_default()
    }

    /// Message-bearing entries between two positions.
    fn messages(&self, from: usize, to: usize) -> Vec<NodeIndex> {
        let bears = |index: &NodeIndex| self.tree.node(*index).kind.bears_message();
        self.path[from..to].iter().copied().filter(bears).collect()
    }

    fn estimate(&self, nodes: &[NodeIndex]) -> u64 {
        nodes.iter().map(|index| u64::from(self.tree.node(*index).tokens)).sum()
    }

    /// `keepRecentTokens` in force: as C4 allows in this window, corrected by measured use (C11), and
    /// under pressure no more than half of what is there, or nothing would be gained.
    fn keep_recent(&self, settings: &Settings, window: u64, pressed: bool) -> u64 {
        let allowed = limits(window, &settings.compaction).keep_recent;
        let newer = &self.outline.nodes[self.outline.after_compaction..];
        let estimated = self.estimate(newer);
        let kept = corrected(allowed, self.measured(newer), estimated);
        if pressed {
            kept.min((self.estimate(self.kept_before()) + estimated) / 2).max(1)
        } else {
            kept
        }
    }

    /// Prompt tokens of the last answer whose usage counts (C11).
    fn measured(&self, nodes: &[NodeIndex]) -> u64 {
        let usage = nodes.iter().rev().find_map(|index| match &self.tree.node(*index).kind {
            NodeKind::Assistant(answer) if answer.succeeded() => Some(answer.usage),
            _ => None,
        });
        usage.map_or(0, |usage| usage.prompt_tokens())
    }

    /// The person's latest request, if it lies before `first_kept`.
    fn request_before(&self, first_kept: usize) -> Option<NodeIndex> {
        let is_request = |position: &usize| {
            let node = self.tree.node(self.path[*position]);
            matches!(node.kind, NodeKind::User) && &*node.preview != CONTINUE_PROMPT
        };
        let latest = (0..self.path.len()).rev().find(is_request)?;
        (latest < first_kept).then(|| self.path[latest])
    }

    /// Moves the cut back so that the newest whole turns stay (S7).
    fn retain_recent(
        &self,
        cut: Cut,
        retain: Option<RetainRecent>,
        settings: &Settings,
        window: u64,
    ) -> Cut {
        let Some(RetainRecent { turns, tokens }) = retain.filter(|retain| retain.turns > 0) else {
            return cut;
        };
        let reserve = limits(window, &settings.compaction).reserve;
        let room = if window == 0 { u64::MAX } else { window.saturating_sub(reserve) };
        let limit = tokens.unwrap_or(room / 2).min(room);
        let cuts = valid_cuts(self.tree, &self.path, self.start, self.path.len());
        let mut sum = 0;
        let mut whole = 0;
        let mut first = None;
        for position in (self.start..self.path.len()).rev() {
            let node = self.tree.node(self.path[position]);
            if node.kind.bears_message() {
                sum += u64::from(node.tokens);
            }
            if !node.kind.starts_turn() || cuts.binary_search(&position).is_err() {
                continue;
            }
            // The newest turn is kept whole unless it alone exceeds the window.
            if sum > if whole == 0 { room } else { limit } {
                break;
            }
            first = Some(position);
            whole += 1;
            if whole == turns {
                break;
            }
        }
        let earlier = first.map(|position| cut_at(self.tree, &self.path, self.start, position));
        earlier.filter(|earlier| earlier.first_kept < cut.first_kept).unwrap_or(cut)
    }
}

/// C11: the provider counted `measured` prompt tokens where `estimated` were estimated.
fn corrected(keep_recent: u64, measured: u64, estimated: u64) -> u64 {
    if estimated == 0 || measured <= estimated {
        return keep_recent;
    }
    let ratio = measured as f64 / estimated as f64;
    ((keep_recent as f64 / ratio).floor() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::sketch::{numbers, tree};
    use super::*;

    const WINDOW: u64 = 1_000_000;

    fn settings(keep_recent_tokens: u64) -> Settings {
        let mut settings = Settings::default();
        settings.compaction.keep_recent_tokens = keep_recent_tokens;
        settings
    }

    fn plan(line: &str, keep_recent: u64) -> Result<CompactionPlan, NothingToCompact> {
        let tree = tree(line);
        prepare_compaction(&tree, tree.leaf(), &settings(keep_recent), WINDOW)
    }

    /// Summarised, turn prefix, kept.
    #[track_caller]
    fn check(line: &str, keep_recent: u64, expect: [&[usize]; 3]) -> CompactionPlan {
        let plan = plan(line, keep_recent).unwrap();
        let parts = [&plan.summarize, &plan.turn_prefix, &plan.kept].map(|part| numbers(part));
        assert_eq!(parts, expect.map(<[usize]>::to_vec), "{line}");
        plan
    }

    #[test]
    fn c10_nothing_to_compact() {
        use NothingToCompact::{AlreadyCompacted, Nothing};
        let check = |line, expect| assert_eq!(plan(line, 10), Err(expect), "{line}");
        check("", Nothing);
        check("m l", Nothing);
        check("u100", Nothing);
        check("r100 r100", Nothing);
        check("u5 a5", Nothing);
        check("u10 a10 c5@1", AlreadyCompacted);
        check("u10 a10 c5@1 m l", AlreadyCompacted);
        check("u10 a10 c5@1 u5", Nothing);
    }

    #[test]
    fn c14_a_split_turn_has_a_history_and_a_prefix() {
        let plan = check("u9 a9 u9 a9/1 r9 l a9", 9, [&[0, 1], &[2, 3, 4], &[5, 6]]);
        assert!(plan.is_split_turn);
        assert_eq!(plan.request, Some(NodeIndex::new(2)));
        let plan = check("u9 a9 u9 a9", 18, [&[0, 1], &[], &[2, 3]]);
        assert!(!plan.is_split_turn && plan.request.is_none());
    }

    #[test]
    fn c15_what_the_previous_compaction_kept_is_summarised_next() {
        let line = "u9 a9 u9 a9 c5@2 u9 a9 u9 a9";
        let plan = check(line, 18, [&[2, 3, 5, 6], &[], &[7, 8]]);
        assert_eq!(plan.previous, Some(NodeIndex::new(4)));
    }

    #[test]
    fn f17_the_request_is_found_across_compactions_and_is_never_ours() {
        let plan = check("u9 a9 c5@1 a9 a9 a9", 9, [&[1, 3, 4], &[], &[5]]);
        assert_eq!(plan.request, Some(NodeIndex::new(0)));
        let mut tree = tree("u9 a9 u9 a9 a9");
        tree.node_mut(NodeIndex::new(2)).preview = CONTINUE_PROMPT.into();
        let plan = prepare_compaction(&tree, tree.leaf(), &settings(9), WINDOW).unwrap();
        assert_eq!(plan.request, Some(NodeIndex::new(0)));
    }

    #[test]
    fn c19_a_request_that_comes_back_is_not_replaced() {
        let tree = tree("u900 a9 c50@0 u500 a9/1 r70 a9");
        let plan = prepare_compaction(&tree, tree.leaf(), &settings(9), WINDOW).unwrap();
        assert_eq!(plan.replaced_tokens(&tree), 50 + 900 + 9 + 9 + 70);
    }

    #[test]
    fn c11_measured_use_corrects_what_is_kept() {
        let keep = |line| plan(line, 60).unwrap().keep_recent_tokens;
        assert_eq!(keep("u50 a50 u50 a50=400"), 30);
        assert_eq!(keep("u50 a50 u50 a50=150"), 60);
        assert_eq!(keep("u50 a50 u50 a50"), 60);
        assert_eq!(keep("u50 a50 u50 a50=900000"), 1);
        assert_eq!(keep("u50 a50=900000 c9@1 u50 a50 u50 a50"), 60, "stale");
    }

    #[test]
    fn c4_f03_under_pressure_a_compaction_is_always_found() {
        // 20 000 tokens are more than this window can keep, and then the kept tail is all there is.
        let line = "u50 a50/1 r900 a300 u50 a50/1 r900 a300 u50";
        let tree = tree(line);
        let plan = prepare_compaction(&tree, tree.leaf(), &Settings::default(), 4_096).unwrap();
        assert_eq!(numbers(&plan.summarize), [0, 1, 2, 3]);
        // What a previous compaction kept is given up when nothing newer can be.
        let tree = super::super::sketch::tree("u50 a50 u900 a900 c500@2 u40 a40");
        let plan = prepare_compaction(&tree, tree.leaf(), &Settings::default(), 4_096).unwrap();
        assert_eq!(numbers(&plan.summarize), [2, 3]);
        assert_eq!(numbers(&plan.kept), [5, 6]);
    }

    #[test]
    fn s7_whole_turns_are_retained() {
        let tree = tree("u100 a100 u100 a100 m u100 a100 u100 a100/1 r100 a100");
        let first_kept = |turns, tokens, window| {
            let mut settings = settings(1);
            settings.summarization.retain_recent = Some(RetainRecent { turns, tokens });
            prepare_compaction(&tree, tree.leaf(), &settings, window)
                .map(|plan| plan.first_kept.get())
        };
        assert_eq!(first_kept(0, None, WINDOW), Ok(10));
        assert_eq!(first_kept(1, None, WINDOW), Ok(7));
        assert_eq!(first_kept(2, None, WINDOW), Ok(4), "metadata before a kept turn stays with it");
        assert_eq!(first_kept(3, Some(600), WINDOW), Ok(4));
        assert_eq!(first_kept(3, Some(800), WINDOW), Ok(2));
        assert_eq!(first_kept(20, None, WINDOW), Err(NothingToCompact::Nothing));
        assert_eq!(first_kept(1, Some(10), WINDOW), Ok(7), "the newest turn is kept whole");
        assert_eq!(first_kept(1, None, 500), Ok(10), "unless it exceeds the window");
    }
}
