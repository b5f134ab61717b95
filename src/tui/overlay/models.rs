//! `/model`: who answers from now on.

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Clear;

use super::list::{FuzzyList, Picked, Row, Weight};
use super::{Outcome, Overlay};
use crate::agent_session::command::SessionCommand;
use crate::provider::model::{Model, Price};
use crate::session::tree::ModelRef;
use crate::tui::amount::tokens;
use crate::tui::effect::UiEffect;
use crate::tui::text::{first_parts, hints};
use crate::tui::theme::Theme;

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// The model.
    pub model: Model,
    /// Whether it could be asked now: there is a key, or none is needed.
    pub usable: bool,
}

/// See the module.
pub struct ModelPicker {
    list: FuzzyList<ModelChoice>,
}

impl ModelPicker {
    /// Offers `models`, those that can be asked first; `current` is selected.
    #[must_use]
    pub fn new(mut models: Vec<ModelChoice>, current: Option<&ModelRef>) -> Self {
        models.sort_by_key(|choice| !choice.usable);
        let is_current = |choice: &ModelChoice| Some(&choice.model.model_ref()) == current;
        let rows: Vec<_> =
            models.into_iter().map(|choice| (row(&choice, is_current(&choice)), choice)).collect();
        let mut list = FuzzyList::new(rows.into_iter().map(|(row, choice)| (choice, row)));
        list.select(is_current);
        Self { list }
    }

    fn choose(&mut self) -> Outcome {
        let Some(choice) = self.list.selected() else { return Outcome::Consumed };
        if !choice.usable {
            let provider = choice.model.provider.clone();
            return Outcome::Close(vec![UiEffect::ListProviders(Some(provider))]);
        }
        let model = choice.model.model_ref();
        Outcome::Close(vec![UiEffect::Send(SessionCommand::SetModel(model))])
    }

    fn picked(&mut self, picked: Picked) -> Outcome {
        match picked {
            Picked::Moved => Outcome::Consumed,
            Picked::Chosen => self.choose(),
            Picked::Left => Outcome::Close(Vec::new()),
            Picked::Ignored => Outcome::Ignored,
        }
    }
}

/// `anthropic/claude-sonnet-5 … 200k · $3 in $15 out`
fn row(choice: &ModelChoice, is_current: bool) -> Row {
    let model = &choice.model;
    let guess = if model.window_is_guess { "~" } else { "" };
    let mut facts = Vec::new();
    if !choice.usable {
        facts.push("no key".to_owned());
    }
    facts.push(format!("{guess}{}", tokens(model.context_window)));
    facts.extend(price(&model.price));
    facts.extend(model.reasoning.then(|| "thinks".to_owned()));
    facts.extend(model.images.then(|| "images".to_owned()));
    Row {
        text: model.model_ref().to_string(),
        right: facts.join(" · "),
        below: String::new(),
        weight: match (is_current, choice.usable) {
            (true, _) => Weight::Current,
            (false, true) => Weight::Plain,
            (false, false) => Weight::Faint,
        },
    }
}

fn price(price: &Price) -> Option<String> {
    let dollars = |price: f64| format!("${}", (price * 1_000.0).round() / 1_000.0);
    (price.input > 0.0 || price.output > 0.0)
        .then(|| format!("{} in {} out", dollars(price.input), dollars(price.output)))
}

impl Overlay for ModelPicker {
    fn key(&mut self, key: KeyEvent) -> Outcome {
        let picked = self.list.key(key);
        self.picked(picked)
    }

    fn paste(&mut self, text: &str) -> Outcome {
        self.list.paste(text);
        Outcome::Consumed
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Outcome {
        let picked = self.list.mouse(mouse);
        self.picked(picked)
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        frame.render_widget(Clear, area);
        let [head, list, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(2), Constraint::Length(1)])
                .areas(area);
        let (shown, all) = self.list.counts();
        let title = format!(" Model · {shown} of {all} · prices per million tokens");
        let columns = usize::from(area.width);
        let title = Line::styled(first_parts(&title, columns).into_owned(), theme.heading);
        frame.render_widget(title, head);
        let hint = hints("type to narrow · enter choose · esc close", columns.saturating_sub(1));
        frame.render_widget(Line::styled(format!(" {hint}"), theme.dim), foot);
        Some(self.list.draw(frame, list, theme))
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::super::testing::picture;
    use super::*;

    fn picker() -> ModelPicker {
        let model = |provider: &str, id: &str, window, input, output| Model {
            provider: provider.into(),
            id: id.into(),
            api: String::new(),
            base_url: String::new(),
            context_window: window,
            max_tokens: 1,
            reasoning: input > 1.0,
            images: false,
            price: Price { input, output, ..Price::default() },
            window_is_guess: provider == "local",
        };
        let choices = vec![
            ModelChoice { model: model("openai", "gpt-6", 400_000, 1.25, 10.0), usable: false },
            ModelChoice {
                model: model("anthropic", "claude-sonnet-5", 200_000, 3.0, 15.0),
                usable: true,
            },
            ModelChoice { model: model("local", "qwen-한국어", 32_768, 0.0, 0.0), usable: true },
        ];
        ModelPicker::new(choices, Some(&ModelRef::new("local", "qwen-한국어")))
    }

    fn press(picker: &mut ModelPicker, code: KeyCode) -> Outcome {
        picker.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn u4_the_models_with_what_they_cost() {
        insta::assert_snapshot!(picture(&mut picker(), 70, 8));
    }

    #[test]
    fn u4_choosing_a_model() {
        let mut picker = picker();
        let chosen = |provider, id| {
            let model = ModelRef::new(provider, id);
            Outcome::Close(vec![UiEffect::Send(SessionCommand::SetModel(model))])
        };
        assert_eq!(press(&mut picker, KeyCode::Enter), chosen("local", "qwen-한국어"));
        for letter in "sonnet".chars() {
            press(&mut picker, KeyCode::Char(letter));
        }
        assert_eq!(press(&mut picker, KeyCode::Enter), chosen("anthropic", "claude-sonnet-5"));
        assert_eq!(press(&mut picker, KeyCode::Esc), Outcome::Close(Vec::new()));
    }

    #[test]
    fn p3_a_model_without_a_key_asks_for_it() {
        let mut picker = picker();
        press(&mut picker, KeyCode::Char('g'));
        press(&mut picker, KeyCode::Char('p'));
        let asked = UiEffect::ListProviders(Some("openai".into()));
        assert_eq!(press(&mut picker, KeyCode::Enter), Outcome::Close(vec![asked]));
    }
}
