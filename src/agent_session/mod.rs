//! One session in motion: it owns the tree, the file and whatever runs.

use tokio::sync::mpsc;

use command::SessionCommand;
use event::SessionEvent;

pub mod command;
pub mod event;

/// A shell's two ends of a running session: wishes go in, events come out, and nothing else passes.
#[derive(Debug)]
pub struct SessionHandle {
    /// Takes wishes; never waits.
    pub commands: mpsc::UnboundedSender<SessionCommand>,
    /// Gives events; ends after [`SessionEvent::Ended`].
    pub events: mpsc::UnboundedReceiver<SessionEvent>,
}
