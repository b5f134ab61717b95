//! `--mode json`: one prompt in, every session event out as one line of JSON.

use std::io::Write;

use super::interrupt::Interrupts;
use super::print::{RunEnd, listen, say};
use crate::agent_session::SessionHandle;
use crate::agent_session::event::SessionEvent;
use crate::agent_session::queue::Prompt;
use crate::message::{Message, StopReason};
use crate::session::entry::EntryBody;

/// Says `prompt` and writes the session's events to `out` until it is idle again.
///
/// # Errors
/// `out` cannot be written.
pub async fn run(
    mut handle: SessionHandle,
    prompt: Prompt,
    out: &mut (impl Write + Send),
) -> std::io::Result<RunEnd> {
    let mut interrupts = Interrupts::listen()?;
    say(&handle, prompt);
    // Until an answer is there; a prompt that is refused or cannot be kept ends without one.
    let mut end = RunEnd::Failed;
    loop {
        let event = listen(&mut handle, &mut interrupts, &mut end).await;
        let Some(event) = event else { return Ok(end) };
        serde_json::to_writer(&mut *out, &event)?;
        out.write_all(b"\n")?;
        out.flush()?;
        match event {
            SessionEvent::Ended => return Ok(end),
            SessionEvent::Appended { entry } => {
                if let EntryBody::Message { message: Message::Assistant(answer) } = &entry.body
                    && end != RunEnd::Interrupted
                {
                    let failed =
                        matches!(answer.stop_reason, StopReason::Error | StopReason::Length);
                    end = if failed { RunEnd::Failed } else { RunEnd::Answered };
                }
            }
            _ => {}
        }
    }
}
