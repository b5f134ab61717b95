//! The originals of pruned tool results, beside the session (SPEC C9).
//!
//! `<name>.originals.jsonl` holds the lines as they were before pruning replaced their content. It is
//! written and on disk before the session file is touched, so that nothing is ever only in memory.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use super::entry::SessionEntry;
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
    let mut file = options.open(originals_path(session))?;
    let lines: String = entries.iter().map(|entry| entry.to_line()).collect();
    file.write_all(lines.as_bytes())?;
    file.sync_data()
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
        file.write_all(b"{\"type\":\"sess\n").unwrap();
        keep_originals(&session, &[entry("a", "second")]).unwrap();
        let originals = load_originals(&session).unwrap();
        assert_eq!(originals.len(), 2);
        assert_eq!(originals[&EntryId::new("a")], *entry("a", "first"));
    }
}
