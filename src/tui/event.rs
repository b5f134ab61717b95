//! Everything that can wake the screen up, in one place.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use super::editor::Arrived;
use super::effect::BodyHits;
use super::highlight::{CodeKey, ColouredCode};
use super::outside::{ProviderKey, Reloaded};
use super::overlay::settings::SettingsSheet;
use super::theme::Theme;
use crate::agent_session::event::SessionEvent;
use crate::provider::model::Model;
use crate::session::entry::SessionEntry;
use crate::session::listing::ListedSession;
use crate::session::tree::NodeIndex;
use crate::settings::edit::Change;

/// One reason to look at the screen's state again.
#[derive(Debug)]
pub enum UiEvent {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// The window has another size.
    Resized,
    /// The program was stopped and goes on: the terminal may be anything now.
    Woken,
    /// The window got or lost the focus.
    Focus(bool),
    /// The terminal has told its background.
    Background {
        /// Whether it is light.
        light: bool,
    },
    /// The styles are others now.
    Theme(Box<Theme>),
    /// Something happened in the session.
    Session(SessionEvent),
    /// The session is gone without having ended.
    SessionLost,
    /// Bodies that were asked for.
    Entries {
        /// Those that could be read.
        entries: Vec<(NodeIndex, Arc<SessionEntry>)>,
        /// The others, and why not.
        failed: Vec<(NodeIndex, String)>,
    },
    /// What a search through all bodies has found.
    Found(BodyHits),
    /// How many branches the tree of the session would show.
    Branches(usize),
    /// Files for the picker.
    Files {
        /// What was typed.
        query: String,
        /// Paths from the session's folder, best first.
        files: Vec<String>,
    },
    /// What was pasted has been read.
    Arrived {
        /// The place of the editor that waits for it.
        place: usize,
        /// What it is.
        what: Arrived,
    },
    /// The models, each with whether it could be asked now.
    Models {
        /// The name of the one that is wanted.
        wanted: Option<String>,
        /// All of them.
        models: Vec<(Model, bool)>,
    },
    /// The providers and their keys.
    Providers {
        /// The name of the one that is wanted.
        wanted: Option<String>,
        /// All of them.
        providers: Vec<ProviderKey>,
    },
    /// A key was stored, or could not be.
    KeyStored {
        /// Whose.
        provider: String,
        /// Why not.
        result: Result<(), String>,
    },
    /// The sessions of all folders, newest first.
    Sessions {
        /// What narrows the list.
        search: Option<String>,
        /// All of them.
        sessions: Vec<ListedSession>,
    },
    /// The settings.
    Settings(SettingsSheet),
    /// A setting was changed, or could not be.
    SettingChanged {
        /// What was wanted.
        change: Change,
        /// The settings now, and what follows for the screen; or why nothing has changed.
        result: Result<(SettingsSheet, Box<Reloaded>), String>,
    },
    /// Everything that can be read again was.
    Reloaded(Box<Reloaded>),
    /// The external editor was left.
    Edited(Result<String, String>),
    /// Code was coloured.
    Coloured {
        /// Which.
        key: CodeKey,
        /// Its lines.
        code: ColouredCode,
    },
    /// The branch that the session's folder is on.
    Branch(Option<String>),
    /// A word to the person from an effect, such as `copied`.
    Hint(String),
    /// Something that should stay in view, such as where an export went.
    Told(String),
    /// An effect failed.
    Failed(String),
    /// Time has passed and something moves.
    Tick,
    /// The program is asked to end (SIGTERM, SIGHUP, SIGINT).
    Terminate,
}
