//! Small cuts of text: sentences, lines on one line, names and paths worth keeping. Pure.

use std::collections::HashMap;

use unicode_segmentation::UnicodeSegmentation;

/// The sentences of a text, code fences and quoted output left out, list marks taken off.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced || line.trim_start().starts_with(['>', '|']) {
            continue;
        }
        let line = without_mark(line);
        let mut start = 0;
        for (at, character) in line.char_indices() {
            let after = at + character.len_utf8();
            let ends = match character {
                '.' | '!' | '?' => {
                    line[after..].starts_with(' ') && !is_abbreviation(&line[start..at])
                }
                '。' | '！' | '？' => true,
                _ => false,
            };
            if ends {
                found.push(line[start..after].trim());
                start = after;
            }
        }
        found.push(line[start..].trim());
    }
    found.retain(|sentence| sentence.chars().filter(|c| c.is_alphanumeric()).count() >= 2);
    found
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or_default();
    matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "No") || word.len() == 1
}

/// A line without bullet, number, check box or heading marks.
pub(super) fn without_mark(line: &str) -> &str {
    let line = line.trim();
    let line = line.trim_start_matches('#').trim_start();
    let line = ["- ", "* ", "• ", "+ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .unwrap_or_else(|| after_number(line).unwrap_or(line))
        .trim_start();
    ["[x] ", "[X] ", "[ ] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

/// What follows `12. ` or `3) `.
pub(super) fn after_number(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    if digits == 0 || digits > 3 {
        return None;
    }
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
}

/// Whether a line is an item of a list.
pub(super) fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    ["- ", "* ", "• ", "+ "].iter().any(|mark| line.starts_with(mark))
        || after_number(line).is_some()
}

/// The text on one line and at most `limit` characters long, cut at a word where that costs little.
pub(super) fn clip(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= limit {
        return line;
    }
    let room = limit.saturating_sub(1);
    let mut cut = String::new();
    let mut length = 0;
    for cluster in line.graphemes(true) {
        length += cluster.chars().count();
        if length > room {
            break;
        }
        cut.push_str(cluster);
    }
    if let Some(blank) = cut.rfind(' ')
        && cut[blank..].chars().count() <= limit / 4
    {
        cut.truncate(blank);
    }
    cut.push('…');
    cut
}

/// The text between single backticks, in order.
pub(super) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("```"))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .map(str::trim)
        .filter(|name| !name.is_empty() && name.chars().count() <= 80)
}

/// The words of a text that look like names in a program, and those that look like paths.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '`' | '"'
                    | '\''
                    | '('
                    | ')'
                    | ','
                    | ';'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | '“'
                    | '”'
            )
    })
    .map(|word| word.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '=' | '&')))
    // Korean particles stick to a name: `client.rs에서`.
    .map(without_particle)
    .filter(|word| is_path(word) || is_identifier(word))
}

fn without_particle(word: &str) -> &str {
    let foreign = word.trim_end_matches(|c: char| matches!(c, '\u{ac00}'..='\u{d7a3}'));
    if !foreign.is_empty() && foreign.is_ascii() && foreign.len() >= 3 {
        return foreign.trim_end_matches(['.', ':', ',']);
    }
    word
}

/// `src/lib.rs`, `Cargo.toml`, `문서/계획.md`; not `and/or`, `v1.2`, `e.g`.
pub(super) fn is_path(word: &str) -> bool {
    if word.chars().count() > 120 || word.contains("://") || word.len() < 4 {
        return false;
    }
    let file = word.rsplit('/').next().unwrap_or(word);
    let ending = file.rsplit_once('.');
    match ending {
        Some((stem, ending)) => {
            !stem.is_empty()
                && (1..=5).contains(&ending.len())
                && ending.chars().all(|c| c.is_ascii_alphanumeric())
                && ending.chars().any(|c| c.is_ascii_alphabetic())
                && !stem.chars().all(|c| c.is_ascii_digit())
                && (word.contains('/') || KNOWN_ENDINGS.contains(&ending))
        }
        None => word.starts_with('/') && word.matches('/').count() >= 2 || word.ends_with('/'),
    }
}

const KNOWN_ENDINGS: [&str; 40] = [
    "rs", "toml", "md", "txt", "json", "jsonl", "yaml", "yml", "py", "js", "ts", "tsx", "jsx",
    "go", "c", "h", "cpp", "hpp", "java", "kt", "rb", "sh", "sql", "html", "css", "lock", "log",
    "csv", "xml", "ini", "cfg", "conf", "env", "php", "swift", "scala", "ex", "lua", "proto",
    "svg",
];

/// `snake_case`, `CamelCase`, `module::name`, `E0308`, `call()`; not a plain word.
pub(super) fn is_identifier(word: &str) -> bool {
    let word = word.trim_end_matches("()");
    if !(4..=60).contains(&word.len()) || !word.is_ascii() {
        return false;
    }
    let body = word.replace("::", "_");
    if !body.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        || body.contains('-')
    {
        return false;
    }
    let upper_inside = body.chars().skip(1).any(|c| c.is_ascii_uppercase());
    let lower = body.chars().any(|c| c.is_ascii_lowercase());
    body.trim_matches('_').contains('_')
        || upper_inside && lower
        || (body.chars().any(|c| c.is_ascii_digit())
            && body.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Things in the order of how often they came, the earlier first among equals.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: Vec<(String, usize)>,
    places: HashMap<String, usize>,
}

impl Tally {
    pub(super) fn add(&mut self, name: &str, weight: usize) {
        if let Some(place) = self.places.get(name) {
            self.counts[*place].1 += weight;
        } else {
            self.places.insert(name.to_owned(), self.counts.len());
            self.counts.push((name.to_owned(), weight));
        }
    }

    /// The names that came at least `least` times, most frequent first.
    pub(super) fn most(&self, least: usize, limit: usize) -> Vec<&str> {
        let mut names: Vec<_> = self.counts.iter().filter(|(_, count)| *count >= least).collect();
        names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        names.into_iter().take(limit).map(|(name, _)| name.as_str()).collect()
    }
}

/// The first line under a summary's goal or request heading.
pub(super) fn goal_of(summary: &str) -> Option<&str> {
    let mut lines = summary.lines().skip_while(|line| {
        !(line.starts_with('#') && (line.contains("Goal") || line.contains("Request")))
    });
    lines.next()?;
    lines.map(without_mark).find(|line| !line.is_empty() && *line != "(none)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end() {
        let text = "Use tokio, e.g. the runtime. Never v1.2! 꼭 테스트해 줘. 끝냄\n- [ ] item one\n```\ncode. here\n```";
        assert_eq!(
            sentences(text),
            ["Use tokio, e.g. the runtime.", "Never v1.2!", "꼭 테스트해 줘.", "끝냄", "item one"]
        );
    }

    #[test]
    fn f76_clipping_keeps_characters_whole() {
        assert_eq!(clip("one  two\nthree", 100), "one two three");
        assert_eq!(clip("one two three", 10), "one two…");
        assert_eq!(clip("가나다라마바사", 4), "가나다…");
        assert_eq!(clip("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 8), "👨‍👩‍👧‍👦…");
    }

    #[test]
    fn names_and_paths_are_told_from_words() {
        let text = "In src/client.rs에서 the RetryPolicy uses `max_retries`, http::Client and/or v1.2 (see README.md, E0308). 문서/계획.md";
        assert_eq!(
            names(text).collect::<Vec<_>>(),
            [
                "src/client.rs",
                "RetryPolicy",
                "max_retries",
                "http::Client",
                "README.md",
                "E0308",
                "문서/계획.md"
            ]
        );
    }
}
