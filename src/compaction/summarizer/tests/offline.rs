//! The whole way with the built-in model: what a first run without a key does.

use super::*;
use crate::provider::offline::{self, Offline};

struct Built;

impl Providers for Built {
    fn provider_for(&self, _: &Model) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(Offline::default()))
    }

    fn models(&self) -> Vec<Arc<Model>> {
        vec![Arc::new(offline::model())]
    }
}

/// The messages of the session that comes with the program.
fn tour() -> Vec<Arc<Message>> {
    let lines = include_str!("../../../../assets/sessions/tour.jsonl").lines();
    lines
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|entry| entry["type"] == "message")
        .map(|entry| serde_json::from_value(entry["message"].clone()).unwrap())
        .collect()
}

#[tokio::test]
async fn s9_the_offline_model_summarises_by_the_usual_way_and_says_so() {
    let summarizer = Summarizer::new(Arc::new(Built), Arc::default(), Estimator::ScriptAware);
    let model = Arc::new(offline::model());
    let reports = Mutex::new(Vec::new());
    let report = |progress: Progress| reports.lock().unwrap().push(progress);
    let cancel = CancellationToken::new();
    let messages = tour();
    let replaces_tokens =
        messages.iter().map(|message| u64::from(Estimator::ScriptAware.message(message))).sum();
    let input = CompactionInput {
        history: messages[..20].to_vec(),
        turn_prefix: messages[20..26].to_vec(),
        kept: messages[26..].to_vec(),
        replaces_tokens,
        ..CompactionInput::default()
    };
    let summary = summarizer.compaction(input, &model, "s", &report, &cancel).await.unwrap();
    assert!(summary.extractive, "C22: marked as made without a model");
    assert!(
        summary.text.starts_with("## Goal\n")
            && summary.text.contains("login form say which field")
    );
    assert!(
        summary.text.contains("\n\n---\n\n**Turn Context (split turn):**\n\n## Original Request\n")
    );
    assert!(summary.text.contains("<modified-files>\n"));
    assert!(summary.short.unwrap().starts_with("I worked on “Make the login form"));
    assert!(summary.usage.input > 0 && summary.usage.cost.total == 0.0);
    let reports = reports.lock().unwrap();
    for what in ["history", "turn prefix", "short summary"] {
        assert!(reports.iter().any(|report| report.what == what), "U6: {what}");
    }
    assert!(reports.last().unwrap().tokens > 100);
}

#[tokio::test]
async fn s9_the_offline_model_sums_up_a_branch() {
    let summarizer = Summarizer::new(Arc::new(Built), Arc::default(), Estimator::ScriptAware);
    let model = Arc::new(offline::model());
    let cancel = CancellationToken::new();
    let input = BranchInput { messages: tour(), all: tour(), ..BranchInput::default() };
    let made = summarizer.branch(input, &model, "s", &|_| {}, &cancel).await.unwrap();
    let text = made.unwrap().text;
    assert!(text.starts_with(&prompts::branch_preamble()) && text.contains("## Goal\n"), "{text}");
}
