//! Trees for the tests of planning, written in a line: `u100 a50/2 r300 r20 u10`.
//!
//! A word is a kind and its tokens: `u` user, `a` assistant (`/2`: with two tool calls, `=900`: with
//! a usage of 900 prompt tokens), `r` result of `bash`, `b` a `!` command, `x` custom_message entry,
//! `s` branch_summary entry, `c40@3` compaction that keeps from the entry numbered 3 on, `m` model
//! change, `l` label. Ids are the entries' numbers, from 0. Each word follows the one before it.

use std::sync::Arc;

use crate::ids::{EntryId, Timestamp};
use crate::message::{StopReason, Usage};
use crate::session::tree::{
    AnswerFacts, LineSpan, ModelRef, Node, NodeIndex, NodeKind, SessionTree,
};

/// The tree that a line describes; its leaf is the last entry.
pub(super) fn tree(line: &str) -> SessionTree {
    let mut tree = SessionTree::new();
    extend(&mut tree, line);
    tree
}

/// Appends what a line describes to the leaf.
pub(super) fn extend(tree: &mut SessionTree, line: &str) {
    for word in line.split_whitespace() {
        let node = node(tree.len(), word);
        tree.append(node);
    }
}

/// Numbers of nodes, to compare with what one counts in a line.
pub(super) fn numbers(nodes: &[NodeIndex]) -> Vec<usize> {
    nodes.iter().map(|index| index.get()).collect()
}

fn node(number: usize, word: &str) -> Node {
    let (letter, rest) = word.split_at(1);
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    let after = |mark: char| {
        let (_, value) = rest.split_once(mark)?;
        let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
        value[..end].parse::<u64>().ok()
    };
    let kind = match letter {
        "u" => NodeKind::User,
        "a" => NodeKind::Assistant(Box::new(AnswerFacts {
            model: ModelRef::new("p", "m"),
            usage: Usage { input: after('=').unwrap_or_default(), ..Usage::default() },
            stop: StopReason::Stop,
            tool_calls: after('/').unwrap_or_default() as u16,
        })),
        "r" => NodeKind::ToolResult { tool: Arc::from("bash"), is_error: false, pruned_at: None },
        "b" => NodeKind::BashExecution { excluded: false },
        "x" => NodeKind::Custom { entry: true, display: true },
        "s" => NodeKind::BranchSummary { from: Some(EntryId::new("0")) },
        "c" => NodeKind::Compaction {
            first_kept: EntryId::new(after('@').unwrap().to_string()),
            tokens_before: 0,
        },
        "m" => NodeKind::ModelChange(ModelRef::new("p", "m2")),
        "l" => NodeKind::Label { target: EntryId::new("0"), label: Some(Arc::from("here")) },
        other => panic!("no kind of entry is called {other}"),
    };
    Node {
        id: EntryId::new(number.to_string()),
        kind,
        timestamp: Timestamp::from_millis(number as i64),
        tokens: rest[..digits].parse().unwrap_or_default(),
        preview: word.into(),
        span: LineSpan::default(),
    }
}
