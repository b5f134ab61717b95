//! Any sequence of operations, kills and damage (I1, I8, I9): the tree holds what was acknowledged,
//! and the context is what a slow and obvious implementation says it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use proptest::prelude::*;
use regrow::compaction::tokens::Estimator;
use regrow::ids::EntryId;
use regrow::message::{AssistantMessage, Block, Content, Message, ToolResultMessage};
use regrow::session::context::build_session_context;
use regrow::session::entry::{
    BranchSummaryEntry, CompactionEntry, EntryBody, LEAF_MARK, SessionEntry,
};
use regrow::session::store::{Access, ForkScope, SessionStore};
use regrow::session::tree::NodeIndex;
use serde_json::Value;

use super::scene::*;

/// One thing that happens to a session. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Step {
    Say(u8),
    Answer,
    Result(u16),
    Navigate(usize),
    Leave(usize),
    Label(usize),
    Compact(usize),
    Prune(usize),
    Fork(usize),
    Reopen,
    /// Killed when this many bytes of the last line were not yet written.
    Kill(usize),
    /// A line is overwritten with NUL bytes.
    Damage(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = any::<prop::sample::Index>().prop_map(|index| index.index(1 << 16));
    let step = prop_oneof![
        3 => any::<u8>().prop_map(Step::Say),
        3 => Just(Step::Answer),
        3 => (0..2_000_u16).prop_map(Step::Result),
        2 => number.clone().prop_map(Step::Navigate),
        1 => number.clone().prop_map(Step::Leave),
        1 => number.clone().prop_map(Step::Label),
        2 => number.clone().prop_map(Step::Compact),
        1 => number.clone().prop_map(Step::Prune),
        1 => number.clone().prop_map(Step::Fork),
        1 => Just(Step::Reopen),
        1 => number.clone().prop_map(Step::Kill),
        1 => number.prop_map(Step::Damage),
    ];
    prop::collection::vec(step, 1..40)
}

struct World {
    dir: tempfile::TempDir,
    ids: Fixed,
    store: Option<SessionStore>,
    path: PathBuf,
    /// Acknowledged entries that no kill and no damage has hit.
    expect: BTreeSet<EntryId>,
    damaged: bool,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut store = SessionStore::create(dir.path(), header(), Estimator::default());
        let ids = Fixed::default();
        let first = store.append(user("first"), &ids).unwrap();
        let path = store.path().unwrap().to_owned();
        let expect = [first.id.clone()].into();
        Self { dir, ids, store: Some(store), path, expect, damaged: false }
    }

    fn store(&mut self) -> &mut SessionStore {
        self.store.as_mut().unwrap()
    }

    fn append(&mut self, body: EntryBody) {
        let entry = self.store.as_mut().unwrap().append(body, &self.ids).unwrap();
        self.expect.insert(entry.id.clone());
    }

    fn message(&mut self, message: Message) {
        self.append(EntryBody::Message { message });
    }

    /// Some entry of the tree; `None` only when there is none.
    fn choose(&mut self, number: usize) -> Option<(NodeIndex, EntryId)> {
        let tree = self.store().reader().tree();
        let index = NodeIndex::new(number.checked_rem(tree.len())?);
        Some((index, tree.node(index).id.clone()))
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Say(text) => self.append(user(&format!("say {text}"))),
            Step::Answer => self.message(Message::Assistant(AssistantMessage {
                content: vec![Block::text("answer")],
                provider: "p".into(),
                model: "m".into(),
                ..AssistantMessage::default()
            })),
            Step::Result(len) => {
                let content = Content::from_text("r".repeat(usize::from(len)));
                self.message(Message::ToolResult(ToolResultMessage {
                    content,
                    ..ToolResultMessage::default()
                }));
            }
            Step::Navigate(number) => {
                let Some((target, _)) = self.choose(number) else { return };
                let body = EntryBody::Custom { custom_type: LEAF_MARK.into(), data: None };
                self.append_at(target, body);
            }
            Step::Leave(number) => {
                let Some((target, from_id)) = self.choose(number) else { return };
                let summary = "tried".to_owned();
                self.append_at(
                    target,
                    EntryBody::BranchSummary(BranchSummaryEntry {
                        from_id,
                        summary,
                        details: None,
                        from_extension: None,
                    }),
                );
            }
            Step::Label(number) => {
                let Some((_, target_id)) = self.choose(number) else { return };
                self.append(EntryBody::Label { target_id, label: Some(format!("l{number}")) });
            }
            Step::Compact(number) => {
                // Most of the time an entry of the path, sometimes one that is not on it.
                let Some((_, first_kept_entry_id)) = self.choose(number) else { return };
                self.append(EntryBody::Compaction(CompactionEntry {
                    summary: "so far".into(),
                    short_summary: None,
                    first_kept_entry_id,
                    tokens_before: 1,
                    details: None,
                    preserve_data: None,
                    from_extension: None,
                }));
            }
            Step::Prune(number) => self.prune(number),
            Step::Fork(number) => self.fork(number),
            Step::Reopen => self.reopen(0),
            Step::Kill(number) => self.kill(number),
            Step::Damage(number) => self.damage(number),
        }
    }

    fn append_at(&mut self, target: NodeIndex, body: EntryBody) {
        let store = self.store.as_mut().unwrap();
        let entry = store.append_at(Some(target), body, &self.ids).unwrap();
        self.expect.insert(entry.id.clone());
    }

    fn prune(&mut self, number: usize) {
        let Some((index, _)) = self.choose(number) else { return };
        let mut entry = SessionEntry::clone(&self.store().reader().entry(index).unwrap());
        let EntryBody::Message { message: Message::ToolResult(result) } = &mut entry.body else {
            return;
        };
        result.content = Content::from_text("[Output truncated]");
        result.pruned_at = Some(7);
        self.store().rewrite(&BTreeMap::from([(index, entry.clone())])).unwrap();
        assert_eq!(self.store().reader().entry(index).unwrap().body, entry.body);
    }

    fn fork(&mut self, number: usize) {
        let Some((leaf, _)) = self.choose(number) else { return };
        let store = self.store.as_ref().unwrap();
        let dir = self.dir.path().join("forks");
        let path = store.fork(Some(leaf), ForkScope::Path, &dir, &self.ids).unwrap();
        let fork = SessionStore::open(&path, Access::ReadOnly, Estimator::default()).unwrap();
        let theirs = context(&fork.store);
        let outline = build_session_context(&store.reader().tree(), Some(leaf));
        let tree = store.reader().tree();
        let ours: Vec<_> = outline.nodes.iter().map(|index| tree.node(*index).id.clone()).collect();
        assert_eq!(theirs, ours);
    }

    /// Closes and opens again. The first open may speak of damage once, the second never (of torn
    /// ends): `allowed` says how many warnings are right.
    fn reopen(&mut self, allowed: usize) {
        self.store = None;
        let opened = SessionStore::open(&self.path, Access::Write, Estimator::default()).unwrap();
        if !self.damaged {
            assert!(opened.warnings.len() <= allowed, "{:?}", opened.warnings);
        }
        self.store = Some(opened.store);
    }

    fn kill(&mut self, number: usize) {
        let (last, span) = {
            let tree = self.store().reader().tree();
            let Some(last) = tree.len().checked_sub(1).map(NodeIndex::new) else { return };
            (tree.node(last).id.clone(), tree.node(last).span)
        };
        self.store = None;
        let len = std::fs::metadata(&self.path).unwrap().len();
        let missing = 1 + (number as u64) % u64::from(span.len);
        let file = std::fs::OpenOptions::new().write(true).open(&self.path).unwrap();
        file.set_len(len - missing).unwrap();
        if missing > 1 {
            self.expect.remove(&last);
        }
        self.reopen(1);
        self.reopen(0);
    }

    fn damage(&mut self, number: usize) {
        let Some((index, id)) = self.choose(number) else { return };
        let span = self.store().reader().tree().node(index).span;
        self.store = None;
        let mut bytes = std::fs::read(&self.path).unwrap();
        let start = span.offset as usize;
        bytes[start..start + span.len as usize].fill(0);
        std::fs::write(&self.path, &bytes).unwrap();
        self.expect.remove(&id);
        self.damaged = true;
        self.reopen(1);
    }

    fn check(&mut self) {
        let damaged = self.damaged;
        let expect = self.expect.clone();
        let path = self.path.clone();
        let store = self.store();
        let tree = store.reader().tree();
        let ids: BTreeSet<_> = tree.nodes().map(|(_, node)| node.id.clone()).collect();
        assert_eq!(ids, expect);
        // Every entry is reachable, and every path ends.
        for (index, _) in tree.nodes() {
            assert!(tree.path(Some(index)).len() <= tree.len());
        }
        drop(tree);
        if !damaged {
            assert_eq!(context(store), slow_context(&std::fs::read_to_string(path).unwrap()));
        }
    }
}

fn context(store: &SessionStore) -> Vec<EntryId> {
    let tree = store.reader().tree();
    let outline = build_session_context(&tree, tree.leaf());
    outline.nodes.iter().map(|index| tree.node(*index).id.clone()).collect()
}

/// X1 in as many words as the specification has, on the text of the file.
fn slow_context(text: &str) -> Vec<EntryId> {
    let entries: Vec<Value> =
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let by_id: HashMap<&str, &Value> =
        entries.iter().map(|entry| (entry["id"].as_str().unwrap(), entry)).collect();
    let mut path = Vec::new();
    let mut next = entries.last();
    while let Some(entry) = next {
        path.insert(0, entry);
        next = entry["parentId"].as_str().map(|id| by_id[id]);
    }
    let kept = match path.iter().rposition(|entry| entry["type"] == "compaction") {
        None => path,
        Some(at) => {
            let first = path[at]["firstKeptEntryId"].as_str();
            let from = path[..at].iter().position(|entry| entry["id"].as_str() == first);
            let mut kept = vec![path[at]];
            kept.extend(&path[from.unwrap_or(at)..at]);
            kept.extend(&path[at + 1..]);
            // Only the newest compaction stands for history.
            let newest = path[at]["id"].clone();
            kept.retain(|entry| entry["type"] != "compaction" || entry["id"] == newest);
            kept
        }
    };
    let speaks = |entry: &&&Value| {
        ["message", "branch_summary", "compaction"].contains(&entry["type"].as_str().unwrap())
    };
    kept.iter().filter(speaks).map(|entry| EntryId::new(entry["id"].as_str().unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn i1_i8_i9_whatever_happens_the_tree_holds_what_was_acknowledged(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.run(step);
            world.check();
        }
    }
}
