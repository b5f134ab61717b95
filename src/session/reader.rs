//! Read access to an open session, for whoever looks at it while the session goes on.
//!
//! The session alone writes the tree and the file; any number of readers may look. A read lock is
//! held for as long as it takes to copy something out or to draw a frame, never across an await.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::thread;
use std::time::Duration;

use super::bodies::Bodies;
use super::entry::{EntryBody, SessionEntry};
use super::tree::{LineSpan, NodeIndex, SessionTree};
use crate::message::{
    BranchSummaryMessage, CompactionSummaryMessage, CustomMessage as CustomBody, Message,
};

/// How long the writer waits before it asks for the tree again.
const BRIEFLY: Duration = Duration::from_micros(50);

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
    bodies: Arc<Mutex<Bodies>>,
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
    /// The line holds another entry now.
    #[error("the session file was changed by another program")]
    Changed,
}

impl SessionReader {
    /// Reads `tree` and `lines`, which belong together.
    #[must_use]
    pub fn new(tree: Arc<RwLock<SessionTree>>, lines: Arc<dyn Lines>) -> Self {
        Self { tree, lines, bodies: Arc::default() }
    }

    /// The tree as it is now.
    pub fn tree(&self) -> RwLockReadGuard<'_, SessionTree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the store alone: it is the one writer.
    ///
    /// Never queues for the lock: a reader that already looks and looks again must not wait for a
    /// writer that waits for it. Readers look for moments, so asking again is soon answered.
    pub(super) fn tree_mut(&self) -> RwLockWriteGuard<'_, SessionTree> {
        loop {
            match self.tree.try_write() {
                Ok(tree) => return tree,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => thread::sleep(BRIEFLY),
            }
        }
    }

    /// An entry with its body, read from disk.
    ///
    /// # Errors
    /// The file cannot be read, or the line is damaged.
    pub fn entry(&self, index: NodeIndex) -> Result<Arc<SessionEntry>, ReadError> {
        Ok(Arc::new(self.read(index)?.0))
    }

    /// The line of an entry as it stands on disk, `\n` left out: for whoever looks through many
    /// entries and need not understand each.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn line(&self, index: NodeIndex) -> io::Result<Vec<u8>> {
        // Under the tree's lock, so that a rewrite cannot move the line meanwhile.
        let tree = self.tree();
        self.lines.read(tree.node(index).span)
    }

    /// The messages of entries (X2), in the order asked for: those of `message` entries, and what
    /// compactions, branch summaries and custom messages stand for. Other entries give none.
    ///
    /// What cannot be read is left out, with one sentence about it.
    #[must_use]
    pub fn messages(&self, nodes: &[NodeIndex]) -> (Vec<(NodeIndex, Arc<Message>)>, Vec<String>) {
        let mut messages = Vec::with_capacity(nodes.len());
        let mut problems = Vec::new();
        for &index in nodes {
            if let Some(message) = self.bodies().get(index) {
                messages.push((index, message));
                continue;
            }
            match self.read(index) {
                Ok((entry, bytes)) => {
                    let Some(message) = message_of(entry).map(Arc::new) else { continue };
                    self.bodies().put(index, message.clone(), bytes);
                    messages.push((index, message));
                }
                Err(error) => {
                    let id = self.tree().node(index).id.clone();
                    problems.push(format!("entry {id} is left out: {error}"));
                }
            }
        }
        (messages, problems)
    }

    fn read(&self, index: NodeIndex) -> Result<(SessionEntry, usize), ReadError> {
        let line = self.line(index)?;
        let entry: SessionEntry = match serde_json::from_slice(&line) {
            Ok(entry) => entry,
            Err(error) => serde_json::from_str(&tidy(&line)).map_err(|_| error)?,
        };
        if entry.id != self.tree().node(index).id {
            return Err(ReadError::Changed);
        }
        Ok((entry, line.len()))
    }

    /// For the store, when entries have changed.
    pub(super) fn forget_messages(&self) {
        self.bodies().clear();
    }

    fn bodies(&self) -> std::sync::MutexGuard<'_, Bodies> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A damaged line as JSON may hold it: bytes that are no UTF-8 are replaced, control characters in
/// strings escaped or blanked.
pub(super) fn tidy(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut tidy = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        match character {
            '"' if !escaped => in_string = !in_string,
            '\n' if in_string => {
                tidy.push_str("\\n");
                continue;
            }
            '\0'..=' ' if in_string => {
                tidy.push(' ');
                continue;
            }
            _ => {}
        }
        escaped = character == '\\' && !escaped;
        tidy.push(character);
    }
    tidy
}

/// The message that an entry stands for (X2).
fn message_of(entry: SessionEntry) -> Option<Message> {
    let timestamp = entry.timestamp.as_millis();
    match entry.body {
        EntryBody::Message { message } => Some(message),
        EntryBody::Compaction(compaction) => {
            Some(Message::CompactionSummary(CompactionSummaryMessage {
                summary: compaction.summary,
                short_summary: compaction.short_summary,
                tokens_before: compaction.tokens_before,
                timestamp,
            }))
        }
        EntryBody::BranchSummary(branch) if !branch.summary.is_empty() => {
            Some(Message::BranchSummary(BranchSummaryMessage {
                summary: branch.summary,
                from_id: branch.from_id,
                timestamp,
            }))
        }
        EntryBody::CustomMessage { custom_type, content, display, details } => {
            Some(Message::Custom(CustomBody { custom_type, content, display, details, timestamp }))
        }
        _ => None,
    }
}

impl std::fmt::Debug for SessionReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionReader").field("entries", &self.tree().len()).finish_non_exhaustive()
    }
}
