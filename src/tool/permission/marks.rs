//! Where in a command the parts stand that a question is about, so that the question can show them.
//! Pure, and for the eye only: nothing is allowed or forbidden by it.
//!
//! The parts were taken out of the command with their quotes removed, so they are looked for letter by
//! letter, quotes and escapes skipped. What cannot be found is not marked.

use std::collections::BTreeSet;
use std::ops::Range;

/// Longest command that is marked, in bytes: a longer one fills the screen, and each part is looked
/// for in all of it.
const LONGEST: usize = 2_000;

/// The byte ranges of `command` that hold `parts` (each the words of a simple command), in order and
/// apart. Empty when they are all of it: what stands out from nothing need not be shown.
pub(super) fn locate(command: &str, parts: &[Vec<String>]) -> Vec<Range<usize>> {
    if command.len() > LONGEST {
        return Vec::new();
    }
    let parts: BTreeSet<&Vec<String>> = parts.iter().collect();
    let mut found: Vec<Range<usize>> =
        parts.into_iter().flat_map(|part| places(command, part)).collect();
    found.sort_by_key(|range| range.start);
    let mut marks: Vec<Range<usize>> = Vec::new();
    for range in found {
        match marks.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => marks.push(range),
        }
    }
    let trimmed = command.trim();
    let whole = |range: &Range<usize>| command[range.clone()].trim() == trimmed;
    if marks.iter().any(whole) { Vec::new() } else { marks }
}

/// Where a part stands: with as many of its words as can be found in a row.
fn places(command: &str, words: &[String]) -> Vec<Range<usize>> {
    for count in (1..=words.len()).rev() {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(range) = next_place(command, from, &words[..count]) {
            from = range.end.max(range.start + 1);
            found.push(range);
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn next_place(command: &str, from: usize, words: &[String]) -> Option<Range<usize>> {
    let starts = command.char_indices().filter(|(at, letter)| {
        let before = command[..*at].chars().next_back();
        *at >= from && !letter.is_whitespace() && before.is_none_or(is_border)
    });
    starts
        .map(|(at, _)| at)
        .find_map(|start| Some(start..end_of(command, start, words)?))
        .filter(|range| !range.is_empty())
}

/// Where `words` end when they begin at `start`.
fn end_of(command: &str, start: usize, words: &[String]) -> Option<usize> {
    let mut at = start;
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            let rest = &command[at..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\\', '\n']).len();
            if blank == 0 {
                return None;
            }
            at += blank;
        }
        at = end_of_word(command, at, word)?;
    }
    command[at..].chars().next().is_none_or(is_border).then_some(at)
}

/// Where a word ends that begins at `at`: its letters in order, quotes and escapes between them.
fn end_of_word(command: &str, mut at: usize, word: &str) -> Option<usize> {
    let mut open = None;
    for letter in word.chars() {
        loop {
            let next = command[at..].chars().next()?;
            at += next.len_utf8();
            if next == letter {
                break;
            }
            if matches!(next, '\'' | '"') {
                open = if open == Some(next) { None } else { open.or(Some(next)) };
            } else if next != '\\' {
                // A line that goes on in the next one.
                let continued = next == '\n' && command[..at - 1].ends_with('\\');
                if !continued {
                    return None;
                }
            }
        }
    }
    let closes = open.is_some_and(|quote| command[at..].starts_with(quote));
    Some(if closes { at + 1 } else { at })
}

const fn is_quote(letter: char) -> bool {
    matches!(letter, '\'' | '"' | '\\')
}

/// What can stand beside a word.
const fn is_border(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter, ';' | '&' | '|' | '(' | ')' | '{' | '}' | '<' | '>' | '`' | '!' | '=')
        || is_quote(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command with brackets around what is marked.
    fn marked(command: &str, parts: &[&str]) -> String {
        let words = |part: &&str| part.split(' ').map(ToOwned::to_owned).collect();
        let parts: Vec<Vec<String>> = parts.iter().map(words).collect();
        let mut text = command.to_owned();
        for range in locate(command, &parts).into_iter().rev() {
            text.insert(range.end, ']');
            text.insert(range.start, '[');
        }
        text
    }

    #[test]
    fn f80_the_part_that_is_asked_about_is_found() {
        for (command, parts, expected) in [
            ("git status && rm -rf x", &["rm -rf x"][..], "git status && [rm -rf x]"),
            ("rm x; ls; rm x", &["rm x"], "[rm x]; ls; [rm x]"),
            (
                "git status $(touch '/tmp/a b')",
                &["touch /tmp/a"],
                "git status $([touch '/tmp/a] b')",
            ),
            ("ls; 'r'm \"-rf\" x", &["rm -rf x"], "ls; ['r'm \"-rf\" x]"),
            ("ls && r\\\nm x", &["rm x"], "ls && [r\\\nm x]"),
            ("bash -c 'ls; rm x'", &["rm x"], "bash -c 'ls; [rm x]'"),
            ("ls > out.txt", &["out.txt"], "ls > [out.txt]"),
            ("rm a && rm b", &["rm a", "rm b"], "[rm a] && [rm b]"),
            // All of it is no part of it.
            ("rm -rf x", &["rm -rf x"], "rm -rf x"),
            // Words that only running would tell end the search, not the mark.
            ("ls; cp $(ls) y", &["cp <(…) y"], "ls; [cp] $(ls) y"),
            ("grep rm x; rm y", &["rm y"], "grep rm x; [rm y]"),
            ("ls form; rm", &["rm"], "ls form; [rm]"),
            ("ls; 지우기 가나", &["지우기 가나"], "ls; [지우기 가나]"),
            ("ls", &["not there"], "ls"),
            ("ls", &[], "ls"),
        ] {
            assert_eq!(marked(command, parts), expected, "{command}");
        }
    }

    proptest::proptest! {
        /// Whatever is looked for in whatever: ranges are in order, apart, and on letters.
        #[test]
        fn f76_marks_fit_the_text(command in "[ab가'\"\\\\ \n;&]{0,30}", parts in proptest::collection::vec(
            proptest::collection::vec("[ab가 ]{0,3}", 0..3), 0..3)) {
            let mut last = 0;
            for range in locate(&command, &parts) {
                proptest::prop_assert!(range.start >= last && range.start < range.end);
                proptest::prop_assert!(command.get(range.clone()).is_some());
                last = range.end;
            }
        }
    }
}
