//! Forks and rewrites (F56, C9, J9).

use std::collections::BTreeMap;

use super::scene::*;
use regrow::compaction::tokens::Estimator;
use regrow::ids::EntryId;
use regrow::message::Message;
use regrow::session::entry::{EntryBody, SessionEntry};
use regrow::session::store::{Access, ForkScope, SessionStore};
use regrow::session::tree::NodeIndex;

/// `a - b - c`, `d` beside `c`, with a label on `b` given below `d` and fields nobody knows.
fn tree() -> Scene {
    let odd =
        line("b", "\"a\"", "two").replace("\"timestamp\":1}", "\"timestamp\":1,\"odd\":[1.50]}");
    let label =
        r#"{"type":"label","id":"l","parentId":"d","timestamp":"t","targetId":"b","label":"here"}"#;
    let lines = [
        HEADER,
        &line("a", "null", "one"),
        &odd,
        &line("c", "\"b\"", "three"),
        &line("d", "\"b\"", "four"),
        label,
    ];
    Scene::new(lines.join("\n") + "\n")
}

fn at(store: &SessionStore, id: &str) -> NodeIndex {
    store.reader().tree().find(&EntryId::new(id)).unwrap()
}

#[test]
fn f56_a_fork_has_the_path_and_an_id_of_its_own() {
    let scene = tree();
    let before = scene.bytes();
    let opened = scene.write();
    let c = at(&opened.store, "c");
    let path = opened.store.fork(Some(c), ForkScope::Path, scene.dir.path(), &scene.ids).unwrap();
    let fork = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert_eq!(fork.warnings, [""; 0]);
    assert_eq!(said(&fork.store), ["one", "two", "three"]);
    assert_eq!(fork.store.header().parent_session, Some(scene.path.display().to_string()));
    assert_ne!(fork.store.header().id, "s");
    assert_eq!(fork.store.header().cwd, "/w");
    let tree = fork.store.reader().tree();
    assert_eq!(tree.label(at(&fork.store, "b")), Some("here"));
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"odd\":[1.50]"));
    assert_eq!(scene.bytes(), before);
}

#[test]
fn f56_a_clone_has_everything_and_stands_where_it_should() {
    let scene = tree();
    let opened = scene.write();
    let c = at(&opened.store, "c");
    let dir = scene.dir.path().join("elsewhere");
    let path = opened.store.fork(Some(c), ForkScope::Whole, &dir, &scene.ids).unwrap();
    let clone = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert!(shape(&clone.store).starts_with("a b<a c<b d<b l<d "));
    assert_eq!(said(&clone.store), ["one", "two", "three"]);
}

#[test]
fn f56_a_fork_before_the_first_entry_is_empty() {
    let scene = tree();
    let opened = scene.write();
    let path = opened.store.fork(None, ForkScope::Path, scene.dir.path(), &scene.ids).unwrap();
    let fork = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert_eq!((shape(&fork.store).as_str(), fork.warnings.len()), ("", 0));
}

#[test]
fn f56_a_fork_of_a_damaged_file_is_whole() {
    let lines = [HEADER, &line("a", "null", "one"), "garbage", &line("b", "\"x\"", "two")];
    let scene = Scene::new(lines.join("\n") + "\n");
    let opened = scene.open(Access::ReadOnly).unwrap();
    let leaf = opened.store.reader().tree().leaf();
    let path = opened.store.fork(leaf, ForkScope::Path, scene.dir.path(), &scene.ids).unwrap();
    let fork = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert_eq!((fork.warnings.len(), said(&fork.store)), (0, vec!["one".into(), "two".into()]));
}

/// The entry with another text.
fn changed(store: &SessionStore, id: &str, text: &str) -> (NodeIndex, SessionEntry) {
    let index = at(store, id);
    let mut entry = SessionEntry::clone(&store.reader().entry(index).unwrap());
    let EntryBody::Message { message: Message::User(user) } = &mut entry.body else { panic!() };
    user.content = regrow::message::Content::Text(text.into());
    (index, entry)
}

#[test]
fn c9_a_rewrite_changes_what_it_should_and_nothing_else() {
    let scene = tree();
    let before = scene.text();
    let mut opened = scene.write();
    assert_eq!(said_by(&opened.store, &[at(&opened.store, "b")]), ["two"]);
    let long = "y".repeat(100);
    let edits: BTreeMap<_, _> =
        [changed(&opened.store, "b", &long), changed(&opened.store, "c", "3")].into();
    opened.store.rewrite(&edits).unwrap();
    let expect = before.replace("\"two\"", &format!("\"{long}\"")).replace("\"three\"", "\"3\"");
    // Numbers may be written another way, never with another value.
    assert_eq!(scene.text().replace("[1.5]", "[1.50]"), expect);
    let everything: Vec<_> = (0..4).map(NodeIndex::new).collect();
    assert_eq!(said_by(&opened.store, &everything), ["one", &long, "3", "four"]);
    opened.store.append(user("five"), &scene.ids).unwrap();
    drop(opened);
    let again = scene.write();
    assert_eq!(said(&again.store), ["one", &long, "four", "five"]);
    assert_eq!(names(scene.dir.path()), ["s.jsonl", "s.jsonl.lock"]);
}

#[test]
fn c9_a_session_in_memory_can_be_rewritten() {
    let ids = Fixed::default();
    let mut store = SessionStore::in_memory(header(), Estimator::default());
    let a = store.append(user("one"), &ids).unwrap();
    store.append(user("two"), &ids).unwrap();
    let edit = changed(&store, a.id.as_str(), "a longer one");
    store.rewrite(&[edit].into()).unwrap();
    assert_eq!(said(&store), ["a longer one", "two"]);
}
