//! Text made fit for a terminal's cells (F84, F85): what enters the transcript passes through
//! [`sanitize`] once, and [`width`] is the one measure of columns.
//!
//! Nothing here knows styles or lines on the screen; see [`super::wrap`] for those.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Columns between two tab stops.
const TAB: usize = 4;

/// Most marks without width that stay on one character.
const MOST_MARKS: usize = 4;

/// Columns that one character as seen takes. Control characters, which are never drawn, take none.
#[must_use]
pub fn columns(grapheme: &str) -> usize {
    match grapheme.as_bytes() {
        [byte] => usize::from(!byte.is_ascii_control()),
        _ if grapheme.chars().all(char::is_control) => 0,
        _ => usize::from(grapheme.cell_width()),
    }
}

/// Columns that a text without line breaks takes.
#[must_use]
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(columns).sum()
}

/// The longest beginning of `text` that fits into `columns`; never splits a character as seen.
#[must_use]
pub fn head(text: &str, columns: usize) -> &str {
    if text.len() <= columns {
        return text;
    }
    let mut used = 0;
    for (offset, grapheme) in text.grapheme_indices(true) {
        used += self::columns(grapheme);
        if used > columns {
            return &text[..offset];
        }
    }
    text
}

/// The longest end of `text` that fits into `columns`.
#[must_use]
pub fn tail(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (offset, grapheme) in text.grapheme_indices(true).rev() {
        used += self::columns(grapheme);
        if used > columns {
            return &text[offset + grapheme.len()..];
        }
    }
    text
}

/// `text` in at most `columns`, its end replaced by `…` when it does not fit.
#[must_use]
pub fn clip(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    match columns {
        0 => Cow::Borrowed(""),
        _ => Cow::Owned(format!("{}…", head(text, columns - 1))),
    }
}

/// `text` in at most `columns`, its beginning replaced by `…`: for paths, whose end says most.
#[must_use]
pub fn clip_start(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    match columns {
        0 => Cow::Borrowed(""),
        _ => Cow::Owned(format!("…{}", tail(text, columns - 1))),
    }
}

/// Words joined by ` · `, as many from the beginning as fit; of a single one, what fits.
#[must_use]
pub fn first_parts(text: &str, columns: usize) -> Cow<'_, str> {
    let mut text = text;
    while width(text) > columns
        && let Some((before, _)) = text.rsplit_once(" · ")
    {
        text = before;
    }
    clip(text, columns)
}

/// Hints joined by ` · `, the most important first and how to get out last: those before the last go
/// first, where there is little room.
#[must_use]
pub fn hints(text: &str, columns: usize) -> Cow<'_, str> {
    let Some((before, last)) = text.rsplit_once(" · ").filter(|_| width(text) > columns) else {
        return clip(text, columns);
    };
    let mut before = before;
    while width(before) + width(last) + 3 > columns {
        match before.rsplit_once(" · ") {
            Some((shorter, _)) => before = shorter,
            None => return clip(last, columns),
        }
    }
    Cow::Owned(format!("{before} · {last}"))
}

/// Makes any text safe to draw: escape sequences and control characters go, carriage returns and
/// backspaces do what a terminal would, tabs become blanks, and emoji are taken apart into
/// characters on whose width all terminals agree. Line feeds stay.
#[must_use]
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut canvas = Canvas::default();
    let mut chars = text.chars().peekable();
    while let Some(character) = chars.next() {
        match character {
            '\n' | '\u{2028}' | '\u{2029}' => canvas.line_feed(),
            '\r' => canvas.column = 0,
            '\t' => canvas.tab(),
            '\u{8}' => canvas.column = canvas.column.saturating_sub(1),
            '\u{1b}' => skip_escape(&mut chars, &mut canvas),
            '\u{9b}' => skip_control_sequence(&mut chars, &mut canvas),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\u{200d}' if canvas.after_emoji() => {}
            character if character.is_control() || is_invisible(character) => {}
            character => canvas.put(character),
        }
    }
    canvas.line_feed();
    canvas.done.pop();
    Cow::Owned(canvas.done)
}

/// [`sanitize`] for what stands on one line: white space of any kind becomes single blanks.
#[must_use]
pub fn one_line(text: &str) -> String {
    sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Takes a text that arrives in pieces apart where an escape sequence has begun that is not whole yet;
/// the second part belongs before the next piece.
#[must_use]
pub fn split_unfinished(text: &str) -> (&str, &str) {
    let Some(start) = text.rfind(['\u{1b}', '\u{9b}']) else { return (text, "") };
    let (before, sequence) = text.split_at(start);
    let body = sequence.strip_prefix('\u{1b}').and_then(|rest| rest.strip_prefix('['));
    let body = body.or_else(|| sequence.strip_prefix('\u{9b}'));
    let is_whole = match body {
        Some(body) => body.contains(|c| ('@'..='~').contains(&c)),
        None => match sequence.as_bytes().get(1) {
            Some(b']' | b'P' | b'X' | b'^' | b'_') => sequence.contains(['\u{7}', '\u{9c}', '\n']),
            Some(_) => true,
            None => false,
        },
    };
    // What is this long is no sequence, whatever it is.
    if is_whole || sequence.len() > 4_096 { (text, "") } else { (before, sequence) }
}

/// Whether a character can be drawn as it is.
fn is_plain(character: char) -> bool {
    matches!(character, '\n' | ' '..='~')
        || (character > '\u{9f}'
            && !is_invisible(character)
            && !matches!(character, '\u{200d}' | '\u{2028}' | '\u{2029}')
            && !is_mark(character))
}

/// Combining marks of the blocks that are used to pile them up.
const fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}' | '\u{489}')
}

/// Characters without a picture that move, hide or restyle others: bidirectional overrides,
/// zero-width blanks, variation selectors, skin tones, tags.
const fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'
        | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}')
}

const fn is_emoji(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// The lines that a terminal would show, as far as they are written.
#[derive(Default)]
struct Canvas {
    done: String,
    line: Vec<char>,
    /// Where the next character goes, in characters.
    column: usize,
    /// Marks without width since the last character with one.
    marks: usize,
}

impl Canvas {
    fn put(&mut self, character: char) {
        self.marks = if is_mark(character) { self.marks + 1 } else { 0 };
        if self.marks > MOST_MARKS {
            return;
        }
        match self.line.get_mut(self.column) {
            Some(place) => *place = character,
            None => self.line.push(character),
        }
        self.column += 1;
    }

    fn tab(&mut self) {
        let column: usize =
            self.line[..self.column].iter().map(|c| columns(c.encode_utf8(&mut [0; 4]))).sum();
        for _ in 0..TAB - column % TAB {
            self.put(' ');
        }
    }

    fn line_feed(&mut self) {
        self.done.extend(self.line.drain(..));
        self.done.push('\n');
        self.column = 0;
        self.marks = 0;
    }

    fn after_emoji(&self) -> bool {
        // A joiner at the start of a piece joins what came before it.
        match self.column.checked_sub(1).and_then(|column| self.line.get(column)) {
            Some(last) => is_emoji(*last),
            None => true,
        }
    }

    /// `ESC [ n K`: progress bars wipe their line with it.
    fn erase(&mut self, parameter: &str) {
        match parameter {
            "" | "0" => self.line.truncate(self.column),
            "2" => {
                self.line.clear();
                self.line.resize(self.column, ' ');
            }
            _ => {}
        }
    }
}

fn skip_escape(chars: &mut Peekable<Chars<'_>>, canvas: &mut Canvas) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars, canvas);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        // Intermediate bytes, then one final byte: character sets and the like.
        Some(' '..='/') => {
            while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
            chars.next_if(|c| ('0'..='~').contains(c));
        }
        Some('0'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

fn skip_control_sequence(chars: &mut Peekable<Chars<'_>>, canvas: &mut Canvas) {
    let mut parameters = String::new();
    while let Some(character) = chars.next_if(|c| (' '..='?').contains(c)) {
        parameters.push(character);
    }
    if chars.next_if(|c| ('@'..='~').contains(c)) == Some('K') {
        canvas.erase(&parameters);
    }
}

/// Skips a string sequence up to its terminator. One that is never terminated ends at the line's
/// end, so that it cannot swallow the rest of a text.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(character) = chars.next_if(|c| *c != '\n') {
        match character {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' if chars.next_if_eq(&'\\').is_some() => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, shown: &str) {
        assert_eq!(sanitize(raw), shown, "{raw:?}");
        assert_eq!(sanitize(shown), shown, "showing twice changes nothing");
    }

    #[test]
    fn u7_what_does_not_fit_goes_in_whole_parts() {
        let facts = "no key · 1M · $10 in $50 out";
        assert_eq!(first_parts(facts, 40), facts);
        assert_eq!(first_parts(facts, 20), "no key · 1M");
        assert_eq!(first_parts(facts, 4), "no …");
        let keys = "type to narrow · enter choose · esc close";
        assert_eq!(hints(keys, 41), keys);
        assert_eq!(hints(keys, 40), "type to narrow · esc close");
        assert_eq!(hints(keys, 20), "esc close");
        assert_eq!(hints("one only", 5), "one …");
    }

    #[test]
    fn f85_escape_sequences_leave_no_residue() {
        check("\u{1b}[0;32mok\u{1b}[0m", "ok");
        check("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "alink");
        check("\u{9b}31mred\u{9d}0;t\u{9c}!", "red!");
        check("\u{1b}Pq#0;2;0\u{1b}\\sixel", "sixel");
        check("\u{1b}(Bcharset\u{1b}=\u{1b}>", "charset");
        check("\u{1b}]0;never ended\nnext", "\nnext");
        check("cut \u{1b}[", "cut ");
        check("cut \u{1b}", "cut ");
        check("a\0b\u{7}c\u{7f}d", "abcd");
    }

    #[test]
    fn f85_returns_tabs_and_backspaces_do_what_a_terminal_does() {
        check("10%\r20%\rdone", "done");
        check("abc\rX", "Xbc");
        check("long line\r\u{1b}[Kshort", "short");
        check("one\r\ntwo\r\n", "one\ntwo\n");
        check("a\tb\n\tc", "a   b\n    c");
        check("가\tb", "가  b");
        check("bo\u{8}ol\u{8}d", "bod");
    }

    #[test]
    fn f84_emoji_become_characters_of_certain_width() {
        check("👨\u{200d}👩\u{200d}👧", "👨👩👧");
        check("❤\u{fe0f}", "❤");
        check("👍\u{1f3fd}", "👍");
        check("🇰🇷", "🇰🇷");
        assert_eq!(width("👨👩👧"), 6);
    }

    #[test]
    fn f85_nothing_can_hide_or_turn_text_around() {
        check("a\u{202e}b\u{2066}c\u{200b}d\u{feff}", "abcd");
        check(&format!("e{}", "\u{301}".repeat(50)), &format!("e{}", "\u{301}".repeat(MOST_MARKS)));
        check("می\u{200c}خواهم", "می\u{200c}خواهم");
    }

    #[test]
    fn f85_a_sequence_in_two_pieces_leaves_no_residue() {
        for (piece, held) in [
            ("a\u{1b}[3", "\u{1b}[3"),
            ("a\u{1b}", "\u{1b}"),
            ("a\u{1b}]8;;http://x", "\u{1b}]8;;http://x"),
            ("a\u{9b}1", "\u{9b}1"),
            ("a\u{1b}[31mb", ""),
            ("a\u{1b}]0;t\u{7}", ""),
            ("plain", ""),
        ] {
            assert_eq!(split_unfinished(piece).1, held, "{piece:?}");
        }
    }

    #[test]
    fn f85_one_line_is_one_line() {
        assert_eq!(one_line(" a\r\n\u{1b}[1mb\t\u{2028}c "), "a b c");
        assert_eq!((width("가\n"), columns("\n"), columns("\u{85}")), (2, 0, 0));
    }

    #[test]
    fn f83_width_counts_columns() {
        for (text, columns) in [("abc", 3), ("한국어", 6), ("é", 1), ("e\u{301}", 1), ("ｶ", 1)]
        {
            assert_eq!(width(text), columns, "{text}");
        }
    }

    #[test]
    fn f84_clipping_never_splits_a_wide_character() {
        assert_eq!(clip("한국어", 5), "한국…");
        assert_eq!(clip("한국어", 4), "한…");
        assert_eq!(clip_start("src/한국어.rs", 7), "…어.rs");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abc", 0), "");
        assert_eq!((head("한국어", 3), tail("한국어", 3)), ("한", "어"));
    }
}
