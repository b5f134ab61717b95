//! What the screen wants done that is not drawing: `App::update` returns these, the loop runs them.

use std::path::PathBuf;

use super::highlight::CodeJob;
use super::theme::Theme;
use crate::agent_session::command::SessionCommand;
use crate::provider::secret::Secret;
use crate::session::tree::NodeIndex;
use crate::settings::edit::Change;
use crate::slash::ExportRequest;

/// One wish of the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum UiEffect {
    /// Tell the session.
    Send(SessionCommand),
    /// Read the bodies of entries; they come back as an event.
    LoadEntries(Vec<NodeIndex>),
    /// Look for a text in the bodies of all entries, in the background; what is found comes back as
    /// [`BodyHits`]. A new search ends the one that runs, an empty text only ends it.
    SearchBodies(String),
    /// Move another session to the trash. The person has agreed.
    DeleteSession(PathBuf),
    /// Put text on the clipboard.
    Copy(String),
    /// Attach the images that a pasted text names; a text that names none is put in as it is.
    Attach {
        /// The place of the editor that waits for them.
        place: usize,
        /// Where paths start from.
        cwd: PathBuf,
        /// As pasted.
        text: String,
    },
    /// Attach the image that lies on the desktop's clipboard, or put its text in, at a place of the
    /// editor.
    PasteClipboard(usize),
    /// Edit text in the person's `$EDITOR`.
    EditExternally(String),
    /// Find files whose path matches; they come back as an event.
    FindFiles {
        /// Where to look.
        cwd: PathBuf,
        /// What was typed.
        query: String,
    },
    /// Colour code; it comes back as an event.
    Colour(Vec<CodeJob>),
    /// Count the branches of the session; the number comes back as an event.
    CountBranches,
    /// Look up the git branch of a folder.
    ReadBranch(PathBuf),
    /// Remember a text that was sent, for later sessions.
    Remember(String),
    /// List the models; they come back as an event. The text names the one that is wanted.
    ListModels(Option<String>),
    /// List the providers and their keys; they come back as an event. The text names the one that is
    /// wanted.
    ListProviders(Option<String>),
    /// Store the key of a provider; what came of it comes back as an event.
    StoreKey {
        /// The provider's name.
        provider: String,
        /// Its key.
        key: Secret,
    },
    /// List the sessions; they come back as an event. The text narrows the list.
    ListSessions(Option<String>),
    /// Write the session for others to read.
    Export(ExportRequest),
    /// List the settings; they come back as an event.
    ListSettings,
    /// Change a setting in the person's file; what came of it comes back as an event.
    ChangeSetting(Change),
    /// Read settings, templates, skills, theme and keys again; they come back as an event.
    Reload,
    /// Colour code in this theme from now on.
    UseTheme(Theme),
    /// Take the mouse from now on, or leave it to the terminal.
    UseMouse(bool),
    /// Tell a person who looks elsewhere, as the settings say: by the bell, on the desktop.
    Notify(String),
    /// Put the program to sleep (Ctrl+Z).
    Suspend,
    /// Leave.
    Quit,
}

/// Entries whose bodies hold the text of a [`UiEffect::SearchBodies`]; several may answer one search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyHits {
    /// The text that was looked for.
    pub query: String,
    /// Entries that hold it and were not told before, in file order.
    pub nodes: Vec<NodeIndex>,
    /// Whether all entries have been looked at.
    pub done: bool,
}
