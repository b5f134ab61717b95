//! `read`, `write` and `edit` on real files (F77–F79, F97, I14).

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use regrow::message::Block;
use regrow::tool::Effect;
use serde_json::json;

use super::Bench;

fn fifo(path: &std::path::Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[tokio::test]
async fn a2_read_numbers_lines_and_pages() {
    let bench = Bench::new();
    bench.put("five", "a\nb\r\nc\n\ne");
    let read = bench.ok("read", json!({"path": "five"})).await;
    assert_eq!(read.text, "1\ta\n2\tb\n3\tc\n4\t\n5\te");
    assert_eq!(read.summary, "5 lines");
    let read = bench.ok("read", json!({"path": "five", "offset": 2, "limit": "2"})).await;
    assert_eq!(read.text, "2\tb\n3\tc\n[Lines 2–3 of 5. Read on with offset=4.]");
    assert_eq!(read.summary, "lines 2–3 of 5");
    let error = bench.failed("read", json!({"path": "five", "offset": 6})).await.text;
    assert!(
        error.contains("`offset` 6 is past the end") && error.contains("has 5 lines"),
        "{error}"
    );
    bench.put("empty", "");
    assert_eq!(bench.ok("read", json!({"path": "empty"})).await.text, "(empty file)");
}

#[tokio::test]
async fn f79_read_is_bounded_in_lines_and_bytes() {
    let mut bench = Bench::new();
    let numbered: String = (1..=5_000).map(|number| format!("line {number}\n")).collect();
    bench.put("many", &numbered);
    let read = bench.ok("read", json!({"path": "many"})).await;
    assert!(
        read.text.ends_with("2000\tline 2000\n[Lines 1–2,000 of 5,000. Read on with offset=2001.]")
    );
    let read = bench.ok("read", json!({"path": "many", "limit": 100_000})).await;
    assert!(read.text.contains("[Lines 1–2,000 of 5,000."), "a call cannot lift the limit");

    bench.put("wide", "한".repeat(300).add_newline().repeat(1_000));
    let read = bench.ok("read", json!({"path": "wide"})).await;
    assert!(read.text.len() < 52 * 1024, "{}", read.text.len());
    assert!(read.text.contains(" of 1,000. Read on with offset="), "{}", read.summary);
    bench.max_result_tokens = 2_000;
    let read = bench.ok("read", json!({"path": "wide"})).await;
    assert!(read.text.len() < 6_200, "a share of the window: {}", read.text.len());
}

trait AddNewline {
    fn add_newline(self) -> String;
}

impl AddNewline for String {
    fn add_newline(mut self) -> String {
        self.push('\n');
        self
    }
}

#[tokio::test]
async fn f79_a_line_of_megabytes_is_clipped_with_the_way_to_go_on() {
    let bench = Bench::new();
    let line = "x✓".repeat(300_000);
    bench.put("it's one.json", format!("first\n{line}\nlast\n"));
    let read = bench.ok("read", json!({"path": "it's one.json"})).await;
    assert_eq!(read.text, "1\tfirst\n[Lines 1–1 of 3. Read on with offset=2.]");
    let read = bench.ok("read", json!({"path": "it's one.json", "offset": 2})).await;
    assert!(read.text.len() < 52 * 1024 && read.text.starts_with("2\tx✓x✓"));
    assert!(
        read.text.contains("[Line 2 has 1.1 MB; its first 50.0 KB are shown."),
        "{}",
        &read.text[50_000..]
    );
    assert!(read.text.ends_with("Next line: offset=3.]"));
    // The command that is offered does what it says: it goes on where the text was clipped.
    let command = read.text.split('`').nth(1).unwrap();
    let more =
        bench.ok("bash", json!({"command": format!("cd {:?}; {command}", bench.path())})).await;
    let shown = read.text[2..].split("\n[").next().unwrap();
    assert!(line[shown.len()..].starts_with(&more.text[..1_000]));
    std::fs::remove_file(more.details["fullOutputPath"].as_str().unwrap_or("/nowhere")).ok();
}

#[tokio::test]
async fn f79_what_is_not_text_is_refused_with_words() {
    let bench = Bench::new();
    bench.put("nul", b"text\0more");
    bench.put("late-nul", [b"x\n".repeat(10_000), b"\0\n".to_vec()].concat());
    bench.put("archive.gz", b"\x1f\x8b\x08\0\0\0\0\0\xff");
    bench.put("latin", b"caf\xe9\n");
    bench.put("dir/file", "");
    fifo(&bench.path().join("pipe"));
    for (arguments, expected) in [
        (json!({"path": "nul"}), "is a binary file, not text; look at it with bash"),
        (json!({"path": "late-nul", "offset": 9_999}), "is a binary file"),
        (json!({"path": "archive.gz"}), "is a binary file (application/gzip), not text"),
        (json!({"path": "latin"}), "is not valid UTF-8 (byte 3); if its encoding is known"),
        (json!({"path": "dir"}), "is a directory, not a file; list it with ls"),
        (json!({"path": "pipe"}), "is a FIFO (named pipe), not a file"),
        (json!({"path": "/dev/zero"}), "is a device, not a file"),
        (json!({"path": "dir/fill"}), "dir/fill does not exist; near it: file"),
        (json!({"path": "not/there/x"}), "not/there/x does not exist; the path exists up to ."),
    ] {
        let started = Instant::now();
        let error = bench.failed("read", arguments.clone()).await.text;
        assert!(error.contains(expected), "{arguments}: {error}");
        assert!(started.elapsed() < Duration::from_secs(2));
    }
    let read = bench.ok("read", json!({"path": "latin", "encoding": "latin1"})).await;
    assert!(read.text.starts_with("1\tcafé"), "{}", read.text);
}

#[tokio::test]
async fn a2_encodings_that_announce_themselves_are_read() {
    let bench = Bench::new();
    bench.put("bom", b"\xef\xbb\xbfmarked\n");
    bench.put("wide", b"\xff\xfeh\0i\0\r\0\n\0\x00\xac");
    bench.put("korean", b"\xb0\xa1\xb3\xaa\n");
    assert_eq!(bench.ok("read", json!({"path": "bom"})).await.text, "1\tmarked");
    let read = bench.ok("read", json!({"path": "wide"})).await;
    assert_eq!(read.text, "1\thi\n2\t가\n[The file is in UTF-16LE; edit keeps that.]");
    let read = bench.ok("read", json!({"path": "korean", "encoding": "euc-kr"})).await;
    assert!(read.text.starts_with("1\t가나\n"), "{}", read.text);
}

#[tokio::test]
async fn i13_control_characters_of_a_file_are_shown_not_sent() {
    let bench = Bench::new();
    bench.put("esc", "a\x1b[31mb\nlone\rcr\n");
    let read = bench.ok("read", json!({"path": "esc"})).await;
    assert!(read.text.starts_with("1\ta␛[31mb\n2\tlone␍cr\n[Control characters"), "{}", read.text);
}

#[cfg(feature = "images")]
#[tokio::test]
async fn a2_images_come_as_images_and_are_made_smaller_when_they_must() {
    use base64::Engine as _;
    let bench = Bench::new();
    let picture = image::DynamicImage::new_rgb8(40, 30);
    for name in ["a.png", "b.jpg", "c.gif", "d.webp"] {
        picture.save(bench.path().join(name)).unwrap();
        let output = bench.call("read", json!({"path": name})).await.unwrap();
        let [Block::Text { text, .. }, Block::Image(image)] = output.content.as_slice() else {
            panic!("{output:?}");
        };
        assert!(text.contains("40×30 pixels"), "{text}");
        assert!(image.mime_type.starts_with("image/"));
        let bytes = base64::engine::general_purpose::STANDARD.decode(&image.data).unwrap();
        assert_eq!(bytes, bench.bytes(name), "sent as it is");
    }
    image::DynamicImage::new_rgb8(3_000, 30).save(bench.path().join("wide.png")).unwrap();
    let read = bench.ok("read", json!({"path": "wide.png"})).await;
    assert!(read.text.contains("2000×20 pixels (made smaller from 3000×30)"), "{}", read.text);
    bench.put("broken.png", b"\x89PNG\r\n\x1a\nnot really");
    let error = bench.failed("read", json!({"path": "broken.png"})).await.text;
    assert!(error.contains("the image cannot be decoded"), "{error}");
}

#[tokio::test]
async fn f78_write_makes_parents_follows_links_and_keeps_modes() {
    let bench = Bench::new();
    let wrote = bench.ok("write", json!({"path": "new/deep/a.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(wrote.text, "Made new/deep/a.txt (2 lines, 8 B).");
    assert_eq!(wrote.summary, "new · 2 lines");
    symlink("new/deep/a.txt", bench.path().join("link")).unwrap();
    std::fs::set_permissions(
        bench.path().join("new/deep/a.txt"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let wrote = bench.ok("write", json!({"path": "link", "content": "one\n2\n"})).await;
    assert_eq!(wrote.summary, "+1 −1");
    assert!(wrote.details["diff"].as_str().unwrap().contains("-two\n+2\n"));
    assert!(bench.path().join("link").is_symlink());
    assert_eq!(bench.text("new/deep/a.txt"), "one\n2\n");
    let mode = std::fs::metadata(bench.path().join("new/deep/a.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let same = bench.ok("write", json!({"path": "link", "content": "one\n2\n"})).await;
    assert_eq!(same.summary, "unchanged");
}

#[tokio::test]
async fn f77_edit_keeps_marks_endings_and_encodings() {
    let bench = Bench::new();
    bench.put("crlf", b"\xef\xbb\xbfone\r\ntwo\nthree\r\n");
    bench
        .ok("edit", json!({"path": "crlf", "edits": [{"oldText": "one\n", "newText": "1\n1b\n"}]}))
        .await;
    assert_eq!(bench.bytes("crlf"), b"\xef\xbb\xbf1\r\n1b\r\ntwo\nthree\r\n");
    bench.put("wide", b"\xff\xfeh\0i\0\n\0");
    bench.ok("edit", json!({"path": "wide", "oldText": "hi", "newText": "ho가"})).await;
    assert_eq!(bench.bytes("wide"), b"\xff\xfeh\0o\0\x00\xac\n\0");
    bench.put("korean", b"\xb0\xa1\xb3\xaa\n");
    bench
        .ok(
            "edit",
            json!({"path": "korean", "old_text": "나", "new_text": "가", "encoding": "euc-kr"}),
        )
        .await;
    assert_eq!(bench.bytes("korean"), b"\xb0\xa1\xb0\xa1\n");
    let error = bench
        .failed(
            "edit",
            json!({"path": "korean", "old_text": "가가", "new_text": "✈", "encoding": "euc-kr"}),
        )
        .await
        .text;
    assert!(error.contains("has characters that EUC-KR cannot write"), "{error}");
}

#[tokio::test]
async fn i14_an_edit_is_exact_or_refused_and_shows_its_diff() {
    let bench = Bench::new();
    let source = "fn a() {\n    one();\n}\n\nfn b() {\n    one();\n}\n";
    bench.put("a.rs", source);
    let edits = json!([{"oldText": "fn a() {\n    one();", "newText": "fn a() {\n    two();"}, {"oldText": "fn b()", "newText": "fn c()"}]);
    let effect = bench.effect("edit", json!({"path": "a.rs", "edits": edits})).unwrap();
    let Effect::Write { path, diff: Some(diff) } = effect else { panic!("{effect:?}") };
    assert_eq!(path, bench.path().join("a.rs"));
    assert!(diff.contains("-    one();\n+    two();\n"), "{diff}");
    assert_eq!(bench.text("a.rs"), source, "asking changes nothing");

    // Some models send the list as a string.
    let edited = bench.ok("edit", json!({"path": "a.rs", "edits": edits.to_string()})).await;
    assert_eq!(edited.text, "Changed a.rs: 2 replacements (+2 −2 lines).");
    assert_eq!((&edited.details["added"], &edited.details["removed"]), (&json!(2), &json!(2)));
    assert_eq!(bench.text("a.rs"), "fn a() {\n    two();\n}\n\nfn c() {\n    one();\n}\n");

    let before = bench.text("a.rs");
    for (edits, expected) in [
        (json!([{"oldText": "();\n}", "newText": ""}]), "occurs 2 times (lines 2, 6)"),
        (
            json!([{"oldText": "one()", "newText": "1"}, {"oldText": "nine()", "newText": "9"}]),
            "oldText of edit 2 was not found",
        ),
        (json!([{"oldText": "", "newText": "x"}]), "oldText is empty"),
    ] {
        let error = bench.failed("edit", json!({"path": "a.rs", "edits": edits})).await.text;
        assert!(error.starts_with("a.rs was not changed: ") && error.contains(expected), "{error}");
        assert_eq!(bench.text("a.rs"), before);
    }
    let error =
        bench.failed("edit", json!({"path": "b.rs", "oldText": "a", "newText": "b"})).await.text;
    assert!(error.contains("b.rs does not exist; near it: a.rs"), "{error}");
}

#[tokio::test]
async fn i14_a_file_that_changed_since_it_was_read_is_not_touched() {
    let bench = Bench::new();
    bench.put("f", "one\n");
    bench.ok("read", json!({"path": "f"})).await;
    bench.put("f", "one\nsomebody else\n");
    for (tool, arguments) in [
        ("edit", json!({"path": "f", "oldText": "one", "newText": "1"})),
        ("write", json!({"path": "./f", "content": "mine\n"})),
    ] {
        let error = bench.failed(tool, arguments.clone()).await.text;
        assert!(
            error.starts_with("f was not changed: it has changed on disk since you last read it"),
            "{error}"
        );
        assert!(bench.effect(tool, arguments).is_err(), "nobody is asked for what cannot be done");
    }
    assert_eq!(bench.text("f"), "one\nsomebody else\n");
    bench.ok("read", json!({"path": "f"})).await;
    bench.ok("edit", json!({"path": "f", "oldText": "one", "newText": "1"})).await;
    // Its own change is no foreign one.
    bench.ok("edit", json!({"path": "f", "oldText": "1", "newText": "2"})).await;
    bench.ok("write", json!({"path": "f", "content": "3\n"})).await;
    assert_eq!(bench.text("f"), "3\n");
    // A part of a file is known by its time and size, all of it by its content.
    let touched = std::fs::File::options().append(true).open(bench.path().join("f")).unwrap();
    touched.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).unwrap();
    bench.ok("edit", json!({"path": "f", "oldText": "3", "newText": "4"})).await;
}

#[tokio::test]
async fn f78_a_failed_write_leaves_the_old_file_and_no_litter() {
    let bench = Bench::new();
    bench.put("file", "old");
    let error = bench.failed("write", json!({"path": "file/below", "content": "x"})).await.text;
    assert!(error.contains("file/below"), "{error}");
    let error = bench.failed("write", json!({"path": ".", "content": "x"})).await.text;
    assert!(error.contains("is a directory, not a file"), "{error}");
    fifo(&bench.path().join("pipe"));
    let error = bench.failed("write", json!({"path": "pipe", "content": "x"})).await.text;
    assert!(error.contains("is a FIFO"), "{error}");
    bench.cancel.cancel();
    bench.failed("write", json!({"path": "file", "content": "new"})).await;
    assert_eq!(bench.text("file"), "old");
    assert_eq!(std::fs::read_dir(bench.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn f53_what_is_stored_of_a_large_edit_is_bounded() {
    let bench = Bench::new();
    let line = "all work and no play makes a dull file\n";
    bench.put("big", line.repeat(500_000) + "the end\n");
    let edited =
        bench.ok("edit", json!({"path": "big", "oldText": "the end", "newText": "THE END"})).await;
    assert!(edited.details.to_string().len() < 2_000);
    let written =
        bench.ok("write", json!({"path": "big", "content": "x\n".repeat(1_000_000)})).await;
    assert!(written.details.to_string().len() < 40_000, "{}", written.details.to_string().len());
}
