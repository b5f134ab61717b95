//! Moving in the tree, with or without a summary of the branch that is left (SPEC section 5, J6).

use std::sync::Arc;

use super::AgentSession;
use super::activity::{Activity, NavigationJob, Work};
use super::command::{Navigation, SessionCommand, SummaryChoice};
use super::compact::with_usage;
use super::event::{NoticeLevel, SessionEvent};
use crate::compaction::branch::{collect_entries_for_branch_summary, prepare_branch_entries};
use crate::compaction::extractive::extract_branch;
use crate::compaction::summarizer::{BranchInput, BranchInstructions, Summary, SummaryError};
use crate::ids::EntryId;
use crate::message::Message;
use crate::session::entry::{BranchSummaryEntry, EntryBody, LEAF_MARK};
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};

/// Where a selection leads (B6).
struct Destination {
    leaf: Option<NodeIndex>,
    /// Set when the selected message is to be written anew.
    editor: Option<String>,
}

impl AgentSession {
    /// Moves to an entry (B1). A running turn is stopped and settled first (F23, F24).
    pub(super) fn navigate(&mut self, navigation: Navigation) {
        if self.stop_first(SessionCommand::Navigate(navigation.clone())) {
            return;
        }
        if self.refuse_read_only() {
            return;
        }
        let Some(target) = self.store.reader().tree().find(&navigation.target) else {
            self.complain(format!("there is no entry {} in this session", navigation.target));
            return;
        };
        let old_leaf = self.leaf();
        let destination = self.destination(target);
        let stands_at = {
            let tree = self.store.reader().tree();
            old_leaf.and_then(|leaf| speaking(&tree, leaf))
        };
        if destination.editor.is_none() && [old_leaf, stands_at].contains(&destination.leaf) {
            self.notice(NoticeLevel::Info, "you are here already");
            return;
        }
        if navigation.summary == SummaryChoice::None || destination.leaf == old_leaf {
            self.finish_plain(&navigation, destination);
            return;
        }
        let input = self.branch_input(old_leaf, destination.leaf, &navigation.summary);
        let job = NavigationJob {
            navigation,
            old_leaf,
            new_leaf: destination.leaf,
            editor: destination.editor,
        };
        self.summarize_branch(job, input);
    }

    /// B6: a user message or custom message is taken back into the editor, anything else is gone to.
    fn destination(&self, target: NodeIndex) -> Destination {
        let reader = self.store.reader();
        let (kind, parent) = {
            let tree = reader.tree();
            (tree.node(target).kind.clone(), tree.parent(target))
        };
        let is_own_words = matches!(kind, NodeKind::User | NodeKind::Custom { entry: true, .. });
        if !is_own_words {
            return Destination { leaf: Some(target), editor: None };
        }
        let text = reader.entry(target).ok().map(|entry| match &entry.body {
            EntryBody::Message { message: Message::User(user) } => user.content.text(),
            EntryBody::CustomMessage { content, .. } => content.text(),
            _ => String::new(),
        });
        Destination { leaf: parent, editor: Some(text.unwrap_or_default()) }
    }

    fn finish_plain(&mut self, navigation: &Navigation, destination: Destination) {
        let label = navigation.label.clone();
        self.move_leaf(destination.leaf, destination.editor);
        if label.is_some() {
            self.label(navigation.target.clone(), label);
        }
    }

    /// Moves the leaf without a summary and marks the place in the file (J6), so that a reopened
    /// session stands there too.
    pub(super) fn move_leaf(&mut self, leaf: Option<NodeIndex>, editor: Option<String>) {
        if leaf != self.leaf() {
            let mark = EntryBody::Custom { custom_type: LEAF_MARK.to_owned(), data: None };
            if self.append_at(leaf, mark).is_none() {
                return;
            }
            self.sync();
        }
        self.moved(leaf, editor);
    }

    fn moved(&mut self, leaf: Option<NodeIndex>, editor: Option<String>) {
        self.recount();
        let leaf = leaf.map(|leaf| self.store.reader().tree().node(leaf).id.clone());
        self.tell(SessionEvent::Moved { leaf, editor });
        self.show_gauge();
    }

    fn branch_input(
        &self,
        old_leaf: Option<NodeIndex>,
        new_leaf: Option<NodeIndex>,
        choice: &SummaryChoice,
    ) -> BranchInput {
        let reader = self.store.reader();
        let settings = &self.deps.settings.branch_summary;
        let window = self.window;
        let reserve = if window <= 2 * settings.reserve_tokens {
            window / 4
        } else {
            settings.reserve_tokens
        };
        let (entries, chosen) = {
            let tree = reader.tree();
            let entries = collect_entries_for_branch_summary(&tree, old_leaf, new_leaf).entries;
            let chosen = prepare_branch_entries(&tree, &entries, window - reserve).messages;
            (entries, chosen)
        };
        let bodies = |nodes: &[NodeIndex]| -> Vec<Arc<Message>> {
            reader.messages(nodes).0.into_iter().map(|(_, message)| message).collect()
        };
        let earlier_details = entries.iter().filter_map(|index| self.own_details(*index)).collect();
        BranchInput {
            messages: bodies(&chosen),
            all: bodies(&entries),
            earlier_details,
            instructions: match choice {
                SummaryChoice::Focus(focus) => Some(BranchInstructions::Focus(focus.clone())),
                SummaryChoice::OwnPrompt(prompt) => {
                    Some(BranchInstructions::Replace(prompt.clone()))
                }
                _ => None,
            },
        }
    }

    /// The details of a summary that regrow made itself (B3, C20).
    fn own_details(&self, index: NodeIndex) -> Option<serde_json::Value> {
        let reader = self.store.reader();
        let is_summary = matches!(
            reader.tree().node(index).kind,
            NodeKind::Compaction { .. } | NodeKind::BranchSummary { from: Some(_) }
        );
        if !is_summary {
            return None;
        }
        match &reader.entry(index).ok()?.body {
            EntryBody::Compaction(entry) if entry.from_extension != Some(true) => {
                entry.details.clone()
            }
            EntryBody::BranchSummary(entry) if entry.from_extension != Some(true) => {
                entry.details.clone()
            }
            _ => None,
        }
    }

    fn summarize_branch(&mut self, job: NavigationJob, input: BranchInput) {
        let (cancel, reports) = self.begin();
        let summarizer = self.deps.summarizer.clone();
        let model = self.model.clone();
        let session_id = self.store.header().id.clone();
        let token = cancel.clone();
        let without_model = job.navigation.summary == SummaryChoice::Extractive;
        let news = reports.clone();
        let work = async move {
            let progress = |progress| news.send(Work::Progress(progress));
            if without_model {
                let summary = (!input.messages.is_empty()).then(|| extract_branch(&input));
                return Work::BranchSummarized(Ok(summary));
            }
            Work::BranchSummarized(tokio::select! {
                biased;
                () = token.cancelled() => Err(SummaryError::Cancelled),
                result = summarizer.branch(input, &model, &session_id, &progress, &token) => result,
            })
        };
        Self::spawn_work(reports, work, || {
            Work::BranchSummarized(Err(SummaryError::Failed(super::INTERNAL_ERROR.to_owned())))
        });
        self.set_activity(Activity::Summarizing { cancel, job: Box::new(job) });
    }

    pub(super) fn branch_summarized(&mut self, result: Result<Option<Summary>, SummaryError>) {
        let Activity::Summarizing { cancel, job } = std::mem::take(&mut self.activity) else {
            return;
        };
        let result = if cancel.is_cancelled() { Err(SummaryError::Cancelled) } else { result };
        match result {
            Ok(Some(summary)) => self.branch_with_summary(*job, summary),
            Ok(None) => {
                let destination = Destination { leaf: job.new_leaf, editor: job.editor };
                self.finish_plain(&job.navigation, destination);
            }
            Err(SummaryError::Cancelled) => self.end_navigation(job.navigation.target, true, None),
            Err(error) => {
                self.end_navigation(job.navigation.target, false, Some(error.to_string()));
            }
        }
        // B7: what was typed meanwhile is delivered now, wherever we are.
        self.deliver_or_rest();
    }

    fn end_navigation(&mut self, target: EntryId, aborted: bool, error: Option<String>) {
        self.tell(SessionEvent::NavigationEnded { target, aborted, error });
    }

    /// Appends the summary as a child of the new leaf (B5).
    fn branch_with_summary(&mut self, job: NavigationJob, summary: Summary) {
        if self.leaf() != job.old_leaf {
            let words = "the conversation moved on while the summary was made; it was discarded";
            self.end_navigation(job.navigation.target, false, Some(words.to_owned()));
            return;
        }
        let from_id = {
            let tree = self.store.reader().tree();
            job.old_leaf
                .and_then(|leaf| speaking(&tree, leaf))
                .map(|leaf| tree.node(leaf).id.clone())
        };
        let body = EntryBody::BranchSummary(BranchSummaryEntry {
            from_id: from_id.unwrap_or_else(|| EntryId::new("root")),
            summary: summary.text,
            details: Some(with_usage(summary.details, &summary.usage)),
            from_extension: None,
        });
        let Some(entry) = self.append_at(job.new_leaf, body) else {
            let words = "the summary could not be written";
            self.end_navigation(job.navigation.target, false, Some(words.to_owned()));
            return;
        };
        self.sync();
        let leaf = self.leaf();
        self.moved(leaf, job.editor);
        if job.navigation.label.is_some() {
            self.label(entry.id.clone(), job.navigation.label);
        }
    }
}

/// The entry that a leaf stands for: marks of a moved leaf stand for what is above them.
fn speaking(tree: &SessionTree, leaf: NodeIndex) -> Option<NodeIndex> {
    tree.ancestors(leaf).find(|index| !matches!(tree.node(*index).kind, NodeKind::LeafMark))
}
