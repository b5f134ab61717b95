//! A command that the person ran with `!` or `!!`, and what it gave.

use ratatui::text::{Line, Span};

use super::tool::{output_lines, tail_lines};
use super::{Detail, Look, with_right_edge};
use crate::message::BashExecutionMessage;
use crate::tui::text::{clip, sanitize, width};

/// Lines of output that are shown in short.
const SHORT: usize = 12;

/// See the module.
#[derive(Debug)]
pub struct ShellCell {
    command: String,
    output: String,
    result: String,
    failed: bool,
    excluded: bool,
}

impl ShellCell {
    /// From the message.
    #[must_use]
    pub fn new(run: &BashExecutionMessage) -> Self {
        let (result, failed) = match (run.cancelled, run.exit_code) {
            (true, _) => ("stopped".to_owned(), true),
            (false, Some(0)) => (String::new(), false),
            (false, Some(code)) => (format!("exit {code}"), true),
            (false, None) => ("killed".to_owned(), true),
        };
        Self {
            command: sanitize(run.command.trim()).into_owned(),
            output: sanitize(run.output.trim_end()).into_owned(),
            result,
            failed,
            excluded: run.exclude_from_context == Some(true),
        }
    }

    /// One that still runs.
    #[must_use]
    pub fn running(command: &str, excluded: bool) -> Self {
        Self {
            command: sanitize(command.trim()).into_owned(),
            output: String::new(),
            result: "running".to_owned(),
            failed: false,
            excluded,
        }
    }

    /// More output of one that runs.
    pub fn progress(&mut self, text: &str) {
        self.output.push_str(text);
    }

    /// Command and output.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n{}", self.command, self.output)
    }

    pub(super) fn draw(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let sign = if self.excluded { "!! " } else { "! " };
        let mut right = self.result.clone();
        if self.excluded {
            let note = "not sent to the model";
            right = if right.is_empty() { note.to_owned() } else { format!("{right} · {note}") };
        }
        let columns = look.text_width();
        let room = columns.saturating_sub(width(sign) + width(&right) + 2);
        let command = self.command.lines().next().unwrap_or_default();
        let left = vec![
            Span::styled(sign, look.theme.accent),
            Span::styled(clip(command, room).into_owned(), look.theme.text),
        ];
        let style = if self.failed { look.theme.error } else { look.theme.dim };
        let mut lines = vec![with_right_edge(left, Span::styled(right, style), columns)];
        match look.tools {
            Detail::Full => lines.extend(output_lines(&sanitize(&self.output), look)),
            Detail::Short => lines.extend(tail_lines(&sanitize(&self.output), SHORT, look)),
        }
        lines
    }
}
