//! Summaries that fail in every way, through the real session and strict servers, with one model that
//! could write them and with two (SPEC C19, C21, C22, C24, C25; F10, F13, F14, F28, F33, F70; I3, I7).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use regrow::agent_session::command::SessionCommand;
use regrow::agent_session::event::{CompactionResult, SessionEvent};
use regrow::provider::registry::{ProviderRegistry, RegistryFiles};
use regrow::settings::{Fallback, Trigger};
use serde_json::{Value, json};

use super::harness::{Setup, Talk};
use super::served::ask;
use crate::support::server::{Gate, ModelServer, Recorded, Reply, Rules};

/// A summary as it should be.
const SUMMARY: &str =
    "## Goal\nCount.\n\n## Progress\n### Done\n- [x] counted\n\n## Next Steps\n1. on";

/// How a model fails to write a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Empty,
    CutOff,
    LargerThanTheHistory,
    Refused,
    Stalled,
    RetryInTwoSeconds,
    RetryInTwoWeeks,
    Overloaded,
    Reset,
    NoSuchKey,
    NoJson,
}

const TROUBLES: &[Trouble] = &[
    Trouble::Empty,
    Trouble::CutOff,
    Trouble::LargerThanTheHistory,
    Trouble::Refused,
    Trouble::Stalled,
    Trouble::RetryInTwoSeconds,
    Trouble::RetryInTwoWeeks,
    Trouble::Overloaded,
    Trouble::Reset,
    Trouble::NoSuchKey,
    Trouble::NoJson,
];

impl Trouble {
    /// The answer to the `number`th request for a summary, from 0.
    fn reply(self, number: usize) -> Reply {
        let limited = |after: &str| {
            Reply::status(
                429,
                r#"{"error": {"message": "Rate limit reached", "type": "requests"}}"#,
            )
            .header("retry-after", after)
        };
        match self {
            Self::Empty => Reply::default().finish("stop"),
            Self::CutOff => Reply::default().text("## Goal\nCount on and on").finish("length"),
            Self::LargerThanTheHistory => {
                Reply::says(&format!("## Goal\n{}", "word ".repeat(60_000)))
            }
            Self::Refused => Reply::says("I'm sorry, but I can't help with that request."),
            Self::Stalled => Reply::default().text("## Goal").hold(&Gate::default()).finish("stop"),
            Self::RetryInTwoSeconds if number == 0 => limited("2"),
            Self::RetryInTwoSeconds => good_summary(),
            Self::RetryInTwoWeeks => limited("1209600"),
            Self::Overloaded => Reply::status(529, r#"{"error": {"message": "Overloaded"}}"#),
            Self::Reset => Reply::default().text("## Goal\nhalf"),
            Self::NoSuchKey => Reply::status(401, r#"{"error": {"message": "Incorrect API key"}}"#),
            Self::NoJson => Reply::raw("data: {no json\n\n"),
        }
    }
}

fn good_summary() -> Reply {
    Reply::says(SUMMARY).usage(1_000, 50)
}

fn asks_for_a_summary(request: &Recorded) -> bool {
    request.body.get("tools").is_none()
}

/// A session that has something to compact, its model, and a second model that writes summaries when
/// `trouble_of_second` says how.
struct Stage {
    talk: Talk,
    server: ModelServer,
    second: ModelServer,
}

impl Stage {
    async fn set(own: Option<Trouble>, second: Option<Trouble>, mut setup: Setup) -> Self {
        let server = ModelServer::start(Rules::default()).await;
        answer_by(&server, own);
        let second_server = ModelServer::start(Rules::default()).await;
        answer_by(&second_server, second);
        if second.is_some() {
            setup.settings.summarization.provider = Some("second".into());
            setup.settings.summarization.model = Some("writer".into());
        }
        setup.settings.timeouts.idle = 1;
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path().join("models.json");
        let provider = |server: &ModelServer, id: &str| {
            json!({"baseUrl": server.v1(), "api": "openai-completions", "apiKey": "sk-test-1234567890",
                "models": [{"id": id, "contextWindow": setup.window, "maxTokens": 4_000}]})
        };
        let config = json!({"providers": {
            "own": provider(&server, "talker"), "second": provider(&second_server, "writer")}});
        std::fs::write(&models, config.to_string()).unwrap();
        let files = RegistryFiles { models: Some(models), keys: None };
        let registry = ProviderRegistry::new(&setup.settings, HashMap::new(), files);
        let model = registry.choose_model(Some("own"), None).unwrap();
        let mut talk = Talk::served(setup, Arc::new(registry), model);
        talk.patience = Duration::from_secs(60);
        for number in 0..8 {
            let text = format!("question {number} {}", "alpha beta gamma ".repeat(1_000));
            ask(&mut talk, &text).await;
        }
        Self { talk, server, second: second_server }
    }

    async fn compact(&mut self) -> (Option<CompactionResult>, Option<String>) {
        self.talk.send(SessionCommand::Compact { instructions: None });
        self.talk.idle().await;
        let end = self.talk.seen.iter().rev().find_map(|event| match event {
            SessionEvent::CompactionEnd { result, error, .. } => {
                Some((result.clone(), error.clone()))
            }
            _ => None,
        });
        end.expect("a compaction that ended")
    }

    /// Summaries that were asked of the session's own model and of the second.
    fn asked(&self) -> (usize, usize) {
        let count = |server: &ModelServer| {
            server.requests().iter().filter(|request| asks_for_a_summary(request)).count()
        };
        (count(&self.server), count(&self.second))
    }

    /// Whatever happened, the next prompt is answered and nothing malformed was sent.
    async fn goes_on(mut self, what: &str) {
        ask(&mut self.talk, "and?").await;
        let story = self.talk.story();
        assert_eq!(story.last().unwrap(), "assistant: Noted.", "{what}: {story:#?}");
        assert_eq!(self.server.rejections(), Vec::<String>::new(), "{what}");
        assert_eq!(self.second.rejections(), Vec::<String>::new(), "{what}");
    }
}

/// Answers prompts always, and summaries as `trouble` says; without any, well.
fn answer_by(server: &ModelServer, trouble: Option<Trouble>) {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    server.otherwise(move |request| {
        if !asks_for_a_summary(request) {
            return Reply::says("Noted.");
        }
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        trouble.map_or_else(good_summary, |trouble| trouble.reply(number))
    });
}

fn with_fallback(fallback: Fallback) -> Setup {
    let mut setup = Setup::default();
    setup.settings.compaction.fallback = fallback;
    setup
}

#[tokio::test]
async fn c22_with_one_model_its_failure_leads_to_a_summary_without_one() {
    join_all(TROUBLES.iter().map(|trouble| async move {
        let mut stage = Stage::set(Some(*trouble), None, with_fallback(Fallback::Extractive)).await;
        let began = Instant::now();
        let (result, error) = stage.compact().await;
        let result = result.unwrap_or_else(|| panic!("{trouble:?}: {error:?}"));
        let waited_for = *trouble == Trouble::RetryInTwoSeconds;
        assert_eq!(result.extractive, !waited_for, "{trouble:?}");
        assert!(result.tokens_after < result.tokens_before, "{trouble:?}: {result:?}");
        assert!(stage.asked().0 <= 6, "{trouble:?}: {:?} requests", stage.asked());
        assert!(!waited_for || began.elapsed() >= Duration::from_secs(2), "Retry-After counts");
        assert!(began.elapsed() < Duration::from_secs(50), "{trouble:?}: {:?}", began.elapsed());
        stage.goes_on(&format!("{trouble:?}")).await;
    }))
    .await;
}

#[tokio::test]
async fn c22_c25_with_one_model_and_no_fallback_the_failure_is_told_and_nothing_written() {
    let lasting = TROUBLES.iter().filter(|trouble| **trouble != Trouble::RetryInTwoSeconds);
    join_all(lasting.map(|trouble| async move {
        let mut stage = Stage::set(Some(*trouble), None, with_fallback(Fallback::None)).await;
        let before = stage.talk.bytes();
        let (result, error) = stage.compact().await;
        assert_eq!(result, None, "{trouble:?}");
        let error = error.unwrap();
        let names = error.contains("own/talker") || *trouble == Trouble::LargerThanTheHistory;
        assert!(error.starts_with("Compaction failed: ") && names, "{trouble:?}: {error}");
        assert!(!error.contains("sk-test"), "P3: {error}");
        assert_eq!(stage.talk.bytes(), before, "{trouble:?}");
        stage.goes_on(&format!("{trouble:?}")).await;
    }))
    .await;
}

#[tokio::test]
async fn c22_with_two_models_the_other_one_writes() {
    join_all(TROUBLES.iter().map(|trouble| async move {
        let mut stage = Stage::set(None, Some(*trouble), with_fallback(Fallback::None)).await;
        let (result, error) = stage.compact().await;
        let result = result.unwrap_or_else(|| panic!("{trouble:?}: {error:?}"));
        assert!(!result.extractive, "{trouble:?}");
        let last = stage.talk.story().pop().unwrap();
        assert!(last.starts_with("compaction: ## Goal\nCount."), "{trouble:?}: {last}");
        let (own, second) = stage.asked();
        assert!(second >= 1, "{trouble:?}: the configured one is asked first");
        assert_eq!(own >= 1, *trouble != Trouble::RetryInTwoSeconds, "{trouble:?}: {own}");
        stage.goes_on(&format!("{trouble:?}")).await;
    }))
    .await;
}

#[tokio::test]
async fn c21_a_remote_endpoint_writes_all_or_its_answer_is_an_error_that_names_it() {
    /// A name, what the endpoint answers, and what the error says, if it is one.
    type Case<'a> = (&'a str, fn() -> Reply, Option<&'a str>);
    let answers: &[Case<'_>] = &[
        ("good", || json_reply(200, &json!({"summary": SUMMARY, "model": "own"})), None),
        ("500", || json_reply(500, &json!({"error": "boom"})), Some("answered 500")),
        ("404", || json_reply(404, &json!({})), Some("answered 404")),
        ("late", || Reply::default().hold(&Gate::default()), Some("stopped in the middle")),
        ("no json", || Reply::status(200, "<html>hello</html>"), Some("did not answer with JSON")),
        ("no summary", || json_reply(200, &json!({"text": "x"})), Some("`summary`")),
        ("empty", || json_reply(200, &json!({"summary": "  "})), Some("empty summary")),
    ];
    join_all(answers.iter().map(|(name, reply, complaint)| async move {
        let remote = ModelServer::start(Rules::default()).await;
        remote.serve_as("/summarize", reply());
        let endpoint = format!("{}/summarize", remote.origin());
        let mut setup = Setup::default();
        setup.settings.compaction.remote_endpoint = Some(endpoint.clone());
        let mut stage = Stage::set(None, None, setup).await;
        let before = stage.talk.bytes();
        let (result, error) = stage.compact().await;
        match complaint {
            None => {
                assert!(!result.unwrap_or_else(|| panic!("{name}: {error:?}")).extractive);
                assert!(stage.talk.story().pop().unwrap().contains("- [x] counted"));
            }
            Some(complaint) => {
                let error = error.unwrap_or_else(|| panic!("{name}: no error"));
                assert!(error.contains(complaint) && error.contains(&endpoint), "{name}: {error}");
                assert_eq!(result, None, "{name}");
                assert_eq!(stage.talk.bytes(), before, "{name}");
            }
        }
        assert_eq!(stage.asked(), (0, 0), "{name}: no model is asked");
        stage.goes_on(name).await;
    }))
    .await;
}

fn json_reply(status: u16, body: &Value) -> Reply {
    Reply::status(status, &body.to_string()).header("content-type", "application/json")
}

#[tokio::test]
async fn c24_escape_at_every_stage_leaves_the_file_as_it_was_and_asks_nothing_more() {
    let remote_hold = Gate::default();
    let held = |gate: &Gate| Reply::default().hold(gate).text(SUMMARY).finish("stop");
    // Before the first byte; in the middle; in the wait before another try; at the short summary;
    // at the person's own server.
    for stage_name in ["first byte", "middle", "wait", "short summary", "remote"] {
        let mut setup = Setup::default();
        let remote = ModelServer::start(Rules::default()).await;
        remote.serve_as("/s", Reply::default().hold(&remote_hold));
        if stage_name == "remote" {
            setup.settings.compaction.remote_endpoint = Some(format!("{}/s", remote.origin()));
        }
        let mut stage = Stage::set(None, None, setup).await;
        let gate = Gate::default();
        let asked = stage.server.requests().len();
        match stage_name {
            "first byte" => stage.server.push(held(&gate)),
            "middle" => stage
                .server
                .push(Reply::default().text("## Goal\nCo").hold(&gate).text("unt.").finish("stop")),
            "wait" => stage.server.push(Trouble::RetryInTwoSeconds.reply(0)),
            "short summary" => {
                stage.server.push(good_summary());
                stage.server.push(held(&gate));
            }
            _ => {}
        }
        let before = stage.talk.bytes();
        stage.talk.send(SessionCommand::Compact { instructions: None });
        match stage_name {
            "wait" => {
                stage
                    .talk
                    .until("the wait", |event| {
                        matches!(event, SessionEvent::Progress(progress)
                            if progress.note.is_some())
                    })
                    .await;
            }
            "remote" => remote_hold.reached().await,
            _ => gate.reached().await,
        }
        let sent = stage.server.requests().len();
        let pressed = Instant::now();
        stage.talk.send(SessionCommand::Abort);
        stage.talk.idle().await;
        assert!(
            pressed.elapsed() < Duration::from_millis(500),
            "{stage_name}: {:?}",
            pressed.elapsed()
        );
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(stage.talk.bytes(), before, "{stage_name}");
        assert_eq!(stage.server.requests().len(), sent, "{stage_name}: nothing more was asked");
        assert!(sent <= asked + 2, "{stage_name}");
        stage.goes_on(stage_name).await;
    }
}

#[tokio::test]
async fn c2_a_client_error_that_nobody_knows_is_an_overflow_once_when_the_window_is_nearly_full() {
    let mut setup = Setup { window: 37_000, ..Setup::default() };
    // The person wants the window used to the last.
    setup.settings.summarization.trigger = Some(Trigger::RemainingTokens(100));
    let mut stage = Stage::set(None, None, setup).await;
    let refusal =
        || Reply::status(400, r#"{"error": {"message": "invalid argument", "code": 400}}"#);
    stage.server.push(refusal());
    ask(&mut stage.talk, "go").await;
    let story = stage.talk.story();
    assert_eq!(story.last().unwrap(), "assistant: Noted.", "{:#?}", stage.talk.notices());
    assert_eq!(story.iter().filter(|line| line.starts_with("compaction: ")).count(), 1);
    // Now the context is small, and the same words are what they say.
    stage.server.push(refusal());
    ask(&mut stage.talk, "go on").await;
    assert_eq!(stage.talk.story().last().unwrap(), "assistant (error): ");
    stage.goes_on("unknown 4xx").await;
}
