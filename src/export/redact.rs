//! Blacks out what looks like a key. Precise rather than thorough: an export with half its text gone
//! helps nobody, so only shapes count that nothing else has (F57).

use std::borrow::Cow;

use serde_json::Value;

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

/// Bytes of the longest private key, with room to spare.
const LONGEST_KEY: usize = 16 * 1024;

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
        return private_key(rest).map(|end| (at, at + end));
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

/// The end of a private key that a text begins with. One whose end is missing, because a tool showed
/// only a part of it, goes on as long as its lines look like one.
fn private_key(text: &str) -> Option<usize> {
    let head = text.lines().next().filter(|line| line.contains("PRIVATE KEY-----"))?;
    let near = text.floor_char_boundary(LONGEST_KEY);
    let next = text[1..near].find("-----BEGIN ").map_or(near, |next| next + 1);
    if let Some(end) = text[..next].find("-----END ") {
        let rest = &text[end..next];
        return Some(end + rest.find("KEY-----").map_or(rest.len(), |key| key + 8));
    }
    let mut end = head.len();
    for line in text[head.len()..near].split_inclusive('\n') {
        if !may_belong_to_a_key(line) {
            break;
        }
        end += line.len();
    }
    Some(end - usize::from(text[..end].ends_with('\n')))
}

/// Whether a line may be one of a private key: as it is, in a diff, or behind a number.
fn may_belong_to_a_key(line: &str) -> bool {
    let line = line.trim();
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || "+-| \t│→:".contains(c));
    let is_header = line.starts_with("Proc-Type:") || line.starts_with("DEK-Info:");
    let is_body = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\\');
    is_header
        || line.is_empty()
        || (line.len() <= 100 && line.chars().all(is_body) && !is_word(line))
}

/// Whether it is shorter than any full line of a key, and a word.
fn is_word(line: &str) -> bool {
    line.len() < 24 && line.chars().all(|c| c.is_ascii_alphabetic())
}

/// All texts of a JSON value without what looks like a key; says whether there was any. In JSON as text
/// a line feed is two letters, behind which no key could be told from the end of a word.
pub(super) fn redact_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let clean = match redact(text) {
                Cow::Owned(clean) => clean,
                Cow::Borrowed(_) => return false,
            };
            *text = clean;
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| redact_value(item) | any),
        Value::Object(fields) => {
            fields.values_mut().fold(false, |any, field| redact_value(field) | any)
        }
        _ => false,
    }
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
    fn f57_keys_in_json_are_found_wherever_they_begin() {
        let key = key("sk-");
        let mut value = serde_json::json!({
            "text": format!("my key is\n{key}\tand \"{key}\""), "list": [{"deep": key}], "n": 1.5,
        });
        assert!(redact_value(&mut value));
        assert_eq!(value["text"], "my key is\n[redacted]\tand \"[redacted]\"");
        assert_eq!(value["list"][0]["deep"], MARK);
        assert!(!redact_value(&mut value), "nothing is left");
    }

    #[test]
    fn f57_a_private_key_is_blacked_out_also_in_part_and_in_a_diff() {
        let begin = format!("-----BEGIN OPENSSH {}-----", "PRIVATE KEY");
        let body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n";
        let text = format!("{begin}\n{}[1 more line]", body.repeat(3));
        assert_eq!(redact(&text), "[redacted]\n[1 more line]");
        let diff = format!("+{begin}\n+{}+QyNTUxOQ==\n context line", body);
        assert_eq!(redact(&diff), "+[redacted]\n context line");
        let line = format!("KEY=\"{begin}\\nMIIE\\n-----END OPENSSH {}-----\" x", "PRIVATE KEY");
        assert_eq!(redact(&line), "KEY=\"[redacted]\" x");
    }

    #[test]
    fn f57_many_beginnings_of_keys_cost_no_more_than_their_length() {
        let text = format!("-----BEGIN {}-----\n", "PRIVATE KEY").repeat(20_000);
        let began = std::time::Instant::now();
        assert!(!redact(&text).contains("BEGIN"));
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
