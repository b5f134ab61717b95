//! A model that does whatever models do: answers, calls tools, stops in the middle, refuses, says
//! nothing. It looks at every request as it comes (I1, I2, I6).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::BoxStream;
use regrow::compaction::tokens::Estimator;
use regrow::message::{Message, StopReason};
use regrow::provider::model::Model;
use regrow::provider::scripted::{Hold, Script, ScriptedProvider};
use regrow::provider::{
    ErrorKind, Provider, ProviderError, Providers, Purpose, Request, StreamEvent,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::book::{Book, question};
use crate::support::dice::Dice;

/// A summary as it should be.
const SUMMARY: &str = "## Goal\nSoak.\n\n## Progress\n### Done\n- [x] much\n\n## Next Steps\n1. on";

/// See the module's page. Clones are one.
#[derive(Clone)]
pub struct Actor {
    shared: Arc<Mutex<Shared>>,
    models: Vec<Arc<Model>>,
}

struct Shared {
    dice: Dice,
    /// Where the next answer waits.
    hold: Option<Hold>,
    book: Arc<Mutex<Book>>,
    /// What was wrong with requests.
    faults: Vec<String>,
    calls: u64,
    requests: u64,
    failures: u64,
}

impl Actor {
    pub fn new(seed: u64, book: Arc<Mutex<Book>>) -> Self {
        let model = |id: &str, window: u64| {
            let model = json!({
                "provider": "soak", "id": id, "api": "openai-responses", "contextWindow": window,
                "maxTokens": 2_000, "price": {"input": 1.0, "output": 2.0}});
            Arc::new(serde_json::from_value(model).unwrap())
        };
        let shared = Shared {
            dice: Dice::new(seed ^ 0xac70),
            hold: None,
            book,
            faults: Vec::new(),
            calls: 0,
            requests: 0,
            failures: 0,
        };
        let models = vec![model("small", 16_000), model("large", 120_000)];
        Self { shared: Arc::new(Mutex::new(shared)), models }
    }

    pub fn model(&self) -> Arc<Model> {
        self.models[1].clone()
    }

    /// The next answer, whatever is asked, begins and then waits.
    pub fn hold_next(&self) -> Hold {
        let hold = Hold::default();
        self.shared.lock().unwrap().hold = Some(hold.clone());
        hold
    }

    pub fn forget_hold(&self) {
        self.shared.lock().unwrap().hold = None;
    }

    pub fn faults(&self) -> Vec<String> {
        self.shared.lock().unwrap().faults.clone()
    }

    /// Requests so far, and how many of them failed.
    pub fn counts(&self) -> (u64, u64) {
        let shared = self.shared.lock().unwrap();
        (shared.requests, shared.failures)
    }
}

impl Providers for Actor {
    fn provider_for(&self, _model: &Model) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(self.clone()))
    }

    fn models(&self) -> Vec<Arc<Model>> {
        self.models.clone()
    }
}

impl Provider for Actor {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let mut shared = self.shared.lock().unwrap();
        shared.requests += 1;
        if let Err(why) = shared.look_at(&request) {
            shared.faults.push(why);
        }
        let tokens = request.messages.iter().map(|message| Estimator::default().message(message));
        let tokens = tokens.map(u64::from).sum::<u64>() + 1_000;
        let script = match request.purpose {
            Purpose::Turn => shared.turn(tokens, request.model.context_window),
            Purpose::Compaction | Purpose::BranchSummary => shared.summary(tokens),
        };
        drop(shared);
        let once = ScriptedProvider::new();
        once.push(script);
        once.stream(request, cancel)
    }
}

impl Shared {
    /// I1, I2, I6: the questions of the path, all of them and no others, in order; pairs whole.
    fn look_at(&self, request: &Request) -> Result<(), String> {
        if request.purpose != Purpose::Turn {
            return Ok(());
        }
        let checked = std::panic::AssertUnwindSafe(|| {
            crate::talk::harness::check_request(request);
        });
        if let Err(panic) = std::panic::catch_unwind(checked) {
            let words = panic.downcast_ref::<String>().cloned();
            return Err(words.unwrap_or_else(|| "the request is malformed".to_owned()));
        }
        let mut book = self.book.lock().unwrap();
        book.catch_up(false)?;
        let expected = book.questions()?;
        let asked = request.messages.iter().filter_map(|message| match message.as_ref() {
            Message::User(user) => {
                Some(question(&user.content.text())).filter(|number| *number > 0)
            }
            _ => None,
        });
        let asked: Vec<u32> = asked.collect();
        if asked == expected {
            return Ok(());
        }
        Err(format!("questions {asked:?} were sent, {expected:?} are in context"))
    }

    fn begin(&mut self) -> Script {
        match self.hold.take() {
            Some(hold) if self.dice.percent(30) => Script::new().hold(&hold),
            Some(hold) => Script::new().text("So far so good ").hold(&hold),
            None => Script::new(),
        }
    }

    fn fail(&mut self, script: Script, kind: ErrorKind, message: &str) -> Script {
        self.failures += 1;
        script.error(ProviderError::new(kind, message))
    }

    fn turn(&mut self, tokens: u64, window: u64) -> Script {
        let script = self.begin();
        if tokens > window || (tokens > window * 6 / 10 && self.dice.percent(6)) {
            let words = format!("prompt is too long: {tokens} tokens > {} maximum", tokens - 1);
            return self.fail(script, ErrorKind::Overflow, &words);
        }
        let figure = tokens * (90 + self.dice.roll() % 30) / 100;
        match self.dice.below(100) {
            0..=1 => self.fail(script, ErrorKind::RateLimit, "429: slow down"),
            2..=3 => self.fail(script, ErrorKind::Transient, "529: overloaded"),
            4 => self.fail(script.text("It is "), ErrorKind::Cut, "connection reset"),
            5 => script.text("cut in the middle"),
            6 => script.tool_call("torn", "emit", "{\"size\": 1"),
            7 => script.tool_call("long", "emit", "{\"si").finish(StopReason::Length),
            8 => script.usage(figure, 0).finish(StopReason::Stop),
            9 => self.fail(script, ErrorKind::Timeout, "nothing came for too long"),
            10 if self.dice.percent(30) => self.fail(script, ErrorKind::Quota, "no money"),
            11 if self.dice.percent(30) => {
                self.fail(script, ErrorKind::BadRequest, "no such thing")
            }
            12 => {
                self.fail(script.thinking("hm"), ErrorKind::Transient, "in-band: overloaded_error")
            }
            13..=52 => self.calls(script).usage(figure, 40).finish(StopReason::ToolUse),
            _ => {
                let words = "and so it is ".repeat(1 + self.dice.below(60));
                let script = if self.dice.percent(20) { script.thinking("hm ") } else { script };
                let script = script.text(&words);
                let counted = !self.dice.percent(15);
                let script = if counted { script.usage(figure, 30) } else { script };
                script.finish(StopReason::Stop)
            }
        }
    }

    fn calls(&mut self, mut script: Script) -> Script {
        for _ in 0..=self.dice.below(4).min(self.dice.below(4)) {
            self.calls += 1;
            // Some servers number their calls anew in each answer.
            let id = if self.dice.percent(10) { 1 } else { self.calls };
            let id = format!("call_{id}_{}", self.calls % 3);
            let size = match self.dice.below(20) {
                0..=1 => self.dice.below(40_000),
                2..=6 => self.dice.below(12_000),
                _ => self.dice.below(1_500),
            };
            let pauses = self.dice.below(12);
            script = match self.dice.below(60) {
                0 => script.tool_call(&id, "ls", "{}"),
                1 => script.tool_call(&id, "read", r#"{"path": "not-there.txt"}"#),
                2 => script.tool_call(&id, "bash", r#"{"command": "echo from bash"}"#),
                3 => script.tool_call(&id, "no_such_tool", "{}"),
                4 => script.tool_call(&id, "emit", r#"{"size": "many"}"#),
                _ => {
                    let arguments = json!({"size": size, "pauses": pauses});
                    script.tool_call(&id, "emit", &arguments.to_string())
                }
            };
        }
        script
    }

    fn summary(&mut self, tokens: u64) -> Script {
        let script = self.begin();
        // What is tried again waits for a second first, so it comes seldom.
        match self.dice.below(400) {
            0..=1 => self.fail(script, ErrorKind::Transient, "529: overloaded"),
            2 => self.fail(script, ErrorKind::RateLimit, "429: slow down"),
            3..=4 => script.text("## Goal\nhalf"),
            5..=16 => script.finish(StopReason::Stop),
            17..=24 => script.text("## Goal\non and on").finish(StopReason::Length),
            25..=28 => script.text(&"word ".repeat(60_000)).finish(StopReason::Stop),
            29..=34 => self.fail(script, ErrorKind::Overflow, "prompt is too long"),
            35..=40 => self.fail(script, ErrorKind::BadRequest, "no such thing"),
            _ => script.text(SUMMARY).usage(tokens, 60).finish(StopReason::Stop),
        }
    }
}

/// How soon a failed request is made again here.
pub fn retry() -> regrow::provider::retry::RetryPolicy {
    let mut retry = regrow::provider::retry::RetryPolicy::default();
    retry.first_delay = Duration::from_micros(500);
    retry
}
