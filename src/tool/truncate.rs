//! Cutting text to size, always between characters (F76): the one place where tools do it. Pure.

use std::fmt;

/// How the name of a file begins that holds output which was too long for a result.
pub(crate) const OUTPUT_FILE_START: &str = "regrow-output-";

/// How much text a result may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most lines.
    pub lines: usize,
    /// Most bytes.
    pub bytes: usize,
}

impl Limits {
    /// What the tools of peers give (A2): 2 000 lines or 50 KB.
    pub const DEFAULT: Self = Self { lines: 2_000, bytes: 50 * 1024 };

    /// The default, or less where a result may take only so many tokens of the window (F79). Three
    /// bytes are taken for a token: right for Hangul and Han, cautious for the rest.
    #[must_use]
    pub fn for_tokens(max_tokens: u64) -> Self {
        let bytes = usize::try_from(max_tokens.saturating_mul(3)).unwrap_or(usize::MAX);
        Self { bytes: Self::DEFAULT.bytes.min(bytes.max(1_000)), ..Self::DEFAULT }
    }
}

/// The longest beginning of `text` that has at most `bytes` bytes.
#[must_use]
pub fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The longest end of `text` that has at most `bytes` bytes.
#[must_use]
pub fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// The first line of `text` as it is, at most `chars` characters of it, with `…` where something was cut.
#[must_use]
pub fn one_line(text: &str, chars: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.len() < text.trim_end().len() => format!("{line}…"),
        None => line.to_owned(),
    }
}

/// The whole lines of a text's beginning that fit, and how many lines that is. A first line that
/// does not fit is clipped rather than left out.
#[must_use]
pub fn first_lines(text: &str, limits: Limits) -> (&str, usize) {
    let mut end = 0;
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        if count == limits.lines || end + line.len() > limits.bytes {
            break;
        }
        end += line.len();
        count += 1;
    }
    if end == 0 && limits.lines > 0 && !text.is_empty() {
        return (head(text, limits.bytes), 1);
    }
    (&text[..end], count)
}

/// The whole lines of a text's end that fit; a last line that does not fit is clipped at its front.
#[must_use]
pub fn last_lines(text: &str, limits: Limits) -> &str {
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev().take(limits.lines) {
        if text.len() - (start - line.len()) > limits.bytes {
            break;
        }
        start -= line.len();
    }
    if start == text.len() { tail(text, limits.bytes) } else { &text[start..] }
}

/// A number of bytes as people write it: `812 B`, `50.0 KB`, `3.4 MB`.
#[derive(Debug, Clone, Copy)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut size = self.0 as f64;
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        for unit in ["KB", "MB", "GB"] {
            size /= 1024.0;
            if size < 1023.95 || unit == "GB" {
                return write!(f, "{size:.1} {unit}");
            }
        }
        Ok(())
    }
}

/// A count with its noun: `1 line`, `2,000 lines`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    let plural = match (count, noun) {
        (1, _) => "",
        (_, noun) if noun.ends_with("ch") || noun.ends_with('s') => "es",
        _ => "s",
    };
    match noun.strip_suffix('y') {
        Some(stem) if count != 1 => format!("{} {stem}ies", grouped(count)),
        _ => format!("{} {noun}{plural}", grouped(count)),
    }
}

/// A number with commas between thousands.
#[must_use]
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn f76_cuts_never_fall_inside_a_character() {
        for text in ["✓→✓→✓", "한국어 텍스트", "👩‍👩‍👧‍👦 family", "é\u{301}x", "plain"]
        {
            for bytes in 0..=text.len() + 2 {
                assert!(text.starts_with(head(text, bytes)));
                assert!(text.ends_with(tail(text, bytes)));
                assert!(head(text, bytes).len() <= bytes);
                assert!(tail(text, bytes).len() <= bytes);
            }
        }
    }

    proptest! {
        #[test]
        fn f76_lines_fit_and_are_what_the_text_holds(text in "[a✓\n한]{0,80}", lines in 1usize..6, bytes in 0usize..40) {
            let limits = Limits { lines, bytes };
            let (first, count) = first_lines(&text, limits);
            prop_assert!(text.starts_with(first) && first.len() <= bytes && count <= lines);
            let last = last_lines(&text, limits);
            prop_assert!(text.ends_with(last) && last.len() <= bytes);
            prop_assert!(last.split_inclusive('\n').count() <= lines.max(1));
        }
    }

    #[test]
    fn f79_a_line_longer_than_the_limit_is_clipped_not_dropped() {
        let limits = Limits { lines: 10, bytes: 4 };
        assert_eq!(first_lines("abcdefgh\nx", limits), ("abcd", 1));
        assert_eq!(last_lines("x\nabcdefgh", limits), "efgh");
        assert_eq!(first_lines("ab\nabcdefgh", limits), ("ab\n", 1));
    }

    #[test]
    fn f79_limits_follow_the_window() {
        assert_eq!(Limits::for_tokens(1_000_000), Limits::DEFAULT);
        assert_eq!(Limits::for_tokens(2_000).bytes, 6_000);
        assert_eq!(Limits::for_tokens(0).bytes, 1_000);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(Bytes(812).to_string(), "812 B");
        assert_eq!(Bytes(51_200).to_string(), "50.0 KB");
        assert_eq!(Bytes(1_048_570).to_string(), "1.0 MB");
        assert_eq!(Bytes(314_572_800).to_string(), "300.0 MB");
        assert_eq!(counted(1, "line"), "1 line");
        assert_eq!(counted(12_345, "match"), "12,345 matches");
        assert_eq!(counted(2, "entry"), "2 entries");
        assert_eq!(one_line("a\nb", 10), "a…");
        assert_eq!(one_line("abcdef", 3), "abc…");
    }
}
