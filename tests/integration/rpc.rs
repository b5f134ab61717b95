//! `--mode rpc` with the real binary: one program at the other end of two pipes (SPEC section 12,
//! `assets/docs/rpc.md`).

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use regrow::mode::rpc::command::{NAMES, read};
use serde_json::{Value, json};

/// Longer than anything takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The binary, and this program at its other end.
struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    next_id: u64,
}

impl Peer {
    fn start(home: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
        command.args(["--mode", "rpc"]).args(arguments).current_dir(home).env_clear();
        command.env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines, next_id: 1 }
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends a command and gives its id.
    fn send(&mut self, mut command: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        command["id"] = json!(id);
        self.raw(format!("{command}\n").as_bytes());
        id
    }

    fn next(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// The next line of a type; what comes before it is passed over.
    fn until(&mut self, kind: &str) -> Value {
        loop {
            let line = self.next();
            if line["type"] == kind {
                return line;
            }
        }
    }

    /// Sends a command and gives its response.
    fn ask(&mut self, command: Value) -> Value {
        let id = self.send(command);
        loop {
            let line = self.until("response");
            if line["id"] == json!(id) {
                return line;
            }
        }
    }

    fn data(&mut self, command: Value) -> Value {
        let mut response = self.ask(command);
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    fn idle(&mut self) {
        while self.until("activity")["kind"] != "idle" {}
    }

    /// Says something, and waits for the answer's text.
    fn talk(&mut self, text: &str) -> String {
        let id = self.send(json!({"type": "prompt", "text": text}));
        assert_eq!(self.until("response")["id"], json!(id));
        let mut said = String::new();
        loop {
            let line = self.next();
            match line["type"].as_str().unwrap() {
                "appended" if line["entry"]["message"]["role"] == "assistant" => {
                    said.push_str(&line["entry"]["message"]["content"].to_string());
                }
                "activity" if line["kind"] == "idle" => return said,
                _ => {}
            }
        }
    }

    fn end(mut self) -> ExitStatus {
        self.stdin = None;
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            // The pipe must not fill up.
            match self.lines.recv_timeout(Duration::from_millis(20)) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {
                    assert!(began.elapsed() < PATIENCE, "it does not end");
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a.txt"), "안녕\u{2028}하세요\n").unwrap();
    home
}

#[test]
fn section_12_every_command_of_the_documentation_is_understood_and_every_command_is_there() {
    let text = include_str!("../../assets/docs/rpc.md");
    let blocks = text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let examples: Vec<_> = blocks.flat_map(str::lines).collect();
    let shown: BTreeSet<_> =
        examples.iter().map(|line| read(line.as_bytes()).expect(line).name).collect();
    let known: BTreeSet<_> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(shown, known);
    for name in NAMES {
        assert!(text.contains(&format!("| `{name}` |")), "{name} has no row");
    }
}

#[test]
fn section_12_a_day_of_an_editor() {
    let home = home();
    let mut peer = Peer::start(home.path(), &[]);
    let ready = peer.next();
    assert_eq!((&ready["type"], &ready["protocol"]), (&json!("ready"), &json!(1)));
    peer.until("gauge");

    assert!(peer.talk("read a.txt").contains("하세요"));
    let state = peer.data(json!({"type": "state"}));
    assert_eq!(state["activity"], "idle");
    assert_eq!(state["model"]["provider"], "offline");
    let file = state["file"].as_str().unwrap().to_owned();
    let leaf = state["leaf"].clone();

    let path = peer.data(json!({"type": "path"}));
    let entries = path["entries"].as_array().unwrap().clone();
    assert_eq!(entries.last().unwrap()["id"], leaf);
    let last = peer.data(json!({"type": "path", "last": 1}));
    assert_eq!(last["before"], json!(entries.len() - 1));
    assert_eq!(last["entries"], json!([entries.last().unwrap()]));
    let first = entries.iter().find(|entry| entry["message"]["role"] == "user").unwrap();
    let entry = peer.data(json!({"type": "entry", "entry": first["id"]}));
    assert_eq!(&entry["entry"], first);

    // Another way from the first question.
    peer.send(json!({"type": "navigate", "target": first["id"], "label": "start"}));
    let moved = peer.until("moved");
    assert_eq!(moved["editor"], "read a.txt");
    peer.talk("list .");
    let tree = peer.data(json!({"type": "tree"}));
    let tree = tree["entries"].as_array().unwrap();
    assert!(tree.iter().any(|line| line["onPath"] == false && line["role"] == "user"));
    assert_eq!(tree.iter().filter(|line| line["leaf"] == true).count(), 1);

    peer.send(json!({"type": "name", "name": "이름"}));
    peer.until("appended");
    assert_eq!(peer.data(json!({"type": "state"}))["name"], "이름");
    peer.send(json!({"type": "context"}));
    assert!(peer.until("context")["report"]["window"].is_u64());
    peer.send(json!({"type": "plan_compaction"}));
    peer.until("compaction_planned");

    let export = peer.data(json!({"type": "export", "format": "md", "path": "out.md"}));
    let exported = std::fs::read_to_string(export["file"].as_str().unwrap()).unwrap();
    assert!(exported.contains("list ."), "{exported}");

    peer.send(json!({"type": "fork"}));
    let opened = peer.until("opened");
    assert_ne!(opened["file"].as_str(), Some(file.as_str()));
    peer.send(json!({"type": "open_session", "path": file}));
    assert_eq!(peer.until("opened")["file"].as_str(), Some(file.as_str()));
    std::fs::copy(&file, home.path().join("copy.jsonl")).unwrap();
    peer.send(json!({"type": "open_session", "path": "copy.jsonl"}));
    assert!(peer.until("opened")["file"].as_str().unwrap().ends_with("/copy.jsonl"));
    let sessions = peer.data(json!({"type": "sessions"}));
    let mut paths = sessions["sessions"].as_array().unwrap().iter();
    assert!(paths.any(|session| session["path"].as_str() == Some(file.as_str())), "{sessions}");

    peer.send(json!({"type": "quit"}));
    peer.until("ended");
    assert!(peer.end().success());
}

#[test]
fn a3_a_question_is_asked_and_answered_over_the_pipe() {
    let home = home();
    let mut peer = Peer::start(home.path(), &[]);
    for (answer, made) in [
        (json!({"answer": "no", "reason": "not here"}), false),
        (json!({"answer": "edited", "command": "touch other.txt"}), false),
        (json!({"answer": "once"}), true),
    ] {
        peer.send(json!({"type": "prompt", "text": "run touch made.txt"}));
        let asked = peer.until("permission_asked");
        assert_eq!(asked["subject"], "touch made.txt");
        let state = peer.data(json!({"type": "state"}));
        assert_eq!(state["questions"][0]["question"], asked["question"]);
        let mut command = json!({"type": "permission", "question": asked["question"]});
        command.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        peer.send(command);
        peer.until("permission_settled");
        peer.idle();
        assert_eq!(home.path().join("made.txt").exists(), made);
    }
    assert!(home.path().join("other.txt").exists());
    // Nobody is left to be asked: no, and the end.
    peer.send(json!({"type": "prompt", "text": "run touch late.txt"}));
    peer.until("permission_asked");
    assert!(peer.end().success());
    assert!(!home.path().join("late.txt").exists());
}

#[test]
fn section_12_lines_that_are_no_commands_are_answered_and_the_next_one_is_read() {
    let home = home();
    let mut peer = Peer::start(home.path(), &[]);
    for (line, id, error) in [
        ("nonsense", json!(null), "one JSON object"),
        ("[1]", json!(null), "one JSON object"),
        ("{\"id\": {}, \"type\": \"abort\"}", json!(null), "`id` must be"),
        ("{\"id\": 7, \"type\": \"promt\"}", json!(7), "did you mean `prompt`"),
        (
            "{\"id\": \"x\", \"type\": \"prompt\", \"txt\": \"a\"}",
            json!("x"),
            "unknown field `txt`",
        ),
        (
            "{\"id\": 8, \"type\": \"permission\", \"question\": 1, \"answer\": \"edited\"}",
            json!(8),
            "needs `command`",
        ),
        ("{\"id\": 9, \"type\": \"prompt\", \"text\": \"/tree\"}", json!(9), "on the screen"),
        ("{\"id\": 10, \"type\": \"prompt\", \"text\": \"/nope\"}", json!(10), "no command /nope"),
        ("{\"id\": 11, \"type\": \"entry\", \"id2\": 1}", json!(11), "unknown field"),
    ] {
        peer.raw(format!("{line}\r\n\n").as_bytes());
        let response = peer.until("response");
        assert_eq!(response["success"], false, "{line}");
        assert_eq!(response["id"], id, "{line}");
        assert!(response["error"].as_str().unwrap().contains(error), "{response}");
    }
    let response = peer.ask(json!({"type": "path", "leaf": "nosuch"}));
    assert_eq!(response["error"], "this session has no entry nosuch");
    assert_eq!(peer.ask(json!({"type": "state"}))["success"], true);
    assert!(peer.end().success());
}

#[test]
fn section_12_the_end_of_the_input_lets_everything_come_to_its_end() {
    let home = home();
    let mut peer = Peer::start(home.path(), &[]);
    peer.send(json!({"type": "prompt", "text": "read a.txt"}));
    peer.send(json!({"type": "prompt", "text": "list ."}));
    peer.send(json!({"type": "tree"}));
    peer.stdin = None;
    let mut answers = 0;
    let mut lines = Vec::new();
    while let Ok(line) = peer.lines.recv_timeout(PATIENCE) {
        let message = &line["entry"]["message"];
        answers += usize::from(message["role"] == "assistant" && message["stopReason"] == "stop");
        lines.push(line);
    }
    assert_eq!(answers, 2, "{lines:#?}");
    assert!(lines.iter().any(|line| line["command"] == "tree" && line["success"] == true));
    assert_eq!(lines.iter().filter(|line| line["type"] == "ended").count(), 1);
    assert!(peer.end().success());
}

#[test]
fn f73_a_signal_and_a_reader_that_left_stop_everything() {
    let home = home();
    for leave in ["signal", "reader"] {
        let mut peer = Peer::start(home.path(), &["--permission", "full"]);
        peer.send(json!({"type": "shell", "command": "echo $$ > pid; sleep 600"}));
        let pid = home.path().join("pid");
        let began = Instant::now();
        let pid: i32 = loop {
            let text = std::fs::read_to_string(&pid).unwrap_or_default();
            if let Ok(pid) = text.trim().parse() {
                break pid;
            }
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        };
        if leave == "signal" {
            let id = rustix::process::Pid::from_child(&peer.child);
            rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
            peer.until("ended");
            assert_eq!(peer.child.wait().unwrap().code(), Some(130));
        } else {
            // Our end is closed by the thread that reads, at the next line.
            let (_, nobody) = channel();
            peer.lines = nobody;
            for _ in 0..2 {
                peer.send(json!({"type": "state"}));
            }
            let began = Instant::now();
            while peer.child.try_wait().unwrap().is_none() {
                assert!(began.elapsed() < PATIENCE);
                std::thread::sleep(Duration::from_millis(5));
                if let Some(stdin) = &mut peer.stdin {
                    stdin.write_all(b"{\"type\":\"state\"}\n").ok();
                }
            }
        }
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        assert!(rustix::process::test_kill_process(pid).is_err(), "{leave}: the command lives on");
        std::fs::remove_file(home.path().join("pid")).unwrap();
    }
}

#[test]
fn u3_a_flood_of_commands_to_a_peer_that_reads_late_is_no_deadlock() {
    let home = home();
    let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
    command.args(["--mode", "rpc", "--no-session"]).current_dir(home.path()).env_clear();
    command.env("HOME", home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Far more than two pipes hold, and nothing is read meanwhile.
    for id in 0..3_000 {
        writeln!(stdin, "{}", json!({"id": id, "type": "state"})).unwrap();
    }
    drop(stdin);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ids = lines.filter(|line| line["type"] == "response").map(|line| line["id"].as_u64());
    assert!(ids.eq((0..3_000).map(Some)));
    assert!(child.wait().unwrap().success());
}

#[test]
fn section_12_a_lookup_knows_all_that_was_asked_before_it() {
    let home = home();
    let mut peer = Peer::start(home.path(), &[]);
    for number in 0..20 {
        peer.send(json!({"type": "name", "name": format!("이름 {number}")}));
        let state = peer.data(json!({"type": "state"}));
        assert_eq!(state["name"], format!("이름 {number}"));
    }
    let first = peer.data(json!({"type": "state"}))["file"].clone();
    peer.send(json!({"type": "new_session"}));
    let state = peer.data(json!({"type": "state"}));
    assert_eq!((&state["name"], state["file"] == first), (&json!(null), false));
    // What cannot be is refused at once.
    let refused = peer.ask(json!({"type": "permission", "question": 99, "answer": "once"}));
    assert_eq!(refused["error"], "no question 99 waits for an answer");
    for (image, error) in [
        (json!({"data": "!!!", "mimeType": "image/png"}), "no base64"),
        (json!({"data": "", "mimeType": "image/png"}), "none that models take"),
        (json!({"data": "PGh0bWw+", "mimeType": "image/png"}), "none that models take"),
    ] {
        let refused = peer.ask(json!({"type": "prompt", "text": "x", "images": [image]}));
        assert!(refused["error"].as_str().unwrap().contains(error), "{refused}");
    }
    peer.send(json!({"type": "shell", "command": "sleep 600"}));
    while peer.until("activity")["kind"] != "shell" {}
    peer.send(json!({"type": "finish"}));
    let late = peer.ask(json!({"type": "prompt", "text": "late"}));
    assert_eq!(late["error"], "the session is ending");
    assert_eq!(peer.data(json!({"type": "state"}))["activity"], "shell");
    peer.raw(b"{\"type\":\"abort\"}\n");
    assert_eq!(peer.until("response")["success"], false, "only a signal stops it now");
    let id = rustix::process::Pid::from_child(&peer.child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(peer.end().code(), Some(130));
}

#[test]
fn i7_a_reader_that_is_slow_gets_everything_and_one_that_is_stuck_holds_up_no_signal() {
    let home = home();
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
        command.args(["--mode", "rpc", "--no-session"]).current_dir(home.path()).env_clear();
        command.env("HOME", home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    // Far more than a pipe holds, and nobody reads until long after the end of the input.
    let mut child = start();
    let mut stdin = child.stdin.take().unwrap();
    for id in 0..40 {
        writeln!(stdin, "{}", json!({"id": id, "type": "models"})).unwrap();
    }
    drop(stdin);
    std::thread::sleep(Duration::from_secs(3));
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(lines.filter(|line| line["command"] == "models").count(), 40);
    assert!(child.wait().unwrap().success());

    let mut child = start();
    let mut stdin = child.stdin.take().unwrap();
    for id in 0..40 {
        writeln!(stdin, "{}", json!({"id": id, "type": "models"})).unwrap();
    }
    drop(stdin);
    std::thread::sleep(Duration::from_secs(1));
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn section_12_an_input_that_cannot_be_read_is_a_failure() {
    let home = home();
    for mode in [&["--mode", "rpc"][..], &["--plain"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
        command.args(mode).current_dir(home.path()).env_clear().env("HOME", home.path());
        command.stdin(std::fs::File::open(home.path()).unwrap()).stdout(Stdio::null());
        assert_eq!(command.status().unwrap().code(), Some(1), "{mode:?}");
    }
}
