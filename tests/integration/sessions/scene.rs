//! A folder with one session file, written by hand, and words for what is in it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use regrow::compaction::tokens::Estimator;
use regrow::ids::{Stamper, Timestamp};
use regrow::message::{Content, Message, UserMessage};
use regrow::session::entry::{EntryBody, SessionHeader};
use regrow::session::store::{Access, Opened, SessionStore, StoreError};
use regrow::session::tree::NodeIndex;

pub(super) const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-14T15:00:37.013Z","cwd":"/w"}"#;

/// Ids in a row, time at a stand.
#[derive(Default)]
pub(super) struct Fixed(AtomicU32);

impl Stamper for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_768_402_837_013)
    }
    fn entry_bits(&self) -> u32 {
        0xf000_0000 + self.0.fetch_add(1, Ordering::Relaxed)
    }
    fn session_id(&self) -> String {
        format!("new-{}", self.entry_bits())
    }
}

/// A user message as a line; `parent` is JSON.
pub(super) fn line(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-14T15:00:37.013Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
    )
}

pub(super) fn user(text: &str) -> EntryBody {
    let content = Content::Text(text.to_owned());
    EntryBody::Message { message: Message::User(UserMessage { content, timestamp: 1 }) }
}

pub(super) fn header() -> SessionHeader {
    serde_json::from_str(HEADER).unwrap()
}

pub(super) struct Scene {
    pub(super) dir: tempfile::TempDir,
    pub(super) path: PathBuf,
    pub(super) ids: Fixed,
}

impl Scene {
    pub(super) fn new(content: impl AsRef<[u8]>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, content).unwrap();
        Self { dir, path, ids: Fixed::default() }
    }

    pub(super) fn open(&self, access: Access) -> Result<Opened, StoreError> {
        SessionStore::open(&self.path, access, Estimator::default())
    }

    pub(super) fn write(&self) -> Opened {
        self.open(Access::Write).unwrap()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    pub(super) fn beside(&self, suffix: &str) -> Option<Vec<u8>> {
        std::fs::read(self.dir.path().join(format!("s.jsonl.{suffix}"))).ok()
    }
}

/// The tree as `id<parent` in file order, roots with a lost parent marked with `?`.
pub(super) fn shape(store: &SessionStore) -> String {
    let tree = store.reader().tree();
    let words = tree.nodes().map(|(index, node)| match tree.parent(index) {
        Some(parent) => format!("{}<{}", node.id, tree.node(parent).id),
        None if tree.is_orphan(index) => format!("{}?", node.id),
        None => node.id.to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The texts of the user messages on the path to the leaf.
pub(super) fn said(store: &SessionStore) -> Vec<String> {
    let path = store.reader().tree().active_path();
    said_by(store, &path)
}

pub(super) fn said_by(store: &SessionStore, nodes: &[NodeIndex]) -> Vec<String> {
    let (messages, problems) = store.reader().messages(nodes);
    assert_eq!(problems, [""; 0]);
    messages
        .iter()
        .map(|(_, message)| match &**message {
            Message::User(user) => user.content.text(),
            other => format!("{other:?}"),
        })
        .collect()
}

/// The names in a folder, sorted.
pub(super) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
