//! Names of session files and of what lies beside them (SPEC J1), and making them private (F57).

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::ids::Timestamp;
use crate::session::entry::SessionHeader;

/// The folder of a project's sessions below the folder of all sessions.
#[must_use]
pub fn project_dir(root: &Path, cwd: &Path) -> PathBuf {
    root.join(cwd.to_string_lossy().replace('/', "-"))
}

/// The name of a session's file: when it began and its id.
#[must_use]
pub fn file_name(header: &SessionHeader) -> String {
    let began = header.timestamp.to_string().replace([':', '.'], "-");
    // Ids of other programs may hold anything.
    let id: String = header
        .id
        .chars()
        .map(
            |character| {
                if character.is_alphanumeric() || character == '-' { character } else { '_' }
            },
        )
        .collect();
    format!("{began}_{id}.jsonl")
}

/// What the name of a session's file tells of a header that is lost. The folder is not known.
pub(super) fn header_from_name(path: &Path, otherwise: Timestamp) -> SessionHeader {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let named = stem.split_once('_').and_then(|(began, id)| {
        let (date, time) = began.split_once('T')?;
        let mut parts = time.trim_end_matches('Z').splitn(4, '-');
        let mut part = || parts.next();
        let text = format!("{date}T{}:{}:{}.{}Z", part()?, part()?, part()?, part()?);
        Some((Timestamp::parse(&text)?, id.to_owned()))
    });
    let (began, id) = named.unwrap_or_else(|| (otherwise, stem.into_owned()));
    SessionHeader::new(id, began, String::new())
}

/// The file `<name>.<suffix>` beside a session file.
#[must_use]
pub fn beside(session: &Path, suffix: &str) -> PathBuf {
    let mut name = session.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    session.with_file_name(name)
}

/// Makes a folder and what is missing above it, for its owner alone.
pub fn create_private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Makes a file that must not exist yet, for its owner alone, open for reading and appending.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)
}

/// Gives a file that is about to be replaced a second name, `<name>.<reason><ending>`, and says which.
/// What was kept for the same reason earlier is never overwritten: the name gets a number.
///
/// # Errors
/// It cannot be kept; then it must not be replaced.
pub fn keep_aside(path: &Path, reason: &str, ending: &str) -> io::Result<PathBuf> {
    let original = std::fs::metadata(path)?;
    for attempt in 1.. {
        let suffix = match attempt {
            1 => format!("{reason}{ending}"),
            more => format!("{reason}-{more}{ending}"),
        };
        let backup = beside(path, &suffix);
        match std::fs::symlink_metadata(&backup) {
            // Whoever wanted to replace it was killed when it had got this far.
            Ok(found) if (found.dev(), found.ino()) == (original.dev(), original.ino()) => {
                return Ok(backup);
            }
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // Not every file system has hard links.
        if std::fs::hard_link(path, &backup).is_err() {
            std::fs::copy(path, &backup)?;
            File::open(&backup)?.sync_all()?;
        }
        return Ok(backup);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Makes names in a folder last: a new or renamed file is found there after a power failure.
///
/// # Errors
/// The system cannot promise it.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j1_names_say_when_and_which() {
        let header = SessionHeader::new("0198-ab".into(), Timestamp::from_millis(13), "/w".into());
        assert_eq!(file_name(&header), "1970-01-01T00-00-00-013Z_0198-ab.jsonl");
        let odd = SessionHeader { id: "../x".into(), ..header.clone() };
        assert!(file_name(&odd).ends_with("Z____x.jsonl"));
        let lost = header_from_name(Path::new(&file_name(&header)), Timestamp::default());
        assert_eq!((lost.id, lost.timestamp), (header.id.clone(), header.timestamp));
        let imported = header_from_name(Path::new("a_b.jsonl"), header.timestamp);
        assert_eq!((&*imported.id, imported.timestamp), ("a_b", header.timestamp));
        assert_eq!(project_dir(Path::new("/r"), Path::new("/home/u/p")), Path::new("/r/-home-u-p"));
        assert_eq!(beside(Path::new("/d/s.jsonl"), "torn"), Path::new("/d/s.jsonl.torn"));
    }
}
