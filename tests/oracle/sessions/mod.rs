//! Session files and what a model is sent of them: kinds `session` (leaf, path, contexts, models,
//! compaction message, llm), `bashText`, `parse`, `migration`, `facts`, `fixture`.

mod contexts;
mod files;

use std::path::PathBuf;

use regrow::compaction::tokens::Estimator;
use regrow::session::store::{Access, Opened, SessionStore, StoreError};

/// A session file in a folder of its own.
struct Written {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Written {
    fn new(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session.jsonl");
        std::fs::write(&path, text).unwrap();
        Self { _dir: dir, path }
    }

    fn open(&self, access: Access) -> Result<Opened, StoreError> {
        SessionStore::open(&self.path, access, Estimator::CharsPerFour)
    }
}
