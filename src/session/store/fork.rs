//! A new session out of an old one (F56): its path or its whole tree, as raw lines.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::place::{create_private_dir, file_name};
use super::{SessionStore, StoreError};
use crate::ids::{EntryId, Stamper, entry_id};
use crate::session::entry::{EntryBody, FORMAT_VERSION, LEAF_MARK, SessionEntry, SessionHeader};
use crate::session::reader::tidy;
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};
use crate::whole_file::WholeFile;

/// How much of a session a fork takes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkScope {
    /// The path to the chosen entry, and the labels on it.
    Path,
    /// Everything; the chosen entry is where it goes on.
    Whole,
}

impl SessionStore {
    /// Writes a new session into `dir`: with an id of its own, a reference to this one, and what
    /// `scope` says. `leaf` is where it goes on; `None` is the place before the first entry.
    ///
    /// # Errors
    /// [`StoreError::Write`]; then there is no new file.
    pub fn fork(
        &self,
        leaf: Option<NodeIndex>,
        scope: ForkScope,
        dir: &Path,
        stamper: &dyn Stamper,
    ) -> Result<PathBuf, StoreError> {
        let parent = self.path().map(|path| path.display().to_string());
        let header = SessionHeader {
            id: stamper.session_id(),
            timestamp: stamper.now(),
            version: self.header.version.max(FORMAT_VERSION),
            parent_session: parent.or_else(|| Some(self.header.id.clone())),
            ..self.header.clone()
        };
        let path = dir.join(file_name(&header));
        let write = || {
            create_private_dir(dir)?;
            let mut new = WholeFile::begin(&path)?;
            new.write_all(header.to_line().as_bytes())?;
            match scope {
                ForkScope::Path => self.copy_path(leaf, &mut new, stamper)?,
                ForkScope::Whole => self.copy_whole(leaf, &mut new, stamper)?,
            }
            new.finish_new()
        };
        write().map_err(|source| StoreError::Write { path: path.clone(), source })?;
        Ok(path)
    }

    fn copy_path(
        &self,
        leaf: Option<NodeIndex>,
        new: &mut impl Write,
        stamper: &dyn Stamper,
    ) -> io::Result<()> {
        let path = self.reader.tree().path(leaf);
        let mut parent: Option<EntryId> = None;
        for &index in &path {
            let line = self.reader.line(index)?;
            new.write_all(&below(line, parent.as_ref()))?;
            new.write_all(b"\n")?;
            parent = Some(self.reader.tree().node(index).id.clone());
        }
        let labels = labels_elsewhere(&self.reader.tree(), &path);
        for (target_id, label) in labels {
            let body = EntryBody::Label { target_id, label: Some(label) };
            let entry = self.stamped(parent.take(), body, stamper);
            new.write_all(entry.to_line().as_bytes())?;
            parent = Some(entry.id);
        }
        Ok(())
    }

    fn copy_whole(
        &self,
        leaf: Option<NodeIndex>,
        new: &mut impl Write,
        stamper: &dyn Stamper,
    ) -> io::Result<()> {
        self.lines.copy(self.body, self.lines.end(), new)?;
        let tree = self.reader.tree();
        let last = tree.len().checked_sub(1).map(NodeIndex::new);
        if leaf != last {
            let parent = leaf.map(|leaf| tree.node(leaf).id.clone());
            drop(tree);
            let body = EntryBody::Custom { custom_type: LEAF_MARK.to_owned(), data: None };
            let entry = self.stamped(parent, body, stamper);
            new.write_all(entry.to_line().as_bytes())?;
        }
        Ok(())
    }

    /// An entry with an id that this session does not have.
    pub(super) fn stamped(
        &self,
        parent_id: Option<EntryId>,
        body: EntryBody,
        stamper: &dyn Stamper,
    ) -> SessionEntry {
        let tree = self.reader.tree();
        let mut id = entry_id(stamper.entry_bits());
        while tree.find(&id).is_some() {
            id = entry_id(stamper.entry_bits());
        }
        SessionEntry { id, parent_id, timestamp: stamper.now(), body }
    }
}

/// The line, saying that its parent is `parent`: damage may have hung it elsewhere than it says.
fn below(line: Vec<u8>, parent: Option<&EntryId>) -> Vec<u8> {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        #[serde(borrow, default, rename = "parentId")]
        parent: Option<std::borrow::Cow<'a, str>>,
    }
    if let Ok(head) = serde_json::from_slice::<Head<'_>>(&line)
        && head.parent.as_deref() == parent.map(EntryId::as_str)
        && !line.contains(&b'\n')
    {
        return line;
    }
    match serde_json::from_str::<Map<String, Value>>(&tidy(&line)) {
        Ok(mut fields) => {
            fields.insert("parentId".to_owned(), json!(parent));
            Value::Object(fields).to_string().into_bytes()
        }
        Err(_) => line,
    }
}

/// Labels of entries of a path that were given elsewhere in the tree, or after the path's end.
fn labels_elsewhere(tree: &SessionTree, path: &[NodeIndex]) -> Vec<(EntryId, String)> {
    let mut here: HashMap<&EntryId, Option<&str>> = HashMap::new();
    for &index in path {
        if let NodeKind::Label { target, label } = &tree.node(index).kind {
            here.insert(target, label.as_deref());
        }
    }
    path.iter()
        .filter_map(|&index| {
            let label = tree.label(index)?;
            let id = &tree.node(index).id;
            (here.get(id).copied().flatten() != Some(label)).then(|| (id.clone(), label.to_owned()))
        })
        .collect()
}
