//! Blacks out what looks like a key. Precise rather than thorough: an export with half its text gone
//! helps nobody, so only shapes count that nothing else has (F57).

use std::borrow::Cow;

/// What stands in the place of a key.
const MARK: &str = "[redacted]";

/// How keys begin, and how many more characters make them one.
const SHAPES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("rk_live_", 16),
    ("sk_live_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("hf_", 30),
    ("gsk_", 30),
    ("xai-", 30),
    ("npm_", 30),
    ("pypi-", 30),
    ("eyJhbGciOi", 30),
];

/// Words after which whatever comes is a secret.
const INTRODUCTIONS: &[&str] = &["Bearer ", "bearer ", "x-api-key: ", "X-Api-Key: "];

/// The text without what looks like a key.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut found: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        match secret_at(text, at) {
            Some((start, end)) => {
                let clean = found.get_or_insert_with(String::new);
                clean.push_str(&text[copied..start]);
                clean.push_str(MARK);
                copied = end;
                at = end;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    match found {
        Some(mut clean) => {
            clean.push_str(&text[copied..]);
            clean.into()
        }
        None => text.into(),
    }
}

/// The secret that begins at `at`, or is introduced there.
fn secret_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    if rest.starts_with("-----BEGIN ") {
        let is_private = rest.lines().next().is_some_and(|line| line.contains("PRIVATE KEY-----"));
        let end =
            rest.find("-----END ").and_then(|end| Some(end + rest[end..].find("KEY-----")? + 8));
        return Some((at, at + end?)).filter(|_| is_private);
    }
    let inside_a_word = text[..at].chars().next_back().is_some_and(is_key_letter);
    if inside_a_word {
        return None;
    }
    if let Some(words) = INTRODUCTIONS.iter().find(|words| rest.starts_with(**words)) {
        let start = at + words.len();
        let length = letters(&text[start..]);
        return (length >= 16).then_some((start, start + length));
    }
    let (shape, least) = SHAPES.iter().find(|(shape, _)| rest.starts_with(shape))?;
    let length = letters(rest);
    let has_digit = rest[..length].contains(|c: char| c.is_ascii_digit());
    (length >= shape.len() + least && has_digit).then_some((at, at + length))
}

/// Bytes of the key letters that a text begins with.
fn letters(text: &str) -> usize {
    text.find(|c| !is_key_letter(c)).unwrap_or(text.len())
}

fn is_key_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together here, so that no scanner takes the test for a leak.
    fn key(start: &str) -> String {
        format!("{start}{}", "a1B2c3D4e5".repeat(4))
    }

    #[test]
    fn f57_keys_are_blacked_out() {
        for start in ["sk-", "sk-ant-api03-", "ghp_", "AIza", "AKIA", "eyJhbGciOi"] {
            let text = format!("KEY=\"{}\" 끝", key(start));
            assert_eq!(redact(&text), "KEY=\"[redacted]\" 끝");
        }
        let text = format!("Authorization: Bearer {}\nnext", key(""));
        assert_eq!(redact(&text), "Authorization: Bearer [redacted]\nnext");
        let pem =
            format!("a\n-----BEGIN RSA {0}-----\nMIIE\n-----END RSA {0}-----\nb", "PRIVATE KEY");
        assert_eq!(redact(&pem), "a\n[redacted]\nb");
    }

    #[test]
    fn f57_what_is_no_key_stays() {
        for text in [
            "risk-assessment-of-the-whole-migration-2026",
            "sk-short1",
            "sk-this-is-only-a-long-name-without-any-digit",
            "task-0123456789012345678901234567890",
            "The bearer of this letter",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "🔑 열쇠",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn f57_a_redacted_line_of_json_is_json() {
        let line = serde_json::json!({"text": format!("a \\ {} \"b\"", key("sk-"))}).to_string();
        let clean: serde_json::Value = serde_json::from_str(&redact(&line)).unwrap();
        assert_eq!(clean["text"], "a \\ [redacted] \"b\"");
    }
}
