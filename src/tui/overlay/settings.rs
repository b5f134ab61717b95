//! `/settings`: every setting with its value, where that comes from and what it may be; a change goes
//! to the person's own file.
//!
//! It knows the schema and what it is shown; reading and writing files is done for it.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Clear;
use serde_json::{Map, Value};

use super::input::{Input, Lines, Typed};
use super::list::{FuzzyList, Picked, Row, Weight};
use super::{Outcome, Overlay};
use crate::settings::check::expected;
use crate::settings::edit::Change;
use crate::settings::layers::value_from_text;
use crate::settings::origin::Origin;
use crate::settings::resolve::Shown;
use crate::settings::schema::{Key, Leaf, leaves};
use crate::tui::effect::UiEffect;
use crate::tui::text::{clip, first_parts, hints, one_line};
use crate::tui::theme::Theme;

/// The settings in force, and where a change would go.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsSheet {
    /// The person's own file; it need not be there yet.
    pub file: PathBuf,
    /// Every key with its value and origin.
    pub shown: Vec<Shown>,
    /// What the file says itself. Only that is changed: what a project adds to it stays the project's.
    pub own: Vec<(Key, Value)>,
}

/// A setting of the list.
#[derive(Debug, Clone)]
struct Setting {
    leaf: Leaf,
    value: Option<Value>,
    origin: Origin,
    /// What the person's own file says.
    own: Option<Value>,
}

/// What is done with the selected setting.
enum Doing {
    Looking,
    Choosing(FuzzyList<Option<Value>>),
    Typing(Input),
    /// A change is being written.
    Waiting,
}

/// See the module.
pub struct SettingsOverlay {
    list: FuzzyList<Setting>,
    file: PathBuf,
    doing: Doing,
    /// What came of the last change, and whether it failed.
    said: Option<(String, bool)>,
}

impl SettingsOverlay {
    /// Shows these settings.
    #[must_use]
    pub fn new(sheet: SettingsSheet) -> Self {
        let list = FuzzyList::new(rows(&sheet));
        Self { list, file: sheet.file, doing: Doing::Looking, said: None }
    }

    /// Begins to change the selected setting: a choice where there are few, else a line of text.
    fn open(&mut self) {
        let Some(setting) = self.list.selected() else { return };
        self.said = None;
        self.doing = match choices(&setting.leaf) {
            Some(values) => Doing::Choosing(choice_list(setting, values)),
            None => {
                let text = setting.own.as_ref().map(as_text);
                Doing::Typing(Input::new(&text.unwrap_or_default(), Lines::One))
            }
        };
    }

    fn typed(&mut self, text: &str) -> Outcome {
        let Some(setting) = self.list.selected() else { return Outcome::Consumed };
        if text.trim().is_empty() {
            return self.change(None);
        }
        match value_from_text(&setting.leaf, text) {
            Ok(value) => self.change(Some(value)),
            Err(problem) => {
                self.said = Some((problem, true));
                Outcome::Consumed
            }
        }
    }

    /// Asks for a change of the person's file; `None` takes the key out of it.
    fn change(&mut self, value: Option<Value>) -> Outcome {
        let Some(setting) = self.list.selected() else { return Outcome::Consumed };
        let key = setting.leaf.key.clone();
        self.doing = Doing::Waiting;
        Outcome::Do(vec![UiEffect::ChangeSetting(Change { key, value })])
    }

    fn picked(&mut self, picked: Picked) -> Outcome {
        match picked {
            Picked::Moved => Outcome::Consumed,
            Picked::Chosen => {
                self.open();
                Outcome::Consumed
            }
            Picked::Left => Outcome::Close(Vec::new()),
            Picked::Ignored => Outcome::Ignored,
        }
    }

    fn chosen(&mut self, picked: Picked) -> Outcome {
        let Doing::Choosing(list) = &self.doing else { return Outcome::Ignored };
        match (picked, list.selected().cloned()) {
            (Picked::Chosen, Some(value)) => self.change(value),
            (Picked::Left, _) => {
                self.doing = Doing::Looking;
                Outcome::Consumed
            }
            (Picked::Ignored, _) => Outcome::Ignored,
            _ => Outcome::Consumed,
        }
    }

    fn title(&self) -> String {
        let (shown, all) = self.list.counts();
        format!(" Settings · {shown} of {all} · changes go to {}", self.file.display())
    }

    /// What the selected setting is, and what it may be.
    fn about(&self, columns: usize, theme: &Theme) -> [Line<'static>; 2] {
        let Some(setting) = self.list.selected() else { return Default::default() };
        let help = setting.leaf.schema.get("description").and_then(Value::as_str);
        let mut facts = vec![expected(setting.leaf.schema)];
        let default = setting.leaf.schema.get("default");
        facts.extend(default.map(|default| format!("default {default}")));
        facts.push(match &setting.origin {
            Origin::BuiltIn => "not set".to_owned(),
            origin => format!("set in {origin}"),
        });
        if setting.leaf.key.counts_from_next_start() {
            facts.push("counts from the next start".to_owned());
        }
        let line = |text: &str| clip(&format!(" {text}"), columns).into_owned();
        [
            Line::raw(line(&one_line(help.unwrap_or_default()))),
            Line::styled(line(&facts.join(" · ")), theme.dim),
        ]
    }

    fn foot(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let (words, style) = match (&self.said, &self.doing) {
            (Some((words, true)), _) => (one_line(words), theme.error),
            (Some((words, false)), _) => (one_line(words), theme.success),
            (None, Doing::Looking) => {
                let words = "type to narrow · enter change · del back to the default · esc close";
                (words.to_owned(), theme.dim)
            }
            (None, Doing::Choosing(_)) => ("enter choose · esc back".to_owned(), theme.dim),
            (None, Doing::Typing(_)) => {
                ("enter save · empty for the default · esc back".to_owned(), theme.dim)
            }
            (None, Doing::Waiting) => ("saving…".to_owned(), theme.dim),
        };
        Line::styled(format!(" {}", hints(&words, columns.saturating_sub(1))), style)
    }
}

/// The settings of a sheet as rows of a list.
fn rows(sheet: &SettingsSheet) -> Vec<(Setting, Row)> {
    let settings = leaves().into_iter().map(|leaf| {
        let (value, origin) = in_force(&leaf.key, &sheet.shown);
        let own = sheet.own.iter().map(|(key, value)| (key, Some(value)));
        let own = joined(&leaf.key, own);
        Setting { leaf, value, origin, own }
    });
    let row = |setting: Setting| {
        let help = setting.leaf.schema.get("description").and_then(Value::as_str);
        let right = setting.value.as_ref().map(|value| one_line(&as_text(value)));
        let row = Row {
            text: setting.leaf.key.to_string(),
            right: right.unwrap_or_else(|| "—".to_owned()),
            below: help.unwrap_or_default().to_owned(),
            weight: if is_set(&setting) { Weight::Current } else { Weight::Plain },
        };
        (setting, row)
    };
    settings.map(row).collect()
}

/// The value of a key and who set it.
fn in_force(key: &Key, shown: &[Shown]) -> (Option<Value>, Origin) {
    let mut parts = shown.iter().filter(|shown| shown.key.names().starts_with(key.names()));
    let origin = parts.next_back().map_or(Origin::BuiltIn, |shown| shown.origin.clone());
    (joined(key, shown.iter().map(|shown| (&shown.key, shown.value.as_ref()))), origin)
}

/// The value of a key. Blocks of free keys come key by key; here they are one.
fn joined<'a>(
    key: &Key,
    values: impl Iterator<Item = (&'a Key, Option<&'a Value>)>,
) -> Option<Value> {
    let parts: Vec<_> = values.filter(|(part, _)| part.names().starts_with(key.names())).collect();
    if let [(only, value)] = parts.as_slice()
        && *only == key
    {
        return value.cloned();
    }
    let mut root = Map::new();
    for (part, value) in parts {
        part.insert_into(&mut root, value.cloned().unwrap_or_default());
    }
    key.find_in(&Value::Object(root)).cloned()
}

fn is_set(setting: &Setting) -> bool {
    setting.origin != Origin::BuiltIn
}

/// A value as it is typed: lists of plain words with commas, other structures as JSON.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            match words.filter(|words| words.iter().all(|word| !word.contains([',', '[']))) {
                Some(words) => words.join(", "),
                None => value.to_string(),
            }
        }
        value => value.to_string(),
    }
}

/// The values to choose among, where there are few.
fn choices(leaf: &Leaf) -> Option<Vec<Value>> {
    if leaf.schema.get("type").is_some_and(|kind| kind == "boolean") {
        return Some(vec![true.into(), false.into()]);
    }
    leaf.schema.get("enum").and_then(Value::as_array).cloned()
}

fn choice_list(setting: &Setting, values: Vec<Value>) -> FuzzyList<Option<Value>> {
    let default = setting.leaf.schema.get("default");
    let now = setting.value.clone().filter(|_| is_set(setting));
    let row = |value: &Option<Value>| Row {
        text: match (value, default) {
            (Some(value), _) => as_text(value),
            (None, Some(default)) => format!("the default: {}", as_text(default)),
            (None, None) => "not set".to_owned(),
        },
        weight: if *value == now { Weight::Current } else { Weight::Plain },
        ..Row::default()
    };
    let values = values.into_iter().map(Some).chain(std::iter::once(None));
    let mut list = FuzzyList::new(values.map(|value| (value.clone(), row(&value))));
    list.select(|value| *value == now);
    list
}

impl Overlay for SettingsOverlay {
    fn key(&mut self, key: KeyEvent) -> Outcome {
        match &mut self.doing {
            Doing::Looking if key.code == KeyCode::Delete => {
                match self.list.selected().is_some_and(is_set) {
                    true => self.change(None),
                    false => Outcome::Consumed,
                }
            }
            Doing::Looking => {
                self.said = None;
                let picked = self.list.key(key);
                self.picked(picked)
            }
            Doing::Choosing(list) => {
                let picked = list.key(key);
                self.chosen(picked)
            }
            Doing::Typing(input) => match input.key(key) {
                Typed::Done => {
                    let text = input.text();
                    self.typed(&text)
                }
                Typed::Left => {
                    (self.doing, self.said) = (Doing::Looking, None);
                    Outcome::Consumed
                }
                Typed::Changed | Typed::Nothing => {
                    self.said = None;
                    Outcome::Consumed
                }
            },
            Doing::Waiting if key.code == KeyCode::Esc => Outcome::Close(Vec::new()),
            Doing::Waiting => Outcome::Consumed,
        }
    }

    fn paste(&mut self, text: &str) -> Outcome {
        match &mut self.doing {
            Doing::Looking => self.list.paste(text),
            Doing::Choosing(list) => list.paste(text),
            Doing::Typing(input) => input.paste(text),
            Doing::Waiting => {}
        }
        Outcome::Consumed
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Outcome {
        match &mut self.doing {
            Doing::Looking => {
                let picked = self.list.mouse(mouse);
                self.picked(picked)
            }
            Doing::Choosing(list) => {
                let picked = list.mouse(mouse);
                self.chosen(picked)
            }
            Doing::Typing(_) | Doing::Waiting => Outcome::Consumed,
        }
    }

    fn setting_changed(
        &mut self,
        change: &Change,
        result: &Result<SettingsSheet, String>,
    ) -> Outcome {
        match result {
            Ok(sheet) => {
                let selected = self.list.selected().map(|setting| setting.leaf.key.clone());
                self.list.replace(rows(sheet));
                self.list.select(|setting| Some(&setting.leaf.key) == selected.as_ref());
                self.file.clone_from(&sheet.file);
                self.doing = Doing::Looking;
                self.said = Some((told(change, &sheet.shown), false));
            }
            Err(problem) => {
                // What was typed stays, so that it can be mended.
                self.doing =
                    match (std::mem::replace(&mut self.doing, Doing::Looking), &change.value) {
                        (Doing::Waiting, Some(value)) if self.is_typed() => {
                            Doing::Typing(Input::new(&as_text(value), Lines::One))
                        }
                        (Doing::Waiting, _) => Doing::Looking,
                        (doing, _) => doing,
                    };
                self.said = Some((problem.clone(), true));
            }
        }
        Outcome::Consumed
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        frame.render_widget(Clear, area);
        let columns = usize::from(area.width);
        let below = match &self.doing {
            Doing::Choosing(list) => u16::try_from(list.counts().1 + 1).unwrap_or(u16::MAX),
            Doing::Typing(_) => 1,
            Doing::Looking | Doing::Waiting => 0,
        };
        let [head, list, about, edit, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(2),
            Constraint::Length(below.min(area.height / 2)),
            Constraint::Length(1),
        ])
        .areas(area);
        let title = first_parts(&self.title(), columns).into_owned();
        frame.render_widget(Line::styled(title, theme.heading), head);
        let caret = self.list.draw(frame, list, theme);
        for (line, place) in self.about(columns, theme).into_iter().zip(about.rows()) {
            frame.render_widget(line, place);
        }
        frame.render_widget(self.foot(columns, theme), foot);
        let key = self.list.selected().map(|setting| setting.leaf.key.to_string());
        match &mut self.doing {
            Doing::Choosing(list) => Some(list.draw(frame, edit, theme)),
            Doing::Typing(input) => {
                let prompt = format!(" {} = ", key.unwrap_or_default());
                Some(input.draw(frame, edit, &prompt, theme))
            }
            Doing::Looking => Some(caret),
            Doing::Waiting => None,
        }
    }
}

impl SettingsOverlay {
    fn is_typed(&self) -> bool {
        self.list.selected().is_some_and(|setting| choices(&setting.leaf).is_none())
    }
}

/// What came of a change: another layer may say otherwise.
fn told(change: &Change, shown: &[Shown]) -> String {
    let (value, origin) = in_force(&change.key, shown);
    let value = value.as_ref().map_or_else(|| "not set".to_owned(), as_text);
    let later = if change.key.counts_from_next_start() { ", from the next start" } else { "" };
    let wanted = change.value.as_ref().map(as_text);
    match (&origin, wanted) {
        (Origin::File { .. } | Origin::BuiltIn, wanted)
            if wanted.as_ref().is_none_or(|wanted| *wanted == value) =>
        {
            format!("saved: {} is {value}{later}", change.key)
        }
        _ => format!("saved, but {} stays {value}: {origin} says so", change.key),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;
    use serde_json::json;

    use super::super::testing::picture;
    use super::*;
    use crate::settings::layers::{Layer, Merged};
    use crate::settings::node::Format;
    use crate::settings::resolve::show;

    fn sheet(yaml: &str) -> SettingsSheet {
        let path = std::path::Path::new("/home/me/settings.yaml");
        let layer = Layer::from_file(path, yaml, Format::Yaml).unwrap();
        let own = layer.entries.iter().map(|entry| (entry.key.clone(), entry.value.clone()));
        let own = own.collect();
        SettingsSheet { file: path.to_owned(), shown: show(&Merged::of([layer])), own }
    }

    fn press(overlay: &mut SettingsOverlay, code: KeyCode) -> Outcome {
        overlay.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn type_in(overlay: &mut SettingsOverlay, text: &str) {
        for letter in text.chars() {
            press(overlay, KeyCode::Char(letter));
        }
    }

    fn at(key: &str) -> SettingsOverlay {
        let yaml =
            "compaction:\n  reserveTokens: 8000\nsummarization:\n  parameters: {top_p: 0.9}\n";
        let mut overlay = SettingsOverlay::new(sheet(yaml));
        type_in(&mut overlay, key);
        overlay
    }

    fn changes(key: &str, value: Option<Value>) -> Outcome {
        Outcome::Do(vec![UiEffect::ChangeSetting(Change { key: Key::parse(key), value })])
    }

    #[test]
    fn u4_settings_say_what_they_are() {
        let mut overlay = at("compaction.");
        insta::assert_snapshot!("settings_100x24", picture(&mut overlay, 100, 24));
        insta::assert_snapshot!("settings_40x10", picture(&mut overlay, 40, 10));
        let mut overlay = at("permissions.mode");
        press(&mut overlay, KeyCode::Enter);
        insta::assert_snapshot!("settings_choosing", picture(&mut overlay, 80, 18));
    }

    #[test]
    fn u4_a_choice_and_a_text_become_changes() {
        let mut overlay = at("permissions.mode");
        press(&mut overlay, KeyCode::Enter);
        type_in(&mut overlay, "edits");
        assert_eq!(
            press(&mut overlay, KeyCode::Enter),
            changes("permissions.mode", Some(json!("edits")))
        );
        let mut overlay = at("compaction.reserveTokens");
        press(&mut overlay, KeyCode::Enter);
        assert!(picture(&mut overlay, 80, 20).contains("compaction.reserveTokens = 8000"));
        type_in(&mut overlay, "0");
        assert_eq!(
            press(&mut overlay, KeyCode::Enter),
            changes("compaction.reserveTokens", Some(json!(80_000)))
        );
        let mut overlay = at("summarization.parameters");
        press(&mut overlay, KeyCode::Enter);
        assert!(picture(&mut overlay, 80, 20).contains(r#"parameters = {"top_p":0.9}"#));
        assert_eq!(
            press(&mut overlay, KeyCode::Enter),
            changes("summarization.parameters", Some(json!({"top_p": 0.9})))
        );
        let mut overlay = at("tools");
        press(&mut overlay, KeyCode::Enter);
        type_in(&mut overlay, "read, ls");
        assert_eq!(
            press(&mut overlay, KeyCode::Enter),
            changes("tools", Some(json!(["read", "ls"])))
        );
    }

    #[test]
    fn u4_back_to_the_default_takes_the_key_out() {
        let mut overlay = at("compaction.reserveTokens");
        assert_eq!(press(&mut overlay, KeyCode::Delete), changes("compaction.reserveTokens", None));
        let mut overlay = at("compaction.keepRecent");
        assert_eq!(press(&mut overlay, KeyCode::Delete), Outcome::Consumed);
    }

    #[test]
    fn g1_a_wrong_value_is_told_where_it_was_typed() {
        let mut overlay = at("compaction.reserveTokens");
        press(&mut overlay, KeyCode::Enter);
        type_in(&mut overlay, "k");
        assert_eq!(press(&mut overlay, KeyCode::Enter), Outcome::Consumed);
        let shown = picture(&mut overlay, 90, 20);
        assert!(shown.contains("must be a whole number of at least 1, not \"8000k\""), "{shown}");
        assert!(shown.contains("reserveTokens = 8000k"), "{shown}");
    }

    #[test]
    fn f82_what_could_not_be_saved_stays_to_be_mended() {
        let mut overlay = at("theme");
        press(&mut overlay, KeyCode::Enter);
        type_in(&mut overlay, "dark");
        press(&mut overlay, KeyCode::Enter);
        let change = Change { key: Key::parse("theme"), value: Some(json!("dark")) };
        overlay.setting_changed(&change, &Err("the file has a mistake".into()));
        let shown = picture(&mut overlay, 90, 20);
        assert!(
            shown.contains("the file has a mistake") && shown.contains("theme = dark"),
            "{shown}"
        );
        overlay.setting_changed(&change, &Ok(sheet("theme: dark")));
        assert!(picture(&mut overlay, 90, 20).contains("saved: theme is dark"));
    }

    #[test]
    fn g1_a_layer_that_wins_is_named() {
        let variables = [("REGROW_MOUSE".to_owned(), "true".to_owned())];
        let layer = Layer::from_environment(variables, &mut Vec::new()).unwrap();
        let shown = show(&Merged::of([layer]));
        let change = Change { key: Key::parse("mouse"), value: Some(json!(false)) };
        assert_eq!(told(&change, &shown), "saved, but mouse stays true: REGROW_MOUSE says so");
    }
}
