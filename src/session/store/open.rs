//! Opening a session file: scan, say what is wrong, and for writing put right what can be put right
//! without losing a byte (SPEC J5, J7–J9, F45–F49, F54).

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use super::lines::StoredLines;
use super::place::{beside, header_from_name};
use super::scan::{Scan, Tail, scan, scan_bytes};
use super::upgrade::{migrate, prepend_header};
use super::{Access, Opened, SessionStore, StoreError};
use crate::compaction::tokens::Estimator;
use crate::session::entry::{FORMAT_VERSION, SessionHeader};
use crate::session::lock::{LockError, SessionLock};
use crate::session::reader::SessionReader;

/// Told while a long file is read: bytes read so far, bytes in all.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64);

/// Opens `path`; see [`SessionStore::open`].
pub(super) fn open(
    path: &Path,
    access: Access,
    estimator: Estimator,
    watch: Watch<'_>,
) -> Result<Opened, StoreError> {
    let read = |source| StoreError::Read { path: path.to_owned(), source };
    std::fs::metadata(path).map_err(read)?;
    // Locked before it is opened: a rewrite by the owner before us gives the name to another file.
    let lock = match access {
        Access::Write => Some(SessionLock::acquire(path).map_err(|source| locked(path, source))?),
        Access::ReadOnly => None,
    };
    let mut opening = Opening { path, estimator, warnings: Vec::new() };
    let (file, scan) = opening.scan(access, watch)?;
    let version = opening.version(&scan)?;
    if version > FORMAT_VERSION {
        opening.warnings.push(format!(
            "version {version} of the format is newer than this program: opened read-only"
        ));
        return opening.finish(file, scan, Access::ReadOnly, None);
    }
    match access {
        Access::ReadOnly => opening.read_only(file, scan),
        Access::Write => {
            let (file, scan) = opening.put_right(file, scan)?;
            opening.finish(file, scan, access, lock)
        }
    }
}

fn locked(path: &Path, source: LockError) -> StoreError {
    StoreError::Lock { path: path.to_owned(), source }
}

struct Opening<'a> {
    path: &'a Path,
    estimator: Estimator,
    warnings: Vec<String>,
}

impl Opening<'_> {
    fn read_error(&self, source: io::Error) -> StoreError {
        StoreError::Read { path: self.path.to_owned(), source }
    }

    fn write_error(&self, source: io::Error) -> StoreError {
        StoreError::Write { path: self.path.to_owned(), source }
    }

    fn scan(&self, access: Access, watch: Watch<'_>) -> Result<(File, Scan), StoreError> {
        let mut options = OpenOptions::new();
        let file = match access {
            Access::Write => options
                .read(true)
                .append(true)
                .open(self.path)
                .map_err(|error| locked(self.path, error.into()))?,
            Access::ReadOnly => {
                options.read(true).open(self.path).map_err(|error| self.read_error(error))?
            }
        };
        let len = file.metadata().map_err(|error| self.read_error(error))?.len();
        let scan = scan(&file, 0, len, self.estimator, &mut |done| watch(done, len))
            .map_err(|error| self.read_error(error))?;
        Ok((file, scan))
    }

    /// The file's version; an error when it is no session file at all.
    fn version(&self, scan: &Scan) -> Result<u64, StoreError> {
        if let Some(header) = &scan.header {
            return Ok(header.version);
        }
        let is_torn_header = || {
            let mut start = Vec::new();
            let file = File::open(self.path).and_then(|file| file.take(64).read_to_end(&mut start));
            file.is_ok()
                && start.starts_with(b"{\"type\":\"session\"")
                && scan.tail == Tail::Torn(0)
        };
        if scan.anonymous > 0 {
            Ok(1)
        } else if !scan.tree.is_empty() || scan.len == 0 || is_torn_header() {
            Ok(FORMAT_VERSION)
        } else {
            let why = "it has neither a session header nor an entry".to_owned();
            Err(StoreError::NotASession { path: self.path.to_owned(), why })
        }
    }

    /// The session as it would be after [`Self::put_right`], in memory alone.
    fn read_only(mut self, mut file: File, scan: Scan) -> Result<Opened, StoreError> {
        self.warn_of_damage(&scan, None);
        let Some(from) = outdated(&scan) else {
            return self.finish(file, scan, Access::ReadOnly, None);
        };
        let mut migrated = Vec::new();
        let done = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| migrate(&file, from, &scan, self.path, &mut migrated));
        done.map_err(|error| self.read_error(error))?;
        let scan = scan_bytes(&migrated, 0, self.estimator);
        let scan = scan.map_err(|error| self.read_error(error))?;
        let header = self.header(&scan);
        let lines = Arc::new(StoredLines::held(migrated));
        Ok(self.opened(lines, scan, header, Access::ReadOnly, None))
    }

    /// Saves and cuts a torn tail, ends the last line, gives back a header, migrates.
    fn put_right(&mut self, mut file: File, mut scan: Scan) -> Result<(File, Scan), StoreError> {
        let torn = match scan.tail {
            Tail::Whole => None,
            Tail::Unterminated => {
                file.write_all(b"\n").map_err(|error| self.write_error(error))?;
                scan.len += 1;
                None
            }
            Tail::Torn(from) => {
                let cut = cut_torn(&mut file, self.path, from);
                let (torn, len) = cut.map_err(|error| self.write_error(error))?;
                let moved = (scan.len - from, torn);
                scan.len = len;
                Some(moved)
            }
        };
        self.warn_of_damage(&scan, torn);
        if let Some(from) = outdated(&scan) {
            let (new, backup) =
                upgrade_file(&file, from, &scan, self.path).map_err(|e| self.write_error(e))?;
            self.warnings.push(format!(
                "migrated from version {from} of the format; the original is {}",
                backup.display()
            ));
            file = new;
        } else if scan.header.is_none() {
            let header = self.header(&scan);
            file = prepend_header(&file, &header, scan.len, self.path)
                .map_err(|error| self.write_error(error))?;
        } else {
            return Ok((file, scan));
        }
        let scan = self.rescan(&mut file).map_err(|error| self.read_error(error))?;
        Ok((file, scan))
    }

    fn rescan(&self, file: &mut File) -> io::Result<Scan> {
        file.seek(SeekFrom::Start(0))?;
        let len = file.metadata()?.len();
        scan(file, 0, len, self.estimator, &mut |_| {})
    }

    fn warn_of_damage(&mut self, scan: &Scan, torn: Option<(u64, PathBuf)>) {
        let mut parts = scan.damage.report();
        match (torn, scan.tail) {
            (Some((len, path)), _) => {
                parts.push(format!("its torn end of {len} bytes was moved to {}", path.display()))
            }
            (None, Tail::Torn(from)) => {
                parts.push(format!("its torn end of {} bytes is left out", scan.len - from));
            }
            _ => {}
        }
        if !parts.is_empty() {
            self.warnings.push(format!("the session file is damaged: {}", parts.join("; ")));
        }
    }

    /// The file's header, or what can be known of it from the file's name and entries.
    fn header(&self, scan: &Scan) -> SessionHeader {
        scan.header.clone().unwrap_or_else(|| header_from_name(self.path, scan.first_timestamp()))
    }

    fn finish(
        self,
        file: File,
        scan: Scan,
        access: Access,
        lock: Option<SessionLock>,
    ) -> Result<Opened, StoreError> {
        let len = match scan.tail {
            Tail::Torn(from) if access == Access::ReadOnly => from,
            _ => scan.len,
        };
        let header = self.header(&scan);
        let lines = StoredLines::on_disk(file, len).map_err(|error| self.read_error(error))?;
        Ok(self.opened(Arc::new(lines), scan, header, access, lock))
    }

    fn opened(
        self,
        lines: Arc<StoredLines>,
        scan: Scan,
        header: SessionHeader,
        access: Access,
        lock: Option<SessionLock>,
    ) -> Opened {
        let reader = SessionReader::new(Arc::new(RwLock::new(scan.tree)), lines.clone());
        let store = SessionStore {
            reader,
            lines,
            header,
            body: scan.body,
            path: Some(self.path.to_owned()),
            access,
            lock,
            estimator: self.estimator,
            dir_unsynced: false,
            notices: Vec::new(),
        };
        Opened { store, warnings: self.warnings }
    }
}

/// The version to migrate from; `None` when everything is as version 3 has it.
fn outdated(scan: &Scan) -> Option<u64> {
    let version = scan.header.as_ref().map_or(1, |header| header.version);
    let has_header = scan.header.is_some();
    if has_header && version < FORMAT_VERSION {
        Some(version.max(1))
    } else if scan.anonymous > 0 {
        Some(if has_header { version } else { 1 })
    } else {
        None
    }
}

/// Moves everything from `from` on to the `.torn` file, and says which that is and how long the
/// session is now. The bytes are on disk there before they are cut here.
fn cut_torn(file: &mut File, path: &Path, from: u64) -> io::Result<(PathBuf, u64)> {
    let torn = beside(path, "torn");
    let mut options = OpenOptions::new();
    let mut sink = options.append(true).create(true).mode(0o600).open(&torn)?;
    file.seek(SeekFrom::Start(from))?;
    io::copy(file, &mut sink)?;
    sink.write_all(b"\n")?;
    sink.sync_all()?;
    file.set_len(from)?;
    let mut len = from;
    if from > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(from - 1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            len += 1;
        }
    }
    file.sync_data()?;
    Ok((torn, len))
}

/// Replaces the file by its migrated self; the original keeps a name of its own.
fn upgrade_file(file: &File, from: u64, scan: &Scan, path: &Path) -> io::Result<(File, PathBuf)> {
    let backup = super::place::keep_aside(path, &format!("v{from}"), ".bak")?;
    let mut replacement = super::replace::Replacement::begin(path)?;
    let mut source = file;
    source.seek(SeekFrom::Start(0))?;
    migrate(source, from, scan, path, &mut replacement)?;
    Ok((replacement.finish()?, backup))
}
