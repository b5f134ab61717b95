//! Making text of unknown origin harmless: escape sequences and control characters go, carriage
//! returns and erasures do to a line what a terminal would have done (F85). Pure.
//!
//! [`Cleaner`] works on a stream and may be cut anywhere, inside a character or a sequence;
//! [`clean`] and [`for_screen`] work on whole texts.

use std::borrow::Cow;
use std::io;

/// A line that grows beyond this many characters is passed on in pieces.
const LONGEST_LINE: usize = 16 * 1024;

/// A control string (title, hyperlink, sixel) that is never closed ends here.
const LONGEST_STRING: usize = 64 * 1024;

/// Columns between tab stops on the screen.
const TAB_WIDTH: usize = 4;

/// Cleans a stream of bytes: UTF-8 (broken parts become `�`), one output line per input line.
pub struct Cleaner {
    decoder: encoding_rs::Decoder,
    decoded: String,
    state: State,
    line: Vec<char>,
    /// Where the next character goes; at most `line.len()`.
    cursor: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    /// `ESC` with intermediate characters, such as `ESC ( B`.
    Intermediate,
    /// Holds the first parameter; `None` while there is none.
    Csi(Option<u16>),
    /// Inside OSC, DCS, SOS, PM or APC, with the characters seen so far.
    Text(usize),
    /// As `Text`, after an `ESC` that may begin its end.
    TextEscape(usize),
}

impl Default for Cleaner {
    fn default() -> Self {
        Self {
            decoder: encoding_rs::UTF_8.new_decoder_without_bom_handling(),
            decoded: String::new(),
            state: State::Ground,
            line: Vec::new(),
            cursor: 0,
        }
    }
}

impl Cleaner {
    /// Takes more bytes; appends the lines that they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        self.decode(bytes, false, out);
    }

    /// Appends what is left, a last line without its end included.
    pub fn finish(&mut self, out: &mut String) {
        self.decode(&[], true, out);
        self.flush(out);
    }

    fn decode(&mut self, bytes: &[u8], last: bool, out: &mut String) {
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        let needed = self.decoder.max_utf8_buffer_length(bytes.len());
        decoded.reserve(needed.unwrap_or(bytes.len() * 3 + 3));
        let _ = self.decoder.decode_to_string(bytes, &mut decoded, last);
        self.text(&decoded, out);
        self.decoded = decoded;
    }

    fn text(&mut self, text: &str, out: &mut String) {
        for piece in text.split_inclusive('\n') {
            if self.state == State::Ground && is_plain(piece) {
                self.plain(piece, out);
            } else {
                piece.chars().for_each(|character| self.character(character, out));
            }
            if self.line.len() > LONGEST_LINE {
                self.flush(out);
            }
        }
    }

    fn plain(&mut self, piece: &str, out: &mut String) {
        let whole = piece.ends_with('\n');
        if self.line.is_empty() && (whole || piece.len() > LONGEST_LINE) {
            out.push_str(piece);
            return;
        }
        piece.trim_end_matches('\n').chars().for_each(|character| self.put(character));
        if whole {
            self.newline(out);
        }
    }

    fn character(&mut self, character: char, out: &mut String) {
        self.state = match (self.state, character) {
            (State::Text(seen) | State::TextEscape(seen), _) => {
                self.inside_string(seen, character, out)
            }
            (_, '\x1b') => State::Escape,
            (_, '\u{9b}') => State::Csi(None),
            (_, '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => State::Text(0),
            (_, '\n') => {
                self.newline(out);
                State::Ground
            }
            (State::Escape, '[') => State::Csi(None),
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::Text(0),
            (State::Escape | State::Intermediate, ' '..='/') => State::Intermediate,
            (State::Escape | State::Intermediate, '0'..='~') => State::Ground,
            (State::Csi(first), '0'..='9') => {
                let digit = character as u16 - '0' as u16;
                State::Csi(Some(first.unwrap_or(0).saturating_mul(10).saturating_add(digit)))
            }
            (State::Csi(first), ' '..='/' | ':'..='?') => State::Csi(first),
            (State::Csi(first), '@'..='~') => {
                self.control(first.unwrap_or(0), character);
                State::Ground
            }
            (_, character) => {
                self.printable(character);
                State::Ground
            }
        };
    }

    fn inside_string(&mut self, seen: usize, character: char, out: &mut String) -> State {
        match character {
            '\x07' | '\u{9c}' | '\x18' | '\x1a' => State::Ground,
            '\x1b' => State::TextEscape(seen),
            '\\' if matches!(self.state, State::TextEscape(_)) => State::Ground,
            '\n' => {
                self.newline(out);
                State::Ground
            }
            _ if seen >= LONGEST_STRING => State::Ground,
            _ => State::Text(seen + 1),
        }
    }

    /// The control sequences that change what a line says; the others only colour or move.
    fn control(&mut self, parameter: u16, last: char) {
        match (last, parameter) {
            ('K', 0) => self.line.truncate(self.cursor),
            ('K', 1) => self.line[..self.cursor].fill(' '),
            ('K', _) => {
                self.line.clear();
                self.cursor = 0;
            }
            ('G', column) => {
                self.cursor = usize::from(column.saturating_sub(1)).min(self.line.len())
            }
            ('D', columns) => self.cursor = self.cursor.saturating_sub(usize::from(columns.max(1))),
            _ => {}
        }
    }

    fn printable(&mut self, character: char) {
        match character {
            '\r' => self.cursor = 0,
            '\x08' => self.cursor = self.cursor.saturating_sub(1),
            '\t' => self.put('\t'),
            character if character.is_control() => {}
            character => self.put(character),
        }
    }

    fn put(&mut self, character: char) {
        match self.line.get_mut(self.cursor) {
            Some(place) => *place = character,
            None => self.line.push(character),
        }
        self.cursor += 1;
    }

    fn newline(&mut self, out: &mut String) {
        self.flush(out);
        out.push('\n');
    }

    fn flush(&mut self, out: &mut String) {
        out.extend(self.line.drain(..));
        self.cursor = 0;
    }
}

/// Whether a text holds nothing to clean: no control characters but newlines and tabs. `0xC2` leads
/// the C1 controls and some letters; those few letters take the slow way.
fn is_plain(text: &str) -> bool {
    !text
        .bytes()
        .any(|byte| (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2)
}

/// A text without escape sequences and control characters, for a model.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut cleaner = Cleaner::default();
    let mut out = String::with_capacity(text.len());
    cleaner.text(text, &mut out);
    cleaner.flush(&mut out);
    Cow::Owned(out)
}

/// A writer of texts: escape sequences and control characters do not pass (F86).
///
/// Each write is taken for whole text; a buffer belongs below it, not above.
#[derive(Debug)]
pub struct Cleaned<W>(W);

impl<W: io::Write> Cleaned<W> {
    /// Cleans what goes to `below`.
    pub const fn over(below: W) -> Self {
        Self(below)
    }
}

impl<W: io::Write> io::Write for Cleaned<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(clean(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A text as it may be put on the screen: [`clean`], tabs as spaces, and no characters that change
/// the direction of what follows or the number of lines.
#[must_use]
pub fn for_screen(text: &str) -> Cow<'_, str> {
    let cleaned = clean(text);
    if !cleaned.contains(|character| character == '\t' || is_invisible(character)) {
        return cleaned;
    }
    let mut out = String::with_capacity(cleaned.len() + 16);
    let mut column = 0;
    for character in cleaned.chars() {
        match character {
            '\n' => {
                out.push('\n');
                column = 0;
            }
            '\t' => {
                let width = TAB_WIDTH - column % TAB_WIDTH;
                out.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            '\u{2028}' | '\u{2029}' => out.push(' '),
            character if is_invisible(character) => {}
            character => {
                out.push(character);
                column += unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
            }
        }
    }
    Cow::Owned(out)
}

/// Marks of direction, the byte order mark and the line separators.
const fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{feff}')
}

/// A text whose control characters are shown as pictures (`␛`), so that nothing of a file's content
/// is silently missing; and whether there were any.
#[must_use]
pub fn with_visible_controls(text: &str) -> (Cow<'_, str>, bool) {
    if is_plain(text) {
        return (Cow::Borrowed(text), false);
    }
    let mut any = false;
    let shown = text
        .chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            '\x7f' => {
                any = true;
                '\u{2421}'
            }
            '\0'..='\x1f' => {
                any = true;
                char::from_u32(0x2400 + character as u32).unwrap_or('�')
            }
            '\u{80}'..='\u{9f}' => {
                any = true;
                '�'
            }
            character => character,
        })
        .collect();
    (Cow::Owned(shown), any)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use proptest::prelude::*;

    fn streamed(pieces: &[&[u8]]) -> String {
        let mut cleaner = Cleaner::default();
        let mut out = String::new();
        for piece in pieces {
            cleaner.push(piece, &mut out);
        }
        cleaner.finish(&mut out);
        out
    }

    #[test]
    fn f86_only_text_passes_a_writer() {
        let mut printed = Cleaned::over(Vec::new());
        let name = "a\u{1b}]0;owned\u{7}b\u{9b}2Jc\u{8}";
        writeln!(printed, "{name}\t안녕 ©").unwrap();
        assert_eq!(String::from_utf8(printed.0).unwrap(), "abc\t안녕 ©\n");
    }

    #[test]
    fn f85_sequences_and_controls_go_and_lines_stay_what_a_terminal_would_show() {
        for (raw, expected) in [
            ("plain ✓ 한국어\n", "plain ✓ 한국어\n"),
            ("\x1b[0;32mgreen\x1b[0m\n", "green\n"),
            ("\x1b[38;2;1;2;3mtrue\x1b[m \x1b[?25lcolour", "true colour"),
            ("\x1b]0;title\x07after", "after"),
            ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPq#0;2;0\x1b\\done", "done"),
            ("\x1b_app\x1b\\a\x1b^pm\x1b\\b\x1bXsos\x1b\\c", "abc"),
            ("\u{9b}31mred\u{9d}t\u{9c}!", "red!"),
            ("\x1b(Bcharset\x1b=\x1b7x", "charsetx"),
            ("nul\0bel\x07del\x7fvt\x0b", "nulbeldelvt"),
            ("a\tb\r\nc\r\n", "a\tb\nc\n"),
            ("10%\r20%\r100%\n", "100%\n"),
            ("long line\rxy\n", "xyng line\n"),
            ("long line\r\x1b[Kxy\n", "xy\n"),
            ("gone\x1b[2K\rkept\n", "kept\n"),
            ("abc\x08\x08X\n", "aXc\n"),
            ("abc\x1b[1Gx\x1b[0Ky\n", "xy\n"),
            ("unfinished \x1b[3", "unfinished "),
            ("\x1b]never closed\nnext\n", "\nnext\n"),
            ("¡é\u{a0}ü\n", "¡é\u{a0}ü\n"),
        ] {
            assert_eq!(clean(raw), expected, "{raw:?}");
            assert_eq!(streamed(&[raw.as_bytes()]), expected, "{raw:?} as a stream");
        }
    }

    #[test]
    fn f76_a_stream_may_be_cut_inside_characters_and_sequences() {
        let raw = "✓ \x1b[31m한국\x1b[0m\r\n10%\r→ 20%\n".as_bytes();
        let whole = streamed(&[raw]);
        assert_eq!(whole, "✓ 한국\n→ 20%\n");
        for cut in 0..raw.len() {
            assert_eq!(streamed(&[&raw[..cut], &raw[cut..]]), whole, "cut at {cut}");
        }
        assert_eq!(streamed(&[b"a\xffb\xe2\x9c"]), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn f85_a_string_that_is_never_closed_does_not_swallow_the_rest() {
        let raw = format!("\x1bP{}TAIL", "x".repeat(LONGEST_STRING + 1));
        assert!(clean(&raw).ends_with("TAIL"));
    }

    #[test]
    fn f75_a_line_without_end_is_passed_on_in_pieces() {
        let mut cleaner = Cleaner::default();
        let mut out = String::new();
        for _ in 0..100 {
            cleaner.push("y".repeat(LONGEST_LINE / 4).as_bytes(), &mut out);
            assert!(cleaner.line.len() <= 2 * LONGEST_LINE);
        }
        cleaner.finish(&mut out);
        assert_eq!(out.len(), 25 * LONGEST_LINE);
    }

    #[test]
    fn f85_the_screen_gets_spaces_for_tabs_and_no_marks_of_direction() {
        assert_eq!(for_screen("a\tb\n\tc"), "a   b\n    c");
        assert_eq!(for_screen("한\tb"), "한  b");
        assert_eq!(for_screen("safe\u{202e}evil\u{2066}x\u{2028}y"), "safeevilx y");
        assert!(matches!(for_screen("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_characters_of_files_are_shown_as_pictures() {
        assert_eq!(with_visible_controls("a\x1b[0m\tb\r\n").0, "a␛[0m\tb␍\n");
        assert!(!with_visible_controls("é¡\n").1);
    }

    proptest! {
        #[test]
        fn f85_nothing_that_moves_a_cursor_gets_through(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let out = streamed(&[&bytes]);
            prop_assert!(!out.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
