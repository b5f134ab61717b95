//! Keeping the same text at the top of the view when lines come out differently: at another width, or
//! with more or less detail.

use ratatui::text::Line;

use super::scroll::View;
use super::{Block, Transcript};
use crate::tui::cell::{Detail, Look};

/// What a height depends on.
type Shape = (usize, Detail, Detail);

/// The text that the view began with before lines came out differently. It holds until the view is
/// moved, so that there and back again is where one was.
#[derive(Debug, Clone)]
pub(super) struct Anchor {
    /// Where the view is since.
    view: View,
    /// Where it was, and when.
    line: usize,
    shape: Shape,
    /// Letters of the block before that line.
    letters: usize,
    /// Whether the view is still to be moved.
    due: bool,
}

impl Transcript {
    const fn shape(&self) -> Shape {
        (self.width, self.tools, self.thinking)
    }

    /// Notes what stands at the top of the view, before that is drawn otherwise.
    pub(super) fn keep_place(&mut self) {
        match &mut self.anchor {
            Some(anchor) if anchor.due => return,
            Some(anchor) if anchor.view == self.view => {
                anchor.due = true;
                return;
            }
            _ => self.anchor = None,
        }
        let View::Top { seq, line } = self.view else { return };
        let Some(block) = self.place_of(seq).and_then(|place| self.block(place)) else { return };
        let (lines, gap) = (block.cell.lines(&block.drawn), usize::from(block.gap));
        let above = &lines[..line.saturating_sub(gap).min(lines.len())];
        self.anchor = Some(Anchor {
            view: self.view,
            line,
            shape: self.shape(),
            letters: above.iter().map(letters).sum(),
            due: true,
        });
    }

    /// Moves the view to where the text that was at its top is now.
    pub(super) fn return_to_place(&mut self, look: Look<'_>) {
        let shape = self.shape();
        let Some(mut anchor) = self.anchor.take_if(|anchor| anchor.due) else { return };
        let View::Top { seq, .. } = self.view else { return };
        let Some(place) = self.place_of(seq).filter(|_| anchor.view == self.view) else { return };
        self.height(place, look);
        let Some(block) = self.block(place) else { return };
        let line = match anchor.shape == shape {
            true => anchor.line,
            false => anchor.line_in(block),
        };
        self.view = View::Top { seq, line };
        anchor.view = self.view;
        anchor.due = false;
        self.anchor = Some(anchor);
    }
}

impl Anchor {
    fn line_in(&self, block: &Block) -> usize {
        let gap = usize::from(block.gap);
        if self.line <= gap {
            return self.line;
        }
        let mut before = 0;
        let lines = block.cell.lines(&block.drawn);
        let found = lines.iter().position(|line| {
            before += letters(line);
            before > self.letters
        });
        gap + found.unwrap_or(lines.len().saturating_sub(1))
    }
}

/// What does not depend on how lines are broken: no blanks, and nothing of the margins.
fn letters(line: &Line<'_>) -> usize {
    let characters = line.spans.iter().flat_map(|span| span.content.chars());
    characters.filter(|character| character.is_alphanumeric()).count()
}
