//! The `grep` tool: ripgrep's search over a folder (SPEC A2, F98).

use std::io;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch,
};
use ignore::overrides::OverrideBuilder;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::truncate::{self, Limits, counted};
use super::walk::{self, Flow, with_notes};
use super::{Effect, Tool, ToolContext, ToolError, ToolOutput};
use super::{blocking, locate, sanitize};
use crate::message::Block;
use crate::provider::ToolSpec;

/// Matching lines when the call does not say.
const USUAL_LIMIT: usize = 100;

/// Most matching lines.
const MOST_MATCHES: usize = 2_000;

/// Most lines around a match.
const MOST_CONTEXT: usize = 20;

/// Characters shown of a line.
const LINE_CHARS: usize = 400;

/// Bytes shown before a match that lies far into a long line.
const BEFORE_MATCH: usize = 60;

/// Lines longer than this end the search of their file.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

pub(crate) struct GrepTool;

struct Call {
    pattern: String,
    root: PathBuf,
    globs: Vec<String>,
    ignore_case: bool,
    literal: bool,
    context: usize,
    limit: usize,
}

impl Call {
    fn parse(arguments: &Value, cx: &ToolContext) -> Result<Self, ToolError> {
        let arguments = Arguments::new("grep", arguments)?;
        let count = |names: &[&str], least: u64, usual: usize, most: usize| {
            let count = arguments.count(names, least)?;
            Ok::<_, ToolError>(count.map_or(usual, |count| (count.min(most as u64)) as usize))
        };
        Ok(Self {
            pattern: arguments.filled_text(&["pattern", "query", "regex"])?.to_owned(),
            root: walk::root(cx, arguments.optional_text(&["path", "directory", "dir"])?)?,
            globs: arguments
                .optional_text(&["glob", "include"])?
                .filter(|glob| !glob.is_empty())
                .map(|glob| vec![glob.to_owned()])
                .unwrap_or_default(),
            ignore_case: arguments.flag(&["ignoreCase", "ignore_case", "-i"])?,
            literal: arguments.flag(&["literal"])?,
            context: count(&["context", "-C"], 0, 0, MOST_CONTEXT)?,
            limit: count(&["limit"], 1, USUAL_LIMIT, MOST_MATCHES)?,
        })
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(self.ignore_case).fixed_strings(self.literal).multi_line(true);
        if !self.spans_lines() {
            builder.crlf(true);
        }
        builder.build(&self.pattern).map_err(|error| {
            ToolError::new(format!(
                "grep: `pattern` is not a regular expression in Rust's syntax (no look-around, no \
                 back-references): {error}. To search for the text as it stands set literal to true"
            ))
        })
    }

    fn spans_lines(&self) -> bool {
        self.pattern.contains('\n') || (!self.literal && self.pattern.contains("\\n"))
    }

    fn searcher(&self) -> Searcher {
        let mut builder = SearcherBuilder::new();
        if !self.spans_lines() {
            builder.line_terminator(LineTerminator::crlf());
        }
        builder
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .multi_line(self.spans_lines())
            .binary_detection(BinaryDetection::quit(0))
            .memory_map(MmapChoice::never())
            .heap_limit(Some(LONGEST_LINE))
            .build()
    }
}

impl Tool for GrepTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "grep".to_owned(),
            description: include_str!("../../prompts/tools/grep.md").trim_end().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "Regular expression, or plain text with literal"},
                    "path": {"type": "string", "description": "File or directory to search (default: the working directory)"},
                    "glob": {"type": "string", "description": "Only files that match, such as *.rs, src/**/*.{ts,tsx} or !*.lock"},
                    "ignoreCase": {"type": "boolean"},
                    "literal": {"type": "boolean", "description": "Take the pattern as plain text"},
                    "context": {"type": "integer", "minimum": 0, "description": "Lines to show around each match"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most matching lines (default 100)"}
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
            blocking::look(cx.cancel.clone(), move |cancel| search(&call, limits, &cx.cwd, cancel))
                .await
        })
    }

    fn parallel(&self) -> bool {
        true
    }
}

fn search(
    call: &Call,
    limits: Limits,
    cwd: &Path,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let matcher = call.matcher()?;
    let mut searcher = call.searcher();
    let mut builder = walk::builder(&call.root);
    if !call.globs.is_empty() {
        let mut overrides = OverrideBuilder::new(&call.root);
        for glob in &call.globs {
            overrides.add(glob).map_err(|error| ToolError::new(format!("grep: `glob` {error}")))?;
        }
        let overrides =
            overrides.build().map_err(|error| ToolError::new(format!("grep: `glob` {error}")))?;
        builder.overrides(overrides);
    }
    let real_root = call.root.canonicalize().unwrap_or_else(|_| call.root.clone());
    let mut found = Found::new(&matcher, call.limit, limits, cancel);
    let walked = walk::walk(&builder, cancel, |entry, walked| {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return Flow::On;
        }
        // The walk goes over the real folder; paths are shown as the call names them.
        let inside = entry.path().strip_prefix(&real_root).unwrap_or(entry.path());
        let named =
            if inside.as_os_str().is_empty() { call.root.clone() } else { call.root.join(inside) };
        found.begin(locate::shown(&named, cwd));
        let searched = locate::open_file(entry.path())
            .and_then(|file| searcher.search_file(&matcher, &file, &mut found));
        if searched.is_err() {
            walked.unreadable();
        }
        if found.is_full() { Flow::Stop } else { Flow::On }
    })?;
    Ok(found.present(call, cwd, walked.notes()))
}

/// Takes matches as they are found.
struct Found<'a> {
    text: String,
    file: String,
    files: usize,
    matches: usize,
    in_this_file: bool,
    limit: usize,
    bytes: usize,
    full: Option<Full>,
    matcher: &'a RegexMatcher,
    cancel: &'a CancellationToken,
}

/// Why no more matches are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Full {
    Matches,
    Bytes,
}

impl<'a> Found<'a> {
    fn new(
        matcher: &'a RegexMatcher,
        limit: usize,
        limits: Limits,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            text: String::new(),
            file: String::new(),
            files: 0,
            matches: 0,
            in_this_file: false,
            limit,
            bytes: limits.bytes,
            full: None,
            matcher,
            cancel,
        }
    }

    fn begin(&mut self, file: String) {
        self.file = file;
        self.in_this_file = false;
    }

    const fn is_full(&self) -> bool {
        self.full.is_some()
    }

    fn line(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        let line = String::from_utf8_lossy(self.around_match(line));
        let (line, _) = sanitize::with_visible_controls(line.trim_end_matches(['\n', '\r']));
        let line = truncate::one_line(&line, LINE_CHARS);
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let start = self.text.len();
        self.text.push_str(&format!("{}{mark}{number}{mark} {line}\n", self.file));
        if self.text.len() > self.bytes {
            self.text.truncate(start);
            self.full = Some(Full::Bytes);
        }
    }

    /// A long line from a little before its match on.
    fn around_match<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        if line.len() <= LINE_CHARS {
            return line;
        }
        let start = match self.matcher.find(line) {
            Ok(Some(found)) if found.end() > LINE_CHARS => {
                found.start().saturating_sub(BEFORE_MATCH)
            }
            _ => 0,
        };
        // Not in the middle of a character.
        let start = (start..line.len()).find(|at| line[*at] & 0xc0 != 0x80).unwrap_or(start);
        &line[start..]
    }

    fn present(self, call: &Call, cwd: &Path, mut notes: Vec<String>) -> ToolOutput {
        match self.full {
            Some(Full::Matches) => notes.insert(
                0,
                format!(
                    "[The first {} are shown, there may be more: narrow the search or raise limit]",
                    counted(self.matches, "matching line")
                ),
            ),
            Some(Full::Bytes) => notes.insert(
                0,
                "[The result is full, there are more matches: narrow the search]".to_owned(),
            ),
            None => {}
        }
        let more = if self.full.is_some() { "+" } else { "" };
        let details = |summary: String| json!({ "summary": summary, "matches": self.matches, "files": self.files });
        if self.matches == 0 {
            let place = locate::shown(&call.root, cwd);
            let text = format!("No matches for {} in {place}", call.pattern);
            let details = Some(details("no matches".to_owned()));
            return ToolOutput { content: vec![Block::text(with_notes(text, &notes))], details };
        }
        let summary = format!(
            "{}{more} match{} in {}",
            self.matches,
            if self.matches == 1 && more.is_empty() { "" } else { "es" },
            counted(self.files, "file")
        );
        let details = Some(details(summary));
        ToolOutput { content: vec![Block::text(with_notes(self.text, &notes))], details }
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if !self.in_this_file {
            self.in_this_file = true;
            self.files += 1;
        }
        let first = found.line_number();
        for (index, line) in found.lines().enumerate() {
            let number = first.map(|number| number + index as u64);
            self.line(number, ':', line);
        }
        if self.full.is_none() {
            self.matches += 1;
            if self.matches == self.limit {
                self.full = Some(Full::Matches);
            }
        }
        Ok(self.full.is_none() && !self.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.line(context.line_number(), '-', context.bytes());
        Ok(self.full.is_none() && !self.cancel.is_cancelled())
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.text.push_str("--\n");
        Ok(true)
    }
}
