//! The blocks that a transcript is made of (U1), one kind a file. A cell knows what it shows and how
//! it looks at a width; where it stands, and keeping what was drawn, is the transcript's business.

use std::path::Path;

use ratatui::text::{Line, Span};

use super::highlight::Highlights;
use super::markdown::{Growing, Page};
use super::theme::Theme;

mod answer;
pub mod diff;
mod from_entry;
mod notice;
mod shell;
mod summary;
mod tool;
mod user;
mod welcome;

pub use answer::{answer, thinking};
pub use from_entry::{Shown, cells_of};
pub use notice::NoticeCell;
pub use shell::ShellCell;
pub use summary::SummaryCell;
pub use tool::{ToolCell, ToolState};
pub use user::UserCell;
pub use welcome::{Hint, Welcome};

/// How much of a cell is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// As much as helps.
    #[default]
    Short,
    /// Everything.
    Full,
}

impl Detail {
    /// The other one.
    #[must_use]
    pub const fn toggled(self) -> Self {
        match self {
            Self::Short => Self::Full,
            Self::Full => Self::Short,
        }
    }
}

/// What the look of a cell depends on.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The styles.
    pub theme: &'a Theme,
    /// Coloured code.
    pub highlights: &'a Highlights,
    /// Columns of the transcript.
    pub width: usize,
    /// Of tools, summaries and long requests.
    pub tools: Detail,
    /// Of thinking.
    pub thinking: Detail,
    /// Paths below it are shown from here.
    pub cwd: &'a Path,
}

impl<'a> Look<'a> {
    /// The page for text that stands in the transcript's margins.
    fn page(&self) -> Page<'a> {
        Page { theme: self.theme, width: self.text_width(), highlights: self.highlights }
    }

    /// Columns between the margins.
    fn text_width(&self) -> usize {
        self.width.saturating_sub(2 * INSET)
    }

    /// `… 14 more lines · ctrl+o`
    fn more(&self, text: String) -> Line<'static> {
        Line::styled(format!("… {text} · ctrl+o"), self.theme.dim)
    }
}

/// Columns left free at the sides of the transcript.
pub const INSET: usize = 2;

/// One block of the transcript.
#[derive(Debug)]
pub enum Cell {
    /// What regrow is, at the very beginning.
    Welcome(Welcome),
    /// What the person said.
    User(UserCell),
    /// A part of an answer.
    Answer(Growing),
    /// A model's reasoning.
    Thinking(Growing),
    /// A tool call and its result.
    Tool(Box<ToolCell>),
    /// The person's own command.
    Shell(ShellCell),
    /// A compaction or a branch summary.
    Summary(SummaryCell),
    /// A word from the program.
    Notice(NoticeCell),
}

impl Cell {
    /// Draws the cell. Answers keep their lines themselves: see [`Cell::lines`].
    pub fn draw(&mut self, look: Look<'_>) -> Vec<Line<'static>> {
        match self {
            Self::Welcome(welcome) => welcome.draw(look),
            Self::User(user) => user.draw(look),
            Self::Answer(text) => {
                text.update(look.page());
                Vec::new()
            }
            Self::Thinking(text) => thinking::draw(text, look),
            Self::Tool(tool) => tool.draw(look),
            Self::Shell(shell) => shell.draw(look),
            Self::Summary(summary) => summary.draw(look),
            Self::Notice(notice) => notice.draw(look),
        }
    }

    /// The lines of a cell, given what [`Cell::draw`] returned.
    #[must_use]
    pub fn lines<'a>(&'a self, drawn: &'a [Line<'static>]) -> &'a [Line<'static>] {
        match self {
            Self::Answer(text) => text.lines(),
            _ => drawn,
        }
    }

    /// Forgets lines that the cell keeps itself.
    pub fn redraw(&mut self) {
        if let Self::Answer(text) | Self::Thinking(text) = self {
            text.redraw();
        }
    }

    /// Columns at the left that the transcript leaves free.
    #[must_use]
    pub const fn inset(&self) -> usize {
        match self {
            Self::User(_) | Self::Summary(_) => 0,
            _ => INSET,
        }
    }

    /// Whether it follows a cell of the same sort without a blank line.
    #[must_use]
    pub const fn joins(&self, before: &Self) -> bool {
        matches!(
            (before, self),
            (Self::Tool(_), Self::Tool(_)) | (Self::Notice(_), Self::Notice(_))
        )
    }

    /// The text of the cell, for searching and copying.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Welcome(_) => String::new(),
            Self::User(user) => user.text().to_owned(),
            Self::Answer(text) | Self::Thinking(text) => text.source().to_owned(),
            Self::Tool(tool) => tool.text(),
            Self::Shell(shell) => shell.text(),
            Self::Summary(summary) => summary.text().to_owned(),
            Self::Notice(notice) => notice.text().to_owned(),
        }
    }
}

/// The words at the right edge of a line: `left` is cut to make room.
fn with_right_edge(
    mut left: Vec<Span<'static>>,
    right: Span<'static>,
    columns: usize,
) -> Line<'static> {
    let used: usize = left.iter().map(|span| super::text::width(&span.content)).sum();
    let free = columns.saturating_sub(used + super::text::width(&right.content));
    if !right.content.is_empty() {
        left.push(Span::raw(" ".repeat(free)));
        left.push(right);
    }
    Line::from(left)
}
