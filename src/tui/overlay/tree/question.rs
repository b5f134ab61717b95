//! Questions asked inside the tree, at its foot: what becomes of the branch that is left (B8),
//! whether to stop a running turn, what to do after a summary failed (B7).

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::outline::Size;
use super::paint::size_in_words;
use crate::agent_session::command::SummaryChoice;
use crate::settings::BranchSummarySettings;
use crate::tui::text::{clip, sanitize};
use crate::tui::theme::Theme;

/// A question with its answers, one of them selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    title: String,
    answers: Vec<(&'static str, Answer)>,
    selected: usize,
}

/// What a person may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// Go, and do this with the branch that is left.
    Go(SummaryChoice),
    /// Write a few words first.
    Write(Wording),
    /// Stop the running turn, then ask about the branch.
    StopTurn,
    /// Stay here.
    Stay,
}

/// What the words are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wording {
    /// The focus of a summary.
    Focus,
    /// A prompt instead of the built-in one.
    OwnPrompt,
}

impl Wording {
    /// What stands before the words.
    #[must_use]
    pub(super) const fn prompt(self) -> &'static str {
        match self {
            Self::Focus => " focus: ",
            Self::OwnPrompt => " prompt: ",
        }
    }

    /// The choice that the words make.
    #[must_use]
    pub(super) fn choice(self, words: String) -> SummaryChoice {
        match self {
            Self::Focus => SummaryChoice::Focus(words),
            Self::OwnPrompt => SummaryChoice::OwnPrompt(words),
        }
    }
}

impl Question {
    /// What becomes of the branch that is left? (B8)
    #[must_use]
    pub(super) fn summary(left: Size, settings: &BranchSummarySettings) -> Self {
        Self {
            title: format!("leave {} behind?", size_in_words(left)),
            answers: vec![
                ("just go", Answer::Go(SummaryChoice::None)),
                ("summarise them first", Answer::Go(SummaryChoice::Default)),
                ("summarise, with a focus…", Answer::Write(Wording::Focus)),
                ("summarise, with my own prompt…", Answer::Write(Wording::OwnPrompt)),
            ],
            selected: usize::from(settings.enabled),
        }
    }

    /// Whether to stop the running turn (U5, F24).
    #[must_use]
    pub(super) fn stop_turn() -> Self {
        Self {
            title: "a turn is running; the tree can only be looked at meanwhile".to_owned(),
            answers: vec![("stop it and go", Answer::StopTurn), ("stay here", Answer::Stay)],
            selected: 1,
        }
    }

    /// What to do after the summary failed (B7). `tried` is what failed.
    #[must_use]
    pub(super) fn failed(error: &str, tried: SummaryChoice) -> Self {
        Self {
            title: format!("the summary failed: {}", sanitize(error)),
            answers: vec![
                ("try again", Answer::Go(tried)),
                ("go without a summary", Answer::Go(SummaryChoice::None)),
                ("go with a summary made without a model", Answer::Go(SummaryChoice::Extractive)),
            ],
            selected: 0,
        }
    }

    /// Takes a key; gives an answer when there is one.
    pub(super) fn key(&mut self, key: KeyEvent) -> Option<Answer> {
        let last = self.answers.len() - 1;
        match key.code {
            KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => {
                return Some(Answer::Stay);
            }
            KeyCode::Esc | KeyCode::Char('q') => return Some(Answer::Stay),
            KeyCode::Up | KeyCode::Char('k') | KeyCode::BackTab => {
                self.selected = self.selected.checked_sub(1).unwrap_or(last);
            }
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => {
                self.selected = if self.selected == last { 0 } else { self.selected + 1 };
            }
            KeyCode::Enter => return Some(self.answers[self.selected].1.clone()),
            KeyCode::Char(digit) => {
                let number = digit.to_digit(10)?.checked_sub(1)? as usize;
                let (_, answer) = self.answers.get(number)?;
                self.selected = number;
                return Some(answer.clone());
            }
            _ => {}
        }
        None
    }

    /// The question as lines.
    #[must_use]
    pub(super) fn lines(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let title = clip(&self.title, columns.saturating_sub(1)).into_owned();
        let mut lines = vec![Line::styled(format!(" {title}"), theme.heading)];
        for (number, (words, _)) in self.answers.iter().enumerate() {
            let is_selected = number == self.selected;
            let mark = if is_selected { "›" } else { " " };
            let style = if is_selected { theme.accent } else { theme.text };
            let text = format!(" {mark} {}  {words}", number + 1);
            lines.push(Line::styled(clip(&text, columns).into_owned(), style));
        }
        lines.push(Line::from(Span::styled("   esc  stay here", theme.dim)));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(question: &mut Question, code: KeyCode) -> Option<Answer> {
        question.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn b8_the_settings_preselect_an_answer() {
        let left = Size { entries: 9, tokens: 3_100 };
        for (enabled, choice) in [(false, SummaryChoice::None), (true, SummaryChoice::Default)] {
            let settings = BranchSummarySettings { enabled, ..Default::default() };
            let mut question = Question::summary(left, &settings);
            assert_eq!(press(&mut question, KeyCode::Enter), Some(Answer::Go(choice)));
        }
    }

    #[test]
    fn b8_answers_have_numbers_and_escape_stays() {
        let mut question = Question::summary(Size::default(), &BranchSummarySettings::default());
        assert_eq!(press(&mut question, KeyCode::Char('9')), None);
        assert_eq!(press(&mut question, KeyCode::Char('0')), None);
        let written = Answer::Write(Wording::OwnPrompt);
        assert_eq!(press(&mut question, KeyCode::Char('4')), Some(written));
        assert_eq!(press(&mut question, KeyCode::Down), None);
        let first = Answer::Go(SummaryChoice::None);
        assert_eq!(press(&mut question, KeyCode::Enter), Some(first), "after the last, the first");
        assert_eq!(press(&mut question, KeyCode::Esc), Some(Answer::Stay));
    }
}
