//! The screen in a real pseudo-terminal (SPEC section 10, F83–F88, F99): keys in, screen out.

use portable_pty::CommandBuilder;
use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::support::pty::{Home, Pty, program};
use crate::support::server::{Gate, ModelServer, Reply, Rules};

fn open(home: &Home, columns: u16, rows: u16) -> Pty {
    let pty = Pty::start(home.command(&[]), columns, rows);
    pty.until_shows("/help");
    pty
}

/// Says something and waits for the end of the answer.
fn say(pty: &mut Pty, text: &str, answer: &str) -> String {
    pty.send(format!("{text}\r"));
    pty.until_shows(answer);
    pty.until_gone("esc to stop")
}

#[test]
fn u1_one_types_and_is_answered() {
    let home = Home::new();
    let mut pty = open(&home, 100, 30);
    let screen = say(&mut pty, "read README.md", "✓ read   README.md");
    assert!(screen.contains("▌ read README.md"), "{screen}");
    pty.send("/quit\r");
    assert_eq!(pty.wait(), 0);
    pty.assert_clean();
    assert_eq!(home.sessions().len(), 1);
}

/// A3: nothing runs before the answer, and each answer does what it says.
#[test]
fn a3_a_command_waits_for_permission() {
    let home = Home::new();
    let mut pty = open(&home, 100, 30);
    pty.send("run touch made.txt\r");
    pty.until_shows("bash wants to run");
    assert!(!home.project().join("made.txt").exists());
    pty.send("y");
    pty.until_shows("✓ bash   touch made.txt");
    assert!(home.project().join("made.txt").exists());
    pty.until_gone("esc to stop");
    pty.send("run touch other.txt\r");
    pty.until_shows("bash wants to run");
    pty.send("n");
    pty.until_shows("✗ bash   touch other.txt");
    assert!(!home.project().join("other.txt").exists());
}

/// F99: the screen is right after each change of size, wide characters included.
#[test]
fn f99_the_window_changes_its_size() {
    let home = Home::new();
    home.put("메모.md", "한국어로 쓴 메모\n");
    let mut pty = open(&home, 120, 30);
    say(&mut pty, "read 메모.md", "✓ read   메모.md");
    pty.send("다음 질문을 쓰는 중");
    for (columns, rows) in [(60u16, 20u16), (160, 40), (40, 10), (120, 30)] {
        pty.resize(columns, rows);
        pty.until(&format!("{columns}×{rows}"), |screen| {
            let last = screen.contents().lines().nth(usize::from(rows) - 1).map(str::to_owned);
            let (row, column) = screen.cursor_position();
            last.is_some_and(|last| last.contains("offline"))
                && screen.contents().contains("다음 질문을 쓰는 중")
                && (row, column) == (rows - 2, 2 + 19)
        });
    }
}

#[test]
fn f99_a_window_too_small_says_so_and_comes_back() {
    let home = Home::new();
    let mut pty = open(&home, 80, 24);
    pty.send("kept");
    pty.resize(20, 5);
    pty.until_shows("too small");
    pty.resize(80, 24);
    pty.until_shows("> kept");
}

/// F83: an input method composes at the real cursor, so it must stand behind the text, also while
/// text streams.
#[test]
fn f83_the_caret_stands_behind_korean_text() {
    let home = Home::new();
    let mut pty = open(&home, 80, 24);
    pty.send("안녕하세요");
    pty.until("the caret", |screen| screen.cursor_position() == (22, 12));
    pty.send("\u{1b}[D\u{1b}[D");
    pty.until("the caret", |screen| screen.cursor_position() == (22, 8));
    pty.send("\u{7f}");
    pty.until_shows("> 안녕세요");
    pty.until("the caret", |screen| screen.cursor_position() == (22, 6));
}

/// F84, F85: hostile text in a session, seen by a real terminal: no residue, no broken rows, and
/// nothing of it left when it is folded again.
#[test]
fn f84_nasty_text_leaves_no_residue() {
    let nasty = "\u{1b}[31mred\u{1b}[0m\t|\u{1b}]0;owned\u{7}|👨\u{200d}👩\u{200d}👧|❤\u{fe0f}|👍🏽|🇰🇷|\
                 e\u{301}|\u{202e}rtl|\u{9b}32mc1|a\u{200b}b|\u{0}nul|각|\u{1b}[2J\u{1b}[H|end\r\n";
    let output = format!("{nasty}{}", "가".repeat(10_000));
    let home = Home::new();
    let file = home.project().join("nasty.jsonl");
    let entry = |id: &str, parent: serde_json::Value, message: serde_json::Value| {
        json!({"type": "message", "id": id, "parentId": parent,
               "timestamp": "2026-01-14T15:00:37.013Z", "message": message})
    };
    let lines = [
        json!({"type": "session", "version": 3, "id": "nasty", "timestamp": "2026-01-14T15:00:37.013Z",
               "cwd": home.project()}),
        entry("0000000a", json!(null), json!({"role": "user", "content": nasty, "timestamp": 1})),
        entry(
            "0000000b",
            json!("0000000a"),
            json!({"role": "assistant", "timestamp": 2,
            "content": [{"type": "text", "text": nasty},
                        {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": nasty}}],
            "api": "x", "provider": "x", "model": "x", "usage": {}, "stopReason": "toolUse"}),
        ),
        entry(
            "0000000c",
            json!("0000000b"),
            json!({"role": "toolResult", "toolCallId": "c",
            "toolName": "bash", "content": [{"type": "text", "text": output}],
            "details": {"summary": nasty}, "isError": false, "timestamp": 3}),
        ),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).unwrap();
    let mut pty = Pty::start(home.command(&["--session", file.to_str().unwrap()]), 80, 40);
    let screen = pty.until_shows("✓ bash");
    // The right edge of the box that no one draws: every piece is where its width puts it.
    assert!(screen.contains("red ||👨👩👧|❤|👍|🇰🇷|e\u{301}|rtl|c1|ab|nul|각||end"), "{screen}");
    for residue in ["[31m", "owned", "32m", "\u{200d}", "[2J"] {
        assert!(!screen.contains(residue), "{residue} in\n{screen}");
    }
    pty.send("\u{f}");
    pty.until("everything", |screen| screen.contents().matches('가').count() > 500);
    pty.send("\u{f}");
    pty.until("little", |screen| screen.contents().matches('가').count() < 200);
}

#[test]
fn f86_a_big_paste_folds_and_is_sent_whole() {
    let home = Home::new();
    let mut pty = open(&home, 100, 30);
    let lines: String = (1..=132).map(|number| format!("line {number} 한\n")).collect();
    pty.send(format!("\u{1b}[200~{lines}\u{1b}[201~"));
    pty.until_shows("[pasted 132 lines]");
    pty.send("\r");
    pty.until_shows("more lines · ctrl+o");
    pty.until_gone("esc to stop");
    let session = std::fs::read_to_string(&home.sessions()[0]).unwrap();
    assert!(session.contains("line 1 한\\nline 2 한") && session.contains("line 132 한"));
}

/// I7, U3: escape stops a command at once, and what was typed stays.
#[test]
fn i7_escape_stops_what_runs() {
    let home = Home::new();
    let mut pty = Pty::start(home.command(&["--permission", "full"]), 100, 30);
    pty.until_shows("/help");
    pty.send("run sleep 30\r");
    pty.until_shows("running bash");
    pty.send("typed meanwhile");
    pty.until_shows("> typed meanwhile");
    let pressed = std::time::Instant::now();
    pty.send("\u{1b}");
    pty.until_gone("esc to stop");
    assert!(pressed.elapsed() < std::time::Duration::from_secs(5), "{:?}", pressed.elapsed());
    let screen = pty.until_shows("stopped");
    assert!(screen.contains("> typed meanwhile"), "{screen}");
}

#[test]
fn u4_an_unknown_command_names_the_nearest() {
    let home = Home::new();
    let mut pty = open(&home, 100, 30);
    pty.send("/comapct\r");
    let screen = pty.until_shows("did you mean /compact?");
    assert!(screen.contains("> /comapct"), "{screen}");
    assert!(home.sessions().is_empty(), "J10: nothing was said, nothing is written");
}

/// U7, F87: the terminal is as before, however the program ends.
#[test]
fn f87_the_terminal_is_restored_on_every_way_out() {
    let home = Home::new();
    for (keys, code) in [("/quit\r", 0), ("\u{4}", 0), ("\u{3}\u{3}", 0)] {
        let mut pty = open(&home, 80, 24);
        pty.send(keys);
        assert_eq!(pty.wait(), code, "{keys:?}");
        pty.assert_clean();
    }
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut pty = open(&home, 80, 24);
        kill_process(pty.pid(), signal).unwrap();
        assert_eq!(pty.wait(), 130, "{signal:?}");
        pty.assert_clean();
    }
}

/// F87: panic text is readable, after the terminal was put back.
#[test]
fn f87_a_panic_restores_the_terminal_before_it_speaks() {
    let home = Home::new();
    let mut command = portable_pty::CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tui::panics_on_the_screen", "--ignored", "--nocapture"]);
    home.settle(&mut command);
    let mut pty = Pty::start(command, 80, 24);
    pty.wait();
    pty.assert_clean();
    pty.until_shows("the words of the panic");
}

/// Runs in a pseudo-terminal for the test above.
#[test]
#[ignore = "panics; another test runs it in a terminal of its own"]
fn panics_on_the_screen() {
    let mut screen =
        regrow::tui::terminal::Screen::enter(true, Default::default(), Default::default()).unwrap();
    screen.draw(|frame| frame.render_widget("drawn", frame.area())).unwrap();
    panic!("the words of the panic");
}

/// U7: Ctrl+Z gives the terminal back, `fg` takes it again.
#[test]
fn u7_ctrl_z_suspends_and_fg_resumes() {
    let Some(bash) = program("bash") else {
        return println!("skipped: there is no bash here");
    };
    let home = Home::new();
    let mut command = portable_pty::CommandBuilder::new(bash);
    command.args(["--norc", "--noprofile", "-i"]);
    home.settle(&mut command);
    command.env("PS1", "shell> ");
    let mut pty = Pty::start(command, 100, 30);
    pty.until_shows("shell>");
    let binary = env!("CARGO_BIN_EXE_regrow");
    pty.send(format!("{binary} --provider offline --model offline\r"));
    pty.until("the screen", |screen| {
        screen.alternate_screen() && screen.contents().contains("/help")
    });
    pty.send("typed before");
    pty.until_shows("> typed before");
    pty.send("\u{1a}");
    pty.until("the shell", |screen| !screen.alternate_screen());
    pty.until_shows("Stopped");
    pty.send("fg\r");
    pty.until("the screen", |screen| {
        screen.alternate_screen() && screen.contents().contains("> typed before")
    });
    pty.send("\u{3}\u{4}");
    pty.until("the shell", |screen| !screen.alternate_screen());
}

/// F88: an idle screen writes nothing.
#[test]
fn f88_idle_writes_no_bytes() {
    let home = Home::new();
    let mut pty = open(&home, 80, 24);
    say(&mut pty, "read README.md", "✓ read   README.md");
    // What is still on its way (the git branch) gets a moment; then there must be silence.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let before = pty.written();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert_eq!(pty.written(), before);
}

#[test]
fn u2_the_external_editor_gives_its_text_back() {
    let home = Home::new();
    home.put("edit.sh", "printf ' and more' >> \"$1\"\n");
    let mut command = home.command(&[]);
    command.env("EDITOR", format!("sh {}", home.project().join("edit.sh").display()));
    let mut pty = Pty::start(command, 80, 24);
    pty.until_shows("/help");
    pty.send("some text");
    pty.until_shows("> some text");
    pty.send("\u{7}");
    pty.until_shows("> some text and more");
    pty.send("!");
    pty.until_shows("> some text and more!");
}

#[test]
fn u2_files_are_picked_after_an_at_sign() {
    let home = Home::new();
    home.put("src/auth/validate.rs", "");
    home.put(".gitignore", "target\n");
    home.put("target/validate.o", "");
    let mut pty = open(&home, 80, 24);
    pty.send("look at @valid");
    let screen = pty.until_shows("@src/auth/validate.rs");
    assert!(!screen.contains("validate.o"), "{screen}");
    pty.send("\t");
    pty.until_shows("> look at @src/auth/validate.rs");
}

#[test]
fn u2_the_persons_own_command_is_shown_and_shared() {
    let home = Home::new();
    let mut pty = open(&home, 80, 24);
    pty.send("!echo one; echo two\r");
    let screen = pty.until_shows("      two");
    assert!(screen.contains("! echo one; echo two"), "{screen}");
    pty.until_gone("esc to stop");
}

/// U7: without colour and with sixteen, the same words.
#[test]
fn u7_no_color_writes_no_colour() {
    let home = Home::new();
    let mut command = home.command(&[]);
    command.env("NO_COLOR", "1");
    let mut pty = Pty::start(command, 80, 24);
    pty.until_shows("/help");
    say(&mut pty, "read README.md", "✓ read   README.md");
    pty.until("no colour", |screen| {
        (0..24).all(|row| {
            (0..80).all(|column| {
                screen.cell(row, column).is_none_or(|cell| {
                    cell.fgcolor() == vt100::Color::Default
                        && cell.bgcolor() == vt100::Color::Default
                })
            })
        })
    });
}

/// The tour, on a screen of this size.
fn tour(home: &Home, columns: u16, rows: u16) -> Pty {
    let pty = Pty::start(home.command(&["--tour"]), columns, rows);
    pty.until_shows("ctx");
    pty
}

#[test]
fn u5_the_tree_opens_and_closes_at_every_size() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let home = Home::new();
        let mut pty = tour(&home, columns, rows);
        pty.send("/tree\r");
        let screen = pty.until_shows("← active");
        assert!(screen.contains("Macro attempt"), "{columns}×{rows}\n{screen}");
        assert!(screen.contains("3 branches"), "{columns}×{rows}\n{screen}");
        pty.send("\u{1b}");
        pty.until_gone("← active");
        pty.send("/quit\r");
        assert_eq!(pty.wait(), 0);
    }
}

#[test]
fn u5_the_tree_is_usable_on_a_small_screen() {
    let home = Home::new();
    let mut pty = Pty::start(home.command(&["--tour"]), 40, 12);
    pty.until_shows("offline");
    pty.send("/tree\r");
    pty.until_shows("← active");
    pty.send("\u{1b}");
    pty.until_gone("← active");
    pty.send("/quit\r");
    assert_eq!(pty.wait(), 0);
}

#[test]
fn c24_a_compaction_is_stopped_by_escape_and_made_the_next_time() {
    let home = Home::new();
    let mut pty = tour(&home, 100, 30);
    let before = std::fs::read(home.sessions().pop().unwrap()).unwrap();
    pty.send("/compact\r");
    pty.until_shows("esc to cancel");
    pty.send("\u{1b}");
    pty.until_shows("nothing has changed");
    assert_eq!(std::fs::read(home.sessions().pop().unwrap()).unwrap(), before);
    pty.send("/compact\r");
    pty.until_shows("compacted without a model");
    let screen = say(&mut pty, "read README.md", "says");
    assert!(screen.contains("── compacted"), "{screen}");
    pty.send("/quit\r");
    assert_eq!(pty.wait(), 0);
}

#[test]
fn b5_a_branch_is_left_with_a_summary_and_its_question_comes_back_to_the_editor() {
    let home = Home::new();
    let mut pty = tour(&home, 100, 30);
    say(&mut pty, "read README.md", "says");
    pty.send("/tree\r");
    pty.until_shows("← active");
    // To what was just asked: a message of one's own is taken back to be written anew (B6).
    pty.send("\u{1b}[A\u{1b}[A\u{1b}[A");
    pty.until_shows("behind");
    pty.send("\r");
    pty.until_shows("summarise them first");
    pty.send("2");
    pty.until_shows("branch left");
    pty.until_shows("> read README.md");
    pty.send("\u{3}/quit\r");
    assert_eq!(pty.wait(), 0);
}

/// U2: a file that is dropped on the terminal goes along as an image, and comes back with its prompt.
#[tokio::test(flavor = "multi_thread")]
async fn u2_a_dropped_image_is_sent_and_comes_back_with_its_prompt() {
    let server = ModelServer::start(Rules::default()).await;
    let home = Home::new();
    let models = json!({"providers": {"test": {
        "baseUrl": server.v1(), "api": "openai-completions", "apiKey": "sk-test",
        "models": [{"id": "m", "contextWindow": 32_768, "maxTokens": 1_000, "images": true}]}}});
    home.configure("models.json", &models.to_string());
    let png = home.project().join("그림 1.png");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/export-tour.png"), &png).unwrap();
    let gate = Gate::default();
    server.push(Reply::default().text("I look").hold(&gate).finish("stop"));
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_regrow"));
    command.args(["--provider", "test", "--model", "m"]);
    home.settle(&mut command);
    let mut pty = Pty::start(command, 100, 30);
    pty.until_shows("/help");
    let dropped = format!("\x1b[200~'{}'\x1b[201~", png.display());
    pty.send(&dropped);
    pty.until_shows("[image 그림 1.png]");
    pty.send("what is this?\r");
    pty.until_shows("I look");
    let content = server.last()["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(content[0]["text"], "[image 그림 1.png] what is this?");
    let url = content[1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBOR"), "{}", &url[..40]);

    // Queued, then stopped: text and image are in the editor again, and are sent.
    pty.send(&dropped);
    pty.until_shows("> [image 그림 1.png 2]");
    pty.send("\r");
    pty.until_shows("↳ next: [image 그림 1.png 2]");
    pty.send("\x1b");
    pty.until_shows("> [image 그림 1.png 2]");
    server.push(Reply::says("The second."));
    pty.send("\r");
    pty.until_shows("The second.");
    let content = server.last()["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let images = content.as_array().unwrap().iter().filter(|block| block["type"] == "image_url");
    assert_eq!(images.count(), 1, "{content}");
    pty.send("/quit\r");
    assert_eq!(pty.wait(), 0);
    assert!(server.rejections().is_empty(), "{:?}", server.rejections());
}

/// P3: a key that is typed on the screen is seen nowhere but in the file of keys.
#[test]
fn p3_login_on_the_screen_shows_and_remembers_no_key() {
    let home = Home::new();
    let mut pty = open(&home, 100, 30);
    pty.send("/login anthropic\r");
    pty.until_shows("Login · anthropic");
    pty.send("sk-ant-very-secret");
    pty.until_shows("key: ••••••••••••••••••");
    pty.send("\r");
    pty.until_shows("Model ·");
    pty.send("\x1b");
    pty.until_shows("the key of anthropic is stored");
    pty.send("/quit\r");
    assert_eq!(pty.wait(), 0);
    assert!(!pty.has_written("very-secret"));
    let keys = home.config("auth.json");
    assert!(std::fs::read_to_string(&keys).unwrap().contains("sk-ant-very-secret"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&keys.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let folder = home.project().parent().unwrap().to_owned();
    let mut grep = std::process::Command::new("grep");
    let found = grep.args(["-rl", "very-secret"]).arg(&folder).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    assert_eq!(found.trim(), keys.to_str().unwrap());
}
