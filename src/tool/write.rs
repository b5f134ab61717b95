//! The `write` tool: a whole file, made or replaced in one step (SPEC A2, F78).

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::edit::changed_since;
use super::replace_file::{failed, follow_links, replace, writable};
use super::stamps::{FileStamps, Stamp};
use super::truncate::{Bytes, counted};
use super::{Effect, Tool, ToolContext, ToolError, ToolOutput};
use super::{blocking, diff, locate, text_file};
use crate::message::Block;
use crate::provider::ToolSpec;

/// Old content above this is neither compared nor shown.
const MOST_COMPARED: u64 = 16 * 1024 * 1024;

pub(crate) struct WriteTool {
    pub(crate) stamps: FileStamps,
}

struct Call {
    path: PathBuf,
    content: String,
}

impl Call {
    fn parse(arguments: &Value, cx: &ToolContext) -> Result<Self, ToolError> {
        let arguments = Arguments::new("write", arguments)?;
        Ok(Self {
            path: locate::existing(cx, arguments.filled_text(locate::PATH)?),
            content: arguments.text(&["content"])?.to_owned(),
        })
    }
}

impl Tool for WriteTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write".to_owned(),
            description: include_str!("../../prompts/tools/write.md").trim_end().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "File to write, relative to the working directory or absolute"},
                    "content": {"type": "string", "description": "The whole content"}
                },
                "required": ["path", "content"]
            }),
        }
    }

    fn effect(&self, arguments: &Value, cx: &ToolContext) -> Result<Effect, ToolError> {
        let call = Call::parse(arguments, cx)?;
        let place = Place::find(&call, &cx.cwd, &self.stamps)?;
        let diff = place.difference(&call.content).map(|diff| diff.text);
        Ok(Effect::Write { path: call.path, diff })
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
                let place = Place::find(&call, &cx.cwd, &stamps)?;
                if cancel.is_cancelled() {
                    return Err(blocking::stopped());
                }
                let bytes = call.content.as_bytes();
                replace(&place.target, place.existing.as_ref(), bytes)?;
                if let Ok(metadata) = std::fs::metadata(&place.target) {
                    stamps.record(&place.target, Stamp::of(&metadata, bytes));
                }
                Ok(place.report(&call, &cx.cwd))
            })
            .await
        })
    }
}

/// Where a call writes, and what is there now.
struct Place {
    target: PathBuf,
    existing: Option<std::fs::Metadata>,
    /// The old text; `None` when there is none to compare with.
    before: Option<String>,
}

impl Place {
    fn find(call: &Call, cwd: &Path, stamps: &FileStamps) -> Result<Self, ToolError> {
        let target = follow_links(&call.path)?;
        let existing = writable(&target)?;
        let before = match &existing {
            None => Some(String::new()),
            Some(metadata) => {
                let bytes = (metadata.len() <= MOST_COMPARED)
                    .then(|| std::fs::read(&target))
                    .transpose()
                    .map_err(|error| failed(&target, "its old content cannot be read", &error))?;
                let now = match &bytes {
                    Some(bytes) => Stamp::of(metadata, bytes),
                    None => Stamp::new(metadata, None),
                };
                if stamps.is_stale(&target, &now) {
                    return Err(changed_since(&locate::shown(&call.path, cwd)));
                }
                bytes.and_then(|bytes| Some(text_file::decode(&bytes, None).ok()?.0))
            }
        };
        Ok(Self { target, existing, before })
    }

    fn difference(&self, content: &str) -> Option<diff::FileDiff> {
        self.before.as_ref().map(|before| diff::unified(before, content))
    }

    fn report(&self, call: &Call, cwd: &Path) -> ToolOutput {
        let lines = counted(call.content.lines().count(), "line");
        let shown = locate::shown(&call.path, cwd);
        let size = Bytes(call.content.len() as u64);
        let difference = self.difference(&call.content);
        let (verb, summary) = match (&self.existing, &difference) {
            (None, _) => ("Made", format!("new · {lines}")),
            (_, Some(same)) if same.added + same.removed == 0 => ("Kept", "unchanged".to_owned()),
            (_, Some(difference)) => ("Replaced", difference.summary()),
            (_, None) => ("Replaced", lines.clone()),
        };
        let mut details = json!({ "summary": summary });
        if let Some(difference) = difference {
            details["diff"] = difference.text.into();
            details["added"] = difference.added.into();
            details["removed"] = difference.removed.into();
        }
        ToolOutput {
            content: vec![Block::text(format!("{verb} {shown} ({lines}, {size})."))],
            details: Some(details),
        }
    }
}
