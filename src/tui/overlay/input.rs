//! A few words to be typed inside an overlay: a search, a label, the focus of a summary.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::tui::editor::{Direction, Distance, Editor};
use crate::tui::text::width;
use crate::tui::theme::Theme;

/// A line of text with a caret; where it is allowed, several lines.
#[derive(Debug)]
pub struct Input {
    editor: Editor,
    lines: Lines,
}

/// How many lines may be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// One; what is pasted is joined.
    One,
    /// Any number; Alt+Enter and Shift+Enter begin a new one.
    Many,
}

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// The text is another one now.
    Changed,
    /// The caret moved, or nothing happened.
    Nothing,
    /// Enter.
    Done,
    /// Escape.
    Left,
}

impl Input {
    /// Begins with `text`.
    #[must_use]
    pub fn new(text: &str, lines: Lines) -> Self {
        let mut editor = Editor::new(Vec::new());
        editor.set_text(text);
        Self { editor, lines }
    }

    /// What was typed.
    #[must_use]
    pub fn text(&self) -> String {
        self.editor.text()
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Typed {
        let held = |modifiers| key.modifiers.intersects(modifiers);
        let wide = held(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let distance = if wide { Distance::Word } else { Distance::Character };
        match key.code {
            KeyCode::Esc => return Typed::Left,
            KeyCode::Enter if self.lines == Lines::Many && !key.modifiers.is_empty() => {
                self.editor.insert("\n");
            }
            KeyCode::Enter => return Typed::Done,
            KeyCode::Char('c') if held(KeyModifiers::CONTROL) => return Typed::Left,
            KeyCode::Backspace => self.editor.delete(Direction::Back, distance),
            KeyCode::Delete => self.editor.delete(Direction::Forward, distance),
            KeyCode::Char('w') if wide => self.editor.delete(Direction::Back, Distance::Word),
            KeyCode::Char('u') if wide => self.editor.delete(Direction::Back, Distance::Line),
            KeyCode::Char('k') if wide => self.editor.delete(Direction::Forward, Distance::Line),
            KeyCode::Char('z') if held(KeyModifiers::CONTROL) => self.editor.undo(),
            KeyCode::Char(character) if !wide => {
                self.editor.insert(character.encode_utf8(&mut [0; 4]));
            }
            code => {
                self.go(code, wide, distance);
                return Typed::Nothing;
            }
        }
        Typed::Changed
    }

    fn go(&mut self, code: KeyCode, wide: bool, distance: Distance) {
        match code {
            KeyCode::Left => self.editor.go(Direction::Back, distance),
            KeyCode::Right => self.editor.go(Direction::Forward, distance),
            KeyCode::Home => self.editor.go(Direction::Back, Distance::Line),
            KeyCode::End => self.editor.go(Direction::Forward, Distance::Line),
            KeyCode::Char('a') if wide => self.editor.go(Direction::Back, Distance::Line),
            KeyCode::Char('e') if wide => self.editor.go(Direction::Forward, Distance::Line),
            _ => {}
        }
    }

    /// Takes what was pasted.
    pub fn paste(&mut self, text: &str) {
        match self.lines {
            Lines::Many => self.editor.paste(text),
            Lines::One => {
                let words: Vec<&str> = text.split_whitespace().collect();
                self.editor.paste(&words.join(" "));
            }
        }
    }

    /// Rows that it needs below `prompt` in `columns`.
    #[must_use]
    pub fn height(&self, prompt: &str, columns: u16) -> u16 {
        let columns = usize::from(columns).saturating_sub(width(prompt)).max(2);
        u16::try_from(self.editor.layout(columns).rows.len()).unwrap_or(u16::MAX)
    }

    /// Draws it after `prompt`; the row of the caret is always seen. Gives the caret's place.
    pub fn draw(&self, frame: &mut Frame<'_>, area: Rect, prompt: &str, theme: &Theme) -> Position {
        let indent = u16::try_from(width(prompt)).unwrap_or(0).min(area.width.saturating_sub(2));
        let columns = usize::from(area.width - indent);
        let layout = self.editor.layout(columns);
        let (row, column) = layout.caret;
        let first = (row + 1).saturating_sub(usize::from(area.height));
        for (line, place) in layout.rows.iter().skip(first).zip(area.rows()) {
            let text: String = line.pieces.iter().map(|piece| piece.shown.as_str()).collect();
            let inside = Rect { x: place.x + indent, width: place.width - indent, ..place };
            frame.render_widget(Line::from(text), inside);
        }
        if first == 0 && area.height > 0 {
            let place = Rect { width: indent, height: 1, ..area };
            frame.render_widget(Span::styled(prompt, theme.accent), place);
        }
        let column = u16::try_from(column).unwrap_or(0).min(area.width.saturating_sub(indent + 1));
        let row = u16::try_from(row - first).unwrap_or(0);
        Position { x: area.x + indent + column, y: area.y + row }
    }
}
