//! Going to places of the transcript, held or not, and copying from it.

use std::time::Instant;

use super::{App, TWICE};
use crate::session::tree::NodeIndex;
use crate::tui::action::Action;
use crate::tui::editor::Direction;
use crate::tui::effect::{BodyHits, UiEffect};

/// A search through entries that are not held.
#[derive(Debug, Default)]
pub(super) struct Seeking {
    text: String,
    /// What was found so far: the nearest entry above what is held.
    nearest: Option<NodeIndex>,
}

/// What was copied last, for the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copied {
    action: Action,
    steps: usize,
    at: Instant,
}

impl App {
    /// Goes back to the nearest place above that holds a text (`/find`, and again by key). What is not
    /// held is searched in the background.
    pub(super) fn find(&mut self, text: Option<String>, now: Instant) {
        let Some(text) = text.or_else(|| self.sought.clone()) else {
            return self.status.hint("/find TEXT searches back from here", now);
        };
        let Self { transcript, theme, highlights, cwd, .. } = self;
        if !transcript.find_back(&text, theme, highlights, cwd) {
            if self.transcript.has_more_above() {
                self.status.hint(format!("searching what was said before for {text}"), now);
                self.effects.push(UiEffect::SearchBodies(text.clone()));
                self.seeking = Some(Seeking { text: text.clone(), nearest: None });
            } else {
                self.nothing_found(&text, now);
            }
        }
        self.sought = Some(text);
    }

    fn nothing_found(&mut self, text: &str, now: Instant) {
        self.status.hint(format!("nothing above holds {text}; /tree searches everything"), now);
    }

    /// A search through all bodies has found something, or everything.
    pub(super) fn found(&mut self, hits: &BodyHits, now: Instant) {
        let Some(seeking) = self.seeking.as_mut().filter(|seeking| seeking.text == hits.query)
        else {
            return;
        };
        seeking.nearest = self.transcript.last_before_held(&hits.nodes).max(seeking.nearest);
        if !hits.done {
            return;
        }
        let Some(seeking) = self.seeking.take() else { return };
        match (seeking.nearest, &self.reader) {
            (Some(entry), Some(reader)) => {
                self.transcript.go_to_text(&reader.tree(), entry, &seeking.text);
                self.status.clear_hint();
            }
            _ => self.nothing_found(&seeking.text, now),
        }
    }

    /// To the request before, or the next one.
    pub(super) fn go_to_request(&mut self, direction: Direction) {
        if self.transcript.go_to_request(direction) {
            return;
        }
        let Some(reader) = self.reader.clone() else { return };
        let tree = reader.tree();
        match (self.transcript.request_beyond(&tree, direction), direction) {
            (Some(request), _) => self.transcript.go_to(&tree, request),
            (None, Direction::Back) => self.transcript.scroll_to_top(),
            (None, Direction::Forward) => self.transcript.scroll_to_end(),
        }
    }

    /// To the very first entry.
    pub(super) fn go_to_beginning(&mut self) {
        match (self.transcript.first(), &self.reader) {
            (Some(first), Some(reader)) if self.transcript.has_more_above() => {
                self.transcript.go_to(&reader.tree(), first);
            }
            _ => self.transcript.scroll_to_top(),
        }
    }

    /// Copies the last answer or piece of code in view; again at once, the one before.
    pub(super) fn copy(&mut self, action: Action, now: Instant) {
        let goes_on = |copied: &Copied| copied.action == action && now - copied.at < 3 * TWICE;
        let steps = self.copied.filter(goes_on).map_or(0, |copied| copied.steps + 1);
        let text = match action {
            Action::CopyCode => self.transcript.code_back(steps),
            _ => self.transcript.answer_back(steps),
        };
        let what = if action == Action::CopyCode { "code" } else { "answer" };
        match text {
            Some(text) => {
                self.copied = Some(Copied { action, steps, at: now });
                self.effects.push(UiEffect::Copy(text));
            }
            None if steps > 0 => self.status.hint(format!("there is no {what} before that"), now),
            None => self.status.hint(format!("there is no {what} to copy here"), now),
        }
    }
}
