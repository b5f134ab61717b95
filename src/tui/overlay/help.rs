//! `/help` and `/hotkeys`: the commands and the keys, from the tables that define them.

use ratatui::text::{Line, Span};

use super::pager::{Document, Pager};
use crate::prompt::template::Template;
use crate::slash::COMMANDS;
use crate::tui::action::{Action, Bindable, Group, TreeAction};
use crate::tui::keymap::KeyMap;
use crate::tui::text::width;
use crate::tui::theme::Theme;

/// The list of keys.
#[must_use]
pub fn keys(keymap: &KeyMap, theme: &Theme) -> Pager {
    let mut lines = Vec::new();
    for group in Group::ALL {
        lines.push(Line::styled(group.title(), theme.heading));
        for action in Action::ALL.iter().filter(|action| action.group() == group) {
            lines.push(key_line(keymap.keys(*action), action.help(), theme));
        }
        lines.push(Line::default());
    }
    lines.push(Line::styled("in the tree", theme.heading));
    for action in TreeAction::ALL {
        lines.push(key_line(keymap.tree().keys(*action), action.help(), theme));
    }
    lines.push(Line::default());
    for note in [
        "other keys: write them into keymap.toml beside your settings, e.g. find = [\"ctrl+s\"],",
        "those of the tree below a line [tree]",
    ] {
        lines.push(Line::styled(note, theme.dim));
    }
    Pager::new("Keys", Document::Lines(lines))
}

/// The list of commands.
#[must_use]
pub fn commands(templates: &[Template], keymap: &KeyMap, theme: &Theme) -> Pager {
    let mut lines = vec![Line::styled("commands", theme.heading)];
    for command in COMMANDS {
        lines.push(pair(&command.usage(), command.help, 30, theme));
    }
    lines.push(Line::default());
    if !templates.is_empty() {
        lines.push(Line::styled("your prompts", theme.heading));
        for template in templates {
            let typed = format!("/{} {}", template.name, template.argument_hint);
            lines.push(pair(typed.trim_end(), &template.description, 30, theme));
        }
        lines.push(Line::default());
    }
    lines.push(Line::styled("in what you write", theme.heading));
    for (typed, help) in [
        ("@path", "name a file; a list opens as you type"),
        ("!command", "run a command; the model sees its output"),
        ("!!command", "run a command; the model does not see it"),
    ] {
        lines.push(pair(typed, help, 30, theme));
    }
    lines.push(Line::default());
    let keys = keymap.key_name(Action::ShowKeys);
    lines.push(Line::styled(format!("keys: /hotkeys or {keys}"), theme.dim));
    Pager::new("Help", Document::Lines(lines))
}

fn key_line(keys: &[String], help: &str, theme: &Theme) -> Line<'static> {
    let keys = if keys.is_empty() { "(no key)".to_owned() } else { keys.join(", ") };
    pair(&keys, help, 30, theme)
}

fn pair(left: &str, right: &str, columns: usize, theme: &Theme) -> Line<'static> {
    let gap = columns.saturating_sub(width(left)).max(2);
    Line::from(vec![
        Span::styled(format!("  {left}"), theme.accent),
        Span::raw(" ".repeat(gap)),
        Span::raw(right.to_owned()),
    ])
}
