//! `/context`: what fills the window (SCREEN `/context`).

use crossterm::event::{KeyCode, KeyEvent};
use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use serde::Deserialize;
use serde_json::Value;

use super::tree::paint::{entries, moment};
use super::{Outcome, Overlay};
use crate::session::report::ContextReport;
use crate::tui::amount::tokens;
use crate::tui::text::{clip, sanitize, width};
use crate::tui::theme::Theme;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// Columns of the figures.
const FIGURES: usize = 7;

/// Most columns of the bar.
const WIDEST_BAR: usize = 80;

/// See the module.
#[derive(Debug, Clone)]
pub struct ContextView {
    report: ContextReport,
    zone: TimeZone,
    top: usize,
}

impl ContextView {
    /// Shows a report as [`crate::agent_session::event::SessionEvent::Context`] brings it, or as
    /// `regrow context --json` prints it (then under `tokens`).
    ///
    /// # Errors
    /// It is no such report.
    pub fn new(report: &Value) -> Result<Self, serde_json::Error> {
        let report = report.get("tokens").filter(|tokens| tokens.is_object()).unwrap_or(report);
        let report = ContextReport::deserialize(report)?;
        Ok(Self { report, zone: TimeZone::system(), top: 0 })
    }

    /// Shows times in another zone than the system's.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// How much of the window is full, in percent.
    fn percent(&self, tokens: u64) -> u64 {
        (tokens * 100).checked_div(self.report.window).unwrap_or_default()
    }

    fn lines(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let report = &self.report;
        let mut lines = vec![self.title(columns, theme), self.bar(columns, theme), Line::default()];
        let (names, gap) = if columns < 60 { (13, "  ") } else { (18, "    ") };
        let mut part = |name: &str, amount: u64, words: String| {
            let name = Span::raw(format!("   {name:<names$}"));
            let figure = format!("{:>FIGURES$}{gap}", tokens(amount));
            lines.extend(row(
                vec![name, Span::styled(figure, theme.accent)],
                &words,
                columns,
                theme,
            ));
        };
        part("system prompt", report.system_prompt, String::new());
        part("tools", report.tools, String::new());
        part("instructions", report.instructions, String::new());
        if let Some(summary) = &report.summary {
            let made = moment(summary.made, &self.zone);
            let stands_for = entries(u32::try_from(summary.entries).unwrap_or(u32::MAX));
            part("summary", summary.tokens, format!("compaction of {made}, {stands_for}"));
            let kept = entries(u32::try_from(report.kept_tail.entries).unwrap_or(u32::MAX));
            part("kept tail", report.kept_tail.tokens, kept);
        }
        let name = if report.summary.is_some() { "since then" } else { "messages" };
        let since = entries(u32::try_from(report.since.entries).unwrap_or(u32::MAX));
        part(name, report.since.tokens, since);
        if let Some(cached) = report.cached {
            part("cached", cached, "of the last request".to_owned());
        }
        if !report.largest.is_empty() {
            lines.push(Line::default());
            lines.push(Line::styled(" largest", theme.dim));
            for (name, amount) in &report.largest {
                let figure = format!("{:>FIGURES$}{gap}", tokens(*amount));
                lines.extend(row(vec![Span::styled(figure, theme.accent)], name, columns, theme));
            }
        }
        lines
    }

    fn title(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let report = &self.report;
        let about = if report.estimated { "~" } else { "" };
        let title = format!(
            " Context · {about}{} of {} ({about}{}%)",
            tokens(report.tokens),
            tokens(report.window),
            self.percent(report.tokens)
        );
        let next = match report.compacts_at {
            Some(at) => format!("next compaction at {} ", tokens(at)),
            None => "automatic compaction is off ".to_owned(),
        };
        let title = clip(&title, columns).into_owned();
        let room = columns.saturating_sub(width(&title));
        let mut spans = vec![Span::styled(title, theme.heading)];
        if width(&next) < room {
            spans.push(Span::raw(" ".repeat(room - width(&next))));
            spans.push(Span::styled(next, theme.dim));
        }
        Line::from(spans)
    }

    /// `▰▰▰▱▱▱│▱`: how full the window is, and where the next compaction starts.
    fn bar(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let report = &self.report;
        let cells = columns.saturating_sub(2).clamp(1, WIDEST_BAR);
        let cell_of = |amount: u64| {
            let at = (amount * cells as u64).checked_div(report.window).unwrap_or_default();
            usize::try_from(at).unwrap_or(cells).min(cells)
        };
        // Whatever is there shows, be it ever so little.
        let full = cell_of(report.tokens).max(usize::from(report.tokens > 0));
        let near = report.compacts_at.is_some_and(|at| report.tokens * 10 >= at * 9);
        let style = if near { theme.warning } else { theme.accent };
        let mut rest = "▱".repeat(cells - full);
        if let Some(mark) = report.compacts_at.map(cell_of).filter(|at| (full..cells).contains(at))
        {
            let at = (mark - full) * '▱'.len_utf8();
            rest.replace_range(at..at + '▱'.len_utf8(), "│");
        }
        let full = "▰".repeat(full);
        Line::from(vec![Span::raw(" "), Span::styled(full, style), Span::styled(rest, theme.dim)])
    }
}

/// Words after what leads a row; where they need more lines, these stand below the words.
fn row(lead: Vec<Span<'static>>, words: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let indent: usize = lead.iter().map(|span| width(&span.content)).sum();
    let words = sanitize(words).into_owned();
    let margins = Margins { first: lead, rest: vec![Span::raw(" ".repeat(indent))] };
    wrap(&[Span::styled(words, theme.dim)], columns, &margins, Breaking::Words)
}

impl Overlay for ContextView {
    fn key(&mut self, key: KeyEvent) -> Outcome {
        match key.code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => return Outcome::Close(Vec::new()),
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.top += 1,
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        frame.render_widget(Clear, area);
        let lines = self.lines(usize::from(area.width), theme);
        self.top = self.top.min(lines.len().saturating_sub(usize::from(area.height)));
        for (line, place) in lines.into_iter().skip(self.top).zip(area.rows()) {
            frame.render_widget(line, place);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::picture;
    use super::*;
    use crate::ids::Timestamp;
    use crate::session::report::{Share, SummaryShare};

    fn report() -> ContextReport {
        ContextReport {
            tokens: 76_100,
            estimated: false,
            window: 200_000,
            compacts_at: Some(183_616),
            system_prompt: 2_100,
            tools: 3_400,
            instructions: 1_200,
            summary: Some(SummaryShare {
                tokens: 4_000,
                entries: 118,
                made: Timestamp::from_millis(1_768_399_320_000),
            }),
            kept_tail: Share { tokens: 21_800, entries: 34 },
            since: Share { tokens: 43_600, entries: 1 },
            largest: vec![
                ("bash \"cargo test\"".into(), 12_100),
                ("read src/한국어.rs".into(), 8_000),
            ],
            cached: Some(61_000),
        }
    }

    fn view(report: &ContextReport) -> ContextView {
        ContextView::new(&serde_json::to_value(report).unwrap()).unwrap().in_zone(TimeZone::UTC)
    }

    #[test]
    fn u4_what_fills_the_window() {
        insta::assert_snapshot!("context_100x18", picture(&mut view(&report()), 100, 18));
        insta::assert_snapshot!("context_40x12", picture(&mut view(&report()), 40, 12));
    }

    #[test]
    fn u4_a_session_that_was_never_compacted() {
        let report = ContextReport {
            tokens: 300,
            estimated: true,
            window: 32_768,
            compacts_at: None,
            since: Share { tokens: 300, entries: 2 },
            ..ContextReport::default()
        };
        insta::assert_snapshot!(picture(&mut view(&report), 80, 10));
    }

    #[test]
    fn u4_the_report_of_the_command_line_is_read_too() {
        let report = serde_json::json!({"messages": [], "tokens": report()});
        assert_eq!(ContextView::new(&report).unwrap().report.tokens, 76_100);
        assert!(ContextView::new(&serde_json::json!({"window": "large"})).is_err());
        let unknown_window = ContextReport { tokens: 5, ..ContextReport::default() };
        assert!(picture(&mut view(&unknown_window), 40, 8).contains("5 of 0"));
    }
}
