//! What keys mean in the tree: one table, which also is the tree's help.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeAction {
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// A screenful up.
    PageUp,
    /// A screenful down.
    PageDown,
    /// The first row.
    First,
    /// The last row.
    Last,
    /// Fold the branch, or go to its head.
    Fold,
    /// Unfold the branch, or go into it.
    Unfold,
    /// Fold or unfold.
    ToggleFold,
    /// The branch before.
    PreviousBranch,
    /// The next branch.
    NextBranch,
    /// The entry from which this branch goes off.
    ParentFork,
    /// The leaf.
    Leaf,
    /// The root above.
    Root,
    /// Begin a search.
    Search,
    /// The next thing found.
    NextHit,
    /// The thing found before.
    PreviousHit,
    /// The next filter.
    Filter,
    /// Name the entry.
    Label,
    /// Show or hide times.
    Times,
    /// Copy the entry.
    Copy,
    /// A new session with the path to here.
    Export,
    /// Mark a branch, or compare with the marked one.
    Compare,
    /// Show or hide the preview.
    Preview,
    /// Move the preview up.
    PreviewUp,
    /// Move the preview down.
    PreviewDown,
    /// Show the keys.
    Help,
    /// Go there.
    Enter,
    /// Step back: end the search, the mark, the tree.
    Back,
}

use TreeAction as A;

/// Each action with its keys as people read them, and what it does.
pub(super) const HELP: &[(&str, &str)] = &[
    ("↑ ↓  k j", "a row up, down"),
    ("pgup pgdn", "a screenful"),
    ("home end  g G", "first and last row"),
    ("← →  h  space", "fold and unfold; to the head of the branch"),
    ("ctrl/alt+← →", "to the branch before, after"),
    ("p", "to the fork that this branch goes off from"),
    ("a  r", "to the active leaf, to the root"),
    ("/  n N", "search all text; next, previous"),
    ("f", "filter: default, no tools, user only, labelled, all"),
    ("l", "label the entry"),
    ("t", "times"),
    ("c", "copy the entry"),
    ("e", "new session from here"),
    ("d", "mark a branch, then compare it with another"),
    ("tab  J K", "preview; scroll it"),
    ("enter", "go there"),
    ("esc q", "close"),
];

/// What a key means.
#[must_use]
pub(super) fn action_of(key: KeyEvent) -> Option<TreeAction> {
    let far = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    Some(match key.code {
        KeyCode::Left if far => A::PreviousBranch,
        KeyCode::Right if far => A::NextBranch,
        // Terminals send Alt+b and Alt+f for Alt+← and Alt+→.
        KeyCode::Char('b') if key.modifiers == KeyModifiers::ALT => A::PreviousBranch,
        KeyCode::Char('f') if key.modifiers == KeyModifiers::ALT => A::NextBranch,
        KeyCode::Char('p') if key.modifiers == KeyModifiers::CONTROL => A::Up,
        KeyCode::Char('n') if key.modifiers == KeyModifiers::CONTROL => A::Down,
        KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => A::Back,
        KeyCode::Up if far => A::PreviewUp,
        KeyCode::Down if far => A::PreviewDown,
        KeyCode::Char(_) if far => return None,
        KeyCode::Up | KeyCode::Char('k') => A::Up,
        KeyCode::Down | KeyCode::Char('j') => A::Down,
        KeyCode::PageUp => A::PageUp,
        KeyCode::PageDown => A::PageDown,
        KeyCode::Home | KeyCode::Char('g') => A::First,
        KeyCode::End | KeyCode::Char('G') => A::Last,
        KeyCode::Left | KeyCode::Char('h') => A::Fold,
        KeyCode::Right => A::Unfold,
        KeyCode::Char(' ') => A::ToggleFold,
        KeyCode::Char('p') => A::ParentFork,
        KeyCode::Char('a') => A::Leaf,
        KeyCode::Char('r') => A::Root,
        KeyCode::Char('/') => A::Search,
        KeyCode::Char('n') => A::NextHit,
        KeyCode::Char('N') => A::PreviousHit,
        KeyCode::Char('f') => A::Filter,
        KeyCode::Char('l') => A::Label,
        KeyCode::Char('t') => A::Times,
        KeyCode::Char('c') => A::Copy,
        KeyCode::Char('e') => A::Export,
        KeyCode::Char('d') => A::Compare,
        KeyCode::Tab => A::Preview,
        KeyCode::Char('K') => A::PreviewUp,
        KeyCode::Char('J') => A::PreviewDown,
        KeyCode::Char('?') => A::Help,
        KeyCode::Enter => A::Enter,
        KeyCode::Esc | KeyCode::Char('q') => A::Back,
        _ => return None,
    })
}
