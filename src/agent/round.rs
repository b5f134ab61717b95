//! One round: a request, its answer, and the answer's tool calls.

use std::sync::Arc;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::event::{AgentEvent, DeltaSorter, RoundEnd, StreamDelta};
use super::tool_calls::{Hands, run_calls};
use crate::ids::Stamper;
use crate::message::{AssistantMessage, StopReason};
use crate::provider::assemble::Assembler;
use crate::provider::model::Model;
use crate::provider::{ErrorKind, Provider, ProviderError, Request, StreamEvent};

/// What a round needs.
pub struct Round {
    /// Who is asked.
    pub provider: Arc<dyn Provider>,
    /// What is asked.
    pub request: Request,
    /// What runs the tool calls.
    pub hands: Hands,
    /// Fires on Escape.
    pub cancel: CancellationToken,
    /// The clock.
    pub stamper: Arc<dyn Stamper>,
}

impl Round {
    /// Runs the round and tells `emit` every step. Ends soon after `cancel` fires.
    pub async fn run(self, emit: &(dyn Fn(AgentEvent) + Send + Sync)) -> RoundEnd {
        let model = self.request.model.clone();
        emit(AgentEvent::Stream(StreamDelta::Start));
        let mut assembler = Assembler::new(&model, self.stamper.now());
        let stream = self.provider.stream(self.request, self.cancel.clone());
        let answer = match read(stream, &mut assembler, &self.cancel, emit).await {
            Ok(reason) => close(assembler, reason, &model),
            Err(error) => {
                let reason = match error.kind {
                    ErrorKind::Cancelled => StopReason::Aborted,
                    _ => StopReason::Error,
                };
                let mut partial = assembler.finish(reason, &model);
                partial.error_message = Some(error.message.clone());
                return RoundEnd::Failed { error, partial: Box::new(partial) };
            }
        };
        emit(AgentEvent::Answer(answer.clone()));
        run_calls(&self.hands, &answer, &self.cancel, self.stamper.as_ref(), emit).await;
        if self.cancel.is_cancelled() { RoundEnd::Stopped } else { RoundEnd::Done }
    }
}

/// Reads a stream to its terminal signal (F60).
async fn read(
    mut stream: futures::stream::BoxStream<'static, Result<StreamEvent, ProviderError>>,
    assembler: &mut Assembler,
    cancel: &CancellationToken,
    emit: &(dyn Fn(AgentEvent) + Send + Sync),
) -> Result<StopReason, ProviderError> {
    let mut sorter = DeltaSorter::default();
    loop {
        let event = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ProviderError::cancelled()),
            event = stream.next() => event,
        };
        match event {
            Some(Ok(StreamEvent::Finish { reason })) => return Ok(reason),
            Some(Ok(event)) => {
                assembler.apply(&event);
                if let Some(delta) = sorter.sort(&event) {
                    emit(AgentEvent::Stream(delta));
                }
            }
            Some(Err(error)) => return Err(error),
            None => {
                return Err(ProviderError::new(
                    ErrorKind::Cut,
                    "the connection closed before the answer was complete",
                ));
            }
        }
    }
}

/// Some servers end an answer that has tool calls with `stop`; what counts is the calls.
fn close(assembler: Assembler, reason: StopReason, model: &Model) -> AssistantMessage {
    let mut answer = assembler.finish(reason, model);
    let has_calls = answer.tool_calls().next().is_some();
    if has_calls && reason != StopReason::Length {
        answer.stop_reason = StopReason::ToolUse;
    }
    answer
}
