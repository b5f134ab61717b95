//! A tool call and its result: one line that says what and how it ended, and a body only as far as
//! it helps (a failed command shows its end, an edit its diff).

use std::path::Path;

use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{Detail, Look, diff, with_right_edge};
use crate::message::{ToolCall, ToolResultMessage};
use crate::tui::amount::count;
use crate::tui::text::{clip, clip_start, one_line, sanitize, width};
use crate::tui::wrap::{Breaking, Margins, wrap};

/// Lines of a diff that are shown in short.
const SHORT_DIFF: usize = 12;

/// Lines of the end of a failed command.
const SHORT_FAILURE: usize = 8;

/// Lines of the end of a command that runs or went well.
const SHORT_OUTPUT: usize = 4;

/// Most lines that are drawn of one output.
const MOST_LINES: usize = 3_000;

/// Most bytes of output of a running call that are kept for the screen.
const MOST_LIVE: usize = 16_000;

/// Columns between the left edge of a tool's line and its body.
const BODY_INDENT: usize = 4;

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolState {
    /// Its arguments are still coming in, or it waits for its turn.
    Waiting,
    /// It runs.
    Running,
    /// It went well.
    Done,
    /// It failed.
    Failed,
}

/// See the module.
#[derive(Debug)]
pub struct ToolCell {
    call_id: String,
    name: String,
    arguments: Value,
    /// Arguments as they stream, as JSON text.
    partial: String,
    state: ToolState,
    /// At the right edge.
    summary: String,
    diff: Option<String>,
    output: String,
}

impl ToolCell {
    /// A call of an answer.
    #[must_use]
    pub fn new(call: &ToolCall) -> Self {
        Self {
            call_id: call.id.clone(),
            name: one_line(&call.name),
            arguments: call.arguments.clone(),
            partial: String::new(),
            state: ToolState::Waiting,
            summary: String::new(),
            diff: None,
            output: String::new(),
        }
    }

    /// A call whose arguments still stream.
    #[must_use]
    pub fn streaming(id: &str, name: &str) -> Self {
        let call = ToolCall { id: id.to_owned(), name: name.to_owned(), ..ToolCall::default() };
        Self::new(&call)
    }

    /// More of the arguments.
    pub fn push_arguments(&mut self, text: &str) {
        self.partial.push_str(text);
    }

    /// The call's id.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Whether it is the call of that id and has no result yet.
    #[must_use]
    pub fn awaits(&self, call_id: &str) -> bool {
        self.call_id == call_id && matches!(self.state, ToolState::Waiting | ToolState::Running)
    }

    /// How far it is.
    #[must_use]
    pub const fn state(&self) -> ToolState {
        self.state
    }

    /// It runs now.
    pub fn start(&mut self) {
        self.state = ToolState::Running;
    }

    /// Output while it runs.
    pub fn progress(&mut self, text: &str) {
        // What was still on its way when the result came belongs to it already.
        if matches!(self.state, ToolState::Done | ToolState::Failed) {
            return;
        }
        // Kept raw: a progress bar goes back over what it wrote in an earlier piece.
        self.output.push_str(text);
        if self.output.len() > MOST_LIVE {
            let cut = self.output.len() - MOST_LIVE / 2;
            let cut =
                (cut..self.output.len()).find(|at| self.output.is_char_boundary(*at)).unwrap_or(0);
            let cut =
                self.output[cut..].find('\n').map_or(self.output.len(), |feed| cut + feed + 1);
            self.output.drain(..cut);
        }
    }

    /// It ended.
    pub fn finish(&mut self, result: &ToolResultMessage) {
        let detail = |key: &str| result.details.as_ref().and_then(|details| details.get(key));
        let words = |key: &str| detail(key).and_then(Value::as_str);
        self.state = if result.is_error { ToolState::Failed } else { ToolState::Done };
        self.output = sanitize(result.content.text().trim_end()).into_owned();
        self.diff = words("diff").filter(|diff| !diff.trim().is_empty()).map(ToOwned::to_owned);
        self.summary = words("summary").map(one_line).unwrap_or_else(|| match result.pruned_at {
            Some(_) => "pruned".to_owned(),
            None if result.is_error => "failed".to_owned(),
            None => count(self.output.lines().count(), "line"),
        });
        let images = result.content.images().count();
        if images > 0 && self.output.is_empty() {
            self.summary = count(images, "image");
        }
    }

    /// Name, subject and what came of it, in one line without decoration.
    #[must_use]
    pub fn words(&self, cwd: &Path) -> String {
        let words = format!("{} {}", self.name, self.subject(cwd));
        match (&self.state, self.summary.as_str()) {
            (ToolState::Failed, "failed" | "") => format!("{words}: failed"),
            (ToolState::Failed, summary) => format!("{words}: failed, {summary}"),
            (_, "") => words,
            (_, summary) => format!("{words}: {summary}"),
        }
    }

    /// What came, or the change that was made.
    #[must_use]
    pub fn outcome(&self) -> &str {
        self.diff.as_ref().unwrap_or(&self.output)
    }

    /// What was asked and what came.
    #[must_use]
    pub fn text(&self) -> String {
        let subject = self.subject(Path::new(""));
        format!("{} {subject}\n{}", self.name, self.outcome())
    }

    /// The argument that says most, such as the path or the command.
    fn subject(&self, cwd: &Path) -> String {
        let argument = |key: &str| match self.arguments.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            _ => partial_string(&self.partial, key),
        };
        let path = argument("path").or_else(|| argument("file_path"));
        let path = path.map(|path| relative(&path, cwd));
        let number = |key: &str| self.arguments.get(key).and_then(Value::as_u64);
        let subject = match (self.name.as_str(), path) {
            ("read", Some(path)) => match (number("offset"), number("limit")) {
                (Some(offset), Some(limit)) => {
                    format!("{path}:{offset}-{}", offset.saturating_add(limit.max(1) - 1))
                }
                (Some(offset), None) => format!("{path}:{offset}-"),
                _ => path,
            },
            (_, path) => {
                let what =
                    ["command", "pattern", "query", "url", "name"].into_iter().find_map(argument);
                match (what, path) {
                    (Some(what), Some(path)) => format!("{what} in {path}"),
                    (Some(what), None) => what,
                    (None, Some(path)) => path,
                    (None, None) => self.first_argument(),
                }
            }
        };
        let clean = sanitize(&subject);
        let mut lines = clean.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        if lines.next().is_some() { format!("{first} …") } else { first }
    }

    fn first_argument(&self) -> String {
        match &self.arguments {
            Value::Object(fields) => fields
                .iter()
                .next()
                .map(|(key, value)| match value {
                    Value::String(text) => format!("{key}: {text}"),
                    value => format!("{key}: {value}"),
                })
                .unwrap_or_default(),
            Value::String(text) => text.clone(),
            _ => String::new(),
        }
    }

    pub(super) fn draw(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let mut lines = vec![self.head(look)];
        let body = match look.tools {
            Detail::Full => self.full_body(look),
            Detail::Short => self.short_body(look),
        };
        lines.extend(body);
        lines
    }

    fn head(&self, look: Look<'_>) -> Line<'static> {
        let theme = look.theme;
        let (sign, style) = match self.state {
            ToolState::Waiting => ("○ ", theme.dim),
            ToolState::Running => ("● ", theme.accent),
            ToolState::Done => ("✓ ", theme.success),
            ToolState::Failed => ("✗ ", theme.error),
        };
        let name = format!("{:<6} ", self.name);
        let summary = match self.state {
            ToolState::Waiting if self.partial.len() > 200 => {
                format!("{} characters", self.partial.chars().count())
            }
            _ => self.summary.clone(),
        };
        let columns = look.text_width();
        let room = columns.saturating_sub(2 + width(&name));
        let subject = self.subject(look.cwd);
        // The subject is worth more than the summary where there is no room for both.
        let least = width(&subject).min(10);
        let fits = width(&summary) + 2 + least <= room;
        let summary = if fits { summary } else { String::new() };
        let room = room.saturating_sub(if summary.is_empty() { 0 } else { width(&summary) + 2 });
        let subject =
            if self.shows_path() { clip_start(&subject, room) } else { clip(&subject, room) };
        let left = vec![
            Span::styled(sign, style),
            Span::styled(name, theme.text),
            Span::styled(subject.into_owned(), theme.text),
        ];
        let edge = if self.state == ToolState::Failed { theme.error } else { theme.dim };
        with_right_edge(left, Span::styled(summary, edge), columns)
    }

    fn shows_path(&self) -> bool {
        matches!(self.name.as_str(), "read" | "write" | "edit" | "ls")
    }

    fn short_body(&self, look: Look<'_>) -> Vec<Line<'static>> {
        match (self.state, &self.diff) {
            (ToolState::Failed, _) => tail_lines(&self.output, SHORT_FAILURE, look),
            (ToolState::Done, Some(diff)) => {
                let mut lines = indented(diff::draw(diff, body_width(look), look.theme));
                if lines.len() > SHORT_DIFF + 1 {
                    let hidden = lines.len() - SHORT_DIFF;
                    lines.truncate(SHORT_DIFF);
                    lines.extend(indented(vec![look.more(count(hidden, "more line"))]));
                }
                lines
            }
            (ToolState::Running, _) => tail_lines(&sanitize(&self.output), SHORT_OUTPUT, look),
            (ToolState::Done, None) if self.name == "bash" => {
                tail_lines(&self.output, SHORT_OUTPUT, look)
            }
            _ => Vec::new(),
        }
    }

    fn full_body(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some(Value::String(command)) = self.arguments.get("command")
            && (command.contains('\n') || width(command) + 12 > look.text_width())
        {
            lines.extend(output_lines(&sanitize(command), look));
        }
        match &self.diff {
            Some(diff) if self.state == ToolState::Done => {
                lines.extend(indented(diff::draw(diff, body_width(look), look.theme)));
            }
            _ => lines.extend(output_lines(&sanitize(&self.output), look)),
        }
        lines
    }
}

fn body_width(look: Look<'_>) -> usize {
    look.text_width().saturating_sub(BODY_INDENT)
}

fn indented(lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    lines
        .into_iter()
        .map(|mut line| {
            line.spans.insert(0, Span::raw(" ".repeat(BODY_INDENT)));
            line
        })
        .collect()
}

/// All lines of an output, up to a limit.
pub(super) fn output_lines(output: &str, look: Look<'_>) -> Vec<Line<'static>> {
    let total = output.lines().count();
    let mut lines = Vec::new();
    for text in output.lines().take(MOST_LINES) {
        lines.extend(output_line(text, look));
    }
    if total > MOST_LINES {
        let note = format!("… {} more", count(total - MOST_LINES, "line"));
        lines.extend(indented(vec![Line::styled(note, look.theme.dim)]));
    }
    lines
}

/// The last lines of an output, each cut to the width.
pub(super) fn tail_lines(output: &str, most: usize, look: Look<'_>) -> Vec<Line<'static>> {
    let output = output.trim_end();
    let total = output.lines().count();
    // Hiding a single line would save nothing.
    let shown = if total <= most + 1 { total } else { most };
    let room = body_width(look);
    let cut = |text: &str| Line::styled(clip(text, room).into_owned(), look.theme.dim);
    let mut lines: Vec<Line<'static>> = output.lines().skip(total - shown).map(cut).collect();
    if shown < total {
        lines.push(look.more(format!("{} above", count(total - shown, "line"))));
    }
    indented(lines)
}

fn output_line(text: &str, look: Look<'_>) -> Vec<Line<'static>> {
    let span = Span::styled(text, look.theme.dim);
    let margins = Margins::blank(BODY_INDENT);
    wrap(&[span], look.text_width(), &margins, Breaking::Anywhere)
}

/// A path as seen from the session's folder.
fn relative(path: &str, cwd: &Path) -> String {
    let inside = Path::new(path).strip_prefix(cwd).ok().filter(|_| !cwd.as_os_str().is_empty());
    match inside {
        Some(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Some(inside) => inside.to_string_lossy().into_owned(),
        None => path.to_owned(),
    }
}

/// The value of a text field in JSON that may break off anywhere.
fn partial_string(json: &str, key: &str) -> Option<String> {
    let after = json.split_once(&format!("\"{key}\""))?.1;
    let value = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push(' '),
                Some('u') | None => break,
                Some(escaped) => text.push(escaped),
            },
            character => text.push(character),
        }
        if text.len() > 400 {
            break;
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Content;
    use crate::tui::highlight::Highlights;
    use crate::tui::theme::Theme;
    use serde_json::json;

    fn draw(cell: &ToolCell, columns: usize, tools: Detail) -> Vec<String> {
        let (theme, highlights) = (Theme::dark(), Highlights::off());
        let look = Look {
            theme: &theme,
            highlights: &highlights,
            width: columns,
            tools,
            thinking: Detail::Short,
            cwd: Path::new("/home/me/shop"),
        };
        let lines: Vec<String> = cell.draw(look).iter().map(ToString::to_string).collect();
        assert!(lines.iter().all(|line| width(line) <= columns - 4), "{lines:#?}");
        lines
    }

    fn call(name: &str, arguments: Value) -> ToolCell {
        ToolCell::new(&ToolCall {
            id: "c".into(),
            name: name.into(),
            arguments,
            ..Default::default()
        })
    }

    fn result(text: &str, details: Value, is_error: bool) -> ToolResultMessage {
        ToolResultMessage {
            content: Content::from_text(text),
            details: Some(details),
            is_error,
            ..Default::default()
        }
    }

    #[test]
    fn u1_a_read_is_one_line() {
        let mut cell = call("read", json!({"path": "/home/me/shop/src/auth/validate.rs"}));
        assert_eq!(draw(&cell, 50, Detail::Short), ["○ read   src/auth/validate.rs"]);
        cell.finish(&result("1 a\n2 b", json!({"summary": "212 lines"}), false));
        assert_eq!(
            draw(&cell, 50, Detail::Short),
            ["✓ read   src/auth/validate.rs        212 lines"]
        );
        assert_eq!(draw(&cell, 36, Detail::Short), ["✓ read   …validate.rs  212 lines"]);
        assert_eq!(draw(&cell, 50, Detail::Full)[1..], ["    1 a", "    2 b"]);
    }

    #[test]
    fn u1_a_failed_command_shows_its_end() {
        let mut cell = call("bash", json!({"command": "cargo test"}));
        cell.start();
        cell.progress("compiling\u{1b}[0m\n");
        assert_eq!(draw(&cell, 40, Detail::Short), ["● bash   cargo test", "    compiling"]);
        let output: Vec<String> = (1..=30).map(|number| format!("line {number}")).collect();
        cell.finish(&result(&output.join("\n"), json!({"summary": "exit 101"}), true));
        let lines = draw(&cell, 40, Detail::Short);
        assert_eq!(lines[0], "✗ bash   cargo test         exit 101");
        assert_eq!(lines[1], "    line 23");
        assert_eq!(lines[9], "    … 22 lines above · ctrl+o");
        cell.progress("late\u{1b}[2J");
        assert_eq!(draw(&cell, 40, Detail::Short), lines, "the result has it already");
    }

    #[test]
    fn u1_an_edit_shows_its_diff() {
        let mut cell = call("edit", json!({"path": "a.rs"}));
        let diff = "@@ -1 +1 @@\n-a\n+b\n";
        cell.finish(&result("ok", json!({"summary": "+1 −1", "diff": diff}), false));
        assert_eq!(
            draw(&cell, 30, Detail::Short),
            ["✓ edit   a.rs        +1 −1", "    1 │ - a", "    1 │ + b"]
        );
    }

    #[test]
    fn u1_streaming_arguments_show_what_is_known() {
        let mut cell = ToolCell::streaming("c", "write");
        cell.push_arguments("{\"path\": \"src/\\\"x\\\".rs\", \"content\": \"");
        assert_eq!(draw(&cell, 40, Detail::Short), ["○ write  src/\"x\".rs"]);
        assert_eq!(partial_string("{\"path\": \"a", "path").as_deref(), Some("a"));
        assert_eq!(partial_string("{\"pa", "path"), None);
    }

    #[test]
    fn f75_live_output_is_bounded() {
        let mut cell = call("bash", json!({"command": "yes"}));
        for _ in 0..10_000 {
            cell.progress("yes yes yes\n");
        }
        assert!(cell.output.len() <= MOST_LIVE);
    }
}
