//! Finding the file that a model means: names that were shown lossily are found again, and a name
//! that does not exist brings the nearest ones.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::{ToolContext, ToolError};

/// The names under which models give a path.
pub(crate) const PATH: &[&str] = &["path", "file_path", "filePath"];

/// Names that a message offers instead of a wrong one.
const MOST_OFFERED: usize = 3;

/// Entries of a directory that are looked at for a near name.
const MOST_COMPARED: usize = 2_000;

/// A path from arguments. Names that are not UTF-8 are shown with `�`; giving such a name back finds
/// the file (F98).
pub(crate) fn existing(cx: &ToolContext, path: &str) -> PathBuf {
    let resolved = cx.resolve(path);
    if !path.contains('\u{fffd}') || resolved.exists() {
        return resolved;
    }
    let mut found = PathBuf::new();
    for part in resolved.components() {
        let shown = part.as_os_str().to_string_lossy();
        let real = shown.contains('\u{fffd}').then(|| {
            let entries = std::fs::read_dir(&found).ok()?;
            entries
                .flatten()
                .map(|entry| entry.file_name())
                .find(|name| name.to_string_lossy() == shown)
        });
        match real.flatten() {
            Some(name) => found.push(name),
            None => found.push(part),
        }
    }
    found
}

/// Opens an ordinary file for reading and nothing else: opening a FIFO or reading a device can hang.
/// The kind is looked at before and after, in case another thing takes the file's place.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let ordinary = |metadata: std::fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::Unsupported, "it is not an ordinary file")),
    };
    ordinary(std::fs::metadata(path)?)?;
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(nonblocking).open(path)?;
    ordinary(file.metadata()?)?;
    Ok(file)
}

/// A sentence for a path that is not there, with names that are near it.
pub(crate) fn not_found(path: &Path, cwd: &Path) -> ToolError {
    let shown = shown(path, cwd);
    let mut parent = path.parent().unwrap_or(Path::new("/"));
    if !parent.is_dir() {
        while !parent.is_dir() {
            parent = parent.parent().unwrap_or(Path::new("/"));
        }
        let nearest = self::shown(parent, cwd);
        return ToolError::new(format!("{shown} does not exist; the path exists up to {nearest}"));
    }
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let offered = near(parent, &name);
    let hint = match offered.as_slice() {
        [] => String::new(),
        names => format!("; near it: {}", names.join(", ")),
    };
    ToolError::new(format!("{shown} does not exist{hint}"))
}

fn near(parent: &Path, name: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let names: Vec<String> = entries
        .flatten()
        .take(MOST_COMPARED)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
    similar::get_close_matches(name, &candidates, MOST_OFFERED, 0.6)
        .into_iter()
        .map(ToOwned::to_owned)
        .collect()
}

/// A path as messages show it: relative to the session's folder where it lies inside.
pub(crate) fn shown(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}
