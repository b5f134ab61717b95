//! The first lines of the screen: what this is, where, with which model, and what to try.

use ratatui::text::{Line, Span};

use super::{Look, with_right_edge};
use crate::tui::text::{clip, clip_start, width};
use crate::tui::wrap::{Breaking, Margins, wrap};

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Welcome {
    /// Such as `regrow 0.1`.
    pub version: String,
    /// The folder, shortened.
    pub cwd: String,
    /// The model, or what to do to get one.
    pub model: String,
    /// At the right edge.
    pub corner: String,
    /// Things to try, for a fresh session.
    pub hints: Vec<Hint>,
}

/// Something to try.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hint {
    /// What to type.
    pub typed: String,
    /// What it does, in the few words for which there is room on every screen.
    pub help: String,
    /// What can be said besides, on the same line.
    pub more: String,
}

impl Hint {
    /// A hint of these words.
    #[must_use]
    pub fn new(typed: &str, help: &str, more: &str) -> Self {
        Self { typed: typed.to_owned(), help: help.to_owned(), more: more.to_owned() }
    }
}

impl Welcome {
    pub(super) fn draw(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let columns = look.text_width();
        let room = columns.saturating_sub(width(&self.version) + 3);
        let model = clip(&self.model, room.saturating_sub(3));
        let cwd_room = room.saturating_sub(width(&model) + 3);
        let mut left = vec![Span::styled(self.version.clone(), look.theme.heading)];
        if cwd_room >= 8 {
            let cwd = clip_start(&self.cwd, cwd_room).into_owned();
            left.push(Span::styled(format!(" · {cwd}"), look.theme.dim));
        }
        left.push(Span::styled(format!(" · {model}"), look.theme.dim));
        let used: usize = left.iter().map(|span| width(&span.content)).sum();
        // Where there is no room for all of the corner, what was said last, else what was said first.
        let (first, last) = self.corner.split_once("   ").unwrap_or_default();
        let corners = [self.corner.as_str(), last, first];
        let fits = |corner: &&str| used + width(corner) + 2 <= columns;
        let corner = corners.into_iter().find(fits).unwrap_or_default();
        let corner = Span::styled(corner.to_owned(), look.theme.dim);
        let mut lines = vec![with_right_edge(left, corner, columns)];
        if !self.hints.is_empty() {
            lines.push(Line::default());
        }
        let indent = self.hints.iter().map(|hint| width(&hint.typed)).max().unwrap_or(0) + 2;
        for Hint { typed, help, more } in &self.hints {
            let gap = " ".repeat(indent - width(typed));
            let margins = Margins {
                first: vec![Span::styled(typed.clone(), look.theme.accent), Span::raw(gap)],
                rest: vec![Span::raw(" ".repeat(indent))],
            };
            let full = format!("{help}{more}");
            let fits = indent + width(&full) <= columns;
            let help = [Span::styled(if fits { &full } else { help }, look.theme.dim)];
            lines.extend(wrap(&help, columns, &margins, Breaking::Words));
        }
        lines
    }
}
