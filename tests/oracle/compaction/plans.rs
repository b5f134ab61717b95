//! Kind `session`: figures of entries, cuts, preparations, prunings and branches.

use regrow::compaction::branch::{collect_entries_for_branch_summary, prepare_branch_entries};
use regrow::compaction::cut::find_cut_point;
use regrow::compaction::plan::{CompactionPlan, prepare_compaction};
use regrow::compaction::prune::{PrunePolicy, plan_prune};
use regrow::compaction::trigger::context_tokens;
use regrow::session::context::{ContextOutline, build_session_context};
use regrow::session::tree::NodeKind;
use regrow::settings::Settings;
use serde_json::Value;

use super::scene::{Scene, text, texts};
use crate::cases::{OMP, PI, cases};
use crate::tally::Tally;

/// So large that C4 never clamps and nothing is ever pressed for room.
const WINDOW: u64 = 1_000_000_000;

#[test]
fn s12_entry_tokens() {
    let mut tally = Tally::new("session entryTokens");
    let cases = cases("session");
    for case in &cases {
        let scene = Scene::of(case);
        for (id, tokens) in case["expected"][OMP]["entryTokens"].as_object().unwrap() {
            let node = scene.tree.node(scene.tree.find(&id.as_str().into()).unwrap());
            // Row 7: custom messages count, as in pi, where the other counts nothing.
            let theirs = match &node.kind {
                NodeKind::Custom { .. } if tokens.as_u64() == Some(0) => {
                    &case["expected"][PI]["entryTokens"][id]
                }
                _ => tokens,
            };
            tally.compare(
                format!("{} {id}", scene.name),
                Some(u64::from(node.tokens)),
                theirs.as_u64(),
            );
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 1_000 });
}

#[test]
fn c12_cut_points() {
    let mut tally = Tally::new("session cutPoints");
    let cases = cases("session");
    for case in &cases {
        let scene = Scene::of(case);
        for row in case["expected"][OMP]["cutPoints"].as_array().unwrap() {
            let number = |key: &str| row[key].as_u64().unwrap();
            let (start, keep) = (number("start") as usize, number("keepRecentTokens"));
            let ours = find_cut_point(&scene.tree, &scene.path, start, scene.path.len(), keep);
            let place = format!("{} start {start} keep {keep}", scene.name);
            let Some(ours) = ours else {
                tally.except("row 10: no valid cut point");
                continue;
            };
            if let Some(why) = other_cut(&scene, keep) {
                tally.except(why);
                continue;
            }
            tally.compare(&place, ours.first_kept, number("firstKeptEntryIndex") as usize);
            let split = row["isSplitTurn"] == true;
            match other_split(&scene, ours.first_kept, split) {
                Some(why) => tally.except(why),
                None => {
                    tally.compare(&place, ours.is_split_turn, split);
                    let turn_start = row["turnStartIndex"].as_u64().map(|start| start as usize);
                    tally.compare(&place, ours.turn_start, turn_start.filter(|_| split));
                }
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 2_000 });
}

/// Why a cut may be another one than theirs.
fn other_cut(scene: &Scene, keep_recent: u64) -> Option<&'static str> {
    if scene.has("custom-role-message") || scene.has("hook-message") {
        return Some("row 6: both spellings of custom messages can be cut at");
    }
    let node = |position: usize| scene.tree.node(scene.path[position]);
    let trailing: u64 = (0..scene.path.len())
        .rev()
        .filter(|position| node(*position).kind.bears_message())
        .take_while(|position| matches!(node(*position).kind, NodeKind::ToolResult { .. }))
        .map(|position| u64::from(node(position).tokens))
        .sum();
    (trailing > 0 && trailing >= keep_recent).then_some(
        "C12: no valid cut follows the trailing results, so the last one before them is taken",
    )
}

/// Why a turn may count as whole where theirs is split.
fn other_split(scene: &Scene, first_kept: usize, split: bool) -> Option<&'static str> {
    let mut kept = scene.path[first_kept..].iter().map(|index| &scene.tree.node(*index).kind);
    let first = &scene.tree.node(scene.path[first_kept]).kind;
    let starts = kept.find(|kind| kind.bears_message()).is_some_and(|kind| kind.starts_turn());
    match (split && starts, first.bears_message()) {
        (true, true) => Some("row 8: a cut on a turn start splits nothing"),
        (true, false) => Some("row 9: the first kept message decides, not the metadata before it"),
        (false, _) => None,
    }
}

#[test]
fn c10_c15_preparations() {
    let mut tally = Tally::new("session prepare");
    let cases = cases("session");
    for case in &cases {
        let mut scene = Scene::of(case);
        scene.forget_custom_tokens();
        let rows = case["expected"][OMP]["prepare"].as_array().unwrap();
        for row in rows {
            let keep = row["keepRecentTokens"].as_u64().unwrap();
            let adjusted = row["adjustedKeepRecentTokens"].as_u64();
            let place = format!("{} keep {keep}", scene.name);
            let mut settings = Settings::default();
            settings.compaction.keep_recent_tokens = keep;
            let ours = prepare_compaction(&scene.tree, scene.tree.leaf(), &settings, WINDOW);
            let theirs = resolve(rows, &row["result"]);
            if let Some(why) = other_cut(&scene, adjusted.unwrap_or(keep)) {
                tally.except(why);
                continue;
            }
            tally.compare(&place, ours.is_ok(), !theirs.is_null());
            let Ok(ours) = ours else { continue };
            if theirs.is_null() {
                continue;
            }
            tally.compare(&place, Some(ours.keep_recent_tokens), adjusted);
            compare_plan(&mut tally, &place, &scene, &ours, theirs);
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 2_000 });
}

/// The result that a row stands for.
fn resolve<'a>(rows: &'a [Value], result: &'a Value) -> &'a Value {
    match result["sameAsKeepRecentTokens"].as_u64() {
        Some(same) => {
            let row = rows.iter().find(|row| row["keepRecentTokens"] == same).unwrap();
            resolve(rows, &row["result"])
        }
        None => result,
    }
}

fn compare_plan(
    tally: &mut Tally,
    place: &str,
    scene: &Scene,
    ours: &CompactionPlan,
    theirs: &Value,
) {
    tally.compare(place, scene.id(ours.first_kept), text(&theirs["firstKeptEntryId"]));
    tally.compare(place, ours.previous.is_some(), theirs["hasPreviousSummary"] == true);
    // C15: theirs, preceded by what the previous compaction had kept.
    let position = |index| scene.path.iter().position(|other| *other == index).unwrap();
    let previous = ours.previous.map(position);
    let is_newer = |index: &_| previous.is_none_or(|previous| position(*index) > previous);
    let newer: Vec<_> = ours.summarize.iter().copied().filter(is_newer).collect();
    let outline = build_session_context(&scene.tree, scene.tree.leaf());
    let kept_before = outline.nodes[..outline.after_compaction].iter().skip(1).copied();
    let older = ours.summarize.iter().copied().filter(|index| !is_newer(index));
    tally.compare(place, older.collect::<Vec<_>>(), kept_before.collect());
    let kept: Vec<_> = ours
        .kept
        .iter()
        .copied()
        .filter(|index| scene.tree.node(*index).kind.bears_message())
        .collect();
    let run = |value: &Value| {
        (value["count"].as_u64().unwrap() as usize, text(&value["firstId"]), text(&value["lastId"]))
    };
    let own = |nodes: &[_]| {
        let id = |index: Option<&_>| index.map(|index| scene.id(*index)).unwrap_or_default();
        (nodes.len(), id(nodes.first()), id(nodes.last()))
    };
    if scene.has("developer-role") {
        return tally.except("X2: roles that no model sees are in no run of messages");
    }
    tally.compare(place, own(&kept), run(&theirs["recent"]));
    let split = theirs["isSplitTurn"] == true;
    let first_kept = position(ours.first_kept);
    if let Some(why) = other_split(scene, first_kept, split) {
        let both = |key| theirs[key]["count"].as_u64().unwrap() as usize;
        tally.compare(place, newer.len(), both("messagesToSummarize") + both("turnPrefix"));
        return tally.except(why);
    }
    tally.compare(place, ours.is_split_turn, split);
    tally.compare(place, own(&newer), run(&theirs["messagesToSummarize"]));
    tally.compare(place, own(&ours.turn_prefix), run(&theirs["turnPrefix"]));
}

#[test]
fn c5_context_tokens() {
    let mut tally = Tally::new("session contextEstimate");
    let cases = cases("session");
    for case in &cases {
        let scene = Scene::of(case);
        let theirs = &case["expected"][PI]["contextEstimate"];
        let outline = build_session_context(&scene.tree, scene.tree.leaf());
        let ours = context_tokens(&scene.tree, &outline);
        let last_usage = theirs["lastUsageIndex"].as_u64().map(|position| position as usize);
        if last_usage.is_some_and(|position| position < outline.after_compaction) {
            tally.except("C5: a usage from before the compaction is stale");
        } else if last_usage.is_some() && theirs["usageTokens"] == 0 {
            tally.except("C5: an answer that counted nothing is no usage");
        } else if last_usage.is_some_and(|position| by_another_model(&scene, &outline, position)) {
            tally.except("I11: a usage of another model is stale");
        } else if scene.has("hook-message") {
            tally.except("row 7: custom messages count like any other");
        } else if outline.nodes.iter().any(|index| {
            matches!(scene.tree.node(*index).kind, NodeKind::BashExecution { excluded: true })
        }) {
            tally.except("X3: `!!` commands are not in context");
        } else {
            tally.compare(&scene.name, Some(ours.tokens), theirs["tokens"].as_u64());
            tally.compare(&scene.name, Some(ours.guessed), theirs["trailingTokens"].as_u64());
            tally.compare(&scene.name, ours.estimated, last_usage.is_none());
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 100 });
}

fn by_another_model(scene: &Scene, outline: &ContextOutline, position: usize) -> bool {
    let node = outline.nodes.get(position).map(|index| scene.tree.node(*index));
    match node.map(|node| &node.kind) {
        Some(NodeKind::Assistant(answer)) => outline.model.as_ref() != Some(&answer.model),
        _ => false,
    }
}

#[test]
fn c8_prunings() {
    let mut tally = Tally::new("session prune");
    let cases = cases("session");
    for case in &cases {
        let scene = Scene::of(case);
        let configs = case["input"]["pruneConfigs"].as_array().unwrap();
        for (config, theirs) in
            configs.iter().zip(case["expected"][OMP]["prune"].as_array().unwrap())
        {
            let policy = PrunePolicy {
                protect_tokens: config["protectTokens"].as_u64().unwrap(),
                minimum_savings: config["minimumSavings"].as_u64().unwrap(),
                protected_tools: texts(&config["protectedTools"]),
                protect_errors: false,
            };
            let place = format!("{} {}", scene.name, config["name"]);
            let ours = plan_prune(&scene.tree, &scene.path, &policy);
            let pruned = theirs["pruned"].as_array().unwrap().iter();
            let pruned = pruned.map(|row| (text(&row[0]), row[1].as_u64().unwrap())).collect();
            let results: Vec<_> = ours
                .results
                .iter()
                .map(|(index, tokens)| (scene.id(*index), u64::from(*tokens)))
                .collect();
            tally.compare(&place, results, pruned);
            tally.compare(&place, Some(ours.saved), theirs["tokensSaved"].as_u64());
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 1_000 });
}

#[test]
fn b2_branches() {
    let mut tally = Tally::new("session branch");
    let cases = cases("session");
    for case in &cases {
        let scene = Scene::of(case);
        for row in case["expected"][OMP]["branch"].as_array().unwrap() {
            let (old, target) = (scene.find(&row["oldLeafId"]), scene.find(&row["targetId"]));
            let ours = collect_entries_for_branch_summary(&scene.tree, old, target);
            let place = format!("{} {} {}", scene.name, row["oldLeafId"], row["targetId"]);
            tally.compare(&place, scene.ids(&ours.entries), texts(&row["ids"]));
            let ancestor = ours.common_ancestor.map(|index| scene.id(index)).unwrap_or_default();
            tally.compare(&place, ancestor, text(&row["commonAncestorId"]));
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 1_000 });
}

#[test]
fn b3_selections_for_a_branch_summary() {
    let mut tally = Tally::new("session branchPrepared");
    let cases = cases("session");
    for case in &cases {
        let mut scene = Scene::of(case);
        scene.forget_custom_tokens();
        for pair in case["expected"][OMP]["branchPrepared"].as_array().into_iter().flatten() {
            let (old, target) = (scene.find(&pair["oldLeafId"]), scene.find(&pair["targetId"]));
            let entries = collect_entries_for_branch_summary(&scene.tree, old, target).entries;
            for row in pair["rows"].as_array().unwrap() {
                let ours =
                    prepare_branch_entries(&scene.tree, &entries, row["budget"].as_u64().unwrap());
                let place = format!(
                    "{} {} {} {}",
                    scene.name, pair["oldLeafId"], pair["targetId"], row["budget"]
                );
                if scene.has("hook-message") {
                    tally.except("row 7: custom messages count like any other");
                    continue;
                }
                if scene.has("developer-role") {
                    tally.except("X2: roles that no model sees are not summarised");
                    continue;
                }
                tally.compare(&place, Some(ours.messages.len() as u64), row["count"].as_u64());
                tally.compare(&place, Some(ours.tokens), row["totalTokens"].as_u64());
                let ids = scene.ids(&ours.messages);
                tally.compare(
                    &place,
                    ids.first().cloned().unwrap_or_default(),
                    text(&row["firstId"]),
                );
                if row["ids"].is_array() {
                    tally.compare(&place, ids, texts(&row["ids"]));
                }
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 1_000 });
}
