//! Going to a certain place: a request, a text, any entry of the path, held or not. And what is to be
//! copied, counted back from what is seen.

use super::scroll::View;
use super::{NodeIndex, Origin, Transcript};
use crate::session::tree::{NodeKind, SessionTree};
use crate::tui::cell::Cell;
use crate::tui::editor::Direction;
use crate::tui::markdown::code_blocks;

impl Transcript {
    /// The block at the view's top.
    fn top(&self) -> usize {
        match self.view {
            View::End => self.len(),
            View::Top { seq, .. } => self.place_of(seq).unwrap_or(0),
        }
    }

    /// Puts a block at the view's top.
    fn show_at_top(&mut self, place: usize) {
        if self.view == View::End {
            self.leave_end();
        }
        if let Some(block) = self.block(place) {
            self.view = View::Top { seq: block.seq, line: usize::from(block.gap) };
        }
        self.steps = 0;
        self.pinned = true;
    }

    /// Puts the request before, or after, the top of the view at the top. `false` when none of those that
    /// are held is there.
    pub fn go_to_request(&mut self, direction: Direction) -> bool {
        let top = self.top();
        let is_request = |place: &usize| {
            matches!(self.block(*place).map(|block| &block.cell), Some(Cell::User(_)))
        };
        let found = match direction {
            Direction::Back => (0..top).rev().find(is_request),
            Direction::Forward => (top + 1..self.len()).find(is_request),
        };
        if let Some(place) = found {
            self.show_at_top(place);
        }
        found.is_some()
    }

    /// The nearest request before, or after, what is held.
    #[must_use]
    pub fn request_beyond(&self, tree: &SessionTree, direction: Direction) -> Option<NodeIndex> {
        let is_request = |index: &&NodeIndex| matches!(tree.node(**index).kind, NodeKind::User);
        match direction {
            Direction::Back => self.path[..self.window.start].iter().rev().find(is_request),
            Direction::Forward => self.path[self.window.end..].iter().find(is_request),
        }
        .copied()
    }

    /// The first entry of the path.
    #[must_use]
    pub fn first(&self) -> Option<NodeIndex> {
        self.path.first().copied()
    }

    /// Puts an entry of the path at the top of the view; one that is not held is read first.
    pub fn go_to(&mut self, tree: &SessionTree, entry: NodeIndex) {
        let Some(place) = self.path.iter().position(|index| *index == entry) else { return };
        self.goal = Some(entry);
        if !self.window.contains(&place) {
            self.leave_end();
            let start = self.whole_turns(tree, place);
            self.hold_nothing_at(start);
        }
        self.reach_goal();
    }

    /// Shows the entry that was gone to, once it is there. A result shows with its call.
    pub(super) fn reach_goal(&mut self) {
        let Some(goal) = self.goal else { return };
        let held = &self.path[self.window.clone()];
        if !held.contains(&goal) {
            return;
        }
        self.goal = None;
        let shows = |place: &usize| {
            let origin = self.block(*place).map(|block| block.origin);
            matches!(origin, Some(Origin::Entry(index)) if index <= goal)
        };
        if let Some(last) = (0..self.blocks.len()).rev().find(shows) {
            let origin = self.block(last).map(|block| block.origin);
            let is_same = |place: &usize| self.block(*place).map(|block| block.origin) == origin;
            let first = (0..=last).rev().take_while(is_same).last().unwrap_or(last);
            self.show_at_top(first);
            self.near_top = true;
        }
    }

    /// Puts the nearest block above the view's top that holds a text at the top, in any case.
    /// `false` when none of those that are held does.
    pub fn find_back(&mut self, text: &str) -> bool {
        let text = text.to_lowercase();
        let holds = |place: &usize| {
            self.block(*place).is_some_and(|block| block.cell.text().to_lowercase().contains(&text))
        };
        let found = (0..self.top()).rev().find(holds);
        if let Some(place) = found {
            self.show_at_top(place);
        }
        found.is_some()
    }

    /// Of entries in file order, the last one that stands on the path before what is held.
    #[must_use]
    pub fn last_before_held(&self, entries: &[NodeIndex]) -> Option<NodeIndex> {
        let before = &self.path[..self.window.start];
        entries.iter().rev().find(|entry| before.binary_search(entry).is_ok()).copied()
    }

    /// How many blocks are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the path begins before what is held.
    #[must_use]
    pub const fn has_more_above(&self) -> bool {
        self.window.start > 0
    }

    /// The answer so many steps back from the end of what is seen.
    #[must_use]
    pub fn answer_back(&self, steps: usize) -> Option<String> {
        self.answers_back().nth(steps).map(ToOwned::to_owned)
    }

    /// The block of code so many steps back from the end of what is seen.
    #[must_use]
    pub fn code_back(&self, steps: usize) -> Option<String> {
        self.answers_back().flat_map(|text| code_blocks(text).into_iter().rev()).nth(steps)
    }

    fn answers_back(&self) -> impl Iterator<Item = &str> {
        let end = if self.view == View::End { self.len() } else { self.bottom.min(self.len()) };
        (0..end).rev().filter_map(|place| match &self.block(place)?.cell {
            Cell::Answer(text) if !text.source().trim().is_empty() => Some(text.source()),
            _ => None,
        })
    }
}
