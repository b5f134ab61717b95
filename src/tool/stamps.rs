//! What the agent last saw of each file, so that it does not change what it has not seen: an
//! editor, a formatter or another agent may be at work beside it.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Shared by the tools of one session; keys are real paths, links resolved.
#[derive(Clone, Default)]
pub struct FileStamps {
    seen: Arc<Mutex<HashMap<PathBuf, Stamp>>>,
}

/// A file as it was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
    /// `None` when the file was not read to its end.
    hash: Option<u64>,
}

impl Stamp {
    /// Of a file of which only a part was read, or whose hash was made along the way.
    pub(crate) fn new(metadata: &Metadata, hash: Option<u64>) -> Self {
        Self { modified: metadata.modified().ok(), len: metadata.len(), hash }
    }

    /// Of a file whose whole content is at hand.
    pub(crate) fn of(metadata: &Metadata, content: &[u8]) -> Self {
        let mut hash = ContentHash::default();
        hash.update(content);
        Self { len: content.len() as u64, ..Self::new(metadata, Some(hash.value())) }
    }

    /// Whether both may be the same content. Times decide only where a hash is missing: tools that
    /// write the same bytes again change nothing.
    fn agrees_with(&self, now: &Self) -> bool {
        match (self.hash, now.hash) {
            (Some(then), Some(now_hash)) => then == now_hash && self.len == now.len,
            _ => self.len == now.len && self.modified == now.modified,
        }
    }
}

impl FileStamps {
    /// An empty record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers what a file looks like now.
    pub(crate) fn record(&self, path: &Path, stamp: Stamp) {
        self.lock().insert(real(path), stamp);
    }

    /// Whether the agent has seen this file in another state than it is in now.
    pub(crate) fn is_stale(&self, path: &Path, now: &Stamp) -> bool {
        self.lock().get(&real(path)).is_some_and(|seen| !seen.agrees_with(now))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Stamp>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// FNV-1a over eight bytes at a time: quick, the same however the content is cut, and good enough to
/// tell two states of one file apart.
pub(crate) struct ContentHash {
    state: u64,
    rest: [u8; 8],
    filled: usize,
}

impl Default for ContentHash {
    fn default() -> Self {
        Self { state: 0xcbf2_9ce4_8422_2325, rest: [0; 8], filled: 0 }
    }
}

impl ContentHash {
    /// Takes more of the content.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while self.filled > 0 && !bytes.is_empty() {
            self.rest[self.filled] = bytes[0];
            self.filled = (self.filled + 1) % 8;
            bytes = &bytes[1..];
            if self.filled == 0 {
                self.mix(u64::from_le_bytes(self.rest));
            }
        }
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        self.rest[..rest.len()].copy_from_slice(rest);
        if !rest.is_empty() {
            self.filled = rest.len();
        }
    }

    /// The hash of all that was taken.
    pub(crate) fn value(mut self) -> u64 {
        for index in 0..self.filled {
            self.mix(u64::from(self.rest[index]) | 0x100);
        }
        self.state
    }

    fn mix(&mut self, word: u64) {
        self.state = (self.state ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(pieces: &[&[u8]]) -> u64 {
        let mut hash = ContentHash::default();
        pieces.iter().for_each(|piece| hash.update(piece));
        hash.value()
    }

    #[test]
    fn a_hash_does_not_depend_on_how_the_content_was_cut() {
        let content = b"the quick brown fox jumps over the lazy dog";
        for cut in 0..content.len() {
            for second in cut..content.len() {
                let pieces = [&content[..cut], &content[cut..second], &content[second..]];
                assert_eq!(hash(&pieces), hash(&[content]));
            }
        }
        assert_ne!(hash(&[b"a"]), hash(&[b"b"]));
        assert_ne!(hash(&[b"a"]), hash(&[b"a\0"]));
    }

    #[test]
    fn a_file_is_stale_when_its_content_changed_not_when_its_time_did() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "one").unwrap();
        let stamps = FileStamps::new();
        let stamp =
            |content: &str| Stamp::of(&std::fs::metadata(&path).unwrap(), content.as_bytes());
        assert!(!stamps.is_stale(&path, &stamp("one")), "never seen");
        stamps.record(&path, stamp("one"));
        std::fs::write(&path, "one").unwrap();
        assert!(!stamps.is_stale(&path, &stamp("one")));
        std::fs::write(&path, "two").unwrap();
        assert!(stamps.is_stale(&path, &stamp("two")));
    }
}
