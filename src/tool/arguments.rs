//! Reading a call's arguments: every mistake becomes a sentence that names the field, what was
//! expected and what came (SPEC A2). Pure.

use serde_json::{Map, Value};

use super::ToolError;

/// The arguments of one call to one tool.
pub(crate) struct Arguments<'a> {
    tool: &'static str,
    fields: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    /// Takes the arguments as a model gave them.
    ///
    /// # Errors
    /// They are not an object.
    pub(crate) fn new(tool: &'static str, value: &'a Value) -> Result<Self, ToolError> {
        match value {
            Value::Object(fields) => Ok(Self { tool, fields }),
            other => Err(ToolError::new(format!(
                "{tool}: the arguments must be a JSON object, not {}",
                shown(other)
            ))),
        }
    }

    /// A field under any of its names; `null` counts as absent.
    pub(crate) fn get(&self, names: &[&str]) -> Option<&'a Value> {
        names.iter().find_map(|name| self.fields.get(*name)).filter(|value| !value.is_null())
    }

    /// A text that must be there. The first name is the one that errors speak of.
    pub(crate) fn text(&self, names: &[&str]) -> Result<&'a str, ToolError> {
        self.optional_text(names)?.ok_or_else(|| self.missing(names[0], "a string"))
    }

    /// A text that must be there and not be empty.
    pub(crate) fn filled_text(&self, names: &[&str]) -> Result<&'a str, ToolError> {
        match self.text(names)? {
            "" => Err(self.error(names[0], "must not be empty")),
            text => Ok(text),
        }
    }

    /// A text that may be absent.
    pub(crate) fn optional_text(&self, names: &[&str]) -> Result<Option<&'a str>, ToolError> {
        match self.get(names) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(names[0], "a string", other)),
        }
    }

    /// A whole number of at least `least` that may be absent; numbers written as text are taken.
    pub(crate) fn count(&self, names: &[&str], least: u64) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.get(names) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_u64().or_else(|| {
                number
                    .as_f64()
                    .filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number))
                    .map(|number| number as u64)
            }),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if number >= least => Ok(Some(number)),
            _ => Err(self.wrong(names[0], &format!("a whole number of at least {least}"), value)),
        }
    }

    /// A positive number of seconds that may be absent.
    pub(crate) fn seconds(&self, names: &[&str], most: f64) -> Result<Option<f64>, ToolError> {
        let Some(value) = self.get(names) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if number > 0.0 && number <= most => Ok(Some(number)),
            _ => {
                let expected = format!("a number of seconds above 0 and up to {most}");
                Err(self.wrong(names[0], &expected, value))
            }
        }
    }

    /// A yes or no that may be absent.
    pub(crate) fn flag(&self, names: &[&str]) -> Result<bool, ToolError> {
        match self.get(names) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(self.wrong(names[0], "true or false", other)),
        }
    }

    /// Something about a field that is not as it must be.
    pub(crate) fn error(&self, field: &str, problem: &str) -> ToolError {
        ToolError::new(format!("{}: `{field}` {problem}", self.tool))
    }

    /// A field of the wrong type.
    pub(crate) fn wrong(&self, field: &str, expected: &str, found: &Value) -> ToolError {
        self.error(field, &format!("must be {expected}, not {}", shown(found)))
    }

    /// A field that is not there; says what is, because names get mixed up.
    pub(crate) fn missing(&self, field: &str, expected: &str) -> ToolError {
        let given: Vec<_> = self.fields.keys().take(8).map(|name| format!("`{name}`")).collect();
        let given = if given.is_empty() { "nothing".to_owned() } else { given.join(", ") };
        self.error(field, &format!("is missing: expected {expected}; the call gave {given}"))
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sentence<T>(result: Result<T, ToolError>) -> String {
        result.err().expect("an error").message
    }

    #[test]
    fn a2_a_bad_argument_is_named_with_what_was_expected() {
        let value = json!({"file": "a", "path": 7, "limit": "ten", "offset": 0, "literal": 2});
        let arguments = Arguments::new("read", &value).unwrap();
        assert_eq!(sentence(arguments.text(&["path"])), "read: `path` must be a string, not 7");
        assert_eq!(
            sentence(arguments.count(&["limit"], 1)),
            "read: `limit` must be a whole number of at least 1, not \"ten\""
        );
        assert!(sentence(arguments.count(&["offset"], 1)).contains("at least 1, not 0"));
        assert!(sentence(arguments.flag(&["literal"])).contains("true or false, not 2"));
        assert_eq!(
            sentence(arguments.text(&["content"])),
            "read: `content` is missing: expected a string; the call gave `file`, `path`, `limit`, \
             `offset`, `literal`"
        );
        assert!(
            sentence(Arguments::new("read", &json!("{\"pa"))).contains("must be a JSON object")
        );
    }

    #[test]
    fn a2_numbers_as_text_and_nulls_are_understood() {
        let value =
            json!({"limit": "12", "offset": null, "timeout": "1.5", "flag": "true", "n": 3.0});
        let arguments = Arguments::new("read", &value).unwrap();
        assert_eq!(arguments.count(&["limit"], 1).unwrap(), Some(12));
        assert_eq!(arguments.count(&["n"], 1).unwrap(), Some(3));
        assert_eq!(arguments.count(&["offset"], 1).unwrap(), None);
        assert_eq!(arguments.seconds(&["timeout"], 10.0).unwrap(), Some(1.5));
        assert!(arguments.flag(&["flag"]).unwrap());
    }
}
