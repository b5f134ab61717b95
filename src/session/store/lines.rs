//! The bytes of a session: lines on disk, and lines that are held in memory until they can be written.
//!
//! Offsets count from the start of the session as if everything were on disk, so a line keeps its
//! [`LineSpan`] when it is written. Who may write, and when, is decided by `session::store`.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::session::reader::Lines;
use crate::session::tree::LineSpan;

/// The lines of one open session. One writer, many readers.
#[derive(Debug, Default)]
pub(super) struct StoredLines {
    backing: RwLock<Backing>,
}

#[derive(Debug, Default)]
struct Backing {
    file: Option<OpenFile>,
    /// Bytes of the file that are ours; held bytes follow them.
    written: u64,
    held: Vec<u8>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    device: u64,
    inode: u64,
}

/// What became of the file since we last wrote to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is as we left it.
    Ours,
    /// The name is free: somebody deleted or moved the file.
    Gone,
    /// Another file has taken the name.
    Replaced,
    /// Somebody appended to it in spite of the lock; it is this long now.
    Longer(u64),
    /// Somebody cut it to this length.
    Shorter(u64),
}

impl StoredLines {
    /// Lines in memory only.
    pub(super) fn held(bytes: Vec<u8>) -> Self {
        Self { backing: RwLock::new(Backing { file: None, written: 0, held: bytes }) }
    }

    /// The first `len` bytes of a file.
    pub(super) fn on_disk(file: File, len: u64) -> io::Result<Self> {
        let lines = Self::default();
        lines.attach(file, len)?;
        Ok(lines)
    }

    fn look(&self) -> RwLockReadGuard<'_, Backing> {
        self.backing.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Backing> {
        self.backing.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the first `written` bytes are in `file`. Held bytes stay held.
    pub(super) fn attach(&self, file: File, written: u64) -> io::Result<()> {
        let metadata = file.metadata()?;
        let mut backing = self.change();
        backing.written = written;
        backing.file = Some(OpenFile { file, device: metadata.dev(), inode: metadata.ino() });
        Ok(())
    }

    /// Where the next line will begin.
    pub(super) fn end(&self) -> u64 {
        let backing = self.look();
        backing.written + backing.held.len() as u64
    }

    /// Bytes that are on disk.
    pub(super) fn written(&self) -> u64 {
        self.look().written
    }

    pub(super) fn has_file(&self) -> bool {
        self.look().file.is_some()
    }

    /// Adds a line (with its `\n`) to those that wait, and says where it is.
    pub(super) fn hold(&self, line: &str) -> LineSpan {
        let mut backing = self.change();
        let offset = backing.written + backing.held.len() as u64;
        backing.held.extend_from_slice(line.as_bytes());
        LineSpan { offset, len: line.trim_end_matches('\n').len() as u32 }
    }

    /// Takes back what was held from `offset` on.
    pub(super) fn release(&self, offset: u64) {
        let mut backing = self.change();
        let keep = offset.saturating_sub(backing.written) as usize;
        backing.held.truncate(keep);
    }

    /// Whether lines wait to be written.
    pub(super) fn is_waiting(&self) -> bool {
        !self.look().held.is_empty()
    }

    /// Compares the file that has the name `path` with the one that is open.
    pub(super) fn fate(&self, path: &Path) -> io::Result<Fate> {
        let backing = self.look();
        let Some(open) = &backing.file else { return Ok(Fate::Ours) };
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fate::Gone),
            Err(error) => return Err(error),
        };
        Ok(if (metadata.dev(), metadata.ino()) != (open.device, open.inode) {
            Fate::Replaced
        } else if metadata.len() > backing.written {
            Fate::Longer(metadata.len())
        } else if metadata.len() < backing.written {
            Fate::Shorter(metadata.len())
        } else {
            Fate::Ours
        })
    }

    /// Writes all held lines to the end of the file in one piece (J7).
    ///
    /// When that fails the file is cut back to where it was, and the lines stay held.
    pub(super) fn flush(&self) -> io::Result<()> {
        let mut backing = self.change();
        let Backing { file: Some(open), written, held } = &mut *backing else { return Ok(()) };
        if let Err(error) = open.file.write_all(held) {
            // What was written of it is no whole line, or follows none: nobody has seen it yet.
            let _ = open.file.set_len(*written);
            return Err(error);
        }
        *written += held.len() as u64;
        held.clear();
        Ok(())
    }

    /// The file has become `len` bytes long by other hands; the last line is ended if need be.
    pub(super) fn grow(&self, len: u64) -> io::Result<()> {
        let mut backing = self.change();
        let Backing { file: Some(open), written, .. } = &mut *backing else { return Ok(()) };
        let mut last = [b'\n'];
        open.file.read_exact_at(&mut last, len.saturating_sub(1))?;
        *written = len;
        if last != *b"\n" {
            open.file.write_all(b"\n")?;
            *written += 1;
        }
        Ok(())
    }

    /// Other bytes in the place of those that are held, for a session without a file.
    pub(super) fn replace_held(&self, bytes: Vec<u8>) {
        self.change().held = bytes;
    }

    /// Gives up a file that nothing was written to.
    pub(super) fn detach(&self) {
        self.change().file = None;
    }

    /// Waits until everything written is on disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.look().file.as_ref().map_or(Ok(()), |open| open.file.sync_data())
    }

    /// Copies bytes of the session, from disk or memory, to `sink`.
    pub(super) fn copy(&self, mut from: u64, to: u64, sink: &mut dyn Write) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        while from < to {
            let len = (to - from).min(buffer.len() as u64) as usize;
            let len = self.look().read_some(from, &mut buffer[..len])?;
            if len == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            sink.write_all(&buffer[..len])?;
            from += len as u64;
        }
        Ok(())
    }
}

impl Backing {
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.written {
            let start = (offset - self.written) as usize;
            let held = self.held.get(start..).unwrap_or_default();
            let len = held.len().min(buffer.len());
            buffer[..len].copy_from_slice(&held[..len]);
            return Ok(len);
        }
        let len = (self.written - offset).min(buffer.len() as u64) as usize;
        match &self.file {
            Some(open) => open.file.read_at(&mut buffer[..len], offset),
            None => Ok(0),
        }
    }
}

impl Lines for StoredLines {
    fn read(&self, span: LineSpan) -> io::Result<Vec<u8>> {
        let mut line = Vec::with_capacity(span.len as usize);
        self.copy(span.offset, span.offset + u64::from(span.len), &mut line)?;
        Ok(line)
    }
}
