//! One model at work on one text: pieces, checks, retries (SPEC C18, C19, C22).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;

use super::calls::{Extent, Run, Task};
use super::pieces;
use super::usable::{Verdict, join, judge};
use crate::compaction::tokens::Estimator;
use crate::compaction::{prompts, trigger};
use crate::ids::Timestamp;
use crate::message::{AssistantMessage, Block, Content, Message, StopReason, UserMessage};
use crate::provider::assemble::Assembler;
use crate::provider::http::is_local;
use crate::provider::model::Model;
use crate::provider::retry::{RetryDecision, RetryPolicy};
use crate::provider::{ErrorKind, Provider, ProviderError, Request, StreamEvent, ThinkingLevel};
use crate::settings::Timeouts;

/// Repetitions of one request to one model.
const RETRIES: u32 = 3;
/// A longer wait goes to the next candidate, if there is one.
const PATIENCE: Duration = Duration::from_secs(30);
/// Less than this is not worth a request.
const LEAST_ROOM: u64 = 64;
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
        let max_tokens = self.max_tokens();
        let room = self.room(max_tokens);
        if room < LEAST_ROOM {
            let problem =
                format!("its window of {} tokens is too small to summarise in", self.window);
            return Err(Failure::Other(problem));
        }
        let mut texts = self.task.texts.clone();
        let mut previous = self.task.previous.map(str::to_owned);
        if let Some(earlier) = previous.take_if(|text| self.length(text) > room / 2) {
            // The text before is too large to stand beside a piece.
            match extent {
                Extent::All => texts.insert(0, format!("[Earlier checkpoint]: {earlier}")),
                Extent::Newest => previous = Some(self.beginning(&earlier, room / 2)),
            }
        }
        let mut pieces = self.cut(&texts, extent, room, max_tokens, previous.as_deref());
        let mut done = 0;
        while let Some(mut piece) = pieces.pop_front() {
            let before = previous.as_deref().map_or(0, |text| self.length(text));
            if before + self.length(&piece) > room {
                // What was written so far came out larger than it should: smaller pieces from here.
                previous = previous.map(|text| self.beginning(&text, room / 2));
                let kept = previous.as_deref().map_or(0, |text| self.length(text));
                pieces.push_front(piece);
                let rest = pieces::split(pieces.make_contiguous(), room - kept, self.estimator());
                pieces = rest.into();
                piece = pieces.pop_front().unwrap_or_default();
            }
            done += 1;
            let place = (done, done + pieces.len());
            previous = Some(self.piece(&piece, previous.as_deref(), place, max_tokens).await?);
        }
        previous.ok_or_else(|| Failure::Other("there is nothing to summarise".to_owned()))
    }

    /// The first cut: one piece where all fits, else pieces beside which the text so far has room.
    fn cut(
        &self,
        texts: &[String],
        extent: Extent,
        room: u64,
        max_tokens: u64,
        previous: Option<&str>,
    ) -> VecDeque<String> {
        let length = previous.map_or(0, |text| self.length(text));
        let budget = room.saturating_sub(length);
        if extent == Extent::Newest {
            return [pieces::newest(texts, budget, self.estimator())].into();
        }
        let whole = pieces::split(texts, budget, self.estimator());
        if whole.len() <= 1 {
            return whole.into();
        }
        let budget = room.saturating_sub(length.max(max_tokens)).max(room / 4);
        pieces::split(texts, budget, self.estimator()).into()
    }

    const fn estimator(&self) -> Estimator {
        self.run.means.estimator
    }

    fn length(&self, text: &str) -> u64 {
        u64::from(self.estimator().text(text))
    }

    /// As much of a text's beginning as takes `budget` tokens.
    fn beginning(&self, text: &str, budget: u64) -> String {
        let pieces = pieces::split(&[text.to_owned()], budget, self.estimator());
        pieces.into_iter().next().unwrap_or_default()
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
            .map(|prompt| self.length(prompt))
            .max();
        let fixed = frame.unwrap_or(0) + self.length(&self.run.system) + FRAME;
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
        self.length(prompt) + self.length(&self.run.system)
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
        let text_tokens = self.length(&text);
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
        let mut attempt = 0;
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

/// Whether the same model is asked again, and when (C22, F70). Nothing of a summary is stored before
/// it is whole, so one that broke off may be asked for again.
fn next_try(error: &ProviderError, attempt: u32, is_last: bool, backoff: Duration) -> NextTry {
    if error.kind == ErrorKind::Overflow {
        return NextTry::Smaller;
    }
    // A server that stalled once has cost minutes already.
    let stalled = error.kind == ErrorKind::Timeout;
    let mut policy = RetryPolicy::default().nothing_executed();
    policy.max_retries = match (stalled, is_last) {
        (false, _) => RETRIES,
        (true, true) => 1,
        (true, false) => 0,
    };
    policy.first_delay = backoff;
    if !is_last {
        policy.longest_wait = PATIENCE;
    }
    match policy.decide(error, attempt) {
        RetryDecision::After(wait) => NextTry::After(wait),
        RetryDecision::Stop => NextTry::Never,
    }
}

/// How long to wait for the first event: models on this machine may read a long prompt for minutes (F71).
fn first_byte(model: &Model, timeouts: Timeouts) -> Duration {
    let is_local = reqwest::Url::parse(&model.base_url).is_ok_and(|url| is_local(&url));
    let seconds = if is_local { timeouts.first_byte_local } else { timeouts.first_byte };
    Duration::from_secs(seconds)
}
