//! Events of the conversation (SPEC section 6): a prompt may be stopped or added to, a tool's call
//! blocked or rewritten, its result rewritten. Pure.

use serde_json::{Map, Value, json};

use super::EventName;
use super::answer::{Fields, fields_of};
use super::chain::{Occasion, Taken};
use crate::message::{Block, Content, Image, ToolCall, ToolResultMessage};

/// The person has said something, and no model has heard it yet.
#[derive(Debug, Clone, PartialEq)]
pub struct BeforePrompt {
    prompt: String,
    images: Vec<Image>,
    /// Texts that hooks add for the model, in order.
    pub context: Vec<String>,
}

impl BeforePrompt {
    /// A prompt as it was typed, with its pictures.
    #[must_use]
    pub fn new(prompt: impl Into<String>, images: Vec<Image>) -> Self {
        Self { prompt: prompt.into(), images, context: Vec::new() }
    }
}

impl Occasion for BeforePrompt {
    fn event(&self) -> EventName {
        EventName::BeforePrompt
    }

    fn data(&self) -> Map<String, Value> {
        let images: Vec<_> = self.images.iter().cloned().map(Block::Image).collect();
        fields_of(json!({ "prompt": self.prompt, "images": images, "context": self.context }))
    }

    fn take(&mut self, _hook: &str, answer: Map<String, Value>) -> Result<Taken, String> {
        let mut answer = Fields::new(answer);
        let lines = answer.lines("context")?;
        answer.done()?;
        self.context.extend(lines.into_iter().filter(|line| !line.trim().is_empty()));
        Ok(Taken::Accepted)
    }

    fn effect(&self) -> Option<String> {
        let added = self.context.join("\n");
        (!added.is_empty()).then(|| format!("adds for the model: {added}"))
    }
}

/// A model asks for a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct BeforeCall {
    call: ToolCall,
    rewritten_by: Vec<String>,
}

impl BeforeCall {
    /// A call as the model made it.
    #[must_use]
    pub const fn new(call: ToolCall) -> Self {
        Self { call, rewritten_by: Vec::new() }
    }

    /// The arguments that are to be used instead, and the names of the hooks that wrote them; `None`
    /// when they are the model's own.
    #[must_use]
    pub fn rewritten(self) -> Option<(Value, Vec<String>)> {
        (!self.rewritten_by.is_empty()).then_some((self.call.arguments, self.rewritten_by))
    }
}

impl Occasion for BeforeCall {
    fn event(&self) -> EventName {
        EventName::ToolCall
    }

    fn tool(&self) -> Option<&str> {
        Some(&self.call.name)
    }

    fn data(&self) -> Map<String, Value> {
        let ToolCall { id, name, arguments, .. } = &self.call;
        fields_of(json!({ "toolCallId": id, "toolName": name, "input": arguments }))
    }

    fn take(&mut self, hook: &str, answer: Map<String, Value>) -> Result<Taken, String> {
        let mut answer = Fields::new(answer);
        let block = answer.flag("block")?.unwrap_or_default();
        let input = answer.object("input")?;
        answer.done()?;
        if block {
            return Ok(Taken::Cancels);
        }
        if let Some(input) = input.map(Value::Object).filter(|input| *input != self.call.arguments)
        {
            self.call.arguments = input;
            self.rewritten_by.push(hook.to_owned());
        }
        Ok(Taken::Accepted)
    }

    fn effect(&self) -> Option<String> {
        let rewritten = !self.rewritten_by.is_empty();
        rewritten.then(|| format!("rewrites the arguments to {}", self.call.arguments))
    }
}

/// A tool has given its result, and no model has seen it yet.
#[derive(Debug, Clone, PartialEq)]
pub struct AfterCall {
    input: Value,
    result: ToolResultMessage,
    rewritten: bool,
}

impl AfterCall {
    /// The result of a call that ran with these arguments.
    #[must_use]
    pub const fn new(input: Value, result: ToolResultMessage) -> Self {
        Self { input, result, rewritten: false }
    }

    /// The result in force, and whether a hook wrote a part of it.
    #[must_use]
    pub fn into_result(self) -> (ToolResultMessage, bool) {
        (self.result, self.rewritten)
    }
}

impl Occasion for AfterCall {
    fn event(&self) -> EventName {
        EventName::ToolResult
    }

    fn tool(&self) -> Option<&str> {
        Some(&self.result.tool_name)
    }

    fn data(&self) -> Map<String, Value> {
        let ToolResultMessage { tool_call_id, tool_name, content, details, is_error, .. } =
            &self.result;
        fields_of(json!({
            "toolCallId": tool_call_id, "toolName": tool_name, "input": self.input,
            "content": content, "details": details, "isError": is_error,
        }))
    }

    fn take(&mut self, _hook: &str, answer: Map<String, Value>) -> Result<Taken, String> {
        let mut answer = Fields::new(answer);
        let content = answer.any("content").map(content_of).transpose()?;
        let details = answer.any("details");
        let is_error = answer.flag("isError")?;
        answer.done()?;
        self.rewritten |= content.is_some() || details.is_some() || is_error.is_some();
        if let Some(content) = content {
            self.result.content = content;
        }
        if details.is_some() {
            self.result.details = details;
        }
        self.result.is_error = is_error.unwrap_or(self.result.is_error);
        Ok(Taken::Accepted)
    }

    fn effect(&self) -> Option<String> {
        self.rewritten.then(|| {
            let mark = if self.result.is_error { " (an error)" } else { "" };
            format!("rewrites the result{mark} to: {}", self.result.content.text())
        })
    }
}

/// A result's content as a hook gives it: a text, or blocks of text and pictures. An empty one is no
/// result (F81).
fn content_of(value: Value) -> Result<Content, String> {
    const EXPECTED: &str =
        "a text, or a list of {type: \"text\", text} and {type: \"image\", data, mimeType}";
    let wrong = || format!("`content` must be {EXPECTED}");
    let is_known = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].is_string(),
        Some("image") => block["data"].is_string() && block["mimeType"].is_string(),
        _ => false,
    };
    let blocks = match value {
        Value::String(text) => vec![Block::text(text)],
        Value::Array(blocks) if blocks.iter().all(is_known) => {
            serde_json::from_value(Value::Array(blocks)).map_err(|_| wrong())?
        }
        _ => return Err(wrong()),
    };
    let content = Content::Blocks(blocks);
    if content.text().trim().is_empty() && content.images().next().is_none() {
        return Err("`content` must not be empty".to_owned());
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(occasion: &mut dyn Occasion, value: Value) -> Result<Taken, String> {
        occasion.take("h", fields_of(value))
    }

    fn call() -> BeforeCall {
        let call = json!({"id": "c1", "name": "bash", "arguments": {"command": "ls"}});
        BeforeCall::new(serde_json::from_value(call).unwrap())
    }

    #[test]
    fn a_call_may_be_blocked_or_rewritten() {
        let mut before = call();
        assert_eq!(
            Value::Object(before.data()),
            json!({"toolCallId": "c1", "toolName": "bash", "input": {"command": "ls"}})
        );
        assert_eq!(answer(&mut before, json!({"block": true})), Ok(Taken::Cancels));
        assert_eq!(answer(&mut before, json!({"block": false})), Ok(Taken::Accepted));
        answer(&mut before, json!({"input": {"command": "ls"}})).unwrap();
        assert_eq!(before.clone().rewritten(), None, "the same again changes nothing");
        answer(&mut before, json!({"input": {"command": "ls -l"}})).unwrap();
        assert_eq!(before.data()["input"]["command"], "ls -l");
        assert_eq!(before.rewritten(), Some((json!({"command": "ls -l"}), vec!["h".to_owned()])));
        assert!(answer(&mut call(), json!({"input": "ls -l"})).unwrap_err().contains("`input`"));
    }

    #[test]
    fn f81_only_a_valid_result_replaces_a_result() {
        let result: ToolResultMessage = serde_json::from_value(json!({
            "toolCallId": "c1", "toolName": "read", "content": "secret", "isError": false
        }))
        .unwrap();
        let after = || AfterCall::new(json!({"path": "a"}), result.clone());
        for wrong in [
            json!({"content": ""}),
            json!({"content": []}),
            json!({"content": [{"type": "toolCall"}]}),
            json!({"content": 5}),
            json!({"content": "x", "isError": "no"}),
            json!({"contents": "x"}),
        ] {
            let mut after = after();
            answer(&mut after, wrong.clone()).expect_err(&wrong.to_string());
            assert_eq!(after.into_result(), (result.clone(), false), "{wrong}");
        }
        let mut after = after();
        let blocks = json!([{"type": "text", "text": "***"}]);
        answer(&mut after, json!({"content": blocks, "isError": true})).unwrap();
        assert_eq!(after.data()["content"], blocks);
        let (result, rewritten) = after.into_result();
        assert!(rewritten && result.is_error && result.content.text() == "***");
    }
}
