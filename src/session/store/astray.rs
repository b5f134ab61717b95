//! What to do when the file under our name is no longer the one we opened (F49, F50).
//!
//! Checked before every append, so that nothing is written where it would be lost.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::lines::Fate;
use super::place::{create_private_dir, create_private_file, sync_dir};
use super::scan::scan;
use super::{SessionStore, StoreError};
use crate::session::entry::SessionEntry;
use crate::session::lock::SessionLock;
use crate::session::reader::Lines;
use crate::session::tree::{LineSpan, NodeIndex};

impl SessionStore {
    /// Makes sure that the next append goes where the session is.
    pub(super) fn find_file(&mut self) -> Result<(), StoreError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        let failed = |source| StoreError::Write { path: path.clone(), source };
        match self.lines.fate(&path).map_err(failed)? {
            Fate::Ours => Ok(()),
            Fate::Gone => {
                self.write_anew(&path, self.lines.written()).map_err(failed)?;
                self.notices.push(format!(
                    "{} had been removed; the session was written there again",
                    path.display()
                ));
                Ok(())
            }
            Fate::Replaced => self.move_beside(&path, self.lines.written(), "replaced"),
            Fate::Shorter(len) => self.move_beside(&path, len, "cut short"),
            Fate::Longer(len) => self.take_in(&path, len).map_err(failed),
        }
    }

    /// Goes on in a file beside the one that somebody else has changed; that one stays as it is.
    fn move_beside(&mut self, path: &Path, keep: u64, what: &str) -> Result<(), StoreError> {
        let failed = |source| StoreError::Write { path: path.to_owned(), source };
        let beside = free_name(path);
        self.lock = None;
        self.write_anew(&beside, keep).map_err(failed)?;
        self.notices.push(format!(
            "{} was {what} by another program; the session goes on in {}",
            path.display(),
            beside.display()
        ));
        self.path = Some(beside);
        Ok(())
    }

    /// Writes the first `keep` bytes of the session, read from the file that is still open, to a
    /// new file, and goes on there.
    fn write_anew(&mut self, path: &Path, keep: u64) -> io::Result<()> {
        create_private_dir(path.parent().unwrap_or(Path::new(".")))?;
        // Whoever removed the file may have removed the lock with it.
        self.lock = None;
        self.lock = Some(SessionLock::acquire(path).map_err(io::Error::other)?);
        let mut file = create_private_file(path)?;
        self.lines.copy(0, keep, &mut file)?;
        let mut written = keep;
        if keep < self.lines.written() {
            // Cut somewhere, perhaps inside a line.
            file.write_all(b"\n")?;
            written += 1;
        }
        file.sync_all()?;
        sync_dir(path.parent().unwrap_or(Path::new(".")))?;
        self.move_nodes(keep, self.lines.written(), written);
        self.lines.attach(file, written)
    }

    /// Lines that began at `from` or after now begin at `to`; those between `keep` and `from` are
    /// gone: their entries stay in the tree, but have no bodies any more.
    fn move_nodes(&self, keep: u64, from: u64, to: u64) {
        let mut tree = self.reader.tree_mut();
        for position in (0..tree.len()).rev() {
            let span = &mut tree.node_mut(NodeIndex::new(position)).span;
            if span.offset >= from {
                span.offset = span.offset - from + to;
            } else if span.offset + u64::from(span.len) > keep {
                *span = LineSpan::default();
            } else {
                return;
            }
        }
    }

    /// Adds the entries that another program has appended to the tree, as a branch: our leaf stays.
    fn take_in(&mut self, path: &Path, len: u64) -> io::Result<()> {
        let from = self.lines.written();
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let found = scan(file, from, len - from, self.estimator, &mut |_| {})?;
        self.lines.grow(len)?;
        self.move_nodes(from, from, self.lines.written());
        let mut tree = self.reader.tree_mut();
        for (_, node) in found.tree.nodes() {
            let line = self.lines.read(node.span)?;
            let entry: Option<SessionEntry> = serde_json::from_slice(&line).ok();
            let parent = entry.and_then(|entry| tree.find(&entry.parent_id?));
            tree.insert(node.clone(), parent);
        }
        self.notices.push(format!(
            "another program has written {} entries to the session; they are a branch of it",
            found.tree.len()
        ));
        Ok(())
    }
}

/// A name beside `path` that nobody has.
fn free_name(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut number = 2_u64;
    loop {
        let name = path.with_file_name(format!("{stem}-{number}.jsonl"));
        if !name.exists() {
            return name;
        }
        number += 1;
    }
}
