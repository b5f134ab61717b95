//! `bash`: it settles, nothing of it stays, its output is bounded and clean (F72–F76, F85, I13).

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Bench;

/// Runs a command and checks that it took less than `limit` seconds.
async fn within<T>(limit: f64, run: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let result = run.await;
    let took = started.elapsed().as_secs_f64();
    assert!(took < limit, "took {took:.2} s, expected less than {limit} s");
    result
}

/// Whether a process is there and not a zombie.
fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

async fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn written(path: &Path) -> String {
    wait_until("the file is written", || {
        std::fs::read_to_string(path).is_ok_and(|t| t.ends_with('\n'))
    })
    .await;
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a2_output_order_exit_codes_and_signals_are_told() {
    let bench = Bench::new();
    let ran = bench.ok("bash", json!({"command": "echo one; echo two >&2; echo three"})).await;
    assert_eq!(ran.text, "one\ntwo\nthree");
    assert_eq!(ran.details["exitCode"], 0);
    assert!(ran.summary.ends_with(" s"), "{}", ran.summary);

    let ran = bench.failed("bash", json!({"command": "echo why; exit 101"})).await;
    assert_eq!(ran.text, "why\n\n[Command exited with code 101]");
    assert!(ran.summary.starts_with("exit 101 · "), "{}", ran.summary);

    let ran = bench.failed("bash", json!({"command": "kill -SEGV $$"})).await;
    assert_eq!(ran.text, "(no output)\n\n[Command was ended by signal 11 (SIGSEGV)]");
    assert_eq!(ran.details["exitCode"], json!(null));

    let ran = bench.failed("bash", json!({"command": "no-such-program"})).await;
    assert!(ran.summary.starts_with("exit 127"), "{}", ran.summary);
    assert_eq!(bench.ok("bash", json!({"command": "true"})).await.text, "(no output)");
    let here = bench.ok("bash", json!({"command": "pwd"})).await.text;
    assert_eq!(Path::new(&here), bench.path().canonicalize().unwrap());
}

#[tokio::test]
async fn f72_it_returns_when_the_shell_ends_whoever_holds_the_pipe() {
    let bench = Bench::new();
    for command in [
        "sleep 30 & echo ok",
        "(sleep 30; echo late) & echo ok",
        "sleep 30 2>&1 | cat & echo ok",
        "setsid sleep 30 & echo ok",
        "nohup sleep 30 & echo ok",
        "(while :; do echo noise; sleep 0.01; done) & echo ok",
        "exec 3>&1; sleep 30 >&3 & echo ok",
    ] {
        let ran = within(3.0, bench.ok("bash", json!({"command": command}))).await;
        assert!(ran.text.contains("ok"), "{command}: {}", ran.text);
    }
}

#[tokio::test]
async fn f73_background_jobs_end_with_the_command_unless_asked_to_stay() {
    let bench = Bench::new();
    let ran = bench.ok("bash", json!({"command": "sleep 60 & echo $!"})).await;
    assert!(
        ran.text.contains("[Background jobs of this command were ended with it"),
        "{}",
        ran.text
    );
    let pid = ran.text.lines().next().unwrap().to_owned();
    wait_until("the job has ended", || !lives(&pid)).await;

    for command in [
        "nohup sleep 60 >/dev/null 2>&1 & echo $!",
        "setsid sleep 60 & sleep 0.2; pgrep -n -f 'sleep 60'",
    ] {
        let ran = bench.ok("bash", json!({"command": command})).await;
        assert!(!ran.text.contains("[Background jobs"), "{}", ran.text);
        let pid = ran.text.lines().last().unwrap().to_owned();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(lives(&pid), "{command} was asked to stay");
        std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
    }
}

#[tokio::test]
async fn f73_a_timeout_ends_the_whole_group_even_what_ignores_sigterm() {
    let bench = Bench::new();
    let file = bench.path().join("pids");
    let command = "trap '' TERM; sleep 61 & echo $! > pids; (trap '' TERM; sleep 62 & echo $! >> pids; wait; sleep 63) & \
                   echo started; while :; do sleep 0.1; done";
    let ran = within(4.5, bench.failed("bash", json!({"command": command, "timeout": 0.4}))).await;
    assert!(ran.text.starts_with("started\n"), "{}", ran.text);
    assert!(ran.text.contains("[Command ran longer than 0.4 s and was stopped"), "{}", ran.text);
    assert!(ran.summary.starts_with("timed out · "), "{}", ran.summary);
    for pid in std::fs::read_to_string(file).unwrap().lines() {
        wait_until("every member has ended", || !lives(pid)).await;
    }
}

#[tokio::test]
async fn f73_a_timeout_lets_a_command_say_goodbye() {
    let bench = Bench::new();
    let command = "trap 'echo bye; exit 3' TERM; echo hi; while :; do sleep 0.05; done";
    let ran = within(2.0, bench.failed("bash", json!({"command": command, "timeout": 0.3}))).await;
    assert!(ran.text.starts_with("hi\n") && ran.text.contains("bye\n"), "{}", ran.text);
}

#[tokio::test]
async fn i7_a_cancelled_call_settles_at_once_and_leaves_nothing_alive() {
    let bench = Bench::new();
    let file = bench.path().join("pids");
    // A stubborn group, a job in a group of its own (set -m), and one in a session of its own.
    let command = "trap '' TERM; echo begun; setsid sleep 72 & b=$!; set -m; sleep 71 & a=$!; \
                   sleep 0.1; printf '%s\\n' $$ $a $b > tmp; mv tmp pids; while :; do sleep 0.1; done";
    let call = bench.call("bash", json!({"command": command}));
    let abort = async {
        let pids = written(&file).await;
        bench.cancel.cancel();
        (Instant::now(), pids)
    };
    let (ran, (cancelled_at, pids)) = tokio::join!(call, abort);
    // A tenth of a second is the aim; a busy machine gets some more, the grace of 2 s is far away.
    let took = cancelled_at.elapsed();
    assert!(took < Duration::from_millis(400), "settled after {took:?}");
    let error = ran.unwrap_err();
    assert_eq!(error.message, "begun\n\n[Command was stopped by the user]");
    assert_eq!(error.details.unwrap()["cancelled"], true);
    for pid in pids.lines() {
        wait_until(&format!("process {pid} has ended"), || !lives(pid)).await;
    }
}

#[tokio::test]
async fn i13_dropping_the_call_or_the_runtime_kills_the_group() {
    let bench = Bench::new();
    let file = bench.path().join("pid");
    let call =
        bench.call("bash", json!({"command": "trap '' TERM; echo $$ > pid; sleep 80; sleep 81"}));
    let pid = tokio::select! {
        _ = call => panic!("it should run"),
        pid = written(&file) => pid,
    };
    wait_until("the group has ended", || !lives(&pid)).await;
}

#[tokio::test]
async fn f74_there_is_no_terminal_and_no_input() {
    let bench = Bench::new();
    let command = "if (: > /dev/tty) 2>/dev/null; then echo tty; else echo none; fi; \
                   test -t 0 || echo 'no input'; cat; read line || echo eof; ps -o tty= -p $$ | tr -d ' '";
    let ran = within(2.0, bench.ok("bash", json!({"command": command}))).await;
    assert_eq!(ran.text, "none\nno input\neof\n?");
    let ran = bench.ok("bash", json!({"command": "echo $GIT_TERMINAL_PROMPT $PAGER $GIT_PAGER $TERM ${GPG_TTY-unset}"})).await;
    assert_eq!(ran.text, "0 cat cat dumb unset");
    let ran = bench.ok("bash", json!({"command": "ps -o pid=,pgid=,sid= -p $$ | awk '{print ($1 == $2 && $2 == $3)}'"})).await;
    assert_eq!(ran.text, "1", "a session of its own");
}

#[tokio::test]
async fn f75_long_output_keeps_its_end_and_is_whole_in_a_private_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let ran = bench
        .failed("bash", json!({"command": "seq 1 200000; echo 'error: the end' >&2; exit 1"}))
        .await;
    assert!(ran.text.len() < 52 * 1024, "{}", ran.text.len());
    assert!(ran.text.starts_with("1\n2\n3\n"));
    assert!(ran.text.contains("200000\nerror: the end\n\n[Command exited with code 1]"));
    assert!(ran.text.lines().count() < 2_010);
    let path = ran.details["fullOutputPath"].as_str().unwrap();
    assert!(ran.text.contains(path));
    assert_eq!(ran.details["truncated"], true);
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 200_001);
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn f79_output_is_a_share_of_a_small_window() {
    let mut bench = Bench::new();
    bench.max_result_tokens = 1_000;
    let ran = bench.ok("bash", json!({"command": "yes '한국어 텍스트' | head -5000"})).await;
    assert!(ran.text.len() < 3_400, "{}", ran.text.len());
    std::fs::remove_file(ran.details["fullOutputPath"].as_str().unwrap()).unwrap();
}

#[tokio::test]
async fn f75_progress_is_shown_while_it_runs_and_throttled() {
    let bench = Bench::new();
    let started = Instant::now();
    let ran = bench
        .ok("bash", json!({"command": "for i in $(seq 1 50); do echo tick $i; sleep 0.01; done"}))
        .await;
    assert!(ran.text.ends_with("tick 50"));
    let pieces = bench.progress.lock().unwrap().clone();
    let most = 2 + started.elapsed().as_millis() as usize / 100;
    assert!((2..=most).contains(&pieces.len()), "{} pieces", pieces.len());
    assert!(pieces.concat().starts_with("tick 1\n"));
}

#[tokio::test]
async fn f85_output_is_clean_on_the_screen_and_for_the_model() {
    let bench = Bench::new();
    let command =
        r"printf '\033[31mred\033[0m\t\0nul\n10%%\r100%%\n\033]0;title\007\xe2\x9c\x93\xff\n'";
    let ran = bench.ok("bash", json!({"command": command})).await;
    assert_eq!(ran.text, "red\tnul\n100%\n✓\u{fffd}");
}

#[tokio::test]
async fn a_folder_that_is_gone_is_said() {
    let bench = Bench::new();
    let tool = bench.tools.get("bash").unwrap();
    let mut cx = bench.cx();
    cx.cwd = bench.path().join("gone");
    let error = tool.run(json!({"command": "true"}), cx).await.unwrap_err().message;
    assert!(error.starts_with("bash: the command could not be started in "), "{error}");
}
