//! Summaries by the offline model: the prompt's own text, summed up by extraction. Pure.

use crate::compaction::extractive::{Shape, extract_transcript};
use crate::compaction::prompts::Template;
use crate::message::Message;
use crate::provider::Request;

/// The answer to a request for a summary (C16).
pub(super) fn summarize(request: &Request) -> String {
    let asked = request.messages.iter().find_map(|message| match &**message {
        Message::User(user) => Some(user.content.text()),
        _ => None,
    });
    let prompt = asked.unwrap_or_default();
    let (conversation, rest) = block(&prompt, "conversation").unwrap_or((&prompt, ""));
    let previous = block(rest, "previous-summary");
    let asked = previous.map_or(rest, |(_, rest)| rest);
    let conversation = conversation.replace("<\\/conversation>", "</conversation>");
    let previous = previous.map(|(text, _)| text);
    extract_transcript(&conversation, previous, shape_of(asked), request.max_tokens * 4 / 5)
}

/// What stands between a tag at the beginning of the text and its end, and what follows.
fn block<'a>(text: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let body = text.trim_start().strip_prefix(&format!("<{tag}>\n"))?;
    let close = format!("</{tag}>");
    if let Some(rest) = body.strip_prefix(&close) {
        return Some(("", rest));
    }
    body.split_once(&format!("\n{close}"))
}

fn shape_of(asked: &str) -> Shape {
    let asks_for = |template: Template| {
        let text = template.text(None, false);
        let first = text.lines().next().unwrap_or_default();
        !first.is_empty() && asked.contains(first)
    };
    if asks_for(Template::ShortSummary) {
        Shape::Short
    } else if asks_for(Template::TurnPrefix) {
        Shape::TurnPrefix
    } else {
        Shape::Checkpoint
    }
}
