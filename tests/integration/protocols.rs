//! The real session against strict servers of every protocol (I2, F19–F22, F41, F65–F69): tools,
//! Escape, compaction, a branch, and another provider in the middle of it all. Each server rejects
//! whatever its original would reject, so that a conversation that goes through is well-formed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use regrow::agent_session::command::{Delivery, Navigation, SessionCommand, SummaryChoice};
use regrow::agent_session::event::{ActivityKind, SessionEvent};
use regrow::agent_session::{AgentSession, Attendance, SessionDeps, SessionHandle};
use regrow::compaction::summarizer::Summarizer;
use regrow::compaction::tokens::Estimator;
use regrow::ids::{Stamper, Timestamp};
use regrow::prompt::source::{PromptSource, SystemPrompt};
use regrow::provider::registry::{ProviderRegistry, RegistryFiles};
use regrow::provider::retry::RetryPolicy;
use regrow::provider::{ThinkingLevel, ToolSpec};
use regrow::session::entry::{EntryBody, SessionEntry, SessionHeader};
use regrow::session::store::SessionStore;
use regrow::session::tree::ModelRef;
use regrow::settings::{PermissionMode, Settings};
use regrow::tool::builtin::builtin;
use serde_json::json;

use crate::support::server::{Gate, ModelServer, Reply, Rules, SIGNATURE};

/// Name, protocol, where the base URL ends, and a model whose id brings out its protocol's demands.
const PROTOCOLS: &[(&str, &str, &str, &str)] = &[
    ("chat", "openai-completions", "/v1", "qwen"),
    ("messages", "anthropic-messages", "", "claude-haiku-4-5"),
    ("responses", "openai-responses", "/v1", "gpt-5.1"),
    ("studio", "google-generative-ai", "/v1beta", "gemini-3-flash"),
];

/// Longest that anything may take; reaching it is a failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// One white pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0xf8, 0xff, 0xff, 0xff, 0x7f, 0, 0x09, 0xfb, 0x03, 0xfd, 0x05, 0x43, 0x45,
    0xca, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

#[derive(Debug, Default)]
struct Counter(AtomicU32);

impl Stamper for Counter {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_768_402_800_000 + i64::from(self.entry_bits()) * 1_000)
    }

    fn entry_bits(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn session_id(&self) -> String {
        format!("session-{}", self.entry_bits())
    }
}

struct ShortPrompt;

impl PromptSource for ShortPrompt {
    fn system_prompt(&self, _cwd: &Path, _tools: &[ToolSpec]) -> SystemPrompt {
        SystemPrompt { text: "You help.".into(), instructions: String::new() }
    }
}

struct Conversation {
    servers: HashMap<&'static str, ModelServer>,
    handle: SessionHandle,
    entries: Vec<Arc<SessionEntry>>,
    _dir: tempfile::TempDir,
}

impl Conversation {
    /// A session in a folder with a text and a picture, begun with the provider `first`.
    async fn start(first: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("notes.txt"), "빈 것은 없다\n").unwrap();
        std::fs::write(dir.path().join("empty.txt"), "").unwrap();
        std::fs::write(dir.path().join("pixel.png"), PIXEL).unwrap();
        let mut servers = HashMap::new();
        let mut config = serde_json::Map::new();
        for (name, api, path, id) in PROTOCOLS {
            let server = ModelServer::start(Rules { alternate: true, ..Rules::default() }).await;
            let model = json!({"id": id, "contextWindow": 100_000, "maxTokens": 8_000, "reasoning": true, "images": true});
            let base_url = format!("{}{path}", server.origin());
            config.insert(
                (*name).into(),
                json!({"baseUrl": base_url, "api": api, "apiKey": "sk-test-1234567890", "models": [model]}),
            );
            servers.insert(*name, server);
        }
        let models = dir.path().join("models.json");
        std::fs::write(&models, json!({"providers": config}).to_string()).unwrap();
        let mut settings = Settings::default();
        settings.permissions.mode = PermissionMode::Full;
        settings.compaction.keep_recent_tokens = 10;
        let files = RegistryFiles { models: Some(models), keys: None };
        let registry = Arc::new(ProviderRegistry::new(&settings, HashMap::new(), files));
        let model = registry.choose_model(Some(first), None).unwrap();
        let settings = Arc::new(settings);
        let estimator = Estimator::default();
        let deps = SessionDeps {
            hooks: Arc::new(|_| regrow::hook::chain::Hooks::default()),
            providers: registry.clone(),
            tools: builtin(),
            settings: settings.clone(),
            stamper: Arc::new(Counter(AtomicU32::new(1))),
            prompts: Arc::new(ShortPrompt),
            summarizer: Arc::new(Summarizer::new(registry, settings, estimator)),
            retry: RetryPolicy::default().nothing_executed(),
            attendance: Attendance::Unattended,
            estimator,
            session_dir: dir.path().join("sessions"),
        };
        let cwd = dir.path().display().to_string();
        let header = SessionHeader::new("s".into(), Timestamp::from_millis(1_768_402_800_000), cwd);
        let store = SessionStore::create(&dir.path().join("sessions"), header, estimator);
        let (session, commands, handle) =
            AgentSession::new(deps, store, Vec::new(), model, ThinkingLevel::Low);
        tokio::spawn(session.run(commands));
        Self { servers, handle, entries: Vec::new(), _dir: dir }
    }

    fn send(&self, command: SessionCommand) {
        self.handle.commands.send(command).unwrap();
    }

    async fn until(&mut self, what: &str, wanted: impl Fn(&SessionEvent) -> bool) {
        loop {
            let event = tokio::time::timeout(PATIENCE, self.handle.events.recv()).await;
            let event = event.unwrap_or_else(|_| {
                panic!("waited in vain for {what}; rejected: {:?}", self.rejections())
            });
            let event = event.unwrap_or_else(|| panic!("the session ended before {what}"));
            if let SessionEvent::Appended { entry } = &event {
                self.entries.push(entry.clone());
            }
            if wanted(&event) {
                return;
            }
        }
    }

    async fn idle(&mut self) {
        self.until("idleness", |event| {
            matches!(event, SessionEvent::Activity { kind: ActivityKind::Idle })
        })
        .await;
    }

    fn prompt(&self, text: &str) {
        let (text, images) = (text.to_owned(), Vec::new());
        self.send(SessionCommand::Prompt { text, images, delivery: Delivery::FollowUp });
    }

    /// A turn with thinking, three calls at once (one of which fails), and an answer.
    async fn work(&mut self, provider: &str) {
        let server = &self.servers[provider];
        let first = Reply::default().thinking("I look at all of it").text("Looking.");
        let first = ["notes.txt", "pixel.png", "missing.txt"].iter().fold(first, |reply, path| {
            let arguments = json!({"path": path}).to_string();
            reply.call(&format!("call_{path}").replace('.', "_"), "read", &arguments)
        });
        server.push(first.usage(900, 40).finish("tool_calls"));
        server.push(Reply::calls("again", "read", json!({"path": "empty.txt"})));
        server.push(
            Reply::default().thinking("done").text("All read.").usage(1_200, 9).finish("stop"),
        );
        self.prompt("read everything, 전부");
        self.idle().await;
        assert_eq!(self.last_text(), "All read.");
    }

    /// An answer that the person stops in its middle.
    async fn stopped(&mut self, provider: &str) {
        let gate = Gate::default();
        let reply = Reply::default().thinking("hm").text("half of it").hold(&gate);
        self.servers[provider].push(reply.finish("stop"));
        self.prompt("this will be stopped");
        gate.reached().await;
        self.until("the words before the stop", |event| {
            matches!(event, SessionEvent::Stream { .. })
        })
        .await;
        self.send(SessionCommand::Abort);
        gate.closed().await;
        self.idle().await;
    }

    async fn say(&mut self, provider: &str, answer: &str) {
        self.servers[provider].push(Reply::says(answer));
        self.prompt("go on");
        self.idle().await;
        assert_eq!(self.last_text(), answer);
    }

    async fn compact(&mut self, provider: &str) {
        self.servers[provider].otherwise(|_| Reply::says("## Goal\nRead it."));
        self.send(SessionCommand::Compact { instructions: None });
        self.until("a compaction", |event| matches!(event, SessionEvent::CompactionEnd { .. }))
            .await;
        let compacted = |entry: &Arc<SessionEntry>| matches!(entry.body, EntryBody::Compaction(_));
        assert!(self.entries.iter().any(compacted), "rejected: {:?}", self.rejections());
        self.idle().await;
    }

    /// Leaves the branch for the entry after which its summary shall hang.
    async fn leave(&mut self, place: usize) {
        let target = self.entries[place].id.clone();
        let summary = SummaryChoice::Default;
        self.send(SessionCommand::Navigate(Navigation { target, summary, label: None }));
        self.until("a move", |event| {
            assert!(!matches!(event, SessionEvent::NavigationEnded { .. }), "{event:?}");
            matches!(event, SessionEvent::Moved { .. })
        })
        .await;
        self.idle().await;
    }

    async fn switch(&mut self, provider: &str) {
        let (_, _, _, id) = PROTOCOLS.iter().find(|(name, ..)| *name == provider).unwrap();
        self.send(SessionCommand::SetModel(ModelRef::new(provider, id)));
        self.until("the other model", |event| matches!(event, SessionEvent::Model { .. })).await;
    }

    fn last_text(&self) -> String {
        let last = self.entries.iter().rev().find_map(|entry| match &entry.body {
            EntryBody::Message { message: regrow::message::Message::Assistant(answer) } => {
                Some(answer.error_message.clone().unwrap_or_else(|| answer.text()))
            }
            _ => None,
        });
        last.unwrap_or_default()
    }

    fn rejections(&self) -> Vec<String> {
        self.servers.values().flat_map(ModelServer::rejections).collect()
    }
}

async fn converse(first: &str, second: &str) {
    let mut talk = Conversation::start(first).await;
    talk.work(first).await;
    let branch_point = talk.entries.len() - 1;
    talk.stopped(first).await;
    talk.say(first, "and on").await;
    talk.compact(first).await;
    talk.say(first, "after the compaction").await;
    talk.leave(branch_point).await;
    talk.switch(second).await;
    talk.work(second).await;
    talk.stopped(second).await;
    talk.switch(first).await;
    talk.work(first).await;
    assert_eq!(talk.rejections(), [""; 0], "{first}, then {second}");
    // What its own model thought goes back to it, and so does what it saw.
    let last = talk.servers[first].last().to_string();
    assert!(first == "chat" || last.contains(SIGNATURE), "{last}");
    assert!(last.contains("iVBORw0KGgo"), "{last}");
}

#[tokio::test]
async fn i2_every_protocol_takes_every_conversation_of_every_other() {
    for (first, ..) in PROTOCOLS {
        for (second, ..) in PROTOCOLS {
            if first != second {
                converse(first, second).await;
            }
        }
    }
}
