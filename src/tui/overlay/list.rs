//! A list to choose from by typing a few letters of what one means: the body of the pickers.
//!
//! It knows rows of text and which one is selected; what a row stands for and what choosing it does
//! is its owner's business.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::input::{Input, Lines, Typed};
use crate::tui::text::{clip, first_parts, sanitize, width};
use crate::tui::theme::Theme;

/// Rows have their second line from this height on.
const ROOM_FOR_BELOW: u16 = 16;

/// How one choice looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// What it is called; this is searched.
    pub text: String,
    /// At the right edge.
    pub right: String,
    /// A second line, where there is room; it is searched too.
    pub below: String,
    /// How much it stands out.
    pub weight: Weight,
}

/// See [`Row::weight`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weight {
    /// Like any other.
    #[default]
    Plain,
    /// The one in use.
    Current,
    /// It cannot be used as things are.
    Faint,
}

struct Item<T> {
    value: T,
    row: Row,
    /// What is searched.
    haystack: String,
}

/// Choices, narrowed by what is typed.
pub struct FuzzyList<T> {
    items: Vec<Item<T>>,
    /// Positions of the items that match, best first.
    shown: Vec<usize>,
    selected: usize,
    top: usize,
    input: Input,
    pattern: Pattern,
    matcher: Matcher,
    /// Where rows were drawn last, and how many lines each has.
    area: Rect,
    row_height: u16,
}

/// What a key did to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    /// The selection or the text changed.
    Moved,
    /// The selected one is meant.
    Chosen,
    /// None is meant.
    Left,
    /// The key means nothing here.
    Ignored,
}

impl<T> FuzzyList<T> {
    /// A list in the given order.
    #[must_use]
    pub fn new(choices: impl IntoIterator<Item = (T, Row)>) -> Self {
        let mut list = Self {
            items: Vec::new(),
            shown: Vec::new(),
            selected: 0,
            top: 0,
            input: Input::new("", Lines::One),
            pattern: Pattern::default(),
            matcher: Matcher::new(Config::DEFAULT),
            area: Rect::ZERO,
            row_height: 1,
        };
        list.replace(choices);
        list
    }

    /// Other choices in place of these; what was typed stays.
    pub fn replace(&mut self, choices: impl IntoIterator<Item = (T, Row)>) {
        let clean = |text: &str| sanitize(text).replace('\n', " ");
        self.items = choices
            .into_iter()
            .map(|(value, row)| {
                let row = Row { text: clean(&row.text), below: clean(&row.below), ..row };
                let haystack = format!("{} {}", row.text, row.below);
                Item { value, row, haystack }
            })
            .collect();
        self.narrow();
    }

    /// The selected choice.
    #[must_use]
    pub fn selected(&self) -> Option<&T> {
        self.shown.get(self.selected).map(|at| &self.items[*at].value)
    }

    /// Selects the first choice that is meant, if it is shown.
    pub fn select(&mut self, is_meant: impl Fn(&T) -> bool) {
        if let Some(at) = self.shown.iter().position(|at| is_meant(&self.items[*at].value)) {
            self.selected = at;
        }
    }

    /// How many choices match, and how many there are.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.shown.len(), self.items.len())
    }

    /// Finds anew what matches. Equal matches keep the order of the choices.
    fn narrow(&mut self) {
        self.pattern =
            Pattern::parse(&self.input.text(), CaseMatching::Smart, Normalization::Smart);
        let (pattern, matcher) = (&self.pattern, &mut self.matcher);
        let mut buffer = Vec::new();
        let mut scored: Vec<(u32, usize)> = self
            .items
            .iter()
            .enumerate()
            .filter_map(|(at, item)| {
                let haystack = Utf32Str::new(&item.haystack, &mut buffer);
                pattern.score(haystack, matcher).map(|score| (score, at))
            })
            .collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        self.shown = scored.into_iter().map(|(_, at)| at).collect();
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
    }

    /// Takes a key: arrows move, Enter chooses, Escape leaves, letters narrow.
    pub fn key(&mut self, key: KeyEvent) -> Picked {
        let page = isize::try_from(self.area.height / self.row_height).unwrap_or(1).max(2) - 1;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Up => self.step(-1),
            KeyCode::Down => self.step(1),
            KeyCode::Char('p') if control => self.step(-1),
            KeyCode::Char('n') if control => self.step(1),
            KeyCode::PageUp => self.step(-page),
            KeyCode::PageDown => self.step(page),
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Delete => return Picked::Ignored,
            _ => match self.input.key(key) {
                Typed::Changed => {
                    self.selected = 0;
                    self.narrow();
                }
                Typed::Nothing => {}
                Typed::Done => return Picked::Chosen,
                Typed::Left => return Picked::Left,
            },
        }
        Picked::Moved
    }

    /// Takes what was pasted.
    pub fn paste(&mut self, text: &str) {
        self.input.paste(text);
        self.narrow();
    }

    fn step(&mut self, rows: isize) {
        let last = self.shown.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    /// Takes the mouse: the wheel moves, a click selects, a click on the selected one chooses.
    pub fn mouse(&mut self, mouse: MouseEvent) -> Picked {
        let at = Position { x: mouse.column, y: mouse.row };
        match mouse.kind {
            MouseEventKind::ScrollUp => self.step(-1),
            MouseEventKind::ScrollDown => self.step(1),
            MouseEventKind::Down(MouseButton::Left) if self.area.contains(at) => {
                let row = self.top + usize::from((at.y - self.area.y) / self.row_height);
                if row >= self.shown.len() {
                    return Picked::Ignored;
                }
                if std::mem::replace(&mut self.selected, row) == row {
                    return Picked::Chosen;
                }
            }
            _ => return Picked::Ignored,
        }
        Picked::Moved
    }

    /// Draws what is typed and the rows below it. Gives the caret's place.
    pub fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Position {
        let [input, _, rows] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(u16::from(area.height >= ROOM_FOR_BELOW)),
            Constraint::Min(0),
        ])
        .areas(area);
        let caret = self.input.draw(frame, input, " > ", theme);
        let has_below = self.items.iter().any(|item| !item.row.below.is_empty());
        self.row_height = if has_below && area.height >= ROOM_FOR_BELOW { 2 } else { 1 };
        self.area = rows;
        if self.shown.is_empty() {
            let words = if self.items.is_empty() { " none" } else { " nothing matches" };
            frame.render_widget(Span::styled(words, theme.dim), rows);
            return caret;
        }
        let fits = usize::from((rows.height / self.row_height).max(1));
        self.top = self.top.min(self.selected).max((self.selected + 1).saturating_sub(fits));
        for number in self.top..self.shown.len().min(self.top + fits) {
            let offset = (number - self.top) as u16 * self.row_height;
            let height = self.row_height.min(rows.height - offset.min(rows.height));
            let place = Rect { y: rows.y + offset, height, ..rows };
            self.draw_row(frame, place, number, theme);
        }
        caret
    }

    fn draw_row(&mut self, frame: &mut Frame<'_>, area: Rect, number: usize, theme: &Theme) {
        let item = &self.items[self.shown[number]];
        let columns = usize::from(area.width);
        // What it is called matters more than what is said about it; a bit of that always stands.
        let first = item.row.right.split(" · ").next().map_or(0, width).min(columns / 2);
        let left_over = columns.saturating_sub(width(&item.row.text) + 4);
        let right = first_parts(&item.row.right, left_over.max(first));
        let room = columns.saturating_sub(width(&right) + 4);
        let text = clip(&item.row.text, room);
        let (mark, style) = match item.row.weight {
            Weight::Plain => (" ", Style::new()),
            Weight::Current => ("●", Style::new()),
            Weight::Faint => (" ", theme.dim),
        };
        let mut spans = vec![Span::styled(format!(" {mark} "), theme.accent)];
        let found = found_in(&self.pattern, &mut self.matcher, &item.haystack);
        let hit = style.patch(theme.accent).add_modifier(Modifier::UNDERLINED);
        // Runs of letters with the same look: one span each.
        for (at, grapheme) in text.graphemes(true).enumerate() {
            let style = if found.binary_search(&(at as u32)).is_ok() { hit } else { style };
            match spans.last_mut() {
                Some(last) if last.style == style && at > 0 => {
                    last.content.to_mut().push_str(grapheme);
                }
                _ => spans.push(Span::styled(grapheme.to_owned(), style)),
            }
        }
        let gap = room.saturating_sub(width(&text)) + 1;
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(right.into_owned(), theme.dim));
        frame.render_widget(Line::from(spans), area);
        if area.height > 1 {
            let below = clip(&item.row.below, columns.saturating_sub(4)).into_owned();
            let place = Rect { y: area.y + 1, height: 1, ..area };
            frame.render_widget(Line::styled(format!("   {below}"), theme.dim), place);
        }
        if number == self.selected {
            frame.buffer_mut().set_style(area, theme.selected);
        }
    }
}

/// Which characters of a text match, in order.
fn found_in(pattern: &Pattern, matcher: &mut Matcher, text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut buffer = Vec::new();
    pattern.indices(Utf32Str::new(text, &mut buffer), matcher, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> FuzzyList<String> {
        let row = |name: &str| Row { text: name.to_owned(), ..Row::default() };
        FuzzyList::new(names.iter().map(|name| ((*name).to_owned(), row(name))))
    }

    fn press(list: &mut FuzzyList<String>, code: KeyCode) -> Picked {
        list.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn u3_letters_narrow_the_list_to_the_best_matches() {
        let mut list = list(&["anthropic/claude-sonnet", "openai/gpt", "local/한국어-모델"]);
        for letter in "sonn".chars() {
            press(&mut list, KeyCode::Char(letter));
        }
        assert_eq!(list.counts(), (1, 3));
        assert_eq!(list.selected().map(String::as_str), Some("anthropic/claude-sonnet"));
        press(&mut list, KeyCode::Char('x'));
        assert_eq!(list.selected(), None);
        assert_eq!(press(&mut list, KeyCode::Enter), Picked::Chosen);
        for _ in 0..5 {
            press(&mut list, KeyCode::Backspace);
        }
        list.paste("한모");
        assert_eq!(list.selected().map(String::as_str), Some("local/한국어-모델"));
    }

    #[test]
    fn u3_arrows_stay_inside() {
        let mut list = list(&["a", "b", "c"]);
        assert_eq!(press(&mut list, KeyCode::Up), Picked::Moved);
        assert_eq!(list.selected().map(String::as_str), Some("a"));
        for _ in 0..9 {
            press(&mut list, KeyCode::Down);
        }
        assert_eq!(list.selected().map(String::as_str), Some("c"));
        assert_eq!(press(&mut list, KeyCode::Esc), Picked::Left);
        assert_eq!(press(&mut list, KeyCode::Tab), Picked::Ignored);
    }

    #[test]
    fn u3_the_choices_can_be_replaced_under_what_is_typed() {
        let mut list = list(&["alpha", "beta"]);
        press(&mut list, KeyCode::Char('b'));
        let row = |name: &str| Row { text: name.to_owned(), ..Row::default() };
        list.replace(["bravo", "charlie"].map(|name| (name.to_owned(), row(name))));
        assert_eq!(list.selected().map(String::as_str), Some("bravo"));
        assert_eq!(list.counts(), (1, 2));
    }
}
