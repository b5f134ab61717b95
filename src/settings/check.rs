//! Checks what was written against the schema: unknown keys with the nearest known one, wrong types,
//! values out of range. What holds becomes entries, key by key, each with its origin. Pure.

use serde_json::{Number, Value};

use super::migrate;
use super::node::{Format, Name, Node, NodeValue, Place};
use super::schema::{Key, Marks, schema};
use crate::nearest::nearest;

/// A value that was given for a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Which key.
    pub key: Key,
    /// The value, of the type and in the range that the schema demands.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
    /// How layers treat the key.
    pub marks: Marks,
}

/// A mistake and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub place: Place,
    /// Which key.
    pub key: Key,
    /// What is wrong, what was expected, what was probably meant.
    pub problem: String,
    /// Longer help.
    pub advice: Option<String>,
}

/// Checks a whole file.
///
/// # Errors
/// All mistakes, in the order of the file.
pub fn check(root: &Node, format: Format) -> Result<Vec<Given>, Vec<Mistake>> {
    let mut check = Check { given: Vec::new(), mistakes: Vec::new() };
    check.value(&Key::default(), schema(), Marks::default(), root);
    check.removed_keys(root, format);
    if check.mistakes.is_empty() {
        return Ok(check.given);
    }
    check.mistakes.sort_by_key(|mistake| mistake.place);
    Err(check.mistakes)
}

/// Checks the value of one key, as the environment and the command line give it.
///
/// # Errors
/// What is wrong with it.
pub fn check_one(key: &Key, part: &Value, node: &Node) -> Result<Value, String> {
    let mut check = Check { given: Vec::new(), mistakes: Vec::new() };
    check.value(key, part, Marks::default(), node);
    match check.mistakes.into_iter().next() {
        Some(mistake) => Err(mistake.problem),
        None => Ok(converted(part, node)),
    }
}

struct Check {
    given: Vec<Given>,
    mistakes: Vec<Mistake>,
}

impl Check {
    fn value(&mut self, key: &Key, part: &Value, outer: Marks, node: &Node) {
        let marks = Marks::of(part, outer);
        let before = self.mistakes.len();
        if part.get("oneOf").is_some() {
            self.tagged(key, part, node);
        } else {
            match &node.value {
                NodeValue::Block(keys) if is(part, "object") => {
                    self.block(key, part, marks, node.place, keys);
                    return;
                }
                NodeValue::List(items) if is(part, "array") => self.list(key, part, items, node),
                NodeValue::Scalar(value) if fits(part, value) => {}
                _ => self.mismatch(key, part, node),
            }
        }
        if self.mistakes.len() == before {
            let value = converted(part, node);
            self.given.push(Given { key: key.clone(), value, place: node.place, marks });
        }
    }

    fn block(
        &mut self,
        key: &Key,
        part: &Value,
        marks: Marks,
        place: Place,
        keys: &[(Name, Node)],
    ) {
        let properties = part.get("properties").and_then(Value::as_object);
        for (name, node) in keys {
            let inner = key.join(&name.text);
            let known = properties.and_then(|properties| properties.get(&name.text));
            let other = part.get("additionalProperties").filter(|other| other.is_object());
            match known.or(other) {
                Some(part) => self.value(&inner, part, marks, node),
                None => {
                    let known = properties.into_iter().flat_map(|known| known.keys());
                    self.unknown(&inner, name, known.map(String::as_str).collect());
                }
            }
        }
        let required = part.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !keys.iter().any(|(given, _)| given.text == name) {
                let inner = key.join(name);
                let expected = properties.and_then(|known| known.get(name)).map(expected);
                let expected = expected.unwrap_or_default();
                self.mistake(place, &inner, format!("`{inner}` is missing; it must be {expected}"));
            }
        }
    }

    /// A value whose `type` decides what else belongs to it.
    fn tagged(&mut self, key: &Key, part: &Value, node: &Node) {
        let variants: Vec<&Value> =
            part.get("oneOf").and_then(Value::as_array).into_iter().flatten().collect();
        let tag_of = |variant: &Value| {
            variant.pointer("/properties/type/const").and_then(Value::as_str).map(ToOwned::to_owned)
        };
        let NodeValue::Block(keys) = &node.value else {
            return self.mismatch(key, part, node);
        };
        let tags: Vec<String> = variants.iter().filter_map(|variant| tag_of(variant)).collect();
        let tag_key = key.join("type");
        let choices = serde_json::json!({"type": "string", "enum": tags});
        let Some(tag) = node.get("type") else {
            let problem = format!("`{tag_key}` is missing; it must be {}", expected(&choices));
            return self.mistake(node.place, &tag_key, problem);
        };
        let text = tag.to_value();
        match variants.iter().find(|variant| tag_of(variant).as_deref() == text.as_str()) {
            Some(variant) => {
                let length = self.given.len();
                self.block(key, variant, Marks::default(), node.place, keys);
                self.given.truncate(length);
            }
            None => self.mismatch(&tag_key, &choices, tag),
        }
    }

    fn list(&mut self, key: &Key, part: &Value, items: &[Node], node: &Node) {
        let least = part.get("minItems").and_then(Value::as_u64).unwrap_or_default();
        if (items.len() as u64) < least {
            self.mistake(node.place, key, format!("`{key}` must not be empty"));
        }
        let Some(part) = part.get("items") else { return };
        let length = self.given.len();
        for (index, item) in items.iter().enumerate() {
            self.value(&key.join(&index.to_string()), part, Marks::default(), item);
        }
        self.given.truncate(length);
    }

    /// Keys that were removed get their own explanation, in place of whatever else is wrong there.
    fn removed_keys(&mut self, root: &Node, format: Format) {
        let removed = migrate::removed_keys(root);
        if removed.is_empty() {
            return;
        }
        self.mistakes.retain(|mistake| !mistake.key.names().starts_with(&["endpoints".to_owned()]));
        let last = removed.len() - 1;
        for (index, (key, place)) in removed.into_iter().enumerate() {
            let problem = format!("`{key}` was removed; summaries are set up in one place now");
            let advice = (index == last).then(|| migrate::advice(root, format));
            self.mistakes.push(Mistake { place, key, problem, advice });
        }
    }

    fn unknown(&mut self, key: &Key, name: &Name, known: Vec<&str>) {
        let help = match (nearest(&name.text, known.iter().copied()), elsewhere(&name.text)) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Some(paths)) => format!("did you mean {paths}?"),
            (None, None) => format!("known here: {}", known.join(", ")),
        };
        self.mistake(name.place, key, format!("unknown key `{key}`; {help}"));
    }

    fn mismatch(&mut self, key: &Key, part: &Value, node: &Node) {
        let subject = match key.names() {
            [] => "the file".to_owned(),
            _ => format!("`{key}`"),
        };
        let mut problem = format!("{subject} must be {}, not {}", expected(part), found(node));
        let choices = part.get("enum").and_then(Value::as_array);
        if let (Some(choices), NodeValue::Scalar(Value::String(text))) = (choices, &node.value)
            && let Some(near) = nearest(text, choices.iter().filter_map(Value::as_str))
        {
            problem.push_str(&format!("; did you mean `{near}`?"));
        }
        self.mistake(node.place, key, problem);
    }

    fn mistake(&mut self, place: Place, key: &Key, problem: String) {
        self.mistakes.push(Mistake { place, key: key.clone(), problem, advice: None });
    }
}

/// The full paths of the keys of this very name in other blocks, if there are few.
fn elsewhere(name: &str) -> Option<String> {
    const MOST: usize = 3;
    let paths: Vec<String> = super::schema::leaves()
        .into_iter()
        .filter(|leaf| leaf.key.names().last().is_some_and(|last| last == name))
        .map(|leaf| format!("`{}`", leaf.key))
        .collect();
    (1..=MOST).contains(&paths.len()).then(|| paths.join(" or "))
}

fn types(part: &Value) -> Vec<&str> {
    match part.get("type") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(name)) => vec![name],
        _ => Vec::new(),
    }
}

fn is(part: &Value, name: &str) -> bool {
    types(part).contains(&name)
}

/// Whether a scalar has the type and lies in the range of a part of the schema.
fn fits(part: &Value, value: &Value) -> bool {
    if let Some(choices) = part.get("enum").and_then(Value::as_array) {
        return choices.contains(value);
    }
    match value {
        Value::Bool(_) => is(part, "boolean"),
        Value::Number(number) => {
            (is(part, "number") || is(part, "integer") && whole(number).is_some())
                && in_range(part, number)
        }
        Value::String(text) => {
            let least = part.get("minLength").and_then(Value::as_u64).unwrap_or_default();
            is(part, "string")
                && text.chars().count() as u64 >= least
                && (!is_address(part)
                    || ["http://", "https://"]
                        .iter()
                        .any(|start| text.strip_prefix(start).is_some_and(|rest| !rest.is_empty())))
        }
        _ => false,
    }
}

fn in_range(part: &Value, number: &Number) -> bool {
    let limit = |name: &str| part.get(name).and_then(Value::as_f64);
    number.as_f64().is_some_and(|number| {
        limit("minimum").is_none_or(|least| number >= least)
            && limit("maximum").is_none_or(|most| number <= most)
    })
}

/// A number that is whole and not negative, also when it is written as `8e3`.
fn whole(number: &Number) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        (float.fract() == 0.0 && (0.0..=EXACT).contains(&float)).then_some(float as u64)
    })
}

/// The one pattern that the schema has: an address on the web.
fn is_address(part: &Value) -> bool {
    part.get("pattern").is_some()
}

/// The value as the schema's type has it.
fn converted(part: &Value, node: &Node) -> Value {
    match &node.value {
        NodeValue::Scalar(Value::Number(number)) if is(part, "integer") => {
            whole(number).map_or(Value::Null, Value::from)
        }
        NodeValue::List(items) => {
            let inner = part.get("items").unwrap_or(&Value::Null);
            items.iter().map(|item| converted(inner, item)).collect()
        }
        NodeValue::Block(keys) => {
            let variant = part.get("oneOf").and_then(Value::as_array).and_then(|variants| {
                let tag = node.get("type").map(Node::to_value);
                variants
                    .iter()
                    .find(|variant| variant.pointer("/properties/type/const") == tag.as_ref())
            });
            let part = variant.unwrap_or(part);
            let inner = |name: &str| part.get("properties").and_then(|known| known.get(name));
            keys.iter()
                .map(|(name, node)| {
                    let part = inner(&name.text).unwrap_or(&Value::Null);
                    (name.text.clone(), converted(part, node))
                })
                .collect()
        }
        NodeValue::Scalar(value) => value.clone(),
    }
}

/// What a part of the schema asks for, in words.
#[must_use]
pub fn expected(part: &Value) -> String {
    if let Some(choices) = part.get("enum").and_then(Value::as_array) {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", choices.join(", "));
    }
    if part.get("oneOf").is_some() {
        return "a block with `type` and `value`".to_owned();
    }
    let words: Vec<String> = types(part).into_iter().map(|name| in_words(part, name)).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        // `true or false` brings its own `or`.
        Some((last, rest)) if last.contains(" or ") => format!("{}, {last}", rest.join(", ")),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "a value".to_owned(),
    }
}

fn in_words(part: &Value, name: &str) -> String {
    match name {
        "boolean" => "true or false".to_owned(),
        "integer" => format!("a whole number{}", range(part)),
        "number" => format!("a number{}", range(part)),
        "string" if is_address(part) => {
            "an address that begins with http:// or https://".to_owned()
        }
        "string" if part.get("minLength").is_some() => "a text that is not empty".to_owned(),
        "string" => "a text".to_owned(),
        "array" => {
            let items = part.get("items").unwrap_or(&Value::Null);
            match items.get("enum").and_then(Value::as_array) {
                Some(choices) => {
                    let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
                    format!("a list of {}", choices.join(", "))
                }
                None if is(items, "string") => "a list of texts".to_owned(),
                None => "a list of blocks".to_owned(),
            }
        }
        _ => "a block of keys".to_owned(),
    }
}

fn range(part: &Value) -> String {
    let limit = |name: &str| part.get(name).filter(|limit| limit.is_number());
    match (limit("minimum"), limit("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        _ => String::new(),
    }
}

/// What stands there instead, in words.
fn found(node: &Node) -> String {
    const LONGEST: usize = 40;
    match &node.value {
        NodeValue::Block(_) => "a block of keys".to_owned(),
        NodeValue::List(_) => "a list".to_owned(),
        NodeValue::Scalar(Value::Null) => "nothing".to_owned(),
        NodeValue::Scalar(Value::String(text)) if text.chars().count() > LONGEST => {
            let beginning: String = text.chars().take(LONGEST).collect();
            format!("{}…", Value::from(beginning))
        }
        NodeValue::Scalar(value) => value.to_string(),
    }
}
