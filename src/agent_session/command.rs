//! What a shell can ask of a session.

use std::sync::Arc;

use serde::Deserialize;

use crate::ids::EntryId;
use crate::message::Image;
use crate::provider::ThinkingLevel;
use crate::session::tree::ModelRef;
use crate::settings::Settings;

/// One wish of the person (or of the program that drives us).
#[derive(Debug, Clone, PartialEq)]
pub enum SessionCommand {
    /// Say something. While something runs it is queued as `delivery` says.
    Prompt {
        /// The text as typed, templates not yet expanded.
        text: String,
        /// Pictures that go with it.
        images: Vec<Image>,
        /// When to deliver it if a turn is running (U3).
        delivery: Delivery,
    },
    /// Stop whatever runs (Escape). Queued text comes back as [`super::event::SessionEvent::QueueReturned`].
    Abort,
    /// Take the queued messages back into the editor.
    TakeQueue,
    /// Summarise old history (C1).
    Compact {
        /// `Additional focus` of the summary.
        instructions: Option<String>,
    },
    /// Say what a compaction would do (C26).
    PlanCompaction,
    /// Move the leaf back before the newest compaction (C26).
    UndoCompaction,
    /// Put all pruned originals back (C9).
    Unprune,
    /// Move to another place of the tree (B1).
    Navigate(Navigation),
    /// Name an entry; `None` takes the name away.
    Label {
        /// Which entry.
        target: EntryId,
        /// The name.
        label: Option<String>,
    },
    /// Name the session.
    Name(String),
    /// Run a command for the person (`!`, `!!`).
    Shell {
        /// The command.
        command: String,
        /// `!!`: keep it from the model.
        excluded: bool,
    },
    /// Go by other settings from now on; what runs is not stopped, its next step sees them.
    UseSettings(Arc<Settings>),
    /// Answer with another model from now on.
    SetModel(ModelRef),
    /// Ask for another thinking level from now on.
    SetThinking(ThinkingLevel),
    /// The person's answer to [`super::event::SessionEvent::PermissionAsked`].
    Permission {
        /// The question's number.
        question: u64,
        /// The answer.
        answer: PermissionAnswer,
    },
    /// Ask for [`super::event::SessionEvent::Context`]: what fills the window.
    ShowContext,
    /// Go on in another session.
    Switch(SwitchTo),
    /// Say [`super::event::SessionEvent::Echo`] once all that was asked before is taken up.
    Echo(u64),
    /// Let what runs and what waits come to its end, then end. What is asked for meanwhile is still done.
    Finish,
    /// Stop everything and end.
    Quit,
}

/// When a prompt is delivered while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// After the tool that runs now; calls not yet started are skipped (F89).
    Steer,
    /// When the turn is over.
    FollowUp,
}

/// A move in the tree (B1, B6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    /// The selected entry.
    pub target: EntryId,
    /// What becomes of the branch that is left.
    pub summary: SummaryChoice,
    /// A label for the target (or the summary, when one is made).
    pub label: Option<String>,
}

/// See [`Navigation::summary`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryChoice {
    /// No summary.
    None,
    /// With the built-in prompt.
    Default,
    /// With the built-in prompt and a focus.
    Focus(String),
    /// With the person's own prompt instead of the built-in one.
    OwnPrompt(String),
    /// Without a model (B7).
    Extractive,
}

/// A person's answer to a question for permission (A3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// Yes, this time.
    Once,
    /// Yes, and whatever the offered rule covers, for the rest of the session.
    Always,
    /// Yes, but run this command instead.
    Edited {
        /// As the person wrote it.
        command: String,
    },
    /// No.
    No {
        /// Why, for the model.
        reason: Option<String>,
    },
}

/// Another session to go on in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchTo {
    /// A fresh one.
    New,
    /// An existing file.
    Open(std::path::PathBuf),
    /// A new file with the path to this entry (`None`: to the leaf).
    Fork(Option<EntryId>),
    /// A new file with the whole tree.
    Clone,
}
