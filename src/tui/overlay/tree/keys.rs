//! The tree's own keys, as its hints and its help name them.

use crate::tui::action::TreeAction::{self, *};
use crate::tui::keymap::Keys;
use crate::tui::text::width;

/// The keys of the tree (U3).
pub(super) type TreeKeys = Keys<TreeAction>;

/// Columns for the keys in the help.
const COLUMNS: usize = 16;

/// Actions that the help names together, and what they do.
const HELP: &[(&[TreeAction], &str)] = &[
    (&[Up, Down], "a row up, down"),
    (&[PageUp, PageDown], "a screenful"),
    (&[First, Last], "first and last row"),
    (&[Fold, Unfold, ToggleFold], "fold and unfold; to the head of the branch"),
    (&[PreviousBranch, NextBranch], "to the branch before, after"),
    (&[ParentFork], "to the fork that this branch goes off from"),
    (&[Leaf, Root], "to the active leaf, to the root"),
    (&[Search, NextHit, PreviousHit], "search all text; next, previous"),
    (&[Filter], "filter: default, no tools, user only, labelled, all"),
    (&[Label], "label the entry"),
    (&[Times], "times"),
    (&[Copy], "copy the entry"),
    (&[Export], "new session from here"),
    (&[Compare], "mark a branch, then compare it with another"),
    (&[Preview, PreviewUp, PreviewDown], "preview; scroll it"),
    (&[Enter], "go there"),
    (&[Back], "close"),
];

/// The help: keys, padded to one width, and what they do. A second key of each action is named where
/// there is room; `/hotkeys` names all.
#[must_use]
pub(super) fn help(keys: &TreeKeys) -> Vec<(String, &'static str)> {
    let written = |actions: &[TreeAction], most: usize| {
        let of_one = |action: &TreeAction| {
            let names: Vec<String> =
                keys.keys(*action).iter().take(most).map(|key| short(key)).collect();
            names.join(" ")
        };
        let of_all: Vec<String> =
            actions.iter().map(of_one).filter(|keys| !keys.is_empty()).collect();
        of_all.join("  ")
    };
    let mut rows = Vec::new();
    for (actions, words) in HELP {
        let full = written(actions, 2);
        let keys = if width(&full) <= COLUMNS { full } else { written(actions, 1) };
        if !keys.is_empty() {
            let gap = " ".repeat(COLUMNS.saturating_sub(width(&keys)));
            rows.push((keys + &gap, *words));
        }
    }
    rows
}

/// The key and the words, such as `f` and ` filter`; nothing where the action has no key.
#[must_use]
pub(super) fn hint(keys: &TreeKeys, action: TreeAction, words: &str) -> Option<String> {
    let key = keys.keys(action).first()?;
    Some(format!("{}{words}", short(key)))
}

/// A key in few columns: arrows as arrows.
fn short(key: &str) -> String {
    let (modifiers, name) = match key.rfind('+').filter(|at| at + 1 < key.len()) {
        Some(at) => key.split_at(at + 1),
        None => ("", key),
    };
    let name = match name {
        "up" => "↑",
        "down" => "↓",
        "left" => "←",
        "right" => "→",
        "pageup" => "pgup",
        "pagedown" => "pgdn",
        name => name,
    };
    format!("{modifiers}{name}")
}
