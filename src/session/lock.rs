//! One writer per session (SPEC J8, I9): an advisory lock on a file beside the session.
//!
//! The operating system gives the lock up with its process, so an owner that was killed leaves a
//! file but no lock. The pid in the file is for messages only.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::store::place::beside;

/// Held for as long as a session is open for writing; dropping it lets the next one in.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    path: PathBuf,
}

/// Why a session could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it open for writing.
    #[error("{}", held_by(*.pid))]
    Held {
        /// Its process id, where it can be read.
        pid: Option<u32>,
    },
    /// The lock file cannot be made.
    #[error("cannot lock it: {0}")]
    Io(#[from] io::Error),
}

fn held_by(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("another process (pid {pid}) has it open"),
        None => "another process has it open".to_owned(),
    }
}

impl SessionLock {
    /// Locks the session file `session` without waiting.
    ///
    /// # Errors
    /// [`LockError::Held`] when somebody else has the lock, [`LockError::Io`] when no lock file
    /// can be made.
    pub fn acquire(session: &Path) -> Result<Self, LockError> {
        let path = beside(session, "lock");
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let mut file = options.open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held { pid: read_pid(&mut file) });
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            // The owner before us may have removed the file between our open and our lock.
            if same_file(&file, &path) {
                file.set_len(0)?;
                file.rewind()?;
                writeln!(file, "{}", std::process::id())?;
                return Ok(Self { file, path });
            }
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Removed while still locked: whoever opened it meanwhile sees that it has lost its name.
        if same_file(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j8_the_second_one_learns_who_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("s.jsonl");
        let lock = SessionLock::acquire(&session).unwrap();
        let LockError::Held { pid } = SessionLock::acquire(&session).unwrap_err() else { panic!() };
        assert_eq!(pid, Some(std::process::id()));
        drop(lock);
        assert!(!beside(&session, "lock").exists());
        SessionLock::acquire(&session).unwrap();
    }

    #[test]
    fn j8_a_file_left_by_a_dead_owner_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("s.jsonl");
        std::fs::write(beside(&session, "lock"), "1\n").unwrap();
        SessionLock::acquire(&session).unwrap();
    }
}
