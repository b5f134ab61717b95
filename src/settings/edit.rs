//! Changes the text of a settings file and leaves everything else in it as it was: comments, order,
//! spacing (F82). Pure. Every change is checked by reading the new text again: unless it says exactly
//! what was wanted, there is no new text.

use jsonc_parser::cst::{CstInputValue, CstNode, CstRootNode};
use serde_json::{Map, Value};

use super::node::{Format, Name, Node, NodeValue, SyntaxError, json_options};
use super::schema::Key;

/// One wish. Numbers in the path of the key count the items of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Which key.
    pub key: Key,
    /// Its new value; `None` takes the key away, and blocks that are empty then.
    pub value: Option<Value>,
}

/// Why a text was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not well formed; whoever wrote it should look at it first.
    #[error("{}: {}", .0.place, .0.problem)]
    Syntax(SyntaxError),
    /// It is written in a way that cannot be changed without touching the rest.
    #[error("`{0}` is written in a way that is left to you to change")]
    Shape(Key),
}

impl From<SyntaxError> for EditError {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

/// The text with all changes made.
///
/// # Errors
/// The text is not well formed, or a change cannot be made safely.
pub fn apply(text: &str, format: Format, changes: &[Change]) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for change in changes {
        let mut wanted = format.read(&text)?.to_value();
        set(&mut wanted, change.key.names(), change.value.as_ref());
        let edited = match format {
            Format::Json => edit_json(&text, change),
            Format::Yaml => edit_yaml(&text, &format.read(&text)?, change),
        };
        let fits =
            |edited: &String| format.read(edited).is_ok_and(|root| same(&root.to_value(), &wanted));
        text = edited.filter(fits).ok_or_else(|| EditError::Shape(change.key.clone()))?;
    }
    Ok(text)
}

/// Makes a change to values, as [`apply`] makes it to a text.
fn set(root: &mut Value, path: &[String], value: Option<&Value>) {
    let Some((name, rest)) = path.split_first() else { return };
    if let Value::Array(items) = root {
        if let Some(item) = name.parse().ok().and_then(|index: usize| items.get_mut(index)) {
            set(item, rest, value);
        }
        return;
    }
    if !root.is_object() {
        *root = Value::Object(Map::new());
    }
    let Value::Object(keys) = root else { return };
    match (rest, value) {
        ([], Some(value)) => {
            keys.insert(name.clone(), value.clone());
        }
        ([], None) => {
            keys.shift_remove(name);
        }
        (_, Some(_)) => set(keys.entry(name.clone()).or_insert(Value::Null), rest, value),
        (_, None) => {
            let Some(inner) = keys.get_mut(name) else { return };
            set(inner, rest, None);
            if inner.as_object().is_some_and(Map::is_empty) {
                keys.shift_remove(name);
            }
        }
    }
}

/// Equal but for the order of keys and the spelling of numbers.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn edit_json(text: &str, change: &Change) -> Option<String> {
    let root = CstRootNode::parse(text, &json_options()).ok()?;
    let (last, blocks) = change.key.names().split_last()?;
    match &change.value {
        Some(value) => {
            let mut object = root.object_value_or_create()?;
            for name in blocks {
                object = object.object_value_or_set(name);
            }
            let value = cst_value(value);
            match object.get(last) {
                Some(property) => property.set_value(value),
                None => {
                    object.append(last, value);
                }
            }
        }
        None => {
            let mut node: CstNode = root.object_value()?.into();
            let mut properties = Vec::new();
            for name in blocks {
                node = match node.as_array() {
                    Some(array) => array.elements().get(name.parse::<usize>().ok()?)?.clone(),
                    None => {
                        let property = node.as_object()?.get(name)?;
                        let value = property.value()?;
                        properties.push(property);
                        value
                    }
                };
            }
            node.as_object()?.get(last)?.remove();
            for property in properties.into_iter().rev() {
                if property.object_value().is_some_and(|object| object.properties().is_empty()) {
                    property.remove();
                } else {
                    break;
                }
            }
        }
    }
    let mut text = root.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Some(text)
}

fn cst_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(cst_value).collect()),
        Value::Object(keys) => CstInputValue::Object(
            keys.iter().map(|(key, value)| (key.clone(), cst_value(value))).collect(),
        ),
    }
}

/// A value as YAML on one line. JSON is YAML; plain words go without quotes.
#[must_use]
pub fn yaml_scalar(value: &Value) -> String {
    const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    match value {
        Value::String(text)
            if text.starts_with(|first: char| first.is_ascii_alphabetic())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
                && !RESERVED.contains(&text.to_lowercase().as_str()) =>
        {
            text.clone()
        }
        value => value.to_string(),
    }
}

fn edit_yaml(text: &str, root: &Node, change: &Change) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    let path = change.key.names();
    let found = find(root, path);
    match (&change.value, found) {
        (Some(value), Some((name, node))) => replace_yaml(&mut lines, name, node, value)?,
        (Some(value), None) => insert_yaml(&mut lines, root, path, value)?,
        (None, Some((name, _))) => {
            remove_yaml(&mut lines, name)?;
            // Blocks that have become empty would read as `null`.
            for end in (1..path.len()).rev() {
                let Some((outer, block)) = find(root, &path[..end]) else { break };
                match &block.value {
                    NodeValue::Block(keys) if keys.len() == 1 => remove_yaml(&mut lines, outer)?,
                    _ => break,
                }
            }
        }
        (None, None) => {}
    }
    let feed = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Some(lines.iter().flat_map(|line| [line.as_str(), feed]).collect())
}

/// The key at a path and its value.
fn find<'a>(root: &'a Node, path: &[String]) -> Option<(&'a Name, &'a Node)> {
    let (last, blocks) = path.split_last()?;
    let mut node = root;
    for name in blocks {
        node = match &node.value {
            NodeValue::List(items) => items.get(name.parse::<usize>().ok()?)?,
            _ => node.get(name)?,
        };
    }
    match &node.value {
        NodeValue::Block(keys) => {
            keys.iter().find(|(name, _)| name.text == *last).map(|(name, node)| (name, node))
        }
        _ => None,
    }
}

/// The lines of a key in block style, its value included: from its own line to the last one that is
/// indented more. `None` when it shares its line with others.
fn lines_of(lines: &[String], name: &Name) -> Option<std::ops::Range<usize>> {
    let start = name.place.line as usize - 1;
    let column = name.place.column as usize - 1;
    let before: String = lines.get(start)?.chars().take(column).collect();
    if !before.chars().all(|c| c == ' ' || c == '-') {
        return None;
    }
    let indent = |line: &str| line.chars().take_while(|c| *c == ' ').count();
    let mut end = start + 1;
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        // A list may stand at the indentation of its key.
        let is_item = line.trim_start().starts_with("- ")
            && indent(line) == column
            && before.trim().is_empty();
        if indent(line) <= column && !is_item {
            break;
        }
        end = index + 1;
    }
    Some(start..end)
}

fn replace_yaml(lines: &mut Vec<String>, name: &Name, node: &Node, value: &Value) -> Option<()> {
    let range = lines_of(lines, name)?;
    if lines[range.clone()].iter().skip(1).any(|line| has_comment(line)) {
        return None;
    }
    let first = &lines[range.start];
    let before: String = first.chars().take(name.place.column as usize - 1).collect();
    let key: String = first[before.len()..].split_inclusive(':').next()?.to_owned();
    // A comment behind a value on the same line stays.
    let comment = match node.value {
        NodeValue::Scalar(_) if range.len() == 1 => comment_of(first),
        _ => "",
    };
    let line = format!("{before}{key} {}{comment}", yaml_scalar(value));
    lines.splice(range, [line]);
    Some(())
}

/// Whether somebody has written about a line of a value: nobody knows where that would go.
fn has_comment(line: &str) -> bool {
    line.trim_start().starts_with('#') || !comment_of(line).is_empty()
}

/// The comment at the end of a line, with the blanks before it.
fn comment_of(line: &str) -> &str {
    let mut quote = None;
    let mut previous = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if previous == ' ' => {
                let start = line[..at].trim_end().len();
                return &line[start..];
            }
            (None, '"' | '\'') if " :[{,".contains(previous) => quote = Some(letter),
            (Some(open), letter) if open == letter && previous != '\\' => quote = None,
            _ => {}
        }
        previous = letter;
    }
    ""
}

fn remove_yaml(lines: &mut Vec<String>, name: &Name) -> Option<()> {
    let range = lines_of(lines, name)?;
    let column = name.place.column as usize - 1;
    let before: String = lines[range.start].chars().take(column).collect();
    if before.contains('-') {
        // The first key of a list's item: its dash goes to the key that follows.
        match lines.get_mut(range.end) {
            Some(next) if next.starts_with(&" ".repeat(column)) && next.len() > column => {
                next.replace_range(..column, &before);
            }
            _ => {
                lines.splice(range, [format!("{}{{}}", before)]);
                return Some(());
            }
        }
    }
    lines.drain(range);
    Some(())
}

fn insert_yaml(lines: &mut Vec<String>, root: &Node, path: &[String], value: &Value) -> Option<()> {
    // The deepest block that is there already.
    let depth = (1..path.len()).rev().find(|depth| find(root, &path[..*depth]).is_some());
    let (at, indent, missing) = match depth {
        Some(depth) => {
            let (name, block) = find(root, &path[..depth])?;
            let indent = match &block.value {
                NodeValue::Block(keys) => keys.first()?.0.place.column as usize - 1,
                NodeValue::Scalar(Value::Null) => name.place.column as usize + 1,
                _ => return None,
            };
            (lines_of(lines, name)?.end, indent, &path[depth..])
        }
        None => (lines.len(), 0, path),
    };
    let (last, blocks) = missing.split_last()?;
    let mut new: Vec<String> = blocks
        .iter()
        .enumerate()
        .map(|(level, name)| format!("{}{name}:", " ".repeat(indent + 2 * level)))
        .collect();
    let blanks = " ".repeat(indent + 2 * blocks.len());
    new.push(format!("{blanks}{last}: {}", yaml_scalar(value)));
    lines.splice(at..at, new);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(key: &str, value: Value) -> Change {
        Change { key: Key::parse(key), value: Some(value) }
    }

    fn removal(key: &str) -> Change {
        Change { key: Key::parse(key), value: None }
    }

    #[track_caller]
    fn check(format: Format, before: &str, changes: &[Change], after: &str) {
        assert_eq!(apply(before, format, changes).as_deref(), Ok(after));
    }

    #[test]
    fn f82_json_keeps_comments_and_order() {
        let before = "// mine\n{\n  \"mouse\": true, // yes\n  \"compaction\": {\n    /* why */ \"enabled\": false,\n  },\n}\n";
        check(
            Format::Json,
            before,
            &[change("mouse", json!(false)), change("compaction.reserveTokens", json!(9))],
            "// mine\n{\n  \"mouse\": false, // yes\n  \"compaction\": {\n    /* why */ \"enabled\": false,\n    \"reserveTokens\": 9,\n  },\n}\n",
        );
        check(Format::Json, "", &[change("mouse", json!(true))], "{\n  \"mouse\": true\n}\n");
        check(
            Format::Json,
            "{\n  \"a\": 1,\n  \"b\": {\"c\": 2}\n}\n",
            &[removal("b.c")],
            "{\n  \"a\": 1\n}\n",
        );
    }

    #[test]
    fn f82_yaml_keeps_comments_and_order() {
        let before = "# mine\nmouse: true   # yes\n\ncompaction:\n    enabled: false\n    # more to come\n\ntheme: 'a # b' # dark\n";
        check(
            Format::Yaml,
            before,
            &[
                change("mouse", json!(false)),
                change("compaction.reserveTokens", json!(9)),
                change("theme", json!("light")),
                change("summarization.contextPruning.enabled", json!(true)),
                change("permissions.deny", json!(["bash(rm *)"])),
            ],
            "# mine\nmouse: false   # yes\n\ncompaction:\n    enabled: false\n    reserveTokens: 9\n    # more to come\n\ntheme: light # dark\nsummarization:\n  contextPruning:\n    enabled: true\npermissions:\n  deny: [\"bash(rm *)\"]\n",
        );
        check(Format::Yaml, "", &[change("mouse", json!(true))], "mouse: true\n");
        check(
            Format::Yaml,
            "compaction:\n",
            &[change("compaction.enabled", json!(true))],
            "compaction:\n  enabled: true\n",
        );
        check(
            Format::Yaml,
            "a:\n- x\n- y\nb: |\n  long\n  text\nc: 1\n",
            &[change("a", json!(["z"])), change("b", json!("two words"))],
            "a: [\"z\"]\nb: \"two words\"\nc: 1\n",
        );
    }

    #[test]
    fn f82_yaml_takes_keys_and_empty_blocks_away() {
        check(
            Format::Yaml,
            "compaction:\n  enabled: false # no\nmouse: true\n",
            &[removal("compaction.enabled")],
            "mouse: true\n",
        );
        check(
            Format::Yaml,
            "endpoints:\n  custom:\n    - summarize: true\n      name: 'My Endpoint'\n    - name: b\n      summaryModel: x\n",
            &[removal("endpoints.custom.0.summarize"), removal("endpoints.custom.1.summaryModel")],
            "endpoints:\n  custom:\n    - name: 'My Endpoint'\n    - name: b\n",
        );
    }

    #[test]
    fn f82_what_cannot_be_changed_safely_is_refused() {
        let refused = |format, text: &str, change: Change| {
            apply(text, format, &[change]).unwrap_err().to_string()
        };
        assert_eq!(
            refused(
                Format::Yaml,
                "compaction: {enabled: false}\n",
                change("compaction.enabled", json!(true))
            ),
            "`compaction.enabled` is written in a way that is left to you to change"
        );
        assert_eq!(
            refused(Format::Json, "{\"a\": }", change("mouse", json!(true))),
            "1:7: unexpected close brace"
        );
        assert_eq!(
            refused(Format::Json, "[1]", change("mouse", json!(true))),
            "`mouse` is written in a way that is left to you to change"
        );
    }
}
