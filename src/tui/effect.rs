//! What the screen wants done that is not drawing: `App::update` returns these, the loop runs them.

use crate::agent_session::command::SessionCommand;
use crate::session::tree::NodeIndex;

/// One wish of the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum UiEffect {
    /// Tell the session.
    Send(SessionCommand),
    /// Read the bodies of entries; they come back as an event.
    LoadEntries(Vec<NodeIndex>),
    /// Put text on the clipboard.
    Copy(String),
    /// Edit text in the person's `$EDITOR`.
    EditExternally(String),
    /// Put the program to sleep (Ctrl+Z).
    Suspend,
    /// Leave.
    Quit,
}
