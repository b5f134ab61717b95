//! What happened in a conversation, as a flat list: requests, answers, tool calls with their outcome.
//!
//! Read from messages, or from the text that [`super::super::transcript`] made of them. It records;
//! it does not judge what matters.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use crate::compaction::CONTINUE_PROMPT;
use crate::message::{BashExecutionMessage, Block, Message};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// The person said something.
    Asked(String),
    /// The agent said something.
    Said(String),
    /// A tool call, or a command of the person.
    Did(Deed),
    /// An earlier summary stands here.
    Told(String),
}

/// A tool call and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deed {
    /// The tool's name; `bash` for the person's own commands.
    pub(super) tool: String,
    /// The path, command or pattern it was about.
    pub(super) subject: String,
    /// What came back.
    pub(super) outcome: Outcome,
}

/// See [`Deed::outcome`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It worked.
    Worked(String),
    /// It failed.
    Failed(String),
    /// No result was recorded.
    Open,
}

impl Deed {
    fn new(tool: &str, arguments: &Value) -> Self {
        let subject = ["path", "command", "pattern", "query", "url", "name"]
            .iter()
            .find_map(|key| arguments.get(key).and_then(Value::as_str));
        Self {
            tool: tool.to_owned(),
            subject: subject.unwrap_or_default().trim().to_owned(),
            outcome: Outcome::Open,
        }
    }

    fn settle(&mut self, text: String, is_error: bool) {
        if was_stopped(&text) {
            return;
        }
        self.outcome = if is_error || reads_as_failure(&self.tool, &text) {
            Outcome::Failed(text)
        } else {
            Outcome::Worked(text)
        };
    }

    pub(super) fn changes_a_file(&self) -> bool {
        matches!(self.tool.as_str(), "write" | "edit") && !self.subject.is_empty()
    }

    pub(super) fn is_command(&self) -> bool {
        self.tool == "bash" && !self.subject.is_empty()
    }
}

/// The person stopped it: neither a success nor a failure.
fn was_stopped(text: &str) -> bool {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let last = last.trim_matches(['[', ']', '(', ')', '.', ' ']).to_lowercase();
    ["command was stopped by the user", "command aborted", "command cancelled", "operation aborted"]
        .contains(&last.as_str())
}

/// Where no flag says so: how results of failed calls begin or end.
fn reads_as_failure(tool: &str, text: &str) -> bool {
    let start: String = text.trim_start().chars().take(40).collect::<String>().to_lowercase();
    if ["error:", "error ", "failed ", "could not ", "cannot ", "no such file"]
        .iter()
        .any(|sign| start.starts_with(sign))
    {
        return tool != "read";
    }
    tool == "bash"
        && text.lines().rev().take(4).any(|line| {
            let line = line.to_lowercase();
            ["command was ended by", "command ran longer"].iter().any(|sign| line.contains(sign))
                || [
                    "exited with code ",
                    "exit code: ",
                    "exit code ",
                    "exit status: ",
                    "exit status ",
                ]
                .iter()
                .filter_map(|sign| line.split(sign).nth(1))
                .any(|code| !code.starts_with('0'))
        })
}

/// Reads messages of a session, in any role.
pub(super) fn from_messages(messages: &[Arc<Message>]) -> Vec<Item> {
    let mut items = Vec::new();
    // Calls that wait for a result: call id and where the deed stands.
    let mut waiting: Vec<(&str, usize)> = Vec::new();
    for message in messages {
        match &**message {
            Message::User(user) => said_by_person(&user.content.text(), &mut items),
            Message::Assistant(answer) => {
                for block in &answer.content {
                    match block {
                        Block::Text { text, .. } if !text.trim().is_empty() => {
                            items.push(Item::Said(text.trim().to_owned()));
                        }
                        Block::ToolCall(call) => {
                            waiting.push((&call.id, items.len()));
                            items.push(Item::Did(Deed::new(&call.name, &call.arguments)));
                        }
                        _ => {}
                    }
                }
            }
            Message::ToolResult(result) => {
                let place = waiting.iter().position(|(id, _)| *id == result.tool_call_id);
                if let Some(place) = place {
                    let (_, at) = waiting.remove(place);
                    if let Some(Item::Did(deed)) = items.get_mut(at) {
                        deed.settle(result.content.text(), result.is_error);
                    }
                }
            }
            Message::BashExecution(run) if run.exclude_from_context != Some(true) => {
                items.push(Item::Did(ran_by_person(run)));
            }
            Message::BranchSummary(summary) => items.push(Item::Told(summary.summary.clone())),
            Message::CompactionSummary(summary) => items.push(Item::Told(summary.summary.clone())),
            _ => {}
        }
    }
    items
}

fn ran_by_person(run: &BashExecutionMessage) -> Deed {
    let failed = run.exit_code.is_some_and(|code| code != 0);
    let output = run.output.clone();
    Deed {
        tool: "bash".to_owned(),
        subject: run.command.trim().to_owned(),
        outcome: match (run.cancelled, failed) {
            (true, _) => Outcome::Open,
            (false, true) => Outcome::Failed(output),
            (false, false) => Outcome::Worked(output),
        },
    }
}

/// A user message: their own words, or what `convert_to_llm` made of a summary or a command.
fn said_by_person(text: &str, items: &mut Vec<Item>) {
    let text = text.trim();
    if text.is_empty() || text == CONTINUE_PROMPT {
        return;
    }
    if let Some((_, rest)) = text.split_once("\n\n<summary>\n")
        && let Some(summary) = rest.strip_suffix("</summary>")
    {
        items.push(Item::Told(summary.trim().to_owned()));
        return;
    }
    if let Some((command, output)) = text.strip_prefix("Ran `").and_then(|t| t.split_once("`\n")) {
        let mut deed = Deed::new("bash", &serde_json::json!({ "command": command }));
        deed.settle(output.replace("```", "").trim().to_owned(), false);
        items.push(Item::Did(deed));
        return;
    }
    items.push(Item::Asked(text.to_owned()));
}

const LABELS: [&str; 5] = [
    "[User]: ",
    "[Assistant]: ",
    "[Assistant thinking]: ",
    "[Assistant tool calls]: ",
    "[Tool result]: ",
];

/// Reads a serialised conversation back.
pub(super) fn from_transcript(transcript: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut waiting: VecDeque<usize> = VecDeque::new();
    for block in blocks_of(transcript) {
        let Some(label) = LABELS.iter().find(|label| block.starts_with(**label)) else { continue };
        let text = &block[label.len()..];
        match *label {
            "[User]: " => {
                waiting.clear();
                said_by_person(text, &mut items);
            }
            "[Assistant]: " => items.push(Item::Said(text.trim().to_owned())),
            "[Assistant tool calls]: " => {
                waiting.clear();
                for (name, arguments) in parse_calls(text) {
                    waiting.push_back(items.len());
                    items.push(Item::Did(Deed::new(&name, &arguments)));
                }
            }
            "[Tool result]: " => {
                let deed = waiting.pop_front().and_then(|at| items.get_mut(at));
                if let Some(Item::Did(deed)) = deed {
                    deed.settle(text.to_owned(), false);
                }
            }
            _ => {}
        }
    }
    items
}

/// Cuts the transcript before each label that begins a paragraph.
fn blocks_of(transcript: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = LABELS
        .iter()
        .flat_map(|label| transcript.match_indices(label).map(|(at, _)| at))
        .filter(|at| *at == 0 || transcript[..*at].ends_with("\n\n"))
        .collect();
    starts.sort_unstable();
    let ends = starts.iter().skip(1).copied().chain([transcript.len()]);
    starts.iter().zip(ends).map(|(start, end)| transcript[*start..end].trim_end()).collect()
}

/// Reads `name(arg=json, …); name(…)` as far as it can be read.
fn parse_calls(text: &str) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let mut rest = text;
    while let Some((name, mut inside)) = rest.split_once('(') {
        let mut arguments = serde_json::Map::new();
        while let Some((key, value)) = inside.split_once('=') {
            if key.contains(')') {
                break;
            }
            let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
            let Some(Ok(parsed)) = values.next() else { break };
            arguments.insert(key.trim().to_owned(), parsed);
            inside = &value[values.byte_offset()..];
            match inside.strip_prefix(", ") {
                Some(more) => inside = more,
                None => break,
            }
        }
        calls.push((name.trim().to_owned(), Value::Object(arguments)));
        rest = inside.split_once("; ").map_or("", |(_, more)| more);
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::super::super::transcript::serialize_conversation;
    use super::*;
    use serde_json::json;

    fn conversation() -> Vec<Arc<Message>> {
        serde_json::from_value(json!([
            {"role": "user", "content": "src/lib.rs를 고쳐 줘\n\n빨리"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Looking."},
                {"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a (b).rs; c", "limit": 2}},
                {"type": "toolCall", "id": "2", "name": "bash", "arguments": {"command": "cargo test"}}
            ]},
            {"role": "toolResult", "toolCallId": "1", "toolName": "read", "content": "fn main() {}\n\nend"},
            {"role": "toolResult", "toolCallId": "2", "toolName": "bash",
             "content": "boom\n\nCommand exited with code 101", "isError": true},
            {"role": "bashExecution", "command": "git status", "output": "clean", "exitCode": 0},
            {"role": "user", "content": "Continue if you have next steps."},
            {"role": "assistant", "content": [
                {"type": "toolCall", "id": "3", "name": "edit", "arguments": {"path": "x", "edits": []}}
            ]}
        ]))
        .unwrap()
    }

    #[test]
    fn messages_and_their_transcript_tell_the_same() {
        let messages = conversation();
        let read = from_messages(&messages);
        let llm = crate::session::view::convert_to_llm(&messages);
        let again = from_transcript(&serialize_conversation(&llm));
        assert_eq!(read, again);
        assert_eq!(read.len(), 6);
        assert_eq!(read[0], Item::Asked("src/lib.rs를 고쳐 줘\n\n빨리".into()));
        let Item::Did(deed) = &read[3] else { panic!("{read:?}") };
        assert!(matches!(deed.outcome, Outcome::Failed(_)));
        let Item::Did(open) = &read[5] else { panic!("{read:?}") };
        assert_eq!((open.subject.as_str(), &open.outcome), ("x", &Outcome::Open));
    }

    #[test]
    fn a_summary_in_the_transcript_is_known_as_one() {
        let messages: Vec<Arc<Message>> = serde_json::from_value(json!([
            {"role": "branchSummary", "summary": "## Goal\nTry", "fromId": "aaaaaaaa"}
        ]))
        .unwrap();
        let llm = crate::session::view::convert_to_llm(&messages);
        let told = vec![Item::Told("## Goal\nTry".into())];
        assert_eq!(from_transcript(&serialize_conversation(&llm)), told);
        assert_eq!(from_messages(&messages), told);
    }
}
