//! Pruning and putting back, killed and on a full disk (C9, J9, F96): what a call gave back stands in
//! the session or among its originals, at every moment.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use regrow::agent_session::command::SessionCommand;
use regrow::agent_session::event::{NoticeLevel, SessionEvent};
use regrow::compaction::tokens::Estimator;
use regrow::provider::ErrorKind;
use regrow::provider::scripted::{Script, ScriptedProvider};
use regrow::session::store::{Access, SessionStore};
use regrow::session::tree::ModelRef;
use serde_json::Value;

use super::scene::{names, opens, session};
use crate::support::dice::{Dice, number};
use crate::talk::harness::{Setup, Talk, scripted_model};

/// Names the file that [`a_pruner`] is to work on.
const PRUNER: &str = "REGROW_TEST_PRUNER";

/// Turns whose results are more than the newest 40 000 tokens and the least saving.
const TURNS: usize = 300;

/// The text of each tool result in a file, pruned ones left out.
fn results(path: &Path) -> BTreeMap<String, String> {
    let content = std::fs::read(path).unwrap_or_default();
    let lines = content.split(|byte| *byte == b'\n');
    let values = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let results = values.filter(|value| {
        value["message"]["role"] == "toolResult" && value["message"].get("prunedAt").is_none()
    });
    let pairs = results.filter_map(|value| {
        let text = value["message"]["content"][0]["text"].as_str()?.to_owned();
        Some((value["id"].as_str()?.to_owned(), text))
    });
    pairs.collect()
}

/// A session on an existing file, with a scripted model.
fn talk_on(path: &Path) -> Talk {
    let opened = SessionStore::open(path, Access::Write, Estimator::default()).unwrap();
    let model = scripted_model(200_000);
    let scripted = ScriptedProvider::with_models([model.clone()]);
    let dir = tempfile::tempdir().unwrap();
    let setup = Setup::default();
    let providers = Arc::new(scripted.clone());
    let mut talk = Talk::served_on(opened.store, dir, setup, providers, Arc::new(model));
    talk.model = scripted;
    talk
}

/// The window overflows, old results are pruned, the turn goes on.
async fn prune(talk: &mut Talk) {
    // The overflow before has taught that the window is small; a model chosen anew is believed again.
    talk.send(SessionCommand::SetModel(ModelRef::new("scripted", "scripted")));
    let overflow = Script::fails(ErrorKind::Overflow, "prompt is too long");
    talk.say("go on", [overflow, Script::says("Noted.")]).await;
}

/// Puts the originals back, if there are any.
async fn put_back(talk: &mut Talk) {
    talk.send(SessionCommand::Unprune);
    let words = ["whole again", "nothing in this session is pruned"];
    talk.until("the originals", |event| {
        matches!(event, SessionEvent::Notice { text, .. }
            if words.iter().any(|words| text.contains(words)))
    })
    .await;
}

/// Not a test: prunes and puts back until it is killed.
#[test]
fn a_pruner() {
    let Ok(path) = std::env::var(PRUNER) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut talk = talk_on(Path::new(&path));
        // The one before may have been killed in between.
        put_back(&mut talk).await;
        for round in 1.. {
            prune(&mut talk).await;
            let pruned = talk.notices().iter().filter(|text| text.contains("shortened")).count();
            assert_eq!(pruned, round, "{:?}", talk.notices());
            put_back(&mut talk).await;
            println!("\n+{round}");
        }
    });
}

fn pruner(path: &Path, shell: &str) -> Command {
    let line = format!("{shell} exec \"$0\" --exact faults::prune::a_pruner --nocapture");
    let mut command = Command::new("sh");
    command.args(["-c", &line]).arg(std::env::current_exe().unwrap()).env(PRUNER, path);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// I8, C9: each result is in the session or among the originals, word for word.
#[track_caller]
fn assert_nothing_lost(path: &Path, before: &BTreeMap<String, String>, when: &str) {
    let mut known = results(&path.with_extension("originals.jsonl"));
    known.extend(results(path));
    for (id, text) in before {
        assert_eq!(known.get(id), Some(text), "{when}: {id}");
    }
}

#[test]
fn c9_i8_pruning_and_putting_back_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    std::fs::write(&path, session(TURNS)).unwrap();
    let before = results(&path);
    let mut dice = Dice::new(number("REGROW_FAULT_SEED", 0x9e));
    let (rounds, mut cycles) = (number("REGROW_FAULT_ROUNDS", 8), 0);
    for round in 0..rounds {
        let mut child = pruner(&path, "").spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut done = lines.filter(|line| line.starts_with('+'));
        // It has worked once; from then on any moment is in the middle of something.
        assert!(done.next().is_some(), "round {round}");
        std::thread::sleep(Duration::from_millis(dice.below(700) as u64));
        child.kill().unwrap();
        cycles += 1 + done.count();
        child.wait().unwrap();
        assert_nothing_lost(&path, &before, &format!("round {round}"));
        opens(&path);
    }
    println!("{rounds} kills in {cycles} rounds of pruning and putting back");
    let left: Vec<_> = names(folder.path()).into_iter().collect();
    let allowed = ["s.jsonl", "s.jsonl.lock", "s.jsonl.new", "s.jsonl.torn", "s.originals.jsonl"];
    assert!(left.iter().all(|name| allowed.contains(&name.as_str())), "{left:?}");
}

/// F96: originals that cannot be kept are a reason not to prune; the session goes on.
#[test]
fn c9_nothing_is_pruned_when_the_originals_cannot_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    std::fs::write(&path, session(TURNS)).unwrap();
    let before = results(&path);
    // A folder has the name.
    std::fs::create_dir(path.with_extension("originals.jsonl")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut talk = talk_on(&path);
        talk.model.push(Script::fails(ErrorKind::Overflow, "prompt is too long"));
        for _ in 0..8 {
            talk.model.push(Script::says("## Goal\nGo on."));
        }
        talk.prompt("go on", regrow::agent_session::command::Delivery::FollowUp);
        talk.idle().await;
        let complaint = talk.seen.iter().any(|event| {
            matches!(event, SessionEvent::Notice { level: NoticeLevel::Error, text }
                if text.contains("cannot keep the originals"))
        });
        assert!(complaint, "{:?}", talk.notices());
        assert_eq!(results(&path), before, "nothing was pruned");
        talk.quit().await;
    });
    opens(&path);
}
