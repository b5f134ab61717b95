//! Bodies of entries that were read for the tree: a few of the latest, and of every answer that was
//! read the subjects of its tool calls, which its rows need.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::search::texts_of;
use crate::message::{Block, Message, ToolCall};
use crate::session::describe::{one_line, preview_of_call};
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};

/// Most bodies that are kept.
const MOST: usize = 64;

/// Most answers whose calls are remembered.
const MOST_CALLS: usize = 8_192;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    entries: HashMap<NodeIndex, Arc<SessionEntry>>,
    oldest: VecDeque<NodeIndex>,
    calls: HashMap<NodeIndex, Vec<Call>>,
    /// Asked for and not yet there. What never comes is not asked for again.
    asked: HashSet<NodeIndex>,
}

/// What a row shows of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    name: String,
    subject: String,
}

impl Bodies {
    /// Takes what was read.
    pub(crate) fn add(&mut self, entries: &[(NodeIndex, Arc<SessionEntry>)]) {
        for (index, entry) in entries {
            self.asked.remove(index);
            if let EntryBody::Message { message: Message::Assistant(answer) } = &entry.body {
                if self.calls.len() >= MOST_CALLS {
                    self.calls.clear();
                }
                let calls = answer
                    .tool_calls()
                    .map(|call| Call { name: call.name.clone(), subject: subject_of(call) });
                self.calls.insert(*index, calls.collect());
            }
            if self.entries.insert(*index, entry.clone()).is_none() {
                self.oldest.push_back(*index);
            }
        }
        while self.oldest.len() > MOST {
            if let Some(oldest) = self.oldest.pop_front() {
                self.entries.remove(&oldest);
            }
        }
    }

    /// A body, if it is at hand.
    #[must_use]
    pub(crate) fn get(&self, index: NodeIndex) -> Option<&Arc<SessionEntry>> {
        self.entries.get(&index)
    }

    /// Whether the calls of an answer are known.
    #[must_use]
    pub(crate) fn knows_calls(&self, answer: NodeIndex) -> bool {
        self.calls.contains_key(&answer)
    }

    /// What the call of a result was about.
    #[must_use]
    pub(crate) fn subject(&self, tree: &SessionTree, result: NodeIndex) -> Option<String> {
        let (answer, number) = answer_of(tree, result)?;
        let NodeKind::ToolResult { tool, .. } = &tree.node(result).kind else { return None };
        let calls = self.calls.get(&answer)?;
        // Results follow in the order of the calls; should one be missing, the name helps.
        let same = |call: &&Call| *call.name == **tool;
        let call = calls.get(number).filter(same).or_else(|| calls.iter().find(same))?;
        Some(call.subject.clone())
    }

    /// Those of `wanted` that are neither here nor on their way; they count as asked for from now on.
    pub(crate) fn ask_for(
        &mut self,
        wanted: impl IntoIterator<Item = NodeIndex>,
    ) -> Vec<NodeIndex> {
        let mut missing: Vec<NodeIndex> = wanted
            .into_iter()
            .filter(|index| !self.entries.contains_key(index) && self.asked.insert(*index))
            .collect();
        missing.sort_unstable();
        missing
    }
}

/// The call as the row shows it, without the tool's name.
fn subject_of(call: &ToolCall) -> String {
    let words = preview_of_call(&call.name, &call.arguments);
    one_line(words.strip_prefix(&call.name).unwrap_or(&words))
}

/// The answer that a tool result belongs to, and how many results stand between them.
#[must_use]
pub(crate) fn answer_of(tree: &SessionTree, result: NodeIndex) -> Option<(NodeIndex, usize)> {
    let mut number = 0;
    for above in tree.ancestors(result).skip(1) {
        match &tree.node(above).kind {
            NodeKind::ToolResult { .. } => number += 1,
            NodeKind::Assistant(_) => return Some((above, number)),
            NodeKind::Label { .. } | NodeKind::CustomData => {}
            _ => return None,
        }
    }
    None
}

/// The call of an answer that a result belongs to.
#[must_use]
pub(crate) fn call_of<'a>(answer: &'a SessionEntry, result: &SessionEntry) -> Option<&'a ToolCall> {
    let EntryBody::Message { message: Message::Assistant(answer) } = &answer.body else {
        return None;
    };
    let EntryBody::Message { message: Message::ToolResult(result) } = &result.body else {
        return None;
    };
    answer.tool_calls().find(|call| call.id == result.tool_call_id)
}

/// The text of an entry as one would copy it: of an answer what it said, of everything else all.
#[must_use]
pub(crate) fn text_to_copy(entry: &SessionEntry) -> String {
    if let EntryBody::Message { message: Message::Assistant(answer) } = &entry.body {
        let text: Vec<&str> = answer.content.iter().filter_map(Block::as_text).collect();
        if !text.is_empty() {
            return text.join("\n\n");
        }
    }
    texts_of(entry).join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::notation::Session;
    use super::*;

    fn session() -> Session {
        Session::parse(
            "u1 user 'go' / a1 assistant 'looking' call=read:src/a.rs call=bash:cargo_test
             / r1 result 'x' of=a1-0 tool=read / r2 result 'y' of=a1-1 tool=bash",
        )
    }

    #[test]
    fn u5_a_call_row_says_what_the_call_was_about() {
        let session = session();
        let tree = session.tree();
        let mut bodies = Bodies::default();
        assert_eq!(bodies.subject(&tree, session.at("r2")), None);
        let answer = session.at("a1");
        assert_eq!(bodies.ask_for([answer, answer]), [answer]);
        assert!(bodies.ask_for([answer]).is_empty(), "asked for once");
        bodies.add(&[(answer, session.reader.entry(answer).unwrap())]);
        assert_eq!(bodies.subject(&tree, session.at("r1")).as_deref(), Some("src/a.rs"));
        assert_eq!(bodies.subject(&tree, session.at("r2")).as_deref(), Some("cargo test"));
    }

    #[test]
    fn u5_only_a_few_bodies_are_kept() {
        let session = Session::chain(200);
        let mut bodies = Bodies::default();
        for position in 0..200 {
            let index = NodeIndex::new(position);
            bodies.add(&[(index, session.reader.entry(index).unwrap())]);
        }
        assert!(bodies.get(NodeIndex::new(0)).is_none());
        assert!(bodies.get(NodeIndex::new(199)).is_some());
        assert_eq!(bodies.entries.len(), MOST);
    }

    #[test]
    fn u5_copying_an_answer_takes_what_it_said() {
        let session = session();
        let copied = |id: &str| text_to_copy(&session.reader.entry(session.at(id)).unwrap());
        assert_eq!(copied("a1"), "looking");
        assert_eq!(copied("u1"), "go");
    }
}
