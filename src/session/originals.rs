//! The originals of pruned tool results, beside the session (SPEC C9).
//!
//! `<name>.originals.jsonl` holds the lines as they were before pruning replaced their content. It is
//! written and on disk before the session file is touched, so that nothing is ever only in memory.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::entry::SessionEntry;
use super::store::place::sync_dir;
use crate::ids::EntryId;

/// The file that holds the originals of the session at `session`.
#[must_use]
pub fn originals_path(session: &Path) -> PathBuf {
    session.with_extension("originals.jsonl")
}

/// Adds originals and waits until they are on disk.
///
/// # Errors
/// The file cannot be written; then nothing may be pruned.
pub fn keep_originals(session: &Path, entries: &[std::sync::Arc<SessionEntry>]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let path = originals_path(session);
    let mut file = options.read(true).open(&path)?;
    // A line that was torn by a crash stays alone on its line.
    let mut lines = if ends_in_a_line(&mut file)? { String::new() } else { "\n".to_owned() };
    lines.extend(entries.iter().map(|entry| entry.to_line()));
    file.write_all(lines.as_bytes())?;
    file.sync_data()?;
    sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// Whether a file is empty or its last byte is `\n`.
fn ends_in_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// All originals, by entry; the first one kept of an entry counts. Damaged lines are passed over: the
/// session file still has the pruned form.
///
/// # Errors
/// The file is there but cannot be read.
pub fn load_originals(session: &Path) -> io::Result<HashMap<EntryId, SessionEntry>> {
    let file = match File::open(originals_path(session)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(error),
    };
    let mut originals = HashMap::new();
    for line in BufReader::new(file).split(b'\n') {
        if let Ok(entry) = serde_json::from_slice::<SessionEntry>(&line?) {
            originals.entry(entry.id.clone()).or_insert(entry);
        }
    }
    Ok(originals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Timestamp;
    use crate::session::entry::EntryBody;
    use std::sync::Arc;

    #[test]
    fn c9_originals_survive_a_torn_line_and_the_first_one_counts() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("s.jsonl");
        assert!(load_originals(&session).unwrap().is_empty());
        let entry = |id: &str, name: &str| {
            Arc::new(SessionEntry {
                id: EntryId::new(id),
                parent_id: None,
                timestamp: Timestamp::from_millis(0),
                body: EntryBody::SessionInfo { name: Some(name.into()) },
            })
        };
        keep_originals(&session, &[entry("a", "first"), entry("b", "b")]).unwrap();
        let mut file = OpenOptions::new().append(true).open(originals_path(&session)).unwrap();
        file.write_all(b"{\"type\":\"sess").unwrap();
        keep_originals(&session, &[entry("a", "second"), entry("c", "c")]).unwrap();
        let originals = load_originals(&session).unwrap();
        assert_eq!(originals.len(), 3);
        assert_eq!(originals[&EntryId::new("a")], *entry("a", "first"));
    }
}
