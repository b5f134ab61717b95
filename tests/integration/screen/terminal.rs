//! U7: what the terminal around the screen is told and asked, and that all of it is undone.

use rustix::process::{Signal, kill_process};

use crate::support::pty::{Home, Pty};

/// A start on a terminal that knows everything.
fn start(home: &Home, arguments: &[&str]) -> Pty {
    let mut command = home.command(arguments);
    command.env("TERM_PROGRAM", "ghostty");
    command.env("COLORTERM", "truecolor");
    let pty = Pty::start(command, 80, 24);
    pty.until_shows("/help");
    pty
}

#[test]
fn u7_title_and_progress_follow_what_runs_and_go_at_the_end() {
    let home = Home::new();
    let mut pty = start(&home, &["--permission", "full"]);
    pty.until_written("\u{1b}[22;2t");
    pty.until_written("\u{1b}]2;shop · regrow\u{1b}\\");
    pty.send("run sleep 30\r");
    pty.until_written("\u{1b}]2;* shop · regrow\u{1b}\\");
    pty.until_written("\u{1b}]9;4;3;0\u{1b}\\");
    kill_process(pty.pid(), Signal::TERM).unwrap();
    pty.wait();
    pty.assert_clean();
    assert!(pty.has_written("\u{1b}[23;2t") && pty.has_written("\u{1b}]9;4;0;0\u{1b}\\"));
}

#[test]
fn u7_links_can_be_opened_and_lying_ones_cannot() {
    let home = Home::new();
    home.put("a.md", "x");
    let mut pty = start(&home, &[]);
    // What the person says is plain; the answer is Markdown.
    let session = home.project().join("links.jsonl");
    let text = "[docs](https://x.io/docs) and [bad](javascript:alert(1)) and https://y.io/z_z.";
    let lines = [
        serde_json::json!({"type": "session", "version": 3, "id": "l",
            "timestamp": "2026-01-14T15:00:37.013Z", "cwd": home.project()}),
        serde_json::json!({"type": "message", "id": "0000000a", "parentId": null,
            "timestamp": "2026-01-14T15:00:37.013Z",
            "message": {"role": "assistant", "content": [{"type": "text", "text": text}],
                "api": "x", "provider": "x", "model": "x", "usage": {}, "stopReason": "stop"}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&session, text).unwrap();
    pty.send(format!("/import {}\r", session.display()));
    pty.until_shows("docs (https://x.io/docs)");
    pty.until_written("\u{1b}]8;;https://x.io/docs\u{1b}\\");
    pty.until_written("\u{1b}]8;;https://y.io/z_z\u{1b}\\");
    assert!(!pty.has_written("]8;;javascript"));
    pty.send("/quit\r");
    pty.wait();
    pty.assert_clean();
}

#[test]
fn u7_a_light_terminal_gets_the_light_theme_and_its_answer_is_not_typed() {
    let home = Home::new();
    let mut pty = start(&home, &[]);
    pty.until_written("\u{1b}]11;?\u{1b}\\");
    let colour = |screen: &vt100::Screen| screen.cell(22, 0).map(vt100::Cell::fgcolor);
    let before = std::cell::Cell::new(None);
    pty.until("the prompt", |screen| {
        before.set(colour(screen));
        before.get().is_some_and(|colour| colour != vt100::Color::Default)
    });
    pty.send("a\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\b");
    pty.until("other colours", |screen| colour(screen) != before.get());
    pty.until_shows("> ab");
    assert!(!pty.screen().contains("rgb"), "{}", pty.screen());
}

#[test]
fn u7_the_persons_theme_is_worn_as_soon_as_it_changes() {
    let home = Home::new();
    let theme = include_str!("../../../assets/themes/dark.toml");
    home.put("../config/regrow/themes/mine.toml", theme);
    home.put("../config/regrow/settings.json", "{\"theme\": \"mine\"}");
    let mut pty = start(&home, &[]);
    let colour = |screen: &vt100::Screen| screen.cell(22, 0).map(vt100::Cell::fgcolor);
    pty.send("x");
    pty.until_shows("> x");
    let accent = theme.lines().find(|line| line.starts_with("accent")).unwrap();
    let start = accent.find('#').unwrap();
    let changed = theme.replace(&accent[start..start + 7], "#123456");
    home.put("../config/regrow/themes/mine.toml", &changed);
    // The file is looked at when somebody types, once a second at most.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    pty.send("y");
    pty.until("the new accent", |screen| {
        colour(screen) == Some(vt100::Color::Rgb(0x12, 0x34, 0x56))
    });
}

#[test]
fn u7_the_end_of_a_question_reaches_a_person_who_looks_elsewhere() {
    let home = Home::new();
    home.put("../config/regrow/settings.json", "{\"terminal\": {\"notify\": \"desktop\"}}");
    let mut pty = start(&home, &[]);
    pty.send("\u{1b}[Orun touch x\r");
    pty.until_written("\u{1b}]9;bash waits for your answer · shop\u{1b}\\");
    pty.until_written("\u{1b}]2;? shop · regrow\u{1b}\\");
}

/// SCREEN: where one is, at a glance: the branch with its changes, and that there are other ways.
#[test]
fn u1_the_footer_marks_changes_and_the_greeting_names_branches() {
    let home = Home::new();
    let git = std::process::Command::new("git")
        .args(["init", "-q", "-b", "trunk"])
        .current_dir(home.project())
        .status();
    let mut pty = Pty::start(home.command(&["--tour"]), 160, 40);
    pty.until_shows("ctx");
    if git.is_ok_and(|status| status.success()) {
        // The README was never committed.
        pty.until_shows("shop trunk*");
    }
    pty.send("\u{1b}[1;5H");
    pty.until_shows("/help   /tree 3 branches");
    pty.send("/quit\r");
    assert_eq!(pty.wait(), 0);
}
