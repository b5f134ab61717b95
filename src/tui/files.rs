//! Files for the `@` picker (U2): what is in the folder, as .gitignore allows, best match first.
//!
//! Blocking; runs off the UI thread. The list of a folder is kept for a while, so that a key costs a
//! match and not a walk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

/// Most files of a folder that are looked at.
const MOST_FILES: usize = 200_000;

/// Most matches that are returned.
const MOST_MATCHES: usize = 50;

/// A walk that is older is made again, behind the search.
const FRESH: Duration = Duration::from_secs(10);

/// See the module. Shared by all searches.
#[derive(Debug, Default)]
pub struct FileFinder {
    list: Mutex<Option<Walked>>,
    newest: AtomicU64,
}

#[derive(Debug, Clone)]
struct Walked {
    cwd: PathBuf,
    at: Instant,
    files: Arc<Vec<String>>,
}

impl FileFinder {
    /// Announces a search; earlier ones that still wait give up.
    pub fn announce(&self) -> u64 {
        self.newest.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Finds files; `None` when a later search was announced.
    #[must_use]
    pub fn find(&self, search: u64, cwd: &Path, query: &str) -> Option<Vec<String>> {
        let is_newest = || self.newest.load(Ordering::SeqCst) == search;
        let files = {
            let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_newest() {
                return None;
            }
            match &*list {
                Some(walked) if walked.cwd == cwd => walked.files.clone(),
                _ => {
                    let files = Arc::new(walk(cwd));
                    *list = Some(Walked {
                        cwd: cwd.to_owned(),
                        at: Instant::now(),
                        files: files.clone(),
                    });
                    files
                }
            }
        };
        let found = rank(&files, query);
        is_newest().then_some(found)
    }

    /// Walks a folder again whose list has become old: the next search sees what is new, and none waits
    /// for it.
    pub fn refresh(&self, cwd: &Path) {
        let list = || self.list.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *list() {
            Some(walked) if walked.cwd == cwd && walked.at.elapsed() >= FRESH => {
                walked.at = Instant::now();
            }
            _ => return,
        }
        let files = Arc::new(walk(cwd));
        let at = Instant::now();
        *list() = Some(Walked { cwd: cwd.to_owned(), at, files });
    }
}

/// Paths from `cwd`, folders with a slash at their end, near ones first.
fn walk(cwd: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let walker = WalkBuilder::new(cwd)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    for entry in walker.flatten().skip(1).take(MOST_FILES) {
        let Ok(path) = entry.path().strip_prefix(cwd) else { continue };
        let mut path = path.to_string_lossy().into_owned();
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            path.push('/');
        }
        files.push(path);
    }
    files.sort_by_cached_key(|path| (depth(path), path.clone()));
    files
}

fn depth(path: &str) -> usize {
    path.trim_end_matches('/').matches('/').count()
}

fn rank(files: &[String], query: &str) -> Vec<String> {
    if query.is_empty() {
        return files.iter().take(MOST_MATCHES).cloned().collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut matches = pattern.match_list(files, &mut matcher);
    matches.truncate(MOST_MATCHES);
    matches.into_iter().map(|(file, _)| file.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u2_files_are_ranked_and_ignored_ones_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["src/tui/app.rs", "src/main.rs", "target/app.rs", "README.md", "메모.txt"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(folder.path().join(".gitignore"), "target\n").unwrap();
        let finder = FileFinder::default();
        let find = |query: &str| finder.find(finder.announce(), folder.path(), query).unwrap();
        assert_eq!(find("app"), ["src/tui/app.rs"]);
        assert_eq!(find("메모"), ["메모.txt"]);
        assert_eq!(find("")[..3], [".gitignore", "README.md", "src/"]);
        assert!(find("zzzz").is_empty());
    }

    #[test]
    fn u2_what_is_new_is_found_once_the_list_has_become_old() {
        let folder = tempfile::tempdir().unwrap();
        let finder = FileFinder::default();
        let find = || finder.find(finder.announce(), folder.path(), "").unwrap();
        assert!(find().is_empty());
        std::fs::write(folder.path().join("new"), "").unwrap();
        finder.refresh(folder.path());
        assert!(find().is_empty(), "the list is fresh");
        finder.list.lock().unwrap().as_mut().unwrap().at =
            Instant::now().checked_sub(FRESH).unwrap();
        assert!(find().is_empty(), "nobody waits for a walk");
        finder.refresh(folder.path());
        assert_eq!(find(), ["new"]);
    }

    #[test]
    fn u2_a_search_that_was_overtaken_gives_up() {
        let folder = tempfile::tempdir().unwrap();
        let finder = FileFinder::default();
        let (first, second) = (finder.announce(), finder.announce());
        assert_eq!(finder.find(first, folder.path(), "a"), None);
        assert_eq!(finder.find(second, folder.path(), "a"), Some(Vec::new()));
    }
}
