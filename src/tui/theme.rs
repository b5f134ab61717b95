//! Named styles, so that nothing else names a colour (U7).

use ratatui::style::{Color, Modifier, Style};

/// The styles of the screen. One accent; dim for what is secondary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Theme {
    /// Plain text.
    pub text: Style,
    /// Secondary text.
    pub dim: Style,
    /// The one accent: the user's bar, the active path, the caret's prompt.
    pub accent: Style,
    /// Things that went well.
    pub success: Style,
    /// Things to look at.
    pub warning: Style,
    /// Things that failed.
    pub error: Style,
    /// The selected row.
    pub selected: Style,
    /// Code in text.
    pub code: Style,
    /// Headings.
    pub heading: Style,
    /// Links.
    pub link: Style,
    /// Reasoning.
    pub thinking: Style,
    /// Added lines of a diff.
    pub added: Style,
    /// Removed lines of a diff.
    pub removed: Style,
    /// Summaries.
    pub summary: Style,
}

impl Theme {
    /// Works on dark terminals with 16 colours and on any palette.
    #[must_use]
    pub const fn dark() -> Self {
        let plain = Style::new();
        Self {
            text: plain,
            dim: plain.fg(Color::DarkGray),
            accent: plain.fg(Color::Cyan),
            success: plain.fg(Color::Green),
            warning: plain.fg(Color::Yellow),
            error: plain.fg(Color::Red),
            selected: plain.add_modifier(Modifier::REVERSED),
            code: plain.fg(Color::Yellow),
            heading: plain.add_modifier(Modifier::BOLD),
            link: plain.fg(Color::Blue).add_modifier(Modifier::UNDERLINED),
            thinking: plain.fg(Color::DarkGray).add_modifier(Modifier::ITALIC),
            added: plain.fg(Color::Green),
            removed: plain.fg(Color::Red),
            summary: plain.fg(Color::Magenta),
        }
    }
}
