//! Summaries: a compaction is a rule across the transcript, a branch summary a block of its own.

use ratatui::text::{Line, Span};

use super::{Detail, INSET, Look};
use crate::session::describe::summary_headline;
use crate::session::entry::{BranchSummaryEntry, CompactionEntry};
use crate::tui::amount::tokens;
use crate::tui::markdown::render;
use crate::tui::text::{clip, one_line, sanitize, width};

/// See the module.
#[derive(Debug)]
pub struct SummaryCell {
    kind: Kind,
    headline: String,
    summary: String,
}

#[derive(Debug)]
enum Kind {
    Compaction { before: u64, after: Option<u64> },
    Branch,
}

impl SummaryCell {
    /// A compaction; `after` is what was left in context, if it can be told.
    #[must_use]
    pub fn compaction(entry: &CompactionEntry, after: Option<u64>) -> Self {
        let headline = entry
            .short_summary
            .as_deref()
            .filter(|short| !short.trim().is_empty())
            .unwrap_or_else(|| summary_headline(&entry.summary));
        Self {
            kind: Kind::Compaction { before: entry.tokens_before, after },
            headline: one_line(headline),
            summary: sanitize(entry.summary.trim()).into_owned(),
        }
    }

    /// The summary of a branch that was left.
    #[must_use]
    pub fn branch(entry: &BranchSummaryEntry) -> Self {
        Self {
            kind: Kind::Branch,
            headline: one_line(summary_headline(&entry.summary)),
            summary: sanitize(entry.summary.trim()).into_owned(),
        }
    }

    /// The whole summary.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.summary
    }

    pub(super) fn draw(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let mut lines = vec![match self.kind {
            Kind::Compaction { before, after } => self.rule(before, after, look),
            Kind::Branch => self.branch_line(look),
        }];
        if look.tools == Detail::Full {
            lines.push(Line::default());
            for mut line in render(&self.summary, look.page()) {
                line.spans.insert(0, Span::raw(" ".repeat(INSET)));
                lines.push(line);
            }
            lines.push(Line::default());
        }
        lines
    }

    fn rule(&self, before: u64, after: Option<u64>, look: Look<'_>) -> Line<'static> {
        let sizes = match after {
            Some(after) => format!("{} → {}", tokens(before), tokens(after)),
            None => format!("{} before", tokens(before)),
        };
        let room = look.width.saturating_sub(2 * INSET + 6);
        let fixed = format!("compacted · {sizes}");
        let hint = " · ctrl+o";
        let left = room.saturating_sub(width(&fixed) + width(hint) + 3);
        let mut text = fixed;
        if left >= 12 && !self.headline.is_empty() {
            text = format!("{text} · {}", clip(&self.headline, left));
        }
        if width(&text) + width(hint) <= room {
            text.push_str(hint);
        }
        let rest = look.width.saturating_sub(width(&text) + 2 + 2);
        let (before, after) = ("─".repeat(rest / 2), "─".repeat(rest - rest / 2));
        Line::from(vec![
            Span::styled(format!(" {before} "), look.theme.dim),
            Span::styled(text, look.theme.summary),
            Span::styled(format!(" {after}"), look.theme.dim),
        ])
    }

    fn branch_line(&self, look: Look<'_>) -> Line<'static> {
        let room = look.text_width().saturating_sub(width("✎ branch left ·  · ctrl+o"));
        Line::from(vec![
            Span::styled(format!("{}✎ branch left · ", " ".repeat(INSET)), look.theme.summary),
            Span::raw(clip(&self.headline, room).into_owned()),
            Span::styled(" · ctrl+o", look.theme.dim),
        ])
    }
}
