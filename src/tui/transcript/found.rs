//! A text that is sought in what is drawn (U1): the lines that hold it, and how it is marked there.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

/// Signs of Markdown, which are not drawn.
const SIGNS: &[char] = &['*', '_', '`', '~', '\\', '[', ']', '<', '>', '#', '|'];

/// What stands at the left of lines that belong together.
const MARGINS: &[char] = &[' ', '│', '┊', '▌', '>', '•'];

/// A text to be found, in any case and whatever white space stands between its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sought {
    /// As it was asked for, in small letters.
    text: String,
    needle: Vec<char>,
    /// Whether it was found last where it is not drawn, as in output that is folded.
    pub(super) hidden: bool,
}

/// A part of a line, in bytes.
type Piece = (usize, std::ops::Range<usize>);

/// One character of what is drawn; a line ends with a line feed.
struct Glyph {
    small: char,
    line: usize,
    from: usize,
    to: usize,
}

impl Sought {
    pub(super) fn new(text: &str) -> Self {
        let needle = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            text: text.to_lowercase(),
            needle: needle.chars().map(small).collect(),
            hidden: false,
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.needle == other.needle
    }

    /// Whether drawing a text may show it: saves drawing most blocks.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        let bare = |text: &str| -> String {
            text.chars().filter(|c| !c.is_whitespace() && !SIGNS.contains(c)).map(small).collect()
        };
        let needle: String = self.needle.iter().collect();
        bare(text).contains(&bare(&needle))
    }

    /// Whether a text that is not drawn holds it.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.text)
    }

    /// The last line before `end` on which it begins.
    pub(super) fn last_line(&self, lines: &[Line<'_>], end: usize) -> Option<usize> {
        self.places(lines)
            .iter()
            .filter_map(|place| place.first())
            .map(|piece| piece.0)
            .rfind(|line| *line < end)
    }

    /// The lines from `from` on, `count` of them, with the text marked. `None` where it is not there.
    pub(super) fn mark(
        &self,
        lines: &[Line<'static>],
        from: usize,
        count: usize,
    ) -> Option<Vec<Line<'static>>> {
        // A line around, for what is broken at the edge.
        let start = from.saturating_sub(1);
        let end = (from + count + 1).min(lines.len());
        let mut pieces = self.places(lines.get(start..end)?).concat();
        pieces.retain(|(line, _)| (from..from + count).contains(&(line + start)));
        if pieces.is_empty() {
            return None;
        }
        let mut marked = lines[from..(from + count).min(lines.len())].to_vec();
        for (line, place) in pieces {
            let line = &mut marked[line + start - from];
            line.spans = reversed(std::mem::take(&mut line.spans), &place);
        }
        Some(marked)
    }

    /// Where it stands: each time the parts of lines that hold it.
    fn places(&self, lines: &[Line<'_>]) -> Vec<Vec<Piece>> {
        let mut glyphs = Vec::new();
        for (line, spans) in lines.iter().enumerate() {
            let mut from = 0;
            for character in spans.spans.iter().flat_map(|span| span.content.chars()) {
                let to = from + character.len_utf8();
                glyphs.push(Glyph { small: small(character), line, from, to });
                from = to;
            }
            glyphs.push(Glyph { small: '\n', line, from, to: from });
        }
        let mut places = Vec::new();
        let mut at = 0;
        while at < glyphs.len() {
            let found = (Some(&glyphs[at].small) == self.needle.first())
                .then(|| self.place_at(&glyphs, at))
                .flatten();
            at = found.as_ref().map_or(at + 1, |(_, end)| *end);
            places.extend(found.map(|(place, _)| place));
        }
        places
    }

    /// The parts of lines that hold it if it begins at a place, and where it ends. The end of a line is
    /// a blank or nothing.
    fn place_at(&self, glyphs: &[Glyph], start: usize) -> Option<(Vec<Piece>, usize)> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut at = start;
        for wanted in &self.needle {
            let mut blank = false;
            while glyphs.get(at)?.small == '\n' || (*wanted == ' ' && glyphs.get(at)?.small == ' ')
            {
                blank = true;
                if glyphs[at].small == '\n' {
                    let margin = glyphs[at + 1..].iter();
                    at += margin.take_while(|glyph| MARGINS.contains(&glyph.small)).count();
                }
                at += 1;
            }
            if *wanted == ' ' {
                if blank {
                    continue;
                }
                return None;
            }
            let glyph = glyphs.get(at).filter(|glyph| glyph.small == *wanted)?;
            match pieces.last_mut() {
                Some((line, place)) if *line == glyph.line => place.end = glyph.to,
                _ => pieces.push((glyph.line, glyph.from..glyph.to)),
            }
            at += 1;
        }
        Some((pieces, at))
    }
}

fn small(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

/// The spans of a line, those bytes of it in reverse.
fn reversed(spans: Vec<Span<'static>>, place: &std::ops::Range<usize>) -> Vec<Span<'static>> {
    let mut marked = Vec::with_capacity(spans.len() + 2);
    let mut from = 0;
    for span in spans {
        let length = span.content.len();
        let begin = place.start.clamp(from, from + length) - from;
        let end = place.end.clamp(from, from + length) - from;
        for (part, is_found) in [(0..begin, false), (begin..end, true), (end..length, false)] {
            if part.is_empty() {
                continue;
            }
            let style = match is_found {
                true => span.style.add_modifier(Modifier::REVERSED),
                false => span.style,
            };
            marked.push(Span::styled(span.content[part].to_owned(), style));
        }
        from += length;
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&'static str]) -> Vec<Line<'static>> {
        text.iter().map(|line| Line::from(vec![Span::raw("│ "), Span::raw(*line)])).collect()
    }

    #[test]
    fn u1_a_text_is_found_over_the_end_of_a_line_and_in_any_case() {
        let drawn = lines(&["one two", "Three four", "가나", "다라 four", "one"]);
        for (text, line) in [
            ("one", Some(4)),
            ("TWO three", Some(0)),
            ("four 가나다라", Some(1)),
            ("나다", Some(2)),
            ("four", Some(3)),
            ("two  three", Some(0)),
            ("two four", None),
            ("", None),
        ] {
            assert_eq!(Sought::new(text).last_line(&drawn, 5), line, "{text}");
        }
        assert_eq!(Sought::new("one").last_line(&drawn, 4), Some(0));
        assert_eq!(Sought::new("one").last_line(&drawn, 0), None);
    }

    #[test]
    fn u1_what_was_found_is_marked_and_nothing_else() {
        let drawn = lines(&["one two", "Three four", "five"]);
        let marked = |text: &str, from, count| -> Option<Vec<String>> {
            let is_marked = |span: &&Span<'_>| span.style.add_modifier.contains(Modifier::REVERSED);
            let lines = Sought::new(text).mark(&drawn, from, count)?;
            assert_eq!(lines.len(), count);
            let words = |line: &Line<'_>| {
                line.spans.iter().filter(is_marked).map(|span| span.content.as_ref()).collect()
            };
            Some(lines.iter().map(words).collect())
        };
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(marked("wo three", 0, 3), words(&["wo", "Three", ""]));
        assert_eq!(marked("wo three", 1, 1), words(&["Three"]));
        assert_eq!(marked("five", 0, 2), None);
        assert_eq!(marked("e", 0, 2), words(&["e", "ee"]));
    }
}
