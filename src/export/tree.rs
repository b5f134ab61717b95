//! `regrow tree`: the tree of a session as text, as `/tree` would show it, or as JSON Lines.

use std::cell::RefCell;
use std::io::{self, Write};

use serde::Serialize;

use crate::ids::{EntryId, Timestamp};
use crate::message::Message;
use crate::session::entry::EntryBody;
use crate::session::reader::SessionReader;
use crate::session::tree::{Node, NodeIndex, NodeKind, SessionTree};
use crate::tui::overlay::tree::bodies::{Bodies, answer_of};
use crate::tui::overlay::tree::filter::{Filter, only_calls};
use crate::tui::overlay::tree::outline::Outline;
use crate::tui::overlay::tree::paint::{Painter, entries};
use crate::tui::overlay::tree::rows::{Folds, Rows};
use crate::tui::theme::Theme;

/// How the text of a tree is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeText {
    /// Columns of a line.
    pub columns: usize,
    /// The time from which ages are counted.
    pub now: Timestamp,
    /// What of the branches that were left is written.
    pub branches: Branches,
}

/// See [`TreeText::branches`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Branches {
    /// One line for each, as `/tree` has it when it opens.
    #[default]
    Folded,
    /// Everything.
    Unfolded,
}

/// Writes the tree as text.
///
/// # Errors
/// The sink failed. Bodies that cannot be read cost their lines a few words, nothing else.
pub fn write_tree_text(
    reader: &SessionReader,
    how: &TreeText,
    out: &mut dyn Write,
) -> io::Result<()> {
    // A copy, so that bodies can be read without asking twice for the lock.
    let tree = reader.tree().clone();
    let outline = Outline::new(&tree);
    let mut rows = Rows::new(&tree, &outline, Filter::Default, &Folds::new());
    if how.branches == Branches::Unfolded {
        rows.unfold_all();
    }
    let name = tree.name().map(|name| format!("{name} · ")).unwrap_or_default();
    writeln!(out, "{name}{}, {} branches", entries(outline.counted()), rows.branches())?;
    let bodies = RefCell::new(Bodies::default());
    let subject = |result: NodeIndex| subject(&tree, reader, &bodies, result);
    let painter = Painter {
        tree: &tree,
        outline: &outline,
        rows: &rows,
        theme: &Theme::dark(),
        now: how.now,
        zone: None,
        subject: &subject,
        hits: &|_| Vec::new(),
        marked: None,
    };
    for line in rows.lines() {
        writeln!(out, "{}", painter.line(line, how.columns).to_string().trim_end())?;
    }
    Ok(())
}

/// What a call was about; reads the answer that made it, once for all its calls.
fn subject(
    tree: &SessionTree,
    reader: &SessionReader,
    bodies: &RefCell<Bodies>,
    result: NodeIndex,
) -> Option<String> {
    let (answer, number) = answer_of(tree, result)?;
    if number == 0 && only_calls(tree, answer).is_some() {
        return None;
    }
    let mut bodies = bodies.borrow_mut();
    if !bodies.knows_calls(answer)
        && let Ok(entry) = reader.entry(answer)
    {
        bodies.add(&[(answer, entry)]);
    }
    bodies.subject(tree, result)
}

/// An entry as `regrow tree --json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeLine {
    /// Its id.
    pub id: EntryId,
    /// Its parent.
    pub parent_id: Option<EntryId>,
    /// As in the file (J3).
    #[serde(rename = "type")]
    pub kind: String,
    /// Of messages (J4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When it was made.
    pub timestamp: Timestamp,
    /// A few words of it.
    pub preview: String,
    /// Whether it is on the active path.
    pub on_path: bool,
    /// Whether it is the leaf.
    pub leaf: bool,
}

/// All entries in file order. Parents are those that the tree has: an entry whose parent is missing
/// has none.
pub fn tree_lines(reader: &SessionReader, mut each: impl FnMut(TreeLine)) {
    // A copy, so that bodies can be read without asking twice for the lock.
    let tree = reader.tree().clone();
    let outline = Outline::new(&tree);
    for (index, node) in tree.nodes() {
        let known = !matches!(node.kind, NodeKind::Unknown);
        each(TreeLine {
            id: node.id.clone(),
            parent_id: tree.parent(index).map(|parent| tree.node(parent).id.clone()),
            kind: type_of(node).to_owned(),
            role: role_of(reader, index, node),
            timestamp: node.timestamp,
            preview: if known { node.preview.to_string() } else { String::new() },
            on_path: outline.on_path(index),
            leaf: tree.leaf() == Some(index),
        });
    }
}

/// Writes all entries, one JSON object a line.
///
/// # Errors
/// The sink failed.
pub fn write_tree_json(reader: &SessionReader, out: &mut dyn Write) -> io::Result<()> {
    let mut written = Ok(());
    tree_lines(reader, |line| {
        if written.is_ok() {
            written = serde_json::to_writer(&mut *out, &line)
                .map_err(io::Error::from)
                .and_then(|()| out.write_all(b"\n"));
        }
    });
    written
}

/// The `type` of an entry in the file (J3).
fn type_of(node: &Node) -> &str {
    match &node.kind {
        NodeKind::User
        | NodeKind::Assistant(_)
        | NodeKind::ToolResult { .. }
        | NodeKind::BashExecution { .. }
        | NodeKind::Custom { entry: false, .. }
        | NodeKind::BranchSummary { from: None }
        | NodeKind::CompactionSummary
        | NodeKind::OtherMessage => "message",
        NodeKind::Custom { entry: true, .. } => "custom_message",
        NodeKind::BranchSummary { from: Some(_) } => "branch_summary",
        NodeKind::ModelChange(_) => "model_change",
        NodeKind::ThinkingLevelChange(_) => "thinking_level_change",
        NodeKind::Compaction { .. } => "compaction",
        NodeKind::LeafMark | NodeKind::CustomData => "custom",
        NodeKind::Label { .. } => "label",
        NodeKind::SessionInfo { .. } => "session_info",
        // The preview of an unknown kind is its type.
        NodeKind::Unknown => &node.preview,
    }
}

/// The `role` of a message (J4). Of rare ones only the body knows it.
fn role_of(reader: &SessionReader, index: NodeIndex, node: &Node) -> Option<String> {
    let role = match &node.kind {
        NodeKind::User => "user",
        NodeKind::Assistant(_) => "assistant",
        NodeKind::ToolResult { .. } => "toolResult",
        NodeKind::BashExecution { .. } => "bashExecution",
        NodeKind::BranchSummary { from: None } => "branchSummary",
        NodeKind::CompactionSummary => "compactionSummary",
        NodeKind::Custom { entry: false, .. } | NodeKind::OtherMessage => {
            let entry = reader.entry(index).ok()?;
            let EntryBody::Message { message } = &entry.body else { return None };
            return role_of_message(message);
        }
        _ => return None,
    };
    Some(role.to_owned())
}

fn role_of_message(message: &Message) -> Option<String> {
    let value = serde_json::to_value(message).ok()?;
    value.get("role")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::RwLock;

    use serde_json::{Value, json};

    use super::*;
    use crate::compaction::tokens::Estimator;
    use crate::session::describe::describe;
    use crate::session::entry::SessionEntry;
    use crate::session::reader::Lines;
    use crate::session::tree::LineSpan;

    struct Memory(Vec<Vec<u8>>);

    impl Lines for Memory {
        fn read(&self, span: LineSpan) -> io::Result<Vec<u8>> {
            Ok(self.0[span.offset as usize].clone())
        }
    }

    fn reader(entries: &[Value]) -> SessionReader {
        let mut tree = SessionTree::new();
        let mut lines = Vec::new();
        for entry in entries {
            let mut entry = entry.clone();
            entry["timestamp"] = json!("2026-01-14T15:00:00.000Z");
            let span = LineSpan { offset: lines.len() as u64, len: 0 };
            lines.push(entry.to_string().into_bytes());
            let entry: SessionEntry = serde_json::from_value(entry).unwrap();
            let parent = entry.parent_id.as_ref().and_then(|parent| tree.find(parent));
            let index = tree.insert(describe(&entry, Estimator::ScriptAware, span), parent);
            tree.set_leaf(Some(index));
        }
        SessionReader::new(Arc::new(RwLock::new(tree)), Arc::new(Memory(lines)))
    }

    fn session() -> SessionReader {
        let message = |id: &str, parent: &str, message: Value| json!({"type": "message", "id": id, "parentId": parent, "message": message});
        let call = json!({"type": "toolCall", "id": "c", "name": "read",
                          "arguments": {"path": "src/한국어.rs"}});
        reader(&[
            message("u1", "", json!({"role": "user", "content": "Start"})),
            message(
                "a1",
                "u1",
                json!({"role": "assistant",
                "content": [{"type": "text", "text": "I look"}, call]}),
            ),
            message(
                "r1",
                "a1",
                json!({"role": "toolResult", "toolCallId": "c",
                "toolName": "read", "content": "text"}),
            ),
            message("h1", "r1", json!({"role": "custom", "customType": "x", "content": "n"})),
            message("u2", "u1", json!({"role": "user", "content": "Another way"})),
            json!({"type": "label", "id": "l1", "parentId": "u2", "targetId": "u2", "label": "b"}),
            json!({"type": "later", "id": "z1", "parentId": "gone"}),
            json!({"type": "custom", "customType": "regrow.leaf", "id": "m1", "parentId": "u2"}),
        ])
    }

    fn text(branches: Branches) -> String {
        let now = Timestamp::parse("2026-01-14T17:00:00.000Z").unwrap();
        let mut out = Vec::new();
        let how = TreeText { columns: 60, now, branches };
        write_tree_text(&session(), &how, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn u5_the_tree_as_text() {
        insta::assert_snapshot!("tree_folded", text(Branches::Folded));
        insta::assert_snapshot!("tree_unfolded", text(Branches::Unfolded));
    }

    #[test]
    fn u5_the_tree_as_json_lines() {
        let mut out = Vec::new();
        write_tree_json(&session(), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
