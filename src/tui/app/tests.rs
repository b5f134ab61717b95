//! The screen without a terminal: keys and session events in, text out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::{Backend, TestBackend};
use serde_json::json;

use super::*;
use crate::agent_session::event::*;
use crate::compaction::tokens::Estimator;
use crate::ids::EntryId;
use crate::message::*;
use crate::provider::ThinkingLevel;
use crate::provider::model::{Model, Price};
use crate::session::describe::describe;
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::reader::Lines;
use crate::session::tree::{LineSpan, SessionTree};
use crate::tui::cell::Hint;
use crate::tui::theme::ColorDepth;

mod emulated;
mod finding;
mod gallery;
mod keys;
mod nasty;
mod screens;
mod seeking;
mod storm;

/// Lines in memory; a span's offset is the number of the line.
#[derive(Default)]
struct Memory(Mutex<Vec<String>>);

impl Lines for Memory {
    fn read(&self, span: LineSpan) -> std::io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap()[span.offset as usize].clone().into_bytes())
    }
}

/// A screen, its session and its time.
struct Stage {
    app: App,
    tree: Arc<RwLock<SessionTree>>,
    lines: Arc<Memory>,
    now: Instant,
    sent: Vec<SessionCommand>,
    other: Vec<UiEffect>,
    loads: usize,
}

impl Stage {
    fn new() -> Self {
        Self::with_theme(Theme::dark())
    }

    fn with_theme(theme: Theme) -> Self {
        let welcome = Welcome {
            version: "regrow 0.1".into(),
            cwd: "~/src/shop".into(),
            model: "offline (no model yet: /model)".into(),
            corner: "/help".into(),
            hints: vec![
                Hint::new("read README.md", "reads a file", ""),
                Hint::new("/tree", "to any earlier point", ", and another way from there"),
            ],
        };
        let app = App::new(AppOptions {
            theme,
            keymap: KeyMap::default(),
            animation: true,
            welcome,
            history: vec!["an old request".into()],
            home: Some("/home/me".into()),
            templates: vec![
                Template::parse("fix", "fix.md", "---\nargument-hint: [bug]\n---\nFix $1 now.")
                    .unwrap(),
            ],
            links: Links::default(),
        });
        Self {
            app,
            tree: Arc::default(),
            lines: Arc::default(),
            now: Instant::now(),
            sent: Vec::new(),
            other: Vec::new(),
            loads: 0,
        }
    }

    /// A screen on an open session.
    fn open() -> Self {
        let mut stage = Self::new();
        stage.opened();
        stage
    }

    fn reader(&self) -> SessionReader {
        SessionReader::new(self.tree.clone(), self.lines.clone())
    }

    fn opened(&mut self) {
        self.session(SessionEvent::Opened {
            reader: self.reader(),
            file: None,
            cwd: "/home/me/src/shop".into(),
            warnings: Vec::new(),
            read_only: false,
        });
        self.session(SessionEvent::Model {
            model: Arc::new(model()),
            thinking: ThinkingLevel::High,
        });
        self.session(SessionEvent::Gauge(Gauge {
            tokens: 76_100,
            window: 200_000,
            compacts_at: Some(183_616),
            cost: 0.41,
            ..Gauge::default()
        }));
        self.event(UiEvent::Branch(Some("main".into())));
    }

    fn event(&mut self, event: UiEvent) {
        let effects = self.app.update(event, self.now);
        self.carry_out(effects);
    }

    fn session(&mut self, event: SessionEvent) {
        self.event(UiEvent::Session(event));
    }

    fn carry_out(&mut self, effects: Vec<UiEffect>) {
        for effect in effects {
            match effect {
                UiEffect::Send(command) => self.sent.push(command),
                UiEffect::LoadEntries(indexes) => {
                    self.loads += indexes.len();
                    let reader = self.reader();
                    let entries = indexes
                        .into_iter()
                        .map(|index| (index, reader.entry(index).unwrap()))
                        .collect();
                    self.event(UiEvent::Entries { entries, failed: Vec::new() });
                }
                UiEffect::SearchBodies(query) => {
                    crate::tui::overlay::tree::search::search_bodies(
                        &self.reader(),
                        &query,
                        &|| false,
                        &mut |hits| self.event(UiEvent::Found(hits)),
                    );
                }
                UiEffect::CountBranches => {
                    let branches =
                        crate::tui::overlay::tree::branches_of(&self.tree.read().unwrap());
                    self.event(UiEvent::Branches(branches));
                }
                effect => self.other.push(effect),
            }
        }
    }

    /// Puts an entry into the session without telling the screen.
    fn store(&mut self, body: EntryBody) -> Arc<SessionEntry> {
        let mut lines = self.lines.0.lock().unwrap();
        let mut tree = self.tree.write().unwrap();
        let parent = tree.leaf().map(|leaf| tree.node(leaf).id.clone());
        let entry = Arc::new(SessionEntry {
            id: EntryId::new(format!("{:08x}", lines.len() + 1)),
            parent_id: parent,
            timestamp: Default::default(),
            body,
        });
        let span = LineSpan { offset: lines.len() as u64, len: 1 };
        lines.push(entry.to_line());
        tree.append(describe(&entry, Estimator::ScriptAware, span));
        entry
    }

    fn append(&mut self, body: EntryBody) {
        let entry = self.store(body);
        self.session(SessionEvent::Appended { entry });
    }

    fn message(&mut self, message: Message) {
        self.append(EntryBody::Message { message });
    }

    fn user(&mut self, text: &str) {
        self.message(user(text));
    }

    fn answer(&mut self, blocks: Vec<Block>) {
        self.message(Message::Assistant(AssistantMessage {
            content: blocks,
            ..Default::default()
        }));
    }

    fn result(&mut self, id: &str, text: &str, details: serde_json::Value, is_error: bool) {
        self.message(Message::ToolResult(ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: match id {
                "c1" => "read",
                "c2" => "edit",
                _ => "bash",
            }
            .into(),
            content: Content::from_text(text),
            details: Some(details),
            is_error,
            ..Default::default()
        }));
    }

    fn activity(&mut self, kind: ActivityKind) {
        self.session(SessionEvent::Activity { kind });
    }

    fn stream(&mut self, text: &str) {
        let delta = StreamDelta::Text { block: 0, text: text.into() };
        self.session(SessionEvent::Stream { delta });
    }

    fn later(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.event(UiEvent::Key(KeyEvent::new(code, modifiers)));
    }

    fn key(&mut self, code: KeyCode) {
        self.press(code, KeyModifiers::NONE);
    }

    fn ctrl(&mut self, letter: char) {
        self.press(KeyCode::Char(letter), KeyModifiers::CONTROL);
    }

    fn write(&mut self, text: &str) {
        for character in text.chars() {
            self.key(KeyCode::Char(character));
        }
    }

    fn prompts(&self) -> Vec<&str> {
        let mut prompts = Vec::new();
        for command in &self.sent {
            if let SessionCommand::Prompt { text, .. } = command {
                prompts.push(text.as_str());
            }
        }
        prompts
    }

    /// The screen as text, the caret as `█`.
    fn draw(&mut self, columns: u16, rows: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        // What drawing asks for is there for the next frame.
        for _ in 0..3 {
            terminal.draw(|frame| crate::tui::view::draw(&mut self.app, frame, self.now)).unwrap();
            let effects = self.app.take_effects();
            self.carry_out(effects);
        }
        let caret = terminal.backend_mut().get_cursor_position().unwrap();
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for y in 0..rows {
            let mut line = String::new();
            let mut x = 0;
            while x < columns {
                let symbol = buffer[(x, y)].symbol();
                let at_caret = (caret.x, caret.y) == (x, y);
                line.push_str(if at_caret { "█" } else { symbol });
                x += crate::tui::text::width(symbol).max(1) as u16;
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// A session like that of the sketch.
    fn worked() -> Self {
        let mut stage = Self::open();
        stage.user("Make the login form say which field failed");
        stage.answer(vec![
            thinking("The validator returns one error for all fields."),
            Block::text("I'll look at the validator first."),
            call("c1", "read", json!({"path": "src/auth/validate.rs"})),
            call("c2", "edit", json!({"path": "/home/me/src/shop/src/auth/validate.rs"})),
            call("c3", "bash", json!({"command": "cargo test -p auth"})),
        ]);
        stage.result("c1", "a\nb", json!({"summary": "212 lines"}), false);
        let diff = "@@ -41 +41 @@\n-    Err(LoginError::Invalid)\n+    Err(LoginError::field(\"email\", \"is not an address\"))\n";
        stage.result("c2", "ok", json!({"summary": "+1 −1", "diff": diff}), false);
        let output: String =
            (0..30).map(|number| format!("test number_{number} ... ok\n")).collect();
        let output = format!("{output}test login::names_field ... FAILED");
        stage.result("c3", &output, json!({"summary": "exit 101 · 4.2 s"}), true);
        stage.answer(vec![Block::text(
            "One test still expects the *old* message; I'll change it to the field's name:\n\n```rust\nassert_eq!(err.field(), Some(\"email\"));\n```\n",
        )]);
        stage
    }
}

fn user(text: &str) -> Message {
    Message::User(UserMessage { content: Content::Text(text.into()), timestamp: 0 })
}

fn thinking(text: &str) -> Block {
    Block::Thinking { thinking: text.into(), thinking_signature: None, redacted: None }
}

fn call(id: &str, name: &str, arguments: serde_json::Value) -> Block {
    Block::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        thought_signature: None,
    })
}

fn model() -> Model {
    Model {
        provider: "anthropic".into(),
        id: "claude-sonnet-5".into(),
        api: String::new(),
        base_url: String::new(),
        context_window: 200_000,
        max_tokens: 8_000,
        reasoning: true,
        images: false,
        price: Price::default(),
        window_is_guess: false,
    }
}

fn compaction() -> EntryBody {
    EntryBody::Compaction(crate::session::entry::CompactionEntry {
        summary: "## Goal\nForms that name the field\n\n## Progress\n- [x] login".into(),
        short_summary: Some("moved validation into auth/validate.rs, 3 forms left".into()),
        first_kept_entry_id: "00000002".into(),
        tokens_before: 41_200,
        details: None,
        preserve_data: None,
        from_extension: None,
    })
}
