//! What a session does, in lines of words: nothing is drawn, nothing is taken back, a line is said when
//! it is whole. Pure.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::agent_session::event::{
    ActivityKind, Gauge, NoticeLevel, PermissionQuestion, SessionEvent, StreamDelta,
};
use crate::compaction::Reason;
use crate::message::{AssistantMessage, Message, StopReason};
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::report::ContextReport;
use crate::tui::amount::{money, tokens};
use crate::tui::cell::{ToolCell, ToolState};
use crate::tui::words;

/// Lines of a failed command, or of a change, that are said.
const MOST_LINES: usize = 12;

/// Puts events into words.
#[derive(Debug, Default)]
pub struct Voice {
    cwd: PathBuf,
    /// Text of the answer after its last line feed.
    partial: String,
    /// Whether the answer has begun.
    speaking: bool,
    /// Whether its reasoning was mentioned.
    thinking: bool,
    /// The block of the answer that streams.
    block: Option<usize>,
    tools: HashMap<String, ToolCell>,
    gauge: Gauge,
    model: String,
    /// Which pieces of a summary were told, as `2 of 3`.
    piece: String,
    busy: bool,
}

impl Voice {
    /// How full the window is and what was spent.
    #[must_use]
    pub const fn gauge(&self) -> &Gauge {
        &self.gauge
    }

    /// Whether something runs.
    #[must_use]
    pub const fn busy(&self) -> bool {
        self.busy
    }

    /// The lines that an event is worth.
    pub fn hear(&mut self, event: &SessionEvent) -> Vec<String> {
        let mut said = Vec::new();
        match event {
            SessionEvent::Opened { reader, cwd, warnings, read_only, .. } => {
                self.cwd.clone_from(cwd);
                let tree = reader.tree();
                let name = tree.name().map(|name| format!("{name}, ")).unwrap_or_default();
                let what = match tree.active_path().len() {
                    0 => "a fresh session".to_owned(),
                    entries => format!("{name}{entries} entries on the path"),
                };
                said.push(format!("in {}: {what}", cwd.display()));
                if *read_only {
                    said.push("read-only: another process writes this session".to_owned());
                }
                said.extend(warnings.iter().map(|warning| format!("warning: {warning}")));
            }
            SessionEvent::Model { model, thinking } => {
                let words = format!("model {}, thinking {}", model.model_ref(), thinking.as_str());
                if words != self.model {
                    self.model.clone_from(&words);
                    said.push(words);
                }
            }
            SessionEvent::Gauge(gauge) => self.gauge = *gauge,
            SessionEvent::Stream { delta } => self.stream(delta, &mut said),
            SessionEvent::Appended { entry } => self.appended(entry, &mut said),
            SessionEvent::Activity { kind } => self.activity(*kind, &mut said),
            SessionEvent::ToolStarted { call } => {
                self.end_line(&mut said);
                if call.name == "bash" {
                    said.push(format!("running: {}", ToolCell::new(call).words(&self.cwd)));
                }
            }
            SessionEvent::PermissionAsked(question) => {
                self.end_line(&mut said);
                said.extend(asked(question));
            }
            SessionEvent::Queue { steering, follow_up } => {
                let waiting = steering.len() + follow_up.len();
                if waiting > 0 {
                    said.push(format!("{waiting} waiting to be sent"));
                }
            }
            SessionEvent::QueueReturned { text, .. } => said.push(format!("not sent: {text}")),
            SessionEvent::Moved { editor, .. } => {
                said.push("moved".to_owned());
                said.extend(editor.iter().map(|text| format!("what stood here: {text}")));
            }
            SessionEvent::Retry { error, attempt, delay_ms } => {
                let seconds = (*delay_ms as f64 / 1_000.0).ceil();
                said.push(format!("{error}; attempt {attempt} in {seconds} s, ctrl+c stops"));
            }
            SessionEvent::Notice { level, text } => said.push(match level {
                NoticeLevel::Info => text.clone(),
                NoticeLevel::Warning => format!("warning: {text}"),
                NoticeLevel::Error => format!("error: {text}"),
            }),
            event => self.summaries(event, &mut said),
        }
        said
    }

    fn summaries(&mut self, event: &SessionEvent, said: &mut Vec<String>) {
        match event {
            SessionEvent::CompactionStart { reason } => {
                self.end_line(said);
                said.push(match reason {
                    Reason::Manual => "compacting, ctrl+c stops".to_owned(),
                    Reason::Threshold => "compacting: the window fills up".to_owned(),
                    Reason::Overflow => "compacting: the window has overflowed".to_owned(),
                });
            }
            SessionEvent::Progress(progress) => {
                let piece = format!("{} of {}", progress.piece, progress.pieces);
                if progress.pieces > 1 && piece != self.piece {
                    said.push(format!("summarising {}, {piece}", progress.what));
                    self.piece = piece;
                }
            }
            SessionEvent::CompactionEnd { result: Some(result), .. } => {
                let short = result.short_summary.as_deref().unwrap_or("done");
                said.push(format!(
                    "compacted from {} to {} tokens: {short}",
                    tokens(result.tokens_before),
                    tokens(result.tokens_after)
                ));
            }
            SessionEvent::CompactionEnd { aborted: true, .. } => {
                said.push("compaction stopped; nothing has changed".to_owned());
            }
            SessionEvent::CompactionEnd { reason, error: Some(error), .. } => {
                said.push(format!("error: {}", words::failed_compaction(*reason, error)));
            }
            SessionEvent::CompactionPlanned { plan } => said.push(words::plan(plan)),
            SessionEvent::NavigationEnded { aborted, error, .. } => said.push(match error {
                _ if *aborted => "stopped; you are where you were".to_owned(),
                Some(error) => format!("error: {error}"),
                None => "you are where you were".to_owned(),
            }),
            SessionEvent::Context { report } => {
                match serde_json::from_value::<ContextReport>(report.clone()) {
                    Ok(report) => said.push(context(&report)),
                    Err(error) => said.push(format!("error: {error}")),
                }
            }
            _ => {}
        }
    }

    fn stream(&mut self, delta: &StreamDelta, said: &mut Vec<String>) {
        match delta {
            StreamDelta::Start => self.begin_answer(),
            StreamDelta::Text { block, text } => {
                if self.block.is_some_and(|before| before != *block) {
                    self.end_line(said);
                }
                self.block = Some(*block);
                self.say(text, said);
            }
            StreamDelta::Thinking { .. } if !self.thinking => {
                self.thinking = true;
                said.push("thinking".to_owned());
            }
            _ => {}
        }
    }

    fn begin_answer(&mut self) {
        self.partial.clear();
        self.block = None;
        (self.speaking, self.thinking) = (false, false);
    }

    /// Text of an answer: what is whole is said, the rest waits.
    fn say(&mut self, text: &str, said: &mut Vec<String>) {
        self.partial.push_str(text);
        while let Some(feed) = self.partial.find('\n') {
            let line: String = self.partial.drain(..=feed).collect();
            self.say_line(line.trim_end(), said);
        }
    }

    fn say_line(&mut self, line: &str, said: &mut Vec<String>) {
        if !self.speaking && line.is_empty() {
            return;
        }
        let who = if self.speaking { "" } else { "regrow: " };
        self.speaking = true;
        said.push(format!("{who}{line}"));
    }

    /// Says what waits for its end of line.
    fn end_line(&mut self, said: &mut Vec<String>) {
        let line = std::mem::take(&mut self.partial);
        if !line.trim().is_empty() {
            self.say_line(line.trim_end(), said);
        }
    }

    fn appended(&mut self, entry: &SessionEntry, said: &mut Vec<String>) {
        match &entry.body {
            EntryBody::Message { message: Message::Assistant(answer) } => {
                self.answered(answer, said);
            }
            EntryBody::Message { message: Message::ToolResult(result) } => {
                let mut tool = self.tools.remove(&result.tool_call_id).unwrap_or_else(|| {
                    ToolCell::streaming(&result.tool_call_id, &result.tool_name)
                });
                tool.finish(result);
                said.push(tool.words(&self.cwd));
                let changed = matches!(result.tool_name.as_str(), "edit" | "write");
                if tool.state() == ToolState::Failed {
                    said.extend(end_of(tool.outcome()));
                } else if changed {
                    said.extend(beginning_of(tool.outcome()));
                }
            }
            EntryBody::Message { message: Message::BashExecution(run) } => {
                said.extend(end_of(&run.output));
                match run.exit_code {
                    Some(0) => {}
                    Some(code) => said.push(format!("exit {code}")),
                    None => said.push("stopped".to_owned()),
                }
            }
            EntryBody::BranchSummary(summary) => {
                said.push("what the branch that was left came to:".to_owned());
                said.extend(summary.summary.lines().map(ToOwned::to_owned));
            }
            EntryBody::SessionInfo { name: Some(name) } => {
                said.push(format!("the session is named {name}"));
            }
            EntryBody::Label { label, .. } => said.push(match label {
                Some(label) => format!("labelled {label}"),
                None => "the label is gone".to_owned(),
            }),
            _ => {}
        }
    }

    fn answered(&mut self, answer: &AssistantMessage, said: &mut Vec<String>) {
        if self.block.is_none() {
            // Nothing of it has streamed.
            self.say(&answer.text(), said);
        }
        self.end_line(said);
        self.begin_answer();
        for call in answer.tool_calls() {
            self.tools.insert(call.id.clone(), ToolCell::new(call));
        }
        match answer.stop_reason {
            StopReason::Error => {
                let words = answer.error_message.as_deref().unwrap_or("the request failed");
                said.push(format!("error: {words}"));
            }
            StopReason::Length => {
                said.push("warning: the answer was cut off at the output limit".to_owned());
            }
            StopReason::Aborted => said.push("stopped".to_owned()),
            _ => {}
        }
    }

    fn activity(&mut self, kind: ActivityKind, said: &mut Vec<String>) {
        let was_busy = std::mem::replace(&mut self.busy, kind != ActivityKind::Idle);
        if kind != ActivityKind::Idle || !was_busy {
            return;
        }
        self.end_line(said);
        self.begin_answer();
        self.tools.clear();
        let Gauge { tokens, window, estimated, cost, .. } = self.gauge;
        let percent = (tokens * 100).checked_div(window).unwrap_or_default();
        let about = if estimated { "about " } else { "" };
        let spent = money(cost);
        let spent = if spent.is_empty() { spent } else { format!(", {spent}") };
        said.push(format!("done; context {about}{percent}%{spent}"));
    }
}

/// A question for permission.
fn asked(question: &PermissionQuestion) -> Vec<String> {
    let verb = if question.editable { "wants to run" } else { "asks for" };
    let mut said = vec![format!("{} {verb}: {}", question.tool, question.subject)];
    said.extend(question.note.iter().map(|note| format!("careful: {note}")));
    said.extend(question.diff.iter().flat_map(|diff| beginning_of(diff)));
    said.push(format!("allow? y: once; a: always {}; n: no, or n and why", question.rule));
    if question.editable {
        said.push("e and another command: run that instead".to_owned());
    }
    said
}

fn end_of(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(MOST_LINES);
    let above = (from > 0).then(|| format!("  {from} lines above"));
    above.into_iter().chain(lines[from..].iter().map(|line| format!("  {line}"))).collect()
}

fn beginning_of(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let mut said: Vec<_> =
        lines.by_ref().take(MOST_LINES).map(|line| format!("  {line}")).collect();
    let more = lines.count();
    if more > 0 {
        said.push(format!("  {more} more lines"));
    }
    said
}

fn context(report: &ContextReport) -> String {
    let mut words = vec![
        format!("context {} of {}", tokens(report.tokens), tokens(report.window)),
        format!("system prompt {}", tokens(report.system_prompt)),
        format!("tools {}", tokens(report.tools)),
        format!("kept and since then {}", tokens(report.kept_tail.tokens + report.since.tokens)),
    ];
    words.extend(
        report.summary.as_ref().map(|summary| format!("summary {}", tokens(summary.tokens))),
    );
    words.extend(report.compacts_at.map(|at| format!("next compaction at {}", tokens(at))));
    words.join(", ")
}
