//! A long text over the whole screen, to scroll through.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::{Outcome, Overlay};
use crate::tui::highlight::Highlights;
use crate::tui::markdown::{Page, render};
use crate::tui::text::{clip, sanitize, width};
use crate::tui::theme::Theme;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// What a pager shows.
#[derive(Debug, Clone)]
pub enum Document {
    /// Markdown.
    Markdown(String),
    /// Lines and pairs, wrapped where they are too long.
    Parts(Vec<Part>),
}

/// A part of a document.
#[derive(Debug, Clone)]
pub enum Part {
    /// Drawn as it is.
    Line(Line<'static>),
    /// What is typed or pressed, and beside it, or below where there is no room, what it does.
    Pair(String, String),
}

/// Columns of the left side of a pair, and the screen that has room for them.
const LEFT: [(usize, usize); 2] = [(72, 32), (56, 24)];

/// Columns before what a pair does, where it stands below.
const BELOW: usize = 6;

impl Part {
    fn lines(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let (left, right) = match self {
            Self::Line(line) => {
                return wrap(&line.spans, columns, &Margins::default(), Breaking::Words);
            }
            Self::Pair(left, right) => {
                (Span::styled(format!("  {left}"), theme.accent), [Span::raw(right.clone())])
            }
        };
        let blank = |columns: usize| Span::raw(" ".repeat(columns));
        let Some((_, taken)) = LEFT.iter().find(|(room, _)| columns >= *room) else {
            let mut lines = wrap(&[left], columns, &Margins::default(), Breaking::Words);
            let margins = Margins { first: vec![blank(BELOW)], rest: vec![blank(BELOW)] };
            lines.extend(wrap(&right, columns, &margins, Breaking::Words));
            return lines;
        };
        let gap = taken.saturating_sub(width(&left.content)).max(2);
        let margins = Margins { first: vec![left, blank(gap)], rest: vec![blank(*taken)] };
        wrap(&right, columns, &margins, Breaking::Words)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Pager {
    title: String,
    document: Document,
    drawn: Option<(usize, Vec<Line<'static>>)>,
    top: usize,
    rows: usize,
}

impl Pager {
    /// Shows a document.
    #[must_use]
    pub fn new(title: impl Into<String>, document: Document) -> Self {
        Self { title: title.into(), document, drawn: None, top: 0, rows: 1 }
    }

    fn layout(&mut self, columns: usize, theme: &Theme) -> usize {
        if let Some((width, lines)) = &self.drawn
            && *width == columns
        {
            return lines.len();
        }
        let lines = match &self.document {
            Document::Markdown(text) => {
                let highlights = Highlights::off();
                let page = Page { theme, width: columns, highlights: &highlights };
                render(&sanitize(text), page)
            }
            Document::Parts(parts) => {
                parts.iter().flat_map(|part| part.lines(columns, theme)).collect()
            }
        };
        let count = lines.len();
        self.drawn = Some((columns, lines));
        count
    }
}

impl Overlay for Pager {
    fn key(&mut self, key: KeyEvent) -> Outcome {
        let page = self.rows.saturating_sub(1).max(1);
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Outcome::Ignored;
        }
        self.top = match key.code {
            KeyCode::Esc | KeyCode::Char('q') | KeyCode::Enter => return Outcome::Close(Vec::new()),
            KeyCode::Up | KeyCode::Char('k') => self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.top.saturating_add(1),
            KeyCode::PageUp | KeyCode::Char('b') => self.top.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top.saturating_add(page),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => usize::MAX,
            _ => return Outcome::Ignored,
        };
        Outcome::Consumed
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Outcome {
        self.top = match mouse.kind {
            MouseEventKind::ScrollUp => self.top.saturating_sub(3),
            MouseEventKind::ScrollDown => self.top.saturating_add(3),
            _ => return Outcome::Ignored,
        };
        Outcome::Consumed
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        frame.render_widget(Clear, area);
        let columns = usize::from(area.width.saturating_sub(4)).min(110);
        self.rows = usize::from(area.height.saturating_sub(2));
        let count = self.layout(columns, theme);
        let last = count.saturating_sub(self.rows);
        self.top = self.top.min(last);
        let title = clip(&self.title, columns).into_owned();
        let place = match last {
            0 => "esc closes".to_owned(),
            _ => format!("{}% · esc closes", self.top * 100 / last),
        };
        let mut rows = area.rows();
        if let Some(row) = rows.next() {
            let title = Line::from(vec![Span::raw(" "), Span::styled(title, theme.heading)]);
            frame.render_widget(title, row);
            frame.render_widget(Line::styled(format!("{place} "), theme.dim).right_aligned(), row);
        }
        rows.next();
        let lines = self.drawn.iter().flat_map(|(_, lines)| lines).skip(self.top);
        for (row, line) in rows.zip(lines) {
            let inside = Rect { x: row.x + 2, width: row.width.saturating_sub(2), ..row };
            frame.render_widget(line, inside);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn u1_a_pager_scrolls_and_stops_at_its_ends() {
        let lines = (0..30).map(|number| Part::Line(Line::raw(format!("line {number}")))).collect();
        let mut pager = Pager::new("title", Document::Parts(lines));
        let mut terminal = Terminal::new(TestBackend::new(30, 7)).unwrap();
        let mut first_line = |pager: &mut Pager, code: KeyCode| {
            pager.key(KeyEvent::new(code, KeyModifiers::NONE));
            terminal
                .draw(|frame| {
                    pager.draw(frame, frame.area(), &Theme::dark());
                })
                .unwrap();
            let buffer = terminal.backend().buffer();
            (2..12).map(|x| buffer[(x, 2)].symbol()).collect::<String>().trim().to_owned()
        };
        assert_eq!(first_line(&mut pager, KeyCode::Up), "line 0");
        assert_eq!(first_line(&mut pager, KeyCode::PageDown), "line 4");
        assert_eq!(first_line(&mut pager, KeyCode::End), "line 25");
        assert_eq!(first_line(&mut pager, KeyCode::Down), "line 25");
        pager.key(KeyEvent::from(KeyCode::End));
        assert_eq!(first_line(&mut pager, KeyCode::Down), "line 25", "both before it is drawn");
        assert_eq!(first_line(&mut pager, KeyCode::Home), "line 0");
        assert_eq!(pager.key(KeyEvent::from(KeyCode::Esc)), Outcome::Close(Vec::new()));
    }
}
