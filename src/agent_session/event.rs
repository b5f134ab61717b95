//! What a session tells its shell. In `--mode json` these are the lines on stdout: the fields of an event
//! are in snake case (C25), what is nested in them is written as in session files, in camel case.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

pub use crate::agent::event::StreamDelta;
use crate::compaction::Reason;
pub use crate::compaction::summarizer::Progress;
use crate::ids::EntryId;
use crate::message::{Image, ToolCall};
use crate::provider::ThinkingLevel;
use crate::provider::model::Model;
use crate::session::entry::SessionEntry;
use crate::session::reader::SessionReader;

/// Something that happened. Whatever it speaks of is already on disk.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionEvent {
    /// A session is open: at the start and after every switch.
    Opened {
        /// Read access to its tree and bodies.
        #[serde(skip)]
        reader: SessionReader,
        /// Its file, which need not be there while nothing was said; `None` with `--no-session`.
        file: Option<PathBuf>,
        /// Its folder.
        cwd: PathBuf,
        /// What was wrong with the file, for the person.
        warnings: Vec<String>,
        /// Whether another process writes it, so that we only read.
        read_only: bool,
    },
    /// An entry was appended at the leaf. What is appended elsewhere is told by `Moved`.
    Appended {
        /// The entry.
        entry: Arc<SessionEntry>,
    },
    /// The leaf moved: rebuild what is shown from the new path (B5, B6).
    Moved {
        /// The new leaf.
        leaf: Option<EntryId>,
        /// Text for the editor, when a user message was selected.
        editor: Option<String>,
    },
    /// Something started, or ended (then [`ActivityKind::Idle`]).
    Activity {
        /// What runs now.
        kind: ActivityKind,
    },
    /// More of the answer that streams; gone when its entry is appended.
    Stream {
        /// What to add.
        delta: StreamDelta,
    },
    /// A tool call started.
    ToolStarted {
        /// The call.
        call: ToolCall,
    },
    /// Output of a running tool call, for the screen.
    ToolProgress {
        /// The call's id.
        call_id: String,
        /// A piece of output.
        text: String,
    },
    /// The agent waits for permission.
    PermissionAsked(PermissionQuestion),
    /// A question was answered or became moot.
    PermissionSettled {
        /// The question's number.
        question: u64,
    },
    /// The queue of messages changed.
    Queue {
        /// Texts still to be delivered, in order.
        steering: Vec<String>,
        /// Texts for after the turn.
        follow_up: Vec<String>,
    },
    /// Queued messages came back after a stop (C24, U3).
    QueueReturned {
        /// Their texts, joined by blank lines.
        text: String,
        /// Their images, in order.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// A compaction started (C25).
    CompactionStart {
        /// Why.
        reason: Reason,
    },
    /// How far a summary is (U6).
    Progress(Progress),
    /// A compaction ended (C25).
    CompactionEnd {
        /// Why it ran.
        reason: Reason,
        /// What was stored, when it succeeded.
        result: Option<CompactionResult>,
        /// Whether the person stopped it.
        aborted: bool,
        /// Whether the agent goes on by itself.
        will_retry: bool,
        /// What went wrong.
        error: Option<String>,
    },
    /// What a compaction would do (C26).
    CompactionPlanned {
        /// The plan as `regrow compact --dry-run --json` prints it, or `{nothing}`.
        plan: Value,
    },
    /// A move in the tree did not happen (B7).
    NavigationEnded {
        /// The entry that was selected.
        target: EntryId,
        /// Whether the person stopped it.
        aborted: bool,
        /// What went wrong.
        error: Option<String>,
    },
    /// A request failed and is tried again.
    Retry {
        /// What went wrong.
        error: String,
        /// The attempt that will follow, from 2.
        attempt: u32,
        /// Milliseconds until then.
        delay_ms: u64,
    },
    /// The model or the thinking level changed.
    Model {
        /// The model.
        model: Arc<Model>,
        /// The level asked for.
        thinking: ThinkingLevel,
    },
    /// How full the window is and what was spent (S9).
    Gauge(Gauge),
    /// What fills the window (answer to `ShowContext`).
    Context {
        /// As `regrow context --json` prints it.
        report: Value,
    },
    /// A word to the person.
    Notice {
        /// How grave it is.
        level: NoticeLevel,
        /// One sentence, with what to do next.
        text: String,
    },
    /// All that was asked before this was asked for is taken up: done, or begun.
    Echo {
        /// As it was sent.
        number: u64,
    },
    /// The session is over; nothing follows.
    Ended,
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// Nothing; waiting for the person.
    Idle,
    /// Waiting for or reading a model's answer.
    Answering,
    /// Running tool calls.
    RunningTools,
    /// Waiting to try again.
    Retrying,
    /// Making the summary of a compaction.
    Compacting,
    /// Making the summary of a branch.
    Summarizing,
    /// Running the person's own command.
    Shell,
    /// Waiting for hooks.
    Hooks,
}

/// A question for permission (A3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PermissionQuestion {
    /// Its number, for the answer.
    pub question: u64,
    /// The tool's name.
    pub tool: String,
    /// The command, or the path to be changed.
    pub subject: String,
    /// The byte ranges of `subject`, as `[start, end]`, that no rule allows or that were not understood;
    /// empty when that is all of it.
    pub marks: Vec<(usize, usize)>,
    /// Unified diff of a change to a file.
    pub diff: Option<String>,
    /// Why it is asked, when that is not plain: `outside the workspace`, `deletes files`.
    pub note: Option<String>,
    /// What *always* would allow, in words: `cargo build*`, `edits in this folder`.
    pub rule: String,
    /// Whether the subject is a command that may be answered with another one.
    pub editable: bool,
}

/// What a compaction stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// The compaction's entry.
    pub entry_id: EntryId,
    /// Tokens in context before.
    pub tokens_before: u64,
    /// Tokens in context after, estimated.
    pub tokens_after: u64,
    /// One or two sentences.
    pub short_summary: Option<String>,
    /// Entries that were summarised.
    pub summarized: usize,
    /// Entries that were kept.
    pub kept: usize,
    /// Whether it was made without a model (C22).
    pub extractive: bool,
}

/// How full the window is and what was spent (S9).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Gauge {
    /// Tokens in context.
    pub tokens: u64,
    /// Whether `tokens` is an estimate.
    pub estimated: bool,
    /// The model's window.
    pub window: u64,
    /// Tokens at which the next automatic compaction starts; `None` when it is off.
    pub compacts_at: Option<u64>,
    /// US dollars spent on the branch, summaries included.
    pub cost: f64,
    /// Tokens sent on the branch.
    pub total_input: u64,
    /// Tokens received on the branch.
    pub total_output: u64,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// For information.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}
