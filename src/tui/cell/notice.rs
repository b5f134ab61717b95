//! A word from the program, where it happened.

use ratatui::text::{Line, Span};

use super::Look;
use crate::agent_session::event::NoticeLevel;
use crate::tui::text::sanitize;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// See the module.
#[derive(Debug)]
pub struct NoticeCell {
    level: NoticeLevel,
    text: String,
}

impl NoticeCell {
    /// From its text.
    #[must_use]
    pub fn new(level: NoticeLevel, text: &str) -> Self {
        Self { level, text: sanitize(text.trim()).into_owned() }
    }

    /// What it says.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn draw(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let (sign, style) = match self.level {
            NoticeLevel::Info => ("· ", look.theme.dim),
            NoticeLevel::Warning => ("! ", look.theme.warning),
            NoticeLevel::Error => ("✗ ", look.theme.error),
        };
        let margins =
            Margins { first: vec![Span::styled(sign, style)], rest: vec![Span::raw("  ")] };
        let text = [Span::styled(self.text.as_str(), style)];
        wrap(&text, look.text_width(), &margins, Breaking::Words)
    }
}
