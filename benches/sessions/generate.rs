//! Session files as long work leaves them: turns of prompts, answers, tool calls and results.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

/// What a generated session looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Entries after the header.
    pub(crate) entries: usize,
    /// Mean length of a tool result, in bytes.
    pub(crate) result: usize,
    /// Every so many entries a branch begins at an entry far above; 0 for one chain.
    pub(crate) branch_every: usize,
    /// Every so many entries there is a compaction; 0 for none.
    pub(crate) compact_every: usize,
    /// Length of one more result at the end, in bytes.
    pub(crate) giant: usize,
}

impl Shape {
    pub(crate) const fn chain(entries: usize, result: usize) -> Self {
        Self { entries, result, branch_every: 0, compact_every: 0, giant: 0 }
    }
}

/// Words that look like what is in sessions: prose, code with escapes, some of it not ASCII.
const TEXT: &str = "The scanner reads one line at a time; nothing is kept of it but what the tree needs.\n\
    fn next(&mut self) -> Option<\"Token\"> {\n    match self.rest.split_once('\\t') {\n        \
    Some((head, tail)) => { self.rest = tail; Some(head) }\n        None => None, // — the end\n    }\n}\n\
    세션 파일은 한 줄씩 추가되고, 이미 말한 것은 사라지지 않는다.\n\
    error[E0382]: borrow of moved value: `line`\n  --> src/main.rs:42:17\n";

fn text(seed: usize, len: usize) -> String {
    let mut text = String::with_capacity(len + TEXT.len());
    text.push_str(&format!("{seed}: "));
    while text.len() < len {
        text.push_str(TEXT);
    }
    let end = (len.min(text.len())..).find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or(text.len()));
    text
}

/// Writes a session file.
pub(crate) fn write(path: &Path, shape: Shape) -> io::Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let header = json!({"type": "session", "version": 3, "id": "generated",
                        "timestamp": "2026-01-14T15:00:37.013Z", "cwd": "/project"});
    writeln!(file, "{header}")?;
    let mut parent: Option<usize> = None;
    for number in 0..shape.entries {
        if shape.branch_every > 0 && number > 0 && number.is_multiple_of(shape.branch_every) {
            parent = Some(number - shape.branch_every / 2);
        }
        let mut line = if shape.compact_every > 0 && number % shape.compact_every == 1 && number > 8
        {
            json!({"type": "compaction", "summary": text(number, 2_000),
                   "firstKeptEntryId": id(number - 4), "tokensBefore": 150_000})
        } else {
            json!({"type": "message", "message": message(number, shape.result)})
        };
        place(&mut line, number, parent);
        writeln!(file, "{line}")?;
        parent = Some(number);
    }
    if shape.giant > 0 {
        let mut line = json!({"type": "message", "message": message(2, shape.giant)});
        place(&mut line, shape.entries, parent);
        writeln!(file, "{line}")?;
    }
    file.flush()
}

fn id(number: usize) -> String {
    format!("{number:08x}")
}

/// Puts the keys that every entry has where writers of the format put them.
fn place(line: &mut Value, number: usize, parent: Option<usize>) {
    let Value::Object(fields) = line else { return };
    let rest = std::mem::take(fields);
    fields.insert("type".into(), rest["type"].clone());
    fields.insert("id".into(), json!(id(number)));
    fields.insert("parentId".into(), json!(parent.map(id)));
    fields.insert("timestamp".into(), json!("2026-01-14T15:00:37.013Z"));
    fields.extend(rest);
}

fn message(number: usize, result: usize) -> Value {
    let call = format!("toolu_{}", number / 4);
    match number % 4 {
        0 => {
            json!({"role": "user", "content": text(number, 200), "timestamp": 1_768_402_837_013_u64})
        }
        2 => {
            // Most results are short, a few are long.
            let len = if number % 32 == 2 { result * 5 } else { result / 2 };
            json!({"role": "toolResult", "toolCallId": call, "toolName": "read", "isError": false,
                   "content": [{"type": "text", "text": text(number, len)}],
                   "timestamp": 1_768_402_837_013_u64})
        }
        turn => {
            let mut content = vec![
                json!({"type": "thinking", "thinking": text(number, 400),
                       "thinkingSignature": "c2lnbmF0dXJl".repeat(30)}),
                json!({"type": "text", "text": text(number, 500)}),
            ];
            if turn == 1 {
                content.push(json!({"type": "toolCall", "id": call, "name": "read",
                                    "arguments": {"path": format!("src/f{number}.rs"), "limit": 200}}));
            }
            json!({"role": "assistant", "content": content, "api": "anthropic-messages",
                   "provider": "anthropic", "model": "claude",
                   "usage": {"input": 3, "output": 191, "cacheRead": 90_000, "cacheWrite": 1_684,
                             "totalTokens": 91_878, "cost": {"input": 0.000_009, "output": 0.002_865,
                             "cacheRead": 0.027, "cacheWrite": 0.006_315, "total": 0.036_189}},
                   "stopReason": if turn == 1 { "toolUse" } else { "stop" },
                   "timestamp": 1_768_402_837_013_u64})
        }
    }
}
