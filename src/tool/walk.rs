//! Walking through a folder for `grep`, `find` and `ls`: .gitignore honoured, no links followed, an
//! end after a while or on cancel (F98).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

use super::truncate::counted;
use super::{ToolContext, ToolError, blocking, locate, replace_file};

/// How long a search may take.
const LONGEST: Duration = Duration::from_secs(30);

/// The private folders of version control systems.
const PRIVATE: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];

/// The folder or file that a call searches; the session's own folder when it names none.
pub(crate) fn root(cx: &ToolContext, path: Option<&str>) -> Result<PathBuf, ToolError> {
    let path = match path {
        None | Some("") => cx.cwd.clone(),
        Some(path) => locate::existing(cx, path),
    };
    let metadata = std::fs::metadata(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => locate::not_found(&path, &cx.cwd),
        _ => replace_file::failed(&path, "it cannot be looked at", &error),
    })?;
    if metadata.is_dir() || metadata.is_file() {
        return Ok(path);
    }
    let kind = replace_file::kind_of(&metadata);
    Err(ToolError::new(format!(
        "{} is {kind}; only files and directories can be searched",
        path.display()
    )))
}

/// Folders whose files are no files: reading them can hang, or never end.
const PSEUDO: [&str; 3] = ["/proc", "/sys", "/dev"];

/// How a walk over `root` is made; callers add depth and filters.
pub(crate) fn builder(root: &Path) -> WalkBuilder {
    // A link given as the root is meant to be followed; links below it are not.
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    // Outside a repository the .gitignore of a folder above says nothing about this one: people keep
    // one with `*` in their home.
    let in_repository = root.ancestors().any(|folder| folder.join(".git").exists());
    let mut builder = WalkBuilder::new(root);
    builder
        .parents(in_repository)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(|entry| !is_private(entry));
    builder
}

fn is_private(entry: &DirEntry) -> bool {
    entry.depth() > 0
        && (entry.file_name().to_str().is_some_and(|name| PRIVATE.contains(&name))
            || PSEUDO.iter().any(|folder| entry.path() == Path::new(folder)))
}

/// What a walk came upon besides entries, and why it ended.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    links: usize,
    unreadable: usize,
    late: bool,
}

impl Walked {
    /// Lines for the model about what was not looked at.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.late {
            notes.push(format!(
                "[Stopped after {} s, not everything was searched: narrow the path or the pattern]",
                LONGEST.as_secs()
            ));
        }
        if self.links > 0 {
            let links = counted(self.links, "symbolic link");
            let verb = if self.links == 1 { "was" } else { "were" };
            notes.push(format!("[{links} {verb} not followed]"));
        }
        if self.unreadable > 0 {
            notes.push(format!("[{} could not be read]", counted(self.unreadable, "path")));
        }
        notes
    }
}

/// Calls `visit` for every entry below the root until it says to stop.
///
/// # Errors
/// The call was cancelled.
pub(crate) fn walk(
    builder: &WalkBuilder,
    cancel: &CancellationToken,
    mut visit: impl FnMut(&DirEntry, &mut Walked) -> Flow,
) -> Result<Walked, ToolError> {
    let mut walked = Walked::default();
    let end = Instant::now() + LONGEST;
    for entry in builder.build() {
        if cancel.is_cancelled() {
            return Err(blocking::stopped());
        }
        if Instant::now() >= end {
            walked.late = true;
            break;
        }
        let Ok(entry) = entry else {
            walked.unreadable += 1;
            continue;
        };
        if entry.path_is_symlink() && entry.depth() > 0 {
            walked.links += 1;
        }
        if visit(&entry, &mut walked) == Flow::Stop {
            break;
        }
    }
    if cancel.is_cancelled() {
        return Err(blocking::stopped());
    }
    Ok(walked)
}

impl Walked {
    /// Notes a file that could not be read.
    pub(crate) fn unreadable(&mut self) {
        self.unreadable += 1;
    }
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next entry.
    On,
    /// No further.
    Stop,
}

/// Joins results and notes into what the model reads.
pub(crate) fn with_notes(mut text: String, notes: &[String]) -> String {
    let trimmed = text.trim_end_matches('\n').len();
    text.truncate(trimmed);
    if !notes.is_empty() {
        text.push_str("\n\n");
        text.push_str(&notes.join("\n"));
    }
    text
}
