//! Where the text of the editor stands on the screen: rows of a given width, and the caret's place
//! in columns (F83).

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::tui::text::{sanitize, width};

/// The rows of a text at one width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The rows, at least one.
    pub rows: Vec<Row>,
    /// Row and column of the caret.
    pub caret: (usize, usize),
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// The characters as seen, with what is drawn for them.
    pub pieces: Vec<Piece>,
    /// Which bytes of the text it shows.
    pub bytes: Range<usize>,
}

/// A character as seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What is drawn.
    pub shown: String,
    /// Its columns.
    pub columns: usize,
    /// Where it begins in the text.
    pub offset: usize,
    /// Whether it stands for a folded paste.
    pub fold: bool,
}

impl Layout {
    /// Lays `text` out in `columns`. `label` says how the characters that stand for pastes are shown.
    pub fn new(
        text: &str,
        caret: usize,
        columns: usize,
        label: &dyn Fn(char) -> Option<String>,
    ) -> Self {
        let columns = columns.max(2);
        let mut rows = vec![Row::default()];
        let mut used = 0;
        for (offset, grapheme) in text.grapheme_indices(true) {
            if grapheme == "\n" {
                end_row(&mut rows, offset);
                rows.push(Row { bytes: offset + 1..offset + 1, ..Row::default() });
                used = 0;
                continue;
            }
            let piece = draw(grapheme, offset, columns, label);
            // Blanks at the end of a row stand outside it; everything else goes to the next row.
            if used + piece.columns > columns && grapheme != " " {
                used = break_row(&mut rows, offset);
            }
            used += piece.columns;
            if let Some(row) = rows.last_mut() {
                row.pieces.push(piece);
            }
        }
        end_row(&mut rows, text.len());
        let mut layout = Self { rows, caret: (0, 0) };
        layout.caret = layout.place_of(caret, columns);
        if layout.caret.1 >= columns && layout.caret.0 + 1 == layout.rows.len() {
            // A caret after a full last row stands at the start of a new one.
            layout.rows.push(Row { pieces: Vec::new(), bytes: text.len()..text.len() });
            layout.caret = (layout.rows.len() - 1, 0);
        }
        layout
    }

    /// The text's offset at a row and a column, or the nearest before it.
    #[must_use]
    pub fn offset_at(&self, row: usize, column: usize) -> usize {
        let Some(row_at) = self.rows.get(row) else { return 0 };
        let mut used = 0;
        for piece in &row_at.pieces {
            if used + piece.columns > column {
                return piece.offset;
            }
            used += piece.columns;
        }
        match (row_at.pieces.last(), self.rows.get(row + 1)) {
            // The end of a soft row is the start of the next one: stay on this row.
            (Some(last), Some(next)) if next.bytes.start == row_at.bytes.end => last.offset,
            _ => row_at.bytes.end,
        }
    }

    fn place_of(&self, caret: usize, columns: usize) -> (usize, usize) {
        let row = self.rows.iter().rposition(|row| row.bytes.start <= caret).unwrap_or(0);
        let pieces = self.rows.get(row).map_or(&[][..], |row| row.pieces.as_slice());
        let before = pieces.iter().take_while(|piece| piece.offset < caret);
        (row, before.map(|piece| piece.columns).sum::<usize>().min(columns))
    }
}

impl Row {
    /// The row as it is drawn.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.shown.as_str()).collect()
    }
}

fn end_row(rows: &mut [Row], end: usize) {
    if let Some(row) = rows.last_mut() {
        row.bytes.end = end;
    }
}

/// Begins a row before the character at `offset`, or before its word if that started on this row.
/// Gives the columns that the new row has already.
fn break_row(rows: &mut Vec<Row>, offset: usize) -> usize {
    let Some(row) = rows.last_mut() else { return 0 };
    let word = row.pieces.iter().rposition(|piece| piece.shown == " ").map_or(0, |blank| blank + 1);
    let carried = if word > 0 { row.pieces.split_off(word) } else { Vec::new() };
    let start = carried.first().map_or(offset, |piece| piece.offset);
    row.bytes.end = start;
    let used = carried.iter().map(|piece| piece.columns).sum();
    rows.push(Row { pieces: carried, bytes: start..start });
    used
}

fn draw(
    grapheme: &str,
    offset: usize,
    columns: usize,
    label: &dyn Fn(char) -> Option<String>,
) -> Piece {
    if grapheme == "\t" {
        return Piece { shown: "    ".into(), columns: 4.min(columns), offset, fold: false };
    }
    if let Some(label) = grapheme.chars().next().and_then(label) {
        let columns = width(&label).min(columns);
        return Piece { shown: label, columns, offset, fold: true };
    }
    let shown = sanitize(grapheme);
    let columns = width(&shown);
    Piece { shown: shown.into_owned(), columns, offset, fold: false }
}
