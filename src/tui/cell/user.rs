//! What the person said: a bar at the left, as written.

use ratatui::text::{Line, Span};

use super::{Detail, Look};
use crate::message::{Content, UserMessage};
use crate::tui::amount::count;
use crate::tui::text::{one_line, sanitize};
use crate::tui::wrap::{Breaking, Margins, wrap};

/// Lines of a request that are shown in short.
const SHORT: usize = 16;

/// See the module.
#[derive(Debug)]
pub struct UserCell {
    text: String,
    images: Vec<String>,
}

impl UserCell {
    /// From the message.
    #[must_use]
    pub fn new(message: &UserMessage) -> Self {
        Self::from_content(&message.content)
    }

    /// From content that stands in for a message of the person.
    #[must_use]
    pub fn from_content(content: &Content) -> Self {
        Self {
            text: sanitize(content.text().trim_end()).into_owned(),
            images: content.images().map(|image| image.mime_type.clone()).collect(),
        }
    }

    /// What was said.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn draw(&self, look: Look<'_>) -> Vec<Line<'static>> {
        let margins = Margins::same(Span::styled("▌ ", look.theme.accent));
        let width = look.width.saturating_sub(super::INSET);
        let mut lines = Vec::new();
        if !self.text.is_empty() {
            let text = [Span::styled(self.text.as_str(), look.theme.text)];
            lines = wrap(&text, width, &margins, Breaking::Words);
        }
        if look.tools == Detail::Short && lines.len() > SHORT + 1 {
            let hidden = lines.len() - SHORT;
            lines.truncate(SHORT);
            let mut more = look.more(count(hidden, "more line"));
            more.spans.insert(0, margins.rest[0].clone());
            lines.push(more);
        }
        for image in &self.images {
            let label = Span::styled(format!("[{}]", one_line(image)), look.theme.dim);
            lines.push(Line::from(vec![margins.first[0].clone(), label]));
        }
        lines
    }
}
