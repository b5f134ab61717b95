//! Runs the tool calls of an answer: each one settles with exactly one result, in the order of the
//! calls, whatever happens (I2, I13).

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::event::AgentEvent;
use crate::ids::Stamper;
use crate::message::{AssistantMessage, Block, Content, StopReason, ToolCall, ToolResultMessage};
use crate::tool::truncate::{self, Limits};
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput, ToolRegistry, sanitize};

/// What the model is told of a call that the person stopped.
pub const STOPPED: &str = "The user stopped this call.";
/// What the model is told of a call that never started because the person spoke (F89).
pub const SKIPPED: &str = "Not run: the user sent a new message. Read it before you go on.";
/// What the model is told of a call whose answer was cut off (F63).
pub const CUT_OFF: &str = "Not run: the answer was cut off at the output limit before this call was complete. \
     Send it again, in smaller parts.";

/// How long a stopped tool may take to tell what it had done. A tool that takes longer is left to its
/// own cleaning up: the session is idle within 100 ms (I7).
const GRACE: Duration = Duration::from_millis(60);

/// Most bytes of details that somebody else than the tool wrote.
const LARGEST_DETAILS: usize = 64 * 1024;

/// Decides whether a call may run.
pub trait Gate: Send + Sync {
    /// Asks for permission; may wait for a person. The caller stops waiting when the call is stopped.
    fn ask<'a>(&'a self, call: &'a ToolCall, effect: Effect) -> BoxFuture<'a, GateAnswer>;
}

/// See [`Gate::ask`].
#[derive(Debug, Clone, PartialEq)]
pub enum GateAnswer {
    /// Go on.
    Allowed,
    /// Go on with other arguments; what was said about it is told to the model.
    Changed(Change),
    /// Do not; the text tells the model why.
    Refused(String),
}

/// Other arguments than the model's.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What the call runs with.
    pub arguments: Value,
    /// Who changed what, for the model: it stands above the result.
    pub note: String,
}

/// Watches calls and their results (SPEC section 6). The caller stops waiting when the call is stopped.
pub trait CallWatch: Send + Sync {
    /// A call that could run; permission is asked afterwards, for what it then is.
    fn before<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallVerdict>;

    /// A call has run. Gives another result, if there is to be one.
    fn after<'a>(
        &'a self,
        call: &'a ToolCall,
        result: &'a ToolResultMessage,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<ToolResultMessage>>;
}

/// See [`CallWatch::before`].
#[derive(Debug, Clone, PartialEq)]
pub enum CallVerdict {
    /// Go on.
    Unchanged,
    /// Go on with other arguments, which are checked anew.
    Changed(Change),
    /// Do not; the text tells the model why.
    Blocked(String),
}

/// Everything that running calls needs.
#[derive(Clone)]
pub struct Hands {
    /// The tools on offer.
    pub tools: ToolRegistry,
    /// Who gives permission.
    pub gate: Arc<dyn Gate>,
    /// Who watches.
    pub watch: Option<Arc<dyn CallWatch>>,
    /// The session's folder.
    pub cwd: PathBuf,
    /// Most tokens of one result.
    pub max_result_tokens: u64,
    /// Turns true when the person has said something that should be read soon.
    pub steer: watch::Receiver<bool>,
}

/// A call that may run, and what the model is told of changes to it.
struct Ready {
    call: ToolCall,
    tool: Arc<dyn Tool>,
    notes: Vec<String>,
}

/// Runs all calls of `answer` and emits a result for each.
pub async fn run_calls(
    hands: &Hands,
    answer: &AssistantMessage,
    cancel: &CancellationToken,
    stamper: &dyn Stamper,
    emit: &(dyn Fn(AgentEvent) + Send + Sync),
) {
    let settle = |result: ToolResultMessage| emit(AgentEvent::ToolResult(result));
    let mut waiting: VecDeque<&ToolCall> = answer.tool_calls().collect();
    while let Some(call) = waiting.pop_front() {
        let refusal = if answer.stop_reason == StopReason::Length {
            Some(CUT_OFF)
        } else if cancel.is_cancelled() {
            Some(STOPPED)
        } else if *hands.steer.borrow() {
            Some(SKIPPED)
        } else {
            None
        };
        if let Some(words) = refusal {
            settle(result_message(call, Err(ToolError::new(words)), stamper));
            continue;
        }
        let mut batch = vec![call];
        if is_parallel(hands, call) {
            while let Some(next) = waiting.front().filter(|next| is_parallel(hands, next)) {
                batch.push(next);
                waiting.pop_front();
            }
        }
        let running = batch.iter().map(|call| run_one(hands, call, cancel, stamper, emit));
        join_all(running).await.into_iter().for_each(settle);
    }
}

fn is_parallel(hands: &Hands, call: &ToolCall) -> bool {
    hands.tools.get(&call.name).is_some_and(|tool| tool.parallel())
}

async fn run_one(
    hands: &Hands,
    call: &ToolCall,
    cancel: &CancellationToken,
    stamper: &dyn Stamper,
    emit: &(dyn Fn(AgentEvent) + Send + Sync),
) -> ToolResultMessage {
    let (progress, pieces) = mpsc::unbounded_channel();
    let cx = ToolContext {
        cwd: hands.cwd.clone(),
        cancel: cancel.child_token(),
        progress: Arc::new(move |text| {
            // The receiver lives as long as the call; afterwards nobody wants the piece.
            progress.send(text).ok();
        }),
        max_result_tokens: hands.max_result_tokens,
    };
    let Ready { call, tool, notes } = match prepare(hands, call, &cx, cancel).await {
        Ok(ready) => ready,
        Err(error) => return result_message(call, Err(error), stamper),
    };
    emit(AgentEvent::ToolStarted(call.clone()));
    let running = tool.run(call.arguments.clone(), cx);
    let outcome = follow(&call.id, running, pieces, cancel, emit).await;
    let mut result = result_message(&call, outcome, stamper);
    if let Some(watch) = &hands.watch
        && let Some(other) =
            unless_stopped(cancel, watch.after(&call, &result, cancel)).await.flatten()
    {
        result = bounded(other, hands.max_result_tokens);
    }
    noted(result, &notes)
}

/// Shows what a running call says until it settles, or is stopped and does not settle soon.
async fn follow(
    call_id: &str,
    running: BoxFuture<'static, Result<ToolOutput, ToolError>>,
    mut pieces: mpsc::UnboundedReceiver<String>,
    cancel: &CancellationToken,
    emit: &(dyn Fn(AgentEvent) + Send + Sync),
) -> Result<ToolOutput, ToolError> {
    let overdue = async {
        cancel.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::pin!(running, overdue);
    loop {
        tokio::select! {
            biased;
            result = &mut running => return result,
            Some(text) = pieces.recv() => {
                emit(AgentEvent::ToolProgress { call_id: call_id.to_owned(), text });
            }
            () = &mut overdue => return Err(ToolError::new(STOPPED)),
        }
    }
}

/// Checks a call, has it watched and asks for permission.
async fn prepare(
    hands: &Hands,
    call: &ToolCall,
    cx: &ToolContext,
    cancel: &CancellationToken,
) -> Result<Ready, ToolError> {
    let Some(tool) = hands.tools.get(&call.name).cloned() else {
        let names: Vec<_> = hands.tools.specs().into_iter().map(|spec| spec.name).collect();
        return Err(ToolError::new(format!(
            "There is no tool `{}`. The tools are: {}.",
            call.name,
            names.join(", ")
        )));
    };
    if let Value::String(text) = &call.arguments {
        return Err(ToolError::new(format!(
            "The arguments of `{}` are not a JSON object (they may have been cut off after {} \
             characters). Send the call again, whole.",
            call.name,
            text.chars().count()
        )));
    }
    let mut ready = Ready { call: call.clone(), tool, notes: Vec::new() };
    let mut effect = ready.tool.effect(&call.arguments, cx)?;
    if let Some(watch) = &hands.watch {
        match unless_stopped(cancel, watch.before(call, cancel)).await {
            Some(CallVerdict::Unchanged) => {}
            Some(CallVerdict::Changed(change)) => {
                ready.take(change);
                effect = ready.tool.effect(&ready.call.arguments, cx)?;
            }
            Some(CallVerdict::Blocked(reason)) => return Err(ToolError::new(reason)),
            None => return Err(ToolError::new(STOPPED)),
        }
    }
    match unless_stopped(cancel, hands.gate.ask(&ready.call, effect)).await {
        Some(GateAnswer::Allowed) => {}
        Some(GateAnswer::Changed(change)) => {
            ready.take(change);
            // What the person has written is allowed; whether the tool can take it is another matter.
            ready.tool.effect(&ready.call.arguments, cx)?;
        }
        Some(GateAnswer::Refused(reason)) => return Err(ToolError::new(reason)),
        None => return Err(ToolError::new(STOPPED)),
    }
    Ok(ready)
}

impl Ready {
    fn take(&mut self, change: Change) {
        self.call.arguments = change.arguments;
        self.notes.push(change.note);
    }
}

/// What a future gives, or `None` as soon as the person stops it.
async fn unless_stopped<T>(
    cancel: &CancellationToken,
    future: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        value = future => Some(value),
    }
}

/// A text for the model that somebody else than a tool wrote, cleaned and cut to what a result may
/// take (I13).
#[must_use]
pub fn bounded_text(text: &str, max_tokens: u64) -> String {
    let clean = sanitize::clean(text);
    let (beginning, _) = truncate::first_lines(&clean, Limits::for_tokens(max_tokens));
    if beginning.len() == clean.len() {
        return clean.into_owned();
    }
    format!("{beginning}\n[{} more bytes are left out]", clean.len() - beginning.len())
}

/// A result that somebody else than the tool wrote, within bounds (I13, F53).
fn bounded(mut result: ToolResultMessage, max_tokens: u64) -> ToolResultMessage {
    let cut = |text: &str| bounded_text(text, max_tokens);
    let blocks = match result.content {
        Content::Text(text) => vec![Block::text(cut(&text))],
        Content::Blocks(blocks) => blocks
            .into_iter()
            .map(|block| match block {
                Block::Text { text, .. } => Block::text(cut(&text)),
                other => other,
            })
            .collect(),
    };
    result.content = Content::Blocks(blocks);
    result.details = result.details.filter(|details| details.to_string().len() <= LARGEST_DETAILS);
    result
}

/// The result below what the model is told of changes to its call.
fn noted(mut result: ToolResultMessage, notes: &[String]) -> ToolResultMessage {
    if notes.is_empty() {
        return result;
    }
    let notes: Vec<_> = notes.iter().map(|note| format!("[{note}]")).collect();
    let mut blocks = vec![Block::text(notes.join("\n"))];
    match result.content {
        Content::Text(text) => blocks.push(Block::text(text)),
        Content::Blocks(more) => blocks.extend(more),
    }
    result.content = Content::Blocks(blocks);
    result
}

/// The message of a call's outcome. An empty outcome stays empty here: what is sent is repaired in
/// the view (F67).
#[must_use]
pub fn result_message(
    call: &ToolCall,
    result: Result<ToolOutput, ToolError>,
    stamper: &dyn Stamper,
) -> ToolResultMessage {
    let (content, details, is_error) = match result {
        Ok(output) => (Content::Blocks(output.content), output.details, false),
        Err(error) => (Content::from_text(error.message), error.details, true),
    };
    ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content,
        details,
        is_error,
        pruned_at: None,
        timestamp: stamper.now().as_millis(),
    }
}
