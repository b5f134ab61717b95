//! How a summary comes about (SPEC section 6, C16–C22, B3, B4): hooks have the first word and may stop
//! it or give it themselves; else the summariser makes it, with what hooks add. Nothing here touches
//! the session: dropped at any point, it leaves no trace.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::activity::{NavigationJob, Work};
use super::command::SummaryChoice;
use super::hooks::HookDesk;
use super::{AgentSession, Reports};
use crate::compaction::Reason;
use crate::compaction::branch::collect_entries_for_branch_summary;
use crate::compaction::extractive::extract_branch;
use crate::compaction::file_ops::FileOps;
use crate::compaction::plan::CompactionPlan;
use crate::compaction::summarizer::{
    BranchInput, BranchInstructions, CompactionInput, Summarizer, Summary, SummaryError,
};
use crate::hook::EventName;
use crate::hook::chain::{Cancelled, ChainEnd};
use crate::hook::compaction::{BeforeCompact, Compacting, OwnCompaction, Preparation};
use crate::hook::tree::BeforeTree;
use crate::ids::EntryId;
use crate::provider::model::Model;
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::reader::SessionReader;
use crate::session::tree::NodeIndex;
use crate::settings::CompactionSettings;

/// What asks the model.
#[derive(Clone)]
struct Writer {
    summarizer: Arc<Summarizer>,
    model: Arc<Model>,
    session_id: String,
}

/// The material of a compaction that is to be stored.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) summary: Summary,
    /// Set when a hook made it.
    pub(super) own: Option<OwnPlace>,
    /// Hooks' data for the next compaction.
    pub(super) preserve_data: Option<Value>,
}

/// What else a hook says of a compaction that it made.
#[derive(Debug)]
pub(super) struct OwnPlace {
    pub(super) first_kept: EntryId,
    pub(super) tokens_before: u64,
    pub(super) details: Option<Value>,
}

/// Makes a compaction's summary.
pub(super) struct CompactionMaker {
    desk: HookDesk,
    writer: Writer,
    reader: SessionReader,
    plan: CompactionPlan,
    reason: Reason,
    settings: CompactionSettings,
    input: CompactionInput,
}

impl AgentSession {
    fn writer(&self) -> Writer {
        Writer {
            summarizer: self.deps.summarizer.clone(),
            model: self.model.clone(),
            session_id: self.store.header().id.clone(),
        }
    }

    pub(super) fn compaction_maker(
        &self,
        plan: &CompactionPlan,
        reason: Reason,
        instructions: Option<String>,
    ) -> CompactionMaker {
        CompactionMaker {
            desk: self.desk(),
            writer: self.writer(),
            reader: self.reader(),
            plan: plan.clone(),
            reason,
            settings: self.deps.settings.compaction.clone(),
            input: self.compaction_input(plan, instructions),
        }
    }

    pub(super) fn branch_maker(&self, job: &NavigationJob) -> BranchMaker {
        let choice = job.navigation.summary.clone();
        // What is not left behind needs no summary.
        let wants_summary = choice != SummaryChoice::None;
        let input = (wants_summary && job.new_leaf != job.old_leaf)
            .then(|| self.branch_input(job.old_leaf, job.new_leaf, &choice));
        BranchMaker {
            desk: self.desk(),
            writer: self.writer(),
            reader: self.reader(),
            target: job.navigation.target.clone(),
            label: job.navigation.label.clone(),
            old_leaf: job.old_leaf,
            new_leaf: job.new_leaf,
            old_leaf_id: self.speaking_id(job.old_leaf),
            choice,
            input,
        }
    }
}

impl CompactionMaker {
    /// Runs the hooks, then asks the model.
    ///
    /// # Errors
    /// Stopped by the person, cancelled by a hook, or no summary was to be had.
    pub(super) async fn make(
        mut self,
        news: &Reports,
        cancel: &CancellationToken,
    ) -> Result<Made, SummaryError> {
        if self.desk.wants(EventName::SessionBeforeCompact) {
            let mut before = self.before();
            hooked(&self.desk, &mut before, news, cancel).await?;
            if let Some(own) = before.own {
                return Ok(Made::by_hook(own));
            }
        }
        let mut preserve_data = None;
        if self.desk.wants(EventName::SessionCompacting) {
            let mut compacting = self.compacting();
            hooked(&self.desk, &mut compacting, news, cancel).await?;
            self.input.prompt = compacting.prompt;
            self.input.hook_context = compacting.context;
            preserve_data = compacting.preserve_data;
        }
        let Writer { summarizer, model, session_id } = &self.writer;
        let progress = |progress| news.send(Work::Progress(progress));
        let summary =
            summarizer.compaction(self.input, model, session_id, &progress, cancel).await?;
        Ok(Made { summary, own: None, preserve_data })
    }

    /// What `session_before_compact` says. Reads the whole path.
    pub(super) fn before(&self) -> BeforeCompact {
        let path = self.reader.tree().path(Some(self.plan.leaf));
        let previous = self.plan.previous.and_then(|index| self.reader.entry(index).ok());
        let previous_data = previous.and_then(|entry| match &entry.body {
            EntryBody::Compaction(compaction) => compaction.preserve_data.clone(),
            _ => None,
        });
        let input = &self.input;
        let summarised = input.history.iter().chain(&input.turn_prefix).map(AsRef::as_ref);
        BeforeCompact {
            reason: self.reason,
            preparation: Preparation {
                first_kept: self.reader.tree().node(self.plan.first_kept).id.clone(),
                history: input.history.clone(),
                turn_prefix: input.turn_prefix.clone(),
                is_split_turn: self.plan.is_split_turn,
                tokens_before: self.plan.tokens_before,
                previous_summary: input.previous_summary.clone(),
                previous_data,
                file_ops: FileOps::collect(summarised, &input.earlier_details),
                settings: self.settings.clone(),
            },
            branch: entries(&self.reader, &path),
            instructions: input.instructions.clone(),
            own: None,
        }
    }

    /// What `session.compacting` says.
    pub(super) fn compacting(&self) -> Compacting {
        let messages = self.input.history.iter().chain(&self.input.turn_prefix);
        Compacting { messages: messages.cloned().collect(), ..Compacting::default() }
    }
}

impl Made {
    fn by_hook(own: OwnCompaction) -> Self {
        let OwnCompaction {
            summary,
            short_summary,
            first_kept,
            tokens_before,
            details,
            preserve_data,
        } = own;
        Self {
            summary: Summary { text: summary, short: short_summary, ..Summary::default() },
            own: Some(OwnPlace { first_kept, tokens_before, details }),
            preserve_data,
        }
    }
}

/// A summary of a branch that is to be stored.
#[derive(Debug)]
pub(super) struct MadeBranch {
    pub(super) summary: Summary,
    /// Whether a hook made it.
    pub(super) from_extension: bool,
}

/// What becomes of a move in the tree.
#[derive(Debug)]
pub(super) enum Settled {
    /// It takes place.
    Goes {
        /// What is stored with it; `None` when there is nothing to summarise or none was wanted.
        summary: Option<MadeBranch>,
        /// The label to be given.
        label: Option<String>,
    },
    /// A hook stopped it.
    Stopped(Cancelled),
}

/// Settles a move in the tree: hooks, then the summary.
pub(super) struct BranchMaker {
    desk: HookDesk,
    writer: Writer,
    reader: SessionReader,
    target: EntryId,
    label: Option<String>,
    old_leaf: Option<NodeIndex>,
    new_leaf: Option<NodeIndex>,
    old_leaf_id: Option<EntryId>,
    choice: SummaryChoice,
    /// Set when there is a summary to be made.
    input: Option<BranchInput>,
}

impl BranchMaker {
    /// Runs the hooks, then asks the model.
    ///
    /// # Errors
    /// Stopped by the person, or no summary was to be had.
    pub(super) async fn make(
        mut self,
        news: &Reports,
        cancel: &CancellationToken,
    ) -> Result<Settled, SummaryError> {
        let mut own = None;
        if self.desk.wants(EventName::SessionBeforeTree) {
            let mut before = self.before();
            match chain(&self.desk, &mut before, news, cancel).await {
                ChainEnd::Passed => {}
                ChainEnd::Cancelled(cancelled) => return Ok(Settled::Stopped(cancelled)),
                ChainEnd::Stopped => return Err(SummaryError::Cancelled),
            }
            self.label = before.label.take();
            if let Some(input) = &mut self.input {
                input.instructions = before.instructions.map(|words| match before.replace {
                    true => BranchInstructions::Replace(words),
                    false => BranchInstructions::Focus(words),
                });
                own = before.summary;
            }
        }
        let label = self.label.take();
        let summary = match own {
            Some(own) => Some(MadeBranch {
                summary: Summary {
                    text: own.summary,
                    details: own.details.unwrap_or_default(),
                    ..Summary::default()
                },
                from_extension: true,
            }),
            None => {
                let summary = self.summary(news, cancel).await?;
                summary.map(|summary| MadeBranch { summary, from_extension: false })
            }
        };
        Ok(Settled::Goes { summary, label })
    }

    async fn summary(
        self,
        news: &Reports,
        cancel: &CancellationToken,
    ) -> Result<Option<Summary>, SummaryError> {
        let Some(input) = self.input else { return Ok(None) };
        if self.choice == SummaryChoice::Extractive {
            return Ok((!input.messages.is_empty()).then(|| extract_branch(&input)));
        }
        let Writer { summarizer, model, session_id } = &self.writer;
        let progress = |progress| news.send(Work::Progress(progress));
        summarizer.branch(input, model, session_id, &progress, cancel).await
    }

    /// What `session_before_tree` says. Reads the branch that would be left.
    pub(super) fn before(&self) -> BeforeTree {
        let (left, common_ancestor) = {
            let tree = self.reader.tree();
            let found = collect_entries_for_branch_summary(&tree, self.old_leaf, self.new_leaf);
            (found.entries, found.common_ancestor.map(|index| tree.node(index).id.clone()))
        };
        let (instructions, replace) = match &self.choice {
            SummaryChoice::Focus(words) => (Some(words.clone()), false),
            SummaryChoice::OwnPrompt(words) => (Some(words.clone()), true),
            _ => (None, false),
        };
        BeforeTree {
            target: self.target.clone(),
            old_leaf: self.old_leaf_id.clone(),
            common_ancestor,
            entries: entries(&self.reader, &left),
            wants_summary: self.choice != SummaryChoice::None,
            instructions,
            replace,
            label: self.label.clone(),
            summary: None,
            instructed: false,
        }
    }
}

/// The entries that can be read; what is damaged was told when the session was opened.
fn entries(reader: &SessionReader, nodes: &[NodeIndex]) -> Vec<Arc<SessionEntry>> {
    nodes.iter().filter_map(|index| reader.entry(*index).ok()).collect()
}

/// Runs hooks as a part of what runs, and says so.
async fn chain(
    desk: &HookDesk,
    occasion: &mut (dyn crate::hook::chain::Occasion + 'static),
    news: &Reports,
    cancel: &CancellationToken,
) -> ChainEnd {
    news.send(Work::HooksBegin);
    let end = desk.run(occasion, cancel).await;
    news.send(Work::HooksDone);
    end
}

/// As [`chain`], with a cancel as the failure of the summary.
async fn hooked(
    desk: &HookDesk,
    occasion: &mut (dyn crate::hook::chain::Occasion + 'static),
    news: &Reports,
    cancel: &CancellationToken,
) -> Result<(), SummaryError> {
    match chain(desk, occasion, news, cancel).await {
        ChainEnd::Passed => Ok(()),
        ChainEnd::Cancelled(cancelled) => Err(SummaryError::Failed(cancelled.to_string())),
        ChainEnd::Stopped => Err(SummaryError::Cancelled),
    }
}
