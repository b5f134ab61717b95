//! The path to the leaf as Markdown: what a person would paste into an issue or keep as notes. Long
//! things are folded; nothing of the session's text is interpreted.

use std::io::{self, Write};

use super::{Secrets, Source, shown};
use crate::message::{
    AssistantMessage, BashExecutionMessage, Block, Content, Message, ToolResultMessage,
};
use crate::session::describe::preview_of_call;
use crate::session::entry::{EntryBody, SessionEntry};

/// Tool output with more lines than this is folded.
const MAX_OPEN_LINES: usize = 12;

pub(super) fn write(
    source: &Source<'_>,
    secrets: Secrets,
    out: &mut dyn Write,
) -> io::Result<Vec<String>> {
    let mut page = Page { out, secrets };
    let (title, path) = {
        let tree = source.reader.tree();
        (tree.name().unwrap_or("Session").to_owned(), tree.path(source.leaf))
    };
    page.text(&format!("# {title}\n\n{} · {}\n", source.header.timestamp, source.header.cwd))?;
    let mut problems = Vec::new();
    for index in path {
        match source.reader.entry(index) {
            Ok(entry) => page.entry(&entry)?,
            Err(error) => {
                let id = source.reader.tree().node(index).id.clone();
                problems.push(format!("entry {id} is left out: {error}"));
            }
        }
    }
    Ok(problems)
}

struct Page<'a> {
    out: &'a mut dyn Write,
    secrets: Secrets,
}

impl Page<'_> {
    fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(shown(text, self.secrets).as_bytes())
    }

    fn section(&mut self, heading: &str, text: &str) -> io::Result<()> {
        self.text(&format!("\n## {heading}\n\n{}\n", text.trim_end()))
    }

    /// A block of text as it is, folded under a line when it is long.
    fn verbatim(&mut self, line: &str, text: &str, language: &str) -> io::Result<()> {
        let fence = fence_for(text);
        let block = format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'));
        if text.lines().count() <= MAX_OPEN_LINES {
            return self.text(&format!("\n{line}\n\n{block}\n"));
        }
        self.folded(line, &block)
    }

    fn folded(&mut self, line: &str, block: &str) -> io::Result<()> {
        self.text(&format!(
            "\n<details><summary>{}</summary>\n\n{block}\n\n</details>\n",
            html(line)
        ))
    }

    fn entry(&mut self, entry: &SessionEntry) -> io::Result<()> {
        match &entry.body {
            EntryBody::Message { message } => self.message(message),
            EntryBody::Compaction(compaction) => {
                let short = compaction.short_summary.as_deref().unwrap_or("Older history");
                self.text("\n---\n")?;
                self.folded(&format!("compacted: {short}"), &compaction.summary)
            }
            EntryBody::BranchSummary(summary) => {
                self.folded("summary of a branch that was left", &summary.summary)
            }
            EntryBody::CustomMessage { content, display: true, custom_type, .. } => {
                self.section(custom_type, &text_of(content))
            }
            EntryBody::ModelChange { provider, model_id } => {
                self.text(&format!("\n*model: {provider}/{model_id}*\n"))
            }
            _ => Ok(()),
        }
    }

    fn message(&mut self, message: &Message) -> io::Result<()> {
        match message {
            Message::User(user) => self.section("You", &text_of(&user.content)),
            Message::Assistant(answer) => self.answer(answer),
            Message::ToolResult(result) => self.result(result),
            Message::BashExecution(run) => self.run(run),
            Message::Custom(custom) | Message::HookMessage(custom) if custom.display => {
                self.section(&custom.custom_type, &text_of(&custom.content))
            }
            Message::BranchSummary(summary) => {
                self.folded("summary of a branch that was left", &summary.summary)
            }
            Message::CompactionSummary(summary) => self.folded("compacted", &summary.summary),
            _ => Ok(()),
        }
    }

    fn answer(&mut self, answer: &AssistantMessage) -> io::Result<()> {
        self.text(&format!("\n## regrow ({})\n", answer.model))?;
        for block in &answer.content {
            match block {
                Block::Text { text, .. } => self.text(&format!("\n{}\n", text.trim_end()))?,
                Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    self.folded("thinking", thinking.trim_end())?;
                }
                Block::ToolCall(call) => {
                    let line = preview_of_call(&call.name, &call.arguments);
                    self.text(&format!("\n{}\n", code(&line)))?;
                }
                _ => {}
            }
        }
        match &answer.error_message {
            Some(error) => self.text(&format!("\n**{}**\n", error.trim())),
            None => Ok(()),
        }
    }

    fn result(&mut self, result: &ToolResultMessage) -> io::Result<()> {
        let field =
            |name: &str| result.details.as_ref().and_then(|details| details.get(name)?.as_str());
        let state = if result.is_error { "failed" } else { "ok" };
        let summary = field("summary").unwrap_or(state);
        let line = format!("{} · {summary}", result.tool_name);
        match field("diff") {
            Some(diff) => self.verbatim(&line, diff, "diff"),
            None => self.verbatim(&line, &text_of(&result.content), ""),
        }
    }

    fn run(&mut self, run: &BashExecutionMessage) -> io::Result<()> {
        let end = match run.exit_code {
            _ if run.cancelled => "stopped".to_owned(),
            Some(code) => format!("exit {code}"),
            None => "killed".to_owned(),
        };
        self.section("You ran", &code(&run.command))?;
        self.verbatim(&end, &run.output, "")
    }
}

fn text_of(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => {
            let parts = blocks.iter().map(|block| match block {
                Block::Text { text, .. } => text.clone(),
                Block::Image(image) => format!("[image: {}]", image.mime_type),
                _ => String::new(),
            });
            parts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// A fence that is longer than any in the text.
fn fence_for(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat((runs + 1).max(3))
}

/// A line as inline code, whatever backticks it has.
fn code(line: &str) -> String {
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let ticks = "`".repeat(longest + 1);
    let blank = if longest > 0 { " " } else { "" };
    format!("{ticks}{blank}{}{blank}{ticks}", line.replace('\n', " "))
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out_of_its_block() {
        assert_eq!(fence_for("plain"), "```");
        assert_eq!(fence_for("a\n````rust\n"), "`````");
        assert_eq!(code("ls"), "`ls`");
        assert_eq!(code("echo `date`\n"), "`` echo `date`  ``");
        assert_eq!(html("<b> & co"), "&lt;b&gt; &amp; co");
    }
}
