//! `-p`: one prompt, the answer on stdout, everything else on stderr, and out.

use std::io::Write;

use super::interrupt::Interrupts;
use crate::agent_session::SessionHandle;
use crate::agent_session::command::{Delivery, SessionCommand};
use crate::agent_session::event::{NoticeLevel, SessionEvent};
use crate::agent_session::queue::Prompt;
use crate::message::{Message, StopReason};
use crate::session::entry::EntryBody;

/// How a run without a screen ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The last answer is complete.
    Answered,
    /// It failed; stderr says why.
    Failed,
    /// Ctrl+C, or another signal that asks for the end.
    Interrupted,
}

/// Says `prompt`, writes each complete answer's text to `out` and what went wrong to `errors`.
///
/// # Errors
/// `out` cannot be written, for example because the pipe's reader has gone.
pub async fn run(
    mut handle: SessionHandle,
    prompt: Prompt,
    out: &mut (impl Write + Send),
    errors: &mut (impl Write + Send),
) -> std::io::Result<RunEnd> {
    let mut interrupts = Interrupts::listen()?;
    say(&handle, prompt);
    // Until an answer is there; a prompt that is refused or cannot be kept ends without one.
    let mut end = RunEnd::Failed;
    loop {
        let event = listen(&mut handle, &mut interrupts, &mut end).await;
        match event {
            None | Some(SessionEvent::Ended) => return Ok(end),
            Some(SessionEvent::Appended { entry }) => {
                if let EntryBody::Message { message: Message::Assistant(answer) } = &entry.body {
                    let text = answer.text();
                    if !text.is_empty() {
                        writeln!(out, "{}", text.trim_end())?;
                        out.flush()?;
                    }
                    if let Some(error) =
                        failure(answer.stop_reason, answer.error_message.as_deref())
                    {
                        writeln!(errors, "regrow: {error}")?;
                        if end != RunEnd::Interrupted {
                            end = RunEnd::Failed;
                        }
                    } else if end != RunEnd::Interrupted {
                        end = RunEnd::Answered;
                    }
                }
            }
            Some(SessionEvent::Opened { warnings, .. }) => {
                for warning in warnings {
                    writeln!(errors, "regrow: {warning}")?;
                }
            }
            Some(SessionEvent::Notice { level, text }) if level != NoticeLevel::Info => {
                writeln!(errors, "regrow: {text}")?;
            }
            Some(SessionEvent::Retry { error, delay_ms, .. }) => {
                writeln!(errors, "regrow: {error}; again in {:.1} s", delay_ms as f64 / 1000.0)?;
            }
            Some(SessionEvent::CompactionEnd { error: Some(error), .. }) => {
                writeln!(errors, "regrow: {error}")?;
            }
            Some(_) => {}
        }
    }
}

/// The next event of the session; `None` when it is over. A signal stops it, and is noted in `end`.
pub(super) async fn listen(
    handle: &mut SessionHandle,
    interrupts: &mut Interrupts,
    end: &mut RunEnd,
) -> Option<SessionEvent> {
    loop {
        tokio::select! {
            event = handle.events.recv() => return event,
            _ = interrupts.next() => {
                handle.commands.send(SessionCommand::Abort).ok();
                handle.commands.send(SessionCommand::Quit).ok();
                *end = RunEnd::Interrupted;
            }
        }
    }
}

/// Hands the prompt to the session, which ends when it has answered.
pub(super) fn say(handle: &SessionHandle, prompt: Prompt) {
    // A session that is gone answers with the end of its events.
    handle.commands.send(prompt.into_command(Delivery::FollowUp)).ok();
    handle.commands.send(SessionCommand::Finish).ok();
}

fn failure(reason: StopReason, words: Option<&str>) -> Option<&str> {
    match reason {
        StopReason::Error => Some(words.unwrap_or("the request failed")),
        StopReason::Length => Some("the answer was cut off at the output limit"),
        _ => None,
    }
}
