//! Layers of settings, lowest first: files, environment, command line (G1). Later ones win key by key;
//! lists marked `x-adds` grow. Every value keeps its origin. Pure: texts and variables are handed in.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::check::{check, check_one};
use super::node::{Format, Node, NodeValue, Place, read_json};
use super::origin::{Origin, SettingsError};
use super::schema::{Key, Leaf, Marks, leaf, leaves};
use crate::nearest::nearest;

/// A value of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which key.
    pub key: Key,
    /// Checked against the schema.
    pub value: Value,
    /// Where it was given.
    pub origin: Origin,
    /// How layers treat the key.
    pub marks: Marks,
}

/// An option of the command line that stands for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The option, such as `--model`.
    pub option: String,
    /// The key, such as `model`.
    pub key: &'static str,
    /// Its value as typed.
    pub text: String,
}

/// What one place says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layer {
    /// In the order of the place.
    pub entries: Vec<Entry>,
}

impl Layer {
    /// Checks the text of a file.
    ///
    /// # Errors
    /// All mistakes in it.
    pub fn from_file(path: &Path, text: &str, format: Format) -> Result<Self, Vec<SettingsError>> {
        let origin = |place: Place| Origin::File { path: path.to_owned(), place };
        let root = format.read(text).map_err(|error| {
            let problem = format!("this is not {}: {}", format.name(), error.problem);
            vec![SettingsError::new(origin(error.place), None, problem)]
        })?;
        let given = check(&root, format).map_err(|mistakes| {
            mistakes
                .into_iter()
                .map(|mistake| SettingsError {
                    origin: origin(mistake.place),
                    key: Some(mistake.key),
                    problem: mistake.problem,
                    advice: mistake.advice,
                })
                .collect::<Vec<_>>()
        })?;
        let entries = given.into_iter().map(|given| Entry {
            key: given.key,
            value: given.value,
            origin: origin(given.place),
            marks: given.marks,
        });
        Ok(Self { entries: entries.collect() })
    }

    /// Takes the `REGROW_*` variables that stand for keys. Others are left alone; one that looks like a
    /// slip of the pen is named in the notices.
    ///
    /// # Errors
    /// Variables whose values do not fit.
    pub fn from_environment(
        variables: impl IntoIterator<Item = (String, String)>,
        notices: &mut Vec<String>,
    ) -> Result<Self, Vec<SettingsError>> {
        let known: Vec<(String, Leaf)> =
            leaves().into_iter().map(|leaf| (leaf.key.variable(), leaf)).collect();
        let mut layer = Self::default();
        let mut errors = Vec::new();
        for (name, text) in variables {
            if !name.starts_with("REGROW_") {
                continue;
            }
            let Some((_, leaf)) = known.iter().find(|(variable, _)| *variable == name) else {
                // Only a letter or two: other variables of this prefix are none of our business.
                let near = nearest(&name, known.iter().map(|(variable, _)| variable.as_str()));
                let near = near.filter(|near| near.len().abs_diff(name.len()) <= 1);
                notices
                    .extend(near.map(|near| format!("{name} is no setting; did you mean {near}?")));
                continue;
            };
            match entry_from_text(leaf, &text, Origin::Variable(name)) {
                Ok(entry) => layer.entries.push(entry),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(layer) } else { Err(errors) }
    }

    /// Takes the options of the command line that stand for keys.
    ///
    /// # Errors
    /// Options whose values do not fit.
    pub fn from_command_line(overrides: &[Override]) -> Result<Self, Vec<SettingsError>> {
        let mut layer = Self::default();
        let mut errors = Vec::new();
        for given in overrides {
            let origin = Origin::CommandLine(given.option.clone());
            let Some(leaf) = leaf(&Key::parse(given.key)) else { continue };
            match entry_from_text(&leaf, &given.text, origin) {
                Ok(entry) => layer.entries.push(entry),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(layer) } else { Err(errors) }
    }

    /// Takes out what a project may not set before its folder is trusted (G2).
    #[must_use]
    pub fn withhold(self) -> (Self, Vec<Entry>) {
        let (withheld, entries) =
            self.entries.into_iter().partition(|entry| entry.marks.needs_trust);
        (Self { entries }, withheld)
    }
}

fn entry_from_text(leaf: &Leaf, text: &str, origin: Origin) -> Result<Entry, SettingsError> {
    match value_from_text(leaf, text) {
        Ok(value) => Ok(Entry { key: leaf.key.clone(), value, origin, marks: leaf.marks }),
        Err(problem) => Err(SettingsError::new(origin, Some(leaf.key.clone()), problem)),
    }
}

/// The value that a plain text stands for: lists are typed with commas, blocks as JSON.
///
/// # Errors
/// It does not fit the key; what was expected.
pub fn value_from_text(leaf: &Leaf, text: &str) -> Result<Value, String> {
    let scalar = |value: Value| Node { place: Place::START, value: NodeValue::Scalar(value) };
    let is = |name: &str| leaf.schema.get("type").is_some_and(|kind| kind == name);
    let node = match serde_json::from_str::<Value>(text) {
        // Lists are typed with commas; whatever has more structure is typed as JSON.
        _ if is("array") && !text.trim_start().starts_with('[') => Node {
            place: Place::START,
            value: NodeValue::List(
                text.split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty())
                    .map(|item| scalar(item.into()))
                    .collect(),
            ),
        },
        _ if is("string") => scalar(text.into()),
        Ok(Value::Array(_) | Value::Object(_)) => read_json(text).map_err(|error| error.problem)?,
        Ok(value) => scalar(value),
        Err(_) => scalar(text.into()),
    };
    check_one(&leaf.key, leaf.schema, &node)
}

/// All layers as one: for each key the value in force and where it came from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merged {
    values: BTreeMap<Key, (Value, Origin)>,
}

impl Merged {
    /// Puts layers over each other, lowest first.
    #[must_use]
    pub fn of(layers: impl IntoIterator<Item = Layer>) -> Self {
        let mut merged = Self::default();
        for entry in layers.into_iter().flat_map(|layer| layer.entries) {
            let value = match (merged.values.remove(&entry.key), entry.value) {
                (Some((Value::Array(mut items), _)), Value::Array(more)) if entry.marks.adds => {
                    for item in more {
                        if !items.contains(&item) {
                            items.push(item);
                        }
                    }
                    Value::Array(items)
                }
                (_, value) => value,
            };
            merged.values.insert(entry.key, (value, entry.origin));
        }
        merged
    }

    /// The value in force for a key, and its origin; `None` when nobody set it.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&(Value, Origin)> {
        self.values.get(key)
    }

    /// Keys with their values and origins, in the order of the alphabet.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Value, &Origin)> {
        self.values.iter().map(|(key, (value, origin))| (key, value, origin))
    }

    /// The values as one settings file would say them.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut root = Map::new();
        for (key, (value, _)) in &self.values {
            key.insert_into(&mut root, value.clone());
        }
        Value::Object(root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Layer {
        Layer::from_file(Path::new("settings.yaml"), text, Format::Yaml).unwrap()
    }

    fn environment(pairs: &[(&str, &str)]) -> Result<Layer, String> {
        let pairs = pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Layer::from_environment(pairs, &mut Vec::new()).map_err(|errors| errors[0].to_string())
    }

    #[test]
    fn g1_later_layers_win_key_by_key() {
        let merged = Merged::of([
            yaml("compaction:\n  reserveTokens: 1000\n  keepRecentTokens: 2000\ntools: [read]\n"),
            yaml("compaction: {reserveTokens: 3000}\ntools: [ls]\n"),
            environment(&[("REGROW_COMPACTION_ENABLED", "false"), ("HOME", "x")]).unwrap(),
        ]);
        assert_eq!(
            merged.to_value(),
            serde_json::json!({
                "compaction": {"enabled": false, "keepRecentTokens": 2000, "reserveTokens": 3000},
                "tools": ["ls"]
            })
        );
        let origin = |key: &str| merged.get(&Key::parse(key)).unwrap().1.to_string();
        assert_eq!(origin("compaction.keepRecentTokens"), "settings.yaml:3:21");
        assert_eq!(origin("compaction.reserveTokens"), "settings.yaml:1:29");
        assert_eq!(origin("compaction.enabled"), "REGROW_COMPACTION_ENABLED");
    }

    #[test]
    fn g2_rules_that_forbid_are_never_taken_away_by_a_later_layer() {
        let merged = Merged::of([
            yaml("permissions: {deny: ['bash(rm *)']}"),
            yaml("permissions: {deny: ['bash(rm *)', 'write(.env)']}"),
            yaml("permissions: {deny: []}"),
        ]);
        let deny = merged.get(&Key::parse("permissions.deny")).unwrap();
        assert_eq!(deny.0, serde_json::json!(["bash(rm *)", "write(.env)"]));
    }

    #[test]
    fn g2_an_untrusted_project_cannot_loosen_safety() {
        let text = "permissions: {mode: full, allow: ['bash(*)'], deny: ['write(*.lock)']}\n\
                    hooks: [{events: [tool_call], command: [./x]}]\n\
                    endpoints: {custom: [{name: evil, baseUrl: 'http://evil'}]}\n\
                    compaction: {remoteEndpoint: 'http://evil', reserveTokens: 5}\n\
                    sessionDir: /tmp/x\n";
        let (kept, withheld) = yaml(text).withhold();
        let keys = |entries: &[Entry]| -> Vec<String> {
            entries.iter().map(|entry| entry.key.to_string()).collect()
        };
        assert_eq!(keys(&kept.entries), ["permissions.deny", "compaction.reserveTokens"]);
        assert_eq!(
            keys(&withheld),
            [
                "permissions.mode",
                "permissions.allow",
                "hooks",
                "endpoints.custom",
                "compaction.remoteEndpoint",
                "sessionDir"
            ]
        );
    }

    #[test]
    fn g1_variables_are_read_by_the_type_of_their_key() {
        let layer = environment(&[
            ("REGROW_MODEL", "123"),
            ("REGROW_TOOLS", "read, ls"),
            ("REGROW_COMPACTION_RESERVE_TOKENS", "8e3"),
            ("REGROW_SUMMARIZATION_TRIGGER", r#"{"type": "remaining_tokens", "value": 8000}"#),
            ("REGROW_SUMMARIZATION_RESERVE_RATIO", "0.1"),
        ])
        .unwrap();
        assert_eq!(
            Merged::of([layer]).to_value(),
            serde_json::json!({
                "compaction": {"reserveTokens": 8000}, "model": "123",
                "summarization": {"reserveRatio": 0.1,
                                  "trigger": {"type": "remaining_tokens", "value": 8000}},
                "tools": ["read", "ls"]
            })
        );
        assert_eq!(
            environment(&[("REGROW_MOUSE", "yes")]).unwrap_err(),
            "REGROW_MOUSE: `mouse` must be true or false, not \"yes\""
        );
    }

    #[test]
    fn g1_a_slip_in_a_variable_is_noticed_and_others_are_left_alone() {
        let mut notices = Vec::new();
        let variables = ["REGROW_MODLE", "REGROW_TEST_SERVER", "REGROW_ORACLE_DIR", "MODEL"];
        let pairs = variables.map(|name| (name.to_owned(), "x".to_owned()));
        assert_eq!(Layer::from_environment(pairs, &mut notices), Ok(Layer::default()));
        assert_eq!(notices, ["REGROW_MODLE is no setting; did you mean REGROW_MODEL?"]);
    }

    #[test]
    fn g1_options_name_themselves_in_errors() {
        let given = |option: &str, key, text: &str| Override {
            option: option.to_owned(),
            key,
            text: text.to_owned(),
        };
        let errors = Layer::from_command_line(&[
            given("--model", "model", "gpt-5"),
            given("--thinking", "thinking", "hgih"),
        ])
        .unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(
            errors[0].to_string(),
            "--thinking: `thinking` must be one of off, minimal, low, medium, high, xhigh, \
             not \"hgih\"; did you mean `high`?"
        );
    }
}
