//! Turns: a prompt, and rounds until nothing is left to do (SPEC A1, C2, C3).

use std::time::Duration;

use tokio::time::Instant;

use super::activity::{Activity, AfterCompaction, Work};
use super::command::Delivery;
use super::event::{ActivityKind, NoticeLevel, SessionEvent};
use super::next_step::{Circumstances, NextStep, RoundOutcome, next_step};
use super::queue::{Prompt, Saying};
use super::{AgentSession, chain};
use crate::agent::event::{AgentEvent, RoundEnd};
use crate::agent::round::Round;
use crate::compaction::Reason;
use crate::compaction::overflow;
use crate::hook::EventName;
use crate::message::{AssistantMessage, Message, StopReason};
use crate::provider::failure::blames_an_image;
use crate::provider::retry::RetryDecision;
use crate::provider::{ErrorKind, ProviderError};
use crate::session::entry::EntryBody;
use crate::session::tree::NodeIndex;

/// What is remembered from round to round; forgotten when the person speaks.
#[derive(Debug, Default)]
pub(super) struct TurnState {
    /// How often the present request has failed.
    failures: u32,
    /// This turn has recovered from an overflow once (I4).
    recovered: bool,
    /// The synthetic prompt was sent in this turn; it is sent again only after tools have run (I4).
    continued: bool,
    /// Tools have run since then.
    worked: bool,
    /// The answer of the present round, once it is complete.
    answer: Option<AssistantMessage>,
    /// What the present request was estimated at, in tokens.
    pub(super) estimate: u64,
    /// The entry of the newest image in the present request.
    pub(super) newest_image: Option<NodeIndex>,
    /// The part of `estimate` that is reasoning.
    pub(super) thinking: u64,
    /// Something was said, and its end was not told yet.
    pub(super) open: bool,
}

impl TurnState {
    /// Whether work may go on by itself, and notes that it does (C3, I4).
    pub(super) fn continue_once(&mut self) -> bool {
        let may = !self.continued || self.worked;
        (self.continued, self.worked) = (true, false);
        may
    }

    /// What the model said last in this turn.
    pub(super) fn answer_text(&self) -> String {
        self.answer.as_ref().map(AssistantMessage::text).unwrap_or_default()
    }
}

impl AgentSession {
    /// The person says something.
    pub(super) fn prompt(&mut self, prompt: Prompt, delivery: Delivery) {
        let is_empty = prompt.text.trim().is_empty() && prompt.images.is_empty();
        if is_empty || self.refuse_read_only() {
            // What waits already goes on waiting; only this one comes back.
            if !is_empty {
                self.give_back(vec![prompt]);
            }
            // Whoever waits for the prompt's end hears of it.
            self.tell(SessionEvent::Activity { kind: self.activity.kind() });
            return;
        }
        if self.activity.is_idle() {
            self.say(vec![prompt]);
        } else {
            self.queue.push(prompt, delivery);
            self.queue_changed();
        }
    }

    /// Begins a turn. Hooks hear the prompts first.
    pub(super) fn say(&mut self, prompts: Vec<Prompt>) {
        self.close_turn();
        self.turn = TurnState::default();
        if self.hooks_want(EventName::BeforePrompt) {
            self.let_hooks_hear(prompts);
        } else {
            self.say_heard(prompts.into_iter().map(Saying::from).collect());
        }
    }

    /// Says what hooks have let pass. A context that is over the trigger is compacted first, without
    /// these prompts, so that they stay verbatim (C3, F43).
    pub(super) fn say_heard(&mut self, sayings: Vec<Saying>) {
        let weigh = |saying: &Saying| {
            let message = Message::User(saying.prompt.clone().into_message(0));
            let added = saying.added.iter().map(|text| u64::from(self.deps.estimator.text(text)));
            u64::from(self.deps.estimator.message(&message)) + added.sum::<u64>()
        };
        let extra = sayings.iter().map(weigh).sum();
        if self.compaction_due(extra) {
            self.compact_by_itself(Reason::Threshold, AfterCompaction::Say(sayings));
        } else {
            self.say_now(sayings);
        }
    }

    /// Appends the prompts, and what hooks have added to each, and asks the model.
    pub(super) fn say_now(&mut self, sayings: Vec<Saying>) {
        let mut sayings = std::collections::VecDeque::from(sayings);
        while let Some(Saying { prompt, added }) = sayings.front().cloned() {
            let message = prompt.into_message(self.deps.stamper.now().as_millis());
            if self.append(EntryBody::Message { message: Message::User(message) }).is_none() {
                self.return_queue(sayings.into_iter().map(|saying| saying.prompt).collect());
                self.become_idle();
                return;
            }
            sayings.pop_front();
            self.turn.open = true;
            if !added.is_empty() {
                // One that cannot be written is told, and no reason to leave the prompt unanswered.
                self.append(super::hooks::addition(&added, self.window / 4));
            }
        }
        // J7: a user message is on disk before a model hears of it.
        self.sync();
        self.start_round();
    }

    /// Asks the model with the context of the present leaf.
    pub(super) fn start_round(&mut self) {
        self.turn.answer = None;
        let provider = match self.deps.providers.provider_for(&self.model) {
            Ok(provider) => provider,
            Err(error) => {
                self.fail(&error);
                return;
            }
        };
        let request = match self.build_request() {
            Ok(request) => request,
            // More than fits is there: what a server would refuse need not be sent to find out (C2).
            Err(_) if self.may_recover() => {
                self.turn.recovered = true;
                self.recover_from_overflow();
                return;
            }
            Err(words) => {
                self.fail(&ProviderError::new(ErrorKind::Overflow, words));
                return;
            }
        };
        let (cancel, reports) = self.begin();
        let round = Round {
            provider,
            request,
            hands: self.hands(&reports),
            cancel: cancel.clone(),
            stamper: self.deps.stamper.clone(),
        };
        let news = reports.clone();
        let work = async move {
            let emit = |event| news.send(Work::Agent(event));
            Work::RoundEnded(round.run(&emit).await)
        };
        Self::spawn_work(reports, work, || {
            Work::RoundEnded(RoundEnd::Failed {
                error: ProviderError::new(ErrorKind::BadRequest, super::INTERNAL_ERROR),
                partial: Box::default(),
            })
        });
        self.set_activity(Activity::Round { cancel });
    }

    /// Whether room may still be made in this turn, and can be.
    fn may_recover(&self) -> bool {
        self.deps.settings.compaction.enabled
            && !self.turn.recovered
            && self.plan_after_overflow().is_ok()
    }

    pub(super) fn agent_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Stream(delta) => self.tell(SessionEvent::Stream { delta }),
            AgentEvent::Answer(answer) => {
                self.turn.failures = 0;
                self.turn.answer = Some(answer.clone());
                self.measure(&answer);
                if answer.tool_calls().next().is_some() {
                    self.tell(SessionEvent::Activity { kind: ActivityKind::RunningTools });
                }
                self.append(EntryBody::Message { message: Message::Assistant(answer) });
                self.show_gauge();
            }
            AgentEvent::ToolStarted(call) => self.tell(SessionEvent::ToolStarted { call }),
            AgentEvent::ToolProgress { call_id, text } => {
                self.tell(SessionEvent::ToolProgress { call_id, text });
            }
            AgentEvent::ToolResult(result) => {
                self.turn.worked = true;
                self.append(EntryBody::Message { message: Message::ToolResult(result) });
            }
        }
    }

    pub(super) fn round_ended(&mut self, end: RoundEnd) {
        // Escape may have come while the end was on its way (F28).
        let stopped =
            self.activity.cancel().is_some_and(tokio_util::sync::CancellationToken::is_cancelled);
        let outcome = match &end {
            RoundEnd::Done if !stopped => self.judge_answer(),
            RoundEnd::Failed { error, .. } if !stopped => self.judge_failure(error),
            _ => RoundOutcome::Stopped,
        };
        let now = Circumstances {
            compaction_due: matches!(outcome, RoundOutcome::Answered { .. })
                && self.compaction_due(0),
            steering: self.queue.has_steering(),
            queued: !self.queue.is_empty(),
            automatic: self.deps.settings.compaction.enabled,
            recovered_before: self.turn.recovered,
        };
        let step = next_step(&outcome, now);
        if let RoundEnd::Failed { error, partial } = end {
            self.keep_partial(&step, &error, *partial);
        }
        self.take_step(step);
    }

    fn take_step(&mut self, step: NextStep) {
        match step {
            NextStep::Continue => self.start_round(),
            NextStep::Steer => {
                let prompts = self.queue.take_steering();
                self.queue_changed();
                self.say(prompts);
            }
            NextStep::CompactThenContinue => {
                self.compact_by_itself(Reason::Threshold, AfterCompaction::Continue);
            }
            NextStep::CompactAtTurnEnd => {
                self.compact_by_itself(Reason::Threshold, AfterCompaction::TurnEnded);
            }
            NextStep::RecoverFromOverflow => {
                self.turn.recovered = true;
                self.recover_from_overflow();
            }
            NextStep::ReportOverflow => self.report_overflow(),
            NextStep::Retry(delay) => self.wait_and_retry(delay),
            NextStep::DeliverQueue => self.deliver_queue(),
            NextStep::ReportFailure | NextStep::Idle => self.end_turn_with_queue_returned(),
        }
    }

    /// Says what is queued; with nothing queued the turn is over.
    pub(super) fn deliver_queue(&mut self) {
        let prompts = self.queue.take_next();
        if prompts.is_empty() {
            self.end_turn();
            return;
        }
        self.queue_changed();
        self.sync();
        self.say(prompts);
    }

    /// The turn is over; what it appended goes to disk (J7).
    pub(super) fn end_turn(&mut self) {
        self.sync();
        self.show_gauge();
        self.become_idle();
    }

    pub(super) fn end_turn_with_queue_returned(&mut self) {
        if !self.queue.is_empty() {
            self.return_queue(Vec::new());
        }
        self.end_turn();
    }

    /// The answer arrived whole. It may still be a sign of an overflow (C6).
    fn judge_answer(&self) -> RoundOutcome {
        let Some(answer) = &self.turn.answer else {
            return RoundOutcome::Stopped;
        };
        let has_calls = answer.tool_calls().next().is_some();
        // Some servers leave earlier reasoning out of the prompt; that is no sign of anything.
        let estimate = self.turn.estimate.saturating_sub(self.turn.thinking);
        let sign = overflow::silent_overflow(answer, self.window, estimate);
        if let Some(sign) = sign {
            // An answer that says something is an answer; the threshold takes care of the rest.
            if answer.text().trim().is_empty() && !has_calls {
                return RoundOutcome::Overflowed;
            }
            self.notice(NoticeLevel::Warning, sign.to_string());
        }
        RoundOutcome::Answered { has_calls }
    }

    fn judge_failure(&mut self, error: &ProviderError) -> RoundOutcome {
        let unknown_overflow = error.kind == ErrorKind::BadRequest
            && !overflow::names_another_cause(&error.message)
            && overflow::unknown_client_error_is_overflow(
                error.status,
                self.turn.estimate,
                self.window,
            );
        if error.kind == ErrorKind::Overflow || unknown_overflow {
            let (text, estimate) = (error.message.as_str(), self.turn.estimate);
            self.window = overflow::window_after_overflow(text, estimate, self.window);
            return RoundOutcome::Overflowed;
        }
        if self.turn.newest_image.is_some() && blames_an_image(error) {
            self.refused_images = self.turn.newest_image;
            self.notice(
                NoticeLevel::Warning,
                format!("an image was refused and is left out from now on: {}", error.message),
            );
            return RoundOutcome::Failed { retry_in: Some(Duration::ZERO) };
        }
        self.turn.failures += 1;
        match self.deps.retry.decide(error, self.turn.failures - 1) {
            RetryDecision::After(delay) => {
                self.tell(SessionEvent::Retry {
                    error: error.message.clone(),
                    attempt: self.turn.failures + 1,
                    delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                });
                RoundOutcome::Failed { retry_in: Some(delay) }
            }
            RetryDecision::Stop => RoundOutcome::Failed { retry_in: None },
        }
    }

    /// What a failed or stopped answer leaves in the file: always what a person could read of it; an
    /// empty one only when nothing else will tell of the failure.
    fn keep_partial(&mut self, step: &NextStep, error: &ProviderError, partial: AssistantMessage) {
        let retried = matches!(step, NextStep::Retry(_));
        if partial.content.is_empty() && (retried || error.kind == ErrorKind::Cancelled) {
            return;
        }
        let calls: Vec<_> = partial.tool_calls().cloned().collect();
        if self.append(EntryBody::Message { message: Message::Assistant(partial) }).is_none() {
            return;
        }
        for call in calls {
            let words = match error.kind {
                ErrorKind::Cancelled => crate::agent::tool_calls::STOPPED,
                _ => "Not run: the answer broke off.",
            };
            let result = crate::agent::tool_calls::result_message(
                &call,
                Err(crate::tool::ToolError::new(words)),
                self.deps.stamper.as_ref(),
            );
            self.append(EntryBody::Message { message: Message::ToolResult(result) });
        }
    }

    /// A request could not even be made.
    fn fail(&mut self, error: &ProviderError) {
        let message = AssistantMessage {
            api: self.model.api.clone(),
            provider: self.model.provider.clone(),
            model: self.model.id.clone(),
            stop_reason: StopReason::Error,
            error_message: Some(chain(error)),
            timestamp: self.deps.stamper.now().as_millis(),
            ..AssistantMessage::default()
        };
        self.append(EntryBody::Message { message: Message::Assistant(message) });
        self.end_turn_with_queue_returned();
    }

    fn wait_and_retry(&mut self, delay: Duration) {
        self.epoch += 1;
        self.set_activity(Activity::Waiting { until: Instant::now() + delay });
    }

    /// The wait is over.
    pub(super) fn try_again(&mut self) {
        if matches!(self.activity, Activity::Waiting { .. }) {
            self.start_round();
        }
    }
}
