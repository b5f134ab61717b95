//! From messages to a summary with a model (SPEC C16–C22, B4).
//!
//! It asks models and returns text; it never touches the session, so that dropping or cancelling it
//! leaves no trace. What is asked is decided in `prompts`, what fits in [`pieces`], who is asked in
//! [`calls`], how often and what counts as an answer in [`writer`].

mod calls;
mod candidates;
mod pieces;
mod usable;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

pub use super::summary::{BranchInput, BranchInstructions, CompactionInput, Summary};

use super::extractive::extract_compaction;
use super::file_ops::{FileOps, upsert_file_blocks};
use super::prompts::{self, Ask, Template};
use super::remote::Remote;
use super::summary::merge_split_turn;
use super::tokens::Estimator;
use super::transcript::serialize_messages;
use super::trigger;
use crate::message::{Message, Usage};
use crate::provider::model::Model;
use crate::provider::{Providers, Purpose};
use crate::session::view::convert_to_llm;
use crate::settings::{Fallback, Settings};
use calls::{Run, Task, Who};

/// Output limit of a branch's summary, in tokens (B4).
const BRANCH_TOKENS: u64 = 2_048;

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// The person stopped it.
    #[error("stopped")]
    Cancelled,
    /// No model could write it; the sentence names each and says why.
    #[error("{0}")]
    Failed(String),
    /// It would not make the context smaller (C19).
    #[error(
        "the summary would take {summary} tokens and replace {replaced}, so nothing was changed; \
         go on, and compact when there is more to summarise"
    )]
    NotSmaller {
        /// Tokens of the summary.
        summary: u64,
        /// Tokens that it would have replaced.
        replaced: u64,
    },
}

/// Makes summaries. Cheap to build; holds no conversation.
pub struct Summarizer {
    providers: Arc<dyn Providers>,
    settings: Arc<Settings>,
    estimator: Estimator,
    /// The first pause before a failed request is tried again; doubled each time.
    backoff: Duration,
}

/// How far a summary is (U6).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// Which kind of summary.
    pub purpose: Purpose,
    /// What is being made now: `history`, `turn prefix`, `short summary`, `branch`.
    pub what: String,
    /// Which piece, from 1.
    pub piece: u32,
    /// Of how many.
    pub pieces: u32,
    /// Tokens received so far, all calls of this summary together.
    pub tokens: u64,
    /// Why it does not go on just now: a wait before another try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where a summary reports how far it is.
pub type ReportProgress<'a> = &'a (dyn Fn(Progress) + Send + Sync);

impl Summarizer {
    /// A summariser that asks through `providers` and follows `settings`.
    #[must_use]
    pub fn new(
        providers: Arc<dyn Providers>,
        settings: Arc<Settings>,
        estimator: Estimator,
    ) -> Self {
        Self { providers, settings, estimator, backoff: Duration::from_secs(1) }
    }

    /// The same summariser, following other settings.
    #[must_use]
    pub fn with_settings(&self, settings: Arc<Settings>) -> Self {
        Self { settings, providers: self.providers.clone(), ..*self }
    }

    /// Makes the summary of a compaction. `model` is the session's own.
    ///
    /// History and turn prefix are asked for at the same time, the short summary after them.
    ///
    /// # Errors
    /// [`SummaryError::Cancelled`] at once when `cancel` fires; the others when neither a model nor
    /// the fallback gave a summary that can be used.
    pub async fn compaction(
        &self,
        input: CompactionInput,
        model: &Arc<Model>,
        session_id: &str,
        progress: ReportProgress<'_>,
        cancel: &CancellationToken,
    ) -> Result<Summary, SummaryError> {
        let run = self.run(Purpose::Compaction, model, session_id, progress, cancel);
        let made = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SummaryError::Cancelled),
            made = self.compact(&run, &input, model) => made,
        };
        let remote = self.settings.compaction.remote_endpoint.is_some();
        let extractive = self.settings.compaction.fallback == Fallback::Extractive && !remote;
        match made {
            Err(error) if extractive && error != SummaryError::Cancelled => {
                tracing::warn!(%error, "summary made without a model");
                let summary = Summary { usage: run.usage(), ..extract_compaction(&input) };
                self.check_smaller(&summary.text, input.replaces_tokens)?;
                Ok(summary)
            }
            made => made,
        }
    }

    /// Makes the summary of a branch that is left; `None` when it holds nothing to summarise, and
    /// then no model is asked (B4). There is no fallback: the person chooses (B7).
    ///
    /// # Errors
    /// As [`Summarizer::compaction`].
    pub async fn branch(
        &self,
        input: BranchInput,
        model: &Arc<Model>,
        session_id: &str,
        progress: ReportProgress<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<Summary>, SummaryError> {
        let texts = serialize_messages(&convert_to_llm(&input.messages));
        if texts.is_empty() {
            return Ok(None);
        }
        let run = self.run(Purpose::BranchSummary, model, session_id, progress, cancel);
        let built_in = Ask::BuiltIn(Template::Branch);
        let (ask, focus) = match &input.instructions {
            Some(BranchInstructions::Replace(prompt)) => (Ask::Own(prompt), None),
            Some(BranchInstructions::Focus(focus)) => (built_in, Some(focus.as_str())),
            None => (built_in, None),
        };
        let limit = self.settings.summarization.max_summary_tokens.unwrap_or(BRANCH_TOKENS);
        let task = Task { focus, ..Task::new("branch", texts, ask, limit) };
        let text = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SummaryError::Cancelled),
            text = run.make(&task) => text?,
        };
        let ops = FileOps::collect(input.all.iter().map(Arc::as_ref), &input.earlier_details);
        let text = format!("{}\n\n{text}", prompts::branch_preamble());
        Ok(Some(Summary {
            text: upsert_file_blocks(&text, &ops),
            short: None,
            details: ops.details(),
            usage: run.usage(),
            extractive: run.without_model(),
        }))
    }

    fn run<'a>(
        &'a self,
        purpose: Purpose,
        model: &Arc<Model>,
        session_id: &'a str,
        progress: ReportProgress<'a>,
        cancel: &'a CancellationToken,
    ) -> Run<'a> {
        let endpoint = self.settings.compaction.remote_endpoint.as_deref();
        let who = match endpoint {
            Some(endpoint) if purpose == Purpose::Compaction => {
                Who::Remote(Remote::new(endpoint, self.settings.timeouts))
            }
            _ => Who::Models(candidates::candidates(
                self.providers.as_ref(),
                &self.settings.summarization,
                model,
            )),
        };
        Run::new(
            calls::Means {
                providers: self.providers.as_ref(),
                settings: &self.settings,
                estimator: self.estimator,
                backoff: self.backoff,
                purpose,
                session_id,
                progress,
                cancel,
            },
            who,
        )
    }

    /// The summary by the first model whose text can be used.
    async fn compact(
        &self,
        run: &Run<'_>,
        input: &CompactionInput,
        model: &Model,
    ) -> Result<Summary, SummaryError> {
        let ops = FileOps::collect(
            input.history.iter().chain(&input.turn_prefix).map(Arc::as_ref),
            &input.earlier_details,
        );
        let limits = Limits::new(&self.settings, model);
        let (text, whole) = loop {
            match self.smaller(run, input, limits, &ops).await {
                Err(SummaryError::NotSmaller { .. }) if run.pass_over() => {}
                made => break made?,
            }
        };
        let short = self.short(run, input, limits, &text).await?;
        Ok(Summary {
            text: whole,
            short: Some(short),
            details: ops.details(),
            usage: run.usage(),
            extractive: run.without_model(),
        })
    }

    /// The text, and the same with the files named. Written once more under a word limit if it came
    /// out too large (C19).
    async fn smaller(
        &self,
        run: &Run<'_>,
        input: &CompactionInput,
        limits: Limits,
        ops: &FileOps,
    ) -> Result<(String, String), SummaryError> {
        let words = (input.replaces_tokens / 4).max(30);
        let mut too_large = Ok(());
        for words in [None, Some(words)] {
            let text = self.merged(run, input, limits, words).await?;
            let whole = upsert_file_blocks(&text, ops);
            too_large = self.check_smaller(&whole, input.replaces_tokens);
            if too_large.is_ok() {
                return Ok((text, whole));
            }
        }
        too_large.map(|()| Default::default())
    }

    /// History and turn prefix, asked for at the same time and merged (C14).
    async fn merged(
        &self,
        run: &Run<'_>,
        input: &CompactionInput,
        limits: Limits,
        words: Option<u64>,
    ) -> Result<String, SummaryError> {
        let previous = input.previous_summary.as_deref();
        let history = async {
            let texts = texts_of(&input.history);
            if texts.is_empty() {
                return Ok(None);
            }
            let (fresh, update) = self.history_asks(input);
            let task = Task {
                previous,
                update,
                context: &input.hook_context,
                focus: input.instructions.as_deref(),
                words,
                ..Task::new("history", texts, fresh, limits.history)
            };
            run.make(&task).await.map(Some)
        };
        let prefix = async {
            let texts = texts_of(&input.turn_prefix);
            if texts.is_empty() {
                return Ok(None);
            }
            let ask = Ask::BuiltIn(Template::TurnPrefix);
            let task = Task { words, ..Task::new("turn prefix", texts, ask, limits.prefix) };
            run.make(&task).await.map(Some)
        };
        let (history, prefix) = futures::try_join!(history, prefix)?;
        if history.is_none() && prefix.is_none() {
            return Err(SummaryError::Failed("there is nothing to summarise".to_owned()));
        }
        Ok(merge_split_turn(history.as_deref(), previous, prefix.as_deref()))
    }

    /// The prompts without and with a summary before: a hook's, else the person's, else ours (C17, S3).
    fn history_asks<'a>(&'a self, input: &'a CompactionInput) -> (Ask<'a>, Ask<'a>) {
        if let Some(prompt) = &input.prompt {
            return (Ask::Own(prompt), Ask::Own(prompt));
        }
        let settings = &self.settings.summarization;
        let own = |prompt: &'a Option<String>, template| {
            prompt.as_deref().map_or(Ask::BuiltIn(template), Ask::Own)
        };
        (
            own(&settings.prompt, Template::Summary),
            own(&settings.update_prompt, Template::UpdateSummary),
        )
    }

    /// The sentence for the screen. The compaction does not depend on it: without one from a model,
    /// it is made from the text.
    async fn short(
        &self,
        run: &Run<'_>,
        input: &CompactionInput,
        limits: Limits,
        merged: &str,
    ) -> Result<String, SummaryError> {
        let task = Task {
            previous: Some(merged),
            context: &input.hook_context,
            ..Task::new(
                "short summary",
                texts_of(&input.kept),
                Ask::BuiltIn(Template::ShortSummary),
                limits.short,
            )
        };
        match run.make_newest(&task).await {
            Ok(short) => Ok(short.split_whitespace().collect::<Vec<_>>().join(" ")),
            Err(SummaryError::Failed(error)) if !run.is_remote() => {
                tracing::warn!(%error, "short summary made without a model");
                Ok(extract_compaction(input).short.unwrap_or_default())
            }
            Err(error) => Err(error),
        }
    }

    fn check_smaller(&self, text: &str, replaced: u64) -> Result<(), SummaryError> {
        let summary = u64::from(self.estimator.text(text));
        if replaced > 0 && summary >= replaced {
            return Err(SummaryError::NotSmaller { summary, replaced });
        }
        Ok(())
    }
}

fn texts_of(messages: &[Arc<Message>]) -> Vec<String> {
    serialize_messages(&convert_to_llm(messages))
}

/// Output limits of the summaries of a compaction, in tokens (C17). Those of the model that writes
/// come on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    history: u64,
    prefix: u64,
    short: u64,
}

impl Limits {
    fn new(settings: &Settings, model: &Model) -> Self {
        let reserve = trigger::limits(model.context_window, &settings.compaction).reserve;
        let most = settings.summarization.max_summary_tokens.unwrap_or(u64::MAX);
        Self {
            history: (reserve * 4 / 5).min(most),
            prefix: (reserve / 2).min(most),
            short: (reserve / 5).min(512).min(most),
        }
    }
}

fn add(sum: &mut Usage, more: &Usage) {
    sum.input += more.input;
    sum.output += more.output;
    sum.cache_read += more.cache_read;
    sum.cache_write += more.cache_write;
    sum.total_tokens += more.context_tokens();
    sum.cost.input += more.cost.input;
    sum.cost.output += more.cost.output;
    sum.cost.cache_read += more.cost.cache_read;
    sum.cost.cache_write += more.cost.cache_write;
    sum.cost.total += more.cost.total;
}

#[cfg(test)]
mod tests;
