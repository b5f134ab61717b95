//! `/tree`: the session as a tree to look around in and to move through (SPEC U5, B6, B8).
//!
//! The overlay reads the nodes of the tree under its read lock and asks for bodies only when they are
//! to be seen. What a key costs does not depend on the size of the session, except for what shapes
//! the rows anew (a filter, a fold) or searches: that is linear. It changes nothing itself: moves,
//! labels and copies are wishes that it hands out.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use tui_tree_widget::TreeState;

use super::input::{Input, Lines, Typed};
use super::{Outcome, Overlay};
use crate::agent_session::command::SummaryChoice;
use crate::agent_session::event::{ActivityKind, SessionEvent};
use crate::ids::{EntryId, Timestamp};
use crate::session::entry::SessionEntry;
use crate::session::reader::SessionReader;
use crate::session::tree::{NodeIndex, SessionTree};
use crate::settings::BranchSummarySettings;
use crate::tui::action::TreeAction;
use crate::tui::effect::{BodyHits, UiEffect};
use crate::tui::keymap::{KeyMap, Keys};
use crate::tui::theme::Theme;

use bodies::{Bodies, text_to_copy};
use compare::Comparison;
use filter::Filter;
use keys::{TreeKeys, hint};
use outline::Outline;
use preview::Preview;
use question::{Question, Wording};
use rows::{Folds, Rows};
use search::Search;
use view::Pane;

pub(crate) mod bodies;
mod compare;
pub mod filter;
mod go;
mod keys;
mod moves;
#[cfg(test)]
mod notation;
pub mod outline;
pub mod paint;
mod preview;
mod question;
pub mod rows;
pub mod search;
#[cfg(test)]
mod tests;
mod view;

/// See the module.
pub struct TreeOverlay {
    reader: SessionReader,
    settings: BranchSummarySettings,
    keys: Arc<TreeKeys>,
    now: Timestamp,
    zone: TimeZone,
    /// Whether something runs, so that the tree can only be looked at (F24).
    busy: bool,
    outline: Outline,
    rows: Rows,
    filter: Filter,
    /// The session has changed since `outline` and `rows` were made.
    stale: bool,
    /// The selected line, and the first line on the screen.
    cursor: usize,
    top: usize,
    mode: Mode,
    search: Option<Search>,
    bodies: Bodies,
    preview: Preview,
    pane: Pane,
    show_times: bool,
    /// One end of a comparison.
    marked: Option<NodeIndex>,
    /// A body that goes to the clipboard when it is there.
    copying: Option<NodeIndex>,
    /// A word to the person, until the next key.
    hint: Option<String>,
    seen: Seen,
}

/// What the keys are for now.
enum Mode {
    /// Moving around.
    Browse,
    /// Typing what to search for. What was selected and folded before comes back with Escape.
    Search { input: Input, from: NodeIndex, folds: Folds },
    /// Typing a label.
    Label { input: Input, target: NodeIndex },
    /// Answering a question about a move.
    Ask { question: Question, journey: Journey },
    /// Typing words for a summary.
    Write { input: Input, wording: Wording, question: Question, journey: Journey },
    /// Looking at two branches.
    Compare(Box<Comparison>),
    /// Looking at the keys.
    Help,
}

/// A move that is being decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Journey {
    target: NodeIndex,
    /// Whether a running turn is to be stopped first.
    stop_first: bool,
}

/// Where things were drawn last, for the mouse and for what must be loaded.
#[derive(Debug, Default)]
struct Seen {
    tree: Rect,
    preview: Rect,
    /// Whether there is room for rows and preview.
    has_room: bool,
    widget: TreeState<u32>,
    /// The row whose preview was drawn.
    previewed: Option<NodeIndex>,
}

/// How many branches the tree would show.
#[must_use]
pub fn branches_of(tree: &SessionTree) -> usize {
    let has_fork = tree.is_fork(None) || tree.nodes().any(|(index, _)| tree.is_fork(Some(index)));
    if !has_fork {
        return 0;
    }
    Rows::new(tree, &Outline::new(tree), Filter::Default, &Folds::new()).branches()
}

impl TreeOverlay {
    /// Opens the tree with the leaf selected. `busy`: something runs in the session.
    #[must_use]
    pub fn new(
        reader: SessionReader,
        settings: BranchSummarySettings,
        now: Timestamp,
        busy: bool,
    ) -> Self {
        let (outline, rows) = {
            let tree = reader.tree();
            let outline = Outline::new(&tree);
            let rows = Rows::new(&tree, &outline, Filter::Default, &Folds::new());
            (outline, rows)
        };
        let mut overlay = Self {
            reader,
            settings,
            keys: KeyMap::default().tree().clone(),
            now,
            zone: TimeZone::system(),
            busy,
            outline,
            rows,
            filter: Filter::Default,
            stale: false,
            cursor: 0,
            top: 0,
            mode: Mode::Browse,
            search: None,
            bodies: Bodies::default(),
            preview: Preview::default(),
            pane: Pane::Auto,
            show_times: false,
            marked: None,
            copying: None,
            hint: None,
            seen: Seen::default(),
        };
        if let Some(leaf) = overlay.outline.leaf() {
            overlay.select(leaf);
        }
        overlay
    }

    /// Goes by the person's own keys.
    #[must_use]
    pub fn with_keys(mut self, keys: Arc<Keys<TreeAction>>) -> Self {
        self.keys = keys;
        self
    }

    /// Shows times in another zone than the system's.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Opens the tree again where it was after a move did not happen (B7). `failure`: what went
    /// wrong and which summary was tried, when it was not stopped by the person.
    #[must_use]
    pub fn reopen_at(self, target: &EntryId, failure: Option<(&str, SummaryChoice)>) -> Self {
        let mut this = self.at(target);
        let Some(target) = this.reader.tree().find(target) else { return this };
        match failure {
            Some((error, tried)) => {
                let journey = Journey { target, stop_first: false };
                this.mode = Mode::Ask { question: Question::failed(error, tried), journey };
            }
            None => this.hint = Some("stopped; nothing has changed".to_owned()),
        }
        this
    }

    /// Selects an entry that is there.
    #[must_use]
    pub fn at(mut self, target: &EntryId) -> Self {
        let found = self.reader.tree().find(target);
        if let Some(target) = found {
            self.rows.reveal(target);
            self.select(target);
        }
        self
    }

    /// Brings outline and rows up to date. The selection stays on its entry.
    fn refresh(&mut self) {
        if std::mem::take(&mut self.stale) {
            self.outline = Outline::new(&self.reader.tree());
            self.reshape();
        }
    }

    /// Makes the rows again, for another filter or another tree.
    fn reshape(&mut self) {
        let selected = self.rows.lines().get(self.cursor).map(|line| line.node);
        let folds = self.rows.folds();
        let reader = self.reader.clone();
        let tree = reader.tree();
        self.rows = Rows::new(&tree, &self.outline, self.filter, &folds);
        self.preview.forget();
        drop(tree);
        if let Some(search) = &mut self.search {
            search.sort(&self.rows);
        }
        self.cursor = selected.and_then(|node| self.rows.line_of(node)).unwrap_or_default();
    }

    fn act(&mut self, action: TreeAction) -> Outcome {
        match action {
            TreeAction::Search => self.begin_search(),
            TreeAction::Filter => {
                self.filter = self.filter.next();
                self.reshape();
            }
            TreeAction::Times => self.show_times = !self.show_times,
            TreeAction::Preview => self.pane = self.pane.toggled(self.seen.has_room),
            TreeAction::PreviewUp => self.preview.scroll(-3),
            TreeAction::PreviewDown => self.preview.scroll(3),
            TreeAction::Help => self.mode = Mode::Help,
            TreeAction::Label => self.begin_label(),
            TreeAction::Compare => self.mark_or_compare(),
            TreeAction::Copy => return self.copy(),
            TreeAction::Export => return self.export(),
            TreeAction::Enter => return self.enter(),
            TreeAction::Back => return self.back(),
            action => self.travel(action),
        }
        Outcome::Consumed
    }

    /// One step back: the search, then the mark, then the tree.
    fn back(&mut self) -> Outcome {
        if self.search.take().is_some() {
            return Outcome::Do(vec![UiEffect::SearchBodies(String::new())]);
        }
        if self.marked.take().is_some() {
            return Outcome::Consumed;
        }
        Outcome::Close(Vec::new())
    }

    fn begin_search(&mut self) {
        let Some(line) = self.rows.lines().get(self.cursor) else { return };
        self.mode = Mode::Search {
            input: Input::new("", Lines::One),
            from: line.node,
            folds: self.rows.folds(),
        };
    }

    /// Looks for what was typed: previews at once, bodies in the background.
    fn look_for(&mut self, query: &str) -> Outcome {
        let Mode::Search { from, folds, .. } = &self.mode else { return Outcome::Consumed };
        let (from, folds) = (*from, folds.clone());
        let search = match &mut self.search {
            Some(search) => search,
            none => none.insert(Search::new(&self.reader.tree())),
        };
        search.look_for(query, &self.rows);
        self.rows.set_folds(&folds);
        let start = self.rows.place(from).unwrap_or_default();
        let hits = search.hits();
        let next = hits.partition_point(|hit| self.rows.place(*hit) < Some(start));
        let hit = hits.get(next).or(hits.first()).copied().unwrap_or(from);
        self.go_to(hit);
        Outcome::Do(vec![UiEffect::SearchBodies(query.to_owned())])
    }

    fn key_in_search(&mut self, key: KeyEvent) -> Outcome {
        let Mode::Search { input, .. } = &mut self.mode else { return Outcome::Ignored };
        match search_key(input, key) {
            SearchKey::Changed(query) => return self.look_for(&query),
            SearchKey::Next => self.travel(TreeAction::NextHit),
            SearchKey::Previous => self.travel(TreeAction::PreviousHit),
            SearchKey::Done => {
                self.mode = Mode::Browse;
                if self.search.as_ref().is_some_and(|search| search.needle.is_none()) {
                    self.search = None;
                }
            }
            SearchKey::Left => return self.leave_search(),
            SearchKey::Nothing => {}
        }
        Outcome::Consumed
    }

    /// Escape: everything is as it was before the search.
    fn leave_search(&mut self) -> Outcome {
        let mode = std::mem::replace(&mut self.mode, Mode::Browse);
        if let Mode::Search { from, folds, .. } = mode {
            self.search = None;
            self.rows.set_folds(&folds);
            self.select(from);
        }
        Outcome::Do(vec![UiEffect::SearchBodies(String::new())])
    }

    fn mark_or_compare(&mut self) {
        let Some(line) = self.rows.lines().get(self.cursor).copied() else { return };
        let Some(marked) = self.marked.take() else {
            self.marked = Some(line.node);
            let again = hint(&self.keys, TreeAction::Compare, " compares it with another branch");
            self.hint = Some(
                ["marked".to_owned()].into_iter().chain(again).collect::<Vec<_>>().join(" · "),
            );
            return;
        };
        let here = self.standing_for(&line);
        let ends = [marked, here].map(|entry| compare::end_of_branch(&self.outline, entry));
        let tree = self.reader.tree();
        match Comparison::new(&tree, &self.outline, ends[0], ends[1]) {
            Some(comparison) => self.mode = Mode::Compare(Box::new(comparison)),
            None => self.hint = Some("both are on the same branch · the mark is gone".to_owned()),
        }
    }

    fn copy(&mut self) -> Outcome {
        let Some(line) = self.rows.lines().get(self.cursor) else { return Outcome::Consumed };
        if let Some(entry) = self.bodies.get(line.node) {
            self.hint = Some("copied".to_owned());
            return Outcome::Do(vec![UiEffect::Copy(text_to_copy(entry))]);
        }
        self.copying = Some(line.node);
        Outcome::Do(vec![UiEffect::LoadEntries(vec![line.node])])
    }
}

impl Overlay for TreeOverlay {
    fn key(&mut self, key: KeyEvent) -> Outcome {
        self.refresh();
        self.hint = None;
        match &mut self.mode {
            Mode::Browse => {
                let action = self.keys.action(&key);
                action.map_or(Outcome::Ignored, |action| self.act(action))
            }
            Mode::Search { .. } => self.key_in_search(key),
            Mode::Label { .. } => self.key_in_label(key),
            Mode::Ask { .. } => self.key_in_question(key),
            Mode::Write { .. } => self.key_in_words(key),
            Mode::Compare(_) => self.key_in_comparison(key),
            Mode::Help => {
                self.mode = Mode::Browse;
                Outcome::Consumed
            }
        }
    }

    fn paste(&mut self, text: &str) -> Outcome {
        self.refresh();
        match &mut self.mode {
            Mode::Label { input, .. } | Mode::Write { input, .. } => input.paste(text),
            Mode::Search { input, .. } => {
                input.paste(text);
                let query = input.text();
                return self.look_for(&query);
            }
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Outcome {
        self.refresh();
        self.mouse_event(mouse)
    }

    fn session(&mut self, event: &SessionEvent) -> Outcome {
        match event {
            SessionEvent::Activity { kind } => self.busy = *kind != ActivityKind::Idle,
            SessionEvent::Appended { .. } | SessionEvent::Moved { .. } => self.stale = true,
            // Another session: what is shown here is no longer the one that runs.
            SessionEvent::Opened { .. } => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    fn entries(&mut self, entries: &[(NodeIndex, Arc<SessionEntry>)]) -> Outcome {
        self.bodies.add(entries);
        if let Mode::Compare(comparison) = &mut self.mode {
            comparison.add(entries);
        }
        let copied = entries.iter().find(|(index, _)| self.copying == Some(*index));
        if let Some((_, entry)) = copied {
            self.copying = None;
            self.hint = Some("copied".to_owned());
            return Outcome::Do(vec![UiEffect::Copy(text_to_copy(entry))]);
        }
        Outcome::Consumed
    }

    fn found(&mut self, hits: &BodyHits) -> Outcome {
        self.refresh();
        let Some(search) = &mut self.search else { return Outcome::Ignored };
        let nothing_yet = search.hits().is_empty();
        if !search.add(hits, &self.rows) {
            return Outcome::Ignored;
        }
        // The first hit is gone to as if it had been found at once; later ones never move anything.
        if nothing_yet
            && matches!(self.mode, Mode::Search { .. })
            && let Some(first) = search.hits().first().copied()
        {
            self.go_to(first);
        }
        Outcome::Consumed
    }

    fn wants(&mut self) -> Vec<UiEffect> {
        let wanted = match &mut self.mode {
            Mode::Compare(comparison) => comparison.wants(),
            _ => self.wanted_by_rows(),
        };
        if wanted.is_empty() { Vec::new() } else { vec![UiEffect::LoadEntries(wanted)] }
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        self.refresh();
        self.draw_all(frame, area, theme)
    }
}

/// What a key does while a search is typed.
enum SearchKey {
    Changed(String),
    Next,
    Previous,
    Done,
    Left,
    Nothing,
}

fn search_key(input: &mut Input, key: KeyEvent) -> SearchKey {
    match key.code {
        KeyCode::Down => return SearchKey::Next,
        KeyCode::Up => return SearchKey::Previous,
        _ => {}
    }
    match input.key(key) {
        Typed::Changed => SearchKey::Changed(input.text()),
        Typed::Done => SearchKey::Done,
        Typed::Left => SearchKey::Left,
        Typed::Nothing => SearchKey::Nothing,
    }
}
