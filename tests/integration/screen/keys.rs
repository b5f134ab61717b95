//! Every key of the main screen, pressed in the real program (U3). A row is an action: each of its
//! keys is pressed, at each size.

use regrow::tui::action::{Action, Bindable};
use regrow::tui::keymap::KeyMap;

use super::fixture;
use super::table::{SIZES, Step, Then, bytes_of, drive, settled, type_in};
use crate::support::pty::{Home, Pty};

/// What has no key of its own by default gets one: that keys can be given is a part of it.
const CHANGES: &str = "open_tree = [\"f2\"]\n";

/// A row: the action, what is typed before and after its key, what must then be so, and what is typed
/// to be rid of it.
type Row = (Action, &'static str, &'static str, Then, &'static str);

use Then::{Gone, Left, Session, Shows, Text, Top, Written};

/// Rows that edit; the editor is cleared after each.
#[rustfmt::skip]
const WRITING: &[Row] = &[
    (Action::Newline, "one", "two", Text(&["one", "two|"]), "<ctrl+c>"),
    (Action::FollowUp, "one", "two", Text(&["one", "two|"]), "<ctrl+c>"),
    (Action::Clear, "some words", "", Text(&["|"]), ""),
    (Action::Complete, "/hotk", "", Text(&["/hotkeys|"]), "<ctrl+c>"),
    (Action::ExternalEditor, "draft", "", Text(&["draft and more|"]), "<ctrl+c>"),
    (Action::Left, "abc", "", Text(&["ab|c"]), "<ctrl+c>"),
    (Action::Left, "가나다", "", Text(&["가나|다"]), "<ctrl+c>"),
    (Action::Right, "abc<left><left>", "", Text(&["ab|c"]), "<ctrl+c>"),
    (Action::Up, "one<ctrl+j>two", "", Text(&["one|", "two"]), "<ctrl+c>"),
    (Action::Down, "one<ctrl+j>two<up>", "", Text(&["one", "two|"]), "<ctrl+c>"),
    (Action::WordLeft, "one two", "", Text(&["one |two"]), "<ctrl+c>"),
    (Action::WordRight, "one two<home>", "", Text(&["one| two"]), "<ctrl+c>"),
    (Action::LineStart, "one two", "", Text(&["|one two"]), "<ctrl+c>"),
    (Action::LineEnd, "one two<home>", "", Text(&["one two|"]), "<ctrl+c>"),
    (Action::DeleteBack, "abc", "", Text(&["ab|"]), "<ctrl+c>"),
    (Action::DeleteBack, "👨‍👩‍👧가", "", Text(&["👨👩👧|"]), "<ctrl+c>"),
    (Action::DeleteForward, "abc<home>", "", Text(&["|bc"]), "<ctrl+c>"),
    (Action::DeleteWordBack, "one two", "", Text(&["one |"]), "<ctrl+c>"),
    (Action::DeleteWordForward, "one two<home>", "", Text(&["| two"]), "<ctrl+c>"),
    (Action::KillToEnd, "one two<alt+b>", "", Text(&["one |"]), "<ctrl+c>"),
    (Action::KillToStart, "one two<alt+b>", "", Text(&["|two"]), "<ctrl+c>"),
    (Action::Yank, "one two<ctrl+w>", "", Text(&["one two|"]), "<ctrl+c>"),
    (Action::Undo, "one two<ctrl+w>", "", Text(&["one two|"]), "<ctrl+c>"),
    (Action::Redo, "one two<ctrl+w><ctrl+_>", "", Text(&["one |"]), "<ctrl+c>"),
    // These terminals have no desktop, so there is a word on it.
    (Action::PasteClipboard, "", "", Shows("clipboard"), ""),
    // Ctrl+D deletes where there is something to delete.
    (Action::Quit, "abc<home>", "", Text(&["|bc"]), "<ctrl+c>"),
];

/// Rows that show, scroll and open; at the end of the transcript, with an empty editor.
#[rustfmt::skip]
const SHOWING: &[Row] = &[
    (Action::PickModel, "", "", Shows("Model ·"), "<esc>"),
    (Action::ShowKeys, "", "", Shows("talk"), "<esc>"),
    (Action::OpenTree, "", "", Shows("← active"), "<esc>"),
    (Action::Interrupt, "<esc>{esc again for /tree}", "", Shows("← active"), "<esc>"),
    (Action::ToggleThinking, "", "", Shows("idea one"), "<ctrl+t>"),
    (Action::ToggleTools, "", "", Gone("36 lines above"), "<ctrl+o>{36 lines above}"),
    (Action::ToggleTimes, "", "", Shows("15:00"), "<alt+t>"),
    (Action::CopyAnswer, "", "", Shows("copied 5 lines: done"), ""),
    (Action::CopyCode, "", "", Shows("copied 1 line: fn last() {}"), ""),
    (Action::Find, "/find answer 13<enter>{more below}/find answer 1<enter>{!/find}", "", Top("  answer 11"), "<ctrl+end>"),
    (Action::PageUp, "", "", Shows("more below"), "<ctrl+end>"),
    (Action::PageDown, "<pageup>{more below}", "", Gone("more below"), ""),
    (Action::ScrollUp, "", "", Shows("more below"), "<ctrl+end>"),
    (Action::ScrollDown, "<shift+up>{more below}", "", Gone("more below"), ""),
    (Action::ScrollTop, "", "", Top("  regrow 0."), "<ctrl+end>"),
    (Action::ScrollEnd, "<ctrl+home>{regrow 0.}", "", Gone("more below"), ""),
    (Action::NextRequest, "<ctrl+home>{regrow 0.}", "", Top("▌ request 1"), "<ctrl+end>"),
    (Action::PreviousRequest, "<ctrl+home>{regrow 0.}<ctrl+down><ctrl+down>{request 2}", "",
        Top("▌ request 1"), "<ctrl+end>"),
    (Action::CycleThinking, "", "", Session("thinking_level_change"), ""),
];

/// Rows that talk and run.
#[rustfmt::skip]
const TALKING: &[Row] = &[
    (Action::Submit, "read README.md", "", Shows("I read 3 lines"), ""),
    (Action::SearchHistory, "README", "", Text(&["read README.md|"]), "<ctrl+c>"),
    // On the first line, to what was sent before.
    (Action::Up, "", "", Text(&["read README.md|"]), "<ctrl+c>"),
    (Action::Submit, "run sleep 30<enter>{running bash}steer", "", Shows("↳ next: steer"),
        "<esc>{!running bash}<ctrl+c>"),
    (Action::FollowUp, "run sleep 31<enter>{running bash}later", "", Shows("↳ after the turn: la"),
        "<esc>{> later}<ctrl+c>{!running bash}"),
    (Action::TakeQueue, "run sleep 32<enter>{running bash}again<enter>{↳ next: again}", "",
        Text(&["again|"]), "<ctrl+c><esc>{!running bash}"),
    (Action::Interrupt, "run sleep 33<enter>{running bash}", "", Gone("running bash"), ""),
];

/// Rows after which the program is gone, or sleeps; each has a start of its own.
#[rustfmt::skip]
const LEAVING: &[Row] = &[
    (Action::Quit, "", "", Left, ""),
    (Action::Clear, "<ctrl+c>{ctrl+c again}", "", Left, ""),
    (Action::Suspend, "", "", Written("\u{1b}[?1049l"), ""),
];

fn start(home: &Home, (columns, rows): (u16, u16)) -> Pty {
    home.configure("keymap.toml", CHANGES);
    home.put("edit.sh", "printf ' and more' >> \"$1\"\n");
    let session = fixture::long(home);
    let mut command = home.command(&["--session", &session, "--permission", "full"]);
    command.env("EDITOR", format!("sh {}", home.project().join("edit.sh").display()));
    let pty = Pty::start(command, columns, rows);
    pty.until_shows("fn last()");
    pty
}

fn press_all(rows: &[Row], size: (u16, u16)) {
    let map = KeyMap::with_changes(CHANGES).unwrap();
    let home = Home::new();
    let mut pty = start(&home, size);
    for (action, before, after, then, cleanup) in rows {
        for key in map.keys(*action) {
            // Where a line can be sent and edited, that is what Enter and the arrows do.
            let what = format!("{key} ({}) at {size:?}", action.name());
            settled(&pty, &format!("what came before {what}"));
            let key = bytes_of(key);
            drive(&mut pty, &home, &what, Step { before, key: &key, after, then: *then, cleanup });
        }
    }
    settled(&pty, "all");
    type_in(&mut pty, "/quit<enter>");
    assert_eq!(pty.wait(), 0);
}

#[test]
fn u3_every_action_has_a_row() {
    let tables = [WRITING, SHOWING, TALKING, LEAVING];
    for action in Action::ALL {
        let has_row = tables.iter().flat_map(|rows| rows.iter()).any(|row| row.0 == *action);
        assert!(has_row, "no row presses {}: add one to a table of this file", action.name());
    }
}

#[test]
fn u3_keys_that_write() {
    SIZES.into_iter().for_each(|size| press_all(WRITING, size));
}

#[test]
fn u3_keys_that_show() {
    SIZES.into_iter().for_each(|size| press_all(SHOWING, size));
}

#[test]
fn u3_keys_that_talk() {
    SIZES.into_iter().for_each(|size| press_all(TALKING, size));
}

#[test]
fn u3_keys_that_leave() {
    let map = KeyMap::default();
    for (action, before, after, then, cleanup) in LEAVING {
        for key in map.keys(*action) {
            let home = Home::new();
            let mut pty = start(&home, (80, 24));
            let what = format!("{key} ({})", action.name());
            let key = bytes_of(key);
            drive(&mut pty, &home, &what, Step { before, key: &key, after, then: *then, cleanup });
        }
    }
}
