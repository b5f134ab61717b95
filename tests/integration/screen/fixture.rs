//! A session to press keys in: many requests, then an answer with thinking, a long tool result, code.

use serde_json::{Value, json};

use crate::support::pty::Home;

/// Requests before the last one.
const REQUESTS: usize = 30;

/// Lines of a session file, each entry below the one before unless it says otherwise.
pub struct Script {
    lines: Vec<String>,
    last: Value,
}

impl Script {
    pub fn new(home: &Home) -> Self {
        let header = json!({"type": "session", "version": 3, "id": "fixture",
            "timestamp": "2026-01-14T15:00:37.013Z", "cwd": home.project()});
        Self { lines: vec![header.to_string()], last: Value::Null }
    }

    /// Adds an entry; its id is the number of its line.
    pub fn entry(&mut self, mut entry: Value) {
        let id = format!("{:08x}", self.lines.len());
        entry["id"] = json!(id);
        entry["parentId"] = self.last.clone();
        entry["timestamp"] = json!("2026-01-14T15:00:37.013Z");
        self.last = json!(id);
        self.lines.push(entry.to_string());
    }

    /// Adds a message.
    pub fn message(&mut self, message: Value) {
        self.entry(json!({"type": "message", "message": message}));
    }

    pub fn user(&mut self, text: &str) {
        self.message(json!({"role": "user", "content": text, "timestamp": 1}));
    }

    pub fn assistant(&mut self, content: Value) {
        self.message(json!({"role": "assistant", "content": content, "timestamp": 2,
            "api": "offline", "provider": "offline", "model": "offline", "usage": {}, "stopReason": "stop"}));
    }

    pub fn result(&mut self, text: &str) {
        self.message(json!({"role": "toolResult", "toolCallId": "c", "toolName": "bash",
            "content": [{"type": "text", "text": text}], "details": {"summary": "40 lines"},
            "isError": false, "timestamp": 3}));
    }

    /// Goes on below another line.
    pub fn below(&mut self, line: usize) {
        self.last = json!(format!("{line:08x}"));
    }

    /// Writes the file and gives its path.
    pub fn write(self, home: &Home, name: &str) -> String {
        let path = home.project().join(name);
        std::fs::write(&path, self.lines.join("\n") + "\n").unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// See the module.
pub fn long(home: &Home) -> String {
    let mut script = Script::new(home);
    for number in 1..=REQUESTS {
        script.user(&format!("request {number}"));
        script.assistant(json!([{"type": "text", "text": format!("answer {number}")}]));
    }
    script.user("the last request");
    script.assistant(json!([
        {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "seq 40"}}
    ]));
    script.result(&(1..=40).map(|number| format!("out {number}\n")).collect::<String>());
    script.assistant(json!([
        {"type": "thinking", "thinking": "idea one\nidea two"},
        {"type": "text", "text": "done\n\n```rust\nfn last() {}\n```\n"}
    ]));
    script.write(home, "long.jsonl")
}

/// A session with a fork: `left way` was left, `right way` is active.
pub fn forked(home: &Home) -> String {
    let mut script = Script::new(home);
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    script.user("first step");
    script.assistant(text("answer one"));
    script.user("left way");
    let lines: String = (1..=60).map(|number| format!("- item {number} of it\n")).collect();
    script.assistant(text(&format!("answer two\n\n{lines}")));
    script.assistant(text("answer three"));
    script.below(2);
    script.user("right way");
    script.assistant(text("answer four"));
    script.assistant(text("answer five"));
    script.write(home, "forked.jsonl")
}
