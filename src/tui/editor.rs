//! The text that is being written (U2): a buffer with a caret, undo, a cut text and history.
//!
//! The caret moves and deletes by characters as seen (grapheme clusters). Where the text stands on
//! the screen is [`layout`]'s business. Big pastes are one character of the buffer, shown as
//! `[pasted 132 lines]` and sent whole (F86); so are images, shown by their name. No I/O, no keys: the
//! app says what to do.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

mod attach;
mod history;
pub mod layout;

pub use attach::{Arrived, Attachment};
pub use history::History;
use layout::Layout;

use crate::message::Image;

/// A paste of more lines than this is folded.
const FOLD_LINES: usize = 8;

/// A paste of more bytes than this is folded.
const FOLD_BYTES: usize = 1_600;

/// Most states that undo remembers.
const MOST_UNDO: usize = 500;

/// The first of the private characters that stand for folded pastes and images in the buffer. Typed or
/// pasted text cannot hold them.
const FIRST_MARK: u32 = 0x10_0000;

/// A way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the start.
    Back,
    /// Towards the end.
    Forward,
}

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// A character as seen.
    Character,
    /// A word and the blanks before it.
    Word,
    /// To the end of the line.
    Line,
    /// To the end of the text.
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State {
    text: String,
    /// Bytes from the start, always between characters as seen.
    caret: usize,
}

/// Kinds of changes: a run of the same kind is undone as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Typing,
    Deleting,
    Other,
}

/// What one character of the buffer can stand for.
#[derive(Debug)]
enum Folded {
    Text(String),
    Image(Attachment),
    /// It is being read.
    Awaited,
}

impl Folded {
    const fn image(&self) -> Option<&Attachment> {
        match self {
            Self::Image(attachment) => Some(attachment),
            Self::Text(_) | Self::Awaited => None,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Editor {
    state: State,
    undo: Vec<State>,
    redo: Vec<State>,
    last_change: Option<Change>,
    cut: String,
    folded: Vec<Folded>,
    /// The column that up and down keep to.
    column: Option<usize>,
    history: History,
}

impl Editor {
    /// An empty buffer with what was sent before, oldest first.
    #[must_use]
    pub fn new(history: Vec<String>) -> Self {
        Self { history: History::new(history), ..Self::default() }
    }

    /// Whether nothing is written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.state.text.is_empty()
    }

    /// The text as it is sent: folded pastes in full, images by their names.
    #[must_use]
    pub fn text(&self) -> String {
        self.unfold(&self.state.text)
    }

    /// The text up to the caret, folds as they are. For menus.
    #[must_use]
    pub fn before_caret(&self) -> &str {
        &self.state.text[..self.state.caret]
    }

    /// The text after the caret, folds as they are.
    #[must_use]
    pub fn after_caret(&self) -> &str {
        &self.state.text[self.state.caret..]
    }

    /// Where everything stands in `columns`.
    #[must_use]
    pub fn layout(&self, columns: usize) -> Layout {
        Layout::new(&self.state.text, self.state.caret, columns, &|mark| self.label(mark))
    }

    /// Replaces the whole text, as one step for undo, and puts the caret at its end.
    pub fn set_text(&mut self, text: &str) {
        self.begin(Change::Other);
        self.state.text.clear();
        self.state.caret = 0;
        match self.with_images(text) {
            Some(text) => self.insert_raw(&text),
            None => self.insert_folded(text),
        }
    }

    /// Puts text before what is written: queued messages that come back, with their images.
    pub fn put_before(&mut self, text: &str, images: Vec<Image>) {
        let written = self.text();
        let text = self.know_images(text, images);
        let joined = if written.is_empty() { text } else { format!("{text}\n\n{written}") };
        self.set_text(&joined);
    }

    /// Takes the text out, to be sent, and remembers it.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.history.push(text.clone());
        self.clear();
        text
    }

    /// Empties the buffer, and keeps nothing of what was written.
    pub fn forget(&mut self) {
        self.state = State::default();
        self.undo.clear();
        self.redo.clear();
        self.last_change = None;
        self.history.leave();
    }

    /// Empties the buffer; undo brings the text back.
    pub fn clear(&mut self) {
        self.begin(Change::Other);
        self.state = State::default();
        self.history.leave();
    }

    /// Types a character or a few.
    pub fn insert(&mut self, text: &str) {
        let clean = clean(text);
        let change = if clean == " " || clean == "\n" { Change::Other } else { Change::Typing };
        self.begin(change);
        self.insert_raw(&clean);
    }

    /// Puts in what was pasted: control characters go, a big one is folded (F86).
    pub fn paste(&mut self, text: &str) {
        self.begin(Change::Other);
        self.insert_folded(text);
    }

    fn insert_folded(&mut self, text: &str) {
        let clean = clean(text);
        if clean.lines().count() <= FOLD_LINES && clean.len() <= FOLD_BYTES {
            return self.insert_raw(&clean);
        }
        match mark_of(self.folded.len()) {
            Some(mark) => {
                self.folded.push(Folded::Text(clean));
                self.insert_raw(mark.encode_utf8(&mut [0; 4]));
            }
            None => self.insert_raw(&clean),
        }
    }

    fn insert_raw(&mut self, text: &str) {
        self.state.text.insert_str(self.state.caret, text);
        self.state.caret += text.len();
        // A combining character joins the one before it; the caret stays between characters.
        if !is_boundary(&self.state.text, self.state.caret) {
            self.state.caret = next_boundary(&self.state.text, self.state.caret);
        }
    }

    /// Deletes from the caret on.
    pub fn delete(&mut self, direction: Direction, distance: Distance) {
        let target = self.target(direction, distance);
        let (start, end) = (target.min(self.state.caret), target.max(self.state.caret));
        if start == end {
            return;
        }
        let change = if distance == Distance::Character { Change::Deleting } else { Change::Other };
        self.begin(change);
        let gone: String = self.state.text.drain(start..end).collect();
        self.state.caret = start;
        if distance != Distance::Character {
            self.cut = gone;
        }
    }

    /// Replaces the `bytes` before the caret: a completion.
    pub fn replace_before(&mut self, bytes: usize, text: &str) {
        self.begin(Change::Other);
        let start = self.state.caret.saturating_sub(bytes);
        self.state.text.replace_range(start..self.state.caret, "");
        self.state.caret = start;
        self.insert_raw(&clean(text));
    }

    /// Puts in what was cut last.
    pub fn yank(&mut self) {
        self.begin(Change::Other);
        let cut = self.cut.clone();
        self.insert_raw(&cut);
    }

    /// Moves the caret.
    pub fn go(&mut self, direction: Direction, distance: Distance) {
        self.state.caret = self.target(direction, distance);
        self.column = None;
        self.last_change = None;
    }

    /// Moves the caret a row up or down, as rows stand in `columns`; beyond the first and the last
    /// row, through what was sent before.
    pub fn go_row(&mut self, direction: Direction, columns: usize) {
        let layout = self.layout(columns);
        let column = *self.column.get_or_insert(layout.caret.1);
        self.last_change = None;
        let row = match direction {
            Direction::Back => layout.caret.0.checked_sub(1),
            Direction::Forward => Some(layout.caret.0 + 1).filter(|row| *row < layout.rows.len()),
        };
        match row {
            Some(row) => self.state.caret = layout.offset_at(row, column),
            None => self.recall(direction),
        }
    }

    fn recall(&mut self, direction: Direction) {
        let written = self.text();
        let recalled = match direction {
            Direction::Back => self.history.older(&written),
            Direction::Forward => self.history.newer(),
        };
        if let Some(text) = recalled {
            self.set_text(&text);
        }
    }

    /// What was sent before and holds `needle`, newest first.
    pub fn search_history<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = &'a str> {
        self.history.search(needle)
    }

    /// Takes the last change back.
    pub fn undo(&mut self) {
        if let Some(state) = self.undo.pop() {
            self.redo.push(std::mem::replace(&mut self.state, state));
        }
        self.last_change = None;
    }

    /// Makes a change that was taken back again.
    pub fn redo(&mut self) {
        if let Some(state) = self.redo.pop() {
            self.undo.push(std::mem::replace(&mut self.state, state));
        }
        self.last_change = None;
    }

    /// Notes the state before a change, unless the change goes on with the last one.
    fn begin(&mut self, change: Change) {
        self.column = None;
        self.redo.clear();
        if change == Change::Other || self.last_change != Some(change) {
            if self.undo.len() >= MOST_UNDO {
                self.undo.remove(0);
            }
            self.undo.push(self.state.clone());
        }
        self.last_change = Some(change);
    }

    fn target(&self, direction: Direction, distance: Distance) -> usize {
        let State { text, caret } = &self.state;
        let (before, after) = text.split_at(*caret);
        match (direction, distance) {
            (Direction::Back, Distance::Character) => {
                before.grapheme_indices(true).next_back().map_or(0, |(offset, _)| offset)
            }
            (Direction::Forward, Distance::Character) => {
                caret + after.graphemes(true).next().map_or(0, str::len)
            }
            (Direction::Back, Distance::Word) => before
                .split_word_bound_indices()
                .rev()
                .find(|(_, word)| is_word(word))
                .map_or(0, |(offset, _)| offset),
            (Direction::Forward, Distance::Word) => after
                .split_word_bound_indices()
                .find(|(_, word)| is_word(word))
                .map_or(text.len(), |(offset, word)| caret + offset + word.len()),
            (Direction::Back, Distance::Line) => before.rfind('\n').map_or(0, |feed| feed + 1),
            (Direction::Forward, Distance::Line) => caret + after.find('\n').unwrap_or(after.len()),
            (Direction::Back, Distance::Text) => 0,
            (Direction::Forward, Distance::Text) => text.len(),
        }
    }

    /// How a folded paste or an image is shown.
    fn label(&self, mark: char) -> Option<String> {
        Some(match self.folded(mark)? {
            Folded::Image(attachment) => attachment.label(),
            Folded::Awaited => "[reading…]".to_owned(),
            Folded::Text(paste) => match paste.lines().count() {
                0 | 1 => format!("[pasted {} characters]", paste.chars().count()),
                lines => format!("[pasted {lines} lines]"),
            },
        })
    }

    fn folded(&self, mark: char) -> Option<&Folded> {
        self.folded.get(number_of(mark)?)
    }

    fn unfold(&self, text: &str) -> String {
        let mut whole = String::with_capacity(text.len());
        for character in text.chars() {
            match self.folded(character) {
                Some(Folded::Text(paste)) => whole.push_str(paste),
                Some(Folded::Image(attachment)) => whole.push_str(&attachment.label()),
                Some(Folded::Awaited) => {}
                None => whole.push(character),
            }
        }
        whole
    }
}

/// The character that stands for what is folded under a number.
fn mark_of(number: usize) -> Option<char> {
    u32::try_from(number).ok().and_then(|number| char::from_u32(FIRST_MARK.checked_add(number)?))
}

/// What a character of the buffer stands for, by its number.
fn number_of(mark: char) -> Option<usize> {
    (mark as u32).checked_sub(FIRST_MARK).map(|number| number as usize)
}

fn is_word(piece: &str) -> bool {
    piece.chars().any(|character| character.is_alphanumeric() || number_of(character).is_some())
}

fn is_boundary(text: &str, offset: usize) -> bool {
    GraphemeCursor::new(offset, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

fn next_boundary(text: &str, offset: usize) -> usize {
    let mut cursor = GraphemeCursor::new(offset, text.len(), true);
    cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

/// Text as the buffer holds it: line feeds only, tabs kept, no other control characters (an escape
/// sequence in a paste is data, F86), no characters that stand for pastes.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => {
                characters.next_if_eq(&'\n');
                clean.push('\n');
            }
            '\n' | '\t' => clean.push(character),
            character if character.is_control() || number_of(character).is_some() => {}
            character => clean.push(character),
        }
    }
    clean
}

#[cfg(test)]
mod tests;
