//! `/help` and `/hotkeys`: the commands and the keys, from the tables that define them.

use ratatui::text::Line;

use super::pager::{Document, Pager, Part};
use crate::prompt::template::Template;
use crate::slash::COMMANDS;
use crate::tui::action::{Action, Bindable, Group, TreeAction};
use crate::tui::keymap::KeyMap;
use crate::tui::theme::Theme;

/// The list of keys.
#[must_use]
pub fn keys(keymap: &KeyMap, theme: &Theme) -> Pager {
    let mut parts = Vec::new();
    for group in Group::ALL {
        parts.push(heading(group.title(), theme));
        for action in Action::ALL.iter().filter(|action| action.group() == group) {
            parts.push(keys_of(keymap.keys(*action), action.help()));
        }
        parts.push(Part::Line(Line::default()));
    }
    parts.push(heading("in the tree", theme));
    for action in TreeAction::ALL {
        parts.push(keys_of(keymap.tree().keys(*action), action.help()));
    }
    parts.push(Part::Line(Line::default()));
    let note = "other keys: write them into keymap.toml beside your settings, e.g. \
                find = [\"ctrl+s\"]; those of the tree below a line [tree]";
    parts.push(Part::Line(Line::styled(note, theme.dim)));
    Pager::new("Keys", Document::Parts(parts))
}

/// The list of commands.
#[must_use]
pub fn commands(templates: &[Template], keymap: &KeyMap, theme: &Theme) -> Pager {
    let mut parts = vec![heading("commands", theme)];
    for command in COMMANDS {
        parts.push(pair(&command.usage(), command.help));
    }
    parts.push(Part::Line(Line::default()));
    if !templates.is_empty() {
        parts.push(heading("your prompts", theme));
        for template in templates {
            let typed = format!("/{} {}", template.name, template.argument_hint);
            parts.push(pair(typed.trim_end(), &template.description));
        }
        parts.push(Part::Line(Line::default()));
    }
    parts.push(heading("in what you write", theme));
    for (typed, help) in [
        ("@path", "name a file; a list opens as you type"),
        ("!command", "run a command; the model sees its output"),
        ("!!command", "run a command; the model does not see it"),
    ] {
        parts.push(pair(typed, help));
    }
    parts.push(Part::Line(Line::default()));
    let keys = keymap.key_name(Action::ShowKeys);
    parts.push(Part::Line(Line::styled(format!("keys: /hotkeys or {keys}"), theme.dim)));
    Pager::new("Help", Document::Parts(parts))
}

fn heading(text: &'static str, theme: &Theme) -> Part {
    Part::Line(Line::styled(text, theme.heading))
}

fn keys_of(keys: &[String], help: &str) -> Part {
    let keys = if keys.is_empty() { "(no key)".to_owned() } else { keys.join(", ") };
    pair(&keys, help)
}

fn pair(left: &str, right: &str) -> Part {
    Part::Pair(left.to_owned(), right.to_owned())
}
