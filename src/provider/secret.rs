//! Keys, and texts without them (P3): a key is held where it cannot be printed by accident, and
//! whatever a server says goes through [`Redactor`] before anybody sees it.

use std::fmt;

/// What stands where a key was.
const HIDDEN: &str = "[key]";

/// Shorter secrets would blot out ordinary words.
const SHORTEST_KEY: usize = 6;

/// Beginnings of words that are keys, whoever they belong to.
const KEY_PREFIXES: &[&str] =
    &["sk-", "sk_", "AIza", "gsk_", "xai-", "csk-", "pplx-", "hf_", "r8_"];

/// A key. Its `Debug` and `Display` do not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key, without the white space that copying leaves around it. `None` when nothing is left.
    #[must_use]
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (!key.is_empty()).then(|| Self(key.to_owned()))
    }

    /// The key itself: for a request's header or a key file, nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

/// Removes keys from texts: the ones it was given, and whatever looks like one.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Vec<Secret>,
}

impl Redactor {
    /// Knows these keys; very short ones are ignored.
    pub fn new(known: impl IntoIterator<Item = Secret>) -> Self {
        let known = known.into_iter().filter(|key| key.0.len() >= SHORTEST_KEY).collect();
        Self { known }
    }

    /// The text without keys.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for key in &self.known {
            if clean.contains(&key.0) {
                clean = clean.replace(&key.0, HIDDEN);
            }
        }
        hide_unknown(&clean)
    }
}

/// Hides words that begin like a key, and the word after `Bearer`.
fn hide_unknown(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut after_bearer = false;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_key_letter(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let long = word.len() >= 12;
        let looks = KEY_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        if long && (looks || after_bearer) {
            clean.push_str(HIDDEN);
        } else {
            clean.push_str(word);
        }
        if !word.is_empty() {
            after_bearer = word.eq_ignore_ascii_case("bearer");
        }
        let gap = after.find(is_key_letter).unwrap_or(after.len());
        clean.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    clean
}

fn is_key_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '*' | '~' | '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let redactor = Redactor::new(Secret::new(" my/own+key= \n"));
        assert_eq!(redactor.clean(text), expected);
    }

    #[test]
    fn p3_keys_are_removed_from_what_a_server_says() {
        check("bad key my/own+key=, sorry", "bad key [key], sorry");
        check(
            "Incorrect API key provided: sk-abcd1234efgh5678.",
            "Incorrect API key provided: [key]",
        );
        check("{\"key\":\"AIzaSyA1234567890\"}", "{\"key\":\"[key]\"}");
        check("authorization: Bearer abcdef0123456789", "authorization: Bearer [key]");
    }

    #[test]
    fn p3_ordinary_words_stay() {
        for text in
            ["", "sk-ip", "a bearer of news", "한국어 텍스트, risk-free", "Bearer token missing"]
        {
            check(text, text);
        }
    }

    #[test]
    fn p3_a_key_is_not_printed_by_accident() {
        let key = Secret::new("sk-12345678").unwrap();
        assert_eq!(
            format!("{key} {key:?} {:?}", Redactor::new([key.clone()])).matches("123").count(),
            0
        );
        assert_eq!(key.expose(), "sk-12345678");
        assert!(Secret::new(" \n").is_none());
    }
}
