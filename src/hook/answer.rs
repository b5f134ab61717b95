//! Reading the fields of an answer: every mistake becomes a sentence that names the field, and a field
//! that nobody knows is a mistake, so that a slip in a guard is noticed (F81). Pure.

use serde_json::{Map, Value};

use crate::nearest::nearest;

/// The fields of a JSON object; none of anything else.
pub(super) fn fields_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The fields of an answer, taken out one by one.
#[derive(Debug)]
pub struct Fields {
    /// `compaction.` for the fields of that block.
    path: String,
    rest: Map<String, Value>,
    asked: Vec<&'static str>,
}

impl Fields {
    /// The fields of a whole answer.
    #[must_use]
    pub const fn new(rest: Map<String, Value>) -> Self {
        Self { path: String::new(), rest, asked: Vec::new() }
    }

    /// Any value; `null` counts as absent.
    pub fn any(&mut self, name: &'static str) -> Option<Value> {
        self.asked.push(name);
        self.rest.remove(name).filter(|value| !value.is_null())
    }

    /// A text.
    ///
    /// # Errors
    /// It is something else.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a text", &other)),
        }
    }

    /// A text that is there and not blank.
    ///
    /// # Errors
    /// It is not.
    pub fn filled_text(&mut self, name: &'static str) -> Result<String, String> {
        match self.text(name)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(format!("`{}{name}` must not be empty", self.path)),
            None => Err(format!("`{}{name}` is missing; it must be a text", self.path)),
        }
    }

    /// A list of texts; a single text is a list of one.
    ///
    /// # Errors
    /// It is something else.
    pub fn lines(&mut self, name: &'static str) -> Result<Vec<String>, String> {
        let value = match self.any(name) {
            None => return Ok(Vec::new()),
            Some(Value::String(text)) => return Ok(vec![text]),
            Some(value) => value,
        };
        let texts = value.as_array().and_then(|items| {
            items.iter().map(|item| item.as_str().map(ToOwned::to_owned)).collect()
        });
        texts.ok_or_else(|| self.wrong(name, "a list of texts", &value))
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// It is something else.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong(name, "true or false", &other)),
        }
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// It is something else.
    pub fn count(&mut self, name: &'static str) -> Result<Option<u64>, String> {
        let Some(value) = self.any(name) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| self.wrong(name, "a whole number", &value))
    }

    /// A block of keys.
    ///
    /// # Errors
    /// It is something else.
    pub fn object(&mut self, name: &'static str) -> Result<Option<Map<String, Value>>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(other) => Err(self.wrong(name, "an object", &other)),
        }
    }

    /// The fields of a block; they must be [`done`](Self::done) too.
    ///
    /// # Errors
    /// It is something else.
    pub fn block(&mut self, name: &'static str) -> Result<Option<Self>, String> {
        let path = format!("{}{name}.", self.path);
        Ok(self.object(name)?.map(|rest| Self { path, rest, asked: Vec::new() }))
    }

    /// Makes sure that nothing is left.
    ///
    /// # Errors
    /// A field that was not asked for.
    pub fn done(self) -> Result<(), String> {
        let Some(name) = self.rest.keys().next() else { return Ok(()) };
        let help = match nearest(name, self.asked.iter().copied()) {
            Some(near) => format!("; did you mean `{near}`?"),
            None if self.asked.is_empty() => "; this event takes no answer".to_owned(),
            None => format!("; this event takes {}", self.asked.join(", ")),
        };
        Err(format!("its answer has a field `{}{name}` that means nothing here{help}", self.path))
    }

    fn wrong(&self, name: &str, expected: &str, found: &Value) -> String {
        let found = found.to_string();
        let found = match found.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", &found[..end]),
            None => found,
        };
        format!("`{}{name}` must be {expected}, not {found}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        let Value::Object(rest) = value else { panic!() };
        Fields::new(rest)
    }

    #[test]
    fn f81_what_is_wrong_is_named() {
        let mut answer = fields(json!({"summary": 5, "context": ["a", 1], "flag": "x", "n": -1,
            "compaction": {"summary": " ", "keep": 1}, "none": null}));
        assert_eq!(answer.text("summary").unwrap_err(), "`summary` must be a text, not 5");
        assert!(answer.lines("context").unwrap_err().contains("a list of texts"));
        assert!(answer.flag("flag").unwrap_err().contains("true or false"));
        assert!(answer.count("n").unwrap_err().contains("a whole number"));
        assert_eq!(answer.text("none"), Ok(None));
        let mut block = answer.block("compaction").unwrap().unwrap();
        let empty = block.filled_text("summary").unwrap_err();
        assert_eq!(empty, "`compaction.summary` must not be empty");
        assert!(block.done().unwrap_err().contains("`compaction.keep`"));
        answer.done().unwrap();
    }

    #[test]
    fn f81_a_slip_is_noticed() {
        let mut answer = fields(json!({"blok": true}));
        assert_eq!(answer.flag("block"), Ok(None));
        assert!(answer.done().unwrap_err().ends_with("did you mean `block`?"));
        let nothing = fields(json!({"x": 1})).done().unwrap_err();
        assert!(nothing.ends_with("this event takes no answer"));
    }
}
