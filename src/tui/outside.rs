//! What the screen needs of the program around it and cannot know itself: the models that can be
//! asked, the sessions on disk, exports, settings. A port; `startup` carries it out. Calls may read files, so
//! the effects make them off the UI thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keymap::KeyMap;
use super::overlay::settings::SettingsSheet;
use super::theme::Theme;
use crate::prompt::template::Template;
use crate::provider::model::Model;
use crate::provider::secret::Secret;
use crate::session::listing::ListedSession;
use crate::session::reader::SessionReader;
use crate::settings::Settings;
use crate::settings::edit::Change;
use crate::slash::ExportRequest;

/// See the module.
pub trait Outside: Send + Sync {
    /// All models, and whether each could be asked now.
    fn models(&self) -> Vec<(Model, bool)>;

    /// The providers, and whether each has its key.
    fn providers(&self) -> Vec<ProviderKey>;

    /// Stores the key of a provider; it counts from now on.
    ///
    /// # Errors
    /// It cannot be stored; in a sentence for the person.
    fn store_key(&self, provider: &str, key: &Secret) -> Result<(), String>;

    /// The sessions of all folders, newest first.
    fn sessions(&self) -> Vec<ListedSession>;

    /// Writes the session that is open for others to read, and gives the file.
    ///
    /// # Errors
    /// It cannot be written; in a sentence for the person.
    fn export(&self, open: &OpenSession, request: &ExportRequest) -> Result<PathBuf, String>;

    /// The settings, as the files have them now.
    ///
    /// # Errors
    /// They have mistakes; all of them, a line each.
    fn settings(&self) -> Result<SettingsSheet, String>;

    /// Changes the person's own settings file and reads the settings again.
    ///
    /// # Errors
    /// Nothing was changed; why, in a sentence for the person.
    fn change_setting(&self, change: &Change) -> Result<(SettingsSheet, Reloaded), String>;

    /// Reads settings, templates, skills, theme, keys and project instructions (those of `cwd`) again.
    fn reload(&self, cwd: &Path) -> Reloaded;
}

/// A provider and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderKey {
    /// The provider's name.
    pub name: String,
    /// Whether there is a key, or none is needed.
    pub has_key: bool,
    /// Variables of the environment that may hold it.
    pub variables: Vec<String>,
}

/// What was read again. Whatever could not be used is `None` and stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Reloaded {
    /// The settings.
    pub settings: Option<Arc<Settings>>,
    /// The styles.
    pub theme: Option<Theme>,
    /// Which key means what.
    pub keymap: Option<KeyMap>,
    /// The person's own commands.
    pub templates: Option<Vec<Template>>,
    /// What is different now, a line each.
    pub changed: Vec<String>,
    /// What is wrong, a line each.
    pub problems: Vec<String>,
}

/// The session that is open.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// Its entries.
    pub reader: SessionReader,
    /// Its file, once there is one.
    pub file: Option<PathBuf>,
    /// Its folder.
    pub cwd: PathBuf,
}

impl OpenSession {
    /// A path as typed by the person: from the session's folder.
    #[must_use]
    pub fn resolve(&self, path: &Path) -> PathBuf {
        crate::tool::resolve_path(&self.cwd, &path.to_string_lossy())
    }
}
