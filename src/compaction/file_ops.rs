//! Which files a conversation read and changed, and the blocks that name them in a summary
//! (SPEC C20). Pure: it looks at tool calls, never at the disk.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::prompts;
use crate::message::Message;

/// The files that tool calls named, over any number of messages and earlier summaries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileOps {
    read: BTreeSet<Utf16Order>,
    modified: BTreeSet<Utf16Order>,
}

/// A path, ordered by UTF-16 units: the order in which the other readers of the format sort.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Utf16Order(String);

impl Ord for Utf16Order {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.encode_utf16().cmp(other.0.encode_utf16())
    }
}

impl PartialOrd for Utf16Order {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl FileOps {
    /// The files that `messages` and the `details` of earlier summaries name.
    pub fn collect<'a>(
        messages: impl IntoIterator<Item = &'a Message>,
        earlier_details: &[Value],
    ) -> Self {
        let mut ops = Self::default();
        for details in earlier_details {
            ops.add_details(details);
        }
        for message in messages {
            ops.add_message(message);
        }
        ops
    }

    /// Takes the tool calls of an assistant message; other messages name no files.
    pub fn add_message(&mut self, message: &Message) {
        let Message::Assistant(answer) = message else { return };
        for call in answer.tool_calls() {
            let Some(path) = call.arguments.get("path").and_then(Value::as_str) else { continue };
            match call.name.as_str() {
                "read" => self.add_read(path),
                "write" | "edit" => self.add_modified(path),
                _ => {}
            }
        }
    }

    /// Takes `{readFiles, modifiedFiles}` of an earlier summary; whatever else it holds is left.
    pub fn add_details(&mut self, details: &Value) {
        let paths = |key: &str| {
            details
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
        };
        paths("readFiles").for_each(|path| self.add_read(path));
        paths("modifiedFiles").for_each(|path| self.add_modified(path));
    }

    /// Takes a file that was read.
    pub fn add_read(&mut self, path: &str) {
        self.read.insert(Utf16Order(path.to_owned()));
    }

    /// Takes a file that was written or edited.
    pub fn add_modified(&mut self, path: &str) {
        self.modified.insert(Utf16Order(path.to_owned()));
    }

    /// Files that were read and not changed, sorted.
    #[must_use]
    pub fn read_files(&self) -> Vec<&str> {
        self.read.difference(&self.modified).map(|path| path.0.as_str()).collect()
    }

    /// Files that were changed, sorted.
    #[must_use]
    pub fn modified_files(&self) -> Vec<&str> {
        self.modified.iter().map(|path| path.0.as_str()).collect()
    }

    /// What is stored beside the summary: `{readFiles, modifiedFiles}`.
    #[must_use]
    pub fn details(&self) -> Value {
        json!({ "readFiles": self.read_files(), "modifiedFiles": self.modified_files() })
    }
}

/// The summary with the blocks that name its files at the end. Such blocks that the text already
/// holds (a model copied them from the previous summary) are replaced, not doubled.
#[must_use]
pub fn upsert_file_blocks(summary: &str, ops: &FileOps) -> String {
    let text = without_file_blocks(summary);
    let blocks = prompts::file_operations(&ops.read_files(), &ops.modified_files());
    match (text.is_empty(), blocks.is_empty()) {
        (_, true) => text,
        (true, false) => blocks,
        (false, false) => format!("{text}\n\n{blocks}"),
    }
}

/// The summary without blocks that name files, trailing white space trimmed.
#[must_use]
pub fn without_file_blocks(summary: &str) -> String {
    let mut text = summary.to_owned();
    for tag in ["read-files", "modified-files"] {
        while let Some((start, end)) = find_block(&text, tag) {
            let joint = if text[..start].trim_end().is_empty() || text[end..].trim().is_empty() {
                ""
            } else {
                "\n\n"
            };
            text = format!("{}{joint}{}", text[..start].trim_end(), text[end..].trim_start());
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// A block: its opening tag ends a line and begins one or follows another tag, so that prose which
/// merely speaks of the tags stays. A block that was cut off ends at the next blank line.
fn find_block(text: &str, tag: &str) -> Option<(usize, usize)> {
    let (open, close) = (format!("<{tag}>\n"), format!("</{tag}>"));
    let start = text.match_indices(&open).map(|(at, _)| at).find(|at| {
        let before = text[..*at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', '>'])
    })?;
    let body = start + open.len();
    let end = match text[body..].find(&close) {
        Some(length) => body + length + close.len(),
        None => text[body..].find("\n\n").map_or(text.len(), |length| body + length),
    };
    Some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ops(read: &[&str], modified: &[&str]) -> FileOps {
        let mut ops = FileOps::default();
        ops.add_details(&json!({ "readFiles": read, "modifiedFiles": modified }));
        ops
    }

    #[test]
    fn c20_calls_and_earlier_details_add_up_and_a_modified_file_is_not_listed_as_read() {
        let answer: Message = serde_json::from_value(json!({"role": "assistant", "content": [
            {"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "src/b.rs"}},
            {"type": "toolCall", "id": "2", "name": "edit", "arguments": {"path": "src/b.rs"}},
            {"type": "toolCall", "id": "3", "name": "write", "arguments": {"path": "문서.md"}},
            {"type": "toolCall", "id": "4", "name": "bash", "arguments": {"command": "rm x"}},
            {"type": "toolCall", "id": "5", "name": "read", "arguments": {"path": 7}},
            {"type": "toolCall", "id": "6", "name": "read", "arguments": "{\"path\""}
        ]}))
        .unwrap();
        let earlier = [json!({"readFiles": ["src/a.rs", 3], "modifiedFiles": null}), json!("odd")];
        let ops = FileOps::collect([&answer], &earlier);
        assert_eq!(
            ops.details(),
            json!({"readFiles": ["src/a.rs"], "modifiedFiles": ["src/b.rs", "문서.md"]})
        );
    }

    #[test]
    fn c20_blocks_are_a_path_a_line_and_absent_when_empty() {
        let both =
            "sum\n\n<read-files>\na\nb\n</read-files>\n<modified-files>\nc\n</modified-files>";
        assert_eq!(upsert_file_blocks("sum\n\n", &ops(&["b", "a"], &["c"])), both);
        assert_eq!(upsert_file_blocks(both, &ops(&["b", "a"], &["c"])), both, "idempotent");
        assert_eq!(upsert_file_blocks(both, &ops(&[], &[])), "sum");
        assert_eq!(upsert_file_blocks("", &ops(&["a"], &[])), "<read-files>\na\n</read-files>");
    }

    #[test]
    fn c20_older_blocks_go_wherever_they_stand_and_prose_about_them_stays() {
        let glued = "<read-files>\nx\n</read-files><modified-files>\ny\n</modified-files>";
        let text = format!("one\n\n{glued}\n\n---\n\ntwo `<read-files>` three");
        assert_eq!(
            upsert_file_blocks(&text, &ops(&[], &["z"])),
            "one\n\n---\n\ntwo `<read-files>` three\n\n<modified-files>\nz\n</modified-files>"
        );
        assert_eq!(without_file_blocks("one\n\n<modified-files>\ncut/of"), "one");
    }
}
