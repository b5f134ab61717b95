//! What the screen needs of the program around it and cannot know itself: the models that can be
//! asked, the sessions on disk, exports. A port; `startup` carries it out. Calls may read files, so
//! the effects make them off the UI thread.

use std::path::{Path, PathBuf};

use crate::provider::model::Model;
use crate::session::listing::ListedSession;
use crate::session::reader::SessionReader;
use crate::slash::ExportRequest;

/// See the module.
pub trait Outside: Send + Sync {
    /// All models, and whether each could be asked now.
    fn models(&self) -> Vec<(Model, bool)>;

    /// The sessions of all folders, newest first.
    fn sessions(&self) -> Vec<ListedSession>;

    /// Writes the session that is open for others to read, and gives the file.
    ///
    /// # Errors
    /// It cannot be written; in a sentence for the person.
    fn export(&self, open: &OpenSession, request: &ExportRequest) -> Result<PathBuf, String>;
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
