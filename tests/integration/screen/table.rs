//! Tables of what is typed and what must be there afterwards, driven in the real program.
//!
//! What is typed is text with keys in it: `one<ctrl+j>two` presses Ctrl+J between the words,
//! `{one}` waits until the screen shows that, `{!one}` until it does not. Keys have the names of key map files.

use std::time::{Duration, Instant};

use crate::support::pty::{Home, Pty};

/// The sizes that every table is driven at.
pub const SIZES: [(u16, u16); 3] = [(40, 10), (80, 24), (160, 50)];

/// What must come true. It must not hold before the key or the command, or it would prove nothing.
#[derive(Debug, Clone, Copy)]
pub enum Then {
    /// The editor holds these rows, the caret where `|` stands.
    Text(&'static [&'static str]),
    /// The screen shows this.
    Shows(&'static str),
    /// The screen no longer shows this.
    Gone(&'static str),
    /// The first row that is not blank begins with this.
    Top(&'static str),
    /// One row of the screen holds both.
    Row(&'static str, &'static str),
    /// The selected row of the tree holds this.
    Selected(&'static str),
    /// A session file holds this.
    Session(&'static str),
    /// There are so many session files of the program's own.
    Files(usize),
    /// These bytes went to the terminal.
    Written(&'static str),
    /// The program has ended well.
    Left,
}

/// The bytes of a key as terminals send them.
pub fn bytes_of(key: &str) -> Vec<u8> {
    let mut modifiers = 0_u8;
    let mut name = key;
    while let Some((first, rest)) = name.split_once('+').filter(|(_, rest)| !rest.is_empty()) {
        modifiers |= match first {
            "shift" => 1,
            "alt" => 2,
            "ctrl" => 4,
            other => panic!("{other} in {key}"),
        };
        name = rest;
    }
    let parameter = modifiers + 1;
    // Letters with a modifier that have no byte of their own go as the keyboard protocol has it.
    let code = |code: u32| format!("\u{1b}[{code};{parameter}u").into_bytes();
    let lettered = |letter: char| match modifiers {
        0 => format!("\u{1b}[{letter}").into_bytes(),
        _ => format!("\u{1b}[1;{parameter}{letter}").into_bytes(),
    };
    let numbered = |number: u8| match modifiers {
        0 => format!("\u{1b}[{number}~").into_bytes(),
        _ => format!("\u{1b}[{number};{parameter}~").into_bytes(),
    };
    let plain = |bytes: &[u8], number: u32| match modifiers {
        0 => bytes.to_vec(),
        2 => [b"\x1b", bytes].concat(),
        _ => code(number),
    };
    match name {
        "enter" => plain(b"\r", 13),
        "esc" => plain(b"\x1b", 27),
        "tab" if modifiers == 1 => b"\x1b[Z".to_vec(),
        "tab" => plain(b"\t", 9),
        "space" => plain(b" ", 32),
        "backspace" => plain(b"\x7f", 127),
        "up" => lettered('A'),
        "down" => lettered('B'),
        "right" => lettered('C'),
        "left" => lettered('D'),
        "home" => lettered('H'),
        "end" => lettered('F'),
        "delete" => numbered(3),
        "pageup" => numbered(5),
        "pagedown" => numbered(6),
        "f1" => b"\x1bOP".to_vec(),
        "f2" => b"\x1bOQ".to_vec(),
        character => {
            let letter = character.chars().next().unwrap();
            assert_eq!(character.chars().count(), 1, "{key}");
            match (modifiers, letter) {
                (0, _) => letter.to_string().into_bytes(),
                (2, _) => format!("\u{1b}{letter}").into_bytes(),
                (4, 'a'..='z') => vec![letter as u8 & 0x1f],
                (4, '_' | '7' | '/') => vec![0x1f],
                _ => code(letter.into()),
            }
        }
    }
}

/// Types text with keys and waits in it.
#[track_caller]
pub fn type_in(pty: &mut Pty, typed: &str) {
    let mut rest = typed;
    while !rest.is_empty() {
        let (open, close) = match rest.chars().next() {
            Some('<') => ('<', '>'),
            Some('{') => ('{', '}'),
            _ => {
                let end = rest.find(['<', '{']).unwrap_or(rest.len());
                pty.send(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
        };
        let (inside, after) = rest[1..].split_once(close).unwrap();
        match open {
            '<' => pty.send(bytes_of(inside)),
            _ => drop(match inside.strip_prefix('!') {
                Some(gone) => pty.until_gone(gone),
                None => pty.until_shows(inside),
            }),
        }
        rest = after;
    }
}

impl Then {
    /// Whether a screen is so already.
    pub fn holds_on(&self, screen: &vt100::Screen) -> bool {
        let (height, columns) = screen.size();
        let rows: Vec<String> = screen.rows(0, columns.get()).collect();
        match self {
            Self::Text(expected) => holds_text(screen, &rows, expected),
            Self::Shows(text) => screen.contents().contains(text),
            Self::Gone(text) => !screen.contents().contains(text),
            Self::Top(text) => rows
                .iter()
                .find(|row| !row.trim().is_empty())
                .is_some_and(|row| row.starts_with(text)),
            Self::Row(one, two) => rows.iter().any(|row| row.contains(one) && row.contains(two)),
            Self::Selected(text) => (1..height.get() - 1).any(|row| {
                let is_selected = screen
                    .cell(row, 6)
                    .is_some_and(|cell| cell.bgcolor() != vt100::Color::Default || cell.inverse());
                is_selected && rows[usize::from(row)].contains(text)
            }),
            Self::Session(_) | Self::Files(_) | Self::Written(_) | Self::Left => unreachable!(),
        }
    }

    fn is_in_files(&self, home: &Home) -> bool {
        match self {
            Self::Session(text) => in_a_session(home, text),
            Self::Files(number) => home.sessions().len() == *number,
            _ => false,
        }
    }

    /// Waits until it is not so: what was typed before has arrived, and a key has something to prove.
    #[track_caller]
    fn wait_not(&self, pty: &Pty, home: &Home, what: &str) {
        match self {
            Self::Session(_) | Self::Files(_) => {
                assert!(!self.is_in_files(home), "{what}: {self:?} holds before");
            }
            Self::Written(bytes) => {
                assert!(!pty.has_written(bytes), "{what}: {bytes:?} were written before");
            }
            Self::Left => {}
            _ => {
                let name = format!("{what}: what it changes, so not yet {self:?}");
                pty.until(&name, |screen| !self.holds_on(screen));
            }
        }
    }

    /// Waits until it is so.
    #[track_caller]
    fn wait(&self, pty: &mut Pty, home: &Home, what: &str) {
        match self {
            Self::Session(_) | Self::Files(_) => {
                let deadline = Instant::now() + Duration::from_secs(20);
                while !self.is_in_files(home) {
                    assert!(Instant::now() < deadline, "{what}: waited for {self:?}");
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            Self::Written(bytes) => pty.until_written(bytes),
            Self::Left => {
                assert_eq!(pty.wait(), 0, "{what}");
                pty.assert_clean();
            }
            _ => drop(pty.until(&format!("{what}: {self:?}"), |screen| self.holds_on(screen))),
        }
    }
}

fn holds_text(screen: &vt100::Screen, rows: &[String], expected: &[&str]) -> bool {
    // What was sent stands behind a bar, so only the editor's row begins like this.
    let Some(first) = rows.iter().rposition(|row| row == ">" || row.starts_with("> ")) else {
        return false;
    };
    expected.iter().enumerate().all(|(number, line)| {
        let sign = if number == 0 { "> " } else { "  " };
        let text = format!("{sign}{}", line.replacen('|', "", 1));
        let row = first + number;
        let at = line.find('|').map(|at| 2 + regrow::tui::text::width(&line[..at]));
        rows.get(row).is_some_and(|row| row.trim_end() == text.trim_end())
            && at.is_none_or(|at| screen.cursor_position() == (row as u16, at as u16))
    })
}

fn in_a_session(home: &Home, text: &str) -> bool {
    let own = std::fs::read_dir(home.project()).unwrap().flatten().map(|entry| entry.path());
    let own = own.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    home.sessions().into_iter().chain(own).any(|path| read(path).contains(text))
}

/// One step of a table.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Typed first.
    pub before: &'a str,
    /// Bytes that the row is about.
    pub key: &'a [u8],
    /// Typed behind it.
    pub after: &'a str,
    /// What must then be so.
    pub then: Then,
    /// Typed to be rid of it.
    pub cleanup: &'a str,
}

/// Drives one row.
#[track_caller]
pub fn drive(pty: &mut Pty, home: &Home, what: &str, step: Step<'_>) {
    type_in(pty, step.before);
    step.then.wait_not(pty, home, what);
    pty.send(step.key);
    type_in(pty, step.after);
    step.then.wait(pty, home, what);
    type_in(pty, step.cleanup);
}

/// Waits until the editor is empty and nothing lies over it.
#[track_caller]
pub fn settled(pty: &Pty, what: &str) {
    let empty = Then::Text(&["|"]);
    pty.until(&format!("an empty editor after {what}"), |screen| empty.holds_on(screen));
}
