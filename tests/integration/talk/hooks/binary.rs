//! Hooks of the settings, through the real binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn regrow(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
    command.args(arguments).current_dir(home.join("work")).stdin(Stdio::null()).env_clear();
    command.env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// A home with a folder to work in, and a settings file.
fn home(settings: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("work")).unwrap();
    std::fs::create_dir_all(home.path().join(".config/regrow")).unwrap();
    std::fs::write(home.path().join("work/a.txt"), "안녕\n").unwrap();
    std::fs::write(home.path().join(".config/regrow/settings.yaml"), settings).unwrap();
    home
}

#[test]
fn hooks_of_the_settings_guard_a_run_and_are_told_of_its_end() {
    let home = home(
        "hooks:\n  - events: [tool_call]\n    tools: [read]\n    command: \"echo 'not that file' >&2; exit 2\"\n  \
         - events: [turn_end, session_start, session_shutdown]\n    command: [sh, -c, 'cat >> ../told; echo >> ../told']\n",
    );
    let output = regrow(home.path(), &["-p", "read a.txt"]);
    let words = said(&output);
    assert!(!words.contains("안녕") && words.contains("not that file"), "{words}");
    let told = std::fs::read_to_string(home.path().join("told")).unwrap();
    let events: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["session_start", "turn_end", "session_shutdown"]);
}

#[test]
fn a_held_back_prompt_is_a_failure_of_the_run() {
    let home = home("hooks: [{events: [before_prompt], command: \"echo never >&2; exit 2\"}]\n");
    let output = regrow(home.path(), &["-p", "read a.txt"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("your prompt was not sent"), "{}", said(&output));
}

#[test]
fn g2_a_projects_hooks_run_only_once_its_folder_is_trusted() {
    let home = home("");
    let project = home.path().join("work/.regrow");
    std::fs::create_dir_all(&project).unwrap();
    let settings = r#"{"hooks": [{"events": ["turn_end"], "command": "touch ../ran"}]}"#;
    std::fs::write(project.join("settings.json"), settings).unwrap();
    let ran = home.path().join("ran");
    let output = regrow(home.path(), &["-p", "read a.txt"]);
    assert!(!ran.exists() && said(&output).contains("not trusted"), "{}", said(&output));
    regrow(home.path(), &["--trust", "-p", "read a.txt"]);
    assert!(ran.exists());
}
