//! Styled text → lines of a given width, measured in columns (F83).
//!
//! Breaks at blanks, between Han and kana characters (but not before closing punctuation), and inside
//! a word only when the word alone is wider than the line. Hangul keeps its words together. The text
//! must have passed [`super::text::sanitize`].

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::text::width;

/// What stands at the left of the first line and of the lines after it. Both count towards the width.
#[derive(Debug, Clone, Default)]
pub struct Margins {
    /// Before the first line.
    pub first: Vec<Span<'static>>,
    /// Before every other line.
    pub rest: Vec<Span<'static>>,
}

impl Margins {
    /// The same on all lines.
    #[must_use]
    pub fn same(margin: Span<'static>) -> Self {
        Self { first: vec![margin.clone()], rest: vec![margin] }
    }

    /// Blanks on all lines.
    #[must_use]
    pub fn blank(columns: usize) -> Self {
        Self::same(Span::raw(" ".repeat(columns)))
    }
}

/// Where lines may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaking {
    /// Between words.
    Words,
    /// Anywhere: for code and output, whose blanks mean something.
    Anywhere,
}

/// One character as seen, with the span it came from.
struct Glyph<'a> {
    text: &'a str,
    style: Style,
    columns: usize,
}

impl Glyph<'_> {
    fn is_blank(&self) -> bool {
        self.text == " "
    }
}

/// Breaks `spans` into lines of at most `columns`. Line feeds in the text begin new lines. Always
/// gives at least one line.
#[must_use]
pub fn wrap(
    spans: &[Span<'_>],
    columns: usize,
    margins: &Margins,
    breaking: Breaking,
) -> Vec<Line<'static>> {
    let mut lines = Lines::new(columns, margins);
    let mut glyphs: Vec<Glyph<'_>> = Vec::new();
    for span in spans {
        for text in span.content.graphemes(true) {
            if text == "\n" || text == "\r\n" {
                lines.lay(&glyphs, breaking);
                lines.finish();
                glyphs.clear();
            } else {
                let columns = super::text::columns(text);
                glyphs.push(Glyph { text, style: span.style, columns });
            }
        }
    }
    lines.lay(&glyphs, breaking);
    lines.finish();
    lines.done
}

/// Lines in the making.
struct Lines<'m> {
    margins: &'m Margins,
    columns: usize,
    done: Vec<Line<'static>>,
    open: Vec<Span<'static>>,
    used: usize,
    /// Columns that the margin of the open line takes.
    margin: usize,
}

impl<'m> Lines<'m> {
    fn new(columns: usize, margins: &'m Margins) -> Self {
        let mut lines =
            Self { margins, columns, done: Vec::new(), open: Vec::new(), used: 0, margin: 0 };
        lines.begin();
        lines
    }

    fn begin(&mut self) {
        let margin = if self.done.is_empty() { &self.margins.first } else { &self.margins.rest };
        self.open.clone_from(margin);
        self.margin = margin.iter().map(|span| width(&span.content)).sum();
        self.used = self.margin;
    }

    fn finish(&mut self) {
        self.done.push(Line::from(std::mem::take(&mut self.open)));
        self.begin();
    }

    fn room(&self) -> usize {
        self.columns.saturating_sub(self.used)
    }

    fn is_fresh(&self) -> bool {
        self.used == self.margin
    }

    fn push(&mut self, glyph: &Glyph<'_>) {
        let fresh = self.is_fresh();
        match self.open.last_mut() {
            Some(last) if last.style == glyph.style && !fresh => {
                last.content.to_mut().push_str(glyph.text);
            }
            _ => self.open.push(Span::styled(glyph.text.to_owned(), glyph.style)),
        }
        self.used += glyph.columns;
    }

    /// Puts glyphs down one after the other, beginning new lines where one is full.
    fn push_all(&mut self, glyphs: &[Glyph<'_>]) {
        for glyph in glyphs {
            if glyph.columns > self.room() && !self.is_fresh() {
                self.finish();
            }
            self.push(glyph);
        }
    }

    fn lay(&mut self, glyphs: &[Glyph<'_>], breaking: Breaking) {
        if breaking == Breaking::Anywhere {
            return self.push_all(glyphs);
        }
        let mut rest = glyphs;
        let mut at_start = true;
        while !rest.is_empty() {
            let blanks = rest.iter().take_while(|glyph| glyph.is_blank()).count();
            let (gap, after) = rest.split_at(blanks);
            let (word, after) = after.split_at(word_length(after));
            rest = after;
            let needed: usize = word.iter().map(|glyph| glyph.columns).sum();
            if gap.len() + needed <= self.room() || at_start {
                self.push_all(gap);
                self.push_all(word);
            } else {
                // A word that fits on no line is broken where it stands, unless it would start
                // in the last columns.
                let full = self.columns.saturating_sub(self.margin);
                if needed > full && self.room() > gap.len() + full / 4 {
                    self.push_all(gap);
                } else {
                    self.finish();
                }
                self.push_all(word);
            }
            at_start = false;
        }
    }
}

/// Glyphs up to the next place where a line may be broken.
fn word_length(glyphs: &[Glyph<'_>]) -> usize {
    let mut length = 0;
    while let Some(glyph) = glyphs.get(length) {
        if glyph.is_blank() {
            break;
        }
        length += 1;
        let next = glyphs.get(length).map_or("", |next| next.text);
        let breaks_here = is_ideographic(glyph.text) || is_ideographic(next);
        if breaks_here && !closes(next) && !opens(glyph.text) {
            break;
        }
    }
    length
}

/// Scripts that are written without blanks.
fn is_ideographic(grapheme: &str) -> bool {
    grapheme.chars().next().is_some_and(|character| {
        matches!(character, '\u{2e80}'..='\u{312f}' | '\u{3190}'..='\u{a4cf}'
            | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
    })
}

/// Punctuation that must not begin a line.
fn closes(grapheme: &str) -> bool {
    grapheme.chars().next().is_some_and(|character| {
        "、。，．・：；？！ー」』】〕〉》）］｝々ぁぃぅぇぉっゃゅょァィゥェォッャュョ,.:;?!)]}%”’".contains(character)
    })
}

/// Punctuation that must not end a line.
fn opens(grapheme: &str) -> bool {
    grapheme.chars().next().is_some_and(|character| "「『【〔〈《（［｛([{“‘".contains(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        let lines = wrap(&[Span::raw(text)], columns, &Margins::default(), Breaking::Words);
        assert_eq!(texts(&lines), expected, "{text:?} in {columns}");
        assert!(lines.iter().all(|line| width(&line.to_string()) <= columns));
    }

    #[test]
    fn f83_lines_break_between_words() {
        check("one two three", 8, &["one two", "three"]);
        check("one two", 7, &["one two"]);
        check("", 5, &[""]);
        check("a\n\nb", 5, &["a", "", "b"]);
        check("  indented text", 10, &["  indented", "text"]);
        check("a  b", 5, &["a  b"]);
    }

    #[test]
    fn f83_hangul_keeps_words_and_ideographs_do_not() {
        check("안녕하세요 세계 여러분", 12, &["안녕하세요", "세계 여러분"]);
        check("日本語の文章です。", 8, &["日本語の", "文章で", "す。"]);
        check("안녕하세요", 5, &["안녕", "하세", "요"]);
        check("가나다라마바사", 7, &["가나다", "라마바", "사"]);
    }

    #[test]
    fn f84_long_words_are_cut_between_characters_as_seen() {
        check("abcdefghij", 4, &["abcd", "efgh", "ij"]);
        check("see https://example.org/a/b", 12, &["see https://", "example.org/", "a/b"]);
        check("👍👍👍", 3, &["👍", "👍", "👍"]);
    }

    #[test]
    fn u1_margins_count_towards_the_width() {
        let margins = Margins { first: vec![Span::raw("1. ")], rest: vec![Span::raw("   ")] };
        let lines = wrap(&[Span::raw("one two three")], 8, &margins, Breaking::Words);
        assert_eq!(texts(&lines), ["1. one", "   two", "   three"]);
    }

    #[test]
    fn u1_code_breaks_anywhere_and_keeps_blanks() {
        let lines =
            wrap(&[Span::raw("if  x {")], 4, &Margins::same(Span::raw("│ ")), Breaking::Anywhere);
        assert_eq!(texts(&lines), ["│ if", "│   ", "│ x ", "│ {"]);
    }

    #[test]
    fn u1_a_width_of_nothing_still_ends() {
        let lines = wrap(&[Span::raw("한")], 0, &Margins::default(), Breaking::Words);
        assert_eq!(texts(&lines), ["한"]);
    }
}
