//! What must hold for every conversation, tried on generated ones: C12 against a slow and obvious
//! reference, C14, C15, I2, I4, and long work in windows of all sizes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::breaker::{Breaker, Outcome};
use super::cut::find_cut_point;
use super::plan::{CompactionPlan, NothingToCompact, prepare_compaction};
use super::sketch::{extend, tree};
use super::trigger::{Situation, context_tokens, limits, should_compact};
use crate::session::context::build_session_context;
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};
use crate::settings::{RetainRecent, Settings};

/// Words of a sketch: mostly turns as agents make them, with interruptions and metadata anywhere.
fn conversation() -> impl Strategy<Value = String> {
    let tokens = prop_oneof![3 => 0_u32..200, 2 => 200_u32..3_000, 1 => 3_000_u32..20_000];
    let noise = prop_oneof![
        20 => Just(""), 1 => Just("m"), 1 => Just("l"), 1 => Just("x40"), 1 => Just("s90"),
        1 => Just("b60"), 1 => Just("u30"),
    ];
    let round =
        (0_u32..4, proptest::collection::vec((tokens.clone(), noise.clone()), 4), 0_u32..600)
            .prop_map(|(calls, results, said)| {
                let mut words = vec![format!("a{said}/{calls}")];
                for (tokens, noise) in results.iter().take(calls as usize) {
                    words.push((*noise).to_owned());
                    words.push(format!("r{tokens}"));
                }
                words.join(" ")
            });
    let turn = (tokens, noise, proptest::collection::vec(round, 0..6))
        .prop_map(|(asked, noise, rounds)| format!("{noise} u{asked} {} a100", rounds.join(" ")));
    // Some conversations begin or end in the middle of a turn.
    (any::<bool>(), any::<bool>(), proptest::collection::vec(turn, 1..8)).prop_map(
        |(head, tail, turns)| {
            let text = turns.join(" ");
            let mut words: Vec<_> = text.split_whitespace().collect();
            if head {
                words.remove(0);
            }
            if tail {
                words.truncate(words.len().saturating_sub(2));
            }
            words.join(" ")
        },
    )
}

/// The answer whose call a result belongs to: the nearest one before it, if that has calls.
fn caller(tree: &SessionTree, path: &[NodeIndex], result: usize) -> Option<usize> {
    (0..result).rev().find_map(|position| match &tree.node(path[position]).kind {
        NodeKind::Assistant(answer) => Some((answer.tool_calls > 0).then_some(position)),
        _ => None,
    })?
}

fn is_result(tree: &SessionTree, index: NodeIndex) -> bool {
    matches!(tree.node(index).kind, NodeKind::ToolResult { .. })
}

/// C12 word for word, in quadratic time. Gives the message that is cut at.
fn reference_cut(tree: &SessionTree, path: &[NodeIndex], keep_recent: u64) -> Option<usize> {
    let kind = |position: usize| &tree.node(path[position]).kind;
    let is_valid = |cut: &usize| {
        kind(*cut).bears_message()
            && !is_result(tree, path[*cut])
            && !(*cut..path.len()).any(|result| {
                is_result(tree, path[result])
                    && caller(tree, path, result).is_some_and(|call| call < *cut)
            })
    };
    let is_entry = |position: &usize| match kind(*position) {
        NodeKind::Custom { entry, .. } => !entry,
        NodeKind::BranchSummary { from } => from.is_none(),
        kind => kind.bears_message(),
    };
    let sum_from = |from: usize| -> u64 {
        (from..path.len()).filter(is_entry).map(|at| u64::from(tree.node(path[at]).tokens)).sum()
    };
    let reached =
        (0..path.len()).filter(is_entry).rev().find(|from| sum_from(*from) >= keep_recent);
    let Some(reached) = reached else { return (0..path.len()).find(is_valid) };
    (reached..path.len()).find(is_valid).or_else(|| (0..reached).rev().find(is_valid))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn c12_cuts_are_those_of_the_reference(line in conversation(), keep_recent in 1_u64..30_000) {
        let tree = tree(&line);
        let path = tree.active_path();
        let cut = find_cut_point(&tree, &path, 0, path.len(), keep_recent);
        let message = cut.and_then(|cut| {
            // C13: what was pulled in is no message of type `message`.
            let reference = reference_cut(&tree, &path, keep_recent)?;
            let pulled = &path[cut.first_kept..reference.max(cut.first_kept)];
            let is_pulled = |index: &NodeIndex| match &tree.node(*index).kind {
                NodeKind::Custom { entry, .. } => *entry,
                NodeKind::BranchSummary { from } => from.is_some(),
                kind => !kind.bears_message(),
            };
            pulled.iter().all(is_pulled).then_some(reference)
        });
        prop_assert_eq!(message, reference_cut(&tree, &path, keep_recent), "{}", line);
        if let Some(cut) = cut {
            prop_assert!(cut.first_kept <= message.unwrap());
        }
    }

    #[test]
    fn c15_nothing_is_lost_over_any_number_of_compactions(
        parts in proptest::collection::vec(conversation(), 1..6),
        window in prop_oneof![
            Just(4_096_u64), Just(8_192), Just(32_768), Just(40_000), Just(200_000), Just(1_000_000)
        ],
        keep_recent in prop_oneof![Just(1_u64), Just(500), Just(20_000)],
        retain in proptest::option::of((0_u32..4, proptest::option::of(1_u64..40_000))),
    ) {
        let mut settings = Settings::default();
        settings.compaction.keep_recent_tokens = keep_recent;
        settings.summarization.retain_recent =
            retain.map(|(turns, tokens)| RetainRecent { turns, tokens });
        let mut tree = SessionTree::new();
        let mut summarised = BTreeSet::new();
        for part in parts {
            extend(&mut tree, &part);
            let Ok(plan) = prepare_compaction(&tree, tree.leaf(), &settings, window) else { continue };
            check_plan(&tree, &plan);
            summarised.extend(plan.summarize.iter().chain(&plan.turn_prefix).copied());
            let compaction = format!("c300@{}", plan.first_kept.get());
            extend(&mut tree, &compaction);
            let outline = build_session_context(&tree, tree.leaf());
            for index in tree.active_path() {
                if tree.node(index).kind.bears_message() {
                    let is_kept = outline.nodes.contains(&index);
                    prop_assert!(is_kept || summarised.contains(&index), "{:?} is lost", index);
                }
            }
            // I4: not twice without anything new.
            let again = prepare_compaction(&tree, tree.leaf(), &settings, window);
            prop_assert_eq!(again, Err(NothingToCompact::AlreadyCompacted));
        }
    }
}

/// A plan divides what is in context, in order, and tears nothing apart.
fn check_plan(tree: &SessionTree, plan: &CompactionPlan) {
    let path = tree.active_path();
    let outline = build_session_context(tree, tree.leaf());
    let is_message = |index: &NodeIndex| tree.node(*index).kind.bears_message();
    let kept: Vec<_> = plan.kept.iter().copied().filter(is_message).collect();
    let divided: Vec<_> = plan
        .previous
        .iter()
        .chain(&plan.summarize)
        .chain(&plan.turn_prefix)
        .chain(&kept)
        .copied()
        .collect();
    assert_eq!(divided, outline.nodes);
    assert!(!plan.summarize.is_empty() || !plan.turn_prefix.is_empty());
    assert!(!kept.is_empty() && !is_result(tree, kept[0]));
    let cut = path.iter().position(|index| *index == plan.first_kept).unwrap();
    for result in cut..path.len() {
        let torn = is_result(tree, path[result])
            && caller(tree, &path, result).is_some_and(|call| {
                call < cut && plan.previous.is_none_or(|previous| path[call] > previous)
            });
        assert!(!torn, "I2: a call and its result are torn apart at {cut}");
    }
    if plan.is_split_turn {
        assert!(tree.node(plan.turn_prefix[0]).kind.starts_turn());
        assert!(!tree.node(kept[0]).kind.starts_turn());
    }
    let latest = path.iter().rev().find(|index| matches!(tree.node(**index).kind, NodeKind::User));
    if let Some(latest) = latest {
        assert!(kept.contains(latest) != (plan.request == Some(*latest)), "C14: the request");
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, from: u64, to: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + (self.0 >> 33) % (to - from)
    }
}

/// Work in a window, as a session does it, with figures in place of models.
struct Work {
    tree: SessionTree,
    settings: Settings,
    window: u64,
    overhead: u64,
    breaker: Breaker,
    compactions: u64,
    summarised: u64,
    largest: u64,
}

impl Work {
    fn prompt(&self) -> u64 {
        let outline = build_session_context(&self.tree, self.tree.leaf());
        outline.nodes.iter().map(|index| u64::from(self.tree.node(*index).tokens)).sum::<u64>()
            + self.overhead
    }

    fn situation(&self, to_refine: usize) -> Situation {
        let outline = build_session_context(&self.tree, self.tree.leaf());
        let tokens = context_tokens(&self.tree, &outline);
        let tokens = tokens.tokens + if tokens.estimated { self.overhead } else { 0 };
        Situation { tokens, window: self.window, overhead: self.overhead, to_refine }
    }

    fn compact_if_due(&mut self) {
        let leaf = self.tree.leaf();
        let Ok(plan) = prepare_compaction(&self.tree, leaf, &self.settings, self.window) else {
            return;
        };
        let to_refine = plan.summarize.len() + plan.turn_prefix.len();
        if !should_compact(&self.situation(to_refine), &self.settings)
            || !self.breaker.is_armed(&self.tree, leaf, self.window)
        {
            return;
        }
        let replaced = plan.replaced_tokens(&self.tree);
        let reserve = limits(self.window, &self.settings.compaction).reserve;
        let request = plan.request.map_or(0, |index| u64::from(self.tree.node(index).tokens));
        let summary = (replaced / 5).clamp(60, reserve * 4 / 5) + request;
        self.compactions += 1;
        self.summarised += replaced;
        extend(&mut self.tree, &format!("c{summary}@{}", plan.first_kept.get()));
        let still = should_compact(&self.situation(1), &self.settings);
        let outcome = if still { Outcome::Useless } else { Outcome::Helped };
        self.breaker.record(outcome, self.tree.leaf());
    }

    fn answer(&mut self, said: u64, calls: u64) {
        self.compact_if_due();
        let prompt = self.prompt();
        self.largest = self.largest.max(prompt);
        assert!(prompt <= self.window, "{prompt} tokens in a window of {}", self.window);
        extend(&mut self.tree, &format!("a{said}/{calls}={prompt}"));
    }
}

/// 200 turns with tool results of 1 to 40 KB, in which no request is ever larger than the window.
#[test]
fn i4_long_work_in_every_window() {
    println!(
        "{:>9} {:>12} {:>11} {:>9} {:>16}",
        "window", "tokens said", "compactions", "largest", "tokens summed up"
    );
    for window in [4_096, 8_192, 32_768, 33_000, 40_000, 200_000, 1_000_000] {
        let mut dice = Dice(window);
        let overhead = 2_000.min(window / 4);
        let mut work = Work {
            tree: SessionTree::new(),
            settings: Settings::default(),
            window,
            overhead,
            breaker: Breaker::default(),
            compactions: 0,
            summarised: 0,
            largest: 0,
        };
        for _ in 0..200 {
            let asked = dice.roll(10, 300).min(window / 20);
            extend(&mut work.tree, &format!("u{asked}"));
            for _ in 0..dice.roll(1, 5) {
                work.answer(dice.roll(20, 200), 1);
                // What a tool gives is cut to a part of the window.
                let result = dice.roll(250, 10_000).min(window / 4);
                extend(&mut work.tree, &format!("r{result}"));
            }
            work.answer(dice.roll(50, 400), 0);
        }
        let said: u64 = work.tree.nodes().map(|(_, node)| u64::from(node.tokens)).sum();
        let Work { compactions, largest, summarised, .. } = work;
        println!("{window:>9} {said:>12} {compactions:>11} {largest:>9} {summarised:>16}");
        // Each compaction frees at least a quarter of what the window has for messages.
        assert!(compactions <= said / ((window - overhead) / 4) + 1, "{compactions} in {window}");
    }
}
