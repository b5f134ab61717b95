//! Sessions on disk: opening, appending, syncing (SPEC section 2).
//!
//! The only writer of session files, together with the modules it calls. Each append is one write
//! of whole lines to a file that is locked and checked to be the one that was opened; an entry is in
//! the tree only if its line is in the file (or held with the others until the first of them is
//! worth a file, J10).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

mod astray;
mod fork;
mod lines;
mod open;
pub mod place;
mod replace;
mod rewrite;
pub(super) mod scan;
mod upgrade;

pub use self::fork::ForkScope;
use self::lines::StoredLines;
pub use self::open::Watch;
use self::place::{create_private_dir, create_private_file, file_name, sync_dir};
use crate::compaction::tokens::Estimator;
use crate::ids::Stamper;
use crate::message::Message;
use crate::session::describe::describe;
use crate::session::entry::{EntryBody, SessionEntry, SessionHeader};
use crate::session::lock::{LockError, SessionLock};
use crate::session::reader::SessionReader;
use crate::session::tree::{LineSpan, NodeIndex, SessionTree};

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To go on with it; nobody else may have it open like this (J8).
    Write,
    /// To look at it; the file stays as it is.
    ReadOnly,
}

/// A session that was opened, and what the person should know about it.
#[derive(Debug)]
pub struct Opened {
    /// The session.
    pub store: SessionStore,
    /// One sentence each.
    pub warnings: Vec<String>,
}

/// What can go wrong with session files.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened or read.
    #[error("cannot read the session {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not a session file: {why}", path.display())]
    NotASession {
        /// Which.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// It cannot be had for writing.
    #[error("cannot open the session {} for writing: {source}; open it read-only or fork it", path.display())]
    Lock {
        /// Which.
        path: PathBuf,
        /// Why.
        source: LockError,
    },
    /// It was opened to look at only.
    #[error("the session is open read-only; fork it to go on")]
    ReadOnly,
    /// Nothing was written.
    #[error("cannot write the session {}: {source}; nothing of it was lost, free some space or export it elsewhere", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It was written, but may not survive a power failure.
    #[error("cannot make sure that the session {} is on disk: {source}", path.display())]
    Sync {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// One session, open.
#[derive(Debug)]
pub struct SessionStore {
    reader: SessionReader,
    lines: Arc<StoredLines>,
    header: SessionHeader,
    /// Where the entries begin: after the header's line.
    body: u64,
    /// Where the file is or will be; `None` for a session that stays in memory.
    path: Option<PathBuf>,
    access: Access,
    lock: Option<SessionLock>,
    estimator: Estimator,
    /// The folder has a new name in it that is not yet known to be on disk.
    dir_unsynced: bool,
    /// What the person should know and has not been told yet.
    notices: Vec<String>,
}

impl SessionStore {
    /// A new session in `dir`. No file is made until something is worth one (J10).
    #[must_use]
    pub fn create(dir: &Path, header: SessionHeader, estimator: Estimator) -> Self {
        let path = dir.join(file_name(&header));
        Self::fresh(header, Some(path), estimator)
    }

    /// A new session that never has a file.
    #[must_use]
    pub fn in_memory(header: SessionHeader, estimator: Estimator) -> Self {
        Self::fresh(header, None, estimator)
    }

    fn fresh(header: SessionHeader, path: Option<PathBuf>, estimator: Estimator) -> Self {
        let line = header.to_line();
        let body = line.len() as u64;
        let lines = Arc::new(StoredLines::held(line.into_bytes()));
        let tree = Arc::new(RwLock::new(SessionTree::new()));
        Self {
            reader: SessionReader::new(tree, lines.clone()),
            lines,
            header,
            body,
            path,
            access: Access::Write,
            lock: None,
            estimator,
            dir_unsynced: false,
            notices: Vec::new(),
        }
    }

    /// Opens a session file.
    ///
    /// # Errors
    /// [`StoreError::Lock`] when another process writes it, [`StoreError::NotASession`] when it is
    /// something else, [`StoreError::Read`] when it cannot be read.
    pub fn open(path: &Path, access: Access, estimator: Estimator) -> Result<Opened, StoreError> {
        Self::open_watched(path, access, estimator, &mut |_, _| {})
    }

    /// As [`SessionStore::open`]; `watch` is told how far a long file has been read.
    ///
    /// # Errors
    /// As [`SessionStore::open`].
    pub fn open_watched(
        path: &Path,
        access: Access,
        estimator: Estimator,
        watch: Watch<'_>,
    ) -> Result<Opened, StoreError> {
        open::open(path, access, estimator, watch)
    }

    /// For whoever looks at the session.
    #[must_use]
    pub const fn reader(&self) -> &SessionReader {
        &self.reader
    }

    /// The session's first line.
    #[must_use]
    pub const fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The session's file; `None` while there is none.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.lines.has_file())
    }

    /// The file that the session has or will have; `None` when it stays in memory.
    #[must_use]
    pub fn planned_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether nothing can be appended.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.access == Access::ReadOnly
    }

    /// Appends an entry below the leaf and makes it the leaf (J7).
    ///
    /// # Errors
    /// [`StoreError::Write`] and its like: then neither the file nor the tree has changed.
    pub fn append(
        &mut self,
        body: EntryBody,
        stamper: &dyn Stamper,
    ) -> Result<Arc<SessionEntry>, StoreError> {
        let leaf = self.reader.tree().leaf();
        self.append_at(leaf, body, stamper)
    }

    /// Appends an entry below `parent` and makes it the leaf (B5, J6).
    ///
    /// # Errors
    /// As [`SessionStore::append`].
    pub fn append_at(
        &mut self,
        parent: Option<NodeIndex>,
        body: EntryBody,
        stamper: &dyn Stamper,
    ) -> Result<Arc<SessionEntry>, StoreError> {
        if self.is_read_only() {
            return Err(StoreError::ReadOnly);
        }
        self.find_file()?;
        let entry = self.stamp(parent, body, stamper);
        let before = self.lines.end();
        let span = self.lines.hold(&entry.to_line());
        let worth_a_file = self.lines.has_file() || is_worth_a_file(&entry.body);
        if worth_a_file && let Err(error) = self.flush() {
            self.lines.release(before);
            return Err(error);
        }
        self.insert(&entry, span, parent);
        Ok(Arc::new(entry))
    }

    /// Keeps an entry whose append has failed in memory: it is on the screen and in exports, and
    /// goes to disk with the next append that succeeds.
    pub fn hold(&mut self, body: EntryBody, stamper: &dyn Stamper) -> Arc<SessionEntry> {
        let leaf = self.reader.tree().leaf();
        let entry = self.stamp(leaf, body, stamper);
        let span = self.lines.hold(&entry.to_line());
        self.insert(&entry, span, leaf);
        Arc::new(entry)
    }

    /// Works in another folder in this run; the file keeps what it says (F55).
    pub fn work_in(&mut self, cwd: &Path) {
        self.header.cwd = cwd.display().to_string();
    }

    /// Stands at another entry without a mark in the file: for looking at a session (`--leaf`).
    pub fn stand_at(&mut self, leaf: NodeIndex) {
        self.reader.tree_mut().set_leaf(Some(leaf));
    }

    /// Whether entries wait in memory for a disk that takes them.
    #[must_use]
    pub fn has_unsaved(&self) -> bool {
        self.lines.has_file() && self.lines.is_waiting()
    }

    /// What the person should know since the last time, one sentence each.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    fn insert(&self, entry: &SessionEntry, span: LineSpan, parent: Option<NodeIndex>) {
        let node = describe(entry, self.estimator, span);
        let mut tree = self.reader.tree_mut();
        let index = tree.insert(node, parent);
        tree.set_leaf(Some(index));
    }

    fn stamp(
        &self,
        parent: Option<NodeIndex>,
        body: EntryBody,
        stamper: &dyn Stamper,
    ) -> SessionEntry {
        let parent = parent.map(|parent| self.reader.tree().node(parent).id.clone());
        self.stamped(parent, body, stamper)
    }

    /// Waits until everything appended is on disk.
    ///
    /// # Errors
    /// [`StoreError::Sync`] when the system cannot promise it, [`StoreError::Write`] when entries that
    /// waited for the disk still cannot be written.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        if self.has_unsaved() {
            self.flush()?;
        }
        let Some(path) = self.path.clone() else { return Ok(()) };
        let synced = self.lines.sync().and_then(|()| {
            if std::mem::take(&mut self.dir_unsynced) {
                sync_dir(path.parent().unwrap_or(Path::new(".")))?;
            }
            Ok(())
        });
        synced.map_err(|source| StoreError::Sync { path, source })
    }

    /// Brings held lines to disk, into a new file if there is none yet.
    fn flush(&mut self) -> Result<(), StoreError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        let failed = |source| StoreError::Write { path: path.clone(), source };
        if self.lines.has_file() {
            return self.lines.flush().map_err(failed);
        }
        create_private_dir(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        self.take_lock(&path)?;
        let file = create_private_file(&path).map_err(failed)?;
        let written = self.lines.attach(file, 0).and_then(|()| self.lines.flush());
        if written.is_err() {
            // A start that failed leaves no file behind.
            self.lines.detach();
            let _ = std::fs::remove_file(&path);
        }
        self.dir_unsynced = true;
        written.map_err(failed)
    }

    fn take_lock(&mut self, path: &Path) -> Result<(), StoreError> {
        if self.lock.is_none() {
            let lock = SessionLock::acquire(path)
                .map_err(|source| StoreError::Lock { path: path.to_owned(), source })?;
            self.lock = Some(lock);
        }
        Ok(())
    }
}

/// Whether an entry is something that the person did, not something that a start leaves (J10).
fn is_worth_a_file(body: &EntryBody) -> bool {
    match body {
        EntryBody::ModelChange { .. }
        | EntryBody::ThinkingLevelChange { .. }
        | EntryBody::Custom { .. } => false,
        EntryBody::Message { message } => !matches!(message, Message::Other(_)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Timestamp;
    use crate::message::{Content, UserMessage};
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    struct Counter(AtomicU32);

    impl Stamper for Counter {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(0)
        }
        fn entry_bits(&self) -> u32 {
            self.0.fetch_add(1, Ordering::Relaxed)
        }
        fn session_id(&self) -> String {
            format!("session-{}", self.entry_bits())
        }
    }

    fn header() -> SessionHeader {
        SessionHeader::new("one".into(), Timestamp::from_millis(0), "/w".into())
    }

    fn user(text: &str) -> EntryBody {
        let content = Content::from_text(text);
        EntryBody::Message { message: Message::User(UserMessage { content, timestamp: 0 }) }
    }

    fn thinking() -> EntryBody {
        EntryBody::ThinkingLevelChange { thinking_level: "low".into() }
    }

    #[test]
    fn j10_nothing_is_written_before_the_person_does_something() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("a/b");
        let ids = Counter::default();
        let mut store = SessionStore::create(&dir, header(), Estimator::default());
        store.append(thinking(), &ids).unwrap();
        assert!(!dir.exists());
        assert_eq!(store.path(), None);
        store.append(user("hi"), &ids).unwrap();
        store.sync().unwrap();
        let path = store.path().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(store.reader().tree().active_path().len(), 2);
    }

    #[test]
    fn j6_j8_a_session_reopens_where_it_was_and_has_one_writer() {
        let dir = tempfile::tempdir().unwrap();
        let ids = Counter::default();
        let mut store = SessionStore::create(dir.path(), header(), Estimator::default());
        store.append(user("one"), &ids).unwrap();
        let leaf = store.reader().tree().leaf();
        store.append(user("two"), &ids).unwrap();
        store.append_at(leaf, user("three"), &ids).unwrap();
        let path = store.path().unwrap().to_owned();
        let again = SessionStore::open(&path, Access::Write, Estimator::default());
        assert!(matches!(again, Err(StoreError::Lock { .. })));
        let mut look = SessionStore::open(&path, Access::ReadOnly, Estimator::default()).unwrap();
        assert!(matches!(look.store.append(user("x"), &ids), Err(StoreError::ReadOnly)));
        drop(store);
        let opened = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
        assert_eq!(opened.warnings, [""; 0]);
        let path = opened.store.reader().tree().active_path();
        let (messages, problems) = opened.store.reader().messages(&path);
        let texts: Vec<_> = messages
            .iter()
            .map(|(_, message)| match &**message {
                Message::User(user) => user.content.text(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((texts, problems), (vec!["one".into(), "three".into()], Vec::<String>::new()));
    }

    #[test]
    fn j10_a_session_in_memory_works_without_a_file() {
        let ids = Counter::default();
        let mut store = SessionStore::in_memory(header(), Estimator::default());
        store.append(user("hi"), &ids).unwrap();
        store.sync().unwrap();
        let leaf = store.reader().tree().leaf().unwrap();
        assert_eq!(store.reader().entry(leaf).unwrap().body, user("hi"));
        assert_eq!((store.path(), store.planned_path()), (None, None));
    }
}
