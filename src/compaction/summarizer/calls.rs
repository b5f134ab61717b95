//! Whom one text is asked of: the candidates in turn, or the person's own server (SPEC C18, C21, C22).
//!
//! Nothing here watches for Escape: the whole run is dropped then, and its streams with it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::writer::{Failure, Writer};
use super::{Progress, ReportProgress, SummaryError, add};
use crate::compaction::prompts::{self, Ask, SummaryPrompt};
use crate::compaction::remote::Remote;
use crate::compaction::tokens::Estimator;
use crate::message::Usage;
use crate::provider::model::Model;
use crate::provider::{Providers, Purpose};
use crate::settings::Settings;

/// How often a window that turns out smaller than it should be is met with smaller pieces.
const SHRINKS: u32 = 3;
/// The window that a model is taken to have when nobody knows it.
const UNKNOWN_WINDOW: u64 = 32_768;

/// One text that is wanted.
pub(super) struct Task<'a> {
    /// Its name for the screen.
    pub(super) what: &'static str,
    /// The conversation, a text for each message.
    pub(super) texts: Vec<String>,
    /// What to write where nothing was summarised before.
    pub(super) fresh: Ask<'a>,
    /// What to write where a text on what came before is given.
    pub(super) update: Ask<'a>,
    /// Output limit in tokens.
    pub(super) limit: u64,
    pub(super) previous: Option<&'a str>,
    pub(super) context: &'a [String],
    pub(super) focus: Option<&'a str>,
    pub(super) words: Option<u64>,
}

impl<'a> Task<'a> {
    pub(super) fn new(what: &'static str, texts: Vec<String>, ask: Ask<'a>, limit: u64) -> Self {
        Self {
            what,
            texts,
            fresh: ask,
            update: ask,
            limit,
            previous: None,
            context: &[],
            focus: None,
            words: None,
        }
    }
}

/// What a run works with.
pub(super) struct Means<'a> {
    pub(super) providers: &'a dyn Providers,
    pub(super) settings: &'a Settings,
    pub(super) estimator: Estimator,
    pub(super) backoff: Duration,
    pub(super) purpose: Purpose,
    pub(super) session_id: &'a str,
    pub(super) progress: ReportProgress<'a>,
    pub(super) cancel: &'a CancellationToken,
}

/// Who writes.
pub(super) enum Who {
    /// The first of these that can.
    Models(Vec<Result<Arc<Model>, String>>),
    /// The person's own server.
    Remote(Remote),
}

/// The making of one summary: all its calls share the bill, the count and what they learnt of models.
pub(super) struct Run<'a> {
    pub(super) means: Means<'a>,
    who: Who,
    pub(super) system: String,
    usage: Mutex<Usage>,
    tokens: AtomicU64,
    /// The first candidate that has not failed yet.
    first: AtomicUsize,
    without_model: AtomicBool,
}

impl<'a> Run<'a> {
    pub(super) fn new(means: Means<'a>, who: Who) -> Self {
        Self {
            means,
            who,
            system: prompts::summarization_system(),
            usage: Mutex::default(),
            tokens: AtomicU64::new(0),
            first: AtomicUsize::new(0),
            without_model: AtomicBool::new(false),
        }
    }

    /// What all calls used so far.
    pub(super) fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the bill.
    pub(super) fn bill(&self, usage: &Usage) {
        add(&mut self.usage.lock().unwrap_or_else(PoisonError::into_inner), usage);
    }

    /// Whether the offline model wrote any of it.
    pub(super) fn without_model(&self) -> bool {
        self.without_model.load(Ordering::Relaxed)
    }

    /// Whoever wrote last could not write what was wanted and is passed over from now on. Whether
    /// anybody is left.
    pub(super) fn pass_over(&self) -> bool {
        let Who::Models(candidates) = &self.who else { return false };
        self.first.fetch_add(1, Ordering::Relaxed) + 1 < candidates.len()
    }

    pub(super) const fn is_remote(&self) -> bool {
        matches!(self.who, Who::Remote(_))
    }

    /// Makes the text, in as many pieces as it takes.
    pub(super) async fn make(&self, task: &Task<'_>) -> Result<String, SummaryError> {
        self.made(task, Extent::All).await
    }

    /// Makes the text of what fits of the newest part; for texts that are only looked at.
    pub(super) async fn make_newest(&self, task: &Task<'_>) -> Result<String, SummaryError> {
        self.made(task, Extent::Newest).await
    }

    async fn made(&self, task: &Task<'_>, extent: Extent) -> Result<String, SummaryError> {
        let candidates = match &self.who {
            Who::Models(candidates) => candidates,
            Who::Remote(remote) => return self.remote(remote, task).await,
        };
        let mut failures = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            if at < self.first.load(Ordering::Relaxed) && at + 1 < candidates.len() {
                continue;
            }
            let is_last = at + 1 == candidates.len();
            let made = match candidate {
                Ok(model) => self.with_model(model, task, extent, is_last).await,
                Err(problem) => Err(problem.clone()),
            };
            match made {
                Ok(text) => return Ok(text),
                Err(problem) => {
                    tracing::warn!(what = task.what, %problem, "summary failed");
                    failures.push(problem);
                    self.first.fetch_max(at + 1, Ordering::Relaxed);
                }
            }
        }
        Err(SummaryError::Failed(format!(
            "no summary of the {}: {}",
            task.what,
            failures.join("; ")
        )))
    }

    async fn remote(&self, remote: &Remote, task: &Task<'_>) -> Result<String, SummaryError> {
        self.report(task.what, (1, 1), None);
        let conversation = task.texts.join("\n\n");
        let prompt = task.prompt(&conversation, task.previous, task.words);
        let text = remote.summarize(&self.system, &prompt).await.map_err(SummaryError::Failed)?;
        self.count(&text);
        self.report(task.what, (1, 1), None);
        Ok(text)
    }

    /// One candidate's text; an `Err` names it.
    async fn with_model(
        &self,
        model: &Arc<Model>,
        task: &Task<'_>,
        extent: Extent,
        is_last: bool,
    ) -> Result<String, String> {
        let name = format!("{}/{}", model.provider, model.id);
        let provider = self.means.providers.provider_for(model);
        let provider = provider.map_err(|error| format!("{name}: {error}"))?;
        let window = if model.context_window == 0 { UNKNOWN_WINDOW } else { model.context_window };
        let mut writer = Writer { run: self, task, model, provider, is_last, window };
        let mut shrinks = 0;
        loop {
            match writer.fold(extent).await {
                Ok(text) => {
                    if model.api == "offline" {
                        self.without_model.store(true, Ordering::Relaxed);
                    }
                    return Ok(text);
                }
                Err(Failure::Overflow { problem, size }) if shrinks < SHRINKS => {
                    tracing::debug!(%name, %problem, "smaller pieces");
                    shrinks += 1;
                    writer.window = writer.window.min(size) / 2;
                }
                Err(Failure::Overflow { problem, .. } | Failure::Other(problem)) => {
                    return Err(format!("{name}: {problem}"));
                }
            }
        }
    }

    pub(super) fn count(&self, text: &str) -> u64 {
        let more = u64::from(self.means.estimator.text(text));
        self.tokens.fetch_add(more, Ordering::Relaxed) + more
    }

    pub(super) fn report(&self, what: &str, (piece, pieces): (usize, usize), note: Option<String>) {
        (self.means.progress)(Progress {
            purpose: self.means.purpose,
            what: what.to_owned(),
            piece: u32::try_from(piece).unwrap_or(u32::MAX),
            pieces: u32::try_from(pieces).unwrap_or(u32::MAX),
            tokens: self.tokens.load(Ordering::Relaxed),
            note,
        });
    }
}

/// How much of the texts is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All, in as many pieces as it takes.
    All,
    /// What fits of the newest.
    Newest,
}

impl Task<'_> {
    pub(super) fn prompt(
        &self,
        conversation: &str,
        previous: Option<&str>,
        words: Option<u64>,
    ) -> String {
        SummaryPrompt {
            conversation,
            previous_summary: previous,
            additional_context: self.context,
            ask: if previous.is_some() { self.update } else { self.fresh },
            focus: self.focus,
            words,
        }
        .render()
    }
}
