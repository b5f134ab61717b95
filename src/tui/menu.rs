//! The list over the editor: commands after `/`, files after `@` (U2).

use ratatui::text::{Line, Span};

use super::text::{clip, clip_start, one_line, width};
use super::theme::Theme;
use crate::prompt::template::Template;
use crate::slash;

/// Most rows of the list.
pub const MOST_ROWS: usize = 8;

/// What can be chosen, and what is.
#[derive(Debug, PartialEq, Eq)]
pub struct Menu {
    kind: Kind,
    items: Vec<Item>,
    selected: usize,
}

/// What a menu is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Commands; the text is what follows the slash.
    Commands(String),
    /// Files; the text is what follows the `@`.
    Files(String),
}

#[derive(Debug, PartialEq, Eq)]
struct Item {
    label: String,
    /// The label as it can be drawn.
    shown: String,
    help: String,
    /// Whether it can be run as it stands.
    complete: bool,
}

impl Item {
    /// Names of files and of templates are anybody's text.
    fn new(label: String, help: &str, complete: bool) -> Self {
        Self { shown: one_line(&label), label, help: one_line(help), complete }
    }
}

/// What choosing means.
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    /// Bytes before the caret that it replaces.
    pub replaces: usize,
    /// What it puts there.
    pub text: String,
    /// Whether the line can be sent now.
    pub complete: bool,
}

/// What kind of menu belongs to the text before the caret.
#[must_use]
pub fn kind_for(before: &str, after: &str) -> Option<Kind> {
    let next_is_word = after.chars().next().is_some_and(|next| !next.is_whitespace());
    if next_is_word {
        return None;
    }
    if let Some(name) = before.strip_prefix('/')
        && !name.contains(|c: char| c.is_whitespace() || c == '/')
    {
        return Some(Kind::Commands(name.to_owned()));
    }
    let at = before.rfind('@')?;
    let typed = &before[at + 1..];
    let starts_word =
        before[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || c == '(');
    (starts_word && !typed.contains(char::is_whitespace)).then(|| Kind::Files(typed.to_owned()))
}

impl Menu {
    /// The commands and templates that fit what was typed; `None` when there is none.
    #[must_use]
    pub fn commands(typed: &str, templates: &[Template]) -> Option<Self> {
        let mut items: Vec<Item> = slash::complete(typed)
            .into_iter()
            .map(|command| {
                let complete = command.arguments.is_empty() || command.arguments.starts_with('[');
                Item::new(command.name.to_owned(), command.help, complete)
            })
            .collect();
        items.extend(of_templates(typed, templates));
        (!items.is_empty()).then(|| Self {
            kind: Kind::Commands(typed.to_owned()),
            items,
            selected: 0,
        })
    }

    /// Files that match; `None` when there is none.
    #[must_use]
    pub fn files(typed: &str, files: Vec<String>) -> Option<Self> {
        let items: Vec<Item> = files.into_iter().map(|label| Item::new(label, "", false)).collect();
        (!items.is_empty()).then(|| Self {
            kind: Kind::Files(typed.to_owned()),
            items,
            selected: 0,
        })
    }

    /// What it is for.
    #[must_use]
    pub const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Rows on the screen.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.items.len().min(MOST_ROWS)
    }

    /// Selects the one before, or after; round at the ends.
    pub fn step(&mut self, back: bool) {
        let count = self.items.len();
        self.selected = (self.selected + if back { count - 1 } else { 1 }) % count;
    }

    /// What choosing the selected one does.
    #[must_use]
    pub fn choice(&self) -> Choice {
        let item = self.items.get(self.selected);
        let (label, complete) =
            item.map_or(("", false), |item| (item.label.as_str(), item.complete));
        match &self.kind {
            Kind::Commands(typed) => {
                let blank = if complete { "" } else { " " };
                Choice { replaces: typed.len(), text: format!("{label}{blank}"), complete }
            }
            Kind::Files(typed) => {
                let quoted = label.contains(char::is_whitespace);
                let text = if quoted { format!("\"{label}\"") } else { label.to_owned() };
                // A folder is gone into; a file is done.
                let blank = if label.ends_with('/') { "" } else { " " };
                Choice { replaces: typed.len(), text: format!("{text}{blank}"), complete: false }
            }
        }
    }

    /// Draws the list, the selected one in view.
    #[must_use]
    pub fn draw(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let first = (self.selected + 1).saturating_sub(MOST_ROWS);
        let names =
            self.items.iter().map(|item| width(&item.shown)).max().unwrap_or(0).min(columns / 2);
        let sign = match self.kind {
            Kind::Commands(_) => "/",
            Kind::Files(_) => "@",
        };
        let visible = self.items.iter().enumerate().skip(first).take(MOST_ROWS);
        visible
            .map(|(number, item)| {
                let chosen = number == self.selected;
                let mark = if chosen { "› " } else { "  " };
                let style = if chosen { theme.accent } else { theme.text };
                let label = match item.help.as_str() {
                    "" => clip_start(&item.shown, columns.saturating_sub(5)).into_owned(),
                    _ => {
                        let name = clip(&item.shown, names);
                        let gap = names.saturating_sub(width(&name));
                        format!("{name}{}", " ".repeat(gap))
                    }
                };
                let room = columns.saturating_sub(width(&label) + 7);
                let help = clip(&item.help, room).into_owned();
                Line::from(vec![
                    Span::styled(mark, theme.accent),
                    Span::styled(format!("{sign}{label}"), style),
                    Span::styled(format!("  {help}"), theme.dim),
                ])
            })
            .collect()
    }
}

/// The templates that fit what was typed: names that begin with it, then names that contain it. One
/// that wants arguments waits for them.
fn of_templates(typed: &str, templates: &[Template]) -> Vec<Item> {
    let typed = typed.to_lowercase();
    let begins = |template: &&Template| template.name.to_lowercase().starts_with(&typed);
    let contains = |template: &&Template| template.name.to_lowercase().contains(&typed);
    let first = templates.iter().filter(begins);
    let then = templates.iter().filter(|template| !begins(template) && contains(template));
    let item = |template: &Template| {
        let hint = &template.argument_hint;
        let help = format!("{hint} {}", template.description);
        Item::new(template.name.clone(), help.trim_start(), hint.is_empty())
    };
    first.chain(then).map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u2_menus_open_where_they_make_sense() {
        let commands = |name: &str| Some(Kind::Commands(name.into()));
        let files = |name: &str| Some(Kind::Files(name.into()));
        for (before, after, kind) in [
            ("/", "", commands("")),
            ("/co", "", commands("co")),
            ("/compact foc", "", None),
            ("/usr/bin", "", None),
            (" /co", "", None),
            ("see @", "", files("")),
            ("see @src/ma", " and", files("src/ma")),
            ("me@example", "", None),
            ("@a b", "", None),
            ("@a", "b", None),
        ] {
            assert_eq!(kind_for(before, after), kind, "{before}|{after}");
        }
    }

    #[test]
    fn u2_choosing_completes_and_goes_round() {
        let mut menu = Menu::commands("co", &[]).unwrap();
        assert_eq!(menu.choice(), Choice { replaces: 2, text: "compact".into(), complete: true });
        menu.step(true);
        menu.step(false);
        assert_eq!(menu.choice().text, "compact");
        let menu = Menu::commands("name", &[]).unwrap();
        assert_eq!(menu.choice(), Choice { replaces: 4, text: "name ".into(), complete: false });
        let menu = Menu::files("a", vec!["my file.rs".into()]).unwrap();
        assert_eq!(menu.choice().text, "\"my file.rs\" ");
        assert_eq!(Menu::commands("zzz", &[]), None);
    }

    #[test]
    fn u4_templates_stand_below_the_commands_and_wait_for_their_arguments() {
        let template = |name: &str, text: &str| Template::parse(name, "x.md", text).unwrap();
        let templates = [
            template("recompact", "---\ndescription: Again\n---\nx"),
            template("commit", "---\ndescription: 커밋\nargument-hint: [what]\n---\nx"),
        ];
        let mut menu = Menu::commands("com", &templates).unwrap();
        let drawn = menu.draw(60, &Theme::dark());
        let drawn: Vec<String> = drawn.iter().map(ToString::to_string).collect();
        assert!(drawn[2].contains("/commit") && drawn[2].contains("[what] 커밋"), "{drawn:?}");
        assert!(drawn[3].contains("/recompact"), "{drawn:?}");
        menu.step(false);
        menu.step(false);
        assert_eq!(menu.choice(), Choice { replaces: 3, text: "commit ".into(), complete: false });
        menu.step(false);
        assert_eq!(menu.choice(), Choice { replaces: 3, text: "recompact".into(), complete: true });
    }
}
