//! The `read` tool: a bounded part of a text file with line numbers, or an image (SPEC A2, F79).
//!
//! Files are streamed: a window of lines is kept, the rest is only counted. Nothing but ordinary
//! files is ever opened, because opening a FIFO or a device can hang or do something.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use encoding_rs::Encoding;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::replace_file::{failed, kind_of};
use super::stamps::{ContentHash, FileStamps, Stamp};
use super::text_file::{self, Form, NotText};
use super::truncate::{Bytes, Limits, counted, grouped};
use super::{Effect, Tool, ToolContext, ToolError, ToolOutput};
use super::{blocking, locate, read_image, sanitize};
use crate::provider::ToolSpec;

/// Bytes by which a file's kind is told.
const SAMPLE: usize = 8 * 1024;

/// Files in other forms than UTF-8 are converted whole, up to this size.
const MOST_CONVERTED: u64 = 32 * 1024 * 1024;

/// How far the lines behind the window are counted.
const MOST_COUNTED: u64 = 256 * 1024 * 1024;

/// What a line number and its tab are taken for.
const NUMBER_COST: usize = 6;

pub(crate) struct ReadTool {
    pub(crate) stamps: FileStamps,
}

struct Call {
    path: PathBuf,
    /// First line, from 1.
    offset: usize,
    lines: Option<usize>,
    encoding: Option<&'static Encoding>,
}

impl Call {
    fn parse(arguments: &Value, cx: &ToolContext) -> Result<Self, ToolError> {
        let arguments = Arguments::new("read", arguments)?;
        let encoding = match arguments.optional_text(&["encoding"])? {
            None => None,
            Some(label) => Some(
                text_file::named(label)
                    .ok_or_else(|| arguments.error("encoding", &format!("{label} is not known")))?,
            ),
        };
        let count = |names: &[&str]| -> Result<Option<usize>, ToolError> {
            Ok(arguments.count(names, 1)?.map(|count| usize::try_from(count).unwrap_or(usize::MAX)))
        };
        Ok(Self {
            path: locate::existing(cx, arguments.filled_text(locate::PATH)?),
            offset: count(&["offset"])?.unwrap_or(1),
            lines: count(&["limit"])?,
            encoding,
        })
    }
}

impl Tool for ReadTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read".to_owned(),
            description: include_str!("../../prompts/tools/read.md").trim_end().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "File to read, relative to the working directory or absolute"},
                    "offset": {"type": "integer", "minimum": 1, "description": "First line to read, from 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most lines to read"},
                    "encoding": {"type": "string", "description": "Only for files that are neither UTF-8 nor UTF-16, such as euc-kr"}
                },
                "required": ["path"]
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
        let stamps = self.stamps.clone();
        Box::pin(async move {
            let call = Call::parse(&arguments, &cx)?;
            let limits = Limits::for_tokens(cx.max_result_tokens);
            blocking::look(cx.cancel.clone(), move |cancel| {
                read(&call, limits, &stamps, cancel, &cx.cwd)
            })
            .await
        })
    }

    fn parallel(&self) -> bool {
        true
    }
}

fn read(
    call: &Call,
    limits: Limits,
    stamps: &FileStamps,
    cancel: &CancellationToken,
    cwd: &Path,
) -> Result<ToolOutput, ToolError> {
    let path = &call.path;
    let mut file = open(path, cwd)?;
    let metadata = file.metadata().map_err(|error| failed(path, "reading failed", &error))?;
    let mut sample = Vec::with_capacity(SAMPLE);
    let read_on = |error| failed(path, "reading failed", &error);
    (&mut file).take(SAMPLE as u64).read_to_end(&mut sample).map_err(read_on)?;

    if let Some(kind) = read_image::kind(&sample) {
        return read_image::load(path, file, sample, metadata.len(), kind);
    }
    let limits = Limits { lines: call.lines.unwrap_or(limits.lines).min(limits.lines), ..limits };
    let mut window = Window::new(call.offset, limits);
    let form = text_file::announced(&sample, call.encoding);
    let Form::Utf8 { mark } = form else {
        let stamp = convert(call, file, sample, metadata.len(), &mut window)?;
        stamps.record(path, Stamp::of(&metadata, &stamp));
        return window.present(call, form);
    };
    text_start(&sample).map_err(|what| refused(path, &what))?;

    let mut hash = ContentHash::default();
    hash.update(&sample);
    window.take(if mark { &sample[3..] } else { &sample });
    let mut buffer = vec![0; 256 * 1024];
    let mut seen = sample.len() as u64;
    let whole = loop {
        if cancel.is_cancelled() {
            return Err(blocking::stopped());
        }
        if window.is_full() && seen > MOST_COUNTED {
            break false;
        }
        match file.read(&mut buffer).map_err(read_on)? {
            0 => break true,
            count => {
                hash.update(&buffer[..count]);
                window.take(&buffer[..count]);
                seen += count as u64;
            }
        }
    };
    window.ended = whole;
    stamps.record(path, Stamp::new(&metadata, whole.then(|| hash.value())));
    window.present(call, form)
}

/// Opens an ordinary file, or says why not.
fn open(path: &Path, cwd: &Path) -> Result<File, ToolError> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => locate::not_found(path, cwd),
        _ => failed(path, "it cannot be read", &error),
    })?;
    if !metadata.is_file() {
        let advice = if metadata.is_dir() { "list it with ls" } else { "only files can be read" };
        let kind = kind_of(&metadata);
        return Err(ToolError::new(format!("{} is {kind}, not a file; {advice}", path.display())));
    }
    locate::open_file(path).map_err(|error| failed(path, "it cannot be opened", &error))
}

fn refused(path: &Path, what: &NotText) -> ToolError {
    ToolError::new(format!("{} {}", path.display(), what.explain()))
}

/// Whether a file that begins so is text; a character cut at the sample's end is no mistake.
fn text_start(sample: &[u8]) -> Result<(), NotText> {
    match std::str::from_utf8(sample) {
        Err(error) if error.error_len().is_none() && sample.len() >= SAMPLE => {
            text_file::utf8(&sample[..error.valid_up_to()]).map(|_| ())
        }
        _ => text_file::utf8(sample).map(|_| ()),
    }
}

/// Takes a file that is not in UTF-8 whole; returns its bytes.
fn convert(
    call: &Call,
    mut file: File,
    mut bytes: Vec<u8>,
    len: u64,
    window: &mut Window,
) -> Result<Vec<u8>, ToolError> {
    let path = &call.path;
    if len > MOST_CONVERTED {
        return Err(ToolError::new(format!(
            "{} has {}; files in other encodings than UTF-8 are read up to {}. Convert it with \
             iconv first",
            path.display(),
            Bytes(len),
            Bytes(MOST_CONVERTED)
        )));
    }
    (&mut file)
        .take(MOST_CONVERTED)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(path, "reading failed", &error))?;
    let (text, _) =
        text_file::decode(&bytes, call.encoding).map_err(|what| refused(path, &what))?;
    window.take(text.as_bytes());
    window.ended = true;
    Ok(bytes)
}

/// The lines that are wanted, picked from a stream that may be cut anywhere.
struct Window {
    first: usize,
    limits: Limits,
    bytes: Vec<u8>,
    /// Whole lines in `bytes`.
    taken: usize,
    /// Where the line begins that is being taken.
    line_start: usize,
    /// The first wanted line did not fit: `bytes` is its beginning.
    clipped: bool,
    closed: bool,
    /// Bytes of the stream before the window.
    skipped: u64,
    /// Line that the stream is in, from 1, and whether anything of it has come.
    line: usize,
    inside: bool,
    /// Bytes of the clipped line, as far as it has come.
    clipped_line: u64,
    ended: bool,
}

impl Window {
    fn new(first: usize, limits: Limits) -> Self {
        Self {
            first,
            limits,
            bytes: Vec::new(),
            taken: 0,
            line_start: 0,
            clipped: false,
            closed: false,
            skipped: 0,
            line: 1,
            inside: false,
            clipped_line: 0,
            ended: false,
        }
    }

    const fn is_full(&self) -> bool {
        self.closed
    }

    fn take(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            if self.closed && !self.clipped {
                self.count(chunk);
                return;
            }
            let end = memchr::memchr(b'\n', chunk).map_or(chunk.len(), |at| at + 1);
            let (segment, rest) = chunk.split_at(end);
            self.segment(segment);
            chunk = rest;
        }
    }

    fn count(&mut self, chunk: &[u8]) {
        self.line += memchr::memchr_iter(b'\n', chunk).count();
        self.inside = chunk.last() != Some(&b'\n');
    }

    fn segment(&mut self, segment: &[u8]) {
        if self.line < self.first {
            self.skipped += segment.len() as u64;
        } else if !self.closed {
            self.keep(segment);
        }
        if self.clipped && self.line == self.first {
            self.clipped_line += segment.len() as u64;
        }
        self.inside = segment.last() != Some(&b'\n');
        if !self.inside {
            self.line += 1;
        }
    }

    fn keep(&mut self, segment: &[u8]) {
        let room = self.limits.bytes.saturating_sub(self.bytes.len() + self.taken * NUMBER_COST);
        if segment.len() > room {
            self.closed = true;
            if self.taken == 0 {
                self.clipped = true;
                self.clipped_line = self.bytes.len() as u64;
                self.bytes.extend_from_slice(&segment[..room]);
            } else {
                self.bytes.truncate(self.line_start);
            }
            return;
        }
        self.bytes.extend_from_slice(segment);
        if segment.last() == Some(&b'\n') {
            self.taken += 1;
            self.line_start = self.bytes.len();
            self.closed = self.taken == self.limits.lines;
        }
    }

    /// Lines that have come; the last one need not have an end.
    const fn lines(&self) -> usize {
        self.line - 1 + self.inside as usize
    }

    fn present(self, call: &Call, form: Form) -> Result<ToolOutput, ToolError> {
        let path = &call.path;
        let lines = self.lines();
        if lines == 0 {
            return Ok(ToolOutput::text("(empty file)", "empty"));
        }
        if self.first > lines && self.ended {
            return Err(ToolError::new(format!(
                "read: `offset` {} is past the end: {} has {}",
                self.first,
                path.display(),
                counted(lines, "line")
            )));
        }
        let text = self.text(path)?;
        let (text, controls) = sanitize::with_visible_controls(text);
        let text = text.replace("␍\n", "\n");
        let controls = controls && text.contains(is_control_picture);
        let shown = text.split_inclusive('\n').count();
        let mut out = numbered(&text, self.first, shown);

        if let Some(name) = form.name() {
            out.push_str(&format!("\n[The file is in {name}; edit keeps that.]"));
        }
        if controls {
            out.push_str("\n[Control characters are shown as pictures, such as ␛ for ESC.]");
        }
        let last = self.first + shown.saturating_sub(1);
        let total =
            if self.ended { grouped(lines) } else { format!("more than {}", grouped(lines)) };
        if self.clipped {
            out.push_str(&self.how_to_go_on_in_the_line(path, text.len(), form));
        } else if last < lines {
            out.push_str(&format!(
                "\n[Lines {}–{} of {total}. Read on with offset={}.]",
                grouped(self.first),
                grouped(last),
                last + 1
            ));
        }
        let summary = match (self.first, self.clipped) {
            (_, true) => format!("{} of a line", Bytes(text.len() as u64)),
            (1, _) if last == lines && self.ended => counted(lines, "line"),
            _ => format!("lines {}–{} of {total}", grouped(self.first), grouped(last)),
        };
        let details = json!({ "summary": summary, "lines": shown, "totalLines": lines });
        Ok(ToolOutput { content: vec![crate::message::Block::text(out)], details: Some(details) })
    }

    /// The window's text; a character that was clipped with its line is left out.
    fn text(&self, path: &Path) -> Result<&str, ToolError> {
        let clipped = match std::str::from_utf8(&self.bytes) {
            Err(error) if self.clipped && error.error_len().is_none() => error.valid_up_to(),
            _ => self.bytes.len(),
        };
        text_file::utf8(&self.bytes[..clipped]).map_err(|what| match what {
            NotText::Invalid { encoding, offset: Some(offset) } => {
                let offset = usize::try_from(self.skipped).ok().map(|skipped| skipped + offset);
                refused(path, &NotText::Invalid { encoding, offset })
            }
            what => refused(path, &what),
        })
    }

    fn how_to_go_on_in_the_line(&self, path: &Path, shown: usize, form: Form) -> String {
        let line = self.first;
        let size = if self.ended || self.line > line { "" } else { "more than " };
        let mut note = format!(
            "\n[Line {line} has {size}{}; its first {} are shown.",
            Bytes(self.clipped_line),
            Bytes(shown as u64)
        );
        if form.name().is_none() {
            let next = self.skipped + shown as u64 + 1;
            note.push_str(&format!(
                " More of it: bash `tail -c +{next} {} | head -c {}`.",
                shell_word(path),
                self.limits.bytes
            ));
        }
        if self.lines() > line {
            note.push_str(&format!(" Next line: offset={}.", line + 1));
        }
        note.push(']');
        note
    }
}

const fn is_control_picture(character: char) -> bool {
    matches!(character, '\u{2400}'..='\u{2421}' | '\u{fffd}')
}

fn numbered(text: &str, first: usize, count: usize) -> String {
    let width = (first + count.saturating_sub(1)).to_string().len();
    let mut out = String::with_capacity(text.len() + count * (width + 1));
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = first + index;
        out.push_str(&format!("{number:>width$}\t{line}"));
    }
    if out.ends_with('\n') {
        out.pop();
    }
    out
}

fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
    if text.bytes().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
