//! Hooks of the settings, through the real binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use regrow::hook::EventName;
use serde_json::json;

use super::written;
use crate::support::pty::{Home, Pty};

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

#[test]
fn hooks_are_listed_and_tried_on_a_sample() {
    let home = home(
        "hooks:\n  - {name: monday, events: [before_prompt], command: \"echo '{\\\"context\\\": \\\"Monday\\\"}'\"}\n  \
         - {name: broken, events: [before_prompt, turn_end], command: [no-such-program], required: true}\n  \
         - {name: never, events: [before_prompt], command: touch ../asked}\n  \
         - {name: guard, events: [tool_call], tools: [bash], command: \"grep -q rm && { echo no >&2; exit 2; }; true\"}\n",
    );
    let run = |arguments: &[&str]| {
        let output = regrow(home.path(), &[&["hooks"], arguments].concat());
        (output.status.code(), said(&output))
    };
    let (code, words) = run(&["list"]);
    assert_eq!(code, Some(0));
    for part in ["monday\n", "no-such-program", "before_prompt, turn_end", "tools     bash", "60 s"]
    {
        assert!(words.contains(part), "{part}: {words}");
    }
    let (code, words) = run(&["test", "before_prompt"]);
    assert_eq!(code, Some(1), "a hook failed");
    for part in [
        "monday: exit 0",
        "adds for the model: Monday",
        "broken: `no-such-program` cannot be started",
        "required and failed",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(!home.path().join("asked").exists(), "the chain has ended");
    let (code, words) =
        run(&["test", "tool_call", "--tool", "bash", "--input", r#"{"command":"rm x"}"#]);
    assert!(
        code == Some(0) && words.contains("exit 2") && words.contains("stopped it: no"),
        "{words}"
    );
    let (_, words) = run(&["test", "tool_call", "--tool", "read"]);
    assert!(words.contains("not asked"), "{words}");
    let (code, words) = run(&["test", "tool_cal"]);
    assert!(code == Some(1) && words.contains("did you mean `tool_call`?"), "{words}");
    let (code, words) = run(&["test", "session_tree"]);
    assert!(code == Some(1) && words.contains("no hook of the settings"), "{words}");
}

#[test]
fn every_event_can_be_tried_on_the_sample_and_on_a_session() {
    let home = home(
        "hooks: [{events: [session_before_compact, session.compacting, session_compact, \
        session_before_tree, session_tree, session_start, session_shutdown, before_prompt, tool_call, \
        tool_result, turn_end], command: 'cat > ../event'}]\n",
    );
    regrow(home.path(), &["-p", "read a.txt"]);
    let id = written(home.path(), "event")["sessionId"].as_str().unwrap().to_owned();
    for event in EventName::ALL {
        let name = event.as_str();
        let output = regrow(home.path(), &["hooks", "test", name]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
        assert_eq!(written(home.path(), "event")["event"], name);
    }
    let output = regrow(home.path(), &["hooks", "test", "tool_result", "--session", &id]);
    assert!(output.status.success(), "{}", said(&output));
    let event = written(home.path(), "event");
    assert_eq!((&event["sessionId"], &event["input"]["path"]), (&json!(id), &json!("a.txt")));
    assert!(event["content"].to_string().contains("안녕"));
}

/// The path of an example; `None`, said aloud, where it cannot run.
fn example(name: &str) -> Option<String> {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: there is no python3");
        return None;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/examples/hooks").join(name);
    Some(path.display().to_string())
}

#[test]
fn the_example_guard_keeps_tools_off_paths() {
    let Some(guard) = example("guard_paths.py") else { return };
    let home = home(&format!(
        "hooks: [{{name: private, events: [tool_call], command: [python3, {guard}], \
         args: [.env, 'secrets/**', '*.pem'], required: true}}]\n"
    ));
    let work = home.path().join("work");
    std::fs::create_dir(work.join("secrets")).unwrap();
    std::fs::write(work.join(".env"), "KEY=1\n").unwrap();
    std::os::unix::fs::symlink(".env", work.join("harmless")).unwrap();
    let blocks = |tool: &str, input: serde_json::Value| {
        let input = input.to_string();
        let arguments = ["hooks", "test", "tool_call", "--tool", tool, "--input", &input];
        let output = regrow(home.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        said(&output).contains("off limits")
    };
    for (path, expected) in [
        (".env", true),
        ("sub/../.env", true),
        ("deep/down/.env", true),
        ("harmless", true),
        ("secrets/a/b", true),
        ("secrets", true),
        ("key.pem", true),
        ("@.env", true),
        ("a.txt", false),
        (".environment", false),
        ("src/secrets.rs", false),
    ] {
        assert_eq!(blocks("read", json!({"path": path})), expected, "{path}");
    }
    for (command, expected) in [
        ("cat .env", true),
        ("cat<./secrets/a", true),
        ("grep KEY \".env\"", true),
        ("tar --file=key.pem", true),
        ("cargo test", false),
    ] {
        assert_eq!(blocks("bash", json!({"command": command})), expected, "{command}");
    }
    let words = said(&regrow(home.path(), &["-p", "read .env"]));
    assert!(!words.contains("KEY=1") && words.contains("off limits"), "{words}");
}

#[test]
fn the_example_compaction_asks_another_model_and_falls_back() {
    let Some(compactor) = example("compact_with_cli.py") else { return };
    let configure = |model: &str| {
        home(&format!(
            "hooks: [{{name: cheap, events: [session_before_compact], command: [python3, {compactor}], args: {model}}}]\n\
             compaction: {{keepRecentTokens: 500}}\n"
        ))
    };
    let compacted = |model: &str| {
        let home = configure(model);
        let folder = home.path().join(".local/share/regrow/sessions/any");
        std::fs::create_dir_all(&folder).unwrap();
        let tour = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sessions/tour.jsonl");
        let session = folder.join("tour.jsonl");
        let work = home.path().join("work").display().to_string();
        let tour = std::fs::read_to_string(tour).unwrap().replacen("/home/me/shop", &work, 1);
        std::fs::write(&session, tour).unwrap();
        let words = said(&regrow(home.path(), &["compact", session.to_str().unwrap()]));
        let text = std::fs::read_to_string(&session).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let asked = std::fs::read_to_string(home.path().join("work/asked")).unwrap_or_default();
        (words, last, asked)
    };
    let (words, entry, asked) = compacted("[sh, -c, 'cat > asked; echo A short summary.']");
    assert_eq!(entry["type"], "compaction", "{words}");
    assert_eq!(entry["fromExtension"], true, "{words}");
    assert!(entry["summary"].as_str().unwrap().starts_with("A short summary."));
    assert_eq!(entry["details"]["writtenBy"], "sh");
    assert!(asked.contains("[User]: ") && asked.contains("[Result of ") && asked.contains("Goal"));
    for (model, reason) in [
        ("[no-such-model]", "`no-such-model` cannot be started"),
        ("[sh, -c, 'echo overloaded >&2; exit 1']", "`sh` failed: overloaded"),
        ("['true']", "`true` said nothing"),
        ("[]", "no command is named"),
    ] {
        let (words, entry, _) = compacted(model);
        assert!(words.contains(reason), "{model}: {words}");
        assert_eq!(entry["type"], "compaction", "{model}: {words}");
        assert_eq!(entry.get("fromExtension"), None, "{model}");
    }
}

/// I7, F81: on the screen one sees that hooks run, and Escape brings the prompt back.
#[test]
fn f81_escape_stops_a_hook_on_the_screen() {
    let home = Home::new();
    let hangs = "hooks: [{events: [before_prompt], command: 'sleep 7161'}]\n";
    home.configure("settings.yaml", hangs);
    let mut pty = Pty::start(home.command(&[]), 80, 24);
    pty.until_shows("/help");
    pty.send("read README.md\r");
    pty.until_shows("running hooks");
    pty.send("\x1b");
    pty.until_shows("> read README.md");
    pty.until_gone("running hooks");
    assert_eq!(home.sessions().len(), 0, "J10: nothing was said");
    pty.send("\x03\x03");
}

/// A3: the command that the person has written is what runs, and the transcript says so.
#[test]
fn a3_a_command_is_edited_on_the_screen() {
    let home = Home::new();
    let mut pty = Pty::start(home.command(&[]), 100, 30);
    pty.until_shows("/help");
    pty.send("run touch made.txt\r");
    pty.until_shows("edit it first");
    pty.send("e");
    pty.until_shows("run this");
    pty.send("\x15touch other.txt\r");
    pty.until_shows("✓ bash");
    pty.until_gone("esc to stop");
    let there = |name: &str| home.project().join(name).exists();
    assert_eq!((there("made.txt"), there("other.txt")), (false, true));
    let session = std::fs::read_to_string(&home.sessions()[0]).unwrap();
    assert!(session.contains("The user changed this command before it ran: touch other.txt"));
    pty.send("\x03\x03");
}
