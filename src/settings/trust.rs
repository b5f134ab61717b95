//! The list of folders that the person trusts (G2): their settings may loosen safety. One small JSON
//! file, readable by its owner alone.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::whole_file::WholeFile;

#[derive(Default, Serialize, Deserialize)]
struct TrustFile {
    trusted: Vec<PathBuf>,
}

/// The list cannot be read or written; nothing is trusted then.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The disk said no.
    #[error("cannot use the list of trusted folders {}: {source}", path.display())]
    Io {
        /// The list.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// It is not what we wrote.
    #[error("the list of trusted folders {} is damaged ({source}); mend or remove it", path.display())]
    Damaged {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// Whether a folder is on the list. Links are followed first: it is the place that is trusted, not
/// one of its names.
///
/// # Errors
/// The list is there but cannot be read.
pub fn is_trusted(list: &Path, folder: &Path) -> Result<bool, TrustError> {
    Ok(read(list)?.trusted.contains(&real(folder)))
}

/// Puts a folder on the list.
///
/// # Errors
/// The list is damaged (it is not written over), or the disk said no.
pub fn trust(list: &Path, folder: &Path) -> Result<(), TrustError> {
    let mut file = read(list)?;
    let folder = real(folder);
    if file.trusted.contains(&folder) {
        return Ok(());
    }
    file.trusted.push(folder);
    write(list, &file).map_err(|source| TrustError::Io { path: list.to_owned(), source })
}

fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

fn read(list: &Path) -> Result<TrustFile, TrustError> {
    match fs::read(list) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|source| TrustError::Damaged { path: list.to_owned(), source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TrustFile::default()),
        Err(source) => Err(TrustError::Io { path: list.to_owned(), source }),
    }
}

fn write(list: &Path, file: &TrustFile) -> io::Result<()> {
    let folder = list.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut new = WholeFile::begin(list)?;
    serde_json::to_writer_pretty(&mut new, file)?;
    new.write_all(b"\n")?;
    new.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_trust_is_remembered_by_place() {
        let root = tempfile::tempdir().unwrap();
        let list = root.path().join("data/trust.json");
        let [shop, other] = ["shop", "other"].map(|name| root.path().join(name));
        fs::create_dir(&shop).unwrap();
        assert!(!is_trusted(&list, &shop).unwrap());
        trust(&list, &shop).unwrap();
        trust(&list, &shop).unwrap();
        assert!(is_trusted(&list, &root.path().join("shop/../shop")).unwrap());
        assert!(!is_trusted(&list, &other).unwrap());
        assert_eq!(read(&list).unwrap().trusted.len(), 1);
    }

    #[test]
    fn g2_a_damaged_list_trusts_nothing_and_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let list = root.path().join("trust.json");
        fs::write(&list, "{\"trusted\": [").unwrap();
        is_trusted(&list, root.path()).unwrap_err();
        trust(&list, root.path()).unwrap_err();
        assert_eq!(fs::read_to_string(&list).unwrap(), "{\"trusted\": [");
    }

    #[cfg(unix)]
    #[test]
    fn g2_the_list_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let list = root.path().join("trust.json");
        trust(&list, root.path()).unwrap();
        assert_eq!(fs::metadata(&list).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
