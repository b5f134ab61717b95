//! The `find` tool: paths that match a glob (SPEC A2, F98).

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::truncate::{Limits, counted};
use super::walk::{self, Flow, with_notes};
use super::{Effect, Tool, ToolContext, ToolError, ToolOutput};
use super::{blocking, locate, sanitize};
use crate::message::Block;
use crate::provider::ToolSpec;

/// Paths when the call does not say.
const USUAL_LIMIT: u64 = 1_000;

pub(crate) struct FindTool;

struct Call {
    pattern: String,
    root: PathBuf,
    limit: usize,
}

impl Call {
    fn parse(arguments: &Value, cx: &ToolContext) -> Result<Self, ToolError> {
        let arguments = Arguments::new("find", arguments)?;
        let limit = arguments.count(&["limit"], 1)?.unwrap_or(USUAL_LIMIT);
        Ok(Self {
            pattern: arguments.filled_text(&["pattern", "glob", "name"])?.to_owned(),
            root: walk::root(cx, arguments.optional_text(&["path", "directory", "dir"])?)?,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        })
    }
}

impl Tool for FindTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "find".to_owned(),
            description: include_str!("../../prompts/tools/find.md").trim_end().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "Glob, such as *.rs, Cargo.* or src/**/mod.rs"},
                    "path": {"type": "string", "description": "Directory to search (default: the working directory)"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most paths (default 1000)"}
                },
                "required": ["pattern"]
            }),
        }
    }

    fn effect(&self, arguments: &Value, cx: &ToolContext) -> Result<Effect, ToolError> {
        Ok(Effect::Read { paths: vec![Call::parse(arguments, cx)?.root] })
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let call = Call::parse(&arguments, &cx)?;
            let limits = Limits::for_tokens(cx.max_result_tokens);
            blocking::look(cx.cancel.clone(), move |cancel| find(&call, limits, &cx.cwd, cancel))
                .await
        })
    }

    fn parallel(&self) -> bool {
        true
    }
}

/// What a glob is compared with.
enum Wanted {
    Name(GlobMatcher),
    Path(GlobMatcher),
}

impl Wanted {
    fn parse(pattern: &str, root: &Path) -> Result<Self, ToolError> {
        let below_root =
            pattern.strip_prefix(&*root.to_string_lossy()).map(|rest| rest.trim_start_matches('/'));
        let pattern = below_root.unwrap_or(pattern);
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| ToolError::new(format!("find: `pattern` is not a glob: {error}")))?
            .compile_matcher();
        Ok(if pattern.contains('/') { Self::Path(glob) } else { Self::Name(glob) })
    }

    fn matches(&self, inside: &Path) -> bool {
        match self {
            Self::Name(glob) => inside.file_name().is_some_and(|name| glob.is_match(name)),
            Self::Path(glob) => glob.is_match(inside),
        }
    }
}

fn find(
    call: &Call,
    limits: Limits,
    cwd: &Path,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let wanted = Wanted::parse(&call.pattern, &call.root)?;
    let real_root = call.root.canonicalize().unwrap_or_else(|_| call.root.clone());
    let (mut text, mut count, mut full) = (String::new(), 0, false);
    let walked = walk::walk(&walk::builder(&call.root), cancel, |entry, _| {
        let inside = entry.path().strip_prefix(&real_root).unwrap_or(entry.path());
        if entry.depth() == 0 || !wanted.matches(inside) {
            return Flow::On;
        }
        let shown = locate::shown(&call.root.join(inside), cwd);
        let slash = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
        if count == call.limit || text.len() + shown.len() + 2 > limits.bytes {
            full = true;
            return Flow::Stop;
        }
        let (shown, _) = sanitize::with_visible_controls(&shown);
        text.push_str(&shown.replace('\n', "␊"));
        text.push_str(slash);
        text.push('\n');
        count += 1;
        Flow::On
    })?;

    let mut notes = walked.notes();
    if full {
        let shown = counted(count, "path");
        notes
            .insert(0, format!("[The first {shown} are shown, there are more: narrow the search]"));
    }
    let mut summary = counted(count, "path");
    if full {
        summary = format!("{count}+ paths");
    }
    if count == 0 {
        let plain = !call.pattern.contains(['*', '?', '[', '{', '/']);
        let hint = if plain { format!("; try *{}*", call.pattern) } else { String::new() };
        text =
            format!("Nothing matches {} in {}{hint}", call.pattern, locate::shown(&call.root, cwd));
        summary = "nothing".to_owned();
    }
    Ok(ToolOutput {
        content: vec![Block::text(with_notes(text, &notes))],
        details: Some(json!({ "summary": summary, "matches": count })),
    })
}
