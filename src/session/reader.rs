//! Read access to an open session, for whoever looks at it while the session goes on.
//!
//! The session alone writes the tree and the file; any number of readers may look. A read lock is
//! held for as long as it takes to copy something out or to draw a frame, never across an await.

use std::io;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::entry::SessionEntry;
use super::tree::{LineSpan, NodeIndex, SessionTree};

/// Where the lines of a session can be read: its file, or memory while nothing is written.
pub trait Lines: Send + Sync {
    /// The bytes of a line, `\n` left out.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&self, span: LineSpan) -> io::Result<Vec<u8>>;
}

/// Looks into an open session. Cheap to clone.
#[derive(Clone)]
pub struct SessionReader {
    tree: Arc<RwLock<SessionTree>>,
    lines: Arc<dyn Lines>,
}

/// A body that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot read the session file")]
    Io(#[from] io::Error),
    /// The line is not what it was when the file was scanned.
    #[error("a line of the session file is damaged")]
    Damaged(#[from] serde_json::Error),
}

impl SessionReader {
    /// Reads `tree` and `lines`, which belong together.
    #[must_use]
    pub fn new(tree: Arc<RwLock<SessionTree>>, lines: Arc<dyn Lines>) -> Self {
        Self { tree, lines }
    }

    /// The tree as it is now.
    pub fn tree(&self) -> RwLockReadGuard<'_, SessionTree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the store alone: it is the one writer.
    pub(super) fn tree_mut(&self) -> RwLockWriteGuard<'_, SessionTree> {
        self.tree.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// An entry with its body, read from disk.
    ///
    /// # Errors
    /// The file cannot be read, or the line is damaged.
    pub fn entry(&self, index: NodeIndex) -> Result<Arc<SessionEntry>, ReadError> {
        Ok(Arc::new(serde_json::from_slice(&self.line(index)?)?))
    }

    /// The line of an entry as it stands on disk, `\n` left out: for whoever looks through many
    /// entries and need not understand each.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn line(&self, index: NodeIndex) -> io::Result<Vec<u8>> {
        let span = self.tree().node(index).span;
        self.lines.read(span)
    }
}

impl std::fmt::Debug for SessionReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionReader").field("entries", &self.tree().len()).finish_non_exhaustive()
    }
}
