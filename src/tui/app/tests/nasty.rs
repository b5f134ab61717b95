//! Text that breaks terminals, in every place that shows text of others (F84, F85): what is drawn is
//! compared with an emulator cell by cell.

use super::emulated::Emulated;
use super::storm::branch_summary;
use super::*;

/// Pieces of nasty text, and some that is harmless.
pub(super) const PIECES: &[&str] = &[
    "plain words ",
    "# heading\n\n- item **bold**\n- `code`\n\n",
    "```rust\nfn main() {}\n",
    "```\n",
    "| a | 가 |\n|---|---|\n| 👍 | b |\n\n",
    "한글 문장입니다 ",
    "漢字かな交じり文",
    "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}",
    "👨\u{200d}👩\u{200d}👧\u{200d}👦",
    "❤\u{fe0f}☂\u{fe0f}1\u{fe0f}\u{20e3}",
    "👍🏽👩🏾\u{200d}🚀",
    "🇰🇷🇩🇪🏴\u{e0067}\u{e0062}\u{e007f}",
    "e\u{301}a\u{308}\u{323}z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}",
    "\u{301}\u{20dd}",
    "\u{202e}rtl\u{202c} \u{2066}iso\u{2069} \u{200f}",
    "שלום عربى ไทยกำ हिन्दी क्षि",
    "tab\tbed\t|\t",
    "over\rwritten\r\n",
    "back\u{8}\u{8}\u{8}space",
    "\u{1b}[31mred\u{1b}[0m \u{1b}[2J\u{1b}[10;10H",
    "\u{1b}]0;title\u{7}\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{1b}]52;c;aGk=\u{7}\u{1b}P+q\u{1b}\\\u{1b}[?1049l\u{1b}c",
    "\u{1b}",
    "\u{1b}[",
    "\u{9b}31mc1\u{9d}0;t\u{9c}\u{84}\u{85}\u{90}q\u{9c}",
    "zero\u{200b}width\u{feff}\u{2060}\u{ad}",
    "\u{0}\u{1}\u{7}\u{b}\u{c}\u{7f}\u{e}\u{f}",
    "\\ud83d\\ude00 \\ud800",
    "para\u{2028}graph\u{2029}s\u{a0}nb\u{3000}wide",
    "ﷺ𒐫﷽꧅",
    "\u{fff9}a\u{fffa}b\u{fffb}\u{e000}\u{f8ff}",
    "\n\n\n",
    "https://example.org/a?b=c ",
    "①½…—“”·─│┃▰",
];

const SIZES: [(u16, u16); 3] = [(40, 10), (80, 24), (160, 50)];

fn corpus() -> String {
    let long = format!("{}{}", "x".repeat(5_000), "가".repeat(2_500));
    format!("{}\n{long}\n{}", PIECES.concat(), "👍".repeat(200))
}

/// All texts of a session are nasty.
fn nasty_session(text: &str) -> Stage {
    let mut stage = Stage::open();
    stage.user(text);
    stage.answer(vec![
        thinking(text),
        Block::text(text),
        call("c1", "bash", json!({ "command": text })),
        call("c2", "read", json!({ "path": text })),
        call("c3", text, json!({ "anything": text })),
    ]);
    stage.result("c1", text, json!({ "summary": text }), true);
    stage.result("c2", text, json!({ "summary": text, "diff": text }), false);
    stage.result("c3", text, json!({ "summary": text }), false);
    stage.append(EntryBody::BranchSummary(branch_summary(text)));
    stage.append(EntryBody::Label { target_id: "00000001".into(), label: Some(text.into()) });
    stage.append(EntryBody::SessionInfo { name: Some(text.into()) });
    stage.event(UiEvent::Branch(Some(text.into())));
    stage.session(SessionEvent::Notice { level: NoticeLevel::Error, text: text.into() });
    stage
}

fn scroll_through(stage: &mut Stage, screen: &mut Emulated) {
    for _ in 0..8 {
        stage.key(KeyCode::PageUp);
        screen.check(stage);
    }
    for lines in 0..4 {
        let code = if lines % 3 == 0 { KeyCode::Up } else { KeyCode::Down };
        stage.press(code, KeyModifiers::SHIFT);
        screen.check(stage);
    }
    stage.press(KeyCode::Home, KeyModifiers::CONTROL);
    screen.check(stage);
    stage.press(KeyCode::End, KeyModifiers::CONTROL);
    screen.check(stage);
}

#[test]
fn f84_nasty_text_in_the_transcript() {
    for size in SIZES {
        let mut stage = nasty_session(&corpus());
        let mut screen = Emulated::new(size.0, size.1);
        screen.check(&mut stage);
        scroll_through(&mut stage, &mut screen);
        stage.ctrl('o');
        stage.ctrl('t');
        screen.check(&mut stage);
        scroll_through(&mut stage, &mut screen);
    }
}

#[test]
fn f84_each_nasty_piece_alone_everywhere() {
    for piece in PIECES {
        for size in SIZES {
            let mut stage = nasty_session(piece);
            let mut screen = Emulated::new(size.0, size.1);
            screen.check(&mut stage);
            stage.press(KeyCode::Home, KeyModifiers::CONTROL);
            screen.check(&mut stage);
            stage.write("/tree");
            stage.key(KeyCode::Enter);
            screen.check(&mut stage);
            stage.key(KeyCode::Up);
            screen.check(&mut stage);
        }
    }
}

#[test]
fn f84_nasty_text_pasted_edited_and_sent() {
    for size in SIZES {
        let mut stage = Stage::open();
        let mut screen = Emulated::new(size.0, size.1);
        for piece in PIECES {
            stage.event(UiEvent::Paste((*piece).to_owned()));
            screen.check(&mut stage);
            stage.key(KeyCode::Left);
            stage.write("가");
            screen.check(&mut stage);
            stage.key(KeyCode::Backspace);
            stage.key(KeyCode::Up);
            stage.key(KeyCode::Backspace);
            screen.check(&mut stage);
            stage.press(KeyCode::End, KeyModifiers::NONE);
        }
        stage.event(UiEvent::Paste(corpus()));
        screen.check(&mut stage);
        stage.session(SessionEvent::Queue {
            steering: PIECES.iter().map(|piece| (*piece).to_owned()).collect(),
            follow_up: vec![corpus()],
        });
        screen.check(&mut stage);
        stage.key(KeyCode::Enter);
        screen.check(&mut stage);
    }
}

/// As a slow server sends it: a character at a time, so sequences and clusters are cut everywhere.
#[test]
fn f85_nasty_text_streamed_a_character_at_a_time() {
    for (size, stride) in [((40, 12), 7), ((80, 24), 5), ((160, 50), 11)] {
        let mut stage = Stage::open();
        let mut screen = Emulated::new(size.0, size.1);
        stage.user("go");
        stage.activity(ActivityKind::Answering);
        let text = PIECES.concat();
        for (number, character) in text.chars().enumerate() {
            stage.stream(character.encode_utf8(&mut [0; 4]));
            if number % stride == 0 {
                screen.check(&mut stage);
            }
        }
        screen.check(&mut stage);
        stage.answer(vec![Block::text(&text), call("c", "bash", json!({ "command": text }))]);
        let Block::ToolCall(call) = call("c", "bash", json!({ "command": text })) else { return };
        stage.session(SessionEvent::ToolStarted { call });
        for (number, character) in text.chars().enumerate() {
            let text = character.to_string();
            stage.session(SessionEvent::ToolProgress { call_id: "c".into(), text });
            if number % stride == 0 {
                screen.check(&mut stage);
            }
        }
        screen.check(&mut stage);
        assert!(!screen.contents().contains("31m"), "{}", screen.contents());
    }
}

/// Names in the lists: sessions, files, models, templates; the question for permission.
#[test]
fn f84_nasty_names_in_lists_and_questions() {
    for size in SIZES {
        let mut stage = Stage::open();
        let mut screen = Emulated::new(size.0, size.1);
        let corpus = corpus();
        let texts = || PIECES.iter().copied().chain([corpus.as_str()]);
        stage.write("@a");
        let files = texts().map(ToOwned::to_owned).collect();
        stage.event(UiEvent::Files { query: "a".into(), files });
        for _ in 0..=texts().count() / 2 {
            screen.check(&mut stage);
            stage.key(KeyCode::Down);
            stage.key(KeyCode::Down);
        }
        stage.key(KeyCode::Esc);
        stage.ctrl('u');
        let sessions = texts().map(super::storm::listed).collect();
        stage.event(UiEvent::Sessions { search: None, sessions });
        for _ in 0..=texts().count() / 2 {
            screen.check(&mut stage);
            stage.key(KeyCode::Down);
            stage.key(KeyCode::Down);
        }
        stage.key(KeyCode::Esc);
        let models = texts().map(|text| (Model { id: text.into(), ..model() }, true)).collect();
        stage.event(UiEvent::Models { wanted: None, models });
        for _ in 0..=texts().count() / 2 {
            screen.check(&mut stage);
            stage.key(KeyCode::Down);
            stage.key(KeyCode::Down);
        }
        stage.key(KeyCode::Esc);
        for text in texts() {
            stage.session(SessionEvent::PermissionAsked(PermissionQuestion {
                question: 1,
                tool: text.into(),
                subject: text.into(),
                marks: vec![(0, text.chars().next().unwrap().len_utf8())],
                diff: Some(format!("@@ -1 +1 @@\n-{text}\n+{text}")),
                note: Some(text.into()),
                rule: text.into(),
                editable: true,
            }));
            screen.check(&mut stage);
            stage.session(SessionEvent::PermissionSettled { question: 1 });
            screen.check(&mut stage);
        }
    }
}
