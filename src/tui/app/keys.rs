//! What keys and the mouse do.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};

use super::{App, TWICE};
use crate::agent_session::command::{Delivery, SessionCommand};
use crate::provider::ThinkingLevel;
use crate::tui::action::Action;
use crate::tui::editor::{Direction, Distance};
use crate::tui::effect::UiEffect;
use crate::tui::menu::Kind;

/// Lines that the mouse wheel moves by.
const WHEEL: isize = 3;

/// Whoever is typing when a question appears goes on typing for this long.
const TYPING: Duration = Duration::from_millis(700);

impl App {
    pub(super) fn key(&mut self, key: KeyEvent, now: Instant) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        let action = self.keymap.action(&key);
        if self.overlays.is_empty() {
            if !self.menu_key(action, now) {
                self.main_key(key, action, now);
            }
            return;
        }
        if self.is_typing(key, now) {
            return self.main_key(key, action, now);
        }
        if !self.top_overlay(|overlay| overlay.key(key)) {
            self.key_behind_overlay(action, now);
        }
    }

    /// Whether a key belongs to what was being typed when a question appeared.
    fn is_typing(&mut self, key: KeyEvent, now: Instant) -> bool {
        let typing = self.typing_until.is_some_and(|until| now < until)
            && matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace)
            && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        self.typing_until = typing.then(|| now + TYPING);
        typing
    }

    /// A question appeared.
    pub(super) fn guard_typing(&mut self, now: Instant) {
        let typing =
            self.last_typed.is_some_and(|last| now.saturating_duration_since(last) < TYPING);
        self.typing_until = typing.then(|| now + TYPING);
    }

    /// Keys that work whatever lies over the screen.
    fn key_behind_overlay(&mut self, action: Option<Action>, now: Instant) {
        let covered = self.overlays.iter().any(|overlay| overlay.full_screen());
        match action {
            Some(Action::Suspend) => self.effects.push(UiEffect::Suspend),
            Some(Action::Clear) if covered => {
                self.overlays.pop();
            }
            Some(Action::Clear) => self.clear(now),
            Some(
                action @ (Action::PageUp
                | Action::PageDown
                | Action::ScrollUp
                | Action::ScrollDown
                | Action::ScrollTop
                | Action::ScrollEnd
                | Action::ToggleTools
                | Action::ToggleThinking),
            ) if !covered => self.act(action, now),
            _ => {}
        }
    }

    /// Keys of the menu, while it is open.
    fn menu_key(&mut self, action: Option<Action>, now: Instant) -> bool {
        let Some(menu) = &mut self.menu else { return false };
        match action {
            Some(Action::Up) => menu.step(true),
            Some(Action::Down) => menu.step(false),
            Some(Action::Interrupt) => self.close_menu(),
            Some(Action::Complete) => self.choose(),
            Some(Action::Submit) => {
                let is_command = matches!(menu.kind(), Kind::Commands(_));
                let complete = menu.choice().complete;
                self.choose();
                if is_command && complete {
                    self.submit(Delivery::Steer, now);
                }
            }
            _ => return false,
        }
        true
    }

    fn choose(&mut self) {
        let Some(choice) = self.menu.as_ref().map(crate::tui::menu::Menu::choice) else { return };
        // More may have been typed since the list was made.
        let typed = match crate::tui::menu::kind_for(self.editor.before_caret(), "") {
            Some(Kind::Files(query)) => query.len(),
            _ => choice.replaces,
        };
        self.editor.replace_before(typed, &choice.text);
        self.close_menu();
        // A folder that was chosen shows what is in it.
        if choice.text.ends_with('/') {
            self.refresh_menu();
        }
    }

    fn main_key(&mut self, key: KeyEvent, action: Option<Action>, now: Instant) {
        match (action, key.code) {
            (Some(action), _) => self.act(action, now),
            (None, KeyCode::Char(character))
                if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
            {
                self.editor.insert(character.encode_utf8(&mut [0; 4]));
                self.typed(now);
            }
            _ => {}
        }
    }

    fn act(&mut self, action: Action, now: Instant) {
        if action != Action::Interrupt {
            self.last_escape = None;
        }
        match action {
            Action::Submit => self.enter(now),
            Action::FollowUp if self.status.is_busy() => self.submit(Delivery::FollowUp, now),
            Action::Newline | Action::FollowUp => self.insert_newline(now),
            Action::Interrupt => self.interrupt(now),
            Action::Clear => self.clear(now),
            Action::Quit if self.editor.is_empty() => self.quit(),
            Action::Quit => self.edit(Action::DeleteForward, now),
            Action::Suspend => self.effects.push(UiEffect::Suspend),
            Action::TakeQueue => self.send(SessionCommand::TakeQueue),
            Action::PickModel
            | Action::OpenTree
            | Action::ShowKeys
            | Action::Find
            | Action::CopyAnswer
            | Action::CopyCode
            | Action::PasteClipboard
            | Action::SearchHistory => self.open_by_key(action, now),
            Action::CycleThinking => self.cycle_thinking(),
            Action::ToggleTools => self.transcript.toggle_tools(),
            Action::ToggleThinking => self.transcript.toggle_thinking(),
            Action::ToggleTimes => self.times = !self.times,
            Action::ExternalEditor => {
                let text = self.editor.text();
                self.effects.push(UiEffect::EditExternally(text));
            }
            Action::PageUp
            | Action::PageDown
            | Action::ScrollUp
            | Action::ScrollDown
            | Action::ScrollTop
            | Action::ScrollEnd
            | Action::PreviousRequest
            | Action::NextRequest => self.scroll(action),
            Action::Complete => self.refresh_menu(),
            action => self.edit(action, now),
        }
    }

    fn scroll(&mut self, action: Action) {
        let page = self.transcript_rows.saturating_sub(2).max(1) as isize;
        match action {
            Action::PageUp => self.transcript.scroll_by(-page),
            Action::PageDown => self.transcript.scroll_by(page),
            Action::ScrollUp => self.transcript.scroll_by(-1),
            Action::ScrollDown => self.transcript.scroll_by(1),
            Action::ScrollTop => self.go_to_beginning(),
            Action::PreviousRequest => self.go_to_request(Direction::Back),
            Action::NextRequest => self.go_to_request(Direction::Forward),
            _ => self.transcript.scroll_to_end(),
        }
    }

    fn edit(&mut self, action: Action, now: Instant) {
        use Direction::{Back, Forward};
        let editor = &mut self.editor;
        match action {
            Action::Left => editor.go(Back, Distance::Character),
            Action::Right => editor.go(Forward, Distance::Character),
            Action::WordLeft => editor.go(Back, Distance::Word),
            Action::WordRight => editor.go(Forward, Distance::Word),
            Action::LineStart => editor.go(Back, Distance::Line),
            Action::LineEnd => editor.go(Forward, Distance::Line),
            Action::Up => editor.go_row(Back, self.editor_columns),
            Action::Down => editor.go_row(Forward, self.editor_columns),
            Action::DeleteBack => editor.delete(Back, Distance::Character),
            Action::DeleteForward => editor.delete(Forward, Distance::Character),
            Action::DeleteWordBack => editor.delete(Back, Distance::Word),
            Action::DeleteWordForward => editor.delete(Forward, Distance::Word),
            Action::KillToEnd => editor.delete(Forward, Distance::Line),
            Action::KillToStart => editor.delete(Back, Distance::Line),
            Action::Yank => editor.yank(),
            Action::Undo => editor.undo(),
            Action::Redo => editor.redo(),
            _ => return,
        }
        match action {
            Action::DeleteBack | Action::DeleteForward | Action::Yank => self.typed(now),
            // Walking through what was sent before opens no menus.
            Action::Up | Action::Down => self.close_menu(),
            _ => self.refresh_menu(),
        }
    }

    fn enter(&mut self, now: Instant) {
        // A backslash before Enter is a new line, where no terminal tells Shift+Enter apart.
        if self.editor.before_caret().ends_with('\\') {
            self.editor.delete(Direction::Back, Distance::Character);
            return self.insert_newline(now);
        }
        self.submit(Delivery::Steer, now);
    }

    fn insert_newline(&mut self, now: Instant) {
        self.editor.insert("\n");
        self.typed(now);
    }

    fn interrupt(&mut self, now: Instant) {
        if self.status.is_busy() {
            self.last_escape = None;
            return self.send(SessionCommand::Abort);
        }
        if !self.editor.is_empty() {
            return self.status.hint("ctrl+c clears the line", now);
        }
        let twice = self.last_escape.take().is_some_and(|last| now - last < TWICE);
        if twice {
            self.status.clear_hint();
            self.open_by_key(Action::OpenTree, now);
        } else {
            self.last_escape = Some(now);
            self.status.hint("esc again for /tree", now);
        }
    }

    fn clear(&mut self, now: Instant) {
        if !self.editor.is_empty() {
            self.editor.clear();
            self.close_menu();
            self.last_clear = Some(now);
            return;
        }
        let twice = self.last_clear.take().is_some_and(|last| now - last < 2 * TWICE);
        if twice {
            return self.quit();
        }
        self.last_clear = Some(now);
        if self.status.is_busy() {
            self.send(SessionCommand::Abort);
        }
        self.status.hint("ctrl+c again to quit", now);
    }

    fn cycle_thinking(&mut self) {
        let levels = ThinkingLevel::ALL;
        let at = levels.iter().position(|level| *level == self.footer.thinking).unwrap_or(0);
        self.send(SessionCommand::SetThinking(levels[(at + 1) % levels.len()]));
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) {
        if self.top_overlay(|overlay| overlay.mouse(mouse)) {
            return;
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => self.transcript.scroll_by(-WHEEL),
            MouseEventKind::ScrollDown => self.transcript.scroll_by(WHEEL),
            _ => {}
        }
    }
}
