//! A provider for tests: the test says what is answered and sees what was asked. Always compiled,
//! so that tests of the whole crate need no feature flag; nothing else uses it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::model::Model;
use super::{BlockStart, ErrorKind, Provider, ProviderError, Providers, Request, StreamEvent};
use crate::message::{StopReason, Usage};

/// Answers each request with the next script; clones share everything.
#[derive(Debug, Clone, Default)]
pub struct ScriptedProvider {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    scripts: Mutex<VecDeque<Script>>,
    requests: Mutex<Vec<Request>>,
    models: Mutex<Vec<Arc<Model>>>,
    asked: Notify,
}

/// One answer, built step by step. Unless it ends in [`Script::finish`] or [`Script::error`] it is
/// cut: the stream ends with [`ErrorKind::Cut`].
#[derive(Debug, Clone, Default)]
pub struct Script {
    steps: Vec<Step>,
    blocks: usize,
}

#[derive(Debug, Clone)]
enum Step {
    Event(StreamEvent),
    Error(ProviderError),
    Hold(Hold),
}

/// A place where an answer waits for the test.
#[derive(Debug, Clone, Default)]
pub struct Hold {
    reached: CancellationToken,
    released: CancellationToken,
}

impl Hold {
    /// Waits until the answer has come this far.
    pub async fn reached(&self) {
        self.reached.cancelled().await;
    }

    /// Lets the answer go on.
    pub fn release(&self) {
        self.released.cancel();
    }
}

impl Script {
    /// Says nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An answer of one text, ended as it should.
    #[must_use]
    pub fn says(text: &str) -> Self {
        Self::new().text(text).finish(StopReason::Stop)
    }

    /// A failed request.
    #[must_use]
    pub fn fails(kind: ErrorKind, message: &str) -> Self {
        Self::new().error(ProviderError::new(kind, message))
    }

    /// A block of text, word by word.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.block(BlockStart::Text, text)
    }

    /// A block of reasoning.
    #[must_use]
    pub fn thinking(self, text: &str) -> Self {
        self.block(BlockStart::Thinking { redacted: false }, text)
    }

    /// A tool call; `arguments` is JSON, or whatever a bad server sends for it.
    #[must_use]
    pub fn tool_call(self, id: &str, name: &str, arguments: &str) -> Self {
        self.block(BlockStart::ToolCall { id: id.into(), name: name.into() }, arguments)
    }

    fn block(mut self, block: BlockStart, text: &str) -> Self {
        let index = self.blocks;
        self.blocks += 1;
        self.steps.push(Step::Event(StreamEvent::BlockStart { index, block }));
        for word in text.split_inclusive(' ') {
            let text = word.to_owned();
            self.steps.push(Step::Event(StreamEvent::Delta { index, text }));
        }
        self
    }

    /// Any event.
    #[must_use]
    pub fn event(mut self, event: StreamEvent) -> Self {
        self.steps.push(Step::Event(event));
        self
    }

    /// Figures: tokens of the prompt and of the answer.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        let usage = Usage { input, output, total_tokens: input + output, ..Usage::default() };
        self.event(StreamEvent::Usage(usage))
    }

    /// Waits here until the test releases it, the request is cancelled or the stream dropped.
    #[must_use]
    pub fn hold(mut self, hold: &Hold) -> Self {
        self.steps.push(Step::Hold(hold.clone()));
        self
    }

    /// The terminal signal.
    #[must_use]
    pub fn finish(self, reason: StopReason) -> Self {
        self.event(StreamEvent::Finish { reason })
    }

    /// An error here.
    #[must_use]
    pub fn error(mut self, error: ProviderError) -> Self {
        self.steps.push(Step::Error(error));
        self
    }
}

impl ScriptedProvider {
    /// Without scripts and models.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With models for [`Providers::models`].
    #[must_use]
    pub fn with_models(models: impl IntoIterator<Item = Model>) -> Self {
        let provider = Self::new();
        lock(&provider.shared.models).extend(models.into_iter().map(Arc::new));
        provider
    }

    /// Adds the answer to the next request that has none yet.
    pub fn push(&self, script: Script) {
        lock(&self.shared.scripts).push_back(script);
    }

    /// What was asked so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// How many answers nobody has asked for yet.
    #[must_use]
    pub fn scripts_left(&self) -> usize {
        lock(&self.shared.scripts).len()
    }

    /// Waits until at least `count` requests have come.
    pub async fn asked(&self, count: usize) {
        loop {
            let next = self.shared.asked.notified();
            if lock(&self.shared.requests).len() >= count {
                return;
            }
            next.await;
        }
    }
}

impl Provider for ScriptedProvider {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        lock(&self.shared.requests).push(request);
        self.shared.asked.notify_waiters();
        let script = lock(&self.shared.scripts).pop_front().unwrap_or_else(|| {
            Script::fails(ErrorKind::BadRequest, "the test has no script for this request")
        });
        let steps = script.steps.into_iter();
        stream::unfold(Some((steps, cancel)), |state| async {
            let (mut steps, cancel) = state?;
            loop {
                if cancel.is_cancelled() {
                    return Some((Err(ProviderError::cancelled()), None));
                }
                return match steps.next() {
                    Some(Step::Event(event)) => {
                        let last = matches!(event, StreamEvent::Finish { .. });
                        Some((Ok(event), (!last).then_some((steps, cancel))))
                    }
                    Some(Step::Error(error)) => Some((Err(error), None)),
                    Some(Step::Hold(hold)) => {
                        hold.reached.cancel();
                        tokio::select! {
                            () = cancel.cancelled() => {}
                            () = hold.released.cancelled() => {}
                        }
                        continue;
                    }
                    None => {
                        let cut = ProviderError::new(ErrorKind::Cut, "the script ends here");
                        Some((Err(cut), None))
                    }
                };
            }
        })
        .boxed()
    }
}

impl Providers for ScriptedProvider {
    fn provider_for(&self, _model: &Model) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(self.clone()))
    }

    fn models(&self) -> Vec<Arc<Model>> {
        lock(&self.shared.models).clone()
    }
}

/// A panic in a test's other thread is that test's failure, not a second one here.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::catalogue::guessed_model;
    use crate::provider::{Purpose, ThinkingLevel};

    fn request() -> Request {
        Request {
            purpose: Purpose::Turn,
            model: Arc::new(guessed_model("p", "m", None, 100)),
            system: String::new(),
            messages: Vec::new(),
            tools: Vec::new(),
            max_tokens: 1,
            thinking: ThinkingLevel::Off,
            parameters: serde_json::Map::new(),
            session_id: "s".into(),
            cache: false,
        }
    }

    #[tokio::test]
    async fn scripts_answer_in_order_and_end_once() {
        let provider = ScriptedProvider::new();
        provider.push(Script::says("a b"));
        provider.push(Script::new().text("c"));
        let ask = || provider.stream(request(), CancellationToken::new()).collect::<Vec<_>>();
        assert_eq!(ask().await.len(), 4);
        assert_eq!(ask().await.pop().unwrap().unwrap_err().kind, ErrorKind::Cut);
        assert_eq!(ask().await.pop().unwrap().unwrap_err().kind, ErrorKind::BadRequest);
        assert_eq!((provider.requests().len(), provider.scripts_left()), (3, 0));
    }

    #[tokio::test]
    async fn a_held_answer_waits_for_the_test_or_for_escape() {
        let provider = ScriptedProvider::new();
        for _ in 0..2 {
            let hold = Hold::default();
            provider.push(Script::new().hold(&hold).text("x").finish(StopReason::Stop));
            let cancel = CancellationToken::new();
            let mut answer = provider.stream(request(), cancel.clone());
            let first = tokio::spawn(async move { (answer.next().await, answer.next().await) });
            hold.reached().await;
            if provider.requests().len() == 1 {
                hold.release();
                assert!(matches!(first.await.unwrap().1, Some(Ok(StreamEvent::Delta { .. }))));
            } else {
                cancel.cancel();
                let (error, end) = first.await.unwrap();
                assert_eq!(error.unwrap().unwrap_err().kind, ErrorKind::Cancelled);
                assert!(end.is_none());
            }
        }
        provider.asked(2).await;
    }
}
