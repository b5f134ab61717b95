//! Files that are there whole or not at all: written beside their place, brought to disk, and only
//! then given their name. A write that fails leaves the old file and nothing beside it; what a killed
//! process left is removed by the next one that writes in the same folder.
//!
//! Session files that are rewritten have their own way (`session::store`), under the session's lock.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use tempfile::NamedTempFile;

/// Names of unfinished files: this, the process that writes them, and some letters.
const PREFIX: &str = ".regrow-";
const SUFFIX: &str = ".new";

/// A file that is being written, for its owner alone. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub struct WholeFile {
    writer: BufWriter<NamedTempFile>,
    target: PathBuf,
}

impl WholeFile {
    /// Begins what will be `target`; its folder must be there.
    ///
    /// # Errors
    /// Nothing can be written in that folder.
    pub fn begin(target: &Path) -> io::Result<Self> {
        let file = unfinished_in(folder_of(target), None)?;
        Ok(Self { writer: BufWriter::with_capacity(1 << 16, file), target: target.to_owned() })
    }

    /// Gives the file other permissions.
    ///
    /// # Errors
    /// What the system said.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.writer.get_ref().as_file().set_permissions(permissions)
    }

    /// Puts the file in place; an old one of the name is gone.
    ///
    /// # Errors
    /// What was buffered cannot be written, or not be brought to disk; then the old file is there.
    pub fn finish(self) -> io::Result<()> {
        let (file, target) = self.settle()?;
        file.persist(&target).map_err(|error| error.error)?;
        sync_folder(&target)
    }

    /// Puts the file in place where there is none.
    ///
    /// # Errors
    /// As [`WholeFile::finish`]; [`io::ErrorKind::AlreadyExists`] when the name is taken.
    pub fn finish_new(self) -> io::Result<()> {
        let (file, target) = self.settle()?;
        file.persist_noclobber(&target).map_err(|error| error.error)?;
        sync_folder(&target)
    }

    fn settle(self) -> io::Result<(NamedTempFile, PathBuf)> {
        let file = self.writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        Ok((file, self.target))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A file in this folder, for its owner alone unless `mode` says otherwise, that goes away unless it
/// is given a name.
///
/// # Errors
/// Nothing can be written in that folder.
pub fn unfinished_in(folder: &Path, mode: Option<Permissions>) -> io::Result<NamedTempFile> {
    remove_abandoned(folder);
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    if let Some(mode) = mode {
        builder.permissions(mode);
    }
    builder.tempfile_in(folder)
}

/// Puts a text in place at once.
///
/// # Errors
/// As [`WholeFile::begin`] and [`WholeFile::finish`].
pub fn write(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::begin(target)?;
    file.write_all(content)?;
    file.finish()
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new name is found again after a power failure. Not every file system can promise that.
fn sync_folder(target: &Path) -> io::Result<()> {
    File::open(folder_of(target))?.sync_all().or(Ok(()))
}

/// Removes what processes that are gone have left unfinished. What cannot be removed stays: it is no
/// reason not to write.
fn remove_abandoned(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let middle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
        let writer = middle.and_then(|middle| middle.split_once('-'));
        let pid = writer.and_then(|(pid, _)| Pid::from_raw(pid.parse().ok()?));
        if pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_the_old_one_until_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        std::fs::write(&target, "old").unwrap();
        let mut given_up = WholeFile::begin(&target).unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!(
            (std::fs::read_to_string(&target).unwrap().as_str(), names(folder.path()).len()),
            ("old", 1)
        );
        let mut taken = WholeFile::begin(&target).unwrap();
        taken.write_all(b"other").unwrap();
        assert_eq!(taken.finish_new().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        write(&target, b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = child.id();
        child.wait().unwrap();
        let live = format!(".regrow-{}-abc.new", std::process::id());
        let kept = [live.as_str(), ".regrow-x-abc.new", ".regrow-abc.tmp", "b.new"];
        for name in kept.into_iter().chain([format!(".regrow-{gone}-abc.new").as_str()]) {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        write(&folder.path().join("a"), b"").unwrap();
        let mut expected: Vec<_> = kept.into_iter().chain(["a"]).collect();
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);
    }
}
