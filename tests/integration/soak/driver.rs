//! Holds the session, hears its events, and compares.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use regrow::agent_session::command::SessionCommand;
use regrow::agent_session::event::{ActivityKind, NoticeLevel, SessionEvent};
use regrow::compaction::tokens::Estimator;
use regrow::ids::{Stamper, Timestamp};
use regrow::provider::ToolSpec;
use regrow::session::context::build_session_context;
use regrow::session::reader::SessionReader;
use regrow::session::store::{Access, SessionStore};
use regrow::tool::builtin::builtin;
use regrow::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::actor::{Actor, retry};
use super::book::Book;
use super::counts::Counts;
use crate::support::dice::Dice;
use crate::talk::harness::{Setup, Talk};

/// Ids in no order, and a clock that is set forward and back now and then.
#[derive(Debug)]
pub struct Jumpy {
    ids: AtomicU64,
    clock: AtomicI64,
}

impl Jumpy {
    pub fn new(seed: u64) -> Self {
        Self { ids: AtomicU64::new(seed << 32), clock: AtomicI64::new(1_768_402_800_000) }
    }

    fn next(&self) -> u64 {
        let count = self.ids.fetch_add(1, Ordering::Relaxed);
        // Spreads neighbours over all numbers.
        let mixed = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    }
}

impl Stamper for Jumpy {
    fn now(&self) -> Timestamp {
        let jump = match self.next() % 64 {
            0 => -90_000_000,
            1 => 86_400_000,
            2 => 0,
            _ => 1_000,
        };
        Timestamp::from_millis(self.clock.fetch_add(jump, Ordering::Relaxed))
    }

    fn entry_bits(&self) -> u32 {
        (self.next() >> 16) as u32
    }

    fn session_id(&self) -> String {
        format!("soak-{}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

/// A tool that gives text of a wanted size and takes its time.
struct Emit;

impl Tool for Emit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "emit".into(),
            description: "Gives text.".into(),
            parameters: json!({"type": "object", "properties": {
                "size": {"type": "integer"}, "pauses": {"type": "integer"}}}),
        }
    }

    fn effect(&self, arguments: &Value, _cx: &ToolContext) -> Result<Effect, ToolError> {
        match arguments["size"].as_u64() {
            Some(_) => Ok(Effect::Read { paths: Vec::new() }),
            None => Err(ToolError::new("`size` must be a number")),
        }
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            for _ in 0..arguments["pauses"].as_u64().unwrap_or(0) {
                tokio::task::yield_now().await;
                if cx.cancel.is_cancelled() {
                    return Err(ToolError::new("stopped"));
                }
            }
            let size = arguments["size"].as_u64().unwrap_or(0) as usize;
            let words = "lorem 가나다 ipsum 😀 dolor ";
            Ok(ToolOutput::text(words.chars().cycle().take(size).collect::<String>(), "text"))
        })
    }
}

/// Says where it broke.
struct Bearings {
    seed: u64,
    step: u64,
    doing: &'static str,
}

impl Drop for Bearings {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("REGROW_SOAK_SEED={}: step {}, {}", self.seed, self.step, self.doing);
        }
    }
}

/// A session in its soak.
pub struct Soak {
    pub talk: Option<Talk>,
    pub actor: Actor,
    pub dice: Dice,
    pub book: Arc<Mutex<Book>>,
    pub counts: Counts,
    pub questions: u32,
    /// The session that is always returned to.
    pub main: PathBuf,
    pub activity: ActivityKind,
    reader: Option<SessionReader>,
    stamper: Arc<Jumpy>,
    bearings: Bearings,
    check_at: u64,
    /// The last events in words, for a failure.
    pub trail: VecDeque<String>,
}

impl Soak {
    pub fn start(seed: u64) -> Self {
        let book = Arc::new(Mutex::new(Book::new(&PathBuf::new())));
        let actor = Actor::new(seed, book.clone());
        let stamper = Arc::new(Jumpy::new(seed));
        let talk = Talk::served(setup(&stamper), Arc::new(actor.clone()), actor.model());
        Self {
            talk: Some(talk),
            actor,
            dice: Dice::new(seed),
            book,
            counts: Counts::default(),
            questions: 0,
            main: PathBuf::new(),
            activity: ActivityKind::Idle,
            reader: None,
            stamper,
            bearings: Bearings { seed, step: 0, doing: "starting" },
            check_at: 0,
            trail: VecDeque::new(),
        }
    }

    pub fn talk(&mut self) -> &mut Talk {
        self.talk.as_mut().unwrap()
    }

    pub fn doing(&mut self, what: &'static str) {
        self.bearings.doing = what;
        self.trail.push_back(format!("-- {what}"));
    }

    pub fn send(&mut self, command: SessionCommand) {
        self.talk().send(command);
    }

    /// The next event, heard.
    pub async fn hear(&mut self) -> SessionEvent {
        let event = self.talk().next("whatever comes next").await;
        self.talk().seen.clear();
        self.note(&event);
        event
    }

    fn note(&mut self, event: &SessionEvent) {
        if !matches!(event, SessionEvent::Stream { .. } | SessionEvent::Gauge(_)) {
            let words: String = format!("{event:?}").chars().take(200).collect();
            self.trail.push_back(words);
            self.trail.drain(..self.trail.len().saturating_sub(40));
        }
        match event {
            SessionEvent::Opened { reader, file, warnings, read_only, .. } => {
                assert!(warnings.is_empty() && !read_only, "{warnings:?}");
                self.reader = Some(reader.clone());
                let file = file.clone().unwrap();
                if self.main.as_os_str().is_empty() {
                    self.main.clone_from(&file);
                }
                *self.book.lock().unwrap() = Book::new(&file);
            }
            SessionEvent::Appended { entry } => {
                self.counts.entries += 1;
                let mut book = self.book.lock().unwrap();
                let noted = book.acknowledge(entry.id.as_str(), &entry.to_line());
                drop(book);
                self.must(noted);
            }
            SessionEvent::Activity { kind } => self.activity = *kind,
            SessionEvent::CompactionEnd { reason, result, aborted, error, .. } => {
                let what = match (result, aborted, error) {
                    (Some(result), ..) => {
                        assert!(result.tokens_after > 0);
                        let how = if result.extractive { " without a model" } else { "" };
                        format!("{reason:?}{how}")
                    }
                    (_, true, _) => "stopped".to_owned(),
                    (.., error) => {
                        assert!(error.is_some(), "a compaction without an outcome");
                        "failed".to_owned()
                    }
                };
                self.counts.compacted(what);
            }
            SessionEvent::Moved { .. } => self.counts.moves += 1,
            SessionEvent::Retry { .. } => self.counts.retries += 1,
            SessionEvent::Notice { level: NoticeLevel::Error, text } => {
                assert!(!text.contains("internal error"), "{text}");
                self.counts.complaints += 1;
            }
            _ => {}
        }
    }

    /// Waits until nothing runs and nothing is queued to be done.
    pub async fn settle(&mut self) {
        loop {
            // Commands are done in order: what was sent before is begun when this is answered.
            self.send(SessionCommand::PlanCompaction);
            while !matches!(self.hear().await, SessionEvent::CompactionPlanned { .. }) {}
            if self.activity == ActivityKind::Idle {
                return;
            }
            while self.activity != ActivityKind::Idle {
                self.hear().await;
            }
        }
    }

    #[track_caller]
    pub fn must<T>(&self, outcome: Result<T, String>) -> T {
        outcome.unwrap_or_else(|why| {
            let trail: Vec<_> = self.trail.iter().map(String::as_str).collect();
            panic!("{why}\n{}", trail.join("\n"))
        })
    }

    /// One random step, and the comparison after it.
    pub async fn step(&mut self) {
        self.counts.steps += 1;
        self.bearings.step = self.counts.steps;
        self.act().await;
        self.settle().await;
        self.actor.forget_hold();
        self.check();
        if self.counts.steps >= self.check_at {
            self.check_all().await;
            // A whole comparison costs what the file has; so it comes the rarer the longer it is.
            self.check_at = self.counts.steps + 1 + self.entries_open() as u64 / 200;
        }
    }

    pub fn entries_open(&self) -> usize {
        self.book.lock().unwrap().len()
    }

    /// What can be compared after every step: what is new in the file, and what is in context.
    fn check(&mut self) {
        let faults = self.actor.faults();
        self.must(if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) });
        let mut book = self.book.lock().unwrap();
        let caught_up = book.catch_up(true);
        let expected: Result<Vec<String>, String> =
            book.context().map(|nodes| nodes.into_iter().map(|place| book.id(place)).collect());
        drop(book);
        self.must(caught_up);
        let expected = self.must(expected);
        let shown = context_ids(self.reader.as_ref().unwrap());
        self.must(if shown == expected { Ok(()) } else { Err("another context".into()) });
    }

    /// Opens the file a second time, to look: it must be what the open session says.
    pub async fn check_all(&mut self) {
        let path = self.book.lock().unwrap().path().to_owned();
        if !path.exists() {
            return;
        }
        self.counts.whole_checks += 1;
        let opened = SessionStore::open(&path, Access::ReadOnly, Estimator::default()).unwrap();
        assert_eq!(opened.warnings, [""; 0]);
        let (again, open) = (opened.store.reader(), self.reader.as_ref().unwrap());
        assert_eq!(again.tree().len(), self.entries_open());
        assert_eq!(context_ids(again), context_ids(open), "another context after opening");
        assert_eq!(again.tree().leaf(), open.tree().leaf());
        let messages = |reader: &SessionReader| {
            let outline = {
                let tree = reader.tree();
                build_session_context(&tree, tree.leaf())
            };
            let (messages, problems) = reader.messages(&outline.nodes);
            assert_eq!(problems, [""; 0]);
            (messages, outline.model, outline.thinking)
        };
        assert!(messages(again) == messages(open), "other messages after opening");
    }

    /// Closes the session and opens its file again.
    pub async fn reopen(&mut self) {
        let mut talk = self.talk.take().unwrap();
        talk.quit().await;
        let path = self.book.lock().unwrap().path().to_owned();
        let opened = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
        assert_eq!(opened.warnings, [""; 0]);
        let actor = Arc::new(self.actor.clone());
        let setup = setup(&self.stamper);
        let model = self.actor.model();
        self.talk = Some(Talk::served_on(opened.store, talk.dir, setup, actor, model));
        self.counts.reopened += 1;
    }

    /// Ends the session and gives the figures.
    pub async fn finish(mut self) -> Counts {
        self.talk().quit().await;
        let book = self.book.lock().unwrap();
        self.counts.rewrites += book.rewrites as u64;
        (self.counts.lines, self.counts.bytes) = (book.len(), book.bytes());
        drop(book);
        (self.counts.requests, self.counts.failures) = self.actor.counts();
        std::mem::take(&mut self.counts)
    }
}

fn setup(stamper: &Arc<Jumpy>) -> Setup {
    let stamper: Arc<dyn Stamper> = stamper.clone();
    let tools = builtin().and(Arc::new(Emit));
    Setup { retry: retry(), tools, stamper: Some(stamper), ..Setup::default() }
}

fn context_ids(reader: &SessionReader) -> Vec<String> {
    let tree = reader.tree();
    let outline = build_session_context(&tree, tree.leaf());
    outline.nodes.iter().map(|node| tree.node(*node).id.to_string()).collect()
}
