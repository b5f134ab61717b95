//! What slash commands and keys open: the one place where overlays are made.

use std::time::Instant;

use ratatui::text::{Line, Span};
use serde_json::Value;

use super::App;
use crate::agent_session::command::{SessionCommand, SummaryChoice};
use crate::agent_session::event::NoticeLevel;
use crate::ids::EntryId;
use crate::slash::{self, SlashAction};
use crate::tui::action::Action;
use crate::tui::amount::{count, tokens};
use crate::tui::effect::UiEffect;
use crate::tui::overlay::help;
use crate::tui::overlay::pager::{Document, Pager};
use crate::tui::overlay::tree::TreeOverlay;

impl App {
    /// Carries out a line that begins with a slash. An unknown one stays in the editor.
    pub(super) fn slash(&mut self, line: String, now: Instant) {
        match slash::parse(&line) {
            Ok(action) => {
                self.remember();
                self.slash_action(action, now);
            }
            Err(error) => self.error(&error.to_string()),
        }
    }

    fn slash_action(&mut self, action: SlashAction, now: Instant) {
        match action {
            SlashAction::Send(SessionCommand::Quit) => self.quit(),
            SlashAction::Send(command) => self.send(command),
            SlashAction::OpenTree => self.open_by_key(Action::OpenTree, now),
            SlashAction::LabelLeaf(label) => self.label_leaf(label, now),
            SlashAction::CopyAnswer => self.open_by_key(Action::CopyAnswer, now),
            SlashAction::ShowHotkeys => self.open_by_key(Action::ShowKeys, now),
            SlashAction::ShowHelp => {
                let help = help::commands(&self.keymap, &self.theme);
                self.push_overlay(Box::new(help));
            }
            action => {
                let name = format!("{action:?}");
                self.transcript.notice(NoticeLevel::Warning, &format!("{name} is not there yet"));
            }
        }
    }

    /// What a key opens or does at once.
    pub(super) fn open_by_key(&mut self, action: Action, now: Instant) {
        match action {
            Action::ShowKeys => {
                let keys = help::keys(&self.keymap, &self.theme);
                self.push_overlay(Box::new(keys));
            }
            Action::CopyAnswer => match self.transcript.last_answer() {
                Some(answer) => {
                    self.effects.push(UiEffect::Copy(answer));
                }
                None => self.status.hint("there is no answer to copy yet", now),
            },
            Action::OpenTree => self.open_tree(None, now),
            _ => self.status.hint("not there yet", now),
        }
    }

    /// Opens `/tree`: at the leaf, or where a move was meant to go that did not happen (B7).
    pub(super) fn open_tree(&mut self, failed: Option<(EntryId, Option<String>)>, now: Instant) {
        let Some(reader) = self.reader.clone().filter(|reader| !reader.tree().is_empty()) else {
            self.status.hint("there is nothing to go back to yet", now);
            return;
        };
        let settings = self.branch_summary.clone();
        let mut tree = TreeOverlay::new(reader, settings, (self.clock)(), self.status.is_busy());
        if let Some((target, error)) = failed {
            let tried = self.travelling.take().map_or(SummaryChoice::None, |tried| tried.summary);
            tree = tree.reopen_at(&target, error.as_deref().map(|error| (error, tried)));
        }
        self.push_overlay(Box::new(tree));
    }

    fn label_leaf(&mut self, label: Option<String>, now: Instant) {
        let target = self.reader.as_ref().and_then(|reader| {
            let tree = reader.tree();
            tree.leaf().map(|leaf| tree.node(leaf).id.clone())
        });
        match target {
            Some(target) => self.send(SessionCommand::Label { target, label }),
            None => self.status.hint("there is nothing to name yet", now),
        }
    }

    /// `/compact --dry-run` (C26).
    pub(super) fn show_plan(&mut self, plan: &Value) {
        if let Some(reason) = plan.get("nothing").and_then(Value::as_str) {
            return self.transcript.notice(NoticeLevel::Info, reason);
        }
        let length = |key: &str| plan.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        let number = |key: &str| plan.get(key).and_then(Value::as_u64).unwrap_or_default();
        let entry =
            |count: usize| if count == 1 { "1 entry".into() } else { format!("{count} entries") };
        let mut words = vec![
            format!("would summarise {}", entry(length("summarize") + length("turnPrefix"))),
            format!("keep {}", entry(length("kept"))),
            format!("{} tokens now", tokens(number("tokensBefore"))),
        ];
        if plan.get("isSplitTurn").and_then(Value::as_bool) == Some(true) {
            words.push("the cut goes through a turn".into());
        }
        let first = plan.get("firstKeptEntryId").and_then(Value::as_str).unwrap_or_default();
        words.push(format!("kept from {first}"));
        for (key, what) in [("modifiedFiles", "changed file"), ("readFiles", "read file")] {
            let files = length(key);
            if files > 0 {
                words.push(count(files, what));
            }
        }
        self.transcript.notice(NoticeLevel::Info, &words.join(" · "));
    }

    /// `/context`: what fills the window.
    pub(super) fn show_context(&mut self, report: &Value) {
        let mut lines = Vec::new();
        let fields = report.get("tokens").and_then(Value::as_object);
        for (name, value) in fields.into_iter().flatten() {
            let shown = match value {
                Value::Number(number) => tokens(number.as_u64().unwrap_or_default()),
                value => value.to_string(),
            };
            lines.push(Line::from(vec![
                Span::raw(format!("  {name:<20}")),
                Span::styled(format!("{shown:>10}"), self.theme.accent),
            ]));
        }
        let gauge = self.footer.gauge;
        let title = format!("Context · {} of {}", tokens(gauge.tokens), tokens(gauge.window));
        self.push_overlay(Box::new(Pager::new(title, Document::Lines(lines))));
    }
}
