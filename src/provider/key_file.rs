//! `auth.json`: keys that were stored with `regrow login` (P3). Readable by its owner only; written whole
//! to a temporary file first, so that a key is never half there.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::secret::Secret;
use crate::whole_file::WholeFile;

/// The keys of one file.
#[derive(Debug, Default)]
pub struct KeyFile {
    path: Option<PathBuf>,
    /// Whatever the file holds: entries of other kinds stay as they are.
    content: Map<String, Value>,
}

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// Reading or writing failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// It is no JSON object. The message holds nothing of its content.
    #[error("{}: not a JSON object of keys by provider (line {line}); correct or remove it", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Where the mistake is.
        line: usize,
    },
    /// There is no place to store keys in.
    #[error("no folder for auth.json is known; set HOME or XDG_DATA_HOME")]
    NoPlace,
}

impl KeyFile {
    /// Reads the file; one that is missing holds no keys.
    ///
    /// # Errors
    /// When it exists but cannot be read.
    pub fn open(path: Option<&Path>) -> Result<Self, KeyFileError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let content = match std::fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| KeyFileError::Format {
                path: path.to_owned(),
                line: error.line(),
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
            Err(source) => return Err(KeyFileError::Io { path: path.to_owned(), source }),
        };
        Ok(Self { path: Some(path.to_owned()), content })
    }

    /// The key of a provider.
    #[must_use]
    pub fn key(&self, provider: &str) -> Option<Secret> {
        let entry = self.content.get(provider)?;
        Secret::new(entry.as_str().or_else(|| entry.get("key")?.as_str())?)
    }

    /// Whether others than its owner can read the file.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let metadata = self.path.as_ref().and_then(|path| std::fs::metadata(path).ok());
        metadata.is_some_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    }

    /// Stores a key, or removes it.
    ///
    /// # Errors
    /// When the file cannot be written; it is as before then.
    pub fn set(&mut self, provider: &str, key: Option<&Secret>) -> Result<(), KeyFileError> {
        let path = self.path.clone().ok_or(KeyFileError::NoPlace)?;
        let mut content = self.content.clone();
        match key {
            Some(key) => {
                let entry = json!({"type": "api_key", "key": key.expose()});
                content.insert(provider.to_owned(), entry);
            }
            None => {
                content.remove(provider);
            }
        }
        write_private(&path, &content).map_err(|source| KeyFileError::Io { path, source })?;
        self.content = content;
        Ok(())
    }
}

fn write_private(path: &Path, content: &Map<String, Value>) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = WholeFile::begin(path)?;
    serde_json::to_writer_pretty(&mut file, content)?;
    file.write_all(b"\n")?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn p3_keys_are_kept_where_only_the_owner_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/auth.json");
        let mut keys = KeyFile::open(Some(&path)).unwrap();
        assert_eq!(keys.key("acme"), None);
        keys.set("acme", Secret::new("k1").as_ref()).unwrap();
        keys.set("other", Secret::new("k2").as_ref()).unwrap();
        keys.set("other", None).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = KeyFile::open(Some(&path)).unwrap();
        assert_eq!(again.key("acme"), Secret::new("k1"));
        assert_eq!((again.key("other"), again.is_exposed()), (None, false));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(again.is_exposed());
    }

    #[test]
    fn p3_a_broken_file_is_named_without_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        std::fs::write(&path, "{\n\"acme\": sk-secret123456}").unwrap();
        let error = KeyFile::open(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn p3_entries_of_other_agents_are_understood_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        std::fs::write(&path, r#"{"a": "k", "b": {"type": "oauth", "refresh": "r"}}"#).unwrap();
        let mut keys = KeyFile::open(Some(&path)).unwrap();
        assert_eq!((keys.key("a"), keys.key("b")), (Secret::new("k"), None));
        keys.set("c", Secret::new("x").as_ref()).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("refresh"));
    }
}
