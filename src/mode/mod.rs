//! Shells without a screen: one prompt in, text or events out (SPEC section 12).

pub mod interrupt;
pub mod json;
pub mod lines;
pub mod plain;
pub mod print;
pub mod printed;
pub mod rpc;

use crate::agent_session::command::{PermissionAnswer, SessionCommand};

/// The answer to a question when nobody is left to be asked.
fn nobody_answers(question: u64) -> SessionCommand {
    let reason = Some("nobody is there to be asked".to_owned());
    SessionCommand::Permission { question, answer: PermissionAnswer::No { reason } }
}
