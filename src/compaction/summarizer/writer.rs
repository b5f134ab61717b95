//! One model at work on one text: pieces, checks, retries (SPEC C18, C19, C22).

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;

use super::calls::{Extent, Run, Task};
use super::pieces;
use super::usable::{Verdict, join, judge};
use crate::compaction::{prompts, trigger};
use crate::ids::Timestamp;
use crate::message::{AssistantMessage, Block, Content, Message, StopReason, UserMessage};
use crate::provider::assemble::Assembler;
use crate::provider::model::Model;
use crate::provider::{ErrorKind, Provider, ProviderError, Request, StreamEvent, ThinkingLevel};
use crate::settings::Timeouts;

/// Tries of one request to one model, the first included.
const TRIES: u32 = 4;
/// A longer wait goes to the next candidate, if there is one.
const PATIENCE: Duration = Duration::from_secs(30);
/// A longer wait is not waited for at all.
const MOST_PATIENCE: Duration = Duration::from_secs(60);
/// Tokens of a message's frame that no estimate counts.
const FRAME: u64 = 64;
/// A progress report follows after this many tokens.
const REPORT_EVERY: u64 = 16;

/// Why a model gave no text.
pub(super) enum Failure {
    /// Its window is smaller than we think.
    Overflow {
        /// What the server said.
        problem: String,
        /// Our estimate of the request that did not fit.
        size: u64,
    },
    /// Anything else.
    Other(String),
}

/// One model at work on one task.
pub(super) struct Writer<'r, 'a> {
    pub(super) run: &'r Run<'a>,
    pub(super) task: &'r Task<'r>,
    pub(super) model: &'r Arc<Model>,
    pub(super) provider: Arc<dyn Provider>,
    /// Nobody is left to be asked after this one.
    pub(super) is_last: bool,
    /// The window that pieces are cut for; smaller than the model's after an overflow.
    pub(super) window: u64,
}

/// What is sent: the prompt, and the cut off answer that is to be continued.
struct Words<'w> {
    prompt: &'w str,
    continues: Option<&'w str>,
    max_tokens: u64,
    place: (usize, usize),
}

impl Writer<'_, '_> {
    /// All pieces, each folded into the text of those before it.
    pub(super) async fn fold(&self, extent: Extent) -> Result<String, Failure> {
        let estimator = self.run.means.estimator;
        let max_tokens = self.max_tokens();
        let room = self.room(max_tokens);
        let mut texts = self.task.texts.clone();
        let mut previous = self.task.previous.map(str::to_owned);
        let length = previous.as_deref().map_or(0, |text| u64::from(estimator.text(text)));
        if length > room / 2 {
            // The text before is too large to stand beside a piece.
            let earlier = previous.take().unwrap_or_default();
            match extent {
                Extent::All => texts.insert(0, format!("[Earlier checkpoint]: {earlier}")),
                Extent::Newest => {
                    let heads = pieces::split(&[earlier], room / 2, estimator);
                    previous = heads.into_iter().next();
                }
            }
        }
        let length = previous.as_deref().map_or(0, |text| u64::from(estimator.text(text)));
        let mut budget = room.saturating_sub(length);
        let mut pieces = match extent {
            Extent::All => pieces::split(&texts, budget, estimator),
            Extent::Newest => vec![pieces::newest(&texts, budget, estimator)],
        };
        if pieces.len() > 1 {
            // From the second on, the text so far stands beside each piece.
            budget = room.saturating_sub(length.max(max_tokens)).max(room / 4);
            pieces = pieces::split(&texts, budget, estimator);
        }
        let count = pieces.len();
        for (at, piece) in pieces.iter().enumerate() {
            let place = (at + 1, count);
            previous = Some(self.piece(piece, previous.as_deref(), place, max_tokens).await?);
        }
        previous.ok_or_else(|| Failure::Other("there is nothing to summarise".to_owned()))
    }

    /// The output limit: the task's, the model's own, and a part of a small window (C4, F40).
    fn max_tokens(&self) -> u64 {
        let settings = &self.run.means.settings.compaction;
        let reserve = trigger::limits(self.window, settings).reserve;
        let own = if self.model.max_tokens == 0 { u64::MAX } else { self.model.max_tokens };
        self.task.limit.min(own).min(reserve.max(self.window / 4)).max(16)
    }

    /// Tokens that a piece and the text before it may take together (S5).
    fn room(&self, max_tokens: u64) -> u64 {
        let means = &self.run.means;
        let headroom = means.settings.summarization.reserve_ratio.clamp(0.0, 0.9);
        let window = (self.window as f64 * (1.0 - headroom)) as u64;
        let frame = [None, Some("")]
            .map(|previous| self.task.prompt("", previous, Some(1_000)))
            .iter()
            .map(|prompt| u64::from(means.estimator.text(prompt)))
            .max();
        let fixed = frame.unwrap_or(0) + u64::from(means.estimator.text(&self.run.system)) + FRAME;
        window.saturating_sub(max_tokens + fixed)
    }

    /// One piece, checked (C19): an empty answer is asked for once more, one that is cut off is
    /// continued once and then asked for in fewer words.
    async fn piece(
        &self,
        piece: &str,
        previous: Option<&str>,
        place: (usize, usize),
        max_tokens: u64,
    ) -> Result<String, Failure> {
        let mut max_tokens = max_tokens;
        let mut words = self.task.words;
        let mut empty = false;
        let mut shortened = false;
        loop {
            let prompt = self.task.prompt(piece, previous, words);
            let sent = Words { prompt: &prompt, continues: None, max_tokens, place };
            match self.ask(&sent).await? {
                Verdict::Good(text) => return Ok(text),
                Verdict::Refused(text) => {
                    return Err(Failure::Other(format!("declined to summarise: {text}")));
                }
                Verdict::Empty { .. } if empty => {
                    return Err(Failure::Other("answered with nothing, twice".to_owned()));
                }
                Verdict::Empty { ran_out } => {
                    empty = true;
                    // Thinking may have used up what was meant for the text (F13).
                    if ran_out {
                        max_tokens = self.enlarged(&prompt, max_tokens);
                    }
                }
                Verdict::CutOff(text) => {
                    if let Some(whole) = self.continued(&prompt, text, max_tokens, place).await? {
                        return Ok(whole);
                    }
                    if shortened {
                        let problem = "ran into its output limit, even when asked for less";
                        return Err(Failure::Other(problem.to_owned()));
                    }
                    shortened = true;
                    words = Some(words.unwrap_or(u64::MAX).min(max_tokens * 2 / 5).max(20));
                }
            }
        }
    }

    /// The estimate of a prompt with the system prompt.
    fn tokens(&self, prompt: &str) -> u64 {
        let estimator = self.run.means.estimator;
        u64::from(estimator.text(prompt)) + u64::from(estimator.text(&self.run.system))
    }

    /// Twice the output limit, as far as the model and its window allow.
    fn enlarged(&self, prompt: &str, max_tokens: u64) -> u64 {
        let own = if self.model.max_tokens == 0 { u64::MAX } else { self.model.max_tokens };
        let used = self.tokens(prompt);
        let free = self.window.saturating_sub(used + used / 8 + FRAME);
        (max_tokens * 2).min(own).min(free).max(max_tokens)
    }

    /// The rest of an answer that was cut off; `None` when that is cut off too, or does not fit.
    async fn continued(
        &self,
        prompt: &str,
        text: String,
        max_tokens: u64,
        place: (usize, usize),
    ) -> Result<Option<String>, Failure> {
        let text_tokens = u64::from(self.run.means.estimator.text(&text));
        let used = self.tokens(prompt) + text_tokens + 2 * FRAME;
        let free = self.window.saturating_sub(used + used / 8);
        if free < 128 {
            return Ok(None);
        }
        let max_tokens = max_tokens.min(free);
        let sent = Words { prompt, continues: Some(&text), max_tokens, place };
        Ok(match self.ask(&sent).await? {
            Verdict::Good(more) => Some(join(&text, &more)),
            Verdict::CutOff(_) | Verdict::Empty { .. } | Verdict::Refused(_) => None,
        })
    }

    /// One request, tried again after transient failures.
    async fn ask(&self, sent: &Words<'_>) -> Result<Verdict, Failure> {
        let mut attempt = 1;
        loop {
            self.run.report(self.task.what, sent.place, None);
            let error = match self.stream(sent).await {
                Ok((text, reason)) => return Ok(judge(&text, reason)),
                Err(error) => error,
            };
            let wait = match next_try(&error, attempt, self.is_last, self.run.means.backoff) {
                NextTry::After(wait) => wait,
                NextTry::Smaller => {
                    let size = self.tokens(sent.prompt) + sent.max_tokens;
                    return Err(Failure::Overflow { problem: error.message, size });
                }
                NextTry::Never => return Err(Failure::Other(error.message)),
            };
            attempt += 1;
            let seconds = wait.as_secs_f64().ceil();
            let note = format!("trying again in {seconds} s: {}", error.message);
            self.run.report(self.task.what, sent.place, Some(note));
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends one request and reads its answer to the end.
    async fn stream(&self, sent: &Words<'_>) -> Result<(String, StopReason), ProviderError> {
        let cancel = self.run.means.cancel.child_token();
        let mut stream = self.provider.stream(self.request(sent), cancel.clone());
        let _closed_on_drop = cancel.drop_guard();
        let mut assembler = Assembler::new(self.model, Timestamp::default());
        let timeouts = self.run.means.settings.timeouts;
        let mut patience = first_byte(self.model, timeouts);
        let mut reported = 0;
        let ended = loop {
            let event = match tokio::time::timeout(patience, stream.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(error))) => break Err(error),
                Ok(None) => {
                    let text = "the connection closed before the summary was complete";
                    break Err(ProviderError::new(ErrorKind::Cut, text));
                }
                Err(_) => {
                    let text = format!("said nothing for {} s", patience.as_secs());
                    break Err(ProviderError::new(ErrorKind::Timeout, text));
                }
            };
            patience = Duration::from_secs(timeouts.idle);
            assembler.apply(&event);
            match event {
                StreamEvent::Delta { text, .. } => {
                    let tokens = self.run.count(&text);
                    if tokens >= reported + REPORT_EVERY {
                        reported = tokens;
                        self.run.report(self.task.what, sent.place, None);
                    }
                }
                StreamEvent::Finish { reason } => break Ok(reason),
                _ => {}
            }
        };
        // A broken answer is paid for as well.
        let answer = assembler.finish(StopReason::Stop, self.model);
        self.run.bill(&answer.usage);
        ended.map(|reason| (answer.text(), reason))
    }

    fn request(&self, sent: &Words<'_>) -> Request {
        let means = &self.run.means;
        let settings = means.settings;
        let mut messages = vec![user(sent.prompt.to_owned())];
        if let Some(text) = sent.continues {
            messages.push(Arc::new(Message::Assistant(AssistantMessage {
                content: vec![Block::text(text)],
                api: self.model.api.clone(),
                provider: self.model.provider.clone(),
                model: self.model.id.clone(),
                stop_reason: StopReason::Length,
                ..AssistantMessage::default()
            })));
            messages.push(user(prompts::continue_summary((sent.max_tokens * 2 / 5).max(20))));
        }
        Request {
            purpose: means.purpose,
            model: self.model.clone(),
            system: self.run.system.clone(),
            messages,
            tools: Vec::new(),
            max_tokens: sent.max_tokens,
            thinking: ThinkingLevel::Off,
            parameters: settings.summarization.parameters.clone(),
            session_id: means.session_id.to_owned(),
            cache: settings.cache != Some(false),
        }
    }
}

fn user(text: String) -> Arc<Message> {
    Arc::new(Message::User(UserMessage { content: Content::from_text(text), timestamp: 0 }))
}

/// What follows a failed request.
enum NextTry {
    After(Duration),
    /// The same, in smaller pieces.
    Smaller,
    Never,
}

/// Whether the same model is asked again, and when (C22, F70).
fn next_try(error: &ProviderError, attempt: u32, is_last: bool, backoff: Duration) -> NextTry {
    let again = match error.kind {
        ErrorKind::Transient | ErrorKind::RateLimit | ErrorKind::Cut | ErrorKind::Cancelled => {
            attempt < TRIES
        }
        // A server that stalled once has cost minutes already.
        ErrorKind::Timeout => is_last && attempt < 2,
        ErrorKind::Overflow => return NextTry::Smaller,
        ErrorKind::Quota | ErrorKind::Auth | ErrorKind::BadRequest | ErrorKind::Refused => false,
    };
    let wait = error.retry_after.unwrap_or_else(|| backoff * (1 << (attempt - 1).min(5)));
    if !again || wait > if is_last { MOST_PATIENCE } else { PATIENCE } {
        return NextTry::Never;
    }
    NextTry::After(wait)
}

/// How long to wait for the first event: models on this machine may read a long prompt for minutes (F71).
fn first_byte(model: &Model, timeouts: Timeouts) -> Duration {
    let host = reqwest::Url::parse(&model.base_url).ok();
    let host = host.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]" | "0.0.0.0");
    let seconds = if is_local { timeouts.first_byte_local } else { timeouts.first_byte };
    Duration::from_secs(seconds)
}
