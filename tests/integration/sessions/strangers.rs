//! Files that change under an open session (F49, F50), and older versions (J5).

use super::scene::*;
use regrow::compaction::tokens::Estimator;
use regrow::session::store::{Access, SessionStore};

fn two_entries() -> Scene {
    let lines = [HEADER, &line("a", "null", "one"), &line("b", "\"a\"", "two")];
    Scene::new(lines.join("\n") + "\n")
}

#[test]
fn f49_a_removed_file_is_written_again_in_full() {
    let scene = two_entries();
    let before = scene.text();
    let mut opened = scene.write();
    std::fs::remove_file(&scene.path).unwrap();
    opened.store.append(user("three"), &scene.ids).unwrap();
    assert!(opened.store.take_notices()[0].contains("had been removed"));
    assert!(scene.text().starts_with(&before));
    drop(opened);
    assert_eq!(said(&scene.write().store), ["one", "two", "three"]);
}

#[test]
fn f49_a_removed_folder_comes_back_too() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("sessions");
    let ids = Fixed::default();
    let mut store = SessionStore::create(&dir, header(), Estimator::default());
    store.append(user("one"), &ids).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    store.append(user("two"), &ids).unwrap();
    let path = store.path().unwrap().to_owned();
    drop(store);
    let again = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert_eq!(said(&again.store), ["one", "two"]);
}

#[test]
fn f49_a_replaced_file_is_left_alone_and_the_session_goes_on_beside() {
    let scene = two_entries();
    let mut opened = scene.write();
    let other = scene.dir.path().join("other");
    std::fs::write(&other, "something else\n").unwrap();
    std::fs::rename(&other, &scene.path).unwrap();
    opened.store.append(user("three"), &scene.ids).unwrap();
    assert_eq!(scene.text(), "something else\n");
    let path = opened.store.path().unwrap().to_owned();
    assert_eq!(path, scene.dir.path().join("s-2.jsonl"));
    assert!(opened.store.take_notices()[0].contains("s-2.jsonl"));
    drop(opened);
    let again = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert_eq!(said(&again.store), ["one", "two", "three"]);
}

#[test]
fn f49_a_file_that_was_cut_short_loses_only_what_was_cut() {
    let scene = two_entries();
    let mut opened = scene.write();
    let keep = scene.text().find("\"two\"").unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(&scene.path)
        .unwrap()
        .set_len(keep as u64)
        .unwrap();
    opened.store.append(user("three"), &scene.ids).unwrap();
    let tree = opened.store.reader().tree();
    let nodes = tree.active_path();
    drop(tree);
    let (messages, problems) = opened.store.reader().messages(&nodes);
    assert_eq!((messages.len(), problems.len()), (2, 1));
    let path = opened.store.path().unwrap().to_owned();
    drop(opened);
    let again = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert_eq!(said(&again.store), ["one", "three"]);
}

#[test]
fn f50_what_another_writer_appended_is_a_branch() {
    use std::io::Write;
    let scene = two_entries();
    let mut opened = scene.write();
    let mut other = std::fs::OpenOptions::new().append(true).open(&scene.path).unwrap();
    writeln!(other, "{}", line("x", "\"a\"", "theirs")).unwrap();
    opened.store.append(user("ours"), &scene.ids).unwrap();
    assert!(opened.store.take_notices()[0].contains("another program has written 1"));
    assert_eq!(shape(&opened.store), "a b<a x<a f0000000<b");
    assert_eq!(said(&opened.store), ["one", "two", "ours"]);
    drop(opened);
    let again = scene.write();
    assert_eq!((shape(&again.store).as_str(), again.warnings.len()), ("a b<a x<a f0000000<b", 0));
}

#[test]
fn j7_an_entry_that_cannot_be_written_is_not_in_the_tree_but_can_be_held() {
    let scene = two_entries();
    let mut opened = scene.write();
    std::fs::remove_file(&scene.path).unwrap();
    std::fs::create_dir(&scene.path).unwrap();
    let beside = scene.dir.path().join("s-2.jsonl");
    std::os::unix::fs::symlink("/nonexistent/nowhere", &beside).unwrap();
    let failed = opened.store.append(user("three"), &scene.ids).unwrap_err();
    assert!(failed.to_string().contains("s.jsonl"), "{failed}");
    assert_eq!(said(&opened.store), ["one", "two"]);
    opened.store.hold(user("three"), &scene.ids);
    assert!(opened.store.has_unsaved());
    assert_eq!(said(&opened.store), ["one", "two", "three"]);
    std::fs::remove_file(&beside).unwrap();
    opened.store.append(user("four"), &scene.ids).unwrap();
    assert!(!opened.store.has_unsaved());
    drop(opened);
    let again = SessionStore::open(&beside, Access::Write, Estimator::default()).unwrap();
    assert_eq!(said(&again.store), ["one", "two", "three", "four"]);
}

#[test]
fn j5_version_1_is_migrated_and_the_original_kept() {
    let old = concat!(
        r#"{"type":"session","id":"s","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/w","provider":"p"}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-11-20T23:33:50.805Z","message":{"role":"user","content":"one","timestamp":1}}"#,
        "\nnot json\n",
        r#"{"type":"message","timestamp":"2025-11-20T23:33:50.805Z","message":{"role":"user","content":"two","timestamp":1,"odd":7}}"#,
        "\n",
    );
    let scene = Scene::new(old);
    let look = scene.open(Access::ReadOnly).unwrap();
    assert_eq!(said(&look.store), ["one", "two"]);
    assert_eq!(scene.text(), old);
    let seen = shape(&look.store);
    let opened = scene.write();
    assert_eq!(shape(&opened.store), seen);
    assert!(opened.warnings.iter().any(|warning| warning.contains("migrated from version 1")));
    assert_eq!(scene.beside("v1.bak").unwrap(), old.as_bytes());
    assert!(scene.text().contains("\nnot json\n") && scene.text().contains("\"odd\":7"));
    assert_eq!(opened.store.header().version, 3);
    drop(opened);
    let again = scene.write();
    assert_eq!(said(&again.store), ["one", "two"]);
    assert!(!again.warnings.iter().any(|warning| warning.contains("migrated")));
}

#[test]
fn f54_entries_without_ids_in_a_new_file_are_not_lost() {
    let anonymous = r#"{"type":"message","timestamp":"2025-11-20T23:33:50.805Z","message":{"role":"user","content":"two"}}"#;
    let lines = [HEADER, &line("a", "null", "one"), anonymous];
    let scene = Scene::new(lines.join("\n") + "\n");
    assert_eq!(said(&scene.write().store), ["one", "two"]);
    assert!(scene.beside("v3.bak").is_some());
}
