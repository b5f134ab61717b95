//! The block between two `---` at the head of a Markdown file: what templates and skills say about
//! themselves. Pure.
//!
//! These files are shared among programs and written by hand, so this is lenient: what is no valid
//! YAML is read line by line, and keys that nobody asks for are nobody's business.

use crate::settings::node::{Node, NodeValue, read_yaml};

/// The fields of a file's head.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrontMatter {
    fields: Vec<(String, String)>,
}

impl FrontMatter {
    /// The text of a field, trimmed; `None` when it is absent or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, text) = self.fields.iter().find(|(known, _)| known == name)?;
        Some(text.trim()).filter(|text| !text.is_empty())
    }
}

/// Takes a file apart into its head and the text that follows. A file without a head is all text.
///
/// # Errors
/// The head has no end, or a line of it is not `key: value`; in words that name the line.
pub fn split(text: &str) -> Result<(FrontMatter, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((first, rest)) = text.split_once('\n') else {
        return Ok((FrontMatter::default(), text));
    };
    if first.trim_end() != "---" {
        return Ok((FrontMatter::default(), text));
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let fields = read_fields(&rest[..end])?;
            return Ok((FrontMatter { fields }, &rest[end + line.len()..]));
        }
        end += line.len();
    }
    Err("the head that begins in line 1 has no closing `---`".to_owned())
}

fn read_fields(head: &str) -> Result<Vec<(String, String)>, String> {
    match read_yaml(head).map(|node| node.value) {
        Ok(NodeValue::Block(keys)) => {
            let text = |name: &str, node: &Node| match &node.value {
                NodeValue::Scalar(value) => scalar(value),
                // `[file] [line]` is meant as it stands, though YAML makes a list of it.
                NodeValue::List(_) | NodeValue::Block(_) => raw(head, name),
            };
            Ok(keys
                .iter()
                .map(|(name, node)| (name.text.clone(), text(&name.text, node)))
                .collect())
        }
        Ok(_) => Err("the head is no list of `key: value` lines".to_owned()),
        Err(_) => by_lines(head),
    }
}

fn scalar(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// What stands behind a key on its line.
fn raw(head: &str, name: &str) -> String {
    let line =
        head.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

/// Reads what is no YAML, as `key: the rest of the line`. Most often a colon stands in the text.
fn by_lines(head: &str) -> Result<Vec<(String, String)>, String> {
    let mut fields = Vec::new();
    for (number, line) in head.lines().enumerate() {
        let is_field = !line.starts_with(char::is_whitespace) && !line.trim().is_empty();
        if line.starts_with('#') || !is_field {
            continue;
        }
        let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_key(key)) else {
            // The head's first line is the file's second.
            return Err(format!("line {}: expected `key: value`", number + 2));
        };
        fields.push((key.trim().to_owned(), unquoted(value.trim()).to_owned()));
    }
    Ok(fields)
}

fn is_key(key: &str) -> bool {
    !key.trim().is_empty() && key.trim().chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, fields: &[(&str, Option<&str>)], body: &str) {
        let (head, rest) = split(text).unwrap();
        for (name, expected) in fields {
            assert_eq!(head.get(name), *expected, "{name} of {text:?}");
        }
        assert_eq!(rest, body);
    }

    #[test]
    fn heads_are_read_as_people_write_them() {
        check("just text\n---\n", &[("name", None)], "just text\n---\n");
        check("", &[("name", None)], "");
        check("---\n---\nx", &[("name", None)], "x");
        check(
            "\u{feff}---\r\nname: a\r\ndescription: >-\r\n  two\r\n  lines\r\n---\r\nbody\r\n",
            &[("name", Some("a")), ("description", Some("two lines"))],
            "body\r\n",
        );
        check(
            "---\ndescription: Use when: the build fails\nargument-hint: [file] [line]\n---\n",
            &[
                ("description", Some("Use when: the build fails")),
                ("argument-hint", Some("[file] [line]")),
            ],
            "",
        );
        check(
            "---\nargument-hint: [issue]\nversion: 1.0\nempty:\nmetadata:\n  author: x\n---\n한글",
            &[("argument-hint", Some("[issue]")), ("version", Some("1.0")), ("empty", None)],
            "한글",
        );
        check("---\nname: 'it''s'\n---\n", &[("name", Some("it's"))], "");
    }

    #[test]
    fn heads_that_cannot_be_read_name_the_line() {
        assert_eq!(
            split("---\nname: x\nbody").unwrap_err(),
            "the head that begins in line 1 has no closing `---`"
        );
        assert_eq!(
            split("---\nname: a: b\nno key here\n---\n").unwrap_err(),
            "line 3: expected `key: value`"
        );
        assert!(split("---\n- a\n- b\n---\n").is_err());
    }
}
