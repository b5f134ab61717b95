//! Serialised conversations: whole contexts, what a compaction reads, what a branch summary reads.

use std::sync::Arc;

use regrow::compaction::branch::{collect_entries_for_branch_summary, prepare_branch_entries};
use regrow::compaction::plan::prepare_compaction;
use regrow::compaction::transcript::serialize_conversation;
use regrow::message::{Block, Message};
use regrow::session::context::build_session_context;
use regrow::session::tree::NodeIndex;
use regrow::session::view::convert_to_llm;
use regrow::settings::Settings;
use serde_json::Value;

use super::scene::Scene;
use super::{expected_print, print_of};
use crate::cases::{OMP, cases};
use crate::tally::Tally;

/// Why a conversation cannot be met to the letter.
pub(super) fn other_text(
    scene: &Scene,
    messages: &[Arc<Message>],
    theirs: &Value,
) -> Option<&'static str> {
    let has = |wanted: fn(&Message) -> bool| messages.iter().any(|message| wanted(message));
    if theirs["includesTemplateText"] == true
        || has(|message| {
            matches!(message, Message::CompactionSummary(_) | Message::BranchSummary(_))
        })
    {
        return Some("row 18 and C16: the templates of summaries are worded differently");
    }
    if theirs["loneSurrogateReplaced"] == true || scene.name == "edge-serialize-truncation" {
        return Some("F76: theirs cuts a character in two");
    }
    if scene.has("developer-role") && has(|message| matches!(message, Message::Other(_))) {
        return Some("X2: roles that no model sees are not summarised");
    }
    if has(
        |message| matches!(message, Message::Assistant(answer) if answer.content.iter().any(is_wordless)),
    ) {
        return Some("C16: a thought without words is no block");
    }
    has(|message| matches!(message, Message::FileMention(_)))
        .then_some("J4: attached files of old versions are read only for the screen")
}

fn is_wordless(block: &Block) -> bool {
    matches!(block, Block::Thinking { thinking, .. } if thinking.is_empty())
}

fn serialized(messages: &[Arc<Message>]) -> (u64, String) {
    print_of(&serialize_conversation(&convert_to_llm(messages)))
}

#[test]
fn c16_whole_contexts() {
    let mut tally = Tally::new("session serialized");
    let cases = cases("session");
    for case in &cases {
        let scene = Scene::of(case);
        let theirs = &case["expected"][OMP]["serialized"];
        if !theirs.is_object() {
            continue;
        }
        let leaf = scene.tree.leaf();
        let messages = scene.messages(&build_session_context(&scene.tree, leaf).nodes);
        match other_text(&scene, &messages, theirs) {
            Some(why) => tally.except(why),
            None => tally.compare(&scene.name, serialized(&messages), expected_print(theirs)),
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 50 });
}

#[test]
fn c16_what_a_compaction_reads() {
    let mut tally = Tally::new("session serializedToSummarize, serializedTurnPrefix");
    let cases = cases("session");
    for case in &cases {
        let scene = Scene::of(case);
        for row in case["expected"][OMP]["prepare"].as_array().unwrap() {
            let theirs = &row["result"];
            let mut settings = Settings::default();
            settings.compaction.keep_recent_tokens = row["keepRecentTokens"].as_u64().unwrap();
            let plan = prepare_compaction(&scene.tree, scene.tree.leaf(), &settings, 200_000);
            let (Ok(plan), true) = (plan, theirs["firstKeptEntryId"].is_string()) else { continue };
            let place = format!("{} keep {}", scene.name, row["keepRecentTokens"]);
            for (nodes, key, runs) in [
                (&plan.summarize, "serializedToSummarize", "messagesToSummarize"),
                (&plan.turn_prefix, "serializedTurnPrefix", "turnPrefix"),
            ] {
                let messages = scene.messages(nodes);
                if !is_run(&scene, nodes, &theirs[runs]) {
                    tally.except("rows 8–10, C12, C15: other messages; compared as plans");
                } else if let Some(why) = other_text(&scene, &messages, &theirs[key]) {
                    tally.except(why);
                } else if theirs[key].is_object() {
                    tally.compare(&place, serialized(&messages), expected_print(&theirs[key]));
                }
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 350 });
}

/// Whether these nodes are the run of messages that the case speaks of.
pub(super) fn is_run(scene: &Scene, nodes: &[NodeIndex], run: &Value) -> bool {
    let id = |index: Option<&NodeIndex>| index.map(|index| scene.tree.node(*index).id.to_string());
    let theirs = |key: &str| run[key].as_str().map(str::to_owned);
    run["count"].as_u64() == Some(nodes.len() as u64)
        && id(nodes.first()) == theirs("firstId")
        && id(nodes.last()) == theirs("lastId")
}

#[test]
fn b3_what_a_branch_summary_reads() {
    let mut tally = Tally::new("session branchPrepared serialized");
    let cases = cases("session");
    for case in &cases {
        let scene = Scene::of(case);
        for pair in case["expected"][OMP]["branchPrepared"].as_array().into_iter().flatten() {
            let (old, target) = (scene.by_id(&pair["oldLeafId"]), scene.by_id(&pair["targetId"]));
            let entries = collect_entries_for_branch_summary(&scene.tree, old, target).entries;
            for row in pair["rows"].as_array().unwrap() {
                let theirs = &row["serialized"];
                if !theirs.is_object() {
                    continue;
                }
                let budget = row["budget"].as_u64().unwrap();
                let nodes = prepare_branch_entries(&scene.tree, &entries, budget).messages;
                let messages = scene.messages(&nodes);
                let place = format!("{} {} {budget}", scene.name, pair["oldLeafId"]);
                if scene.has("hook-message") {
                    tally.except("row 7: custom messages count like any other");
                } else if let Some(why) = other_text(&scene, &messages, theirs) {
                    tally.except(why);
                } else {
                    tally.compare(&place, serialized(&messages), expected_print(theirs));
                }
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 100 });
}
