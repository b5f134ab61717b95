//! A session, its file, and a model that answers by script; every request is checked for shape.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use regrow::agent_session::command::{Delivery, Navigation, SessionCommand, SummaryChoice};
use regrow::agent_session::event::{ActivityKind, SessionEvent, StreamDelta};
use regrow::agent_session::{AgentSession, Attendance, SessionDeps, SessionHandle};
use regrow::compaction::summarizer::Summarizer;
use regrow::compaction::tokens::Estimator;
use regrow::hook::chain::Hooks;
use regrow::ids::{EntryId, Stamper, Timestamp};
use regrow::message::{Message, StopReason};
use regrow::prompt::source::{PromptSource, SystemPrompt};
use regrow::provider::model::Model;
use regrow::provider::retry::RetryPolicy;
use regrow::provider::scripted::{Script, ScriptedProvider};
use regrow::provider::{Providers, Request, ThinkingLevel, ToolSpec};
use regrow::session::entry::{EntryBody, SessionEntry, SessionHeader};
use regrow::session::store::{Access, SessionStore};
use regrow::settings::{PermissionMode, Settings};
use regrow::tool::ToolRegistry;
use regrow::tool::builtin::builtin;

/// Longest that anything may take where a script answers; reaching it is a failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same ids and a clock that advances by a second for each look, in every run.
#[derive(Debug, Default)]
pub struct FixedStamper {
    bits: AtomicU32,
    seconds: AtomicU32,
}

impl Stamper for FixedStamper {
    fn now(&self) -> Timestamp {
        let seconds = i64::from(self.seconds.fetch_add(1, Ordering::Relaxed));
        Timestamp::from_millis(1_768_402_800_000 + seconds * 1_000)
    }

    fn entry_bits(&self) -> u32 {
        self.bits.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn session_id(&self) -> String {
        format!("session-{}", self.bits.fetch_add(1, Ordering::Relaxed))
    }
}

struct ShortPrompt;

impl PromptSource for ShortPrompt {
    fn system_prompt(&self, _cwd: &Path, _tools: &[ToolSpec]) -> SystemPrompt {
        SystemPrompt { text: "You help.".into(), instructions: String::new() }
    }
}

/// How a test's session differs from the usual one.
pub struct Setup {
    pub settings: Settings,
    pub window: u64,
    pub attendance: Attendance,
    pub retry: RetryPolicy,
    pub tools: ToolRegistry,
    pub hooks: Hooks,
    /// Clock and ids; a [`FixedStamper`] when none is given.
    pub stamper: Option<Arc<dyn Stamper>>,
}

impl Default for Setup {
    fn default() -> Self {
        let mut settings = Settings::default();
        settings.permissions.mode = PermissionMode::Full;
        let mut retry = RetryPolicy::default();
        retry.first_delay = Duration::from_millis(5);
        let (window, attendance) = (200_000, Attendance::Attended);
        let (tools, hooks) = (builtin(), Hooks::default());
        Self { settings, window, attendance, retry, tools, hooks, stamper: None }
    }
}

/// A running session.
pub struct Talk {
    pub model: ScriptedProvider,
    pub handle: SessionHandle,
    /// All events so far.
    pub seen: Vec<SessionEvent>,
    pub dir: tempfile::TempDir,
    /// How long an event may take to come.
    pub patience: Duration,
}

/// What the scripted model is called.
pub fn scripted_model(window: u64) -> Model {
    serde_json::from_value(serde_json::json!({
        "provider": "scripted", "id": "scripted", "api": "openai-completions",
        "contextWindow": window, "maxTokens": 8192, "price": {"input": 1.0, "output": 2.0}
    }))
    .unwrap()
}

impl Talk {
    /// A fresh session with the usual setup.
    pub fn start() -> Self {
        Self::with(Setup::default())
    }

    pub fn with(setup: Setup) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let header = SessionHeader::new(
            "s".into(),
            Timestamp::from_millis(1_768_402_800_000),
            dir.path().display().to_string(),
        );
        let store =
            SessionStore::create(&dir.path().join("sessions"), header, Estimator::default());
        Self::on(store, dir, setup)
    }

    /// Closes this session and opens its file again.
    pub async fn reopen(self, setup: Setup) -> Self {
        self.reopen_edited(setup, |text| text).await
    }

    /// As [`Talk::reopen`], with the file changed in between.
    pub async fn reopen_edited(mut self, setup: Setup, edit: impl Fn(String) -> String) -> Self {
        let path = self.file();
        self.quit().await;
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, edit(text)).unwrap();
        let opened = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
        assert_eq!(opened.warnings, Vec::<String>::new());
        Self::on(opened.store, self.dir, setup)
    }

    fn on(store: SessionStore, dir: tempfile::TempDir, setup: Setup) -> Self {
        let model = scripted_model(setup.window);
        let scripted = ScriptedProvider::with_models([model.clone()]);
        let providers: Arc<dyn Providers> = Arc::new(scripted.clone());
        let handle = run(store, &dir, setup, providers, Arc::new(model));
        Self { model: scripted, handle, seen: Vec::new(), dir, patience: PATIENCE }
    }

    /// A fresh session whose model is served over HTTP.
    pub fn served(setup: Setup, providers: Arc<dyn Providers>, model: Arc<Model>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().display().to_string();
        let header = SessionHeader::new("s".into(), Timestamp::from_millis(1_768_402_800_000), cwd);
        let folder = dir.path().join("sessions");
        let store = SessionStore::create(&folder, header, Estimator::default());
        Self::served_on(store, dir, setup, providers, model)
    }

    /// A session on this store, with these models.
    pub fn served_on(
        store: SessionStore,
        dir: tempfile::TempDir,
        setup: Setup,
        providers: Arc<dyn Providers>,
        model: Arc<Model>,
    ) -> Self {
        let handle = run(store, &dir, setup, providers, model);
        Self { model: ScriptedProvider::new(), handle, seen: Vec::new(), dir, patience: PATIENCE }
    }

    pub fn send(&mut self, command: SessionCommand) {
        self.handle.commands.send(command).unwrap();
    }

    pub fn prompt(&mut self, text: &str, delivery: Delivery) {
        self.send(SessionCommand::Prompt { text: text.into(), images: Vec::new(), delivery });
    }

    /// Says something, with an answer prepared, and waits until the session is idle again.
    pub async fn say(&mut self, text: &str, answers: impl IntoIterator<Item = Script>) {
        answers.into_iter().for_each(|answer| self.model.push(answer));
        self.prompt(text, Delivery::FollowUp);
        self.idle().await;
    }

    pub async fn compact(&mut self) {
        self.send(SessionCommand::Compact { instructions: None });
        self.until("a compaction to end", |event| {
            matches!(event, SessionEvent::CompactionEnd { .. } | SessionEvent::Notice { .. })
        })
        .await;
    }

    pub fn go(&mut self, target: &EntryId, summary: SummaryChoice) {
        let target = target.clone();
        self.send(SessionCommand::Navigate(Navigation { target, summary, label: None }));
    }

    /// The next event.
    pub async fn next(&mut self, what: &str) -> SessionEvent {
        let event = tokio::time::timeout(self.patience, self.handle.events.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("waited in vain for {what}: {:#?}", self.seen));
        let event = event.unwrap_or_else(|| panic!("the session ended before {what}"));
        self.seen.push(event.clone());
        event
    }

    /// Reads events until one is wanted.
    pub async fn until(
        &mut self,
        what: &str,
        wanted: impl Fn(&SessionEvent) -> bool,
    ) -> SessionEvent {
        loop {
            let event = self.next(what).await;
            if wanted(&event) {
                return event;
            }
        }
    }

    pub async fn idle(&mut self) {
        self.until("the session to be idle", |event| {
            matches!(event, SessionEvent::Activity { kind: ActivityKind::Idle })
        })
        .await;
    }

    pub async fn quit(&mut self) {
        self.send(SessionCommand::Quit);
        self.until("the end", |event| matches!(event, SessionEvent::Ended)).await;
    }

    /// The session's file; there is one, and `.lock` and `.originals` do not count.
    pub fn file(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.dir.path().join("sessions")).unwrap();
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                name.ends_with(".jsonl") && !name.contains(".originals")
            })
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.file()).unwrap()
    }

    /// The entries in the file, header left out.
    pub fn entries(&self) -> Vec<SessionEntry> {
        let text = String::from_utf8(self.bytes()).unwrap();
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages in the file, as `role: text`.
    pub fn story(&self) -> Vec<String> {
        self.entries().iter().map(|entry| tell(&entry.body)).collect()
    }

    /// All requests so far, each checked (I2).
    pub fn requests(&self) -> Vec<Request> {
        let requests = self.model.requests();
        requests.iter().for_each(check_request);
        requests
    }

    /// All visible text that has streamed.
    pub fn streamed(&self) -> String {
        self.seen
            .iter()
            .filter_map(|event| match event {
                SessionEvent::Stream { delta: StreamDelta::Text { text, .. } } => {
                    Some(text.as_str())
                }
                _ => None,
            })
            .collect()
    }

    pub fn notices(&self) -> Vec<String> {
        self.seen
            .iter()
            .filter_map(|event| match event {
                SessionEvent::Notice { text, .. } => Some(text.clone()),
                _ => None,
            })
            .collect()
    }
}

/// Builds a session and lets it run.
fn run(
    store: SessionStore,
    dir: &tempfile::TempDir,
    setup: Setup,
    providers: Arc<dyn Providers>,
    model: Arc<Model>,
) -> SessionHandle {
    let settings = Arc::new(setup.settings);
    let estimator = Estimator::default();
    let stamper = FixedStamper {
        bits: AtomicU32::new(0x1000_u32.wrapping_mul(store.reader().tree().len() as u32)),
        ..FixedStamper::default()
    };
    let deps = SessionDeps {
        providers: providers.clone(),
        tools: setup.tools,
        settings: settings.clone(),
        stamper: setup.stamper.unwrap_or_else(|| Arc::new(stamper)),
        prompts: Arc::new(ShortPrompt),
        summarizer: Arc::new(Summarizer::new(providers, settings, estimator)),
        retry: setup.retry.nothing_executed(),
        attendance: setup.attendance,
        estimator,
        session_dir: dir.path().join("sessions"),
        hooks: Arc::new(move |_| setup.hooks.clone()),
    };
    let (session, commands, handle) =
        AgentSession::new(deps, store, Vec::new(), model, ThinkingLevel::Off);
    tokio::spawn(session.run(commands));
    handle
}

/// A body in a few words.
pub fn tell(body: &EntryBody) -> String {
    match body {
        EntryBody::Message { message } => match message {
            Message::User(user) => format!("user: {}", user.content.text()),
            Message::Assistant(answer) => {
                let mark = match answer.stop_reason {
                    StopReason::Aborted => " (aborted)",
                    StopReason::Error => " (error)",
                    _ => "",
                };
                let calls: Vec<_> = answer.tool_calls().map(|call| call.name.as_str()).collect();
                format!("assistant{mark}: {}{}", answer.text(), calls.join(","))
            }
            Message::ToolResult(result) => {
                let mark = if result.is_error { " (error)" } else { "" };
                format!("result{mark}: {}", result.content.text())
            }
            other => format!("{other:?}"),
        },
        EntryBody::Compaction(compaction) => format!("compaction: {}", compaction.summary),
        EntryBody::BranchSummary(summary) => format!("branch: {}", summary.summary),
        EntryBody::Custom { custom_type, .. } => custom_type.clone(),
        other => format!("{other:?}"),
    }
}

/// All text of a request.
pub fn text_of(request: &Request) -> String {
    request.messages.iter().map(|message| serde_json::to_string(message).unwrap()).collect()
}

/// I2: calls and results pair up and stand together, nothing is empty, the person speaks first.
pub fn check_request(request: &Request) {
    let mut open: HashSet<String> = HashSet::new();
    for (place, message) in request.messages.iter().enumerate() {
        match message.as_ref() {
            Message::User(user) => {
                assert!(open.is_empty(), "calls without results before message {place}: {open:?}");
                assert!(
                    !user.content.text().trim().is_empty()
                        || user.content.images().next().is_some()
                );
            }
            Message::Assistant(answer) => {
                assert!(open.is_empty(), "calls without results before message {place}: {open:?}");
                assert!(!answer.content.is_empty(), "an empty answer at {place}");
                open.extend(answer.tool_calls().map(|call| call.id.clone()));
            }
            Message::ToolResult(result) => {
                assert!(open.remove(&result.tool_call_id), "a stray result at {place}");
                assert!(!result.content.text().is_empty());
            }
            other => panic!("no model takes {other:?}"),
        }
    }
    assert!(open.is_empty(), "calls without results at the end: {open:?}");
}
