//! A question before something that cannot be taken back, with its answers. Lies over the lower part
//! of the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::{Outcome, Overlay};
use crate::tui::effect::UiEffect;
use crate::tui::text::{clip, sanitize};
use crate::tui::theme::Theme;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// An answer and what it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The key that gives it.
    pub key: char,
    /// What it means, in a word or two.
    pub words: String,
    /// What is then to be done.
    pub effects: Vec<UiEffect>,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    question: String,
    details: String,
    choices: Vec<Choice>,
}

impl Confirm {
    /// Asks `question`; `details` stand below it. Escape gives no answer. No answer is preselected:
    /// what cannot be taken back should not hang on Enter.
    #[must_use]
    pub fn new(question: impl Into<String>, details: &str, choices: Vec<Choice>) -> Self {
        let details = sanitize(details).into_owned();
        Self { question: question.into(), details, choices }
    }
}

impl Overlay for Confirm {
    fn key(&mut self, key: KeyEvent) -> Outcome {
        let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Esc => Outcome::Close(Vec::new()),
            KeyCode::Char('c') if control => Outcome::Close(Vec::new()),
            KeyCode::Char(letter) if !control => {
                let letter = letter.to_ascii_lowercase();
                let choice = self.choices.iter().find(|choice| choice.key == letter);
                choice.map_or(Outcome::Consumed, |choice| Outcome::Close(choice.effects.clone()))
            }
            // Whatever is typed blindly must not reach what lies below.
            _ => Outcome::Consumed,
        }
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        let columns = usize::from(area.width.saturating_sub(4));
        let question = clip(&self.question, columns).into_owned();
        let mut lines = vec![Line::styled(question, theme.heading)];
        if !self.details.is_empty() {
            let details = Span::styled(self.details.as_str(), theme.text);
            lines.extend(wrap(&[details], columns, &Margins::blank(2), Breaking::Words));
        }
        let mut answers = Vec::new();
        for choice in &self.choices {
            answers.push(Span::styled(choice.key.to_string(), theme.accent));
            answers.push(Span::raw(format!(" {}   ", choice.words)));
        }
        answers.push(Span::styled("esc neither", theme.dim));
        let most = usize::from(area.height).saturating_sub(3);
        lines.truncate(most.max(1));
        lines.push(Line::from(answers));
        let height = u16::try_from(lines.len() + 2).unwrap_or(area.height).min(area.height);
        let area = Rect { y: area.y + area.height - height, height, ..area };
        frame.render_widget(Clear, area);
        let inside = Rect { x: area.x + 2, width: area.width.saturating_sub(4), ..area };
        for (line, place) in lines.into_iter().zip(inside.rows().skip(1)) {
            frame.render_widget(line, place);
        }
        None
    }

    fn full_screen(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::picture;
    use super::*;

    fn confirm() -> Confirm {
        let choice = |key, words: &str| Choice {
            key,
            words: words.to_owned(),
            effects: vec![UiEffect::Copy(words.to_owned())],
        };
        let details = "/home/me/.local/share/regrow/sessions/파일.jsonl";
        Confirm::new(
            "delete this session?",
            details,
            vec![choice('y', "delete"), choice('n', "keep")],
        )
    }

    #[test]
    fn u4_a_confirmation_needs_its_key() {
        let mut confirm = confirm();
        let mut press = |code| confirm.key(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(press(KeyCode::Enter), Outcome::Consumed);
        assert_eq!(press(KeyCode::Char('x')), Outcome::Consumed);
        assert_eq!(press(KeyCode::Esc), Outcome::Close(Vec::new()));
        let deleted = vec![UiEffect::Copy("delete".into())];
        assert_eq!(press(KeyCode::Char('Y')), Outcome::Close(deleted));
    }

    #[test]
    fn u4_a_confirmation_lies_over_the_lower_part() {
        insta::assert_snapshot!(picture(&mut confirm(), 40, 10));
    }
}
