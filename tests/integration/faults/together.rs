//! Hooks and tools that misbehave at once, and Escape (I7, I13; F73, F75, F81).

use std::sync::Arc;
use std::time::{Duration, Instant};

use regrow::agent_session::command::{Delivery, SessionCommand};
use regrow::agent_session::event::SessionEvent;
use regrow::hook::chain::Hooks;
use regrow::hook::external::ExternalHook;
use regrow::hook::{EventName, Hook};
use regrow::message::StopReason;
use regrow::provider::scripted::Script;
use regrow::settings::{HookCommand, HookSettings};

use crate::support::dice::{Dice, number};
use crate::talk::harness::{Setup, Talk};

/// Processes with this mark on their command line.
fn alive(mark: &str) -> bool {
    let found = std::process::Command::new("pgrep").args(["-f", mark]).output().unwrap();
    !found.stdout.is_empty()
}

fn hook(event: EventName, line: &str) -> Arc<dyn Hook> {
    Arc::new(ExternalHook::new(HookSettings {
        name: "bad".into(),
        events: vec![event],
        command: HookCommand::Line(line.into()),
        args: Vec::new(),
        tools: None,
        timeout: 60,
        required: false,
    }))
}

#[tokio::test]
async fn i7_f81_a_hanging_hook_and_endless_output_end_at_escape() {
    let mut dice = Dice::new(number("REGROW_FAULT_SEED", 0xe5c));
    for round in 0..number("REGROW_FAULT_ROUNDS", 6) {
        // The mark is an argument of everything that is started.
        let mark = format!("98{:04}", dice.below(10_000));
        let hangs = format!("trap '' TERM INT HUP; sleep {mark} & sleep {mark}");
        let told = hook(EventName::TurnEnd, &hangs);
        let heard = hook(EventName::ToolResult, &hangs);
        let setup = Setup { hooks: Hooks::new(vec![told, heard]), ..Setup::default() };
        let mut talk = Talk::with(setup);
        // The hook of the turn's end hangs behind everything else from here on.
        talk.say("first", [Script::says("One.")]).await;
        let endless =
            format!(r#"{{"command":"trap '' TERM INT; sleep {mark} & yes 'endless {mark}'"}}"#);
        let short = r#"{"command":"echo short"}"#;
        // Its result hangs in the hook, or the command itself has no end.
        let (name, arguments) =
            if round % 2 == 0 { ("c1", endless.as_str()) } else { ("c2", short) };
        talk.model.push(
            Script::new()
                .tool_call(name, "bash", arguments)
                .tool_call("c3", "bash", &endless)
                .finish(StopReason::ToolUse),
        );
        talk.prompt("go", Delivery::FollowUp);
        talk.until("the tool", |event| matches!(event, SessionEvent::ToolStarted { .. })).await;
        talk.prompt("typed meanwhile", Delivery::FollowUp);
        // Any moment while both are at it.
        tokio::time::sleep(Duration::from_millis(dice.below(150) as u64)).await;
        let pressed = Instant::now();
        talk.send(SessionCommand::Abort);
        talk.idle().await;
        let took = pressed.elapsed();
        assert!(took < Duration::from_secs(1), "round {round}: {took:?}");
        let story = talk.story();
        let results = story.iter().filter(|line| line.starts_with("result")).count();
        assert_eq!(results, 2, "round {round}: {story:?}");
        assert!(talk.bytes().len() < 400_000, "what has no end is not kept");
        // The end of this turn is told to the hook as well, behind the person's back.
        talk.send(SessionCommand::Abort);
        let deadline = Instant::now() + Duration::from_secs(10);
        while alive(&mark) {
            assert!(Instant::now() < deadline, "round {round}: something is left of {mark}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        talk.quit().await;
    }
}
