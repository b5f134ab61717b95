//! Work of 200 turns in windows of every size (SPEC C3, C4, C8, I3, I4; F01, F10, F35, F50): nothing
//! overflows, compactions stay few, and what a server has cached stays as it was between them.
//!
//! `cargo test --test integration windows -- --nocapture` prints the table.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use regrow::agent_session::event::SessionEvent;
use serde_json::{Value, json};

use super::harness::{Setup, Talk};
use super::served::{ask, serve};
use crate::support::server::{ModelServer, Recorded, Reply, Rules};

/// How often the person asks for something.
const TURNS: usize = 200;

/// What the server has seen of one session.
#[derive(Debug, Default)]
struct Ledger {
    /// Messages of the newest request of a turn.
    last: Vec<Value>,
    /// A summary was asked for since.
    compacted: bool,
    turn_requests: usize,
    /// Tokens of the largest request.
    largest: u64,
    summaries: usize,
    /// Tokens that summaries took, in and out.
    summary_cost: u64,
    /// Tokens of all turns, in and out.
    turn_cost: u64,
    /// Requests of turns whose messages did not begin with those of the one before, although no
    /// summary was asked for in between.
    broken_prefixes: usize,
}

impl Ledger {
    fn answer(&mut self, request: &Recorded) -> Reply {
        self.largest = self.largest.max(request.size);
        let messages = request.body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        if request.body.get("tools").is_none() {
            self.summaries += 1;
            self.compacted = true;
            let text = summary(last["content"].as_str().unwrap_or_default());
            let output = text.len() as u64 / 4;
            self.summary_cost += request.size + output;
            return Reply::says(&text).usage(request.size, output);
        }
        self.turn_requests += 1;
        self.turn_cost += request.size + 100;
        if !self.compacted && !messages.starts_with(&self.last) {
            self.broken_prefixes += 1;
        }
        self.compacted = false;
        self.last.clone_from(messages);
        let said = last["content"].as_str().unwrap_or_default();
        let step = said.strip_prefix("Step ").and_then(|rest| rest.split(':').next());
        match (last["role"].as_str(), step) {
            (Some("user"), Some(step)) => {
                let path = format!("part{step}.txt");
                Reply::calls(&format!("call{step}"), "read", json!({"path": path}))
                    .usage(request.size, 30)
            }
            _ => Reply::says("It is read and noted; nothing in it needs a change.")
                .usage(request.size, 15),
        }
    }
}

/// What a sensible model writes: of the size of what it is asked for.
fn summary(prompt: &str) -> String {
    if !prompt.contains("<previous-summary>") && !prompt.contains("## Goal") {
        return "Read more parts.".to_owned();
    }
    format!(
        "## Goal\nRead every part.\n\n## Progress\n### Done\n{}\n\n## Next Steps\n1. Read on.",
        "- a part was read and needs no change\n".repeat(12)
    )
}

/// Tool results of 1 to 40 KB, in no order.
fn write_parts(talk: &Talk) {
    for part in 0..TURNS {
        let size = (1 + part * 17 % 40) * 1_024;
        let line = format!("part {part}: the quick brown fox jumps over the lazy dog, again\n");
        let text: String = line.chars().cycle().take(size).collect();
        std::fs::write(talk.dir.path().join(format!("part{part}.txt")), text).unwrap();
    }
}

async fn work(window: u64) -> (Ledger, Vec<(u64, u64)>, usize) {
    let rules = Rules { window: Some(window), forgetful: true, ..Rules::default() };
    let (server, mut talk): (ModelServer, Talk) =
        serve(rules, Setup { window, ..Setup::default() }).await;
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let book = ledger.clone();
    server.otherwise(move |request| book.lock().unwrap().answer(request));
    write_parts(&talk);
    for turn in 0..TURNS {
        ask(&mut talk, &format!("Step {turn}: read part{turn}.txt and tell me what it says."))
            .await;
    }
    assert_eq!(server.rejections(), Vec::<String>::new());
    let story = talk.story();
    let overflows = story.iter().filter(|line| line.starts_with("assistant (error)")).count();
    assert_eq!(
        story.iter().filter(|line| line.starts_with("result: ")).count(),
        TURNS,
        "every part was read once"
    );
    let compactions = talk
        .seen
        .iter()
        .filter_map(|event| match event {
            SessionEvent::CompactionEnd { result: Some(result), .. } => {
                Some((result.tokens_before, result.tokens_after))
            }
            _ => None,
        })
        .collect();
    drop(server);
    let ledger = std::mem::take(&mut *ledger.lock().unwrap());
    (ledger, compactions, overflows)
}

/// Works in a window and judges; `most` compactions may be needed for the 1 050 000 tokens of results.
async fn judge(window: u64, most: usize) {
    let began = Instant::now();
    let (ledger, compactions, overflows) = work(window).await;
    let useless = compactions.iter().filter(|(before, after)| after >= before).count();
    let all = ledger.turn_cost + ledger.summary_cost;
    println!(
        "window {window:>7}: {:>3} compactions, largest request {:>6} tokens, summaries took {:>6} tokens \
         ({:.1} % of all), {} requests of turns, {:?}",
        compactions.len(),
        ledger.largest,
        ledger.summary_cost,
        100.0 * ledger.summary_cost as f64 / all as f64,
        ledger.turn_requests,
        began.elapsed(),
    );
    assert!(ledger.largest <= window, "no request exceeds the window: {}", ledger.largest);
    assert_eq!(overflows, 0);
    assert_eq!(useless, 0, "{compactions:?}");
    assert!(compactions.len() <= most, "{}", compactions.len());
    assert_eq!(ledger.broken_prefixes, 0);
}

#[tokio::test]
async fn i4_f01_two_hundred_turns_in_a_window_of_4_096() {
    // System prompt and tools take 1 600; a turn with a result of 1 024 fills the rest.
    judge(4_096, TURNS).await;
}

#[tokio::test]
async fn i4_f01_two_hundred_turns_in_a_window_of_8_192() {
    judge(8_192, 110).await;
}

#[tokio::test]
async fn i4_f01_two_hundred_turns_in_a_window_of_32_768() {
    judge(32_768, 55).await;
}

#[tokio::test]
async fn i4_f01_two_hundred_turns_in_a_window_of_200_000() {
    judge(200_000, 7).await;
}

#[tokio::test]
async fn i4_f01_two_hundred_turns_in_a_window_of_1_000_000() {
    judge(1_000_000, 1).await;
}
