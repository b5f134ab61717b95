//! Summaries against models that answer, break, stall, decline and run out on command.

mod asking;
mod failing;
mod offline;
mod remote;

use super::*;
use crate::compaction::prompts::Template;
use crate::message::StopReason;
use crate::provider::{
    BlockStart, ErrorKind, Provider, ProviderError, Request, StreamEvent, ThinkingLevel,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a fake model does with a request.
#[derive(Clone)]
enum Act {
    Say(String, StopReason),
    Fail(ErrorKind, Option<Duration>),
    /// Says this much and then nothing more.
    Stall(&'static str),
    /// Says this much and breaks off.
    Break(&'static str),
}

fn say(text: &str) -> Act {
    Act::Say(text.to_owned(), StopReason::Stop)
}

type Play = dyn Fn(&Request, usize) -> Act + Send + Sync;

/// All fake models, and what they were asked.
struct Fake {
    models: Vec<Arc<Model>>,
    play: Arc<Play>,
    asked: Arc<Mutex<Vec<Request>>>,
    open: Arc<AtomicUsize>,
}

struct Player {
    play: Arc<Play>,
    asked: Arc<Mutex<Vec<Request>>>,
    open: Arc<AtomicUsize>,
}

/// Counts the streams that are alive.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Provider for Player {
    fn stream(
        &self,
        request: Request,
        _cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let mut asked = self.asked.lock().unwrap();
        let act = (self.play)(&request, asked.len());
        asked.push(request);
        let text = |text: &str| {
            vec![
                Ok(StreamEvent::BlockStart { index: 0, block: BlockStart::Text }),
                Ok(StreamEvent::Delta { index: 0, text: text.to_owned() }),
            ]
        };
        let usage = Usage { input: 100, output: 10, ..Usage::default() };
        let (events, stalls) = match act {
            Act::Say(said, reason) => {
                let mut events = text(&said);
                events.push(Ok(StreamEvent::Usage(usage)));
                events.push(Ok(StreamEvent::Finish { reason }));
                (events, false)
            }
            Act::Fail(kind, retry_after) => {
                let error =
                    ProviderError { retry_after, ..ProviderError::new(kind, "mock trouble") };
                (vec![Err(error)], false)
            }
            Act::Stall(said) => (text(said), true),
            Act::Break(said) => (text(said), false),
        };
        self.open.fetch_add(1, Ordering::SeqCst);
        let alive = Alive(self.open.clone());
        let events = futures::stream::iter(events);
        let rest = futures::stream::pending().take(usize::from(stalls));
        events
            .chain(rest)
            .map(move |event| {
                let _ = &alive;
                event
            })
            .boxed()
    }
}

impl Providers for Fake {
    fn provider_for(&self, model: &Model) -> Result<Arc<dyn Provider>, ProviderError> {
        if model.provider == "keyless" {
            return Err(ProviderError::new(ErrorKind::Auth, "no key: set KEYLESS_API_KEY"));
        }
        Ok(Arc::new(Player {
            play: self.play.clone(),
            asked: self.asked.clone(),
            open: self.open.clone(),
        }))
    }

    fn models(&self) -> Vec<Arc<Model>> {
        self.models.clone()
    }
}

fn model(name: &str, window: u64) -> Arc<Model> {
    let (provider, id) = name.split_once('/').unwrap();
    Arc::new(
        serde_json::from_value(json!({
            "provider": provider, "id": id, "api": "mock", "contextWindow": window, "maxTokens": 64_000,
            "price": {"input": 10.0, "output": 20.0}
        }))
        .unwrap(),
    )
}

/// A summariser with its models and everything that it reports.
struct Stage {
    summarizer: Summarizer,
    asked: Arc<Mutex<Vec<Request>>>,
    open: Arc<AtomicUsize>,
    model: Arc<Model>,
    reports: Mutex<Vec<Progress>>,
    cancel: CancellationToken,
}

impl Stage {
    fn new(play: impl Fn(&Request, usize) -> Act + Send + Sync + 'static) -> Self {
        Self::with(Settings::default(), vec![model("p/m", 200_000)], play)
    }

    /// The first model is the session's.
    fn with(
        settings: Settings,
        models: Vec<Arc<Model>>,
        play: impl Fn(&Request, usize) -> Act + Send + Sync + 'static,
    ) -> Self {
        let fake = Fake {
            models: models.clone(),
            play: Arc::new(play),
            asked: Arc::default(),
            open: Arc::default(),
        };
        let (asked, open) = (fake.asked.clone(), fake.open.clone());
        let mut summarizer =
            Summarizer::new(Arc::new(fake), Arc::new(settings), Estimator::ScriptAware);
        summarizer.backoff = Duration::from_millis(1);
        Self {
            summarizer,
            asked,
            open,
            model: models[0].clone(),
            reports: Mutex::default(),
            cancel: CancellationToken::new(),
        }
    }

    async fn compact(&self, input: CompactionInput) -> Result<Summary, SummaryError> {
        let report = |progress| self.reports.lock().unwrap().push(progress);
        self.summarizer.compaction(input, &self.model, "s1", &report, &self.cancel).await
    }

    async fn branch(&self, input: BranchInput) -> Result<Option<Summary>, SummaryError> {
        let report = |progress| self.reports.lock().unwrap().push(progress);
        self.summarizer.branch(input, &self.model, "s1", &report, &self.cancel).await
    }

    fn prompts(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(prompt_of).collect()
    }

    fn asked_models(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|request| request.model.id.clone()).collect()
    }
}

fn prompt_of(request: &Request) -> String {
    match &*request.messages[0] {
        Message::User(user) => user.content.text(),
        other => panic!("{other:?}"),
    }
}

fn template_of(prompt: &str) -> Option<Template> {
    let first = |template: Template| template.text(None, false).lines().next().unwrap().to_owned();
    Template::ALL.into_iter().find(|template| prompt.contains(&first(*template)))
}

/// Answers each template with a text of its own.
fn by_template(request: &Request, _: usize) -> Act {
    say(match template_of(&prompt_of(request)) {
        Some(Template::Summary) => "## Goal\nHISTORY",
        Some(Template::UpdateSummary) => "## Goal\nUPDATED",
        Some(Template::TurnPrefix) => "## Original Request\nPREFIX",
        Some(Template::ShortSummary) => "I did\nthings.",
        Some(Template::Branch) => "## Goal\nBRANCH",
        None => "OWN",
    })
}

fn talk(texts: &[&str]) -> Vec<Arc<Message>> {
    let value = |(at, text): (usize, &&str)| {
        if at % 2 == 0 {
            json!({"role": "user", "content": text})
        } else {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
        }
    };
    serde_json::from_value(Value::Array(texts.iter().enumerate().map(value).collect())).unwrap()
}

fn history(texts: &[&str]) -> CompactionInput {
    CompactionInput { history: talk(texts), ..CompactionInput::default() }
}

/// The estimate of a whole request, output limit included.
fn size_of(request: &Request) -> u64 {
    let estimator = Estimator::ScriptAware;
    let messages: u64 =
        request.messages.iter().map(|message| u64::from(estimator.message(message))).sum();
    messages + u64::from(estimator.text(&request.system)) + request.max_tokens
}
