//! `--plain`: the conversation line by line, through pipes and in a real terminal (issue of people with
//! screen readers and simple terminals; U2, U3, U4, U7, A3).

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::pty::{Home, Pty};

/// Lines in, lines out.
fn piped(home: &Home, input: &str) -> (Vec<String>, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
    command.arg("--plain").current_dir(home.project()).env_clear();
    let folder = home.project().parent().unwrap().to_owned();
    command.env("HOME", &folder).env("XDG_DATA_HOME", folder.join("data"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(!output.stdout.contains(&0x1b), "an escape sequence was written");
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().map(ToOwned::to_owned).collect(), output.status.code().unwrap())
}

#[track_caller]
fn in_order(lines: &[String], wanted: &[&str]) {
    let mut rest = lines.iter();
    for line in wanted {
        assert!(rest.any(|said| said.contains(line)), "`{line}` is missing or early: {lines:#?}");
    }
}

#[test]
fn u1_a_conversation_through_a_pipe_goes_line_by_line() {
    let home = Home::new();
    home.put("메모.md", "한국어 \x1b[31m\x1b]0;title\x07\n");
    let (lines, code) = piped(
        &home,
        "read 메모.md\n/tree\nrun touch made.txt\ny\nrun touch other.txt\nn not today\n\
         read 메모.md\\\nls .\n!echo hello\n/label 여기\n/find 한국\n/tre\n/session\n/quit\n",
    );
    in_order(
        &lines,
        &[
            "regrow: Reading `메모.md`.",
            "read 메모.md: 1 line",
            "done; context ",
            "you: read 메모.md",
            "/tree and an entry's id goes there",
            "bash wants to run: touch made.txt",
            "allow? y: once",
            "running: bash touch made.txt",
            "bash wants to run: touch other.txt",
            "bash touch other.txt: failed",
            "  The user said no to this call: not today",
            "regrow: Reading `메모.md`, listing `.`.",
            "  hello",
            "labelled 여기",
            "한국어",
            "error: there is no command /tre; did you mean /tree?",
            "on the path",
        ],
    );
    assert_eq!(code, 0);
    assert!(home.project().join("made.txt").exists() && !home.project().join("other.txt").exists());
}

#[test]
fn b1_one_goes_back_by_the_ids_that_the_tree_says() {
    let home = Home::new();
    let (lines, _) = piped(&home, "read README.md\nls .\n/tree\n");
    let first = lines.iter().find(|line| line.contains("you: read README.md")).unwrap();
    let id = first.split(' ').next().unwrap();
    let session = home.sessions()[0].clone();
    let before = std::fs::read_to_string(&session).unwrap();
    let (lines, _) = piped(
        &home,
        &format!("/import {}\n/tree {id}\nls .\n/tree\n/tree nosuch\n", session.display()),
    );
    in_order(
        &lines,
        &[
            "moved",
            "what stood here: read README.md",
            "ls .: 1 entry",
            "another branch: ls .",
            "error: ",
        ],
    );
    assert!(std::fs::read_to_string(&session).unwrap().starts_with(&before), "append-only");
}

#[test]
fn a3_at_the_end_of_the_input_nobody_says_yes() {
    let home = Home::new();
    let (lines, code) = piped(&home, "run touch made.txt\n");
    in_order(&lines, &["bash wants to run", "nobody is there to be asked"]);
    assert_eq!(code, 0);
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn u3_in_a_terminal_ctrl_c_stops_what_runs_and_then_leaves() {
    let home = Home::new();
    let mut command = home.command(&["--plain", "--permission", "full"]);
    command.env("TERM", "xterm-256color");
    let mut pty = Pty::start(command, 80, 30);
    pty.until_shows("/help lists the commands");
    pty.until("a prompt", |screen| screen.contents().lines().any(|line| line.trim() == ">"));
    pty.send("!touch begun; sleep 600\r");
    let began = Instant::now();
    while !home.project().join("begun").exists() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    pty.send("\x03");
    pty.until_shows("stopped");
    // Lines that come at once are a paste, and one text.
    pty.send("one\rtwo\r");
    pty.until("two ends", |screen| screen.contents().matches("done;").count() == 2);
    pty.send("\x03");
    pty.until_shows("ctrl+c again leaves");
    pty.send("\x03");
    assert_eq!(pty.wait(), 130);
    assert!(!pty.has_written("\x1b"), "an escape sequence was written");
}

#[test]
fn u7_a_terminal_that_can_do_nothing_gets_lines_and_ctrl_d_leaves() {
    let home = Home::new();
    let mut command = home.command(&[]);
    command.env("TERM", "dumb");
    let mut pty = Pty::start(command, 80, 30);
    pty.until_shows("/help lists the commands");
    pty.send("read README.md\r");
    pty.until_shows("read README.md: 3 lines");
    pty.until_shows("done;");
    pty.send("\x04");
    assert_eq!(pty.wait(), 0);
    assert!(!pty.has_written("\x1b"), "an escape sequence was written");
}

#[test]
fn a3_prompts_of_a_pipe_are_no_answers_and_are_not_lost() {
    let home = Home::new();
    let (lines, code) = piped(&home, "run touch made.txt\nread README.md\nls .\n");
    in_order(
        &lines,
        &["bash wants to run", "nobody is there", "read README.md: 3 lines", "ls .: 1 entry"],
    );
    assert_eq!(code, 0);
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn a3_a_paste_is_no_answer() {
    let home = Home::new();
    let mut pty = Pty::start(home.command(&["--plain"]), 80, 30);
    pty.until("a prompt", |screen| screen.contents().lines().any(|line| line.trim() == ">"));
    pty.send("run touch made.txt\r");
    pty.until_shows("allow? y");
    pty.send("some notes\ry\rmore\r");
    pty.until_shows("that is no answer");
    assert!(!home.project().join("made.txt").exists());
    pty.send("y\r");
    pty.until_shows("done;");
    assert!(home.project().join("made.txt").exists());
}

#[test]
fn section_12_a_session_is_chosen_from_a_list() {
    let home = Home::new();
    piped(&home, "read README.md\n");
    let mut pty = Pty::start(home.command(&["--plain", "--resume"]), 100, 30);
    pty.until_shows("/resume and the beginning of an id");
    let screen = pty.screen();
    let line = screen.lines().find(|line| line.contains(": read README.md")).unwrap();
    pty.send(format!("/resume {}\r", line.split(' ').next().unwrap()));
    pty.until_shows("entries on the path");
}
