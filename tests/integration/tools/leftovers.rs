//! What tools leave behind: no process once the program has ended or the call was stopped, and nothing
//! on the terminal (F73, F74, I13). The real binary and real processes.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::pty::{Home, Pty};

/// A shell that does not end by itself, and a child of it in the background; each writes its number.
const ENDLESS: &str = "sleep 300 & echo $! > child; echo $$ > shell; wait";

/// Waits until something is so; fails after a long while.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The numbers of both processes, once they run; the files are gone afterwards.
fn started(project: &Path) -> [String; 2] {
    ["child", "shell"].map(|name| {
        let file = project.join(name);
        let read = || std::fs::read_to_string(&file).unwrap_or_default();
        wait_until("both processes run", || read().ends_with('\n'));
        let number = read().trim().to_owned();
        std::fs::remove_file(file).unwrap();
        number
    })
}

fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[track_caller]
fn assert_gone(pids: &[String], way: &str) {
    wait_until(&format!("the processes end after {way}"), || !pids.iter().any(|pid| lives(pid)));
}

/// I13: on the screen, whether the model or the person runs it, and however it is left.
#[test]
fn f73_nothing_runs_on_after_the_screen_was_left() {
    if !Path::new("/proc/self/stat").exists() {
        return println!("skipped: there is no /proc here");
    }
    let home = Home::new();
    for starts in ["run ", "!"] {
        for way in ["escape", "/quit", "TERM", "HUP"] {
            let mut pty = Pty::start(home.command(&["--permission", "full"]), 100, 30);
            pty.until_shows("/help");
            pty.send(format!("{starts}{ENDLESS}\r"));
            let pids = started(&home.project());
            match way {
                "escape" => pty.send("\u{1b}"),
                "/quit" => pty.send("/quit\r"),
                "TERM" => kill_process(pty.pid(), Signal::TERM).unwrap(),
                _ => kill_process(pty.pid(), Signal::HUP).unwrap(),
            }
            if way != "escape" {
                pty.wait();
            }
            assert_gone(&pids, way);
        }
    }
}

/// I13: without a screen a signal ends the program and what it runs.
#[test]
fn f73_nothing_runs_on_after_a_run_without_a_screen() {
    if !Path::new("/proc/self/stat").exists() {
        return println!("skipped: there is no /proc here");
    }
    let home = Home::new();
    for mode in ["text", "json"] {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let mut program = printing(&home, &["--mode", mode, &format!("run {ENDLESS}")]);
            let pids = started(&home.project());
            kill_process(Pid::from_raw(program.id().cast_signed()).unwrap(), signal).unwrap();
            let status = program.wait().unwrap();
            assert_eq!(status.code(), Some(130), "{mode} {signal:?}");
            assert_gone(&pids, &format!("{signal:?}"));
        }
    }
}

fn printing(home: &Home, arguments: &[&str]) -> Child {
    let root = home.project().parent().unwrap().to_owned();
    let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
    command.args(["--provider", "offline", "--model", "offline", "--permission", "full", "-p"]);
    command.args(arguments).env_clear().env("HOME", root).current_dir(home.project());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// F74: the program has a terminal, its tools have none: what they write goes to the model, or nowhere.
#[test]
fn f74_no_tool_writes_to_the_terminal() {
    let home = Home::new();
    let mut pty = Pty::start(home.command(&["--permission", "full"]), 100, 30);
    pty.until_shows("/help");
    // Put together when it runs, so that the command itself does not hold the words.
    let command = "(printf 'INTRU%s' DER > /dev/tty) 2>&1; printf 'was refu%s' sed";
    for starts in ["run ", "!"] {
        pty.send(format!("{starts}{command}\r"));
        if starts == "run " {
            // Devices are outside of the folder, so even `full` asks.
            pty.until_shows("outside the workspace");
            pty.send("y");
        }
        let screen = pty.until_shows("was refused");
        assert!(!screen.contains("INTRUDER"), "{screen}");
        pty.until_gone("esc to stop");
        pty.send("/new\r");
        pty.until_gone("was refused");
    }
}
