//! Lists of sessions, finding one by a word of the person, and putting one away (SPEC section 12).
//!
//! A list costs the head and the tail of each file, not the file (F52).

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Serialize, Serializer};

use super::entry::{SessionEntry, SessionHeader};
use super::lock::{LockError, SessionLock};
use super::store::place::beside;
use super::store::scan::scan_bytes;
use super::tree::{NodeKind, SessionTree};
use crate::compaction::tokens::Estimator;
use crate::ids::Timestamp;

/// The folder, below that of the sessions, that deleted sessions are moved to.
pub const TRASH: &str = "trash";

/// Files up to this length are read whole.
const SMALL: u64 = 256 << 10;
/// Of longer ones, this much of the beginning and of the end.
const HEAD: u64 = 64 << 10;
/// How far back the end is read when it is one long line.
const LONGEST_TAIL: u64 = 8 << 20;
/// How far back a name is looked for.
const LONGEST_SEARCH: u64 = 64 << 20;

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedSession {
    /// Its file.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// Its id.
    pub id: String,
    /// The folder it works in; empty when the file does not say.
    pub cwd: String,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// When it began.
    pub began: Timestamp,
    /// When its file was last written.
    pub changed: Timestamp,
    /// Length of its file in bytes.
    pub size: u64,
    /// The beginning of the first thing that the person said.
    pub first: String,
    /// The beginning of the last message.
    pub last: String,
}

/// A path that is no UTF-8 is written as it would be shown.
fn path_as_text<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// The sessions of one or more folders.
#[derive(Debug, Default)]
pub struct Listing {
    /// The one that was written last comes first.
    pub sessions: Vec<ListedSession>,
    /// What could not be read, one sentence each.
    pub problems: Vec<String>,
}

/// Lists the sessions in `dir` itself. A folder that does not exist has none.
#[must_use]
pub fn list(dir: &Path) -> Listing {
    list_files(session_files(dir))
}

/// Lists the sessions in `root` and in the folders right below it: those of all projects.
#[must_use]
pub fn list_all(root: &Path) -> Listing {
    list_files(all_session_files(root))
}

fn list_files(files: Vec<PathBuf>) -> Listing {
    let mut listing = Listing::default();
    for path in files {
        match look_at(&path) {
            Ok(Some(session)) => listing.sessions.push(session),
            Ok(None) => listing.problems.push(format!("{} is no session", path.display())),
            Err(error) => {
                listing.problems.push(format!("cannot read {}: {error}", path.display()));
            }
        }
    }
    listing
        .sessions
        .sort_by(|one, other| (other.changed, &other.path).cmp(&(one.changed, &one.path)));
    listing
}

fn all_session_files(root: &Path) -> Vec<PathBuf> {
    let mut files = session_files(root);
    let folders = std::fs::read_dir(root).into_iter().flatten().flatten();
    for folder in folders.filter(|folder| folder.file_name() != TRASH) {
        files.extend(session_files(&folder.path()));
    }
    files
}

fn session_files(dir: &Path) -> Vec<PathBuf> {
    let is_session = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".jsonl") && !name.ends_with(".originals.jsonl") && path.is_file()
    };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(is_session).collect()
}

/// What a list says about one file; `None` when it is no session.
///
/// # Errors
/// The file cannot be read.
pub fn look_at(path: &Path) -> io::Result<Option<ListedSession>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let size = metadata.len();
    let head = part(&file, 0, if size <= SMALL { size } else { HEAD })?;
    let start = scan_bytes(&head, 0, Estimator::default())?;
    let Some(header) = start.header else { return Ok(None) };
    let tail = if size <= SMALL { None } else { Some(tail(&file, size)?) };
    let end = tail.as_ref().unwrap_or(&start.tree);
    let name = match (last_name(end), &tail) {
        (Some(name), _) => name,
        (None, Some(_)) => name_before(&file, size)?,
        (None, None) => None,
    };
    let changed = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Some(ListedSession {
        path: path.to_owned(),
        id: header.id,
        cwd: header.cwd,
        name,
        began: header.timestamp,
        changed: Timestamp::from_millis(i64::try_from(changed.as_millis()).unwrap_or(i64::MAX)),
        size,
        first: first_said(&start.tree),
        last: last_said(end).or_else(|| last_said(&start.tree)).unwrap_or_default(),
    }))
}

fn part(file: &File, from: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], from + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The entries at the end of a long file.
fn tail(file: &File, size: u64) -> io::Result<SessionTree> {
    let mut len = SMALL - HEAD;
    loop {
        let from = size.saturating_sub(len);
        let bytes = part(file, from, len)?;
        let line = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |end| end + 1);
        let found = scan_bytes(&bytes[line..], from + line as u64, Estimator::default())?;
        if last_said(&found.tree).is_some() || from == 0 || len >= LONGEST_TAIL {
            return Ok(found.tree);
        }
        len *= 4;
    }
}

fn first_said(tree: &SessionTree) -> String {
    let said = tree.nodes().find(|(_, node)| node.kind == NodeKind::User);
    said.map(|(_, node)| node.preview.to_string()).unwrap_or_default()
}

fn last_said(tree: &SessionTree) -> Option<String> {
    let mut said = tree.nodes().rev().filter(|(_, node)| {
        node.kind.bears_message() && !matches!(node.kind, NodeKind::ToolResult { .. })
    });
    said.find(|(_, node)| !node.preview.is_empty()).map(|(_, node)| node.preview.to_string())
}

/// The last word about the name: `Some(None)` when it was taken away.
fn last_name(tree: &SessionTree) -> Option<Option<String>> {
    tree.nodes().rev().find_map(|(_, node)| match &node.kind {
        NodeKind::SessionInfo { name } => Some(name.as_deref().map(str::to_owned)),
        _ => None,
    })
}

/// The name that a long file was given somewhere before its tail, looked for from the end.
fn name_before(file: &File, size: u64) -> io::Result<Option<String>> {
    const MARK: &[u8] = b"{\"type\":\"session_info\"";
    const BLOCK: u64 = 1 << 20;
    let mut end = size;
    while end > 0 && size - end < LONGEST_SEARCH {
        let from = end.saturating_sub(BLOCK);
        // A mark may lie across two blocks, a line may go on in the next.
        let bytes = part(file, from, (end - from + 4096).min(size - from))?;
        for at in memchr::memmem::rfind_iter(&bytes, MARK) {
            let line = bytes[at..].split(|byte| *byte == b'\n').next().unwrap_or_default();
            let begins = at == 0 || bytes[at - 1] == b'\n';
            if let (true, Ok(entry)) = (begins, serde_json::from_slice::<SessionEntry>(line))
                && let super::entry::EntryBody::SessionInfo { name } = entry.body
            {
                return Ok(name);
            }
        }
        end = from;
    }
    Ok(None)
}

/// Why no session was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nothing has this name.
    #[error(
        "no session is named {0:?}: give a path, an id or the beginning of one (`regrow sessions` lists them)"
    )]
    None(String),
    /// Several ids begin like this.
    #[error("{wanted:?} is the beginning of several sessions: {}", ids.join(", "))]
    Several {
        /// What was asked for.
        wanted: String,
        /// Their ids.
        ids: Vec<String>,
    },
}

/// The file of the session that `wanted` names: a path, an id, or the unique beginning of one, in
/// `roots` or a folder right below them.
///
/// # Errors
/// None, or more than one, is meant.
pub fn find(wanted: &str, roots: &[&Path]) -> Result<PathBuf, FindError> {
    let path = Path::new(wanted);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    let files = roots.iter().flat_map(|root| all_session_files(root));
    for file in files.filter(|_| !wanted.is_empty()) {
        let Some(id) = id_of(&file) else { continue };
        if id == wanted {
            return Ok(file);
        }
        if id.starts_with(wanted) && !found.iter().any(|(_, known)| *known == file) {
            found.push((id, file));
        }
    }
    match found.len() {
        0 => Err(FindError::None(wanted.to_owned())),
        1 => Ok(found.remove(0).1),
        _ => {
            let ids = found.into_iter().map(|(id, _)| id).collect();
            Err(FindError::Several { wanted: wanted.to_owned(), ids })
        }
    }
}

/// The id in a file's header.
fn id_of(file: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    let line = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let header: SessionHeader = serde_json::from_slice(line).ok()?;
    (header.kind == "session").then_some(header.id)
}

/// Moves a session, and what lies beside it, to the trash folder of its own folder. Nothing is
/// deleted (F49). Says where the session is now.
///
/// # Errors
/// Another process has it open, or it cannot be moved.
pub fn move_to_trash(session: &Path) -> Result<PathBuf, LockError> {
    let _lock = SessionLock::acquire(session)?;
    let dir = session.parent().unwrap_or(Path::new("."));
    let name = session.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let trash = dir.join(TRASH);
    super::store::place::create_private_dir(&trash)?;
    let mut target = trash.join(&name);
    let mut number = 2_u64;
    while target.exists() {
        target = trash.join(format!("{}-{number}.jsonl", name.trim_end_matches(".jsonl")));
        number += 1;
    }
    let companions: Vec<_> = std::fs::read_dir(dir)?
        .flatten()
        .filter_map(|entry| {
            let suffix = entry.file_name().to_string_lossy().strip_prefix(&name)?.to_owned();
            let suffix = suffix.strip_prefix('.').filter(|suffix| *suffix != "lock")?.to_owned();
            Some((entry.path(), suffix))
        })
        .collect();
    std::fs::rename(session, &target)?;
    for (path, suffix) in companions {
        std::fs::rename(path, beside(&target, &suffix))?;
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"ID","timestamp":"2026-01-14T15:00:37.013Z","cwd":"/w"}"#;

    fn entry(id: usize, kind: &str, more: &str) -> String {
        format!(r#"{{"type":"{kind}","id":"{id:08x}","parentId":null,"timestamp":"t",{more}}}"#)
    }

    fn said(id: usize, role: &str, text: &str) -> String {
        let message = format!(
            r#""message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}"#
        );
        entry(id, "message", &message)
    }

    fn write(dir: &Path, id: &str, lines: &[String]) -> PathBuf {
        std::fs::create_dir_all(dir).unwrap();
        let path = dir.join(format!("{id}.jsonl"));
        let text = format!("{}\n{}\n", HEADER.replace("ID", id), lines.join("\n"));
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn f52_a_list_reads_heads_and_tails() {
        let dir = tempfile::tempdir().unwrap();
        let named = |id| entry(id, "session_info", r#""name":"the name""#);
        let filler = |from: usize, count: usize| {
            (from..from + count).map(|id| said(id, "assistant", &"x".repeat(1_000)))
        };
        // The name in the middle, the end one long line.
        let mut lines = vec![said(0, "user", "first  words")];
        lines.extend(filler(10, 400));
        lines.push(named(1));
        lines.extend(filler(1_000, 2_000));
        lines.push(said(2, "assistant", &"long ".repeat(100_000)));
        let path = write(dir.path(), "a", &lines);
        let session = look_at(&path).unwrap().unwrap();
        assert_eq!((&*session.id, &*session.cwd, &*session.first), ("a", "/w", "first words"));
        assert_eq!(session.name.as_deref(), Some("the name"));
        assert!(session.last.starts_with("long long"));
        let short = write(dir.path(), "b", &[said(0, "user", "hi"), named(1)]);
        let session = look_at(&short).unwrap().unwrap();
        assert_eq!((&*session.last, session.name.as_deref()), ("hi", Some("the name")));
    }

    #[test]
    fn f55_lists_span_projects_and_skip_what_is_no_session() {
        let root = tempfile::tempdir().unwrap();
        let here = root.path().join("-w");
        write(&here, "a", &[]);
        write(&root.path().join("-v"), "b", &[]);
        let gone = write(&here, "c", &[]);
        std::fs::write(here.join("notes.jsonl"), "hello\n").unwrap();
        std::fs::write(here.join("a.jsonl.originals.jsonl"), "{}\n").unwrap();
        std::fs::write(here.join("c.jsonl.torn"), "x").unwrap();
        let trashed = move_to_trash(&gone).unwrap();
        assert!(trashed.is_file() && beside(&trashed, "torn").is_file());
        assert!(!here.join("c.jsonl.torn").exists() && !here.join("c.jsonl.lock").exists());
        let ids = |listing: &Listing| {
            let mut ids: Vec<_> = listing.sessions.iter().map(|found| found.id.clone()).collect();
            ids.sort();
            ids
        };
        let listing = list(&here);
        assert_eq!((ids(&listing), listing.problems.len()), (vec!["a".into()], 1));
        assert_eq!(ids(&list_all(root.path())), ["a", "b"]);
        assert!(list(&root.path().join("nowhere")).sessions.is_empty());
    }

    #[test]
    fn a_session_is_found_by_path_id_and_unique_beginning() {
        let root = tempfile::tempdir().unwrap();
        let one = write(&root.path().join("-w"), "abc1", &[]);
        let other = write(root.path(), "abd2", &[]);
        let longer = write(root.path(), "abc12", &[]);
        let find = |wanted: &str| find(wanted, &[root.path()]);
        assert_eq!(find(one.to_str().unwrap()).unwrap(), one);
        assert_eq!(find("abc1").unwrap(), one);
        assert_eq!(find("abc12").unwrap(), longer);
        assert_eq!(find("abd").unwrap(), other);
        assert!(matches!(find("ab"), Err(FindError::Several { ids, .. }) if ids.len() == 3));
        assert!(matches!(find("x"), Err(FindError::None(_))));
        assert!(matches!(find(""), Err(FindError::None(_))));
    }
}
