//! What a compaction would do, decided on the tree alone (SPEC C10–C15, S7).
//!
//! Costs the length of the path once, never reads a body. Carrying the plan out is
//! `agent_session::compact`'s business.

use super::CONTINUE_PROMPT;
use super::cut::{Cut, Weigh, cut_at, find_cut};
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
        let mut sum = 0;
        let mut whole = 0;
        let mut first = None;
        for position in (self.start..self.path.len()).rev() {
            let node = self.tree.node(self.path[position]);
            if node.kind.bears_message() {
                sum += u64::from(node.tokens);
            }
            if !node.kind.starts_turn() {
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
