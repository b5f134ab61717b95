//! A terminal that goes away in mid-turn, and one that changes its size without rest (I7, I8, I15;
//! F87, F99).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use super::scene::opens;
use crate::support::dice::{Dice, number};
use crate::support::pty::{Home, Pty};
use crate::support::server::{ModelServer, Reply, Rules};

/// Waits until no process has this command line.
fn gone(command: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let found = std::process::Command::new("pgrep").args(["-f", command]).output().unwrap();
        if found.stdout.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{command} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A session in which a command runs.
fn busy(home: &Home, seconds: &str) -> Pty {
    let mut pty = Pty::start(home.command(&["--permission", "full"]), 100, 30);
    pty.until_shows("/help");
    pty.send("read README.md\r");
    pty.until_shows("✓ read");
    pty.until_gone("esc to stop");
    pty.send(format!("run sh -c 'sleep {seconds} & sleep {seconds}'\r"));
    pty.until_shows("running bash");
    pty
}

fn check(session: &Path) {
    let text = std::fs::read_to_string(session).unwrap();
    assert!(text.ends_with('\n') && text.contains("sleep 84"), "{text}");
    for line in text.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    opens(session);
    let locks = std::fs::read_dir(session.parent().unwrap()).unwrap();
    let locks = locks.filter(|file| {
        file.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "lock")
    });
    assert_eq!(locks.count(), 0, "nobody holds the session");
}

#[test]
fn i8_f87_hung_up_in_mid_turn_the_file_is_whole_and_nothing_goes_on() {
    for (signal, seconds) in [(Signal::HUP, "8411"), (Signal::TERM, "8412")] {
        let home = Home::new();
        let mut pty = busy(&home, seconds);
        kill_process(pty.pid(), signal).unwrap();
        assert_eq!(pty.wait(), 130);
        pty.assert_clean();
        gone(&format!("^sleep {seconds}$"));
        check(&home.sessions().pop().unwrap());
    }
}

/// Asks [`a_terminal`] to be one.
const TERMINAL: &str = "REGROW_TEST_TERMINAL";

/// Not a test: the terminal that the test below takes away, as a process of its own.
#[test]
fn a_terminal() {
    if std::env::var_os(TERMINAL).is_none() {
        return;
    }
    let home = Home::new();
    let pty = busy(&home, "8413");
    println!("\n={} {}", pty.pid().as_raw_nonzero(), home.sessions().pop().unwrap().display());
    loop {
        std::thread::park();
    }
}

#[test]
fn i8_a_terminal_that_is_gone_in_mid_turn_takes_all_with_it() {
    let mut terminal = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "faults::terminal::a_terminal", "--nocapture"])
        .env(TERMINAL, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(terminal.stdout.take().unwrap()).lines().map_while(Result::ok);
    let line = said.filter_map(|line| line.strip_prefix('=').map(str::to_owned)).next().unwrap();
    let (pid, session) = line.split_once(' ').unwrap();
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while test_kill_process(pid).is_ok() {
        assert!(Instant::now() < deadline, "it goes on without a terminal");
        std::thread::sleep(Duration::from_millis(10));
    }
    gone("^sleep 8413$");
    check(Path::new(session));
    // The killed one could not clean up after itself: `<home>/data/regrow/sessions/<folder>/<file>`.
    let home = Path::new(session).ancestors().nth(5).unwrap();
    assert!(home.join("shop").is_dir(), "{}", home.display());
    std::fs::remove_dir_all(home).unwrap();
}

/// F99: no size and no change of it breaks a screen that is being written to.
#[test]
fn f99_a_thousand_resizes_while_an_answer_streams() {
    let changes = number("REGROW_FAULT_ROUNDS", 0).max(1_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = runtime.block_on(ModelServer::start(Rules::default()));
    let lines: String = (0..4_000)
        .map(|number| format!("{number}. **한국어** words and `code` with 👩‍👩‍👧 that wrap\n\n"))
        .collect();
    let answer = Reply::default().text(&format!("{lines}\n| a | b |\n|---|---|\n| 가 | x |\n"));
    server.push(answer.finish("stop").drip(Duration::from_micros(300)));
    server.push(Reply::says("Still here."));
    let home = Home::new();
    let model = json!({"id": "m", "contextWindow": 200_000, "maxTokens": 8_000});
    let models = json!({"providers": {"test": {"baseUrl": server.v1(), "api": "openai-completions",
        "apiKey": "sk-test-1234567890", "models": [model]}}});
    home.configure("models.json", &models.to_string());
    let mut command = portable_pty::CommandBuilder::new(env!("CARGO_BIN_EXE_regrow"));
    command.args(["--provider", "test", "--model", "m"]);
    home.settle(&mut command);
    let mut pty = Pty::start(command, 100, 30);
    pty.until_shows("/help");
    pty.send("tell me\r");
    pty.until_shows("한국어");
    let mut dice = Dice::new(number("REGROW_FAULT_SEED", 0x512e));
    let began = Instant::now();
    for change in 0..changes {
        let (columns, rows) = match change % 10 {
            0 => (1, 1),
            1 => (300, 100),
            2 => (1, 100),
            3 => (300, 1),
            _ => (1 + dice.below(300) as u16, 1 + dice.below(100) as u16),
        };
        pty.resize(columns, rows);
        if change % 25 == 0 {
            // Keys in between: up and down, thinking, tools.
            pty.send(["\u{1b}[5~", "\u{1b}[6~", "\u{f}", "\u{14}"][dice.below(4)]);
        }
        // As fast as a window that is dragged, and now and then faster.
        if change % 4 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    println!("{changes} changes of the size in {:?}", began.elapsed());
    pty.resize(100, 30);
    pty.until_shows("esc to stop");
    pty.send("\u{1b}");
    pty.until_gone("esc to stop");
    pty.send("and now\r");
    pty.until_shows("Still here.");
    pty.send("/quit\r");
    assert_eq!(pty.wait(), 0);
    pty.assert_clean();
    drop(server);
}
