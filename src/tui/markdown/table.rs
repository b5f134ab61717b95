//! Tables of Markdown → lines: columns as wide as they need, narrower where the screen is, and a list
//! of fields where it is too narrow for columns.

use pulldown_cmark::Alignment;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::tui::text::width;
use crate::tui::theme::Theme;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// Narrowest column that is still worth drawing.
const NARROWEST: usize = 6;

type Cell = Vec<Span<'static>>;

/// A table as it is read, cell by cell.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    /// The first row is the head.
    rows: Vec<Vec<Cell>>,
    open: Vec<Cell>,
}

impl Table {
    pub(super) const fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), open: Vec::new() }
    }

    pub(super) fn cell(&mut self, cell: Cell) {
        self.open.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.open));
    }

    /// Draws the table in `columns`.
    pub(super) fn draw(mut self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let count = self.alignments.len();
        let separators = 3 * count.saturating_sub(1);
        let natural: Vec<usize> = (0..count).map(|column| self.natural_width(column)).collect();
        let Some(widths) = fit(&natural, columns.saturating_sub(separators)) else {
            return self.draw_as_fields(columns, theme);
        };
        let mut lines = Vec::new();
        for cell in self.rows.first_mut().into_iter().flatten() {
            for span in cell {
                span.style = span.style.add_modifier(Modifier::BOLD);
            }
        }
        for (number, row) in self.rows.iter().enumerate() {
            lines.extend(self.draw_row(row, &widths, theme));
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rule.join("─┼─"), theme.dim));
            }
        }
        lines
    }

    fn natural_width(&self, column: usize) -> usize {
        self.rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell_width(cell))
            .max()
            .unwrap_or(0)
    }

    fn draw_row(&self, row: &[Cell], widths: &[usize], theme: &Theme) -> Vec<Line<'static>> {
        let cells: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let cell = row.get(column).map_or(&[][..], Vec::as_slice);
                wrap(cell, *width, &Margins::default(), Breaking::Words)
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        (0..height).map(|number| self.draw_line(&cells, number, widths, theme)).collect()
    }

    fn draw_line(
        &self,
        cells: &[Vec<Line<'static>>],
        number: usize,
        widths: &[usize],
        theme: &Theme,
    ) -> Line<'static> {
        let mut spans = Vec::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                spans.push(Span::styled(" │ ", theme.dim));
            }
            let text = cell.get(number).map_or(&[][..], |line| line.spans.as_slice());
            let free = width.saturating_sub(cell_width(text));
            let (left, right) = match self.alignments.get(column) {
                Some(Alignment::Right) => (free, 0),
                Some(Alignment::Center) => (free / 2, free - free / 2),
                _ => (0, free),
            };
            spans.push(Span::raw(" ".repeat(left)));
            spans.extend(text.iter().cloned());
            if column + 1 < widths.len() {
                spans.push(Span::raw(" ".repeat(right)));
            }
        }
        spans.retain(|span| !span.content.is_empty());
        Line::from(spans)
    }

    fn draw_as_fields(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let Some((head, rows)) = self.rows.split_first() else { return lines };
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                lines.push(Line::default());
            }
            for (name, value) in head.iter().zip(row) {
                let mut spans: Vec<_> =
                    name.iter().cloned().map(|span| span.patch_style(theme.dim)).collect();
                spans.push(Span::styled(": ", theme.dim));
                spans.extend(value.iter().cloned());
                let margins = Margins { first: Vec::new(), rest: vec![Span::raw("  ")] };
                lines.extend(wrap(&spans, columns, &margins, Breaking::Words));
            }
        }
        lines
    }
}

fn cell_width(cell: &[Span<'_>]) -> usize {
    cell.iter().map(|span| width(&span.content)).sum()
}

/// Widths of columns that fit into `room`: the widest give way first. `None` when they would become
/// too narrow to read.
fn fit(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let mut widths = natural.to_vec();
    let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
    while excess > 0 {
        let widest = *widths.iter().max()?;
        if widest <= NARROWEST {
            return None;
        }
        let next = widths.iter().copied().filter(|width| *width < widest).max().unwrap_or(0);
        let next = next.max(NARROWEST);
        let tied = widths.iter().filter(|width| **width == widest).count();
        let step = (widest - next).min(excess.div_ceil(tied)).max(1);
        for width in widths.iter_mut().filter(|width| **width == widest) {
            let cut = step.min(excess);
            *width -= cut;
            excess -= cut;
        }
    }
    Some(widths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::highlight::Highlights;
    use crate::tui::markdown::{Page, render};

    #[track_caller]
    fn check(source: &str, columns: usize, expected: &[&str]) {
        let (theme, highlights) = (Theme::dark(), Highlights::default());
        let page = Page { theme: &theme, width: columns, highlights: &highlights };
        let lines: Vec<String> = render(source, page).iter().map(ToString::to_string).collect();
        assert_eq!(lines, expected);
        assert!(lines.iter().all(|line| width(line) <= columns));
    }

    const TABLE: &str = "| name | what it does |\n|:---|---:|\n| 가나 | makes a table |\n| b | x |";

    #[test]
    fn u1_tables_align_by_columns_on_the_screen() {
        let rows = [
            "name │  what it does",
            "─────┼──────────────",
            "가나 │ makes a table",
            "b    │             x",
        ];
        check(TABLE, 40, &rows);
    }

    #[test]
    fn u1_wide_tables_wrap_inside_their_cells() {
        let rows = [
            "name │    what it",
            "     │       does",
            "─────┼───────────",
            "가나 │    makes a",
            "     │      table",
            "b    │          x",
        ];
        check(TABLE, 17, &rows);
    }

    #[test]
    fn u1_tables_too_wide_for_columns_become_fields() {
        let fields = [
            "name: 가나",
            "what it",
            "  does:",
            "  makes a",
            "  table",
            "",
            "name: b",
            "what it",
            "  does: x",
        ];
        check(TABLE, 10, &fields);
    }

    #[test]
    fn u1_the_widest_columns_give_way_first() {
        assert_eq!(fit(&[4, 30, 10], 34), Some(vec![4, 20, 10]));
        assert_eq!(fit(&[30, 30], 20), Some(vec![10, 10]));
        assert_eq!(fit(&[30, 30], 5), None);
        assert_eq!(fit(&[3, 3], 20), Some(vec![3, 3]));
    }
}
