//! `before_prompt`, `tool_call`, `tool_result`, `turn_end` and the ends of a session, through the real
//! session.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use regrow::agent_session::Attendance;
use regrow::agent_session::command::{Delivery, PermissionAnswer, SessionCommand, SwitchTo};
use regrow::agent_session::event::SessionEvent;
use regrow::hook::EventName::{
    BeforePrompt, SessionShutdown, SessionStart, ToolCall, ToolResult, TurnEnd,
};
use regrow::hook::chain::Hooks;
use regrow::hook::{EventName, Hook, HookAnswer, HookEvent};
use regrow::message::StopReason;
use regrow::provider::scripted::Script;
use regrow::settings::{HookSettings, PermissionMode};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::harness::{Setup, Talk, text_of};
use super::{FAILURES, at, required, with, written};

fn calls(tool: &str, arguments: &str) -> Script {
    Script::new().tool_call("c1", tool, arguments).finish(StopReason::ToolUse)
}

/// Has a model call a tool once, and gives the result as the story tells it.
async fn result_of(setup: Setup, tool: &str, arguments: &str) -> (Talk, String) {
    let mut talk = Talk::with(setup);
    std::fs::write(talk.dir.path().join("a.txt"), "plain\n").unwrap();
    std::fs::write(talk.dir.path().join("b.txt"), "other\n").unwrap();
    talk.say("go", [calls(tool, arguments), Script::says("Done.")]).await;
    let story = talk.story();
    let result = story.iter().find(|line| line.starts_with("result")).unwrap().clone();
    (talk, result)
}

#[tokio::test]
async fn hooks_add_to_a_prompt_and_the_model_hears_it() {
    let first = at(BeforePrompt, "cat > event.json; echo '{\"context\": \"It is Monday.\"}'");
    let second = at(BeforePrompt, "grep -q Monday && echo '{\"context\": [\"It rains.\"]}'");
    let mut talk = Talk::with(with([first, second]));
    talk.say("what now?", [Script::says("Stay.")]).await;
    assert_eq!(written(talk.dir.path(), "event.json")["prompt"], "what now?");
    let story = talk.story();
    assert_eq!((story[0].as_str(), story[2].as_str()), ("user: what now?", "assistant: Stay."));
    assert!(story[1].contains("regrow.hook") && story[1].contains("It rains."), "{}", story[1]);
    let asked = text_of(talk.requests().last().unwrap());
    assert!(asked.contains("It is Monday.") && asked.contains("It rains."));
}

#[tokio::test]
async fn a_held_back_prompt_returns_to_the_editor_and_leaves_no_trace() {
    let guard = at(BeforePrompt, "grep -q secret && { echo 'no secrets' >&2; exit 2; }; true");
    let mut talk = Talk::with(with([guard]));
    talk.say("tell the secret", []).await;
    assert!(talk.requests().is_empty());
    assert!(talk.notices().iter().any(|notice| notice.contains("no secrets")));
    assert!(talk.seen.iter().any(|event| {
        matches!(event, SessionEvent::QueueReturned { text, .. } if text == "tell the secret")
    }));
    assert!(!talk.dir.path().join("sessions").exists(), "J10: nothing was said");
    talk.say("hello", [Script::says("Hi.")]).await;
    assert_eq!(talk.story(), ["user: hello", "assistant: Hi."]);
}

#[tokio::test]
async fn f81_a_required_hook_that_fails_holds_the_prompt_back() {
    for (line, words) in FAILURES {
        let mut talk = Talk::with(with([at(BeforePrompt, line)]));
        talk.say("hi", [Script::says("Hello.")]).await;
        assert_eq!(talk.story().len(), 2, "{line}");
        assert!(talk.notices().iter().any(|notice| notice.contains(words)), "{line}");
        let mut talk = Talk::with(with([required(at(BeforePrompt, line))]));
        talk.say("hi", []).await;
        assert!(talk.requests().is_empty(), "{line}");
    }
}

#[tokio::test]
async fn a_call_is_blocked_and_the_model_is_told_why() {
    for line in [
        "cat > event.json; echo '{\"block\": true, \"reason\": \"not this one\"}'",
        "cat > event.json; echo '{\"cancel\": true, \"reason\": \"not this one\"}'",
        "cat > event.json; echo 'not this one' >&2; exit 2",
    ] {
        let (talk, result) =
            result_of(with([at(ToolCall, line)]), "bash", r#"{"command":"touch ran"}"#).await;
        assert!(result.starts_with("result (error): Not run") && result.contains("not this one"));
        assert!(!talk.dir.path().join("ran").exists());
        let event = written(talk.dir.path(), "event.json");
        assert_eq!(event["toolName"], "bash");
        assert_eq!(event["toolCallId"], "c1");
        assert_eq!(event["input"], json!({"command": "touch ran"}));
        assert_eq!(talk.story().last().unwrap(), "assistant: Done.");
    }
}

#[tokio::test]
async fn f81_a_guard_that_fails_lets_the_call_run_only_if_it_is_not_required() {
    for (line, _) in FAILURES {
        let touch = r#"{"command":"touch ran"}"#;
        let (talk, _) = result_of(with([at(ToolCall, line)]), "bash", touch).await;
        assert!(talk.dir.path().join("ran").exists(), "{line}");
        let (talk, result) = result_of(with([required(at(ToolCall, line))]), "bash", touch).await;
        assert!(!talk.dir.path().join("ran").exists(), "{line}");
        assert!(result.contains("required"), "{line}: {result}");
    }
}

#[tokio::test]
async fn rewritten_arguments_are_what_runs_and_the_model_is_told() {
    let rewrite = at(ToolCall, r#"echo '{"input": {"path": "b.txt"}}'"#);
    let (_, result) = result_of(with([rewrite]), "read", r#"{"path":"a.txt"}"#).await;
    assert!(result.contains("other") && !result.contains("plain"), "{result}");
    assert!(result.contains("The hook `h` changed this call") && result.contains("b.txt"));
}

#[tokio::test]
async fn rewritten_arguments_are_validated_and_permitted_anew() {
    let invalid = at(ToolCall, r#"echo '{"input": {"path": 5}}'"#);
    let (_, result) = result_of(with([invalid]), "read", r#"{"path":"a.txt"}"#).await;
    assert!(result.contains("(error)") && result.contains("`path` must be a string"), "{result}");

    let outside = || at(ToolCall, r#"echo '{"input": {"path": "/etc/hostname"}}'"#);
    let unattended = Setup { attendance: Attendance::Unattended, ..with([outside()]) };
    let (_, result) = result_of(unattended, "read", r#"{"path":"a.txt"}"#).await;
    assert!(result.contains("(error)") && result.contains("permission"), "{result}");
    let mut forbidding = with([outside()]);
    forbidding.settings.permissions.deny = vec!["read(/etc/**)".into()];
    let (_, result) = result_of(forbidding, "read", r#"{"path":"a.txt"}"#).await;
    assert!(result.contains("forbidden by the rule"), "{result}");
}

#[tokio::test]
async fn a_result_is_rewritten_only_by_a_valid_answer() {
    let line =
        "cat > event.json; echo '{\"content\": \"***\", \"details\": {\"summary\": \"hidden\"}}'";
    let (talk, result) =
        result_of(with([at(ToolResult, line)]), "read", r#"{"path":"a.txt"}"#).await;
    assert_eq!(result, "result: ***");
    let event = written(talk.dir.path(), "event.json");
    assert!(event["content"].to_string().contains("plain"));
    assert_eq!((&event["isError"], &event["input"]["path"]), (&json!(false), &json!("a.txt")));
    let to_error = at(
        ToolResult,
        "echo '{\"isError\": true, \"content\": [{\"type\":\"text\",\"text\":\"no\"}]}'",
    );
    let (_, result) = result_of(with([to_error]), "read", r#"{"path":"a.txt"}"#).await;
    assert_eq!(result, "result (error): no");
    // I13: a hook cannot fill the window either.
    let endless = at(ToolResult, r#"printf '{"content": "%01000000d\u001b[31m"}' 7"#);
    let (_, result) = result_of(with([endless]), "read", r#"{"path":"a.txt"}"#).await;
    assert!(
        result.len() < 60_000 && result.contains("more bytes are left out"),
        "{}",
        result.len()
    );
    for (line, words) in FAILURES.into_iter().chain([("echo '{\"content\": \"\"}'", "empty")]) {
        for hook in [at(ToolResult, line), required(at(ToolResult, line))] {
            let (talk, result) = result_of(with([hook]), "read", r#"{"path":"a.txt"}"#).await;
            assert!(result.contains("plain"), "{line}: {result}");
            assert!(talk.notices().iter().any(|notice| notice.contains(words)), "{line}");
        }
    }
}

#[tokio::test]
async fn a_hook_hears_only_of_the_tools_that_it_names() {
    let block = HookSettings { tools: Some(vec!["b*".into()]), ..at(ToolCall, "exit 2") };
    let (_, result) = result_of(with([block.clone()]), "read", r#"{"path":"a.txt"}"#).await;
    assert!(result.contains("plain"));
    let (_, result) = result_of(with([block]), "bash", r#"{"command":"true"}"#).await;
    assert!(result.contains("blocked"));
}

#[tokio::test]
async fn a_turns_end_is_told_once_with_what_was_done() {
    let told = at(TurnEnd, "cat >> ends.jsonl; echo >> ends.jsonl");
    let (mut talk, _) = result_of(with([told]), "read", r#"{"path":"a.txt"}"#).await;
    talk.say("and?", [Script::says("Bye.")]).await;
    talk.quit().await;
    let text = std::fs::read_to_string(talk.dir.path().join("ends.jsonl")).unwrap();
    let ends: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(ends.len(), 2, "{text}");
    assert!(ends[0]["message"]["content"].to_string().contains("Done."));
    assert!(ends[0]["toolResults"][0]["content"].to_string().contains("plain"));
    assert!(ends[1]["message"]["content"].to_string().contains("Bye."));
    assert_eq!(ends[1]["toolResults"], json!([]));
}

#[tokio::test]
async fn the_beginning_and_the_end_of_a_session_are_told_in_order() {
    let line = |word| {
        format!("printf '{word} %s\\n' \"$(sed 's/.*\"reason\":\"\\([a-z]*\\)\".*/\\1/')\" >> log")
    };
    let mut talk =
        Talk::with(with([at(SessionStart, &line("start")), at(SessionShutdown, &line("end"))]));
    talk.say("hi", [Script::says("Hello.")]).await;
    talk.send(SessionCommand::Switch(SwitchTo::New));
    talk.quit().await;
    let log = std::fs::read_to_string(talk.dir.path().join("log")).unwrap();
    assert_eq!(log, "start startup\nend new\nstart new\nend quit\n");
}

#[tokio::test]
async fn an_embedders_hook_stands_in_the_same_chain() {
    #[derive(Default)]
    struct Watcher(Mutex<Vec<EventName>>);
    impl Hook for Watcher {
        fn name(&self) -> &'static str {
            "watcher"
        }
        fn on_event<'a>(
            &'a self,
            event: &'a HookEvent,
            _: &'a CancellationToken,
        ) -> BoxFuture<'a, Result<Option<HookAnswer>, String>> {
            self.0.lock().unwrap().push(event.event);
            let rest = serde_json::Map::from_iter([("context".to_owned(), json!("More."))]);
            let adds = event.event == BeforePrompt;
            Box::pin(async move { Ok(adds.then(|| HookAnswer { rest, ..HookAnswer::default() })) })
        }
    }
    let watcher = Arc::new(Watcher::default());
    let setup = Setup { hooks: Hooks::new(vec![watcher.clone()]), ..Setup::default() };
    let (mut talk, _) = result_of(setup, "read", r#"{"path":"a.txt"}"#).await;
    talk.quit().await;
    assert!(text_of(&talk.requests()[0]).contains("More."));
    let mut seen = watcher.0.lock().unwrap().clone();
    seen.sort_by_key(|event| event.as_str());
    assert_eq!(seen, [BeforePrompt, SessionShutdown, SessionStart, ToolCall, ToolResult, TurnEnd]);
}

#[tokio::test]
async fn a3_the_person_edits_a_command_before_it_runs() {
    let mut setup = Setup::default();
    setup.settings.permissions.mode = PermissionMode::Ask;
    setup.settings.permissions.deny = vec!["bash(rm *)".into()];
    for (command, ran) in [("touch edited", true), ("rm -rf edited", false)] {
        let hooks = Hooks::default();
        let settings = setup.settings.clone();
        let mut talk = Talk::with(Setup { settings, hooks, ..Setup::default() });
        talk.model.push(calls("bash", r#"{"cmd":"touch original"}"#));
        talk.model.push(Script::says("Done."));
        talk.prompt("go", Delivery::FollowUp);
        let asked = talk
            .until("a question", |event| matches!(event, SessionEvent::PermissionAsked(_)))
            .await;
        let SessionEvent::PermissionAsked(question) = asked else { panic!() };
        assert!(question.editable);
        talk.send(SessionCommand::Permission {
            question: question.question,
            answer: PermissionAnswer::Edited { command: command.into() },
        });
        talk.idle().await;
        let there = |name| talk.dir.path().join(name).exists();
        assert_eq!((there("original"), there("edited")), (false, ran));
        let story = talk.story();
        let result = &story[2];
        if ran {
            assert!(result.starts_with("result: [The user changed this command"), "{result}");
            assert!(result.contains("touch edited"));
        } else {
            assert!(result.contains("forbidden by the rule"), "{result}");
        }
    }
}
