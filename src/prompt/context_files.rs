//! Finds and reads the standing instructions of a person and a project (SPEC X5): `AGENTS.md`, else
//! `CLAUDE.md`, in the person's folder and from the repository's root down to the session's folder.
//!
//! Reads only; whatever cannot be read is told, never fatal.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::system::Instructions;

/// The names that count, the first that is there wins in each folder.
pub const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Most bytes of one file: beyond it instructions crowd out the work.
const MAX_FILE_BYTES: usize = 32 * 1024;

/// Most bytes of all files together.
const MAX_TOTAL_BYTES: usize = 96 * 1024;

/// Reads all instructions that apply in `cwd`, general ones first, and what to tell the person.
#[must_use]
pub fn read_instructions(user_folder: &Path, cwd: &Path) -> (Vec<Instructions>, Vec<String>) {
    let mut found = Vec::new();
    let mut notices = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut room = MAX_TOTAL_BYTES;
    let top = folders(cwd).next().unwrap_or(cwd);
    let top = top.canonicalize().unwrap_or_else(|_| top.into());
    let own = file_in(user_folder).and_then(|own| own.canonicalize().ok());
    for folder in std::iter::once(user_folder).chain(folders(cwd)) {
        let Some(path) = file_in(folder) else { continue };
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        // Whoever wrote a project must not choose which of the person's files a model gets to read.
        if folder != user_folder && !real.starts_with(&top) && Some(&real) != own.as_ref() {
            let (path, real) = (path.display(), real.display());
            notices.push(format!("{path} is not read: it leads out of the project, to {real}"));
            continue;
        }
        if seen.contains(&real) {
            continue;
        }
        seen.push(real);
        match read(&path, MAX_FILE_BYTES.min(room)) {
            Ok((text, is_whole)) => {
                room -= text.len().min(room);
                let mut text = text.trim().to_owned();
                if !is_whole {
                    notices.push(format!(
                        "{} is long: only its first {} KiB are instructions",
                        path.display(),
                        text.len().div_ceil(1024)
                    ));
                    text.push_str("\n[the rest of this file was left out]");
                }
                if !text.is_empty() {
                    found.push(Instructions { path: path.display().to_string(), text });
                }
            }
            Err(error) => notices.push(format!("{} cannot be read: {error}", path.display())),
        }
    }
    (found, notices)
}

/// The folders from the repository's root down to `cwd`; outside of a repository only `cwd`.
fn folders(cwd: &Path) -> impl Iterator<Item = &Path> {
    let depth = cwd.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or_default();
    let mut folders: Vec<&Path> = cwd.ancestors().take(depth + 1).collect();
    folders.reverse();
    folders.into_iter()
}

fn file_in(folder: &Path) -> Option<PathBuf> {
    // Only files: opening anything else may hang.
    NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// The text of a file, up to `limit` bytes and then whole lines, and whether that is all of it.
fn read(path: &Path, limit: usize) -> std::io::Result<(String, bool)> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    let is_whole = bytes.len() <= limit;
    if !is_whole {
        bytes.truncate(limit);
        let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
        bytes.truncate(end);
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok((text.trim_start_matches('\u{feff}').to_owned(), is_whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn texts(root: &tempfile::TempDir, cwd: &str) -> Vec<String> {
        let (found, notices) =
            read_instructions(&root.path().join("config"), &root.path().join(cwd));
        assert_eq!(notices, [""; 0]);
        found.into_iter().map(|file| file.text).collect()
    }

    #[test]
    fn x5_instructions_go_from_general_to_particular() {
        let root = machine(&[
            ("config/AGENTS.md", "global\n"),
            ("AGENTS.md", "above the repository"),
            ("shop/.git/HEAD", ""),
            ("shop/AGENTS.md", "shop"),
            ("shop/CLAUDE.md", "not this one"),
            ("shop/api/CLAUDE.md", "api"),
            ("shop/api/src/main.rs", ""),
            ("shop/web/AGENTS.md", "not on the way"),
        ]);
        assert_eq!(texts(&root, "shop/api/src"), ["global", "shop", "api"]);
        assert_eq!(texts(&root, "shop"), ["global", "shop"]);
    }

    #[test]
    fn x5_outside_of_a_repository_only_the_folder_counts() {
        let root = machine(&[("AGENTS.md", "above"), ("notes/AGENTS.md", "notes")]);
        assert_eq!(texts(&root, "notes"), ["notes"]);
    }

    #[test]
    fn x5_one_file_under_two_names_is_said_once() {
        let root = machine(&[("config/AGENTS.md", "one"), ("config/.git/HEAD", "")]);
        assert_eq!(texts(&root, "config"), ["one"]);
    }

    #[test]
    fn g2_a_project_cannot_have_other_files_of_the_person_read() {
        use std::os::unix::fs::symlink;
        let root = machine(&[
            ("config/AGENTS.md", "global"),
            ("config/auth.json", "key"),
            ("id_rsa", "secret"),
            ("shop/.git/HEAD", ""),
            ("shop/docs/rules.md", "rules"),
            ("shop/api/src/main.rs", ""),
            ("shop/web/src/main.rs", ""),
        ]);
        symlink("../id_rsa", root.path().join("shop/AGENTS.md")).unwrap();
        symlink("../../config/auth.json", root.path().join("shop/web/AGENTS.md")).unwrap();
        let web = read_instructions(&root.path().join("config"), &root.path().join("shop/web"));
        assert_eq!((web.0.len(), web.1.len()), (1, 2), "{web:?}");
        symlink("../docs/rules.md", root.path().join("shop/api/AGENTS.md")).unwrap();
        let cwd = root.path().join("shop/api");
        let (found, notices) = read_instructions(&root.path().join("config"), &cwd);
        let texts: Vec<_> = found.iter().map(|file| file.text.as_str()).collect();
        assert_eq!(texts, ["global", "rules"]);
        assert!(
            notices[0].contains("leads out of the project") && notices.len() == 1,
            "{notices:?}"
        );
        // The person's own folder may link to wherever the person keeps such files.
        fs::remove_file(root.path().join("config/AGENTS.md")).unwrap();
        symlink("../id_rsa", root.path().join("config/AGENTS.md")).unwrap();
        let (found, _) = read_instructions(&root.path().join("config"), &cwd);
        assert_eq!(found[0].text, "secret");
    }

    #[test]
    fn x5_long_files_are_cut_at_a_line_and_told() {
        let root = machine(&[("AGENTS.md", &"규칙을 지킨다\n".repeat(5_000))]);
        let (found, notices) = read_instructions(&root.path().join("config"), root.path());
        assert!(found[0].text.len() < MAX_FILE_BYTES + 100);
        assert!(found[0].text.ends_with("규칙을 지킨다\n[the rest of this file was left out]"));
        assert!(
            notices[0].ends_with("is long: only its first 32 KiB are instructions"),
            "{notices:?}"
        );
    }

    #[test]
    fn x5_all_files_together_are_bounded() {
        let long = "x\n".repeat(20_000);
        let root = machine(&[
            (".git/HEAD", ""),
            ("AGENTS.md", &long),
            ("a/AGENTS.md", &long),
            ("a/b/AGENTS.md", &long),
            ("a/b/c/AGENTS.md", &long),
        ]);
        let (found, _) = read_instructions(&root.path().join("config"), &root.path().join("a/b/c"));
        let total: usize = found.iter().map(|file| file.text.len()).sum();
        assert!(total <= MAX_TOTAL_BYTES + 400, "{total}");
    }

    #[cfg(unix)]
    #[test]
    fn f79_a_pipe_under_the_name_is_never_opened() {
        let root = machine(&[("CLAUDE.md", "text")]);
        let made = std::process::Command::new("mkfifo").arg(root.path().join("AGENTS.md")).status();
        assert!(made.unwrap().success());
        assert_eq!(texts(&root, "."), ["text"]);
    }
}
