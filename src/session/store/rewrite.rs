//! Entries changed where they stand: pruning and putting back what was pruned (SPEC C9, J9).
//!
//! The one exception to appending. The lines of the changed entries are edited as JSON, so fields
//! that this version does not know stay; every other byte is copied as it is.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::Value;

use super::replace::Replacement;
use super::{SessionStore, StoreError};
use crate::session::describe::describe;
use crate::session::entry::SessionEntry;
use crate::session::reader::tidy;
use crate::session::tree::{LineSpan, Node, NodeIndex};

impl SessionStore {
    /// Replaces entries, each by one with the same id and parent.
    ///
    /// # Errors
    /// [`StoreError::Write`] and its like: then nothing has changed.
    pub fn rewrite(
        &mut self,
        changed: &BTreeMap<NodeIndex, SessionEntry>,
    ) -> Result<(), StoreError> {
        if self.is_read_only() {
            return Err(StoreError::ReadOnly);
        }
        if changed.is_empty() {
            return Ok(());
        }
        self.find_file()?;
        let Some(path) = self.path.clone().filter(|_| self.lines.has_file()) else {
            return self.rewrite_in_memory(changed);
        };
        self.flush()?;
        let failed = |source| StoreError::Write { path: path.clone(), source };
        let mut new = Replacement::begin(&path).map_err(failed)?;
        let nodes = self.write_changed(changed, &mut new).map_err(failed)?;
        let file = new.finish().map_err(failed)?;
        self.take_over(nodes, |store, len| store.lines.attach(file, len)).map_err(failed)
    }

    fn rewrite_in_memory(
        &mut self,
        changed: &BTreeMap<NodeIndex, SessionEntry>,
    ) -> Result<(), StoreError> {
        let path = self.path.clone().unwrap_or_default();
        let failed = |source| StoreError::Write { path: path.clone(), source };
        let mut bytes = Vec::new();
        let nodes = self.write_changed(changed, &mut bytes).map_err(failed)?;
        self.take_over(nodes, |store, _| {
            store.lines.replace_held(bytes);
            Ok(())
        })
        .map_err(failed)
    }

    /// Writes the whole session with the changed lines in it, and gives the new nodes.
    fn write_changed(
        &self,
        changed: &BTreeMap<NodeIndex, SessionEntry>,
        new: &mut dyn Write,
    ) -> io::Result<BTreeMap<NodeIndex, Node>> {
        let mut nodes = BTreeMap::new();
        let (mut copied, mut written) = (0, 0);
        for (&index, entry) in changed {
            let span = self.reader.tree().node(index).span;
            let line = edited(&self.reader.line(index)?, entry)?;
            self.lines.copy(copied, span.offset, new)?;
            written += span.offset - copied;
            new.write_all(line.as_bytes())?;
            let moved = LineSpan { offset: written, len: line.len() as u32 };
            nodes.insert(index, describe(entry, self.estimator, moved));
            written += line.len() as u64;
            copied = span.offset + u64::from(span.len);
        }
        self.lines.copy(copied, self.lines.end(), new)?;
        Ok(nodes)
    }

    /// Puts the new nodes into the tree and moves the others, while nobody can look.
    fn take_over(
        &mut self,
        nodes: BTreeMap<NodeIndex, Node>,
        swap: impl FnOnce(&Self, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut tree = self.reader.tree_mut();
        let (mut grown, mut shrunk) = (0, 0);
        for position in 0..tree.len() {
            let index = NodeIndex::new(position);
            let node = tree.node_mut(index);
            if let Some(new) = nodes.get(&index) {
                grown += u64::from(new.span.len);
                shrunk += u64::from(node.span.len);
                *node = new.clone();
            } else {
                node.span.offset = node.span.offset + grown - shrunk;
            }
        }
        let len = self.lines.end() + grown - shrunk;
        swap(self, len)?;
        drop(tree);
        self.reader.forget_messages();
        Ok(())
    }
}

/// The line with what differs between the entry that it holds and `entry`.
fn edited(line: &[u8], entry: &SessionEntry) -> io::Result<String> {
    let text = tidy(line);
    let mut raw: Value = serde_json::from_str(&text)?;
    let before: SessionEntry = serde_json::from_str(&text)?;
    let (before, after) = (serde_json::to_value(before)?, serde_json::to_value(entry)?);
    apply(&mut raw, &before, &after);
    Ok(raw.to_string())
}

/// Does to `raw` what was done to get from `before` to `after`. Goes as deep as JSON may be nested
/// (128 levels), not as deep as a conversation.
fn apply(raw: &mut Value, before: &Value, after: &Value) {
    if before == after {
        return;
    }
    let (Value::Object(fields), Value::Object(before), Value::Object(after)) =
        (&mut *raw, before, after)
    else {
        *raw = after.clone();
        return;
    };
    for (key, value) in after {
        match (fields.get_mut(key), before.get(key)) {
            (Some(field), Some(before)) => apply(field, before, value),
            _ if before.get(key) != Some(value) => {
                fields.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        fields.shift_remove(key);
    }
}
