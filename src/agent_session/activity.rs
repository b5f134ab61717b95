//! What a session is doing: at most one thing, with one cancellation token (SPEC I7).

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::command::{Navigation, PermissionAnswer};
use super::event::{ActivityKind, PermissionQuestion, Progress};
use super::hooks::Heard;
use super::making::{Made, Settled};
use super::queue::{Prompt, Saying};
use crate::agent::event::{AgentEvent, RoundEnd};
use crate::compaction::Reason;
use crate::compaction::plan::CompactionPlan;
use crate::compaction::summarizer::SummaryError;
use crate::message::BashExecutionMessage;
use crate::session::tree::NodeIndex;

/// The one thing that runs.
#[derive(Debug, Default)]
pub(super) enum Activity {
    /// Nothing.
    #[default]
    Idle,
    /// A round of the agent.
    Round {
        /// Stops it.
        cancel: CancellationToken,
    },
    /// Waiting before the request is made again.
    Waiting {
        /// Until then.
        until: Instant,
    },
    /// Hooks look at prompts before they are said.
    Hearing {
        /// Stops it.
        cancel: CancellationToken,
        /// The prompts.
        prompts: Vec<Prompt>,
    },
    /// The summary of a compaction is being made.
    Compacting {
        /// Stops it.
        cancel: CancellationToken,
        /// What it is for.
        job: Box<CompactionJob>,
    },
    /// The summary of a branch is being made.
    Summarizing {
        /// Stops it.
        cancel: CancellationToken,
        /// What it is for.
        job: Box<NavigationJob>,
    },
    /// The person's own command runs.
    Shell {
        /// Stops it.
        cancel: CancellationToken,
    },
}

impl Activity {
    /// Whether nothing runs.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// What stops it; `None` when nothing needs to be told.
    pub(super) const fn cancel(&self) -> Option<&CancellationToken> {
        match self {
            Self::Idle | Self::Waiting { .. } => None,
            Self::Round { cancel }
            | Self::Hearing { cancel, .. }
            | Self::Compacting { cancel, .. }
            | Self::Summarizing { cancel, .. }
            | Self::Shell { cancel } => Some(cancel),
        }
    }

    /// What the screen is told.
    pub(super) const fn kind(&self) -> ActivityKind {
        match self {
            Self::Idle => ActivityKind::Idle,
            Self::Round { .. } => ActivityKind::Answering,
            Self::Waiting { .. } => ActivityKind::Retrying,
            Self::Hearing { .. } => ActivityKind::Hooks,
            Self::Compacting { .. } => ActivityKind::Compacting,
            Self::Summarizing { .. } => ActivityKind::Summarizing,
            Self::Shell { .. } => ActivityKind::Shell,
        }
    }
}

/// A compaction on its way.
#[derive(Debug)]
pub(super) struct CompactionJob {
    /// Why.
    pub(super) reason: Reason,
    /// What is summarised and kept.
    pub(super) plan: CompactionPlan,
    /// What follows it.
    pub(super) then: AfterCompaction,
}

/// What follows a compaction (C1–C3).
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AfterCompaction {
    /// The person speaks next.
    Wait,
    /// The turn goes on: the overflowed request again, or the next round.
    Continue,
    /// This prompt, which was held back so that it is not summarised (F43), is said.
    Say(Vec<Saying>),
    /// A turn has ended: the queue, or the synthetic prompt.
    TurnEnded,
}

/// A navigation that waits for its summary.
#[derive(Debug)]
pub(super) struct NavigationJob {
    /// What the person asked for.
    pub(super) navigation: Navigation,
    /// The leaf that is left.
    pub(super) old_leaf: Option<NodeIndex>,
    /// Where the summary will hang.
    pub(super) new_leaf: Option<NodeIndex>,
    /// Text for the editor afterwards.
    pub(super) editor: Option<String>,
}

/// What running work tells the session.
#[derive(Debug)]
pub(super) enum Work {
    /// A step of a round.
    Agent(AgentEvent),
    /// A round is over.
    RoundEnded(RoundEnd),
    /// A call needs permission.
    Ask {
        /// The question, its number not yet given.
        question: PermissionQuestion,
        /// Takes the answer.
        reply: oneshot::Sender<PermissionAnswer>,
    },
    /// How far a summary is.
    Progress(Progress),
    /// The summary of a compaction is there, or is not to be had.
    Compacted(Result<Made, SummaryError>),
    /// A move in the tree can be made, with its summary if there is one.
    BranchSummarized(Result<Settled, SummaryError>),
    /// Hooks have the word.
    HooksBegin,
    /// Hooks are done with what runs; now the rest of it follows.
    HooksDone,
    /// Hooks have looked at prompts; `None` when they were stopped.
    Heard(Option<Vec<Heard>>),
    /// Output of the person's command.
    ShellOutput(String),
    /// The person's command is over.
    ShellEnded(BashExecutionMessage),
}
