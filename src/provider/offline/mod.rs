//! The model that is always there (SPEC section 9): no network, no key, no intelligence.
//!
//! It reads commands out of the person's message, calls the real tools, answers from their results,
//! and summarises extractively. It keeps no state: what is still to be done follows from the request.

mod answer;
mod grammar;
mod summary;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use super::model::{Model, Price};
use super::{BlockStart, ErrorKind, Provider, ProviderError, Purpose, Request, StreamEvent};
use crate::compaction::CONTINUE_PROMPT;
use crate::compaction::tokens::Estimator;
use crate::message::{AssistantMessage, Message, StopReason, Usage};
use answer::Result as Outcome;
use grammar::{Command, Program};

/// Between two pieces of a short answer.
const PACE: Duration = Duration::from_millis(5);
/// A long answer is paced so that it takes no longer than this.
const LONGEST: Duration = Duration::from_millis(1_200);

/// The offline model.
#[must_use]
pub fn model() -> Model {
    Model {
        provider: "offline".to_owned(),
        id: "offline".to_owned(),
        api: "offline".to_owned(),
        base_url: String::new(),
        context_window: 32_768,
        max_tokens: 4_096,
        reasoning: false,
        images: false,
        price: Price::default(),
        window_is_guess: false,
    }
}

/// The provider of the offline model.
#[derive(Debug, Clone, Copy)]
pub struct Offline {
    estimator: Estimator,
    pace: Duration,
}

impl Default for Offline {
    fn default() -> Self {
        Self::new(Estimator::default())
    }
}

impl Offline {
    /// A provider that counts tokens with `estimator`.
    #[must_use]
    pub const fn new(estimator: Estimator) -> Self {
        Self { estimator, pace: PACE }
    }
}

impl Provider for Offline {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let input = self.prompt_tokens(&request);
        if input > request.model.context_window {
            let window = request.model.context_window;
            let message = format!(
                "the prompt is too long: about {input} tokens, and the maximum context length of the \
                 offline model is {window} tokens"
            );
            let error = ProviderError::new(ErrorKind::Overflow, message);
            return futures::stream::iter([Err(error)]).boxed();
        }
        let reply = Reply::to(&request, self.estimator);
        paced(reply.events(input, self.estimator), self.pace, cancel)
    }
}

impl Offline {
    fn prompt_tokens(self, request: &Request) -> u64 {
        let text = |text: &str| u64::from(self.estimator.text(text));
        let messages: u64 =
            request.messages.iter().map(|message| u64::from(self.estimator.message(message))).sum();
        let tools: u64 = request
            .tools
            .iter()
            .map(|tool| text(&tool.description) + text(&tool.parameters.to_string()))
            .sum();
        text(&request.system) + messages + tools
    }
}

/// What is said and which tools are called.
#[derive(Debug, Clone, PartialEq, Default)]
struct Reply {
    text: String,
    /// Id, tool and arguments as JSON.
    calls: Vec<(String, &'static str, String)>,
    cut_off: bool,
}

impl Reply {
    fn to(request: &Request, estimator: Estimator) -> Self {
        let mut reply = match request.purpose {
            Purpose::Compaction | Purpose::BranchSummary => {
                Self { text: summary::summarize(request), ..Self::default() }
            }
            Purpose::Turn => turn(request),
        };
        if u64::from(estimator.text(&reply.text)) > request.max_tokens {
            reply.cut_to(request.max_tokens, estimator);
        }
        reply
    }

    fn cut_to(&mut self, max_tokens: u64, estimator: Estimator) {
        let ends: Vec<usize> = self.text.char_indices().map(|(at, _)| at).collect();
        let fits = |end: &usize| u64::from(estimator.text(&self.text[..*end])) <= max_tokens;
        let kept = ends.partition_point(fits).saturating_sub(1);
        let end = ends.get(kept).copied().unwrap_or(0);
        self.text.truncate(end);
        self.calls.clear();
        self.cut_off = true;
    }

    fn events(&self, input: u64, estimator: Estimator) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        let mut index = 0;
        if !self.text.is_empty() {
            events.push(StreamEvent::BlockStart { index, block: BlockStart::Text });
            let words = self.text.split_inclusive([' ', '\n']);
            events.extend(words.map(|text| StreamEvent::Delta { index, text: text.to_owned() }));
            index += 1;
        }
        let mut output = u64::from(estimator.text(&self.text));
        for (id, tool, arguments) in &self.calls {
            let block = BlockStart::ToolCall { id: id.clone(), name: (*tool).to_owned() };
            events.push(StreamEvent::BlockStart { index, block });
            events.push(StreamEvent::Delta { index, text: arguments.clone() });
            output += u64::from(estimator.text(tool)) + u64::from(estimator.text(arguments));
            index += 1;
        }
        let total_tokens = input + output;
        events.push(StreamEvent::Usage(Usage { input, output, total_tokens, ..Usage::default() }));
        let reason = match (self.cut_off, self.calls.is_empty()) {
            (true, _) => StopReason::Length,
            (false, true) => StopReason::Stop,
            (false, false) => StopReason::ToolUse,
        };
        events.push(StreamEvent::Finish { reason });
        events
    }
}

/// A turn: the next step of the person's program, or the words that close it.
fn turn(request: &Request) -> Reply {
    let asked = request.messages.iter().rposition(|message| matches!(**message, Message::User(_)));
    let Some((asked, Message::User(user))) = asked.map(|at| (at, &*request.messages[at])) else {
        return said(answer::ABOUT);
    };
    let text = user.content.text();
    if text.trim() == CONTINUE_PROMPT {
        return said(answer::NO_STEPS);
    }
    let program = grammar::parse(&text);
    let since = &request.messages[asked + 1..];
    let rounds: Vec<&AssistantMessage> = since
        .iter()
        .filter_map(|message| match &**message {
            Message::Assistant(answer) if answer.tool_calls().next().is_some() => Some(answer),
            _ => None,
        })
        .collect();
    if program.steps.is_empty() {
        return said(answer::ABOUT);
    }
    let results = results(&program, &rounds, since);
    let failed = results.iter().any(|result| result.is_error || result.text.is_none());
    match program.steps.get(rounds.len()) {
        Some(step) if !failed => calls(step, request),
        rest => {
            let skipped =
                rest.map_or(0, |_| program.steps[rounds.len()..].iter().map(Vec::len).sum());
            said(&answer::report(&results, &program, skipped))
        }
    }
}

fn said(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

/// What came of the steps so far. Calls and commands are matched by their place: ids may repeat.
fn results<'a>(
    program: &'a Program,
    rounds: &[&AssistantMessage],
    since: &[Arc<Message>],
) -> Vec<Outcome<'a>> {
    let mut answers = since.iter().filter_map(|message| match &**message {
        Message::ToolResult(result) => Some(result),
        _ => None,
    });
    let mut results = Vec::new();
    for (step, round) in program.steps.iter().zip(rounds) {
        for (command, _call) in step.iter().zip(round.tool_calls()) {
            let result = answers.next();
            results.push(Outcome {
                command,
                text: result.map(|result| result.content.text()),
                is_error: result.is_some_and(|result| result.is_error),
            });
        }
    }
    results
}

fn calls(step: &[Command], request: &Request) -> Reply {
    let mut calls = Vec::new();
    let before = request.messages.len();
    for (at, command) in step.iter().enumerate() {
        let (tool, arguments) = command.call();
        if !request.tools.iter().any(|known| known.name == tool) {
            return said(&format!(
                "That needs the tool `{tool}`, which this session does not have."
            ));
        }
        calls.push((format!("offline_{before}_{at}"), tool, arguments.to_string()));
    }
    Reply { text: answer::announcement(step), calls, cut_off: false }
}

/// The events one after another, a little apart, until the end or the person's Escape.
fn paced(
    events: Vec<StreamEvent>,
    pace: Duration,
    cancel: CancellationToken,
) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
    let count = u32::try_from(events.len()).unwrap_or(u32::MAX).max(1);
    let pause = pace.min(LONGEST / count);
    let state = (events.into_iter(), cancel);
    futures::stream::unfold(Some(state), move |state| async move {
        let (mut events, cancel) = state?;
        let event = events.next()?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Some((Err(ProviderError::cancelled()), None)),
            () = tokio::time::sleep(pause) => {}
        }
        Some((Ok(event), Some((events, cancel))))
    })
    .boxed()
}

#[cfg(test)]
mod tests;
