//! The real binary without a screen: exit codes, and that it always ends (SPEC section 12, I8).

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn regrow(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
    command.args(arguments).current_dir(home).stdin(Stdio::null()).env_clear();
    command.env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A home with a session in it, and the session's id.
fn home_with_a_session() -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a.txt"), "안녕\n").unwrap();
    let said = regrow(home.path(), &["-p", "read a.txt"]);
    assert_eq!(said.status.code(), Some(0), "{}", text(&said.stderr));
    assert!(text(&said.stdout).contains("안녕"));
    let listed = text(&regrow(home.path(), &["sessions", "--json"]).stdout);
    let session: serde_json::Value = serde_json::from_str(listed.trim()).unwrap();
    (home, session["id"].as_str().unwrap().to_owned())
}

#[test]
fn section_12_a_prompt_that_cannot_be_said_ends_with_a_word_and_a_code() {
    let home = tempfile::tempdir().unwrap();
    for (arguments, code) in [
        (&["-p", " "][..], 1),
        (&["-p"][..], 2),
        (&["--no-such-flag"][..], 2),
        (&["--model", "nosuch", "-p", "hi"][..], 1),
        (&["--session", "nosuch", "-p", "hi"][..], 1),
    ] {
        assert_eq!(regrow(home.path(), arguments).status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a3_a_run_that_only_reads_reads_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a.txt"), "안녕\n").unwrap();
    let say = |prompt| regrow(home.path(), &["--permission", "read", "-p", prompt]);
    assert!(text(&say("read a.txt").stdout).contains("안녕"));
    say("write b.txt: hello");
    say("run touch c.txt");
    assert!(!home.path().join("b.txt").exists() && !home.path().join("c.txt").exists());
}

#[test]
fn j8_a_session_that_another_process_writes_is_refused_and_the_program_ends() {
    let (home, id) = home_with_a_session();
    let listed = text(&regrow(home.path(), &["sessions", "--json"]).stdout);
    let session: serde_json::Value = serde_json::from_str(listed.trim()).unwrap();
    let path = session["path"].as_str().unwrap();
    let _lock = regrow::session::lock::SessionLock::acquire(Path::new(path)).unwrap();
    let said = regrow(home.path(), &["--session", &id, "-p", "read a.txt"]);
    assert_eq!(said.status.code(), Some(1));
    assert!(text(&said.stderr).contains("read-only"), "{}", text(&said.stderr));
}

#[test]
fn i8_an_export_never_overwrites_its_session() {
    let (home, id) = home_with_a_session();
    let listed = text(&regrow(home.path(), &["sessions", "--json"]).stdout);
    let session: serde_json::Value = serde_json::from_str(listed.trim()).unwrap();
    let path = session["path"].as_str().unwrap();
    let before = std::fs::read(path).unwrap();
    let written = regrow(home.path(), &["export", &id, "-o", path]);
    assert_eq!(written.status.code(), Some(1));
    assert_eq!(std::fs::read(path).unwrap(), before);
    let written = regrow(home.path(), &["export", &id, "-o", "copy.jsonl"]);
    assert_eq!(written.status.code(), Some(0), "{}", text(&written.stderr));
    assert_eq!(std::fs::read(home.path().join("copy.jsonl")).unwrap(), before);
}

#[test]
fn c26_looking_commands_change_nothing() {
    let (home, id) = home_with_a_session();
    let run = |arguments: &[&str]| {
        let ran = regrow(home.path(), arguments);
        assert_eq!(ran.status.code(), Some(0), "{arguments:?}: {}", text(&ran.stderr));
        text(&ran.stdout)
    };
    assert!(run(&["tree", &id]).contains("read a.txt"));
    let context: serde_json::Value =
        serde_json::from_str(&run(&["context", &id, "--json"])).unwrap();
    let roles: Vec<_> =
        context["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
    assert!(context["tokens"]["tokens"].as_u64().unwrap() > 0);
    assert!(run(&["compact", &id, "--dry-run", "--json"]).contains("nothing"));
    assert!(run(&["doctor", &id]).contains("nothing is damaged"));
}

#[test]
fn p3_a_key_is_stored_for_its_owner_alone_and_never_shown() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
    command
        .args(["login", "anthropic"])
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"sk-ant-1234567890abcdef\n").unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    let file = home.path().join(".config/regrow/auth.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!text(&ended.stdout).contains("sk-ant") && !text(&ended.stderr).contains("sk-ant"));
    let models = text(&regrow(home.path(), &["models", "anthropic"]).stdout);
    assert!(models.lines().next().unwrap().ends_with("ready"), "{models}");
}
