//! What can lie over the main screen: a stack, the top one gets the keys first.

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::effect::{BodyHits, UiEffect};
use super::theme::Theme;
use crate::agent_session::event::SessionEvent;
use crate::session::entry::SessionEntry;
use crate::session::tree::NodeIndex;
use crate::settings::edit::Change;
use settings::SettingsSheet;
use std::sync::Arc;

pub mod confirm;
pub mod context;
pub mod help;
pub mod input;
pub mod list;
pub mod login;
pub mod models;
pub mod pager;
pub mod permission;
pub mod sessions;
pub mod settings;
#[cfg(test)]
mod testing;
pub mod tree;

/// A screen over the screen. `update` methods are synchronous and do no I/O.
pub trait Overlay: Send {
    /// A key that nothing above has taken.
    fn key(&mut self, key: KeyEvent) -> Outcome;

    /// Text that was pasted.
    fn paste(&mut self, _text: &str) -> Outcome {
        Outcome::Ignored
    }

    /// The mouse, in screen coordinates.
    fn mouse(&mut self, _mouse: MouseEvent) -> Outcome {
        Outcome::Ignored
    }

    /// Something happened in the session; all overlays hear of it.
    fn session(&mut self, _event: &SessionEvent) -> Outcome {
        Outcome::Ignored
    }

    /// Bodies that were asked for with [`UiEffect::LoadEntries`].
    fn entries(&mut self, _entries: &[(NodeIndex, Arc<SessionEntry>)]) -> Outcome {
        Outcome::Ignored
    }

    /// What a search of [`UiEffect::SearchBodies`] has found.
    fn found(&mut self, _hits: &BodyHits) -> Outcome {
        Outcome::Ignored
    }

    /// A [`UiEffect::ChangeSetting`] was carried out, or was not.
    fn setting_changed(
        &mut self,
        _change: &Change,
        _result: &Result<SettingsSheet, String>,
    ) -> Outcome {
        Outcome::Ignored
    }

    /// What it wants loaded, asked after each drawing: only then it knows what is to be seen. Empty
    /// when nothing is missing; each wish is told once.
    fn wants(&mut self) -> Vec<UiEffect> {
        Vec::new()
    }

    /// Draws into `area` and says where the caret is, if it has one. Overlays cache what depends on
    /// the size, hence `&mut`; they decide nothing here.
    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position>;

    /// Whether the agent waits for its answer.
    fn is_question(&self) -> bool {
        false
    }

    /// Whether it needs the whole screen rather than a part of it.
    fn full_screen(&self) -> bool {
        true
    }
}

/// What an overlay made of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Not for me; the next one below may have it.
    Ignored,
    /// Taken; draw again.
    Consumed,
    /// Taken, and do this.
    Do(Vec<UiEffect>),
    /// Close me, and do this.
    Close(Vec<UiEffect>),
}
