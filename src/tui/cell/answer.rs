//! What the model said: plain text in Markdown, and its thinking.

use crate::tui::markdown::Growing;
use crate::tui::text::sanitize;

/// A part of an answer, or of its thinking, from its text.
#[must_use]
pub fn answer(text: &str) -> Growing {
    let mut growing = Growing::default();
    growing.push(&sanitize(text.trim()));
    growing
}

/// How thinking looks.
pub mod thinking {
    use ratatui::text::{Line, Span};

    use super::Growing;
    use crate::tui::amount::count;
    use crate::tui::cell::{Detail, Look};
    use crate::tui::text::clip;
    use crate::tui::wrap::{Breaking, Margins, wrap};

    pub(in crate::tui::cell) fn draw(text: &Growing, look: Look<'_>) -> Vec<Line<'static>> {
        let source = text.source().trim();
        let style = look.theme.thinking;
        match look.thinking {
            Detail::Full => {
                let margins = Margins::same(Span::styled("┊ ", look.theme.dim));
                wrap(&[Span::styled(source, style)], look.text_width(), &margins, Breaking::Words)
            }
            Detail::Short => {
                let last = source.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
                let last = last.trim().trim_matches(['*', '#', ' ']);
                let edge = format!(" · {} · ctrl+t", count(source.lines().count().max(1), "line"));
                let room = look.text_width().saturating_sub(edge.chars().count() + 2);
                vec![Line::from(vec![
                    Span::styled("┊ ", look.theme.dim),
                    Span::styled(clip(last, room).into_owned(), style),
                    Span::styled(edge, look.theme.dim),
                ])]
            }
        }
    }
}
