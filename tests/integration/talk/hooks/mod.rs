//! Hooks: programs of every kind of manners, and what their answers do to a real session.

mod binary;
mod compaction;
mod conversation;
mod programs;
mod stops;
mod tree;

use std::path::Path;
use std::sync::Arc;

use regrow::hook::chain::Hooks;
use regrow::hook::external::ExternalHook;
use regrow::hook::{EventName, Hook};
use regrow::settings::{HookCommand, HookSettings};
use serde_json::Value;

use super::harness::Setup;

/// A hook that runs a line of shell at one event. The folder that it runs in is the session's.
fn at(event: EventName, line: &str) -> HookSettings {
    HookSettings { events: vec![event], ..shell(line) }
}

/// A hook that runs a line of shell at every event.
fn shell(line: &str) -> HookSettings {
    HookSettings {
        name: "h".into(),
        events: EventName::ALL.to_vec(),
        command: HookCommand::Line(line.into()),
        args: Vec::new(),
        tools: None,
        timeout: 20,
        required: false,
    }
}

fn required(hook: HookSettings) -> HookSettings {
    HookSettings { required: true, ..hook }
}

/// The usual session with these hooks.
fn with(hooks: impl IntoIterator<Item = HookSettings>) -> Setup {
    let hook = |settings| -> Arc<dyn Hook> { Arc::new(ExternalHook::new(settings)) };
    Setup { hooks: Hooks::new(hooks.into_iter().map(hook).collect()), ..Setup::default() }
}

/// An event that a hook has written to a file.
fn written(folder: &Path, name: &str) -> Value {
    let text = std::fs::read(folder.join(name)).unwrap_or_else(|_| panic!("no file {name}"));
    serde_json::from_slice(&text).unwrap()
}

/// Ways in which a hook fails, and a word of what the person is told.
const FAILURES: [(&str, &str); 5] = [
    ("echo garbage", "not one JSON object"),
    ("exit 3", "code 3"),
    ("kill -9 $$", "signal 9"),
    ("exec ./no-such-program", "code 127"),
    ("echo '{\"nonsense\": 1}'", "`nonsense`"),
];
