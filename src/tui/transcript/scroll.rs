//! Which lines of the transcript are seen, and moving through them.
//!
//! The view sticks to the end only if it was there. Elsewhere it is held by its top line, named by
//! block, so that nothing jumps when text arrives below or older entries above.

use ratatui::text::Line;

use super::{Block, CHUNK, Transcript};
use crate::ids::Timestamp;
use crate::tui::cell::Look;
use crate::tui::highlight::Highlights;
use crate::tui::theme::Theme;
use std::ops::Range;
use std::path::Path;

/// Where the view is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum View {
    /// At the end, and stays there.
    #[default]
    End,
    /// The top line is line `line` of block `seq`.
    Top { seq: i64, line: usize },
}

/// The view is near an end of what is held when so few blocks stand between.
const NEAR: usize = 8;

/// The lines that are seen, top first. Made by [`Transcript::look_at`].
#[derive(Debug, Default)]
pub struct Seen {
    parts: Vec<Part>,
    /// The lines of those parts that hold what is sought, with that marked.
    marked: Vec<Option<Vec<Line<'static>>>>,
    /// When the view is not at the end: how many lines came since it left it.
    pub below: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    block: usize,
    /// First line of the block, the blank one before it included.
    from: usize,
    lines: usize,
}

impl Part {
    /// The blank lines of the part, and which lines of its block.
    fn lines_of(&self, block: &Block) -> (usize, Range<usize>) {
        let all = block.cell.lines(&block.drawn).len();
        let gap = usize::from(block.gap);
        let blank = gap.saturating_sub(self.from).min(self.lines);
        let from = self.from.saturating_sub(gap).min(all);
        (blank, from..(from + self.lines - blank).min(all))
    }
}

/// A run of lines of one block.
pub struct SeenBlock<'a> {
    /// Blank lines before.
    pub blank: usize,
    /// The lines.
    pub lines: &'a [Line<'static>],
    /// Columns to leave free at the left.
    pub inset: usize,
    /// When it was said, for what comes from the session.
    pub time: Option<Timestamp>,
}

impl Transcript {
    pub(super) fn block(&self, place: usize) -> Option<&Block> {
        self.blocks.get(place).or_else(|| self.live.get(place - self.blocks.len().min(place)))
    }

    /// Blocks that can be seen: what streams stands after the end of the path, not after a part of it.
    pub(super) fn len(&self) -> usize {
        self.blocks.len() + if self.is_attached() { self.live.len() } else { 0 }
    }

    pub(super) fn place_of(&self, seq: i64) -> Option<usize> {
        (0..self.len()).rev().find(|place| self.block(*place).is_some_and(|block| block.seq == seq))
    }

    /// Height of a block, drawn if need be.
    pub(super) fn height(&mut self, place: usize, look: Look<'_>) -> usize {
        let stamp = self.look;
        let length = self.blocks.len();
        let block = match place.checked_sub(length) {
            None => self.blocks.get_mut(place),
            Some(place) => self.live.get_mut(place),
        };
        block.map_or(0, |block| {
            Self::draw_block(block, stamp, look);
            block.height()
        })
    }

    /// Works out what is seen in `rows` rows. The one place where blocks are drawn.
    pub fn look_at(
        &mut self,
        rows: usize,
        width: usize,
        theme: &Theme,
        highlights: &Highlights,
        cwd: &Path,
    ) -> Seen {
        if width != self.width {
            self.keep_place();
            self.width = width;
            self.redraw();
        }
        let look = self.look(theme, highlights, cwd);
        self.return_to_place(look);
        self.reach_goal_text(look);
        self.apply_steps(rows, look);
        let mut seen = match self.view {
            View::Top { seq, line } => self.seen_from_top(seq, line, rows, look),
            View::End => None,
        };
        if seen.is_none() {
            self.view = View::End;
        }
        let mut seen = seen.take().unwrap_or_else(|| self.seen_at_end(rows, look));
        self.mark(&mut seen);
        seen
    }

    /// How blocks look, at the width that they were drawn at last.
    pub(super) const fn look<'a>(
        &self,
        theme: &'a Theme,
        highlights: &'a Highlights,
        cwd: &'a Path,
    ) -> Look<'a> {
        let Self { width, tools, thinking, .. } = *self;
        Look { theme, highlights, width, tools, thinking, cwd }
    }

    /// Marks what was sought where it is seen.
    fn mark(&self, seen: &mut Seen) {
        let Some(sought) = &self.sought else { return };
        for part in &seen.parts {
            let marked = self.block(part.block).and_then(|block| {
                let (_, lines) = part.lines_of(block);
                sought.mark(block.cell.lines(&block.drawn), lines.start, lines.len())
            });
            seen.marked.push(marked);
        }
    }

    fn seen_at_end(&mut self, rows: usize, look: Look<'_>) -> Seen {
        let mut parts = Vec::new();
        let mut room = rows;
        let mut place = self.len();
        while room > 0 && place > 0 {
            place -= 1;
            let height = self.height(place, look);
            let lines = height.min(room);
            parts.push(Part { block: place, from: height - lines, lines });
            room -= lines;
        }
        self.near_top = place < NEAR;
        self.near_bottom = true;
        self.bottom = self.len();
        parts.reverse();
        Seen { parts, below: None, ..Seen::default() }
    }

    /// `None` when the end comes into view, or the block is gone.
    fn seen_from_top(
        &mut self,
        seq: i64,
        line: usize,
        rows: usize,
        look: Look<'_>,
    ) -> Option<Seen> {
        let first = self.place_of(seq)?;
        self.near_top = first < NEAR;
        let mut parts = Vec::new();
        let mut room = rows;
        for place in first..self.len() {
            let height = self.height(place, look);
            let from = if place == first { line.min(height.saturating_sub(1)) } else { 0 };
            let lines = (height - from).min(room);
            if lines > 0 {
                parts.push(Part { block: place, from, lines });
            }
            room -= lines;
            if room == 0 {
                self.near_bottom = place + NEAR >= self.len();
                self.bottom = place + 1;
                let more = from + lines < height || place + 1 < self.len();
                let new = self.new_lines(look);
                return more.then_some(Seen { parts, below: Some(new), ..Seen::default() });
            }
        }
        self.near_bottom = true;
        self.bottom = self.len();
        // What follows is on its way, or somebody went just there: the view stays where it is.
        let below = (!self.is_attached()).then_some(0);
        (below.is_some() || self.pinned).then_some(Seen { parts, below, ..Seen::default() })
    }

    /// Lines that came after the view had left the end.
    fn new_lines(&mut self, look: Look<'_>) -> usize {
        let (seq, height) = self.left_at;
        let Some(place) = self.place_of(seq) else { return 0 };
        let last = self.height(place, look);
        let seen = match height {
            Some((stamp, height)) if stamp == self.look => height,
            _ => {
                self.left_at = (seq, Some((self.look, last)));
                last
            }
        };
        let after: usize = (place + 1..self.len()).map(|place| self.height(place, look)).sum();
        (last + after).saturating_sub(seen)
    }

    /// Notes where the end was when the view left it. The end of a part of the path is none: what comes
    /// after that was there before.
    pub(super) fn leave_end(&mut self) {
        let end = if self.is_attached() { self.len() } else { 0 };
        let last = end.checked_sub(1).and_then(|place| self.block(place));
        let stamp = self.look;
        self.left_at = last.map_or((0, None), |block| {
            (block.seq, (block.look == Some(stamp)).then(|| (stamp, block.height())))
        });
    }

    /// The lines of what is seen.
    pub fn seen<'a>(&'a self, seen: &'a Seen) -> impl Iterator<Item = SeenBlock<'a>> {
        seen.parts.iter().enumerate().filter_map(|(number, part)| {
            let block = self.block(part.block)?;
            let (blank, lines) = part.lines_of(block);
            let marked = seen.marked.get(number).and_then(Option::as_deref);
            Some(SeenBlock {
                blank,
                lines: marked.unwrap_or_else(|| &block.cell.lines(&block.drawn)[lines]),
                inset: block.cell.inset(),
                time: block.time,
            })
        })
    }

    /// Moves the view by lines; negative is back. Takes effect when it is drawn next.
    pub fn scroll_by(&mut self, lines: isize) {
        self.steps += lines;
        self.pinned = false;
        self.sought = None;
    }

    /// To the end, and stays there.
    pub fn scroll_to_end(&mut self) {
        self.view = View::End;
        self.steps = 0;
        self.goal = None;
        self.goal_block = None;
        self.sought = None;
        self.pinned = false;
        if self.path.len() - self.window.end > 4 * CHUNK {
            self.hold_nothing_at(self.path.len());
        }
        self.trim();
    }

    /// To the beginning of what is held.
    pub fn scroll_to_top(&mut self) {
        if self.view == View::End {
            self.leave_end();
        }
        if let Some(block) = self.block(0) {
            self.view = View::Top { seq: block.seq, line: 0 };
        }
        self.near_top = true;
        self.steps = 0;
        self.goal_block = None;
        self.sought = None;
    }

    /// Whether the view sticks to the end.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.view == View::End && self.steps >= 0
    }

    pub(super) const fn wants_older(&self) -> bool {
        self.near_top
    }

    /// Turns the steps that were asked for into a new top line.
    fn apply_steps(&mut self, rows: usize, look: Look<'_>) {
        let steps = std::mem::take(&mut self.steps);
        if steps == 0 {
            return;
        }
        let top = match self.view {
            View::End if steps > 0 => return,
            View::End => {
                self.leave_end();
                let seen = self.seen_at_end(rows, look);
                seen.parts.first().map(|part| (part.block, part.from))
            }
            View::Top { seq, line } => self.place_of(seq).map(|place| (place, line)),
        };
        let Some((mut place, mut line)) = top else { return };
        let mut left = steps.unsigned_abs();
        if steps < 0 {
            while left > line && place > 0 {
                left -= line + 1;
                place -= 1;
                line = self.height(place, look).saturating_sub(1);
            }
            line = line.saturating_sub(left);
        } else {
            loop {
                let height = self.height(place, look);
                if line + left < height || place + 1 >= self.len() {
                    line += left;
                    break;
                }
                left -= height - line;
                place += 1;
                line = 0;
            }
        }
        if let Some(block) = self.block(place) {
            self.view = View::Top { seq: block.seq, line };
        }
    }
}
