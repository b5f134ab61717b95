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
use crate::tui::theme::ColorDepth;

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
                ("read README.md".into(), "reads a file".into()),
                ("/tree".into(), "goes back to any point and takes another way".into()),
            ],
        };
        let app = App::new(AppOptions {
            theme,
            keymap: KeyMap::default(),
            animation: true,
            welcome,
            history: vec!["an old request".into()],
            home: Some("/home/me".into()),
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
        let text = |command| match command {
            &SessionCommand::Prompt { ref text, .. } => Some(text.as_str()),
            _ => None,
        };
        self.sent.iter().filter_map(text).collect()
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

#[test]
fn u1_the_main_screen_at_100_columns() {
    let mut stage = Stage::worked();
    stage.append(compaction());
    stage.user("Now the same for sign-up");
    stage.activity(ActivityKind::Answering);
    let delta = StreamDelta::Thinking { block: 0, text: "x ".repeat(2800) };
    stage.session(SessionEvent::Stream { delta });
    stage.later(12_200);
    stage.write("and keep the old error type");
    insta::assert_snapshot!(stage.draw(100, 36));
}

#[test]
fn u7_the_main_screen_at_40_80_and_160_columns() {
    for (columns, rows) in [(40, 20), (80, 24), (160, 30)] {
        let mut stage = Stage::worked();
        stage.append(compaction());
        stage.write("한글 입력");
        insta::assert_snapshot!(format!("main_{columns}"), stage.draw(columns, rows));
    }
}

#[test]
fn u7_40_by_10_is_usable_and_less_says_so() {
    let mut stage = Stage::worked();
    stage.write("hello");
    insta::assert_snapshot!(stage.draw(40, 10));
    assert!(stage.draw(29, 10).contains("too small"));
    assert!(stage.draw(40, 7).contains("too small"));
}

#[test]
fn u1_a_fresh_session_says_what_to_try() {
    insta::assert_snapshot!(Stage::open().draw(80, 12));
}

#[test]
fn u1_streaming_korean_markdown() {
    let mut stage = Stage::open();
    stage.user("로그인 화면이 어느 항목에서 실패했는지 알려 주게 고쳐 주세요");
    stage.activity(ActivityKind::Answering);
    for piece in [
        "## 계획\n\n",
        "- **검증기**를 먼저 ",
        "봅니다\n- `auth/validate.rs`",
        "를 고칩니다\n\n```rust\n",
        "fn 검증() {",
    ] {
        stage.stream(piece);
    }
    insta::assert_snapshot!(stage.draw(50, 20));
}

#[test]
fn u1_ctrl_o_shows_everything_and_ctrl_t_the_thinking() {
    let mut stage = Stage::worked();
    stage.append(compaction());
    stage.ctrl('o');
    stage.ctrl('t');
    insta::assert_snapshot!(stage.draw(80, 70));
}

#[test]
fn a3_the_question_for_permission_leaves_the_transcript_in_view() {
    let mut stage = Stage::worked();
    stage.activity(ActivityKind::RunningTools);
    stage.session(SessionEvent::PermissionAsked(PermissionQuestion {
        question: 3,
        tool: "bash".into(),
        subject: "rm -rf target && cargo build --release".into(),
        diff: None,
        note: Some("deletes files".into()),
        rule: "`cargo build*`".into(),
    }));
    insta::assert_snapshot!(stage.draw(80, 20));
    stage.write("y");
    assert_eq!(
        stage.sent,
        [SessionCommand::Permission {
            question: 3,
            answer: crate::agent_session::command::PermissionAnswer::Once
        }]
    );
}

#[test]
fn a3_whoever_is_typing_does_not_answer_by_accident() {
    let mut stage = Stage::open();
    stage.activity(ActivityKind::RunningTools);
    stage.write("ma");
    stage.later(100);
    stage.session(SessionEvent::PermissionAsked(PermissionQuestion {
        question: 3,
        tool: "bash".into(),
        subject: "ls".into(),
        diff: None,
        note: None,
        rule: "`ls*`".into(),
    }));
    stage.write("y");
    assert_eq!((stage.app.editor.text().as_str(), stage.sent.len()), ("may", 0));
    stage.later(1_000);
    stage.write("y");
    assert_eq!(stage.sent.len(), 1);
}

#[test]
fn f89_messages_that_wait_are_seen_and_two_keys_tell_them_apart() {
    let mut stage = Stage::worked();
    stage.activity(ActivityKind::Answering);
    stage.write("first do this");
    stage.key(KeyCode::Enter);
    stage.write("then that");
    stage.press(KeyCode::Enter, KeyModifiers::ALT);
    let delivered: Vec<Delivery> = stage
        .sent
        .iter()
        .map(|command| match command {
            SessionCommand::Prompt { delivery, .. } => *delivery,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(delivered, [Delivery::Steer, Delivery::FollowUp]);
    stage.session(SessionEvent::Queue {
        steering: vec!["first do this".into()],
        follow_up: vec!["then that".into()],
    });
    let screen = stage.draw(80, 16);
    assert!(screen.contains("↳ next: first do this · alt+up edits"), "{screen}");
    assert!(screen.contains("↳ after the turn: then that"), "{screen}");
    stage.write("draft");
    stage.session(SessionEvent::QueueReturned { text: "first do this".into() });
    assert_eq!(stage.app.editor.text(), "first do this\n\ndraft");
}

#[test]
fn u3_escape_stops_what_runs_and_twice_opens_the_tree_only_when_idle() {
    let mut stage = Stage::worked();
    stage.activity(ActivityKind::Answering);
    stage.write("typed");
    stage.key(KeyCode::Esc);
    assert_eq!(stage.sent, [SessionCommand::Abort]);
    assert_eq!(stage.app.editor.text(), "typed", "what was typed stays");
    stage.activity(ActivityKind::Idle);
    stage.key(KeyCode::Esc);
    assert_eq!(stage.sent.len(), 1, "an idle escape sends nothing");
}

#[test]
fn u3_ctrl_c_clears_then_quits() {
    let mut stage = Stage::open();
    stage.write("text");
    stage.ctrl('c');
    assert!(stage.app.editor.is_empty());
    stage.later(5_000);
    stage.ctrl('c');
    assert!(stage.draw(80, 12).contains("ctrl+c again to quit"));
    stage.ctrl('c');
    assert_eq!(stage.sent, [SessionCommand::Quit]);
    let mut stage = Stage::open();
    stage.ctrl('d');
    assert_eq!(stage.sent, [SessionCommand::Quit]);
}

#[test]
fn u4_an_unknown_command_is_not_sent_and_not_lost() {
    let mut stage = Stage::open();
    stage.write("/comapct now");
    stage.key(KeyCode::Enter);
    assert!(stage.sent.is_empty());
    assert_eq!(stage.app.editor.text(), "/comapct now");
    assert!(stage.draw(80, 20).contains("did you mean /compact?"));
}

#[test]
fn u2_the_command_menu_completes_and_runs() {
    let mut stage = Stage::open();
    stage.write("/co");
    insta::assert_snapshot!(stage.draw(70, 18));
    stage.key(KeyCode::Enter);
    assert_eq!(stage.sent, [SessionCommand::Compact { instructions: None }]);
    assert!(stage.app.editor.is_empty());
    stage.write("/nam");
    stage.key(KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "/name ");
}

#[test]
fn u2_files_are_offered_after_an_at_sign() {
    let mut stage = Stage::open();
    stage.write("see @va");
    let asked =
        |query: &str| UiEffect::FindFiles { cwd: "/home/me/src/shop".into(), query: query.into() };
    assert_eq!(stage.other.last(), Some(&asked("va")));
    let files = vec!["src/auth/validate.rs".to_owned(), "vars.rs".to_owned()];
    stage.event(UiEvent::Files { query: "v".into(), files: vec!["late".into()] });
    assert!(stage.app.menu.is_none(), "an answer to an older question is dropped");
    stage.event(UiEvent::Files { query: "va".into(), files });
    assert!(stage.draw(60, 14).contains("› @src/auth/validate.rs"));
    stage.key(KeyCode::Enter);
    assert_eq!(stage.app.editor.text(), "see @src/auth/validate.rs ");
    assert!(stage.prompts().is_empty());
}

#[test]
fn u2_exclamation_marks_run_commands() {
    let mut stage = Stage::open();
    stage.write("!git status");
    assert!(stage.draw(80, 14).contains("the model sees the output"));
    stage.key(KeyCode::Enter);
    stage.write("!!ls");
    stage.key(KeyCode::Enter);
    let shell =
        |command: &str, excluded| SessionCommand::Shell { command: command.into(), excluded };
    assert_eq!(stage.sent, [shell("git status", false), shell("ls", true)]);
}

#[test]
fn u3_a_backslash_before_enter_is_a_new_line() {
    let mut stage = Stage::open();
    stage.write("one\\");
    stage.key(KeyCode::Enter);
    stage.write("two");
    stage.press(KeyCode::Enter, KeyModifiers::SHIFT);
    stage.write("three");
    stage.key(KeyCode::Enter);
    assert_eq!(stage.prompts(), ["one\ntwo\nthree"]);
}

#[test]
fn f83_the_caret_stands_after_korean_text_while_text_streams() {
    let mut stage = Stage::open();
    stage.activity(ActivityKind::Answering);
    stage.write("한글");
    for _ in 0..5 {
        stage.stream("more text that streams\n\n");
        assert!(stage.draw(60, 20).contains("> 한글█"));
    }
}

#[test]
fn f88_idle_moves_nothing_and_work_ten_times_a_second() {
    let mut stage = Stage::open();
    assert_eq!(stage.app.next_tick(stage.now), None);
    stage.activity(ActivityKind::Answering);
    assert_eq!(stage.app.next_tick(stage.now), Some(Duration::from_millis(100)));
    stage.activity(ActivityKind::Idle);
    assert_eq!(stage.app.next_tick(stage.now), None);
}

/// F88, section 13: only the end of a long session is read, more when one scrolls there, and the
/// view does not jump.
#[test]
fn u1_a_long_session_is_read_from_its_end() {
    let mut stage = Stage::new();
    for number in 0..2_000 {
        stage.store(EntryBody::Message { message: user(&format!("request {number}")) });
    }
    stage.opened();
    let screen = stage.draw(60, 20);
    assert!(screen.contains("request 1999") && stage.loads < 120, "{} were read", stage.loads);
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        stage.key(KeyCode::PageUp);
        let screen = stage.draw(60, 20);
        seen.extend(
            screen.lines().filter_map(|line| line.strip_prefix("▌ request ")?.parse::<u32>().ok()),
        );
    }
    let (first, last) = (*seen.first().unwrap(), *seen.last().unwrap());
    assert!(first < 1_700, "scrolled only to {first}");
    assert_eq!(seen.len() as u32, last - first + 1, "nothing was skipped");
}

#[test]
fn u1_scrolled_up_nothing_jumps_and_new_lines_are_counted() {
    let mut stage = Stage::open();
    for number in 0..40 {
        stage.user(&format!("request {number}"));
    }
    stage.draw(60, 20);
    stage.key(KeyCode::PageUp);
    let before = stage.draw(60, 20);
    assert!(before.contains("↓ more below"), "{before}");
    stage.user("another");
    stage.activity(ActivityKind::Answering);
    stage.stream("text\n\nmore");
    let after = stage.draw(60, 20);
    let transcript = |screen: &str| screen.lines().take(16).collect::<Vec<_>>().join("\n");
    assert_eq!(transcript(&before), transcript(&after));
    assert!(after.contains("↓ 6 new lines"), "{after}");
    stage.press(KeyCode::End, KeyModifiers::CONTROL);
    assert!(stage.draw(60, 20).contains("  more"));
}

#[test]
fn b5_after_a_move_the_path_is_shown_and_the_text_comes_back() {
    let mut stage = Stage::worked();
    stage.draw(80, 30);
    {
        let mut tree = stage.tree.write().unwrap();
        let first = tree.find(&"00000001".into());
        tree.set_leaf(first);
    }
    stage.session(SessionEvent::Moved {
        leaf: Some("00000001".into()),
        editor: Some("retry".into()),
    });
    let screen = stage.draw(80, 12);
    assert!(!screen.contains("validator first"), "{screen}");
    assert!(screen.contains("▌ Make the login form") && screen.contains("> retry█"), "{screen}");
}

#[test]
fn u1_the_streamed_answer_becomes_its_entry_in_place() {
    let mut stage = Stage::open();
    stage.user("hi");
    stage.activity(ActivityKind::Answering);
    stage.session(SessionEvent::Stream { delta: StreamDelta::Start });
    stage.stream("Hello there");
    let streaming = stage.draw(60, 14);
    stage.answer(vec![Block::text("Hello there")]);
    assert_eq!(streaming, stage.draw(60, 14));
    stage.activity(ActivityKind::Idle);
    assert_eq!(stage.draw(60, 14).matches("Hello there").count(), 1);
}

#[test]
fn f85_hostile_tool_output_leaves_no_residue() {
    let mut stage = Stage::open();
    stage.answer(vec![call("c", "bash", json!({"command": "x\u{1b}[2J"}))]);
    let nasty = "\u{1b}[0;32mok\u{1b}[0m \u{0}\u{7}\t|\u{1b}]0;t\u{7}👨\u{200d}👩\u{200d}👧|\u{202e}x\r\n50%\r100%";
    stage.result("c", nasty, json!({"summary": "done\u{1b}[31m"}), false);
    let screen = stage.draw(60, 14);
    assert!(screen.contains("ok "), "{screen}");
    assert!(screen.contains("100%") && !screen.contains("50%\n"), "{screen}");
    assert!(!screen.contains("[0;32m") && !screen.contains("[31m") && !screen.contains('\u{1b}'));
}

#[test]
fn u7_without_colour_everything_is_told_apart_by_signs() {
    let mut stage = Stage::with_theme(Theme::named("dark", ColorDepth::None).unwrap());
    stage.opened();
    stage.user("question");
    stage.answer(vec![
        Block::text("answer with `code`"),
        call("c", "bash", json!({"command": "ls"})),
    ]);
    stage.result("c", "no", json!({"summary": "exit 2"}), true);
    stage.session(SessionEvent::Notice { level: NoticeLevel::Warning, text: "careful".into() });
    let screen = stage.draw(60, 20);
    for sign in ["▌ question", "  answer with `code`", "  ✗ bash   ls", "  ! careful"] {
        assert!(screen.contains(sign), "{sign} in\n{screen}");
    }
}
