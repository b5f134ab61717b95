//! From the tree to a request (SPEC X1–X5, C4, S8): derived anew each time, never patched.

use std::sync::Arc;

use super::AgentSession;
use super::event::NoticeLevel;
use crate::agent::tool_calls::Hands;
use crate::compaction::calibration::calibrate;
use crate::compaction::context_pruning::prune_context;
use crate::compaction::fit::shorten_to_fit;
use crate::compaction::overflow::is_truncated;
use crate::compaction::plan::{CompactionPlan, NothingToCompact, prepare_compaction};
use crate::compaction::tokens::Estimator;
use crate::compaction::trigger::{Situation, clamp_output, context_tokens, limits, should_compact};
use crate::message::{AssistantMessage, Block, Message, StopReason};
use crate::provider::{Purpose, Request, ToolSpec};
use crate::session::context::{ContextOutline, build_session_context};
use crate::session::tree::{ModelRef, NodeIndex, NodeKind, SessionTree};
use crate::session::view::{Target, convert_to_llm, repair, without_images};
use crate::settings::{Settings, Trigger};

impl AgentSession {
    /// The request for the next round.
    ///
    /// # Errors
    /// When not even the smallest view of the context fits the window; the sentence names what is
    /// largest (F42).
    pub(super) fn build_request(&mut self) -> Result<Request, String> {
        let outline = self.live_outline();
        let (bodies, problems) = self.reader().messages(&outline.nodes);
        for problem in problems {
            self.notice(NoticeLevel::Warning, problem);
        }
        let tools = self.deps.tools.specs();
        let system = self.system_text(&tools);
        let messages = self.without_refused_images(bodies);
        self.overhead = self.overhead_of(&system, &tools);
        let overhead = self.overhead;
        let window = self.window;
        let reserve = limits(window, &self.deps.settings.compaction).reserve;
        let room = window.saturating_sub(reserve).saturating_sub(overhead);
        let view = model_view(&messages, &Target::for_model(&self.model), &self.deps.settings);
        let view = shorten_to_fit(view, room, self.deps.estimator);
        self.turn.estimate = overhead + estimate(&view, self.deps.estimator);
        self.turn.thinking = thinking(&view, self.deps.estimator);
        if self.turn.estimate >= window {
            return Err(format!(
                "the conversation cannot be made to fit the window of {} ({window} tokens): {}",
                self.model.id,
                largest_part(&view, overhead, self.deps.estimator)
            ));
        }
        Ok(Request {
            purpose: Purpose::Turn,
            model: self.model.clone(),
            system,
            messages: view,
            tools,
            max_tokens: clamp_output(self.model.max_tokens, window, self.turn.estimate),
            thinking: self.thinking,
            parameters: serde_json::Map::new(),
            session_id: self.store.header().id.clone(),
            cache: self.deps.settings.cache != Some(false),
        })
    }

    /// The messages of a request. Images that the model refused once are not shown to it again.
    fn without_refused_images(
        &mut self,
        bodies: Vec<(NodeIndex, Arc<Message>)>,
    ) -> Vec<Arc<Message>> {
        let refused = self.refused_images.and_then(|last| {
            bodies.iter().rposition(|(index, _)| *index == last).map(|position| position + 1)
        });
        let refused = refused.unwrap_or(0);
        let newest = bodies[refused..].iter().rfind(|(_, message)| holds_images(message));
        self.turn.newest_image = newest.map(|(index, _)| *index);
        let shown = |(position, (_, message)): (usize, (NodeIndex, Arc<Message>))| {
            if position < refused { without_images(&message) } else { message }
        };
        bodies.into_iter().enumerate().map(shown).collect()
    }

    /// What a model would be sent at the present leaf: the path's outline without the failed answers
    /// at its end, which are made again (C2).
    pub(super) fn live_outline(&self) -> ContextOutline {
        let tree = self.store.reader().tree();
        let mut outline = build_session_context(&tree, tree.leaf());
        // The path's own model may not be to be had here; what it counted says little of this one.
        outline.model = Some(self.model.model_ref());
        while outline.nodes.last().is_some_and(|last| is_failed_answer(&tree, *last)) {
            outline.nodes.pop();
        }
        outline
    }

    fn system_text(&self, tools: &[ToolSpec]) -> String {
        let cwd = self.store.header().cwd.clone();
        self.deps.prompts.system_prompt(cwd.as_ref(), tools).text
    }

    /// Measures system prompt and tools for the gauge; each request measures them anew.
    pub(super) fn measure_overhead(&mut self) {
        let tools = self.deps.tools.specs();
        self.overhead = self.overhead_of(&self.system_text(&tools), &tools);
    }

    fn overhead_of(&self, system: &str, tools: &[ToolSpec]) -> u64 {
        let text = |text: &str| u64::from(self.deps.estimator.text(text));
        let tool = |tool: &ToolSpec| text(&tool.description) + text(&tool.parameters.to_string());
        text(system) + tools.iter().map(tool).sum::<u64>()
    }

    /// Tokens in context now, and whether that is an estimate (C5).
    ///
    /// Right after a compaction nothing has been counted yet; then the whole estimate is corrected by
    /// what the last request of this model turned out to be, so that the figures before and after
    /// are of one kind.
    pub(super) fn tokens_now(&self) -> (u64, bool) {
        let outline = self.live_outline();
        let tree = self.store.reader().tree();
        let tokens = context_tokens(&tree, &outline);
        if !tokens.estimated {
            return (tokens.calibrated(calibrate(&tree, &outline)).tokens, false);
        }
        let estimate = tokens.tokens + self.overhead;
        match self.measured.as_ref().filter(|measured| measured.model == self.model.model_ref()) {
            Some(measured) => (measured.correct(estimate), true),
            None => (tokens.calibrated(calibrate(&tree, &outline)).tokens + self.overhead, true),
        }
    }

    /// Notes what the model counted for the request that it answered just now. A prompt that the
    /// server has truncated teaches nothing (F37).
    pub(super) fn measure(&mut self, answer: &AssistantMessage) {
        let (counted, estimated) = (answer.usage.prompt_tokens(), self.turn.estimate);
        if answer.succeeded() && counted > 0 && estimated > 0 && !is_truncated(counted, estimated) {
            let model = self.model.model_ref();
            self.measured = Some(Measured { model, counted, estimated });
        }
    }

    /// What a compaction would do now (C10).
    pub(super) fn plan_compaction(&self) -> Result<CompactionPlan, NothingToCompact> {
        self.plan_with(&self.deps.settings)
    }

    /// What a compaction would do now that the server has found the context too large: when it would
    /// keep everything, the server's window must be smaller than ours, and less is kept.
    pub(super) fn plan_after_overflow(&self) -> Result<CompactionPlan, NothingToCompact> {
        let mut settings = Settings::clone(&self.deps.settings);
        let keep = &mut settings.compaction.keep_recent_tokens;
        *keep = limits(self.window, &self.deps.settings.compaction).keep_recent;
        let mut plan = self.plan_with(&settings);
        while plan == Err(NothingToCompact::Nothing) && settings.compaction.keep_recent_tokens > 1 {
            settings.compaction.keep_recent_tokens /= 2;
            plan = self.plan_with(&settings);
        }
        plan
    }

    fn plan_with(&self, settings: &Settings) -> Result<CompactionPlan, NothingToCompact> {
        let reader = self.store.reader();
        let tree = reader.tree();
        let window = self.window;
        let mut plan = prepare_compaction(&tree, tree.leaf(), settings, window)?;
        drop(tree);
        plan.tokens_before = self.tokens_now().0;
        Ok(plan)
    }

    /// Whether an automatic compaction should run before `extra` more tokens are sent (C3, C4).
    pub(super) fn compaction_due(&self, extra: u64) -> bool {
        if !self.deps.settings.compaction.enabled || !self.armed() {
            return false;
        }
        let (tokens, _) = self.tokens_now();
        let mut situation = Situation {
            tokens: tokens + extra,
            window: self.window,
            overhead: self.overhead,
            to_refine: usize::MAX,
        };
        // Planning walks the path; it is done only when the figures alone would fire.
        let counts =
            matches!(self.deps.settings.summarization.trigger, Some(Trigger::MessagesToRefine(_)));
        if !counts && !should_compact(&situation, &self.deps.settings) {
            return false;
        }
        let Ok(plan) = self.plan_compaction() else { return false };
        situation.to_refine = plan.summarize.len() + plan.turn_prefix.len();
        should_compact(&situation, &self.deps.settings)
    }

    /// A compaction that did not help, or failed, waits for new content (C4, F94).
    fn armed(&self) -> bool {
        let tree = self.store.reader().tree();
        self.breaker.is_armed(&tree, tree.leaf(), self.window)
    }

    pub(super) fn hands(&self, reports: &super::Reports) -> Hands {
        Hands {
            tools: self.deps.tools.clone(),
            gate: self.gate(reports),
            watch: self.call_watch(),
            cwd: self.store.header().cwd.clone().into(),
            max_result_tokens: self.window / 4,
            steer: self.steer.subscribe(),
        }
    }
}

/// A request as its model counted it.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    model: ModelRef,
    /// Prompt tokens, system prompt and tools included.
    counted: u64,
    /// The estimate of the same.
    estimated: u64,
}

impl Measured {
    /// An estimate of a whole context, corrected; by no more than estimates can be off.
    fn correct(&self, estimate: u64) -> u64 {
        let ratio = (self.counted as f64 / self.estimated as f64).clamp(0.25, 4.0);
        (estimate as f64 * ratio).round() as u64
    }
}

fn is_failed_answer(tree: &SessionTree, index: NodeIndex) -> bool {
    matches!(&tree.node(index).kind, NodeKind::Assistant(answer) if answer.stop == StopReason::Error)
}

fn holds_images(message: &Message) -> bool {
    match message {
        Message::User(user) => user.content.images().next().is_some(),
        Message::ToolResult(result) => result.content.images().next().is_some(),
        _ => false,
    }
}

/// Messages of the path as a model takes them (X3, X4, S8).
pub(crate) fn model_view(
    messages: &[Arc<Message>],
    target: &Target,
    settings: &Settings,
) -> Vec<Arc<Message>> {
    let view = repair(convert_to_llm(messages), target);
    prune_context(view, &settings.summarization.context_pruning)
}

fn estimate(messages: &[Arc<Message>], estimator: Estimator) -> u64 {
    messages.iter().map(|message| u64::from(estimator.message(message))).sum()
}

/// The part of [`estimate`] that is reasoning: not every server puts it into the prompt again.
fn thinking(messages: &[Arc<Message>], estimator: Estimator) -> u64 {
    let answers = messages.iter().filter_map(|message| match message.as_ref() {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    });
    let texts = answers.flat_map(|answer| &answer.content).filter_map(|block| match block {
        Block::Thinking { thinking, .. } => Some(thinking),
        _ => None,
    });
    texts.map(|text| u64::from(estimator.text(text))).sum()
}

/// What takes most of the window, in words.
fn largest_part(view: &[Arc<Message>], overhead: u64, estimator: Estimator) -> String {
    let largest = view.iter().max_by_key(|message| estimator.message(message));
    let tokens = largest.map_or(0, |message| u64::from(estimator.message(message)));
    let all = estimate(view, estimator);
    if overhead >= all {
        return format!("the system prompt and the tools alone take about {overhead} tokens");
    }
    let what = match largest.map(AsRef::as_ref) {
        Some(Message::User(_)) => "your message".to_owned(),
        Some(Message::ToolResult(result)) => format!("a result of `{}`", result.tool_name),
        _ => "an answer".to_owned(),
    };
    format!(
        "its {} messages take about {all} tokens, and the largest part is {what} with about {tokens}",
        view.len()
    )
}
