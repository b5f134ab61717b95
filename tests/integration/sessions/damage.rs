//! Damaged files: everything that can be read is in the tree, nothing is thrown away, the next open
//! has nothing more to say (F45–F49, F91).

use super::scene::*;
use regrow::session::store::{Access, StoreError};

/// Opens a file of these lines after a header, and checks the tree, what the warning says, and that
/// read-only access sees the same without touching anything.
#[track_caller]
fn check(lines: &[&str], expect: &str, warning: &str) -> Scene {
    let mut content = vec![HEADER];
    content.extend(lines);
    check_file(content.join("\n") + "\n", expect, warning)
}

#[track_caller]
fn check_file(content: impl AsRef<[u8]>, expect: &str, warning: &str) -> Scene {
    let scene = Scene::new(content);
    let before = scene.bytes();
    let look = scene.open(Access::ReadOnly).unwrap();
    assert_eq!(shape(&look.store), expect);
    assert_eq!(scene.bytes(), before, "looking changes nothing");
    assert_eq!(names(scene.dir.path()), ["s.jsonl"]);
    drop(look);
    let opened = scene.write();
    assert_eq!(shape(&opened.store), expect);
    match warning {
        "" => assert_eq!(opened.warnings, [""; 0]),
        part => {
            assert_eq!(opened.warnings.len(), 1, "{:?}", opened.warnings);
            assert!(opened.warnings[0].contains(part), "{:?}", opened.warnings);
        }
    }
    drop(opened);
    scene
}

/// The next open after a repair says nothing and finds the same.
#[track_caller]
fn is_healed(scene: &Scene, expect: &str) {
    let again = scene.write();
    assert_eq!((again.warnings.as_slice(), shape(&again.store).as_str()), (&[][..], expect));
}

#[test]
fn f45_a_torn_tail_is_moved_aside_and_the_next_append_is_whole() {
    let (one, two) = (line("a", "null", "one"), line("b", "\"a\"", "two"));
    for cut in [1, 20, two.len() - 1] {
        let content = format!("{HEADER}\n{one}\n{}", &two[..cut]);
        let scene = check_file(content, "a", &format!("torn end of {cut} bytes"));
        assert_eq!(scene.beside("torn").unwrap(), format!("{}\n", &two[..cut]).into_bytes());
        is_healed(&scene, "a");
        let mut opened = scene.write();
        opened.store.append(user("three"), &scene.ids).unwrap();
        drop(opened);
        assert_eq!(said(&scene.write().store), ["one", "three"]);
    }
}

#[test]
fn f45_a_whole_last_record_without_newline_is_kept() {
    let content = format!("{HEADER}\n{}", line("a", "null", "one"));
    let scene = check_file(&content, "a", "");
    assert_eq!(scene.text(), content + "\n");
    assert_eq!(scene.beside("torn"), None);
}

#[test]
fn f46_a_torn_record_of_a_megabyte_costs_only_itself() {
    let one = line("a", "null", "one");
    let torn = &line("b", "\"a\"", &"x".repeat(1 << 20))[..1 << 20];
    let scene = check_file(format!("{HEADER}\n{one}\n{torn}"), "a", "torn end of 1048576 bytes");
    assert_eq!(scene.text(), format!("{HEADER}\n{one}\n"));
    assert_eq!(scene.beside("torn").unwrap().len(), torn.len() + 1);
}

#[test]
fn f45_a_tail_of_nul_bytes_is_torn() {
    let mut content = format!("{HEADER}\n{}\n", line("a", "null", "one")).into_bytes();
    content.extend([0; 4096]);
    let scene = check_file(content, "a", "torn end of 4096 bytes");
    is_healed(&scene, "a");
}

#[test]
fn f47_bad_lines_in_the_middle_are_skipped_kept_and_counted() {
    let nuls = "\0".repeat(100);
    let half = &line("b", "\"a\"", "lost")[..60];
    let scene = check(
        &[&line("a", "null", "one"), half, &nuls, &line("c", "\"b\"", "three")],
        "a c<a",
        "2 lines cannot be read",
    );
    assert!(scene.text().contains(half) && scene.text().contains(&nuls));
}

#[test]
fn f47_children_of_a_lost_entry_hang_on_its_parent_or_on_the_entry_before() {
    // The lost line still says that it hung on `a`.
    let known = &line("x", "\"a\"", "lost")[..60];
    check(
        &[&line("a", "null", "1"), &line("b", "\"a\"", "2"), known, &line("c", "\"x\"", "3")],
        "a b<a c<a",
        "1 entry hangs on the nearest entry",
    );
    // Nothing of it can be read: the entry before it.
    check(
        &[&line("a", "null", "1"), &line("b", "\"a\"", "2"), "garbage", &line("c", "\"x\"", "3")],
        "a b<a c<b",
        "1 entry hangs on the nearest entry",
    );
}

#[test]
fn f48_welded_records_are_taken_apart() {
    let (a, b, c) = (line("a", "null", "1"), line("b", "\"a\"", "2"), line("c", "\"b\"", "3"));
    let scene = check(&[&format!("{a}{b}"), &c], "a b<a c<b", "1 record had to be pieced out");
    assert_eq!(said(&scene.write().store), ["1", "2", "3"]);
    let half = &line("h", "\"a\"", "half")[..70];
    let scene = check(&[&a, &format!("{half}{b}{c}")], "a b<a c<b", "1 line cannot be read");
    assert_eq!(said(&scene.write().store), ["1", "2", "3"]);
    let scene = check(&[&format!("{a}{half}"), &b], "a b<a", "1 line cannot be read");
    assert_eq!(said(&scene.write().store), ["1", "2"]);
}

#[test]
fn f48_raw_newlines_inside_a_record_are_bridged() {
    let split = line("b", "\"a\"", "two\n\nmore\nlines");
    let scene = check(
        &[&line("a", "null", "one"), &split, &line("c", "\"b\"", "three")],
        "a b<a c<b",
        "1 record had to be pieced out",
    );
    assert_eq!(said(&scene.write().store), ["one", "two\n\nmore\nlines", "three"]);
}

#[test]
fn f50_repeated_ids_are_both_there() {
    check(
        &[
            &line("a", "null", "1"),
            &line("b", "\"a\"", "2"),
            &line("b", "\"a\"", "2"),
            &line("c", "\"b\"", "3"),
        ],
        "a b<a b<a c<b",
        "1 id is used twice",
    );
}

#[test]
fn f91_missing_parents_self_parents_and_circles_hide_nothing() {
    check(
        &[&line("a", "null", "1"), &line("b", "\"gone\"", "2"), &line("c", "\"b\"", "3")],
        "a b? c<b",
        "1 entry has a parent that is not there",
    );
    check(&[&line("a", "\"a\"", "1"), &line("b", "\"a\"", "2")], "a? b<a", "1 circle of parents");
    check(
        &[&line("a", "\"c\"", "1"), &line("b", "\"a\"", "2"), &line("c", "\"b\"", "3")],
        "a<c b<a c?",
        "1 circle of parents",
    );
    // A parent that comes later is only unusual.
    check(&[&line("a", "\"b\"", "1"), &line("b", "null", "2")], "a<b b", "");
}

#[test]
fn f49_a_file_without_header_gets_one_back() {
    let content = format!("{}\n{}\n", line("a", "null", "1"), line("b", "\"a\"", "2"));
    let scene = check_file(&content, "a b<a", "its header is missing");
    assert!(scene.text().ends_with(&content));
    is_healed(&scene, "a b<a");
    let scene = check_file(format!("{{\"foreign\":1}}\n{content}"), "a b<a", "header is missing");
    assert!(scene.text().ends_with(&content) && scene.text().contains("foreign"));
}

#[test]
fn f49_an_empty_file_is_an_empty_session() {
    let scene = check_file("", "", "its header is missing");
    is_healed(&scene, "");
    let scene = check_file(&HEADER[..40], "", "torn end of 40 bytes");
    is_healed(&scene, "");
}

#[test]
fn f49_other_files_are_refused_and_left_alone() {
    for content in ["hello\nworld\n", "{\"a\":1}\n", "[1]\n", "{\"type\":\"session\",\"id\":5}\n"] {
        let scene = Scene::new(content);
        for access in [Access::ReadOnly, Access::Write] {
            assert!(matches!(scene.open(access), Err(StoreError::NotASession { .. })));
        }
        assert_eq!(scene.text(), content);
        assert_eq!(names(scene.dir.path()), ["s.jsonl"]);
    }
}

#[test]
fn f47_a_line_that_is_not_utf8_is_shown_as_far_as_it_goes() {
    let mut content = format!("{HEADER}\n{}\n", line("a", "null", "caf?")).into_bytes();
    let at = content.windows(4).position(|part| part == b"caf?").unwrap() + 3;
    content[at] = 0xe9;
    let scene = check_file(content, "a", "1 line is not UTF-8");
    assert_eq!(said(&scene.write().store), ["caf\u{fffd}"]);
}

#[test]
fn j7_blank_lines_a_byte_order_mark_and_carriage_returns_are_no_damage() {
    let content = format!("\u{feff}{HEADER}\r\n\r\n  {} \r\n", line("a", "null", "1"));
    check_file(content, "a", "");
}

#[test]
fn j3_an_entry_that_makes_no_sense_keeps_its_place() {
    let broken = r#"{"type":"compaction","id":"b","parentId":"a","timestamp":"t"}"#;
    check(
        &[&line("a", "null", "1"), broken, &line("c", "\"b\"", "2")],
        "a b<a c<b",
        "1 entry has a body that cannot be read",
    );
}

#[test]
fn j5_a_version_of_the_future_is_only_looked_at() {
    let content = format!("{}\n{}\n", HEADER.replace(":3", ":4"), line("a", "null", "1"));
    let scene = Scene::new(&content);
    let mut opened = scene.write();
    assert!(opened.warnings[0].contains("version 4"));
    assert!(opened.store.is_read_only());
    assert!(matches!(opened.store.append(user("x"), &scene.ids), Err(StoreError::ReadOnly)));
    assert_eq!((scene.text(), names(scene.dir.path())), (content, vec!["s.jsonl".to_owned()]));
}
