//! A storm of keys, pastes and sizes into the real program (F84, F87, F99). `REGROW_STORM_KEYS` says
//! how many, `REGROW_STORM_SEED` which; a failure names the seed.

use std::fmt::Write as _;
use std::time::Duration;

use regrow::tui::action::{Action, Bindable};
use regrow::tui::keymap::KeyMap;

use super::fixture;
use super::table::{Then, bytes_of};
use crate::support::pty::{Home, Pty};

/// Keys of one storm, unless the environment says otherwise.
const KEYS: u64 = 400;

/// Keys after which the program is gone or sleeps, or another one has the terminal.
const LEAVING: &[Action] = &[Action::Quit, Action::Clear, Action::Suspend, Action::ExternalEditor];

/// Typed as a whole; none of them leaves the program or writes outside its folders.
const TEXTS: &[&str] = &[
    "/tree\r",
    "/hotkeys\r",
    "/help\r",
    "/model\r",
    "/settings\r",
    "/context\r",
    "/resume\r",
    "/find out\r",
    "/name 이름 👍\r",
    "/label 표\r",
    "/new\r",
    "/fork\r",
    "/compact\r",
    "/compact --undo\r",
    "read README.md\r",
    "run echo 한글; seq 30\r",
    "!echo mine\r",
    "가나다 ",
    "\u{1b}[200~pasted\n\t한글\u{1b}[31m\n\u{1b}[201~",
    "\u{1b}[<64;10;5M",
    "\u{1b}[<0;12;4M",
    "\u{1b}[<0;12;4m",
    "\u{1b}[I",
    "\u{1b}[O",
    "1",
    "2",
    "y",
    "d",
    "f",
    "t",
    "/",
];

/// The small generator that is the same everywhere (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as u64) as usize]
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Closes what is open, stops what runs, clears what is written.
#[track_caller]
fn calm(pty: &mut Pty, what: &str) {
    let empty = Then::Text(&["|"]);
    for _ in 0..100 {
        pty.until_quiet(Duration::from_millis(60), 8);
        let screen = pty.screen();
        let is_busy = screen.contains("esc to stop") || screen.contains("esc to cancel");
        if !is_busy && pty.with_screen(|screen| empty.holds_on(screen)) {
            return;
        }
        let is_written = screen.contains("ctrl+c clears the line");
        pty.send(if is_written && !is_busy { "\u{3}" } else { "\u{1b}" });
    }
    panic!("no way back to an empty editor from\n{}\n{what}", pty.screen());
}

#[test]
fn f87_after_a_storm_the_terminal_is_as_it_was() {
    let seed = number("REGROW_STORM_SEED", 20_260_114);
    let mut dice = Dice(seed);
    let map = KeyMap::default();
    let keys: Vec<&String> = Action::ALL
        .iter()
        .filter(|action| !LEAVING.contains(action))
        .flat_map(|action| map.keys(*action))
        .collect();
    let home = Home::new();
    let session = fixture::forked(&home);
    let mut pty =
        Pty::start(home.command(&["--session", &session, "--permission", "full"]), 80, 24);
    pty.until_shows("answer five");
    let mut typed = String::new();
    for number in 0..number("REGROW_STORM_KEYS", KEYS) {
        if number % 8 == 0 {
            pty.until_quiet(Duration::from_millis(15), 4);
        }
        match dice.roll(10) {
            0 => {
                let (columns, rows) = (20 + dice.roll(150) as u16, 5 + dice.roll(50) as u16);
                pty.resize(columns, rows);
                write!(typed, "[{columns}×{rows}]").unwrap();
            }
            1..=4 => {
                let text = dice.pick(TEXTS);
                pty.send(text);
                write!(typed, "{text:?}").unwrap();
            }
            _ => {
                let key = dice.pick(&keys);
                pty.send(bytes_of(key));
                write!(typed, "<{key}>").unwrap();
            }
        }
    }
    pty.resize(100, 30);
    calm(&mut pty, &format!("seed {seed}: {typed}"));
    pty.send("/quit\r");
    let code = pty.wait();
    assert_eq!(code, 0, "seed {seed}: {typed}\n{}", pty.screen());
    pty.assert_clean();
    for file in home.sessions() {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let entry: serde_json::Value = serde_json::from_str(line).expect("every line is whole");
            assert!(entry["type"].is_string(), "{line}");
        }
    }
}
