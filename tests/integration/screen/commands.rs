//! Every slash command, typed in the real program (U4).

use regrow::slash::COMMANDS;

use super::fixture;
use super::table::{SIZES, Step, Then, drive, settled};
use crate::support::pty::{Home, Pty};

/// A row: the command, what is typed before it, what follows its name, what must then be so, and what
/// is typed to be rid of it.
type Row = (&'static str, &'static str, &'static str, Then, &'static str);

use Then::{Files, Gone, Left, Session, Shows, Top};

/// On the tour, in one start.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("help", "", "", Shows("/compact [FOCUS"), "<esc>"),
    ("hotkeys", "", "", Shows("shift+enter"), "<esc>"),
    ("tree", "", "", Shows("← active"), "<esc>"),
    ("model", "", "", Shows("Model ·"), "<esc>"),
    ("model", "", " nobody/nothing", Shows("there is no model nobody"), ""),
    ("thinking", "", "", Shows("thinking is"), ""),
    ("thinking", "", " low", Session("\"thinkingLevel\":\"low\""), ""),
    ("settings", "", "", Shows("Settings"), "<esc>"),
    ("context", "", "", Shows("Context ·"), "<esc>"),
    ("session", "", "", Shows("tokens sent"), ""),
    ("name", "", " 로그인 정리", Session("로그인 정리"), ""),
    ("label", "", " plan b", Session("plan b"), ""),
    ("find", "", " validator", Shows("more below"), "<ctrl+end>"),
    ("copy", "", "", Shows("copied"), ""),
    ("export", "", " md notes.md", Shows("exported to"), ""),
    ("reload", "", "", Shows("read again"), ""),
    ("login", "", "", Shows("Login ·"), "<esc>"),
    ("unprune", "", "", Shows("session is pruned"), ""),
    ("compact", "", " --dry-run", Shows("would summarise"), ""),
    ("compact", "", "", Shows("compacted"), ""),
    ("compact", "", " --undo", Gone("compacted"), ""),
    ("clone", "", "", Files(2), ""),
    ("fork", "", "", Files(3), ""),
    ("resume", "", "", Shows("Sessions"), "<esc>"),
    ("import", "", " other.jsonl", Shows("fn last()"), ""),
    ("new", "", "", Top("  regrow 0."), ""),
    ("quit", "", "", Left, ""),
];

#[test]
fn u4_every_command_has_a_row() {
    for command in COMMANDS {
        let has_row = ROWS.iter().any(|row| row.0 == command.name);
        assert!(has_row, "no row types /{}: add one to the table of this file", command.name);
    }
}

#[test]
fn u4_commands() {
    for size in SIZES {
        let home = Home::new();
        std::fs::rename(fixture::long(&home), home.project().join("other.jsonl")).unwrap();
        let mut pty = Pty::start(home.command(&["--tour"]), size.0, size.1);
        pty.until_shows("offline");
        for (name, before, rest, then, cleanup) in ROWS {
            let line = format!("/{name}{rest}");
            let what = format!("{line} at {size:?}");
            if let Shows(text) = then {
                assert!(!line.contains(text), "{what}: what is typed would prove it");
            }
            settled(&pty, &format!("what came before {what}"));
            let before = format!("{before}{line}");
            drive(
                &mut pty,
                &home,
                &what,
                Step { before: &before, key: b"\r", after: "", then: *then, cleanup },
            );
        }
    }
}
