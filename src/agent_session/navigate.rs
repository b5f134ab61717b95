//! Moving in the tree, with or without a summary of the branch that is left (SPEC section 5, J6).

use std::sync::Arc;

use super::AgentSession;
use super::activity::{Activity, NavigationJob, Work};
use super::command::{Navigation, SessionCommand, SummaryChoice};
use super::compact::with_usage;
use super::event::{NoticeLevel, SessionEvent};
use super::making::{MadeBranch, Settled};
use crate::compaction::branch::{collect_entries_for_branch_summary, prepare_branch_entries};
use crate::compaction::summarizer::{BranchInput, BranchInstructions, SummaryError};
use crate::hook::EventName;
use crate::hook::told::Told;
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
        let found = self.store.reader().tree().find(&navigation.target);
        let Some(target) = found else {
            // What runs is not stopped for nothing.
            self.complain(format!("there is no entry {} in this session", navigation.target));
            return;
        };
        if self.stop_first(SessionCommand::Navigate(navigation.clone())) || self.refuse_read_only()
        {
            return;
        }
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
        let summarizes = navigation.summary != SummaryChoice::None && destination.leaf != old_leaf;
        let job = NavigationJob {
            navigation,
            old_leaf,
            new_leaf: destination.leaf,
            editor: destination.editor,
        };
        if summarizes || self.hooks_want(EventName::SessionBeforeTree) {
            self.settle_navigation(job);
        } else {
            self.finish_plain(job);
        }
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

    fn finish_plain(&mut self, job: NavigationJob) {
        let NavigationJob { navigation, old_leaf, new_leaf, editor } = job;
        if self.has_moved_on(old_leaf, &navigation.target) {
            return;
        }
        if !self.move_leaf(new_leaf, editor) {
            return;
        }
        let [left, leaf] = [old_leaf, new_leaf].map(|leaf| self.speaking_id(leaf));
        self.tell_hooks(|_| Told::session_tree(leaf.as_ref(), left.as_ref(), None, false));
        if navigation.label.is_some() {
            self.label(navigation.target, navigation.label);
        }
    }

    /// Moves the leaf without a summary and marks the place in the file (J6), so that a reopened
    /// session stands there too. `false`, after a notice, when it could not be marked.
    pub(super) fn move_leaf(&mut self, leaf: Option<NodeIndex>, editor: Option<String>) -> bool {
        if leaf != self.leaf() {
            let mark = EntryBody::Custom { custom_type: LEAF_MARK.to_owned(), data: None };
            if self.append_at(leaf, mark).is_none() {
                return false;
            }
            self.sync();
        }
        self.moved(leaf, editor);
        true
    }

    fn moved(&mut self, leaf: Option<NodeIndex>, editor: Option<String>) {
        self.recount();
        let leaf = leaf.map(|leaf| self.store.reader().tree().node(leaf).id.clone());
        self.tell(SessionEvent::Moved { leaf, editor });
        self.show_gauge();
    }

    pub(super) fn branch_input(
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

    /// Lets hooks have their say and makes the summary, if there is to be one.
    fn settle_navigation(&mut self, job: NavigationJob) {
        let maker = self.branch_maker(&job);
        let (cancel, reports) = self.begin();
        let token = cancel.clone();
        let news = reports.clone();
        let work = async move {
            Work::BranchSummarized(tokio::select! {
                biased;
                () = token.cancelled() => Err(SummaryError::Cancelled),
                settled = maker.make(&news, &token) => settled,
            })
        };
        Self::spawn_work(reports, work, || {
            Work::BranchSummarized(Err(SummaryError::Failed(super::INTERNAL_ERROR.to_owned())))
        });
        self.set_activity(Activity::Summarizing { cancel, job: Box::new(job) });
    }

    pub(super) fn branch_summarized(&mut self, result: Result<Settled, SummaryError>) {
        let Activity::Summarizing { cancel, job } = std::mem::take(&mut self.activity) else {
            return;
        };
        let mut job = *job;
        let result = if cancel.is_cancelled() { Err(SummaryError::Cancelled) } else { result };
        match result {
            Ok(Settled::Stopped(cancelled)) => {
                self.complain(format!("{cancelled}; you are where you were"));
                self.end_navigation(job.navigation.target, true, None);
            }
            Ok(Settled::Goes { summary, label }) => {
                job.navigation.label = label;
                match summary {
                    Some(summary) => self.branch_with_summary(job, summary),
                    None => self.finish_plain(job),
                }
            }
            Err(SummaryError::Cancelled) => self.end_navigation(job.navigation.target, true, None),
            Err(error) => {
                self.end_navigation(job.navigation.target, false, Some(error.to_string()));
            }
        }
        // B7: what was typed meanwhile is delivered now, wherever we are.
        self.deliver_or_rest();
    }

    /// Names an entry, or takes its name away.
    pub(super) fn label(&mut self, target: EntryId, label: Option<String>) {
        if self.store.reader().tree().find(&target).is_none() {
            self.complain(format!("there is no entry {target} to label"));
            return;
        }
        let label = label.filter(|label| !label.trim().is_empty());
        self.append(EntryBody::Label { target_id: target, label });
    }

    fn end_navigation(&self, target: EntryId, aborted: bool, error: Option<String>) {
        self.tell(SessionEvent::NavigationEnded { target, aborted, error });
    }

    /// Appends the summary as a child of the new leaf (B5).
    fn branch_with_summary(&mut self, job: NavigationJob, made: MadeBranch) {
        if self.has_moved_on(job.old_leaf, &job.navigation.target) {
            return;
        }
        let MadeBranch { summary, from_extension } = made;
        let left = self.speaking_id(job.old_leaf);
        let body = EntryBody::BranchSummary(BranchSummaryEntry {
            from_id: left.clone().unwrap_or_else(|| EntryId::new("root")),
            summary: summary.text,
            details: match from_extension {
                true => Some(summary.details).filter(|details| !details.is_null()),
                false => Some(with_usage(summary.details, &summary.usage)),
            },
            from_extension: from_extension.then_some(true),
        });
        let Some(entry) = self.append_at(job.new_leaf, body) else {
            let words = "the summary could not be written";
            self.end_navigation(job.navigation.target, false, Some(words.to_owned()));
            return;
        };
        self.sync();
        let leaf = self.leaf();
        self.moved(leaf, job.editor);
        self.tell_hooks(|_| {
            Told::session_tree(Some(&entry.id), left.as_ref(), Some(&entry), from_extension)
        });
        if job.navigation.label.is_some() {
            self.label(entry.id.clone(), job.navigation.label);
        }
    }

    /// Whether the leaf is another one than when the move began; then it does not take place.
    fn has_moved_on(&self, old_leaf: Option<NodeIndex>, target: &EntryId) -> bool {
        let moved_on = self.leaf() != old_leaf;
        if moved_on {
            let words = "the conversation moved on while the summary was made; it was discarded";
            self.end_navigation(target.clone(), false, Some(words.to_owned()));
        }
        moved_on
    }

    /// The id of the entry that a leaf stands for.
    pub(super) fn speaking_id(&self, leaf: Option<NodeIndex>) -> Option<EntryId> {
        let tree = self.store.reader().tree();
        leaf.and_then(|leaf| speaking(&tree, leaf)).map(|leaf| tree.node(leaf).id.clone())
    }
}

/// The entry that a leaf stands for: marks of a moved leaf stand for what is above them.
fn speaking(tree: &SessionTree, leaf: NodeIndex) -> Option<NodeIndex> {
    tree.ancestors(leaf).find(|index| !matches!(tree.node(*index).kind, NodeKind::LeafMark))
}
