//! Session files of some size, the real program, and a killer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use regrow::compaction::tokens::Estimator;
use regrow::session::store::{Access, SessionStore};
use serde_json::{Value, json};

use crate::support::dice::{Dice, number};

const HEADER: &str = r#"{"type":"session","version":3,"id":"big","timestamp":"2026-01-14T15:00:37.013Z","cwd":"/w"}"#;

/// What a file holds by its entries: one text for each message, in order.
pub fn texts(path: &Path) -> Vec<String> {
    let content = std::fs::read(path).unwrap();
    let lines = content.split(|byte| *byte == b'\n');
    let values = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let texts = values
        .filter_map(|value| value["message"]["content"][0]["text"].as_str().map(str::to_owned));
    texts.collect()
}

/// `turns` turns, each with a call and a result, as the lines of a file of version 3.
pub fn session(turns: usize) -> String {
    let mut lines = vec![HEADER.to_owned()];
    let mut parent = Value::Null;
    let mut add = |message: Value| {
        let id = format!("{:08x}", lines.len());
        let entry = json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": "2026-01-14T15:00:37.013Z", "message": message});
        lines.push(entry.to_string());
        parent = json!(id);
    };
    let text = |text: String| json!([{"type": "text", "text": text}]);
    for turn in 0..turns {
        let words = "the quick brown fox jumps over the lazy dog ".repeat(30);
        add(json!({"role": "user", "content": text(format!("question {turn}")), "timestamp": 1}));
        add(json!({"role": "assistant", "timestamp": 1, "content": [
            {"type": "text", "text": format!("look {turn}")},
            {"type": "toolCall", "id": format!("c{turn}"), "name": "ls", "arguments": {"path": "."}}],
            "api": "x", "provider": "x", "model": "x", "usage": {}, "stopReason": "toolUse"}));
        add(json!({"role": "toolResult", "toolCallId": format!("c{turn}"), "toolName": "ls",
            "content": text(format!("result {turn} {words}")), "isError": false, "timestamp": 1}));
        add(json!({"role": "assistant", "timestamp": 1, "content": text(format!("done {turn}")),
            "api": "x", "provider": "x", "model": "x", "usage": {}, "stopReason": "stop"}));
    }
    lines.join("\n") + "\n"
}

/// The same, and a compaction after which little is in context.
pub fn compacted_session(turns: usize) -> String {
    let last = 4 * turns;
    let compaction = json!({"type": "compaction", "id": "ffffffff", "parentId": format!("{last:08x}"),
        "timestamp": "2026-01-14T15:00:37.013Z", "summary": "s", "tokensBefore": 100_000,
        "firstKeptEntryId": format!("{last:08x}"), "firstKeptEntryIndex": last});
    format!("{}{compaction}\n", session(turns))
}

/// The same as another version had it: a list without ids.
pub fn old_session(turns: usize) -> String {
    let lines = compacted_session(turns);
    let old = lines.lines().map(|line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        let fields = value.as_object_mut().unwrap();
        let kept = ["id", "parentId", "version", "firstKeptEntryId"].iter().filter(|key| {
            // The header has an id in every version.
            !(**key == "id" && fields["type"] == "session")
        });
        kept.copied().collect::<Vec<_>>().iter().for_each(|key| {
            fields.remove(*key);
        });
        value.to_string() + "\n"
    });
    old.collect()
}

/// The same with lines in it that are none.
pub fn damaged_session(turns: usize) -> String {
    let lines = session(turns);
    let damaged = lines.lines().enumerate().map(|(number, line)| match number % 97 {
        50 => format!("{line}\n\0\0\0\0\0\0\n"),
        _ => format!("{line}\n"),
    });
    damaged.collect()
}

/// A person's folders.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "안녕\n").unwrap();
        std::fs::create_dir(folder.path().join("kept")).unwrap();
        let settings = folder.path().join(".config/regrow");
        std::fs::create_dir_all(&settings).unwrap();
        // A short summary is quick to write, and none is written unasked.
        let text =
            r#"{"compaction": {"enabled": false}, "summarization": {"maxSummaryTokens": 300}}"#;
        std::fs::write(settings.join("settings.json"), text).unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file in a folder of its own.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("kept").join(name)
    }

    /// The program, after a line of shell that sets the scene for it.
    pub fn command(&self, shell: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_regrow")).args(arguments);
        command.current_dir(self.path()).env_clear().stdin(Stdio::null());
        command.env("HOME", self.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("REGROW_SESSION_DIR", self.path().join("sessions"));
        command
    }

    pub fn run(&self, shell: &str, arguments: &[&str]) -> Output {
        self.command(shell, arguments).output().unwrap()
    }

    /// The session files in the folder of sessions.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let files = names(&self.path().join("sessions")).into_iter();
        let sessions = files.filter(|name| name.ends_with(".jsonl"));
        sessions.map(|name| self.path().join("sessions").join(name)).collect()
    }
}

/// The names in a folder, sorted; none when it is not there.
pub fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// Opens a file as the program would, and again: the second time there is nothing to say.
#[track_caller]
pub fn opens(path: &Path) {
    let open = || SessionStore::open(path, Access::Write, Estimator::default()).unwrap();
    drop(open());
    assert_eq!(open().warnings, [""; 0], "{}", path.display());
}

/// Starts and kills a command so often, at moments spread over the time that it takes.
pub struct Killer {
    dice: Dice,
    takes: Duration,
    last: Duration,
    pub rounds: u64,
    /// Those that were over before.
    pub late: u64,
}

impl Killer {
    /// `takes`: how long the command takes when it is left alone; the `last` part of it is struck.
    pub fn new(takes: Duration, last: Duration) -> Self {
        let dice = Dice::new(number("REGROW_FAULT_SEED", 0xfa17));
        let last = last.min(takes);
        Self { dice, takes, last, rounds: number("REGROW_FAULT_ROUNDS", 8), late: 0 }
    }

    /// One start and one kill.
    pub fn strike(&mut self, mut command: Command) {
        let micros = self.last.as_micros() as usize;
        let before_end = Duration::from_micros(self.dice.below(micros * 11 / 10) as u64);
        let wait = (self.takes + self.last / 10).saturating_sub(before_end);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The moment is random on purpose: nothing tells a killer when to strike.
        std::thread::sleep(wait);
        self.late += u64::from(child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// How long something takes.
pub fn time(what: impl FnOnce()) -> Duration {
    let began = Instant::now();
    what();
    began.elapsed()
}

#[track_caller]
pub fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a program that failed said; it must say something.
#[track_caller]
pub fn failed(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!said.trim().is_empty() && !said.contains("panicked"), "{said}");
    said
}
