//! Which entries of a path reach a model, and in what order (SPEC X1, X2). Decided on the tree alone;
//! bodies are read afterwards, for the entries named here and no others.

use std::sync::Arc;

use super::tree::{ModelRef, NodeIndex, NodeKind, SessionTree};
use crate::ids::EntryId;

/// The model's view of a path, as entries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextOutline {
    /// Message-bearing entries in the order in which their messages are sent; the compaction, when
    /// there is one, comes first.
    pub nodes: Vec<NodeIndex>,
    /// The newest compaction of the path.
    pub compaction: Option<NodeIndex>,
    /// Where in `nodes` the entries begin that came after the compaction; before them are the
    /// compaction and what it kept. 0 without a compaction.
    pub after_compaction: usize,
    /// The compaction names a first kept entry that is not on the path before it: nothing before the
    /// compaction is kept (X1), and the person should know.
    pub first_kept_missing: bool,
    /// The model that the path was last worked on with.
    pub model: Option<ModelRef>,
    /// The thinking level that the path last asked for.
    pub thinking: Option<Arc<str>>,
}

/// Builds the outline of what a model sees at `leaf` (X1, X2).
#[must_use]
pub fn build_session_context(tree: &SessionTree, leaf: Option<NodeIndex>) -> ContextOutline {
    let mut outline = ContextOutline::default();
    let mut first_kept: Option<&EntryId> = None;
    let mut found = false;
    // Newest first; turned around at the end.
    let mut after = Vec::new();
    let mut kept = Vec::new();
    for index in leaf.into_iter().flat_map(|leaf| tree.ancestors(leaf)) {
        let node = tree.node(index);
        outline.note_choices(&node.kind);
        if found {
            if outline.model.is_some() && outline.thinking.is_some() {
                break;
            }
            continue;
        }
        match (&node.kind, outline.compaction) {
            (NodeKind::Compaction { first_kept: id, .. }, None) => {
                outline.compaction = Some(index);
                first_kept = Some(id);
            }
            (kind, None) if kind.bears_message() => after.push(index),
            (kind, Some(_)) => {
                if kind.bears_message() {
                    kept.push(index);
                }
                found = first_kept == Some(&node.id);
            }
            _ => {}
        }
    }
    outline.first_kept_missing = outline.compaction.is_some() && !found;
    if outline.first_kept_missing {
        kept.clear();
    }
    outline.nodes = outline.compaction.into_iter().chain(kept.into_iter().rev()).collect();
    outline.after_compaction = outline.nodes.len();
    outline.nodes.extend(after.into_iter().rev());
    outline
}

impl ContextOutline {
    /// Takes the model and the thinking level from an entry, unless a newer one has named them.
    fn note_choices(&mut self, kind: &NodeKind) {
        match kind {
            NodeKind::ModelChange(model) if self.model.is_none() => {
                self.model = Some(model.clone())
            }
            NodeKind::Assistant(answer) if self.model.is_none() && !answer.model.id.is_empty() => {
                self.model = Some(answer.model.clone());
            }
            NodeKind::ThinkingLevelChange(level) if self.thinking.is_none() => {
                self.thinking = Some(level.clone());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Timestamp;
    use crate::session::tree::{LineSpan, Node};

    /// Builds a chain from words: `u1` a user message, `t` a thinking level, `c2=u1` a compaction that
    /// keeps from `u1` on.
    fn chain(words: &str) -> SessionTree {
        let mut tree = SessionTree::new();
        for word in words.split(' ') {
            let (id, keeps) = word.split_once('=').unwrap_or((word, ""));
            let kind = match &id[..1] {
                "c" => NodeKind::Compaction { first_kept: EntryId::new(keeps), tokens_before: 0 },
                "t" => NodeKind::ThinkingLevelChange("high".into()),
                "m" => NodeKind::ModelChange(ModelRef::new("p", id)),
                _ => NodeKind::User,
            };
            let preview = "".into();
            let (timestamp, span) = (Timestamp::default(), LineSpan::default());
            tree.append(Node { id: EntryId::new(id), kind, timestamp, tokens: 1, preview, span });
        }
        tree
    }

    #[track_caller]
    fn check(words: &str, expected: &str) {
        let tree = chain(words);
        let outline = build_session_context(&tree, tree.leaf());
        let ids: Vec<_> = outline.nodes.iter().map(|index| tree.node(*index).id.as_str()).collect();
        assert_eq!(ids.join(" "), expected, "{words}");
    }

    #[test]
    fn x1_the_newest_compaction_comes_first_then_what_it_keeps_then_the_rest() {
        check("u1 m1 u2", "u1 u2");
        check("u1 u2 c1=u2 u3", "c1 u2 u3");
        check("u1 c1=u1 u2 c2=u2 u3", "c2 u2 u3");
        check("u1 c1=u1 u2 c2=u1 u3", "c2 u1 u2 u3");
        check("u1 u2 m1 u3 c1=m1", "c1 u3");
    }

    #[test]
    fn x1_a_first_kept_entry_off_the_path_keeps_nothing_before_the_compaction() {
        check("u1 u2 c1=nowhere u3", "c1 u3");
        check("u1 c1=u9 u9", "c1 u9");
        let tree = chain("u1 c1=nowhere");
        assert!(build_session_context(&tree, tree.leaf()).first_kept_missing);
    }

    #[test]
    fn x2_model_and_thinking_come_from_the_last_change_even_above_the_kept_tail() {
        let tree = chain("m1 t1 u1 m2 u2 c1=u2 u3");
        let outline = build_session_context(&tree, tree.leaf());
        assert_eq!(outline.model, Some(ModelRef::new("p", "m2")));
        assert_eq!(outline.thinking.as_deref(), Some("high"));
        assert_eq!(build_session_context(&tree, None), ContextOutline::default());
    }
}
