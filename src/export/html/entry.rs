//! One entry as HTML. Every text of the session passes [`escape`] or the Markdown renderer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::escape;
use super::markdown;
use crate::export::redact::redact_value;
use crate::export::{Secrets, shown};
use crate::message::{
    AssistantMessage, BashExecutionMessage, Block, Content, Image, Message, ToolResultMessage,
};
use crate::session::describe::preview_of_call;
use crate::session::entry::{EntryBody, SessionEntry};
use crate::tool::sanitize::clean;

/// Writes entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer {
    pub(super) secrets: Secrets,
}

impl Writer {
    /// An `article`; empty for entries that show nothing.
    pub(super) fn entry(self, entry: &SessionEntry) -> String {
        let (kind, who, inner) = match &entry.body {
            EntryBody::Message { message } => match self.message(message) {
                Some(parts) => parts,
                None => return String::new(),
            },
            EntryBody::Compaction(compaction) => {
                let short = compaction.short_summary.as_deref().unwrap_or("older history");
                (
                    "fold",
                    String::new(),
                    self.summary(&format!("compacted: {short}"), &compaction.summary),
                )
            }
            EntryBody::BranchSummary(summary) => (
                "fold",
                String::new(),
                self.summary("summary of a branch that was left", &summary.summary),
            ),
            EntryBody::CustomMessage { content, display: true, custom_type, .. } => {
                ("custom", custom_type.clone(), self.said(content))
            }
            _ => return String::new(),
        };
        let time = entry.timestamp.to_string();
        let time = time.get(..16).unwrap_or(&time).replace('T', " ");
        let id = escape(entry.id.as_str());
        let who = if who.is_empty() { String::new() } else { format!("<b>{}</b>", escape(&who)) };
        let head = match kind {
            "fold" => "<hr>".to_owned(),
            "result" => String::new(),
            _ => format!("<header>{who}<time>{}</time></header>", escape(&time)),
        };
        format!("<article class=\"{kind}\" id=\"{id}\" data-id=\"{id}\">{head}{inner}</article>")
    }

    fn message(self, message: &Message) -> Option<(&'static str, String, String)> {
        Some(match message {
            Message::User(user) => ("user", "You".to_owned(), self.said(&user.content)),
            Message::Assistant(answer) => ("answer", answer.model.clone(), self.answer(answer)),
            Message::ToolResult(result) => ("result", String::new(), self.result(result)),
            Message::BashExecution(run) => ("user", "You ran".to_owned(), self.run(run)),
            Message::Custom(custom) | Message::HookMessage(custom) if custom.display => {
                ("custom", custom.custom_type.clone(), self.said(&custom.content))
            }
            Message::BranchSummary(summary) => (
                "fold",
                String::new(),
                self.summary("summary of a branch that was left", &summary.summary),
            ),
            Message::CompactionSummary(summary) => {
                ("fold", String::new(), self.summary("compacted", &summary.summary))
            }
            _ => return None,
        })
    }

    fn text(self, text: &str) -> String {
        escape(&shown(&clean(text), self.secrets))
    }

    fn markdown(self, text: &str) -> String {
        markdown::render(&shown(&clean(text), self.secrets))
    }

    fn fold(self, class: &str, line: &str, inner: &str) -> String {
        let line = self.text(&line.split_whitespace().collect::<Vec<_>>().join(" "));
        format!("<details class=\"{class}\"><summary>{line}</summary>{inner}</details>")
    }

    fn summary(self, line: &str, text: &str) -> String {
        self.fold("summary", line, &format!("<div>{}</div>", self.markdown(text)))
    }

    fn said(self, content: &Content) -> String {
        let text = content.text();
        let images: String = content.images().map(image).collect();
        let text = if text.trim().is_empty() {
            String::new()
        } else {
            format!("<div class=\"said\">{}</div>", self.text(text.trim()))
        };
        text + &images
    }

    fn answer(self, answer: &AssistantMessage) -> String {
        let mut page = String::new();
        for block in &answer.content {
            match block {
                Block::Text { text, .. } if !text.trim().is_empty() => {
                    page.push_str(&self.markdown(text));
                }
                Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    let inner = format!("<div>{}</div>", self.markdown(thinking));
                    page.push_str(&self.fold("thinking", "thinking", &inner));
                }
                Block::ToolCall(call) => {
                    let mut arguments = call.arguments.clone();
                    if self.secrets == Secrets::Redact {
                        redact_value(&mut arguments);
                    }
                    let line = preview_of_call(&call.name, &arguments);
                    let arguments = match &arguments {
                        Value::String(text) => text.clone(),
                        arguments => serde_json::to_string_pretty(arguments).unwrap_or_default(),
                    };
                    let inner = format!("<pre>{}</pre>", self.text(&arguments));
                    page.push_str(&self.fold("call", &line, &inner));
                }
                _ => {}
            }
        }
        if let Some(error) = &answer.error_message {
            page.push_str(&format!("<p class=\"problem\">{}</p>", self.text(error.trim())));
        }
        page
    }

    fn result(self, result: &ToolResultMessage) -> String {
        let field =
            |name: &str| result.details.as_ref().and_then(|details| details.get(name)?.as_str());
        let (mark, class) = if result.is_error { ("✗", "failed") } else { ("✓", "done") };
        let text = result.content.text();
        let lines = text.lines().count();
        let counted = format!("{lines} {}", if lines == 1 { "line" } else { "lines" });
        let summary = field("summary").map_or(counted, ToOwned::to_owned);
        let inner = match field("diff") {
            Some(diff) => format!("<pre class=\"diff\">{}</pre>", self.diff(diff)),
            None => format!("<pre>{}</pre>", self.text(text.trim_end())),
        };
        let images: String = result.content.images().map(image).collect();
        self.fold(class, &format!("{mark} {} · {summary}", result.tool_name), &inner) + &images
    }

    fn diff(self, diff: &str) -> String {
        // As a whole: what is secret may go over many lines.
        let diff = shown(diff, self.secrets);
        let line = |line: &str| {
            let text = escape(&clean(line));
            match line.as_bytes().first() {
                Some(b'+') => format!("<span class=\"add\">{text}</span>"),
                Some(b'-') => format!("<span class=\"del\">{text}</span>"),
                _ => text + "\n",
            }
        };
        diff.lines().map(line).collect()
    }

    fn run(self, run: &BashExecutionMessage) -> String {
        let end = match run.exit_code {
            _ if run.cancelled => "stopped".to_owned(),
            Some(code) => format!("exit {code}"),
            None => "killed".to_owned(),
        };
        let output = format!("<pre>{}</pre>", self.text(run.output.trim_end()));
        let command = format!("<pre>$ {}</pre>", self.text(&run.command));
        command + &self.fold("done", &end, &output)
    }
}

/// A picture whose bytes are what they are said to be; words in place of any other.
fn image(image: &Image) -> String {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let bytes = BASE64.decode(image.data.as_bytes()).ok();
    let kind = bytes.as_deref().and_then(infer::get).map(|kind| kind.mime_type());
    match (kind, bytes) {
        (Some(kind), Some(bytes)) if known.contains(&kind) && kind == image.mime_type => {
            format!("<p><img alt=\"\" src=\"data:{kind};base64,{}\"></p>", BASE64.encode(bytes))
        }
        _ => format!("<p class=\"problem\">[image: {}]</p>", escape(&image.mime_type)),
    }
}
