//! `grep`, `find` and `ls` on real folders (F98).

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Bench;

fn project() -> Bench {
    let bench = Bench::new();
    bench.put(".gitignore", "target/\n*.log\n");
    bench.put("src/main.rs", "fn main() {\n    needle();\n}\n");
    bench.put("src/a/deep.rs", "// Needle here\nneedle\nneedle needle\n");
    bench.put("target/out.rs", "needle\n");
    bench.put("debug.log", "needle\n");
    bench.put(".github/ci.yml", "run: needle\n");
    bench.put(".git/config", "needle\n");
    bench.put("bin.dat", b"needle\0needle\n");
    bench
}

#[tokio::test]
async fn a2_grep_honours_gitignore_and_looks_into_hidden_files() {
    let bench = project();
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(
        found.text,
        ".github/ci.yml:1: run: needle\nsrc/a/deep.rs:2: needle\nsrc/a/deep.rs:3: needle needle\n\
         src/main.rs:2:     needle();"
    );
    assert_eq!(found.summary, "4 matches in 3 files");
    assert_eq!((&found.details["matches"], &found.details["files"]), (&json!(4), &json!(3)));
    // What is named is searched, ignored or not.
    let found = bench.ok("grep", json!({"pattern": "needle", "path": "target"})).await;
    assert_eq!(found.text, "target/out.rs:1: needle");
    let found = bench.ok("grep", json!({"pattern": "needle", "path": "debug.log"})).await;
    assert_eq!(found.text, "debug.log:1: needle");
}

#[tokio::test]
async fn a2_a_gitignore_above_counts_only_within_a_repository() {
    let bench = Bench::new();
    bench.put(".gitignore", "*\n!sub\n");
    bench.put("sub/a.rs", "needle\n");
    assert_eq!(bench.ok("find", json!({"pattern": "*.rs", "path": "sub"})).await.text, "sub/a.rs");
    bench.put(".git/HEAD", "");
    let found = bench.ok("find", json!({"pattern": "*.rs", "path": "sub"})).await;
    assert!(found.text.starts_with("Nothing matches"), "{}", found.text);
}

#[tokio::test]
async fn a2_grep_options_do_what_they_say() {
    let bench = project();
    let text = async |arguments| bench.ok("grep", arguments).await.text;
    let lines = text(json!({"pattern": "NEEDLE", "ignoreCase": true, "glob": "*.rs"})).await;
    assert_eq!(lines.lines().count(), 4, "{lines}");
    assert_eq!(
        text(json!({"pattern": "needle()", "literal": true})).await,
        "src/main.rs:2:     needle();"
    );
    assert_eq!(
        text(json!({"pattern": "needle\\(", "context": 1})).await,
        "src/main.rs-1- fn main() {\nsrc/main.rs:2:     needle();\nsrc/main.rs-3- }"
    );
    let limited = text(json!({"pattern": "needle", "limit": 2})).await;
    assert!(
        limited.contains("\n\n[The first 2 matching lines are shown, there may be more"),
        "{limited}"
    );
    assert_eq!(
        text(json!({"pattern": "here\\nneedle"})).await,
        "src/a/deep.rs:1: // Needle here\nsrc/a/deep.rs:2: needle"
    );
    assert_eq!(text(json!({"pattern": "^}$"})).await, "src/main.rs:3: }");
    let none = bench.ok("grep", json!({"pattern": "absent", "path": "src"})).await;
    assert_eq!(
        (none.text.as_str(), none.summary.as_str()),
        ("No matches for absent in src", "no matches")
    );
    assert!(text(json!({"pattern": "needle", "glob": "!*.rs"})).await.starts_with(".github"));
}

#[tokio::test]
async fn f98_searches_follow_no_links_and_open_no_fifos() {
    let bench = project();
    symlink("..", bench.path().join("src/loop")).unwrap();
    symlink("/", bench.path().join("root")).unwrap();
    let fifo = bench.path().join("pipe");
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let started = Instant::now();
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(found.summary, "4 matches in 3 files");
    assert!(found.text.ends_with("\n\n[2 symbolic links were not followed]"), "{}", found.text);
    let found = bench.ok("find", json!({"pattern": "*.rs"})).await;
    assert!(found.text.starts_with("src/a/deep.rs\nsrc/main.rs\n\n[2 symbolic"), "{}", found.text);
    let error = bench.failed("grep", json!({"pattern": "x", "path": "pipe"})).await.text;
    assert!(error.contains("is a FIFO (named pipe); only files and directories"), "{error}");
    // A link that is named is meant.
    symlink("src", bench.path().join("alias")).unwrap();
    let found = bench.ok("grep", json!({"pattern": "main", "path": "alias"})).await;
    assert!(found.text.starts_with("alias/main.rs:1: fn main() {"), "{}", found.text);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn i7_a_cancelled_search_settles_at_once() {
    let bench = Bench::new();
    let call = bench.call("grep", json!({"pattern": "zzzz+y", "path": "/"}));
    let cancelled = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        bench.cancel.cancel();
        Instant::now()
    };
    let (result, at) = tokio::join!(call, cancelled);
    assert!(at.elapsed() < Duration::from_millis(400), "{:?}", at.elapsed());
    assert_eq!(result.unwrap_err().message, "Stopped by the user");
}

#[tokio::test]
async fn f98_results_are_bounded() {
    let bench = Bench::new();
    for number in 0..3_000 {
        bench.put(&format!("dir/file-{number:04}.txt"), format!("{}\n", "needle ".repeat(2_000)));
    }
    let found = bench.ok("grep", json!({"pattern": "needle", "limit": 2_000})).await;
    assert!(found.text.len() < 52 * 1024, "{}", found.text.len());
    assert!(
        found.text.contains("[The result is full, there are more matches"),
        "{}",
        found.summary
    );
    let found = bench.ok("find", json!({"pattern": "*.txt"})).await;
    assert_eq!(found.summary, "1000+ paths");
    let listed = bench.ok("ls", json!({"path": "dir"})).await;
    assert!(
        listed.text.ends_with("[500 of 3,000 entries are shown]"),
        "{}",
        &listed.text[listed.text.len() - 60..]
    );
}

#[tokio::test]
async fn f98_a_match_far_into_a_long_line_is_shown() {
    let bench = Bench::new();
    bench.put("min.js", format!("{}needle{}\n", "한x".repeat(50_000), "y".repeat(100_000)));
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert!(found.text.contains("한xneedleyyy") && found.text.ends_with('…'), "{}", found.text);
    assert!(found.text.len() < 1_000);
}

#[tokio::test]
async fn f98_names_that_are_not_utf8_are_shown_and_can_be_given_back() {
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(bench.path().join(name), "needle\n").unwrap();
    let found = bench.ok("find", json!({"pattern": "*.txt"})).await;
    assert_eq!(found.text, "caf\u{fffd}.txt");
    let read = bench.ok("read", json!({"path": found.text})).await;
    assert_eq!(read.text, "1\tneedle");
    assert_eq!(
        bench.ok("grep", json!({"pattern": "needle"})).await.text,
        "caf\u{fffd}.txt:1: needle"
    );
}

#[tokio::test]
async fn a2_find_compares_names_or_paths() {
    let bench = project();
    for (pattern, expected) in [
        ("*.rs", "src/a/deep.rs\nsrc/main.rs"),
        ("src/*.rs", "src/main.rs"),
        ("src/**/*.rs", "src/a/deep.rs\nsrc/main.rs"),
        ("**/deep.*", "src/a/deep.rs"),
        ("./src/a/", "src/a/"),
        ("{main,deep}.rs", "src/a/deep.rs\nsrc/main.rs"),
        ("main", "Nothing matches main in .; try *main*"),
        ("out.rs", "Nothing matches out.rs in .; try *out.rs*"),
        ("config", "Nothing matches config in .; try *config*"),
    ] {
        let found = bench.ok("find", json!({"pattern": pattern})).await;
        assert_eq!(found.text, expected, "{pattern}");
    }
    let inside = bench.ok("find", json!({"pattern": "a/*.rs", "path": "src"})).await;
    assert_eq!(inside.text, "src/a/deep.rs");
    let absolute = format!("{}/src/*.rs", bench.path().display());
    assert_eq!(bench.ok("find", json!({"pattern": absolute})).await.text, "src/main.rs");
}

#[tokio::test]
async fn a2_ls_lists_one_directory_and_says_what_it_leaves_out() {
    let bench = project();
    symlink("src", bench.path().join("link")).unwrap();
    let listed = bench.ok("ls", json!({})).await;
    assert_eq!(
        listed.text,
        ".github/\n.gitignore\nbin.dat\nlink -> src/\nsrc/\n\n\
         [Not listed: 3 ignored entries: .git, debug.log, target]"
    );
    assert_eq!(listed.summary, "5 entries");
    assert_eq!(bench.ok("ls", json!({"path": "target"})).await.text, "out.rs");
    std::fs::create_dir(bench.path().join("void")).unwrap();
    assert_eq!(bench.ok("ls", json!({"path": "void"})).await.text, "void is empty");
    let error = bench.failed("ls", json!({"path": "src/main.rs"})).await.text;
    assert_eq!(error, "src/main.rs is a file, not a directory; use read");
}
