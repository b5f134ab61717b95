//! Going to a certain place: a request, a text, any entry of the path, held or not. And what is to be
//! copied, counted back from what is seen.

use std::path::Path;

use super::found::Sought;
use super::scroll::View;
use super::{NodeIndex, Origin, Transcript};
use crate::session::tree::{NodeKind, SessionTree};
use crate::tui::cell::{Cell, Look};
use crate::tui::editor::Direction;
use crate::tui::highlight::Highlights;
use crate::tui::markdown::code_blocks;
use crate::tui::theme::Theme;

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
        self.show_line(place, 0);
        self.sought = None;
    }

    /// Puts a line of a block at the view's top, not counting the blank one before it.
    fn show_line(&mut self, place: usize, line: usize) {
        if self.view == View::End {
            self.leave_end();
        }
        if let Some(block) = self.block(place) {
            self.view = View::Top { seq: block.seq, line: usize::from(block.gap) + line };
        }
        self.steps = 0;
        self.pinned = true;
        self.goal_block = None;
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
        self.goal_text = None;
        self.go_to_goal(tree, place);
    }

    /// Goes to an entry, and there to the last line that holds a text.
    pub fn go_to_text(&mut self, tree: &SessionTree, entry: NodeIndex, text: &str) {
        let Some(place) = self.path.iter().position(|index| *index == entry) else { return };
        self.goal = Some(entry);
        self.goal_text = Some(Sought::new(text));
        self.go_to_goal(tree, place);
    }

    fn go_to_goal(&mut self, tree: &SessionTree, place: usize) {
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
            self.goal_block = self.block(last).map(|block| block.seq);
        }
    }

    /// Goes to the line that holds a text in the entry that was gone to; needs its lines.
    pub(super) fn reach_goal_text(&mut self, look: Look<'_>) {
        let Some(seq) = self.goal_block.take() else { return };
        let Some(sought) = self.goal_text.take() else { return };
        let Some(last) = self.place_of(seq) else { return };
        let origin = self.block(last).map(|block| block.origin);
        let is_same = |place: &usize| self.block(*place).map(|block| block.origin) == origin;
        let first = (0..=last).rev().take_while(is_same).last().unwrap_or(last);
        self.find_between(first, last, usize::MAX, &sought, look);
    }

    /// Puts the nearest line above the view's top that holds a text at the top, in any case.
    /// `false` when none of those that are held does.
    pub fn find_back(
        &mut self,
        text: &str,
        theme: &Theme,
        highlights: &Highlights,
        cwd: &Path,
    ) -> bool {
        let look = self.look(theme, highlights, cwd);
        self.return_to_place(look);
        let mut sought = Sought::new(text);
        let before = self.sought.take().filter(|before| before.is_same(&sought));
        sought.hidden = before.as_ref().is_some_and(|before| before.hidden);
        let line = match self.view {
            View::Top { .. } if sought.hidden => usize::MAX,
            View::Top { line, .. } => line,
            View::End => 0,
        };
        let found = self.find_between(0, self.top(), line, &sought, look);
        if !found {
            self.sought = before;
        }
        found
    }

    /// Goes to the last line that holds a text in a run of blocks, of the last of them only what stands
    /// before a line.
    fn find_between(
        &mut self,
        first: usize,
        last: usize,
        end: usize,
        sought: &Sought,
        look: Look<'_>,
    ) -> bool {
        for place in (first..=last).rev() {
            let end = if place == last { end } else { usize::MAX };
            let Some(block) = self.block(place).filter(|_| end > 0) else { continue };
            let text = block.cell.text();
            if !sought.may_be_in(&text) {
                continue;
            }
            self.height(place, look);
            let Some(block) = self.block(place) else { continue };
            let end = end.saturating_sub(usize::from(block.gap));
            let line = sought.last_line(block.cell.lines(&block.drawn), end);
            // What is folded away shows with its block, once.
            let was_here = place == last && (sought.hidden || end < usize::MAX - 1);
            let is_hidden = line.is_none() && !was_here && sought.is_in(&text);
            if line.is_some() || is_hidden {
                self.show_line(place, line.unwrap_or(0));
                let mut sought = sought.clone();
                sought.hidden = is_hidden;
                self.sought = Some(sought);
                return true;
            }
        }
        false
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
