//! Compaction: one way for all three reasons (SPEC C1–C3, C10, C23–C26, I3, I4).

use serde_json::{Value, json};

use super::AgentSession;
use super::activity::{Activity, AfterCompaction, CompactionJob, Work};
use super::command::SessionCommand;
use super::event::{CompactionResult, NoticeLevel, SessionEvent};
use super::making::{Made, OwnPlace};
use super::queue::Prompt;
use crate::compaction::breaker::Outcome;
use crate::compaction::plan::CompactionPlan;
use crate::compaction::request::carry_request;
use crate::compaction::summarizer::{CompactionInput, SummaryError};
use crate::compaction::trigger::{Situation, should_compact};
use crate::compaction::{CONTINUE_PROMPT, Reason};
use crate::hook::told::Told;
use crate::message::Message;
use crate::session::entry::{CompactionEntry, EntryBody};
use crate::session::tree::{NodeIndex, NodeKind};

impl AgentSession {
    /// `/compact`: the preflight comes before anything is stopped (C1, F03).
    pub(super) fn compact_by_hand(&mut self, instructions: Option<String>) {
        if self.refuse_read_only() {
            return;
        }
        if matches!(self.activity, Activity::Compacting { .. } | Activity::Summarizing { .. }) {
            self.notice(NoticeLevel::Info, "a summary is being made already; escape stops it");
            return;
        }
        match self.plan_compaction() {
            Err(nothing) => self.notice(NoticeLevel::Info, nothing.to_string()),
            Ok(plan) => {
                let again = SessionCommand::Compact { instructions: instructions.clone() };
                if !self.stop_first(again) {
                    self.breaker.rearm();
                    self.start_compaction(
                        Reason::Manual,
                        plan,
                        instructions,
                        AfterCompaction::Wait,
                    );
                }
            }
        }
    }

    /// An automatic compaction. When there is nothing to compact, what it was for goes on as far as
    /// it can.
    pub(super) fn compact_by_itself(&mut self, reason: Reason, then: AfterCompaction) {
        let plan = match reason {
            Reason::Overflow => self.plan_after_overflow(),
            Reason::Manual | Reason::Threshold => self.plan_compaction(),
        };
        match plan {
            Ok(plan) => self.start_compaction(reason, plan, None, then),
            Err(nothing) => self.without_compaction(reason, then, &nothing.to_string()),
        }
    }

    /// The window overflowed: prune first, and only if that is not enough ask for a summary (C2).
    pub(super) fn recover_from_overflow(&mut self) {
        let before = self.tokens_now().0;
        match self.prune() {
            Ok(saved) if saved > 0 && self.fits(before.saturating_sub(saved)) => self.start_round(),
            Ok(_) => self.compact_by_itself(Reason::Overflow, AfterCompaction::Continue),
            Err(error) => {
                self.complain(error);
                self.compact_by_itself(Reason::Overflow, AfterCompaction::Continue);
            }
        }
    }

    fn fits(&self, tokens: u64) -> bool {
        let window = self.window;
        let limits = crate::compaction::trigger::limits(window, &self.deps.settings.compaction);
        tokens + limits.reserve <= window
    }

    /// No more is tried (C2, F42).
    pub(super) fn report_overflow(&mut self) {
        let advice = if self.deps.settings.compaction.enabled {
            "it did so again right after making room"
        } else {
            "automatic compaction is off; /compact makes room"
        };
        let largest = self.largest_entry();
        self.complain(format!(
            "the conversation does not fit the model's window, and {advice}{largest}"
        ));
        self.end_turn_with_queue_returned();
    }

    fn largest_entry(&self) -> String {
        let outline = self.live_outline();
        let tree = self.store.reader().tree();
        let largest =
            outline.nodes.iter().map(|index| tree.node(*index)).max_by_key(|node| node.tokens);
        largest.map_or_else(String::new, |node| {
            format!("; the largest part takes about {} tokens: {}", node.tokens, node.preview)
        })
    }

    fn start_compaction(
        &mut self,
        reason: Reason,
        plan: CompactionPlan,
        instructions: Option<String>,
        then: AfterCompaction,
    ) {
        let maker = self.compaction_maker(&plan, reason, instructions);
        let (cancel, reports) = self.begin();
        let token = cancel.clone();
        let news = reports.clone();
        let work = async move {
            Work::Compacted(tokio::select! {
                biased;
                () = token.cancelled() => Err(SummaryError::Cancelled),
                made = maker.make(&news, &token) => made,
            })
        };
        Self::spawn_work(reports, work, || {
            Work::Compacted(Err(SummaryError::Failed(super::INTERNAL_ERROR.to_owned())))
        });
        self.tell(SessionEvent::CompactionStart { reason });
        self.set_activity(Activity::Compacting {
            cancel,
            job: Box::new(CompactionJob { reason, plan, then }),
        });
    }

    pub(super) fn compaction_input(
        &self,
        plan: &CompactionPlan,
        instructions: Option<String>,
    ) -> CompactionInput {
        let reader = self.store.reader();
        let bodies = |nodes: &[NodeIndex]| {
            reader.messages(nodes).0.into_iter().map(|(_, message)| message).collect::<Vec<_>>()
        };
        let mut previous_summary = None;
        let mut earlier_details = Vec::new();
        let summarised = plan.summarize.iter().chain(&plan.turn_prefix);
        for index in plan.previous.iter().chain(summarised) {
            let kind = reader.tree().node(*index).kind.clone();
            if !matches!(kind, NodeKind::Compaction { .. } | NodeKind::BranchSummary { .. }) {
                continue;
            }
            let Ok(entry) = reader.entry(*index) else { continue };
            match &entry.body {
                EntryBody::Compaction(compaction) => {
                    previous_summary = Some(compaction.summary.clone());
                    if compaction.from_extension != Some(true) {
                        earlier_details.extend(compaction.details.clone());
                    }
                }
                EntryBody::BranchSummary(summary) if summary.from_extension != Some(true) => {
                    earlier_details.extend(summary.details.clone());
                }
                _ => {}
            }
        }
        let replaces_tokens = plan.replaced_tokens(&reader.tree());
        CompactionInput {
            history: bodies(&plan.summarize),
            turn_prefix: bodies(&plan.turn_prefix),
            kept: bodies(&plan.kept),
            previous_summary,
            earlier_details,
            instructions,
            replaces_tokens,
            ..CompactionInput::default()
        }
    }

    pub(super) fn compacted(&mut self, result: Result<Made, SummaryError>) {
        let Activity::Compacting { cancel, job } = std::mem::take(&mut self.activity) else {
            return;
        };
        let CompactionJob { reason, plan, then } = *job;
        // The fence: a stop that came while the result was on its way still counts (C24, F32).
        let result = if cancel.is_cancelled() { Err(SummaryError::Cancelled) } else { result };
        let stored = result
            .and_then(|made| self.store_compaction(&plan, made).map_err(SummaryError::Failed));
        match stored {
            Ok(result) => {
                let will_retry = reason == Reason::Overflow;
                self.note_outcome(reason, result.tokens_after);
                self.end_compaction(reason, Some(result), false, will_retry, None);
                self.show_gauge();
                self.go_on(then);
            }
            Err(SummaryError::Cancelled) => {
                self.end_compaction(reason, None, true, false, None);
                let held_back = match then {
                    AfterCompaction::Say(sayings) => sayings,
                    _ => Vec::new(),
                };
                self.return_queue(held_back.into_iter().map(|saying| saying.prompt).collect());
                self.become_idle();
            }
            Err(error) => {
                let words = error.to_string();
                self.without_compaction(reason, then, &words);
            }
        }
    }

    /// The one append of a compaction (I3, C23).
    fn store_compaction(
        &mut self,
        plan: &CompactionPlan,
        made: Made,
    ) -> Result<CompactionResult, String> {
        let plan = self.still_valid(plan, made.own.as_ref())?;
        let Made { summary, own, preserve_data } = made;
        let text = carry_request(&summary.text, self.request_text(&plan).as_deref());
        let (first_kept, before, kept) = {
            let tree = self.store.reader().tree();
            let sum = |nodes: &[NodeIndex]| {
                nodes.iter().map(|index| u64::from(tree.node(*index).tokens)).sum::<u64>()
            };
            let outline = crate::session::context::build_session_context(&tree, tree.leaf());
            (tree.node(plan.first_kept).id.clone(), sum(&outline.nodes), sum(&plan.kept))
        };
        let after = kept + u64::from(self.deps.estimator.text(&text));
        if after >= before {
            return Err(format!(
                "the summary would not make the context smaller (about {before} tokens before, {after} after)"
            ));
        }
        let tokens_before = own.as_ref().map_or(plan.tokens_before, |own| own.tokens_before);
        let body = EntryBody::Compaction(CompactionEntry {
            summary: text,
            short_summary: summary.short.clone(),
            first_kept_entry_id: first_kept,
            tokens_before,
            details: match &own {
                Some(own) => own.details.clone(),
                None => Some(with_usage(summary.details, &summary.usage)),
            },
            preserve_data,
            from_extension: own.as_ref().map(|_| true),
        });
        let entry = self.append(body).ok_or("the summary could not be written")?;
        self.sync();
        self.tell_hooks(|_| Told::session_compact(&entry, own.is_some()));
        Ok(CompactionResult {
            entry_id: entry.id.clone(),
            tokens_before,
            tokens_after: self.tokens_now().0,
            short_summary: summary.short,
            summarized: plan.summarize.len() + plan.turn_prefix.len(),
            kept: plan.kept.len(),
            extractive: summary.extractive,
        })
    }

    /// The plan that is carried out: void when the leaf is another one now, and with the cut of a
    /// hook that has made the compaction.
    fn still_valid(
        &self,
        plan: &CompactionPlan,
        own: Option<&OwnPlace>,
    ) -> Result<CompactionPlan, String> {
        let tree = self.store.reader().tree();
        if tree.leaf() != Some(plan.leaf) {
            return Err(
                "the conversation moved on while the summary was made; it was discarded".into()
            );
        }
        match own.and_then(|own| tree.find(&own.first_kept)) {
            Some(first_kept) if first_kept != plan.first_kept => plan
                .kept_from(&tree, first_kept)
                .ok_or_else(|| "the entry that a hook wants to keep from is gone".into()),
            _ => Ok(plan.clone()),
        }
    }

    /// What the person asked last, when the cut leaves it behind (C14).
    fn request_text(&self, plan: &CompactionPlan) -> Option<String> {
        let (messages, _) = self.store.reader().messages(&[plan.request?]);
        messages.iter().find_map(|(_, message)| match message.as_ref() {
            Message::User(user) => Some(user.content.text()),
            _ => None,
        })
    }

    /// Whether the context is below the trigger now; if not, the next automatic compaction waits for
    /// new content (C4).
    fn note_outcome(&mut self, reason: Reason, tokens: u64) {
        if reason == Reason::Manual {
            self.breaker.rearm();
            return;
        }
        let situation = Situation {
            tokens,
            window: self.window,
            overhead: self.overhead,
            to_refine: usize::MAX,
        };
        let still_over = should_compact(&situation, &self.deps.settings);
        let outcome = if still_over { Outcome::Useless } else { Outcome::Helped };
        self.breaker.record(outcome, self.leaf());
    }

    fn go_on(&mut self, then: AfterCompaction) {
        match then {
            // After `/compact` nothing is said unless the person has said it meanwhile.
            AfterCompaction::Wait => self.deliver_or_rest(),
            AfterCompaction::Continue => self.start_round(),
            AfterCompaction::Say(prompts) => self.say_now(prompts),
            AfterCompaction::TurnEnded => {
                let asks = self.turn.answer_text().trim_end().ends_with(['?', '？', '؟']);
                let goes_on = self.deps.settings.compaction.auto_continue && !asks;
                if self.queue.is_empty() && goes_on && self.turn.continue_once() {
                    self.say_now(vec![Prompt::text(CONTINUE_PROMPT).into()]);
                } else {
                    self.deliver_or_rest();
                }
            }
        }
    }

    /// A compaction was due and did not come about. Nothing was written; what it was for goes on
    /// where that makes sense, and no other automatic one is tried until the person speaks (F01).
    fn without_compaction(&mut self, reason: Reason, then: AfterCompaction, words: &str) {
        self.breaker.record(Outcome::Useless, self.leaf());
        let error = match reason {
            Reason::Manual => format!("Compaction failed: {words}"),
            Reason::Overflow => format!("Context overflow recovery failed: {words}"),
            Reason::Threshold => format!("Auto-compaction failed: {words}"),
        };
        self.end_compaction(reason, None, false, false, Some(error));
        match (reason, then) {
            (Reason::Threshold, AfterCompaction::Continue) => self.start_round(),
            (_, AfterCompaction::Say(prompts)) => self.say_now(prompts),
            (Reason::Overflow, AfterCompaction::Continue) if self.fits_when_shortened() => {
                self.start_round();
            }
            _ => self.deliver_or_rest(),
        }
    }

    /// Whether the request that overflowed can be made smaller in the view (C14): the window that the
    /// server turned out to have is known now.
    fn fits_when_shortened(&mut self) -> bool {
        let failed = self.turn.estimate;
        self.build_request().is_ok() && self.turn.estimate < failed
    }

    fn end_compaction(
        &mut self,
        reason: Reason,
        result: Option<CompactionResult>,
        aborted: bool,
        will_retry: bool,
        error: Option<String>,
    ) {
        self.tell(SessionEvent::CompactionEnd { reason, result, aborted, will_retry, error });
    }

    /// `/compact --dry-run` (C26).
    pub(super) fn show_plan(&mut self) {
        let plan = self.dry_run();
        self.tell(SessionEvent::CompactionPlanned { plan });
    }

    /// What a compaction would do now: the plan, or `{nothing: reason}` (`regrow compact --dry-run`).
    #[must_use]
    pub fn dry_run(&self) -> Value {
        match self.plan_compaction() {
            Ok(plan) => self.plan_report(&plan),
            Err(nothing) => json!({ "nothing": nothing.to_string() }),
        }
    }

    fn plan_report(&self, plan: &CompactionPlan) -> Value {
        let reader = self.store.reader();
        let mut operations = crate::compaction::file_ops::FileOps::default();
        let summarised: Vec<_> = plan.summarize.iter().chain(&plan.turn_prefix).copied().collect();
        for (_, message) in reader.messages(&summarised).0 {
            operations.add_message(&message);
        }
        let tree = reader.tree();
        let ids = |nodes: &[NodeIndex]| {
            nodes.iter().map(|index| tree.node(*index).id.to_string()).collect::<Vec<_>>()
        };
        json!({
            "firstKeptEntryId": tree.node(plan.first_kept).id,
            "isSplitTurn": plan.is_split_turn,
            "tokensBefore": plan.tokens_before,
            "keepRecentTokens": plan.keep_recent_tokens,
            "summarize": ids(&plan.summarize),
            "turnPrefix": ids(&plan.turn_prefix),
            "kept": ids(&plan.kept),
            "readFiles": operations.read_files(),
            "modifiedFiles": operations.modified_files(),
        })
    }

    /// `/compact --undo` (C26): the leaf goes back before the newest compaction if nothing that a
    /// model would see came after it.
    pub(super) fn undo_compaction(&mut self) {
        let target = {
            let tree = self.store.reader().tree();
            let mut above = tree.leaf().into_iter().flat_map(|leaf| tree.ancestors(leaf));
            above
                .find_map(|index| match &tree.node(index).kind {
                    NodeKind::Compaction { .. } => Some(Ok(tree.parent(index))),
                    kind if kind.bears_message() => Some(Err(())),
                    _ => None,
                })
                .unwrap_or(Err(()))
        };
        match target {
            Ok(parent) => {
                if !self.stop_first(SessionCommand::UndoCompaction) {
                    self.move_leaf(parent, None);
                }
            }
            Err(()) => self.notice(
                NoticeLevel::Info,
                "there is no compaction to undo at this point; /tree goes to any earlier point",
            ),
        }
    }
}

/// Adds what the calls cost to the details, so that the branch's bill is complete after a reopen (S9).
pub(super) fn with_usage(mut details: Value, usage: &crate::message::Usage) -> Value {
    if let (Value::Object(fields), Ok(usage)) = (&mut details, serde_json::to_value(usage)) {
        fields.insert("usage".to_owned(), usage);
    }
    details
}
