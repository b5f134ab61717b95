//! Whole files put in place at once (SPEC J9): written beside, on disk before they get the name.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::place::{beside, create_private_dir, sync_dir};

/// A file that is being written under another name. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub(super) struct Replacement {
    writer: Option<BufWriter<File>>,
    temporary: PathBuf,
    target: PathBuf,
}

impl Replacement {
    /// Begins what will be `target`. What a killed process left of an earlier try is overwritten.
    pub(super) fn begin(target: &Path) -> io::Result<Self> {
        create_private_dir(target.parent().unwrap_or(Path::new(".")))?;
        let temporary = beside(target, "new");
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create_new(true).mode(0o600).open(&temporary)?;
        let writer = Some(BufWriter::with_capacity(1 << 16, file));
        Ok(Self { writer, temporary, target: target.to_owned() })
    }

    /// Gives the file its name, and gives it back open for reading and appending.
    pub(super) fn finish(mut self) -> io::Result<File> {
        let Some(writer) = self.writer.take() else { return Err(io::ErrorKind::Other.into()) };
        let finished = Self::settle(writer, &self.temporary, &self.target);
        if finished.is_err() {
            let _ = std::fs::remove_file(&self.temporary);
        }
        finished
    }

    fn settle(writer: BufWriter<File>, temporary: &Path, target: &Path) -> io::Result<File> {
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(temporary, target)?;
        sync_dir(target.parent().unwrap_or(Path::new(".")))?;
        Ok(file)
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.as_mut().ok_or(io::ErrorKind::Other)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j9_the_old_file_stays_until_the_new_one_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, "old").unwrap();
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        let mut given_up = Replacement::begin(&path).unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!((std::fs::read(&path).unwrap().as_slice(), names()), (b"old".as_slice(), 1));
        let mut replacement = Replacement::begin(&path).unwrap();
        replacement.write_all(b"new").unwrap();
        let mut file = replacement.finish().unwrap();
        file.write_all(b"er").unwrap();
        assert_eq!((std::fs::read(&path).unwrap().as_slice(), names()), (b"newer".as_slice(), 1));
    }
}
