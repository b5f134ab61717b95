//! Where a folder is in git: the branch that it is on, and whether something has changed since the last
//! commit.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long git may take to look for changes; in a folder that is larger nothing is said of them.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time between two looks at whether git is done.
const LOOK: Duration = Duration::from_millis(5);

/// The branch, with a `*` when there are changes.
#[must_use]
pub(super) fn shown(folder: &Path) -> Option<String> {
    let git = git_folder(folder)?;
    let branch = branch_in(&git)?;
    let star = if has_changes(folder, &git) { "*" } else { "" };
    Some(format!("{branch}{star}"))
}

/// `.git`, here or in a folder above.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    // A worktree or a submodule: a file that says where.
    let text = std::fs::read_to_string(&git).ok()?;
    Some(git.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
}

fn branch_in(git: &Path) -> Option<String> {
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    Some(match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => branch.to_owned(),
        None => head.get(..8)?.to_owned(),
    })
}

/// Whether git sees changes. Nothing of the repository is run for it: where its own settings name
/// programs, or files that could, git is not asked.
fn has_changes(folder: &Path, git: &Path) -> bool {
    if names_programs(git) {
        return false;
    }
    let child = Command::new("git")
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain"])
        .args(["--ignore-submodules=all", "--untracked-files=normal"])
        .current_dir(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let Some(mut output) = child.stdout.take() else { return false };
    // One byte is enough to know, and it ends git soon: its next write fails.
    let reader = std::thread::spawn(move || {
        let mut byte = [0];
        std::io::Read::read(&mut output, &mut byte).is_ok_and(|count| count > 0)
    });
    let started = Instant::now();
    while !reader.is_finished() && started.elapsed() < PATIENCE {
        std::thread::sleep(LOOK);
    }
    // Done or not, it is not needed any more; that it is gone already is no mistake.
    let _ = child.kill();
    let _ = child.wait();
    reader.join().unwrap_or(false) && started.elapsed() < PATIENCE
}

/// Filters, includes and the like in the repository's own settings.
fn names_programs(git: &Path) -> bool {
    let common = std::fs::read_to_string(git.join("commondir"))
        .map_or_else(|_| git.to_owned(), |text| git.join(text.trim()));
    [common.join("config"), common.join("config.worktree"), git.join("config.worktree")]
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .any(|text| {
            let text = text.to_lowercase();
            ["filter", "include", "fsmonitor", "process", "command", "textconv"]
                .iter()
                .any(|word| text.contains(word))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn u1_the_branch_is_found_from_below_and_in_worktrees() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "repo/.git/HEAD", "ref: refs/heads/feature/x\n");
        write(folder.path(), "repo/src/a", "");
        write(folder.path(), "tree/.git", "gitdir: ../repo/.git/worktrees/tree\n");
        write(folder.path(), "repo/.git/worktrees/tree/HEAD", "0123456789abcdef\n");
        let branch = |path: &str| shown(&folder.path().join(path));
        assert_eq!(branch("repo/src").as_deref(), Some("feature/x"));
        assert_eq!(branch("tree").as_deref(), Some("01234567"));
    }

    #[test]
    fn u1_a_star_says_that_something_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            Command::new("git")
                .args(["-c", "user.name=n", "-c", "user.email=e@x.io"])
                .args(arguments)
                .current_dir(folder.path())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .stdout(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        };
        if !git(&["init", "-q", "-b", "main"]) {
            return println!("skipped: there is no git here");
        }
        let shown = || shown(folder.path());
        assert_eq!(shown().as_deref(), Some("main"));
        write(folder.path(), "a", "one");
        assert_eq!(shown().as_deref(), Some("main*"), "a new file");
        assert!(git(&["add", "a"]) && git(&["commit", "-q", "-m", "x"]));
        assert_eq!(shown().as_deref(), Some("main"));
        write(folder.path(), "a", "another");
        assert_eq!(shown().as_deref(), Some("main*"), "a change");
        // A repository that comes with programs of its own is not asked.
        let ran = folder.path().join("ran");
        let filter = format!("touch {}; cat", ran.display());
        assert!(git(&["config", "filter.x.clean", &filter]));
        write(folder.path(), ".gitattributes", "* filter=x\n");
        write(folder.path(), "a", "a third");
        assert_eq!(shown().as_deref(), Some("main"));
        assert!(!ran.exists());
    }
}
