//! Every key of the tree, pressed in the real program (U3, U5).

use std::time::Duration;

use regrow::tui::action::{Bindable, TreeAction};
use regrow::tui::keymap::KeyMap;

use super::fixture;
use super::table::{SIZES, Step, Then, bytes_of, drive, settled, type_in};
use crate::support::pty::{Home, Pty};

/// As the rows of the main screen; each begins in a tree that was just opened, at the leaf.
type Row = (TreeAction, &'static str, &'static str, Then, &'static str);

use Then::{Gone, Selected, Session, Shows, Written};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (TreeAction::Up, "", "", Selected("answer four"), ""),
    (TreeAction::Down, "<up>", "", Selected("answer five"), ""),
    (TreeAction::PageUp, "", "", Selected("first step"), ""),
    (TreeAction::PageDown, "<home>", "", Selected("left way"), ""),
    (TreeAction::First, "", "", Selected("first step"), ""),
    (TreeAction::Last, "<home>", "", Selected("left way"), ""),
    (TreeAction::Fold, "", "", Selected("right way"), ""),
    (TreeAction::Unfold, "<end><right>", "", Selected("answer two"), ""),
    (TreeAction::ToggleFold, "<left>", "", Gone("answer four"), ""),
    (TreeAction::PreviousBranch, "", "", Selected("right way"), ""),
    (TreeAction::NextBranch, "", "", Selected("left way"), ""),
    (TreeAction::ParentFork, "", "", Selected("answer one"), ""),
    (TreeAction::Leaf, "<home>", "", Selected("answer five"), ""),
    (TreeAction::Root, "", "", Selected("first step"), ""),
    (TreeAction::Search, "", "step", Selected("first step"), ""),
    (TreeAction::NextHit, "/answer<enter>{of 5}<home>", "", Selected("answer one"), ""),
    (TreeAction::PreviousHit, "/answer<enter>{of 5}", "", Selected("answer four"), ""),
    (TreeAction::Label, "", "here", Shows("label: here"), ""),
    (TreeAction::Label, "", "plan b<enter>", Shows("[plan b]"), ""),
    (TreeAction::Times, "", "", Then::Row("answer four", "15:00"), ""),
    (TreeAction::Copy, "", "", Written("\u{1b}]52;c;YW5zd2VyIGZpdmU="), ""),
    (TreeAction::Compare, "d{marked}<end>", "", Shows("Two branches"), ""),
    (TreeAction::Help, "", "", Shows("a screenful"), ""),
    (TreeAction::Filter, "f", "", Gone("answer four"), ""),
    (TreeAction::Back, "", "", Gone("Tree ·"), ""),
    (TreeAction::Enter, "<end>", "", Shows("just go"), ""),
    (TreeAction::Export, "", "", Session("\"parentSession\""), ""),
];

#[test]
fn u3_every_action_of_the_tree_has_a_row() {
    let previews = [TreeAction::Preview, TreeAction::PreviewUp, TreeAction::PreviewDown];
    for action in TreeAction::ALL {
        let has_row = ROWS.iter().any(|row| row.0 == *action) || previews.contains(action);
        assert!(has_row, "no row presses {}: add one to the table of this file", action.name());
    }
}

/// Steps back until the main screen is there again. Two escapes that are read at once are another key
/// that means nothing: then it is pressed again.
fn close(pty: &mut Pty) {
    for _ in 0..20 {
        pty.until_quiet(Duration::from_millis(15), 10);
        let before = pty.screen();
        if !before.contains("Tree ·") && !before.contains("Two branches") {
            return settled(pty, "the tree");
        }
        pty.send("\u{1b}");
        pty.changes_from(&before, Duration::from_secs(1));
    }
    panic!("the tree stays open\n{}", pty.screen());
}

/// Where there is room, the preview is there already and Tab takes it away.
#[test]
fn u3_keys_of_the_trees_preview() {
    let map = KeyMap::default();
    for size in SIZES {
        let home = Home::new();
        let session = fixture::forked(&home);
        let mut pty = Pty::start(home.command(&["--session", &session]), size.0, size.1);
        pty.until_shows("answer five");
        type_in(&mut pty, "/tree<enter>{Tree ·}<end><right><right>");
        let is_small = size.0 < 80;
        if !is_small {
            pty.until_shows("• item 1 ");
        }
        let mut press = |action: TreeAction, before: &str, then: Then, cleanup: &str| {
            for key in map.tree().keys(action) {
                let what = format!("{key} ({}) at {size:?}", action.name());
                let key = bytes_of(key);
                drive(&mut pty, &home, &what, Step { before, key: &key, after: "", then, cleanup });
            }
        };
        match is_small {
            true => press(TreeAction::Preview, "", Shows("• item 1 "), ""),
            false => press(TreeAction::Preview, "", Gone("• item 1 "), "<tab>{• item 1 }"),
        }
        for key in map.tree().keys(TreeAction::PreviewUp) {
            let cleanup = format!("<{key}><{key}>{{• item 1 }}");
            press(TreeAction::PreviewDown, "J", Gone("• item 1 "), &cleanup);
        }
    }
}

#[test]
fn u3_keys_of_the_tree() {
    let map = KeyMap::default();
    for size in SIZES {
        let home = Home::new();
        let session = fixture::forked(&home);
        let mut pty = Pty::start(home.command(&["--session", &session]), size.0, size.1);
        pty.until_shows("answer five");
        for (action, before, after, then, cleanup) in ROWS {
            for key in map.tree().keys(*action) {
                let what = format!("{key} ({}) at {size:?}", action.name());
                type_in(&mut pty, "/tree<enter>{Tree ·}");
                let key = bytes_of(key);
                drive(
                    &mut pty,
                    &home,
                    &what,
                    Step { before, key: &key, after, then: *then, cleanup },
                );
                close(&mut pty);
            }
        }
        type_in(&mut pty, "/quit<enter>");
        assert_eq!(pty.wait(), 0);
    }
}
