//! The `ls` tool: one directory (SPEC A2).

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::replace_file::failed;
use super::truncate::{Limits, counted};
use super::walk::{self, Flow, with_notes};
use super::{Effect, Tool, ToolContext, ToolError, ToolOutput};
use super::{blocking, locate, sanitize};
use crate::message::Block;
use crate::provider::ToolSpec;

/// Entries when the call does not say.
const USUAL_LIMIT: u64 = 500;

/// Ignored entries that are named.
const MOST_NAMED: usize = 8;

pub(crate) struct LsTool;

struct Call {
    path: PathBuf,
    limit: usize,
}

impl Call {
    fn parse(arguments: &Value, cx: &ToolContext) -> Result<Self, ToolError> {
        let arguments = Arguments::new("ls", arguments)?;
        let limit = arguments.count(&["limit"], 1)?.unwrap_or(USUAL_LIMIT);
        Ok(Self {
            path: walk::root(cx, arguments.optional_text(&["path", "directory", "dir"])?)?,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        })
    }
}

impl Tool for LsTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "ls".to_owned(),
            description: include_str!("../../prompts/tools/ls.md").trim_end().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Directory to list (default: the working directory)"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most entries (default 500)"}
                }
            }),
        }
    }

    fn effect(&self, arguments: &Value, cx: &ToolContext) -> Result<Effect, ToolError> {
        Ok(Effect::Read { paths: vec![Call::parse(arguments, cx)?.path] })
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let call = Call::parse(&arguments, &cx)?;
            let limits = Limits::for_tokens(cx.max_result_tokens);
            blocking::look(cx.cancel.clone(), move |cancel| list(&call, limits, &cx.cwd, cancel))
                .await
        })
    }

    fn parallel(&self) -> bool {
        true
    }
}

fn list(
    call: &Call,
    limits: Limits,
    cwd: &Path,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let shown_path = locate::shown(&call.path, cwd);
    if !call.path.is_dir() {
        return Err(ToolError::new(format!("{shown_path} is a file, not a directory; use read")));
    }
    let mut names = names(&call.path)?;
    let wanted = not_ignored(&call.path, cancel)?;
    names.sort_by_cached_key(|name| (name.to_string_lossy().to_lowercase(), name.clone()));
    let (listed, ignored): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| wanted.contains(name));

    let (mut text, mut count) = (String::new(), 0);
    for name in listed.iter().take(call.limit) {
        let line = entry(&call.path.join(name), &name.to_string_lossy());
        if text.len() + line.len() + 1 > limits.bytes {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        count += 1;
    }
    let mut notes = Vec::new();
    if count < listed.len() {
        notes.push(format!("[{} of {} are shown]", count, counted(listed.len(), "entry")));
    }
    if !ignored.is_empty() {
        let named: Vec<_> =
            ignored.iter().take(MOST_NAMED).map(|name| name.to_string_lossy()).collect();
        let more = if ignored.len() > MOST_NAMED { ", …" } else { "" };
        let entries = counted(ignored.len(), "ignored entry");
        notes.push(format!("[Not listed: {entries}: {}{more}]", named.join(", ")));
    }
    if listed.is_empty() {
        text = format!("{shown_path} is empty");
    }
    Ok(ToolOutput {
        content: vec![Block::text(with_notes(text, &notes))],
        details: Some(
            json!({ "summary": counted(listed.len(), "entry"), "entries": listed.len() }),
        ),
    })
}

fn names(path: &Path) -> Result<Vec<OsString>, ToolError> {
    let entries =
        std::fs::read_dir(path).map_err(|error| failed(path, "it cannot be listed", &error))?;
    Ok(entries.flatten().map(|entry| entry.file_name()).collect())
}

fn not_ignored(path: &Path, cancel: &CancellationToken) -> Result<HashSet<OsString>, ToolError> {
    let mut builder = walk::builder(path);
    builder.max_depth(Some(1));
    let mut wanted = HashSet::new();
    walk::walk(&builder, cancel, |entry, _| {
        if entry.depth() == 1 {
            wanted.insert(entry.file_name().to_owned());
        }
        Flow::On
    })?;
    Ok(wanted)
}

/// A line for one entry; what is neither file nor directory says so.
fn entry(path: &Path, name: &str) -> String {
    use std::os::unix::fs::FileTypeExt as _;
    let (name, _) = sanitize::with_visible_controls(name);
    let name = name.replace('\n', "␊");
    let Ok(metadata) = path.symlink_metadata() else { return name };
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => format!("{name}/"),
        () if kind.is_symlink() => {
            let target = std::fs::read_link(path).unwrap_or_default();
            let slash = if path.is_dir() { "/" } else { "" };
            format!("{name} -> {}{slash}", target.to_string_lossy())
        }
        () if kind.is_fifo() => format!("{name} (FIFO)"),
        () if kind.is_socket() => format!("{name} (socket)"),
        () if kind.is_char_device() || kind.is_block_device() => format!("{name} (device)"),
        () => name,
    }
}
