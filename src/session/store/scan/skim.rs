//! JSON read in passing: from field to field, values skipped rather than built.
//!
//! Accepts a little more than JSON (numbers and literals are not checked, nor which bracket closes
//! which) and never less; it is for finding things in lines, a body is read with `serde_json`.
//! Not recursive: a value nested a million deep is skipped like any other.

use std::borrow::Cow;

use crate::compaction::tokens::Estimator;
use crate::session::describe::OneLine;

/// A place in a line. Every method answers `None` when the line is not what it should be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    const fn bytes(&self) -> &'a [u8] {
        self.line.as_bytes()
    }

    /// Bytes passed so far.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes().get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// A string.
    pub(super) fn text(&mut self) -> Option<Text<'a>> {
        self.expect(b'"')?;
        let start = self.at;
        let (mut escapes, mut unicode) = (0, 0);
        loop {
            let rest = self.bytes().get(self.at..)?;
            self.at += memchr::memchr2(b'"', b'\\', rest)?;
            if self.bytes()[self.at] == b'"' {
                let raw = &self.line[start..self.at];
                self.at += 1;
                return Some(Text { raw, escapes, unicode });
            }
            escapes += 1;
            unicode += usize::from(*self.bytes().get(self.at + 1)? == b'u');
            self.at += 2;
        }
    }

    /// A string, or nothing where another value stands; that is skipped.
    pub(super) fn text_or_skip(&mut self) -> Option<Option<Text<'a>>> {
        if self.peek()? == b'"' { self.text().map(Some) } else { self.skip().map(|_| None) }
    }

    /// Any value, as its bytes.
    pub(super) fn skip(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.text()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => self.word()?,
            }
            if depth == 0 {
                return Some(&self.line[start..self.at]);
            }
        }
    }

    /// A number or a literal.
    fn word(&mut self) -> Option<()> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let len = self.bytes().get(self.at..)?.iter().take_while(|byte| is_word(byte)).count();
        self.at += len;
        (len > 0).then_some(())
    }

    /// An object; `field` is called for each key and must pass the value.
    pub(super) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.text()?;
            self.expect(b':')?;
            field(self, key.raw)?;
            if !self.goes_on(b'}')? {
                return Some(());
            }
        }
    }

    /// An array; `item` is called at each element and must pass it.
    pub(super) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            if !self.goes_on(b']')? {
                return Some(());
            }
        }
    }

    /// Whether a comma follows; `Some(false)` when `close` does.
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Some(true),
            byte if byte == close => Some(false),
            _ => None,
        }
    }
}

/// A string as it stands in JSON, quotes left out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Text<'a> {
    pub(super) raw: &'a str,
    /// Backslashes that begin an escape, and how many of these are `\u`.
    escapes: usize,
    unicode: usize,
}

impl<'a> Text<'a> {
    /// Quarters of a token that the string takes.
    pub(super) fn weight(&self, estimator: Estimator) -> u64 {
        if self.unicode > 0 && !(estimator == Estimator::CharsPerFour && self.raw.is_ascii()) {
            return self.chars().map(|character| estimator.weight_of(character)).sum();
        }
        // Each escape is one character; a `\u` one is a whole UTF-16 unit.
        estimator.weight(self.raw) - self.escapes as u64 - 4 * self.unicode as u64
    }

    /// The characters that the string stands for.
    pub(super) fn chars(&self) -> impl Iterator<Item = char> + use<'a> {
        Unescaped { rest: self.raw.chars() }
    }

    /// Adds the beginning of what the string stands for to a line.
    pub(super) fn write_one_line(&self, line: &mut String) {
        let mut line = OneLine::new(line);
        let mut rest = self.raw;
        while let Some((plain, escape)) = rest.split_once('\\') {
            line.push_str(plain);
            if line.is_full() {
                return;
            }
            let mut escape = Unescaped { rest: escape.chars() };
            line.push(escape.escape());
            rest = escape.rest.as_str();
        }
        line.push_str(rest);
    }

    pub(super) fn is_blank(&self) -> bool {
        self.chars().all(char::is_whitespace)
    }

    /// The string itself, when it needs no decoding.
    pub(super) fn plain(&self) -> Option<&'a str> {
        (self.escapes == 0).then_some(self.raw)
    }

    pub(super) fn to_cow(self) -> Cow<'a, str> {
        self.plain().map_or_else(|| Cow::Owned(self.chars().collect()), Cow::Borrowed)
    }

    pub(super) fn to_text(self) -> String {
        self.to_cow().into_owned()
    }
}

/// What a value weighs when it is written without blanks; `None` when that cannot be told from its
/// bytes.
pub(super) fn compact_weight(json: &str, estimator: Estimator) -> Option<u64> {
    let mut cursor = Cursor::new(json);
    let mut digits = 0;
    while let Some(byte) = json.as_bytes().get(cursor.at) {
        match byte {
            b'"' => {
                let text = cursor.text()?;
                if text.unicode > 0 || (text.escapes > 0 && has_needless_escape(text.raw)) {
                    return None;
                }
                digits = 0;
                continue;
            }
            b'0'..=b'9' | b'-' => digits += 1,
            b'{' | b'}' | b'[' | b']' | b',' | b':' => digits = 0,
            b'a'..=b'z' if digits == 0 => {}
            _ => return None,
        }
        if digits > 15 || json.as_bytes()[cursor.at..].starts_with(b"-0") {
            return None;
        }
        cursor.at += 1;
    }
    Some(estimator.weight(json))
}

/// Whether a string escapes `/`, which nobody has to.
fn has_needless_escape(raw: &str) -> bool {
    memchr::memchr_iter(b'/', raw.as_bytes()).any(|slash| {
        let before = raw.as_bytes()[..slash].iter().rev();
        before.take_while(|byte| **byte == b'\\').count() % 2 == 1
    })
}

/// Decodes a string bit by bit; what cannot be decoded reads as U+FFFD.
struct Unescaped<'a> {
    rest: std::str::Chars<'a>,
}

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.rest.next()? {
            '\\' => Some(self.escape()),
            character => Some(character),
        }
    }
}

impl Unescaped<'_> {
    /// The character of an escape whose backslash has been taken.
    fn escape(&mut self) -> char {
        match self.rest.next().unwrap_or_default() {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.unicode_escape(),
            other => other,
        }
    }

    fn unicode_escape(&mut self) -> char {
        let high = self.hex_unit();
        let low = match high {
            Some(0xd800..=0xdbff) => self.rest.as_str().strip_prefix("\\u").and_then(hex_unit),
            _ => None,
        };
        let decoded = char::decode_utf16(high.into_iter().chain(low)).next();
        match decoded {
            Some(Ok(character)) => {
                if low.is_some() {
                    self.rest.nth("\\u".len() - 1);
                    self.hex_unit();
                }
                character
            }
            _ => char::REPLACEMENT_CHARACTER,
        }
    }

    /// Takes four hex digits, if there are so many.
    fn hex_unit(&mut self) -> Option<u16> {
        let unit = hex_unit(self.rest.as_str())?;
        self.rest.nth(3);
        Some(unit)
    }
}

fn hex_unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j11_values_are_passed_whole_and_nothing_more() {
        for value in [
            "\"a\\\"b\\\\\"",
            "12.5e3",
            "true",
            "{\"a\":[1,{\"b\":\"}\"}],\"c\":{}}",
            "[]",
            "[[],\"]\"]",
        ] {
            let line = format!(" {value} ,rest");
            assert_eq!(Cursor::new(&line).skip(), Some(value));
        }
        for broken in ["{\"a\":1", "\"abc", "\"abc\\", "[1,", "", "}", "{\"a\""] {
            assert_eq!(Cursor::new(broken).skip(), None, "{broken}");
        }
    }

    #[test]
    fn i10_depth_needs_no_stack() {
        let deep = ["[".repeat(1_000_000), "]".repeat(1_000_000)].concat();
        assert_eq!(Cursor::new(&deep).skip().map(str::len), Some(2_000_000));
    }

    #[test]
    fn s12_a_string_weighs_what_it_stands_for() {
        for text in ["plain", "tab\there \"q\" \\", "안녕\n하세요", "\u{1b}[0m", "😀", "\u{1}é/"]
        {
            for estimator in [Estimator::CharsPerFour, Estimator::ScriptAware] {
                let json = serde_json::to_string(text).unwrap();
                let ascii: String =
                    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
                for json in [json, format!("\"{ascii}\"")] {
                    let found = Cursor::new(&json).text().unwrap();
                    assert_eq!(found.to_text(), text);
                    assert_eq!(found.weight(estimator), estimator.weight(text), "{json}");
                }
            }
        }
    }

    #[test]
    fn s12_arguments_weigh_what_they_are_written_as() {
        let estimator = Estimator::CharsPerFour;
        for (json, plain) in [
            (r#"{"path":"a\n\"b\\","limit":20,"all":true,"x":null,"y":[-3]}"#, true),
            (r#"{"path": "a"}"#, false),
            (r#"{"n":1.50}"#, false),
            (r#"{"n":-0}"#, false),
            (r#"{"n":12345678901234567890123}"#, false),
            (r#"{"u":"\u00e9"}"#, false),
            (r#"{"u":"a\/b"}"#, false),
        ] {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            let expect = plain.then(|| estimator.weight(&value.to_string()));
            assert_eq!(compact_weight(json, estimator), expect, "{json}");
        }
    }
}
