//! Acting on the selected row: going there (B1, B6, B8), labels, a new session from there; and what
//! the last line says about it before it happens.

use crossterm::event::{KeyCode, KeyEvent};

use super::paint::size_in_words;
use super::question::{Answer, Question};
use super::rows::{Line, Part};
use super::{Journey, Mode, TreeOverlay};
use crate::agent_session::command::{Navigation, SessionCommand, SummaryChoice, SwitchTo};
use crate::session::tree::{NodeIndex, NodeKind};
use crate::tui::action::TreeAction;
use crate::tui::effect::UiEffect;
use crate::tui::overlay::Outcome;
use crate::tui::overlay::input::{Input, Lines, Typed};

/// Said instead of acting while a turn runs.
const READ_ONLY: &str = "a turn is running; the tree can only be looked at · enter asks to stop it";

impl TreeOverlay {
    /// The entry that a row stands for. The title of a branch is no entry of it: it stands for the
    /// branch as a whole, so one goes on at its end.
    pub(super) fn standing_for(&self, line: &Line) -> NodeIndex {
        match line.part {
            Part::Title => self.outline.tip(self.rows.head(line.segment)),
            Part::Head | Part::Entry => line.node,
        }
    }

    /// What Enter would do, for the last line. Costs the same at any size.
    pub(super) fn foresee(&self) -> String {
        let Some(line) = self.line() else { return String::new() };
        let target = self.standing_for(&line);
        if self.outline.leaf() == Some(target) {
            return "you are here".to_owned();
        }
        let left = self.outline.left_behind(target);
        let mut words = vec![match left.entries {
            0 => "here → leaves nothing behind".to_owned(),
            _ => format!("here → leaves {} behind", size_in_words(left)),
        }];
        if self.busy {
            words.push("asks to stop the running turn".to_owned());
        }
        let tree = self.reader.tree();
        match &tree.node(target).kind {
            NodeKind::User => words.push("its text goes to the editor".to_owned()),
            NodeKind::Custom { entry: true, .. } => {
                words.push("its text goes to the editor".to_owned());
            }
            _ if line.part == Part::Title => words.push("goes on at the branch's end".to_owned()),
            _ => {}
        }
        words.join(" · ")
    }

    pub(super) fn enter(&mut self) -> Outcome {
        let Some(line) = self.line() else { return Outcome::Consumed };
        let target = self.standing_for(&line);
        if self.outline.leaf() == Some(target) {
            self.hint = Some("you are here already; nothing to do".to_owned());
            return Outcome::Consumed;
        }
        {
            let tree = self.reader.tree();
            let id = &tree.node(target).id;
            if tree.find(id) != Some(target) {
                self.hint =
                    Some(format!("two entries are called {id}; regrow doctor repairs that"));
                return Outcome::Consumed;
            }
        }
        if self.busy {
            let journey = Journey { target, stop_first: true };
            self.mode = Mode::Ask { question: Question::stop_turn(), journey };
            return Outcome::Consumed;
        }
        self.decide(Journey { target, stop_first: false })
    }

    /// Asks what becomes of the branch that is left, if there is anything to ask (B8).
    fn decide(&mut self, journey: Journey) -> Outcome {
        let left = self.outline.left_behind(journey.target);
        if left.entries == 0 {
            return self.depart(journey, SummaryChoice::None);
        }
        if self.settings.skip_prompt {
            let choice =
                if self.settings.enabled { SummaryChoice::Default } else { SummaryChoice::None };
            return self.depart(journey, choice);
        }
        self.mode = Mode::Ask { question: Question::summary(left, &self.settings), journey };
        Outcome::Consumed
    }

    fn depart(&self, journey: Journey, summary: SummaryChoice) -> Outcome {
        let target = self.reader.tree().node(journey.target).id.clone();
        let stop = journey.stop_first.then_some(SessionCommand::Abort);
        let go = SessionCommand::Navigate(Navigation { target, summary, label: None });
        Outcome::Close(stop.into_iter().chain([go]).map(UiEffect::Send).collect())
    }

    pub(super) fn key_in_question(&mut self, key: KeyEvent) -> Outcome {
        let Mode::Ask { question, journey } = &mut self.mode else { return Outcome::Ignored };
        let journey = *journey;
        match question.key(key) {
            None => {}
            Some(Answer::Stay) => self.mode = Mode::Browse,
            Some(Answer::StopTurn) => return self.decide(journey),
            Some(Answer::Go(choice)) => return self.depart(journey, choice),
            Some(Answer::Write(wording)) => {
                let question = question.clone();
                let input = Input::new("", Lines::Many);
                self.mode = Mode::Write { input, wording, question, journey };
            }
        }
        Outcome::Consumed
    }

    pub(super) fn key_in_words(&mut self, key: KeyEvent) -> Outcome {
        let Mode::Write { input, wording, question, journey } = &mut self.mode else {
            return Outcome::Ignored;
        };
        match input.key(key) {
            Typed::Changed | Typed::Nothing => {}
            Typed::Left => {
                let (question, journey) = (question.clone(), *journey);
                self.mode = Mode::Ask { question, journey };
            }
            Typed::Done => {
                let words = input.text().trim().to_owned();
                if words.is_empty() {
                    self.hint = Some("write a few words, or esc".to_owned());
                } else {
                    let (choice, journey) = (wording.choice(words), *journey);
                    return self.depart(journey, choice);
                }
            }
        }
        Outcome::Consumed
    }

    pub(super) fn begin_label(&mut self) {
        let Some(line) = self.line() else { return };
        if self.busy {
            self.hint = Some(READ_ONLY.to_owned());
            return;
        }
        let target = self.standing_for(&line);
        let label = self.reader.tree().label(target).unwrap_or_default().to_owned();
        self.mode = Mode::Label { input: Input::new(&label, Lines::One), target };
    }

    pub(super) fn key_in_label(&mut self, key: KeyEvent) -> Outcome {
        let Mode::Label { input, target } = &mut self.mode else { return Outcome::Ignored };
        match input.key(key) {
            Typed::Changed | Typed::Nothing => Outcome::Consumed,
            Typed::Left => {
                self.mode = Mode::Browse;
                Outcome::Consumed
            }
            Typed::Done => {
                let label = Some(input.text().trim().to_owned()).filter(|label| !label.is_empty());
                let target = *target;
                self.mode = Mode::Browse;
                let tree = self.reader.tree();
                if tree.label(target) == label.as_deref() {
                    return Outcome::Consumed;
                }
                let target = tree.node(target).id.clone();
                Outcome::Do(vec![UiEffect::Send(SessionCommand::Label { target, label })])
            }
        }
    }

    /// A new session with the path to the selected row.
    pub(super) fn export(&mut self) -> Outcome {
        let Some(line) = self.line() else { return Outcome::Consumed };
        if self.busy {
            self.hint = Some(READ_ONLY.to_owned());
            return Outcome::Consumed;
        }
        let target = self.standing_for(&line);
        let id = self.reader.tree().node(target).id.clone();
        let fork = SessionCommand::Switch(SwitchTo::Fork(Some(id)));
        Outcome::Close(vec![UiEffect::Send(fork)])
    }

    pub(super) fn key_in_comparison(&mut self, key: KeyEvent) -> Outcome {
        let page = usize::from(self.seen.tree.height).max(2) - 1;
        let action = self.keys.action(&key);
        let Mode::Compare(comparison) = &mut self.mode else { return Outcome::Ignored };
        let top = &mut comparison.top;
        match action {
            Some(TreeAction::Up) => *top = top.saturating_sub(1),
            Some(TreeAction::Down) => *top = top.saturating_add(1),
            Some(TreeAction::PageUp) => *top = top.saturating_sub(page),
            Some(TreeAction::PageDown | TreeAction::ToggleFold) => {
                *top = top.saturating_add(page);
            }
            Some(TreeAction::First) => *top = 0,
            Some(TreeAction::Last) => *top = usize::MAX,
            Some(TreeAction::Back | TreeAction::Enter | TreeAction::Compare) => {
                self.mode = Mode::Browse;
            }
            _ if key.code == KeyCode::Esc => self.mode = Mode::Browse,
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }
}
