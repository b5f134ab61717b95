//! A settings file as it was written: values that know where they stand. JSON with comments and YAML
//! both become this, so that checking need not know which it was. Pure; reading files is [`super::file`]'s.

use std::cell::Cell;
use std::fmt;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{Location, NonFiniteFloatPolicy, Spanned};

/// Blocks and lists within each other; no setting needs a fifth of it, and parsers recurse.
const DEEPEST: usize = 40;

/// How a settings file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON with comments and trailing commas.
    Json,
    /// YAML.
    Yaml,
}

impl Format {
    /// Reads a text of this format.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(self, text: &str) -> Result<Node, SyntaxError> {
        // Editors on some systems put a mark in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Json => read_json(text),
            Self::Yaml => read_yaml(text),
        }
    }

    /// The name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        }
    }
}

/// A line and a column of a file, both from 1. Columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

impl Place {
    /// The beginning of a file.
    pub const START: Self = Self { line: 1, column: 1 };

    fn of(location: Location) -> Self {
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).max(1);
        Self { line: count(location.line()), column: count(location.column()) }
    }

    /// Where a byte of a text stands.
    #[must_use]
    pub fn of_byte(text: &str, byte: usize) -> Self {
        let before = &text[..text.floor_char_boundary(byte)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            line: count(before.matches('\n').count() + 1),
            column: count(before[line_start..].chars().count() + 1),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub place: Place,
    /// The value.
    pub value: NodeValue,
}

/// See [`Node::value`].
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// Text, a number, `true`, `false` or `null`.
    Scalar(Value),
    /// Values in order.
    List(Vec<Node>),
    /// Keys with their values, in order; no key twice.
    Block(Vec<(Name, Node)>),
}

/// A key and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Where it begins.
    pub place: Place,
    /// The key.
    pub text: String,
}

impl Node {
    /// The value without places.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.value {
            NodeValue::Scalar(value) => value.clone(),
            NodeValue::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            NodeValue::Block(keys) => {
                keys.iter().map(|(name, node)| (name.text.clone(), node.to_value())).collect()
            }
        }
    }

    /// The value of a key of a block.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            NodeValue::Block(keys) => {
                keys.iter().find(|(name, _)| name.text == key).map(|(_, node)| node)
            }
            _ => None,
        }
    }

    fn empty() -> Self {
        Self { place: Place::START, value: NodeValue::Block(Vec::new()) }
    }
}

/// A text that is not well formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where it goes wrong.
    pub place: Place,
    /// What is wrong, lower case, no full stop.
    pub problem: String,
}

/// Reads JSON with comments and trailing commas. An empty text is an empty block.
///
/// # Errors
/// The first mistake.
pub fn read_json(text: &str) -> Result<Node, SyntaxError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &json_options())
        .map_err(|error| json_error(&error))?;
    parsed.value.map_or_else(|| Ok(Node::empty()), |value| json_node(text, &value, 0))
}

/// What settings files may do beyond JSON.
#[must_use]
pub fn json_options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn json_error(error: &ParseError) -> SyntaxError {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let problem = match error.kind() {
        ParseErrorKind::UnexpectedWord | ParseErrorKind::UnexpectedToken => {
            "unexpected word; texts need double quotes".to_owned()
        }
        ParseErrorKind::ExpectedStringObjectProperty => "a key must be in double quotes".to_owned(),
        kind => {
            let text = kind.to_string();
            let mut letters = text.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_lowercase().chain(letters).collect::<String>()
            })
        }
    };
    let place = Place { line: count(error.line_display()), column: count(error.column_display()) };
    SyntaxError { place, problem }
}

fn json_node(text: &str, value: &ast::Value<'_>, depth: usize) -> Result<Node, SyntaxError> {
    let place = Place::of_byte(text, value.range().start);
    if depth > DEEPEST {
        return Err(SyntaxError { place, problem: too_deep() });
    }
    let inner = |value: &ast::Value<'_>| json_node(text, value, depth + 1);
    let value = match value {
        ast::Value::StringLit(literal) => scalar(literal.value.as_ref()),
        ast::Value::NumberLit(literal) => NodeValue::Scalar(
            serde_json::from_str::<Number>(literal.value)
                .map_or_else(|_| Value::from(literal.value), Value::Number),
        ),
        ast::Value::BooleanLit(literal) => scalar(literal.value),
        ast::Value::NullKeyword(_) => NodeValue::Scalar(Value::Null),
        ast::Value::Array(array) => {
            NodeValue::List(array.elements.iter().map(inner).collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut keys: Vec<(Name, Node)> = Vec::new();
            for property in &object.properties {
                let name = Name {
                    place: Place::of_byte(text, property.range.start),
                    text: property.name.as_str().to_owned(),
                };
                if keys.iter().any(|(known, _)| known.text == name.text) {
                    let problem = format!("the key `{}` stands twice in this block", name.text);
                    return Err(SyntaxError { place: name.place, problem });
                }
                keys.push((name, inner(&property.value)?));
            }
            NodeValue::Block(keys)
        }
    };
    Ok(Node { place, value })
}

/// Reads YAML. An empty text is an empty block.
///
/// # Errors
/// The first mistake.
pub fn read_yaml(text: &str) -> Result<Node, SyntaxError> {
    // `off` is a thinking level and no truth value, as YAML has it since version 1.2.
    let options = serde_saphyr::options! {
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Option<Spanned<Yaml>>>(text, options) {
        Ok(Some(root)) => Ok(root.into()),
        Ok(None) => Ok(Node::empty()),
        Err(error) => {
            let place = error.location().map_or(Place::START, Place::of);
            let text = error.to_string();
            // The library goes on with the place, which we name ourselves, and with advice to
            // programmers.
            let ends =
                [" at line ", "\n", "; use ", ", set "].iter().filter_map(|end| text.find(end));
            let end = ends.min().unwrap_or(text.len());
            Err(SyntaxError { place, problem: text[..end].trim().to_owned() })
        }
    }
}

/// A YAML value on its way to a [`Node`].
enum Yaml {
    Scalar(Value),
    List(Vec<Spanned<Yaml>>),
    Block(Vec<(Spanned<String>, Spanned<Yaml>)>),
}

impl From<Spanned<Yaml>> for Node {
    fn from(yaml: Spanned<Yaml>) -> Self {
        let value = match yaml.value {
            Yaml::Scalar(value) => NodeValue::Scalar(value),
            Yaml::List(items) => NodeValue::List(items.into_iter().map(Self::from).collect()),
            Yaml::Block(keys) => NodeValue::Block(
                keys.into_iter()
                    .map(|(name, value)| {
                        let place = Place::of(name.referenced);
                        (Name { place, text: name.value }, Self::from(value))
                    })
                    .collect(),
            ),
        };
        Self { place: Place::of(yaml.referenced), value }
    }
}

fn too_deep() -> String {
    format!("blocks and lists stand in each other more than {DEEPEST} deep")
}

thread_local! {
    /// How many YAML blocks and lists are being read within each other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A YAML block or list that is being read.
struct Level;

impl Level {
    fn enter<E: serde::de::Error>() -> Result<Self, E> {
        let depth = DEPTH.get();
        if depth > DEEPEST {
            return Err(E::custom(too_deep()));
        }
        DEPTH.set(depth + 1);
        Ok(Self)
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

fn scalar(value: impl Into<Value>) -> NodeValue {
    NodeValue::Scalar(value.into())
}

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = Yaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true, false, a list or a block of keys")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Yaml, E> {
        // What JSON has no number for is told to the person as the text that it is.
        let number = Number::from_f64(value).map(Value::Number);
        Ok(Yaml::Scalar(number.unwrap_or_else(|| value.to_string().into())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Yaml, A::Error> {
        let _level = Level::enter()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Yaml::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Yaml, A::Error> {
        let _level = Level::enter()?;
        let mut keys = Vec::new();
        while let Some(pair) = map.next_entry()? {
            keys.push(pair);
        }
        Ok(Yaml::Block(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    const JSON: &str = "// mine\n{\n  \"compaction\": { \"enabled\": false, /* why */ },\n  \"tools\": [\"read\",\n    \"나\", \"ls\"],\n}\n";
    const YAML: &str =
        "# mine\ncompaction:\n  enabled: false # why\ntools:\n  - read\n  - 나\n  - ls\n";

    #[test]
    fn f98_what_is_nested_without_end_is_refused_before_the_stack_ends() {
        for (format, text) in [
            (Format::Json, "[".repeat(300) + &"]".repeat(300)),
            (Format::Json, "{\"a\":".repeat(300) + "1" + &"}".repeat(300)),
            (Format::Yaml, "[".repeat(3_000)),
            (Format::Yaml, "{a: ".repeat(3_000)),
            (Format::Yaml, "- ".repeat(3_000)),
            (Format::Yaml, (0..300).map(|depth| " ".repeat(depth) + "a:\n").collect()),
        ] {
            let error = format.read(&text).unwrap_err();
            let problem = &error.problem;
            assert!(
                ["deep", "depth", "limit"].iter().any(|word| problem.contains(word)),
                "{error:?}"
            );
        }
        assert!(Format::Yaml.read("a: [{b: [1]}]").is_ok(), "and the count starts anew");
    }

    #[test]
    fn g1_both_formats_give_the_same_values() {
        let json = read_json(JSON).unwrap();
        assert_eq!(json.to_value(), read_yaml(YAML).unwrap().to_value());
        assert_eq!(
            json.to_value(),
            serde_json::json!({"compaction": {"enabled": false}, "tools": ["read", "나", "ls"]})
        );
    }

    #[track_caller]
    fn places(node: &Node, expected: [(u32, u32); 4]) {
        let NodeValue::Block(keys) = &node.value else { panic!("{node:?}") };
        let NodeValue::List(items) = &node.get("tools").unwrap().value else { panic!() };
        let found = [
            keys[1].0.place,
            node.get("compaction").unwrap().get("enabled").unwrap().place,
            items[1].place,
            items[2].place,
        ];
        assert_eq!(found.map(|place| (place.line, place.column)), expected);
    }

    #[test]
    fn g1_values_know_where_they_stand() {
        places(&read_json(JSON).unwrap(), [(4, 3), (3, 30), (5, 5), (5, 10)]);
        places(&read_yaml(YAML).unwrap(), [(4, 1), (3, 12), (6, 5), (7, 5)]);
    }

    #[test]
    fn g1_an_empty_file_sets_nothing() {
        for text in ["", "\n\n", "# only a comment\n"] {
            assert_eq!(read_yaml(text).unwrap().to_value(), Value::Object(Map::new()), "{text:?}");
        }
        assert_eq!(read_json("// nothing\n").unwrap().to_value(), Value::Object(Map::new()));
    }

    #[test]
    fn g1_yaml_words_that_look_like_truth_are_words() {
        let values = read_yaml("thinking: off\nmodel: no\nmouse: true\n").unwrap().to_value();
        assert_eq!(values, serde_json::json!({"thinking": "off", "model": "no", "mouse": true}));
    }

    #[test]
    fn f82_deep_nesting_is_an_error_and_no_crash() {
        let deep = "[".repeat(100_000);
        assert!(read_json(&deep).unwrap_err().problem.contains("nesting"));
        read_yaml(&deep).unwrap_err();
        read_yaml(&"a: &x [*x, *x]\n".repeat(3)).unwrap_err();
    }
}
