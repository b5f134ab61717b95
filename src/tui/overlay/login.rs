//! `/login`: a key for a provider. It is typed or pasted unseen, and goes to the file of keys, nowhere
//! else.

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Clear;

use super::input::{Input, Lines, Typed};
use super::list::{FuzzyList, Picked, Row, Weight};
use super::{Outcome, Overlay};
use crate::provider::secret::Secret;
use crate::tui::effect::UiEffect;
use crate::tui::outside::ProviderKey;
use crate::tui::text::{first_parts, hints, width};
use crate::tui::theme::Theme;

/// See the module.
pub struct LoginOverlay {
    list: FuzzyList<ProviderKey>,
    /// The provider whose key is being typed.
    typing: Option<(ProviderKey, Input)>,
    hint: Option<String>,
}

impl LoginOverlay {
    /// Offers providers, those without a key first; the key of `wanted` is asked for at once.
    #[must_use]
    pub fn new(mut providers: Vec<ProviderKey>, wanted: Option<&str>) -> Self {
        providers.sort_by_key(|provider| provider.has_key);
        let named = |provider: &&ProviderKey| Some(provider.name.as_str()) == wanted;
        let typing = providers.iter().find(named).map(|provider| (provider.clone(), empty()));
        let hint = wanted.filter(|_| typing.is_none());
        // What was typed may be a key.
        let hint = hint.map(|_| "there is no such provider".to_owned());
        let rows = providers.into_iter().map(|provider| (provider.clone(), row(&provider)));
        Self { list: FuzzyList::new(rows), typing, hint }
    }

    fn picked(&mut self, picked: Picked) -> Outcome {
        match picked {
            Picked::Moved => Outcome::Consumed,
            Picked::Chosen => {
                self.typing = self.list.selected().cloned().map(|provider| (provider, empty()));
                Outcome::Consumed
            }
            Picked::Left => Outcome::Close(Vec::new()),
            Picked::Ignored => Outcome::Ignored,
        }
    }

    fn typed(&mut self, typed: Typed) -> Outcome {
        let Some((provider, input)) = &self.typing else { return Outcome::Ignored };
        match typed {
            Typed::Left => {
                self.typing = None;
                Outcome::Consumed
            }
            Typed::Done => match Secret::new(&input.text()) {
                Some(key) => {
                    let provider = provider.name.clone();
                    Outcome::Close(vec![UiEffect::StoreKey { provider, key }])
                }
                None => {
                    self.hint = Some("no key was typed; nothing has changed".to_owned());
                    Outcome::Consumed
                }
            },
            Typed::Changed | Typed::Nothing => Outcome::Consumed,
        }
    }
}

fn empty() -> Input {
    Input::new("", Lines::One)
}

fn row(provider: &ProviderKey) -> Row {
    let right =
        if provider.has_key { "has a key".to_owned() } else { provider.variables.join(", ") };
    let weight = if provider.has_key { Weight::Faint } else { Weight::Plain };
    Row { text: provider.name.clone(), right, below: String::new(), weight }
}

impl Overlay for LoginOverlay {
    fn key(&mut self, key: KeyEvent) -> Outcome {
        self.hint = None;
        match &mut self.typing {
            Some((_, input)) => {
                let typed = input.key(key);
                self.typed(typed)
            }
            None => {
                let picked = self.list.key(key);
                self.picked(picked)
            }
        }
    }

    fn paste(&mut self, text: &str) -> Outcome {
        match &mut self.typing {
            Some((_, input)) => input.paste(text),
            None => self.list.paste(text),
        }
        Outcome::Consumed
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Outcome {
        if self.typing.is_some() {
            return Outcome::Consumed;
        }
        let picked = self.list.mouse(mouse);
        self.picked(picked)
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        frame.render_widget(Clear, area);
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(2), Constraint::Length(1)])
                .areas(area);
        let columns = usize::from(area.width);
        let (title, help) = match &self.typing {
            Some((provider, _)) => (
                format!(" Login · {}", provider.name),
                "the key is not shown · enter stores it · esc back",
            ),
            None => (" Login · whose key?".to_owned(), "type to narrow · enter choose · esc close"),
        };
        frame.render_widget(
            Line::styled(first_parts(&title, columns).into_owned(), theme.heading),
            head,
        );
        let style = if self.hint.is_some() { theme.warning } else { theme.dim };
        let hint = hints(self.hint.as_deref().unwrap_or(help), columns.saturating_sub(1));
        frame.render_widget(Line::styled(format!(" {hint}"), style), foot);
        let Some((provider, input)) = &self.typing else {
            return Some(self.list.draw(frame, body, theme));
        };
        // As many points as there is room for: the length of a key is no secret, its letters are.
        let room = columns.saturating_sub(width(PROMPT) + 2);
        let points = "•".repeat(input.text().chars().count().min(room));
        let lines = [
            Line::styled(format!("{PROMPT}{points}"), theme.text),
            Line::default(),
            Line::styled(format!(" {}", variables(provider)), theme.dim),
        ];
        for (line, place) in lines.into_iter().zip(body.rows().skip(1)) {
            frame.render_widget(line, place);
        }
        let column = u16::try_from(width(PROMPT) + width(&points)).unwrap_or(0);
        Some(Position { x: body.x + column.min(body.width.saturating_sub(1)), y: body.y + 1 })
    }
}

/// Before the points.
const PROMPT: &str = " key: ";

fn variables(provider: &ProviderKey) -> String {
    match provider.variables.first() {
        Some(variable) => format!("{variable} in the environment does as well"),
        None => "it is kept in auth.json, which only you can read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::super::testing::picture;
    use super::*;

    fn provider(name: &str, has_key: bool) -> ProviderKey {
        let variables = vec![format!("{}_API_KEY", name.to_uppercase())];
        ProviderKey { name: name.into(), has_key, variables }
    }

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn p3_a_key_is_typed_unseen_and_goes_to_one_place() {
        let providers = vec![provider("anthropic", true), provider("openai", false)];
        let mut login = LoginOverlay::new(providers, None);
        let list = picture(&mut login, 60, 8);
        assert!(list.contains("openai") && list.contains("OPENAI_API_KEY"), "{list}");
        assert!(list.contains("anthropic") && list.contains("has a key"), "{list}");
        assert_eq!(login.key(key(KeyCode::Enter)), Outcome::Consumed);
        assert_eq!(login.key(key(KeyCode::Enter)), Outcome::Consumed, "no key yet");
        assert!(picture(&mut login, 60, 8).contains("nothing has changed"));
        login.paste("sk-secret-1\n");
        login.key(key(KeyCode::Char('2')));
        let typing = picture(&mut login, 60, 8);
        assert!(
            typing.contains("Login · openai") && typing.contains("key: ••••••••••••"),
            "{typing}"
        );
        assert!(!typing.contains("secret") && !typing.contains('2'), "{typing}");
        let Outcome::Close(effects) = login.key(key(KeyCode::Enter)) else { panic!("not closed") };
        assert!(!format!("{effects:?}").contains("secret"), "{effects:?}");
        let [UiEffect::StoreKey { provider, key }] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!((provider.as_str(), key.expose()), ("openai", "sk-secret-12"));
    }

    #[test]
    fn p3_a_provider_that_is_named_is_asked_for_at_once() {
        let mut login = LoginOverlay::new(vec![provider("openai", false)], Some("openai"));
        assert!(picture(&mut login, 40, 6).contains("Login · openai"));
        login.key(key(KeyCode::Esc));
        assert!(picture(&mut login, 40, 6).contains("whose key?"));
        let mut login = LoginOverlay::new(vec![provider("openai", false)], Some("opnai"));
        assert!(picture(&mut login, 40, 6).contains("there is no such provider"));
    }
}
