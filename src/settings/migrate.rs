//! Keys that were removed, and how to write what they meant (S10): once every endpoint said whether and
//! with which model it summarises, now one `summarization` block does. Pure.

use serde_json::{Map, Value, json};

use super::edit::{self, Change, EditError};
use super::node::{Format, Node, NodeValue, Place};
use super::schema::Key;

/// The removed keys of an endpoint.
const REMOVED: [&str; 2] = ["summarize", "summaryModel"];

/// What to write instead of the removed keys of a file.
#[must_use]
pub fn advice(root: &Node, format: Format) -> String {
    let block = render(&replacement(root), format);
    format!("write this instead (`regrow config migrate` does it for you):\n\n{block}")
}

/// The text of a file without its removed keys, and what was done, in words. Nothing removed is in it:
/// the text as it is, and no words.
///
/// # Errors
/// The text is not well formed, or written in a way that cannot be changed safely.
pub fn migrate(text: &str, format: Format) -> Result<(String, Vec<String>), EditError> {
    let root = format.read(text)?;
    let removed = removed_keys(&root);
    if removed.is_empty() {
        return Ok((text.to_owned(), Vec::new()));
    }
    let mut done = Vec::new();
    let mut changes = Vec::new();
    for (key, _) in removed {
        done.push(format!("removed `{key}`"));
        changes.push(Change { key, value: None });
    }
    let Value::Object(block) = replacement(&root) else { return Ok((text.to_owned(), done)) };
    let given = root.get("summarization");
    for (name, value) in
        block.into_iter().filter(|(name, _)| given.and_then(|block| block.get(name)).is_none())
    {
        let key = Key::parse("summarization").join(&name);
        done.push(format!("added `{key}`: {value}"));
        changes.push(Change { key, value: Some(value) });
    }
    let text = edit::apply(text, format, &changes)?;
    Ok((text, done))
}

/// The endpoints of a file, with the paths of their keys.
fn endpoints(root: &Node) -> Vec<(Key, &Node)> {
    let mut found = Vec::new();
    let Some(NodeValue::Block(groups)) = root.get("endpoints").map(|node| &node.value) else {
        return found;
    };
    for (group, node) in groups {
        let key = Key::parse("endpoints").join(&group.text);
        match &node.value {
            NodeValue::List(items) => {
                let items = items.iter().enumerate();
                found.extend(items.map(|(index, item)| (key.join(&index.to_string()), item)));
            }
            // Azure's block stood alone, without a list.
            NodeValue::Block(_) => found.push((key, node)),
            NodeValue::Scalar(_) => {}
        }
    }
    found
}

/// The removed keys of a file and where they stand.
#[must_use]
pub fn removed_keys(root: &Node) -> Vec<(Key, Place)> {
    let mut found = Vec::new();
    for (key, endpoint) in endpoints(root) {
        let NodeValue::Block(keys) = &endpoint.value else { continue };
        for (name, _) in keys.iter().filter(|(name, _)| REMOVED.contains(&name.text.as_str())) {
            found.push((key.join(&name.text), name.place));
        }
    }
    found
}

/// The block that says what the removed keys said. It names no provider: the old keys spoke of the
/// endpoint that was in use, which is the session's own.
fn replacement(root: &Node) -> Value {
    let endpoints = endpoints(root);
    let values = |name: &str| -> Vec<Value> {
        endpoints.iter().filter_map(|(_, node)| Some(node.get(name)?.to_value())).collect()
    };
    let mut block = Map::new();
    let wanted = values("summarize");
    if !wanted.is_empty() && wanted.iter().all(|value| *value == json!(false)) {
        block.insert("enabled".to_owned(), false.into());
    }
    if let Some(model) = values("summaryModel").into_iter().find(Value::is_string) {
        block.insert("model".to_owned(), model);
    }
    if block.is_empty() {
        block.insert("enabled".to_owned(), true.into());
    }
    Value::Object(block)
}

/// The block as it would stand in a file.
fn render(block: &Value, format: Format) -> String {
    match format {
        Format::Json => {
            let pretty = serde_json::to_string_pretty(&json!({ "summarization": block }));
            let pretty = pretty.unwrap_or_default();
            // Without the outer braces: it goes into a file that has them.
            let lines: Vec<&str> = pretty.lines().collect();
            lines[1..lines.len().saturating_sub(1)].join("\n")
        }
        Format::Yaml => {
            let lines = block.as_object().into_iter().flatten();
            let lines =
                lines.map(|(name, value)| format!("\n  {name}: {}", edit::yaml_scalar(value)));
            format!("summarization:{}", lines.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# my servers\nendpoints:\n  custom:\n    - name: 'My Endpoint'\n      summarize: true\n      summaryModel: 'gpt-3.5-turbo'\n";

    #[test]
    fn s10_yaml_is_migrated_in_place() {
        let (text, done) = migrate(OLD, Format::Yaml).unwrap();
        assert_eq!(
            text,
            "# my servers\nendpoints:\n  custom:\n    - name: 'My Endpoint'\nsummarization:\n  model: gpt-3.5-turbo\n"
        );
        assert_eq!(
            done,
            [
                "removed `endpoints.custom.0.summarize`",
                "removed `endpoints.custom.0.summaryModel`",
                "added `summarization.model`: \"gpt-3.5-turbo\""
            ]
        );
        assert_eq!(migrate(&text, Format::Yaml), Ok((text.clone(), Vec::new())), "twice is once");
    }

    #[test]
    fn s10_json_is_migrated_in_place() {
        let old = "{\n  // mine\n  \"endpoints\": {\"azureOpenAI\": [{\"name\": \"a\", \"summarize\": false}]},\n}\n";
        let (text, _) = migrate(old, Format::Json).unwrap();
        assert!(text.contains("// mine") && text.contains("{\"name\": \"a\"}"), "{text}");
        let value = Format::Json.read(&text).unwrap().to_value();
        assert_eq!(value["summarization"], json!({"enabled": false}));
    }

    #[test]
    fn s10_what_is_set_already_stays() {
        let text = format!("{OLD}summarization:\n  model: mine\n");
        let (text, _) = migrate(&text, Format::Yaml).unwrap();
        assert!(text.ends_with("summarization:\n  model: mine\n"), "{text}");
    }
}
