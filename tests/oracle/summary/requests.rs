//! Whole summaries: which requests are made, what they hold, what comes of them.

use regrow::compaction::branch::{collect_entries_for_branch_summary, prepare_branch_entries};
use regrow::compaction::file_ops::without_file_blocks;
use regrow::compaction::plan::{CompactionPlan, prepare_compaction};
use regrow::compaction::prompts;
use regrow::compaction::summarizer::{BranchInput, BranchInstructions, CompactionInput, Summary};
use regrow::session::entry::EntryBody;
use regrow::settings::Settings;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::scene::Scene;
use super::stage::{Sent, Stage, remote};
use super::transcripts::other_text;
use super::{expected_print, print_of};
use crate::cases::{OMP, PI, cases};
use crate::tally::Tally;

const WINDOW: u64 = 200_000;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn c16_c21_compactions() {
    let mut tally = Tally::new("session e2e compaction");
    let cases = cases("session");
    let runtime = runtime();
    for case in &cases {
        let scene = Scene::of(case);
        let rows = case["expected"][OMP]["e2e"].as_array().into_iter().flatten();
        for row in rows.filter(|row| row["branch"] != true) {
            runtime.block_on(compare_compaction(&mut tally, &scene, row));
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 400 });
}

async fn compare_compaction(tally: &mut Tally, scene: &Scene, row: &Value) {
    let variant = row["variant"].as_str().unwrap();
    let mut settings = Settings::default();
    settings.compaction.keep_recent_tokens = row["keepRecentTokens"].as_u64().unwrap();
    let plan = prepare_compaction(&scene.tree, scene.tree.leaf(), &settings, WINDOW);
    let place = format!("{} {variant} {}", scene.name, row["keepRecentTokens"]);
    let (Ok(plan), true) = (plan, row["prepared"] != false) else {
        return tally.except("no plan on one side; compared as plans");
    };
    if plan.summarize.len() as u64 != row["toSummarize"].as_u64().unwrap()
        || plan.turn_prefix.len() as u64 != row["turnPrefix"].as_u64().unwrap()
    {
        return tally.except("rows 8–10, C12, C15: other messages; compared as plans");
    }
    if variant == "reserveTokens-1000" {
        settings.compaction.reserve_tokens = 1_000;
    }
    let stage = {
        let mut stage = Stage::new(settings.clone(), WINDOW, variant == "model-http-400");
        if variant.starts_with("remoteEndpoint") && !variant.contains("remoteEnabled-false") {
            settings.compaction.remote_endpoint = Some(remote(variant, stage.sent.clone()).await);
            let sent = stage.sent.clone();
            stage = Stage { sent, ..Stage::new(settings, WINDOW, false) };
        }
        stage
    };
    let input = compaction_input(scene, &plan, row);
    let nothing = |_| {};
    let cancel = CancellationToken::new();
    let made =
        stage.summarizer.compaction(input.clone(), &stage.model, "s", &nothing, &cancel).await;
    let sent = stage.sent.lock().unwrap().clone();
    if row["error"].is_string() {
        return tally.compare(&place, made.is_err(), true);
    }
    let requests = row["requests"].as_array().unwrap();
    for request in requests {
        if variant.starts_with("remoteEndpoint") && !input.turn_prefix.is_empty() {
            tally.except("row 19: the turn prefix goes to the endpoint too");
            continue;
        }
        compare_request(tally, scene, &place, &input, request, &sent);
    }
    tally.compare(&place, sent.len(), requests.len());
    compare_result(tally, &place, row, &input, &made.unwrap());
}

fn compaction_input(scene: &Scene, plan: &CompactionPlan, row: &Value) -> CompactionInput {
    let variant = row["variant"].as_str().unwrap();
    let previous = plan.previous.map(|index| match &scene.entry(index).body {
        EntryBody::Compaction(entry) => entry.summary.clone(),
        other => panic!("{other:?}"),
    });
    let focus = match (variant.contains("customInstructions"), variant) {
        (false, _) => None,
        (true, "customInstructions") => Some("Focus on 오류 처리."),
        (true, _) => Some("Focus X"),
    };
    CompactionInput {
        history: scene.messages(&plan.summarize),
        turn_prefix: scene.messages(&plan.turn_prefix),
        kept: scene.messages(&plan.kept),
        previous_summary: previous,
        earlier_details: scene.own_details(&plan.previous.into_iter().collect::<Vec<_>>()),
        instructions: focus.map(str::to_owned),
        prompt: variant.starts_with("promptOverride").then(|| "OVERRIDE PROMPT TEXT".to_owned()),
        hook_context: match variant {
            "extraContext" => vec!["first line".to_owned(), "두 번째 줄".to_owned()],
            _ => Vec::new(),
        },
        replaces_tokens: 0,
    }
}

/// Finds our request for the same purpose and compares what it holds.
fn compare_request(
    tally: &mut Tally,
    scene: &Scene,
    place: &str,
    input: &CompactionInput,
    theirs: &Value,
    sent: &[Sent],
) {
    let name = theirs["template"].as_str().unwrap();
    let ours = sent.iter().find(|sent| match sent.template() {
        Some((template, _)) => template.name() == name,
        None => name == "custom",
    });
    let place = format!("{place} {name}");
    let Some(ours) = ours else { return tally.compare(&place, None, Some(name)) };
    tally.compare(&place, ours.remote, theirs["via"] == "remoteEndpoint");
    tally.compare(&place, ours.max_tokens, theirs["maxTokens"].as_u64());
    tally.compare(&place, ours.prompt.starts_with("<conversation>\n"), true);
    match ours.template() {
        Some((_, suffix)) => tally.compare(&place, Some(suffix), theirs["suffix"].as_str()),
        None => {
            let own = theirs["instructions"].as_str().unwrap();
            tally.compare(&place, ours.prompt.ends_with(&format!(">\n\n{own}")), true);
        }
    }
    let lines = theirs["additionalContext"].as_str();
    tally.compare(&place, ours.block("additional-context"), lines);
    let messages = match name {
        "compaction-turn-prefix" => &input.turn_prefix,
        "compaction-short-summary" => &input.kept,
        _ => &input.history,
    };
    compare_texts(tally, scene, &place, ours, theirs, messages, input);
}

fn compare_texts(
    tally: &mut Tally,
    scene: &Scene,
    place: &str,
    ours: &Sent,
    theirs: &Value,
    messages: &[std::sync::Arc<regrow::message::Message>],
    input: &CompactionInput,
) {
    match other_text(scene, messages, &theirs["conversation"]) {
        Some(why) => tally.except(why),
        None => {
            let conversation = ours.block("conversation").unwrap_or_default();
            tally.compare(place, print_of(conversation), expected_print(&theirs["conversation"]));
        }
    }
    let previous = &theirs["previousSummary"];
    let is_short = theirs["template"] == "compaction-short-summary";
    if is_short && input.history.is_empty() && input.previous_summary.is_some() {
        return tally.except("row 11: the previous summary survives a split");
    }
    tally.compare(
        place,
        ours.block("previous-summary").map(print_of),
        previous.is_object().then(|| expected_print(previous)),
    );
}

fn compare_result(
    tally: &mut Tally,
    place: &str,
    row: &Value,
    input: &CompactionInput,
    ours: &Summary,
) {
    let theirs = &row["result"];
    tally.compare(place, &ours.details["modifiedFiles"], &theirs["details"]["modifiedFiles"]);
    tally.compare(place, &ours.details["readFiles"], &theirs["details"]["readFiles"]);
    if input.history.is_empty() && input.previous_summary.is_some() {
        return tally.except("row 11: the previous summary survives a split");
    }
    if row["variant"].as_str().unwrap().starts_with("remoteEndpoint")
        && !input.turn_prefix.is_empty()
    {
        return tally.except("row 19: the turn prefix goes to the endpoint too");
    }
    // Row 12: the blocks themselves are written differently.
    let text = |text: &str| without_file_blocks(text);
    tally.compare(place, text(&ours.text), text(theirs["summary"].as_str().unwrap()));
    tally.compare(place, ours.short.as_deref(), theirs["shortSummary"].as_str());
}

#[test]
fn b3_b4_branches() {
    let mut tally = Tally::new("session e2e branch");
    let cases = cases("session");
    let runtime = runtime();
    for case in &cases {
        let scene = Scene::of(case);
        for source in [OMP, PI] {
            let rows = case["expected"][source]["e2e"].as_array().into_iter().flatten();
            for row in rows.filter(|row| row["branch"] == true) {
                runtime.block_on(compare_branch(&mut tally, &scene, source, row));
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 300 });
}

async fn compare_branch(tally: &mut Tally, scene: &Scene, source: &str, row: &Value) {
    let variant = row["variant"].as_str().unwrap();
    let window = row["contextWindow"].as_u64().unwrap();
    let reserve = row["reserveTokens"].as_u64().unwrap();
    let place = format!("{} {source} {variant}", scene.name);
    if scene.name == "edge-branch-summary-empty-text" {
        return tally.except("X3: a summary without text gives no message");
    }
    if scene.has("hook-message") || scene.has("custom-message") {
        return tally.except("row 7: custom messages count like any other");
    }
    let from = row["fromPathIndex"].as_u64().unwrap() as usize;
    let target = from.checked_sub(1).map(|before| scene.path[before]);
    let entries =
        collect_entries_for_branch_summary(&scene.tree, scene.tree.leaf(), target).entries;
    let chosen = prepare_branch_entries(&scene.tree, &entries, window - reserve).messages;
    let all: Vec<_> = entries.clone();
    let instructions = match variant {
        "customInstructions" if source == OMP => Some("replace"),
        "customInstructions" => Some("focus"),
        "customInstructions+replace" => Some("replace"),
        _ => None,
    };
    let words = "CUSTOM BRANCH INSTRUCTIONS".to_owned();
    let input = BranchInput {
        messages: scene.messages(&chosen),
        all: scene.messages(&all),
        earlier_details: scene.own_details(&all),
        instructions: instructions.map(|how| match how {
            "focus" => BranchInstructions::Focus(words),
            _ => BranchInstructions::Replace(words),
        }),
    };
    let stage = Stage::new(Settings::default(), window.max(16_384), variant == "model-http-400");
    let nothing = |_| {};
    let cancel = CancellationToken::new();
    let made = stage.summarizer.branch(input.clone(), &stage.model, "s", &nothing, &cancel).await;
    let sent = stage.sent.lock().unwrap().clone();
    let requests = row["requests"].as_array().map(Vec::as_slice).unwrap_or_default();
    tally.compare(&place, sent.len(), requests.len());
    let as_compaction =
        CompactionInput { history: input.messages.clone(), ..CompactionInput::default() };
    for request in requests {
        compare_request(tally, scene, &place, &as_compaction, request, &sent);
    }
    if row["result"]["error"].is_string() {
        return tally.compare(&place, made.is_err(), true);
    }
    let Some(ours) = made.unwrap() else { return };
    let theirs = &row["result"];
    let preamble = format!("{}\n\n", prompts::branch_preamble());
    let after = ours.text.strip_prefix(&preamble).unwrap_or_default();
    let theirs_after = theirs["summary"]["afterPreamble"].as_str().unwrap_or_default();
    // Rows 12, 16: the blocks and the preamble are written differently.
    tally.compare(&place, without_file_blocks(after), without_file_blocks(theirs_after));
    let is_compaction =
        |index: &&_| matches!(scene.entry(**index).body, EntryBody::Compaction { .. });
    if chosen.len() < input.all.len() || entries.iter().any(|index| is_compaction(&index)) {
        return tally.except("row 14: file operations come from all entries");
    }
    tally.compare(&place, &ours.details["readFiles"], &theirs["readFiles"]);
    tally.compare(&place, &ours.details["modifiedFiles"], &theirs["modifiedFiles"]);
}
