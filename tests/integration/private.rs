//! What is the person's own stays theirs (P3, J1, F57, F86; the security part of "proven under abuse"):
//! modes of files, keys in whatever is written, and control characters in whatever is printed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A key as the environment may hold it; it must turn up nowhere.
const KEY: &str = "sk-proj-Zq3vT8LmX2kP9wR4sY7uB1nC6dF0gH5j";

/// Runs the program under an umask that forbids nothing, with a log and a key.
fn regrow(home: &Path, arguments: &str) -> Output {
    let mut command = Command::new("sh");
    let line = format!("umask 000; exec '{}' {arguments}", env!("CARGO_BIN_EXE_regrow"));
    command.args(["-c", &line]).current_dir(home.join("work")).stdin(Stdio::null()).env_clear();
    command.env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("OPENAI_API_KEY", KEY).env("AGENT_DEBUG_LOGGING", "true");
    command.output().unwrap()
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("work")).unwrap();
    home
}

/// All files and folders below one.
fn below(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, found);
        }
        found.push(path);
    }
}

#[test]
fn j1_p3_nobody_else_can_read_what_is_written_whatever_the_umask() {
    let home = home();
    std::fs::write(home.path().join("work/a.txt"), "hello\n").unwrap();
    for arguments in [
        "--provider offline --model offline -p 'read a.txt'",
        "--provider offline --model offline -p 'run echo hi' --permission full",
        "config migrate",
    ] {
        regrow(home.path(), arguments);
    }
    let mut found = Vec::new();
    below(home.path(), &mut found);
    let written: Vec<_> =
        found.iter().filter(|path| !path.starts_with(home.path().join("work"))).collect();
    assert!(written.iter().any(|path| path.extension().is_some_and(|end| end == "jsonl")));
    assert!(written.iter().any(|path| path.ends_with("logs")), "{written:?}");
    for path in written {
        // A file is safe in a folder that nobody else may enter.
        let is_open = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o077 != 0;
        let inside = path.ancestors().skip(1).take_while(|folder| *folder != home.path());
        let mut inside = inside.filter(|folder| folder.ends_with("logs") || !is_open(folder));
        assert!(
            !is_open(path) || path.is_dir() || inside.any(|folder| !is_open(folder)),
            "{}",
            path.display()
        );
        let text = std::fs::read(path).unwrap_or_default();
        assert!(!text.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{path:?}");
    }
}

#[test]
fn f86_names_and_texts_of_others_cannot_command_the_terminal() {
    let home = home();
    let nasty = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31mred\r\u{8}";
    std::fs::write(home.path().join("work").join("evil\u{1b}[2J.txt"), nasty).unwrap();
    let says = |arguments: &str| {
        let output = regrow(home.path(), arguments);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let session = {
        says("--provider offline --model offline -p 'run ls; cat evil*' --permission full");
        let mut found = Vec::new();
        below(home.path(), &mut found);
        found.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap()
    };
    // A name and a prompt, as another program of the family may have written them.
    let mut text = std::fs::read_to_string(&session).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    for (number, entry) in [
        serde_json::json!({"type": "session_info", "name": nasty}),
        serde_json::json!({"type": "label", "targetId": last["id"], "label": nasty}),
        serde_json::json!({"type": "message", "message":
            {"role": "user", "content": nasty, "timestamp": 1}}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut entry = entry;
        entry["id"] = serde_json::json!(format!("bad0000{number}"));
        entry["parentId"] = last["id"].clone();
        entry["timestamp"] = last["timestamp"].clone();
        text.push_str(&format!("{entry}\n"));
    }
    std::fs::write(&session, text).unwrap();
    let path = session.display();
    for arguments in [
        "sessions".to_owned(),
        format!("tree '{path}'"),
        format!("context '{path}'"),
        format!("doctor '{path}'"),
        format!("compact '{path}' --dry-run"),
        format!("export '{path}' --format md"),
        format!(
            "--provider offline --model offline --session '{path}' -p 'run ls; cat evil*' --permission full"
        ),
        "models nothing".to_owned(),
        format!("--provider offline --model offline --session '{}' -p hi", "no\u{1b}[2J"),
    ] {
        let said = says(&arguments);
        let is_bad = |character: &char| character.is_control() && !matches!(character, '\n' | '\t');
        let bad = said.chars().find(is_bad);
        assert_eq!(bad, None, "{arguments}: {:?}", said.chars().take(3_000).collect::<String>());
    }
}
