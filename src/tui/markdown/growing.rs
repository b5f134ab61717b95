//! A text that streams. Finished blocks are drawn once and only the open last one again; of an open
//! fence of code only the last line is drawn again, so that a token costs the same however long the
//! code already is (F88).

use std::ops::Range;

use pulldown_cmark::{Event, Parser};
use ratatui::text::{Line, Span};

use super::{OPTIONS, Page, append, code_bar};
use crate::tui::wrap::{Breaking, Margins, wrap};

/// A text that grows at its end.
#[derive(Debug, Default)]
pub struct Growing {
    source: String,
    /// Everything before this offset is drawn for good.
    settled: usize,
    lines: Vec<Line<'static>>,
    /// How many of `lines` are drawn for good, and whether a blank line belongs after them.
    settled_lines: usize,
    gap: bool,
    /// The fence that is open at `settled`.
    fence: Option<Fence>,
    /// How much of `source` the lines show, and at what width.
    shown: Option<(usize, usize)>,
    /// Bytes of `source` that were drawn so far, again and again counted: what drawing has cost.
    drawn: usize,
}

/// Code whose end has not come yet, and what was there before it: once it is whole it is drawn at once,
/// in colours.
#[derive(Debug, Clone)]
struct Fence {
    sign: char,
    length: usize,
    start: usize,
    lines_before: usize,
    gap_before: bool,
    /// Whether a line of code was drawn.
    begun: bool,
}

impl Growing {
    /// Adds to the end.
    pub fn push(&mut self, text: &str) {
        self.source.push_str(text);
    }

    /// The text so far.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The lines as last brought up to date.
    #[must_use]
    pub fn lines(&self) -> &[Line<'static>] {
        &self.lines
    }

    /// Forgets what was drawn, because the theme or the width changed.
    pub fn redraw(&mut self) {
        let source = std::mem::take(&mut self.source);
        *self = Self { source, drawn: self.drawn, ..Self::default() };
    }

    /// Brings the lines up to date.
    pub fn update(&mut self, page: Page<'_>) {
        let target = (self.source.len(), page.width);
        if self.shown == Some(target) {
            return;
        }
        if self.shown.is_some_and(|(_, width)| width != page.width) {
            self.redraw();
        }
        self.lines.truncate(self.settled_lines);
        while self.fence.is_none() || !self.settle_code(page) {
            self.settle_blocks(page);
            if !self.open_fence() {
                break;
            }
        }
        self.draw_open_end(page);
        self.shown = Some(target);
    }

    /// Draws blocks that are finished for good.
    fn settle_blocks(&mut self, page: Page<'_>) {
        let open = last_block(&self.source[self.settled..]);
        self.drawn += self.source.len() - self.settled;
        if open > 0 {
            self.settle(self.settled + open, page);
        }
    }

    fn settle(&mut self, end: usize, page: Page<'_>) {
        self.gap = append(&mut self.lines, self.gap, &self.source[self.settled..end], page);
        self.drawn += end - self.settled;
        self.settled = end;
        self.settled_lines = self.lines.len();
    }

    /// Notes a fence that begins the open block. `false` when it is something else.
    fn open_fence(&mut self) -> bool {
        let rest = &self.source[self.settled..];
        let Some(feed) = rest.find('\n') else { return false };
        let line = &rest[..feed];
        let Some(sign) = line.chars().next().filter(|sign| matches!(sign, '`' | '~')) else {
            return false;
        };
        let length = line.chars().take_while(|c| *c == sign).count();
        if length < 3 || (sign == '`' && line[length..].contains('`')) {
            return false;
        }
        self.fence = Some(Fence {
            sign,
            length,
            start: self.settled,
            lines_before: self.lines.len(),
            gap_before: self.gap,
            begun: false,
        });
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.settled += feed + 1;
        self.settled_lines = self.lines.len();
        true
    }

    /// Draws the whole lines of the open fence. `false` when its end has come: the fence is drawn then.
    fn settle_code(&mut self, page: Page<'_>) -> bool {
        let Some(mut fence) = self.fence.take() else { return true };
        while let Some(feed) = self.source[self.settled..].find('\n') {
            let end = self.settled + feed;
            if fence.is_closed_by(&self.source[self.settled..end]) {
                self.settled = fence.start;
                self.lines.truncate(fence.lines_before);
                self.gap = fence.gap_before;
                self.settle(end + 1, page);
                return false;
            }
            self.draw_code(self.settled..end, page);
            fence.begun = true;
            self.settled = end + 1;
            self.settled_lines = self.lines.len();
        }
        self.fence = Some(fence);
        true
    }

    fn draw_code(&mut self, place: Range<usize>, page: Page<'_>) {
        self.drawn += place.len();
        let text = Span::styled(self.source[place].to_owned(), page.theme.text);
        let margins = Margins::same(code_bar(page.theme));
        self.lines.extend(wrap(&[text], page.width, &margins, Breaking::Anywhere));
    }

    /// Draws what will be drawn again when more comes.
    fn draw_open_end(&mut self, page: Page<'_>) {
        let rest = self.settled..self.source.len();
        if let Some(fence) = &self.fence {
            let begun = fence.begun;
            let code = &self.source[rest.clone()];
            // The parser leaves out an indent that nothing follows yet.
            let is_indent = code.len() < 4 && code.trim().is_empty();
            match is_indent || fence.is_closed_by(code) {
                true if begun => {}
                true => self.draw_code(self.settled..self.settled, page),
                false => self.draw_code(rest, page),
            }
            return;
        }
        // The open block changes with every piece: its code is coloured once it is whole.
        let plain = page.highlights.only_links();
        let open_page = Page { highlights: &plain, ..page };
        self.drawn += rest.len();
        append(&mut self.lines, self.gap, &self.source[rest], open_page);
    }
}

impl Fence {
    fn is_closed_by(&self, line: &str) -> bool {
        let indent = line.chars().take_while(|c| *c == ' ').count();
        let rest = line.trim_start_matches(' ');
        let length = rest.chars().take_while(|c| *c == self.sign).count();
        indent < 4 && length >= self.length && rest[length..].trim().is_empty()
    }
}

/// Where the line begins on which the last top-level block starts. Only whole lines count: a row of
/// a table that has just begun still looks like a paragraph.
fn last_block(source: &str) -> usize {
    let source = &source[..source.rfind('\n').map_or(0, |feed| feed + 1)];
    let mut depth = 0usize;
    let mut last = 0;
    for (event, Range { start, .. }) in Parser::new_ext(source, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    last = start;
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => last = start,
            _ => {}
        }
    }
    source[..last].rfind('\n').map_or(0, |feed| feed + 1)
}

#[cfg(test)]
mod tests {
    use super::super::render;
    use super::*;
    use crate::tui::highlight::Highlights;
    use crate::tui::theme::Theme;

    /// Whatever the pieces in which a text arrives, it ends up drawn as if it had come at once.
    #[test]
    fn f88_streaming_draws_what_drawing_at_once_draws() {
        let source = "# A\n\npara one\ntwo\n\n- a\n- b\n\n  c\n\n1. x\n2. y\n\n```rs\nlet a;\n\nlet b;\n```\n\
                      after\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n\n    indented\n\nTitle\n===\nend";
        let theme = Theme::dark();
        let highlights = Highlights::default();
        let page = Page { theme: &theme, width: 30, highlights: &highlights };
        for step in [1, 3, 7, 50] {
            let mut growing = Growing::default();
            let characters: Vec<char> = source.chars().collect();
            for piece in characters.chunks(step) {
                growing.push(&piece.iter().collect::<String>());
                growing.update(page);
            }
            assert_eq!(growing.lines(), render(source, page), "in pieces of {step}");
        }
    }

    #[test]
    fn f88_finished_blocks_are_drawn_once() {
        let theme = Theme::dark();
        let highlights = Highlights::default();
        let page = Page { theme: &theme, width: 30, highlights: &highlights };
        let mut growing = Growing::default();
        growing.push("one\n\ntwo\n\nthr");
        growing.update(page);
        assert_eq!(&growing.source[growing.settled..], "two\n\nthr");
        growing.push("ee\n\n```\ncode\n\nmore code");
        growing.update(page);
        assert_eq!(&growing.source[growing.settled..], "more code");
    }

    /// Fences of every sort, ended or not, in pieces of every size.
    #[test]
    fn f88_fences_stream_as_they_are_drawn_at_once() {
        let theme = Theme::dark();
        let highlights = Highlights::default();
        let page = Page { theme: &theme, width: 12, highlights: &highlights };
        for source in [
            "```\n```\n",
            "```\n",
            "```rs\n\n\n",
            "~~~~ x\n~~~\nstill code\n~~~~\nafter",
            "text\n\n```\n  ```  \nafter\n\n```\nopen",
            "``` not`a fence\nx\n```\ny\n",
            "```\na line that is longer than the page\n한국어 코드입니다요\n   \n```\n# T\n```\nb\n``",
            "- a\n\n  ```\n  x\n  ```\n```\ny\n```",
            "> ```\n> x\ny\n```\nz",
            "para\n```\ncode\n    ```\n```",
        ] {
            for step in [1, 2, 5] {
                let mut growing = Growing::default();
                let characters: Vec<char> = source.chars().collect();
                for (number, piece) in characters.chunks(step).enumerate() {
                    growing.push(&piece.iter().collect::<String>());
                    growing.update(page);
                    let so_far: String =
                        characters.iter().take((number + 1) * step).copied().collect();
                    assert_eq!(growing.lines(), render(&so_far, page), "{so_far:?} by {step}");
                }
            }
        }
    }

    /// What a token costs does not grow with the fence that it stands in.
    #[test]
    fn f88_a_token_in_a_long_fence_costs_what_it_costs_in_a_short_one() {
        let theme = Theme::dark();
        let highlights = Highlights::default();
        let page = Page { theme: &theme, width: 80, highlights: &highlights };
        let mut growing = Growing::default();
        growing.push("Here is the file:\n\n```rust\n");
        let mut costs = Vec::new();
        for _ in 0..10 {
            let before = growing.drawn;
            for _ in 0..500 {
                for token in ["    let ", "value ", "= ", "compute();\n"] {
                    growing.push(token);
                    growing.update(page);
                }
            }
            costs.push(growing.drawn - before);
        }
        assert!(costs[9] <= costs[0] + 100, "{costs:?}");
        assert_eq!(growing.lines().len(), 2 + 5_000);
    }
}
