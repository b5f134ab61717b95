//! The `edit` tool: exact replacements in one text file (SPEC A2, I14). What is replaced by what is
//! decided in [`replacement`]; this file reads, checks and writes.

use std::path::{Path, PathBuf};

use encoding_rs::Encoding;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::replace_file::{failed, follow_links, replace, writable};
use super::replacement::{self, Edit};
use super::stamps::{FileStamps, Stamp};
use super::truncate::{Bytes, counted};
use super::{Effect, Tool, ToolContext, ToolError, ToolOutput};
use super::{blocking, diff, locate, text_file};
use crate::message::Block;
use crate::provider::ToolSpec;

/// Files above this are not edited in memory.
const LARGEST: u64 = 64 * 1024 * 1024;

pub(crate) struct EditTool {
    pub(crate) stamps: FileStamps,
}

struct Call {
    path: PathBuf,
    edits: Vec<Edit>,
    encoding: Option<&'static Encoding>,
}

const OLD: &[&str] = &["oldText", "old_text", "old_string", "oldString"];
const NEW: &[&str] = &["newText", "new_text", "new_string", "newString"];

impl Call {
    fn parse(arguments: &Value, cx: &ToolContext) -> Result<Self, ToolError> {
        let arguments = Arguments::new("edit", arguments)?;
        let path = locate::existing(cx, arguments.filled_text(locate::PATH)?);
        let encoding = match arguments.optional_text(&["encoding"])? {
            None => None,
            Some(label) => Some(
                text_file::named(label)
                    .ok_or_else(|| arguments.error("encoding", &format!("{label} is not known")))?,
            ),
        };
        Ok(Self { path, edits: edits(&arguments)?, encoding })
    }
}

/// The edits of a call: a list, a list in a string, one object, or one pair at the top level.
fn edits(arguments: &Arguments<'_>) -> Result<Vec<Edit>, ToolError> {
    const EXPECTED: &str = "a list of {oldText, newText}";
    let parsed;
    let list = match arguments.get(&["edits"]) {
        None if arguments.get(OLD).is_some() => return Ok(vec![pair(arguments)?]),
        None => return Err(arguments.missing("edits", EXPECTED)),
        Some(Value::String(text)) => {
            parsed = serde_json::from_str(text)
                .map_err(|_| arguments.wrong("edits", EXPECTED, &Value::String(text.clone())))?;
            &parsed
        }
        Some(list) => list,
    };
    let items = match list {
        Value::Array(items) if items.is_empty() => {
            return Err(
                arguments.error("edits", "is empty; expected at least one {oldText, newText}")
            );
        }
        Value::Array(items) => items.as_slice(),
        Value::Object(_) => std::slice::from_ref(list),
        other => return Err(arguments.wrong("edits", EXPECTED, other)),
    };
    let one = |(index, item): (usize, &Value)| {
        let name = |error: ToolError| {
            let problem = error.message.trim_start_matches("edit: ");
            ToolError::new(format!("edit: edits[{index}]: {problem}"))
        };
        pair(&Arguments::new("edit", item).map_err(name)?).map_err(name)
    };
    items.iter().enumerate().map(one).collect()
}

fn pair(arguments: &Arguments<'_>) -> Result<Edit, ToolError> {
    Ok(Edit { old: arguments.text(OLD)?.to_owned(), new: arguments.text(NEW)?.to_owned() })
}

impl Tool for EditTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit".to_owned(),
            description: include_str!("../../prompts/tools/edit.md").trim_end().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "File to change, relative to the working directory or absolute"},
                    "edits": {
                        "type": "array",
                        "minItems": 1,
                        "description": "Replacements; all are found in the file as it is now",
                        "items": {
                            "type": "object",
                            "properties": {
                                "oldText": {"type": "string", "description": "Text that occurs exactly once in the file"},
                                "newText": {"type": "string", "description": "Text to put in its place"}
                            },
                            "required": ["oldText", "newText"]
                        }
                    },
                    "encoding": {"type": "string", "description": "Only for files that are neither UTF-8 nor UTF-16, such as euc-kr"}
                },
                "required": ["path", "edits"]
            }),
        }
    }

    fn effect(&self, arguments: &Value, cx: &ToolContext) -> Result<Effect, ToolError> {
        let call = Call::parse(arguments, cx)?;
        let edited = edited(&call, &cx.cwd, &self.stamps)?;
        let diff = diff::unified(&edited.before, &edited.after).text;
        Ok(Effect::Write { path: call.path, diff: Some(diff) })
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let stamps = self.stamps.clone();
        Box::pin(async move {
            let call = Call::parse(&arguments, &cx)?;
            blocking::change(cx.cancel.clone(), move |cancel| {
                let edited = edited(&call, &cx.cwd, &stamps)?;
                if cancel.is_cancelled() {
                    return Err(blocking::stopped());
                }
                replace(&edited.target, Some(&edited.metadata), &edited.bytes)?;
                if let Ok(metadata) = std::fs::metadata(&edited.target) {
                    stamps.record(&edited.target, Stamp::of(&metadata, &edited.bytes));
                }
                Ok(report(&call, &edited, &cx.cwd))
            })
            .await
        })
    }
}

/// A file as it will be.
struct Edited {
    target: PathBuf,
    metadata: std::fs::Metadata,
    before: String,
    after: String,
    bytes: Vec<u8>,
}

fn edited(call: &Call, cwd: &Path, stamps: &FileStamps) -> Result<Edited, ToolError> {
    let target = follow_links(&call.path)?;
    let shown = locate::shown(&call.path, cwd);
    let metadata = writable(&target)?.ok_or_else(|| locate::not_found(&call.path, cwd))?;
    if metadata.len() > LARGEST {
        return Err(ToolError::new(format!(
            "{shown} has {}; files are edited up to {}. Use a command such as sed for it",
            Bytes(metadata.len()),
            Bytes(LARGEST)
        )));
    }
    let bytes =
        std::fs::read(&target).map_err(|error| failed(&call.path, "it cannot be read", &error))?;
    if stamps.is_stale(&target, &Stamp::of(&metadata, &bytes)) {
        return Err(changed_since(&shown));
    }
    let (before, form) = text_file::decode(&bytes, call.encoding)
        .map_err(|what| ToolError::new(format!("{shown} {}", what.explain())))?;
    if text_file::encode(&before, form).as_deref() != Some(bytes.as_slice()) {
        return Err(ToolError::new(format!(
            "{shown} would not keep its bytes when written again; it cannot be edited exactly"
        )));
    }
    let after = replacement::apply(&before, &call.edits)
        .map_err(|problem| ToolError::new(format!("{shown} was not changed: {problem}")))?;
    let bytes = text_file::encode(&after, form).ok_or_else(|| {
        let name = form.name().unwrap_or("UTF-8");
        ToolError::new(format!(
            "{shown} was not changed: it is in {name}, and the new text has characters that {name} \
             cannot write"
        ))
    })?;
    Ok(Edited { target, metadata, before, after, bytes })
}

/// The refusal to change what the agent has not seen.
pub(crate) fn changed_since(shown: &str) -> ToolError {
    ToolError::new(format!(
        "{shown} was not changed: it has changed on disk since you last read it. Read it again, then \
         repeat what is still needed"
    ))
}

fn report(call: &Call, edited: &Edited, cwd: &Path) -> ToolOutput {
    let difference = diff::unified(&edited.before, &edited.after);
    let summary = difference.summary();
    let told = format!(
        "Changed {}: {} ({summary} lines).",
        locate::shown(&call.path, cwd),
        counted(call.edits.len(), "replacement")
    );
    ToolOutput {
        content: vec![Block::text(told)],
        details: Some(json!({
            "summary": summary,
            "diff": difference.text,
            "added": difference.added,
            "removed": difference.removed,
        })),
    }
}
