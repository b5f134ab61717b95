//! Putting new content into a file so that nobody ever sees half of it (F78, I14): a temporary file
//! in the same directory, then a rename. Links are followed first, the mode is kept.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::ToolError;
use super::truncate::Bytes;
use crate::whole_file::unfinished_in;

/// Most symbolic links that are followed to a file.
const LONGEST_CHAIN: usize = 40;

/// The file that a path stands for, symbolic links followed; the last one need not exist.
///
/// # Errors
/// The links run in a circle, or one cannot be read.
pub(crate) fn follow_links(path: &Path) -> Result<PathBuf, ToolError> {
    let mut target = path.to_path_buf();
    for _ in 0..LONGEST_CHAIN {
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => {
                let link = fs::read_link(&target)
                    .map_err(|error| failed(&target, "reading the symbolic link failed", &error))?;
                let parent = target.parent().unwrap_or(Path::new("/"));
                target = parent.join(link);
            }
            _ => return Ok(target),
        }
    }
    Err(ToolError::new(format!("{}: its symbolic links run in a circle", path.display())))
}

/// Refuses what is not an ordinary file, or may not be written; `None` for a file that is not there.
///
/// # Errors
/// A directory, FIFO, socket or device; a file without write permission.
pub(crate) fn writable(target: &Path) -> Result<Option<Metadata>, ToolError> {
    let metadata = match fs::metadata(target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(target, "it cannot be looked at", &error)),
    };
    if !metadata.is_file() {
        let kind = kind_of(&metadata);
        return Err(ToolError::new(format!("{} is {kind}, not a file", target.display())));
    }
    if rustix::fs::access(target, rustix::fs::Access::WRITE_OK).is_err() {
        return Err(ToolError::new(format!(
            "{} is read-only; nothing was written. Change its permissions first if it is meant to \
             be changed",
            target.display()
        )));
    }
    Ok(Some(metadata))
}

/// What a directory entry is, with its article.
pub(crate) fn kind_of(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a FIFO (named pipe)",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "a file",
    }
}

/// Replaces a file's content, or makes the file and its directories. `target` has its links
/// resolved, `existing` is what [`writable`] said of it.
///
/// # Errors
/// What the file system said; the old content is then still there.
pub(crate) fn replace(
    target: &Path,
    existing: Option<&Metadata>,
    content: &[u8],
) -> Result<(), ToolError> {
    let size = Bytes(content.len() as u64);
    let parent = target.parent().unwrap_or(Path::new("/"));
    let attempt = || {
        if existing.is_none() {
            fs::create_dir_all(parent)?;
        }
        match existing {
            // A rename would part the file from its other names.
            Some(metadata) if links(metadata) > 1 => overwrite(target, content),
            _ => match renamed(target, parent, existing, content) {
                // The file may be ours to write in a directory that is not.
                Err(error)
                    if existing.is_some() && error.kind() == io::ErrorKind::PermissionDenied =>
                {
                    overwrite(target, content)
                }
                result => result,
            },
        }
    };
    attempt().map_err(|error| failed(target, &format!("writing {size} failed"), &error))
}

fn renamed(
    target: &Path,
    parent: &Path,
    existing: Option<&Metadata>,
    content: &[u8],
) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    // What the process's umask makes of it, as for any new file.
    let mode = existing.is_none().then(|| fs::Permissions::from_mode(0o666));
    let mut temporary = unfinished_in(parent, mode)?;
    temporary.write_all(content)?;
    if let Some(metadata) = existing {
        keep_owner(temporary.as_file(), metadata)?;
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    temporary.as_file().sync_data()?;
    temporary.persist(target).map(|_| ()).map_err(|error| error.error)
}

/// Gives a file the owner of the one that it replaces, where that is another. Not being allowed to is
/// a reason to write into the old file instead.
fn keep_owner(file: &File, metadata: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (metadata.uid(), metadata.gid()) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()))
}

fn overwrite(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(target)?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_data()
}

fn links(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.nlink()
}

/// A sentence about a file that something failed on.
pub(crate) fn failed(path: &Path, what: &str, error: &io::Error) -> ToolError {
    ToolError::new(format!("{}: {what}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    fn put(path: &Path, content: &str) -> Result<(), ToolError> {
        let target = follow_links(path)?;
        let existing = writable(&target)?;
        replace(&target, existing.as_ref(), content.as_bytes())
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn f78_links_stay_links_and_modes_stay() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/real"), "old").unwrap();
        fs::set_permissions(root.join("sub/real"), fs::Permissions::from_mode(0o751)).unwrap();
        symlink("sub/real", root.join("inner")).unwrap();
        symlink(root.join("inner"), root.join("outer")).unwrap();
        put(&root.join("outer"), "new").unwrap();
        assert_eq!(fs::read_to_string(root.join("sub/real")).unwrap(), "new");
        assert!(root.join("outer").is_symlink() && root.join("inner").is_symlink());
        let mode = fs::metadata(root.join("sub/real")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o751);
        assert_eq!(names(&root.join("sub")), ["real"], "no temporary file stays");
    }

    #[test]
    fn f78_hard_links_do_not_part() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::write(&one, "a longer old text").unwrap();
        fs::hard_link(&one, &two).unwrap();
        put(&one, "new").unwrap();
        assert_eq!(fs::read_to_string(&two).unwrap(), "new");
        assert_eq!(fs::metadata(&one).unwrap().ino(), fs::metadata(&two).unwrap().ino());
    }

    #[test]
    fn f78_a_dangling_link_makes_its_target_and_a_circle_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        symlink("new/deep/file", dir.path().join("link")).unwrap();
        put(&dir.path().join("link"), "made").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("new/deep/file")).unwrap(), "made");
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        assert!(put(&dir.path().join("a"), "x").unwrap_err().message.contains("circle"));
    }

    #[test]
    fn f78_what_is_not_a_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(put(&fifo, "x").unwrap_err().message.contains("is a FIFO"));
        assert!(put(dir.path(), "x").unwrap_err().message.contains("is a directory"));
        fs::write(dir.path().join("file"), "").unwrap();
        let below = put(&dir.path().join("file/below"), "x").unwrap_err().message;
        assert!(below.contains("file/below"), "{below}");
        assert_eq!(names(dir.path()), ["fifo", "file"]);
    }

    #[test]
    fn f78_a_new_file_has_the_mode_that_any_new_file_gets() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("usual"), "").unwrap();
        put(&dir.path().join("ours"), "").unwrap();
        let mode = |name| fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("ours"), mode("usual"));
    }
}
