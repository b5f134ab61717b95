//! Which beginning and which end of a long tool result are kept when its middle goes. Pure.

/// With less room than this only a beginning is kept: two scraps tell less than one.
const LEAST_FOR_BOTH: usize = 200;

/// A text without its middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends<'a> {
    /// The beginning; whole lines where there are any.
    pub head: &'a str,
    /// The end, likewise; often empty.
    pub tail: &'a str,
}

/// The ends of a text that take at most `room` characters together: seven tenths from its beginning,
/// where what was asked for stands, the rest from its end, where errors and totals stand.
///
/// `None` when the whole text takes no more.
#[must_use]
pub fn ends(text: &str, room: usize) -> Option<Ends<'_>> {
    let characters = text.chars().count();
    if characters <= room {
        return None;
    }
    let at = |character: usize| text.char_indices().nth(character).map_or(text.len(), |(at, _)| at);
    if room < LEAST_FOR_BOTH {
        return Some(Ends { head: &text[..at(room)], tail: "" });
    }
    let for_head = (room * 7).div_ceil(10);
    let head = &text[..at(for_head)];
    let tail = &text[at(characters - (room - for_head))..];
    Some(Ends { head: whole_lines(head), tail: from_line_start(tail) })
}

/// Up to the last line end, unless that would cost most of it.
fn whole_lines(head: &str) -> &str {
    head.rfind('\n').filter(|end| *end > head.len() / 2).map_or(head, |end| &head[..end])
}

/// From the first line start, unless that would cost most of it.
fn from_line_start(tail: &str) -> &str {
    tail.find('\n').filter(|end| *end < tail.len() / 2).map_or(tail, |end| &tail[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c14_f76_ends_are_whole_lines_and_whole_characters() {
        assert_eq!(ends("short", 5), None);
        assert_eq!(ends("shorter", 5), Some(Ends { head: "short", tail: "" }));
        let korean = "가나다라".repeat(100);
        let cut = ends(&korean, 300).unwrap();
        assert_eq!((cut.head.chars().count(), cut.tail.chars().count()), (210, 90));
        let lines: String = (0..100).map(|number| format!("line {number:04}\n")).collect();
        let cut = ends(&lines, 300).unwrap();
        assert!(lines.starts_with(cut.head) && cut.head.ends_with("line 0020"));
        assert!(lines.ends_with(cut.tail) && cut.tail.starts_with("line 0092\n"));
    }
}
