//! Programs as hooks, good and bad ones (SPEC section 6, F81): real processes, no session.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use regrow::hook::external::{End, ExternalHook, LARGEST_ANSWER};
use regrow::hook::{EventName, Hook, HookAnswer, HookEvent, SessionFacts};
use regrow::settings::{HookCommand, HookSettings};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::shell;

fn event(cwd: &Path, size: usize) -> HookEvent {
    HookEvent {
        event: EventName::BeforePrompt,
        session: SessionFacts { id: "s".into(), file: None, cwd: cwd.into() },
        data: Map::from_iter([("prompt".to_owned(), Value::from("x".repeat(size)))]),
    }
}

async fn answer(settings: HookSettings) -> Result<Option<HookAnswer>, String> {
    let folder = tempfile::tempdir().unwrap();
    let hook = ExternalHook::new(settings);
    hook.on_event(&event(folder.path(), 10), &CancellationToken::new()).await
}

/// Waits until no process runs with this argument.
pub async fn gone(mark: &str) {
    let alive = || {
        let found = std::process::Command::new("pgrep").args(["-f", mark]).output().unwrap();
        !found.stdout.is_empty()
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while alive() {
        assert!(Instant::now() < deadline, "`{mark}` still runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_event_is_one_object_on_stdin_and_the_answer_one_on_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = shell(r#"cat > event.json; printf '{"context": ["%s %s"]}' "$0" "$1""#);
    settings.args = vec!["an argument".into()];
    let hook = ExternalHook::new(settings);
    let got = hook.on_event(&event(folder.path(), 3), &CancellationToken::new()).await;
    assert_eq!(got.unwrap().unwrap().rest["context"], json!(["h an argument"]));
    // The working folder is the session's.
    let event: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("event.json")).unwrap()).unwrap();
    assert_eq!((&event["event"], &event["prompt"]), (&json!("before_prompt"), &json!("xxx")));
}

#[tokio::test]
async fn silence_is_no_opinion_and_exit_2_cancels_with_stderr_as_the_reason() {
    assert_eq!(answer(shell("true")).await, Ok(None));
    assert_eq!(answer(shell("echo; echo warning >&2")).await, Ok(None));
    let cancelled = answer(shell("echo '{\"context\":[\"x\"]}'; echo 'not on Friday' >&2; exit 2"));
    assert_eq!(cancelled.await, Ok(Some(HookAnswer::cancel("not on Friday"))));
}

#[tokio::test]
async fn f81_garbage_other_exits_and_signals_are_failures_with_words() {
    for (line, words) in [
        ("echo hello", "not one JSON object"),
        ("echo '[]'", "not an object"),
        ("echo '{} trailing'", "not one JSON object"),
        ("head -c 300 /dev/urandom", "not one JSON object"),
        ("echo first >&2; echo 'no such branch' >&2; exit 3", "code 3: no such branch"),
        ("kill -9 $$", "signal 9"),
    ] {
        let error = answer(shell(line)).await.unwrap_err();
        assert!(error.contains(words), "{line}: {error}");
    }
}

#[tokio::test]
async fn f81_a_program_that_cannot_be_started_is_a_failure_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    for (program, words) in [
        ("no-such-program-anywhere", "no such program"),
        (plain.to_str().unwrap(), "not executable"),
    ] {
        let command = HookCommand::Program(vec![program.into()]);
        let error = answer(HookSettings { command, ..shell("") }).await.unwrap_err();
        assert!(error.contains(words) && error.contains(program), "{error}");
    }
    let hook = ExternalHook::new(shell("true"));
    let gone = folder.path().join("gone");
    let error = hook.start(&event(&gone, 1)).await.unwrap_err();
    assert!(error.contains("that folder is gone"), "{error}");
}

#[tokio::test]
async fn f81_a_program_that_never_reads_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let hook = ExternalHook::new(shell("exec < /dev/null; echo '{\"cancel\": true}'"));
    // More than any pipe holds.
    let event = event(folder.path(), 3_000_000);
    let ran = hook.start(&event).await.unwrap();
    assert_eq!(ran.end, End::Exited(0));
    assert!(hook.read(&ran).unwrap().unwrap().cancel);
}

#[tokio::test]
async fn f81_a_large_event_and_a_large_answer_pass_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let hook = ExternalHook::new(shell("cat"));
    let ran = hook.start(&event(folder.path(), 3_000_000)).await.unwrap();
    assert_eq!(ran.end, End::Exited(0));
    assert_eq!(hook.read(&ran).unwrap().unwrap().rest["prompt"].as_str().unwrap().len(), 3_000_000);
}

#[tokio::test]
async fn f81_a_program_that_says_too_much_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let hook = ExternalHook::new(shell("yes | head -c 10000000; sleep 7131"));
    let ran = hook.start(&event(folder.path(), 1)).await.unwrap();
    assert_eq!(ran.end, End::TooMuch);
    assert!(ran.stdout.len() < LARGEST_ANSWER + 1_000_000, "{}", ran.stdout.len());
    assert!(hook.read(&ran).unwrap_err().contains("more than 4 MB"));
    gone("^sleep 7131$").await;
    // The same without a sleep: the end comes before all was read.
    let ended = ExternalHook::new(shell("yes | head -c 10000000"));
    assert_eq!(ended.start(&event(folder.path(), 1)).await.unwrap().end, End::TooMuch);
    let noisy = ExternalHook::new(shell("yes | head -c 10000000 >&2; echo last >&2; exit 1"));
    let ran = noisy.start(&event(folder.path(), 1)).await.unwrap();
    assert!(ran.stderr.len() < 100_000 && ran.stderr.ends_with("last"));
}

#[tokio::test]
async fn f81_what_a_program_leaves_behind_may_talk_for_ever_and_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "(while :; do echo x >&2; sleep 0.01; done) & exit 0",
        "(while :; do echo '{}'; sleep 0.01; done) & exit 0",
    ] {
        let hook = ExternalHook::new(HookSettings { timeout: 60, ..shell(line) });
        let began = std::time::Instant::now();
        hook.start(&event(folder.path(), 1)).await.unwrap();
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn f81_a_program_that_hangs_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let line = "trap '' TERM; sleep 7132 & setsid sleep 7132 & exec cat > /dev/null < /dev/zero";
    let hook = ExternalHook::new(HookSettings { timeout: 1, ..shell(line) });
    let ran = hook.start(&event(folder.path(), 1)).await.unwrap();
    assert_eq!(ran.end, End::TimedOut);
    assert!(ran.elapsed < Duration::from_secs(5));
    assert!(hook.read(&ran).unwrap_err().contains("longer than 1 s"));
    gone("^sleep 7132$").await;
}

#[tokio::test]
async fn f81_whoever_holds_the_output_after_the_end_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let hook = ExternalHook::new(shell("sleep 7133 & echo '{\"cancel\": true}'"));
    let ran = hook.start(&event(folder.path(), 1)).await.unwrap();
    assert!(ran.elapsed < Duration::from_secs(5));
    assert!(hook.read(&ran).unwrap().unwrap().cancel);
    gone("^sleep 7133$").await;
}

#[tokio::test]
async fn f81_whoever_stops_waiting_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let hook = ExternalHook::new(shell("echo started > began; sleep 7134"));
    let event = event(folder.path(), 1);
    let began = folder.path().join("began");
    tokio::select! {
        ran = hook.start(&event) => panic!("{ran:?}"),
        () = async {
            while !began.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        } => {}
    }
    gone("^sleep 7134$").await;
}

#[tokio::test]
async fn f81_there_is_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let line = "if (: < /dev/tty) 2> /dev/null; then echo '{\"cancel\": true}'; fi; ps -o sid=,pid= -p $$ >&2";
    let hook = ExternalHook::new(shell(line));
    let ran = hook.start(&event(folder.path(), 1)).await.unwrap();
    assert_eq!(hook.read(&ran), Ok(None));
    let ids: Vec<_> = ran.stderr.split_whitespace().collect();
    assert_eq!(ids[0], ids[1], "it leads a session of its own: {}", ran.stderr);
}

#[test]
fn a_hook_hears_of_its_events_and_its_tools() {
    let mut settings = shell("true");
    settings.events = vec![EventName::ToolCall, EventName::TurnEnd];
    settings.tools = Some(vec!["bash".into(), "w*".into()]);
    let hook = ExternalHook::new(settings);
    assert!(hook.wants(EventName::ToolCall, Some("write")));
    assert!(!hook.wants(EventName::ToolCall, Some("read")));
    assert!(!hook.wants(EventName::ToolResult, Some("bash")));
    assert!(hook.wants(EventName::TurnEnd, None));
}
