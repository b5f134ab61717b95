//! Runs the tool calls of an answer: each one settles with exactly one result, in the order of the
//! calls, whatever happens (I2, I13).

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::event::AgentEvent;
use crate::ids::Stamper;
use crate::message::{AssistantMessage, Content, StopReason, ToolCall, ToolResultMessage};
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput, ToolRegistry};

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

/// Decides whether a call may run.
pub trait Gate: Send + Sync {
    /// Asks for permission; may wait for a person. The caller stops waiting when the call is stopped.
    fn ask<'a>(&'a self, call: &'a ToolCall, effect: Effect) -> BoxFuture<'a, GateAnswer>;
}

/// See [`Gate::ask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateAnswer {
    /// Go on.
    Allowed,
    /// Do not; the text tells the model why.
    Refused(String),
}

/// Everything that running calls needs.
#[derive(Clone)]
pub struct Hands {
    /// The tools on offer.
    pub tools: ToolRegistry,
    /// Who gives permission.
    pub gate: Arc<dyn Gate>,
    /// The session's folder.
    pub cwd: PathBuf,
    /// Most tokens of one result.
    pub max_result_tokens: u64,
    /// Turns true when the person has said something that should be read soon.
    pub steer: watch::Receiver<bool>,
}

/// A call that may run.
struct Ready {
    call: ToolCall,
    tool: Arc<dyn Tool>,
}

/// Runs all calls of `answer` and emits a result for each.
pub async fn run_calls(
    hands: &Hands,
    answer: &AssistantMessage,
    cancel: &CancellationToken,
    stamper: &dyn Stamper,
    emit: &(dyn Fn(AgentEvent) + Send + Sync),
) {
    let settle = |call: &ToolCall, result: Result<ToolOutput, ToolError>| {
        emit(AgentEvent::ToolResult(result_message(call, result, stamper)));
    };
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
            settle(call, Err(ToolError::new(words)));
            continue;
        }
        let mut batch = vec![call];
        if is_parallel(hands, call) {
            while let Some(next) = waiting.front().filter(|next| is_parallel(hands, next)) {
                batch.push(next);
                waiting.pop_front();
            }
        }
        let results = join_all(batch.iter().map(|call| run_one(hands, call, cancel, emit))).await;
        for (call, result) in batch.into_iter().zip(results) {
            settle(call, result);
        }
    }
}

fn is_parallel(hands: &Hands, call: &ToolCall) -> bool {
    hands.tools.get(&call.name).is_some_and(|tool| tool.parallel())
}

async fn run_one(
    hands: &Hands,
    call: &ToolCall,
    cancel: &CancellationToken,
    emit: &(dyn Fn(AgentEvent) + Send + Sync),
) -> Result<ToolOutput, ToolError> {
    let (progress, mut pieces) = tokio::sync::mpsc::unbounded_channel();
    let cx = ToolContext {
        cwd: hands.cwd.clone(),
        cancel: cancel.child_token(),
        progress: Arc::new(move |text| {
            // The receiver lives as long as the call; afterwards nobody wants the piece.
            progress.send(text).ok();
        }),
        max_result_tokens: hands.max_result_tokens,
    };
    let ready = prepare(hands, call, &cx, cancel).await?;
    emit(AgentEvent::ToolStarted(ready.call.clone()));
    let running = ready.tool.run(ready.call.arguments, cx);
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
                emit(AgentEvent::ToolProgress { call_id: call.id.clone(), text });
            }
            () = &mut overdue => return Err(ToolError::new(STOPPED)),
        }
    }
}

/// Checks a call and asks for permission.
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
    let effect = tool.effect(&call.arguments, cx)?;
    let answer = tokio::select! {
        biased;
        () = cancel.cancelled() => GateAnswer::Refused(STOPPED.to_owned()),
        answer = hands.gate.ask(call, effect) => answer,
    };
    match answer {
        GateAnswer::Allowed => Ok(Ready { call: call.clone(), tool }),
        GateAnswer::Refused(reason) => Err(ToolError::new(reason)),
    }
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
