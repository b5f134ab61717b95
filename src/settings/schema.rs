//! The JSON Schema of the settings, derived from [`SettingsLayer`]: what `config schema` prints and what
//! files are checked against.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::layer::SettingsLayer;

/// The schema of a settings file: references resolved, defaults filled in, nothing may be `null`.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let settings =
            SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut schema =
            settings.into_generator().into_root_schema_for::<SettingsLayer>().to_value();
        forbid_null(&mut schema);
        let defaults = serde_json::to_value(SettingsLayer::defaults()).unwrap_or_default();
        fill_in_defaults(&mut schema, &defaults);
        schema["title"] = "regrow settings".into();
        schema["description"] = "Keys that are absent keep their defaults.".into();
        schema
    });
    &SCHEMA
}

/// The path of a key from the top of a settings file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(Vec<String>);

impl Key {
    /// Reads `compaction.reserveTokens`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(text.split('.').map(ToOwned::to_owned).collect())
    }

    /// The path with one more name.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain(std::iter::once(name.to_owned())).collect())
    }

    /// The names, outermost first.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Sets the value at this path, making the blocks on the way.
    pub fn insert_into(&self, root: &mut Map<String, Value>, value: Value) {
        let Some((last, blocks)) = self.0.split_last() else { return };
        let mut block = root;
        for name in blocks {
            let inner = block.entry(name).or_insert_with(|| Value::Object(Map::new()));
            match inner {
                Value::Object(inner) => block = inner,
                _ => return,
            }
        }
        block.insert(last.clone(), value);
    }

    /// The value at this path.
    #[must_use]
    pub fn find_in<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(root, |value, name| value.get(name))
    }

    /// Whether a change of it counts only from the next start on: it says with what to start, or
    /// speaks of what is made once.
    #[must_use]
    pub fn counts_from_next_start(&self) -> bool {
        const BLOCKS: &[&str] =
            &["provider", "model", "thinking", "sessionDir", "timeouts", "endpoints", "terminal"];
        self.0.first().is_some_and(|block| BLOCKS.contains(&block.as_str()))
    }

    /// Its environment variable: `REGROW_COMPACTION_RESERVE_TOKENS`.
    #[must_use]
    pub fn variable(&self) -> String {
        let mut variable = "REGROW".to_owned();
        for name in &self.0 {
            variable.push('_');
            for letter in name.chars() {
                if letter.is_uppercase() {
                    variable.push('_');
                }
                variable.extend(letter.to_uppercase());
            }
        }
        variable
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// A key that has a value of its own, in contrast to a block of keys.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Its path.
    pub key: Key,
    /// Its part of the schema.
    pub schema: &'static Value,
    /// See [`Marks`].
    pub marks: Marks,
}

/// What the layers treat in a special way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// A project may set it only once its folder is trusted (G2).
    pub needs_trust: bool,
    /// Later layers add to the list instead of replacing it.
    pub adds: bool,
}

impl Marks {
    /// The marks of a part of the schema inside a block with `outer` marks.
    #[must_use]
    pub fn of(schema: &Value, outer: Self) -> Self {
        let marked = |mark: &str| schema.get(mark).and_then(Value::as_bool).unwrap_or_default();
        Self {
            needs_trust: outer.needs_trust || marked("x-needsTrust"),
            adds: outer.adds || marked("x-adds"),
        }
    }
}

/// All keys with a value of their own, in the order of the schema.
#[must_use]
pub fn leaves() -> Vec<Leaf> {
    fn collect(key: &Key, schema: &'static Value, outer: Marks, found: &mut Vec<Leaf>) {
        let marks = Marks::of(schema, outer);
        match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                for (name, inner) in properties {
                    collect(&key.join(name), inner, marks, found);
                }
            }
            None => found.push(Leaf { key: key.clone(), schema, marks }),
        }
    }
    let mut found = Vec::new();
    collect(&Key::default(), schema(), Marks::default(), &mut found);
    found
}

/// The leaf that a key names, or is a part of (`summarization.parameters.top_p`).
#[must_use]
pub fn leaf(key: &Key) -> Option<Leaf> {
    leaves().into_iter().find(|leaf| key.names().starts_with(leaf.key.names()))
}

/// Absent and `null` are not the same in a settings file: the one means the default, the other is a
/// mistake. The derived schema allows both for everything optional.
fn forbid_null(schema: &mut Value) {
    if let Some(inner) = without_null_alternative(schema) {
        let outer = std::mem::replace(schema, inner);
        if let (Value::Object(inner), Value::Object(outer)) = (&mut *schema, outer) {
            inner.extend(outer.into_iter().filter(|(key, _)| key != "anyOf"));
        }
    }
    match schema {
        Value::Object(fields) => {
            fields.shift_remove("default");
            fields.shift_remove("format");
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = fields.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            let internal =
                |text: &Value| text.as_str().is_some_and(|text| text.starts_with("See ["));
            if fields.get("description").is_some_and(internal) {
                fields.shift_remove("description");
            }
            fields.values_mut().for_each(forbid_null);
        }
        Value::Array(items) => items.iter_mut().for_each(forbid_null),
        _ => {}
    }
}

/// `anyOf: [X, null]` says only that X is optional.
fn without_null_alternative(schema: &Value) -> Option<Value> {
    match schema.get("anyOf")?.as_array()?.as_slice() {
        [inner, null] if null.get("type").is_some_and(|name| name == "null") => Some(inner.clone()),
        _ => None,
    }
}

fn fill_in_defaults(schema: &mut Value, defaults: &Value) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, inner) in properties {
        let Some(default) = defaults.get(name).filter(|default| !default.is_null()) else {
            continue;
        };
        if inner.get("properties").is_some() {
            fill_in_defaults(inner, default);
        } else {
            // `3.0` of a number is `3` to a reader.
            let whole = default.as_f64().filter(|number| number.fract() == 0.0);
            let whole = whole.map(|number| Value::from(number as i64));
            inner["default"] = whole.unwrap_or_else(|| default.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g1_the_schema_is_recorded() {
        insta::assert_snapshot!(serde_json::to_string_pretty(schema()).unwrap());
    }

    #[test]
    fn g1_every_key_says_what_it_is_for() {
        for leaf in leaves() {
            let help = leaf.schema.get("description").and_then(Value::as_str).unwrap_or_default();
            assert!(!help.is_empty() && !help.contains('\n'), "{}: {help:?}", leaf.key);
        }
    }

    #[test]
    fn g2_what_loosens_safety_is_marked() {
        let marked: Vec<String> = leaves()
            .into_iter()
            .filter(|leaf| leaf.marks.needs_trust)
            .map(|leaf| leaf.key.to_string())
            .collect();
        assert_eq!(
            marked,
            [
                "compaction.remoteEndpoint",
                "permissions.mode",
                "permissions.allow",
                "hooks",
                "endpoints",
                "sessionDir"
            ]
        );
    }

    #[test]
    fn g1_keys_have_environment_variables() {
        let variable = |key: &str| Key::parse(key).variable();
        assert_eq!(variable("compaction.reserveTokens"), "REGROW_COMPACTION_RESERVE_TOKENS");
        assert_eq!(variable("sessionDir"), "REGROW_SESSION_DIR");
        let mut all: Vec<_> = leaves().iter().map(|leaf| leaf.key.variable()).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count, "two keys share a variable");
    }
}
