//! What slash commands and keys open: the one place where overlays are made.

use std::time::Instant;

use serde_json::Value;

use super::App;
use crate::agent_session::command::{Delivery, SessionCommand, SummaryChoice, SwitchTo};
use crate::agent_session::event::NoticeLevel;
use crate::ids::EntryId;
use crate::provider::ThinkingLevel;
use crate::provider::model::Model;
use crate::session::listing::ListedSession;
use crate::session::reader::SessionReader;
use crate::slash::{self, Meaning, SlashAction};
use crate::tui::action::Action;
use crate::tui::effect::UiEffect;
use crate::tui::overlay::context::ContextView;
use crate::tui::overlay::help;
use crate::tui::overlay::models::{ModelChoice, ModelPicker};
use crate::tui::overlay::sessions::{Place, SessionPicker};
use crate::tui::overlay::tree::TreeOverlay;
use crate::tui::words;

impl App {
    /// Carries out a line that begins with a slash: a command, or a template that stands for a prompt.
    /// An unknown one stays in the editor.
    pub(super) fn slash(&mut self, line: &str, delivery: Delivery, now: Instant) {
        match slash::meaning(line, &self.templates) {
            Ok(Meaning::Action(action @ SlashAction::Login(_))) => {
                // What follows may be a key.
                self.editor.forget();
                self.slash_action(action, now);
            }
            Ok(Meaning::Action(action)) => {
                self.remember();
                self.slash_action(action, now);
            }
            Ok(Meaning::Prompt(text)) => {
                let images = self.editor.images();
                self.remember();
                self.send(SessionCommand::Prompt { text, images, delivery });
                self.transcript.scroll_to_end();
            }
            Err(error) => self.error(&error.to_string()),
        }
    }

    fn slash_action(&mut self, action: SlashAction, now: Instant) {
        match action {
            SlashAction::Send(SessionCommand::Quit) => self.quit(),
            SlashAction::Send(command) => self.send(command),
            SlashAction::OpenTree(None) => self.open_tree(None, now),
            SlashAction::OpenTree(Some(entry)) => self.open_tree_at(&entry),
            SlashAction::LabelLeaf(label) => self.label_leaf(label, now),
            SlashAction::CopyAnswer => self.open_by_key(Action::CopyAnswer, now),
            SlashAction::ShowHotkeys => self.open_by_key(Action::ShowKeys, now),
            SlashAction::ShowHelp => {
                let help = help::commands(&self.templates, &self.keymap, &self.theme);
                self.push_overlay(Box::new(help));
            }
            SlashAction::OpenSessions(search) => self.effects.push(UiEffect::ListSessions(search)),
            SlashAction::Model(wanted) => self.effects.push(UiEffect::ListModels(wanted)),
            SlashAction::Export(request) => self.effects.push(UiEffect::Export(request)),
            SlashAction::Import(path) => {
                let path = crate::tool::resolve_path(&self.cwd, &path.to_string_lossy());
                self.send(SessionCommand::Switch(SwitchTo::Open(path)));
            }
            SlashAction::OpenSettings => self.effects.push(UiEffect::ListSettings),
            SlashAction::Reload => self.effects.push(UiEffect::Reload),
            SlashAction::Find(text) => self.find(text, now),
            SlashAction::ShowSession => self.show_session(),
            SlashAction::OpenThinking => self.show_thinking(),
            SlashAction::Login(wanted) => self.effects.push(UiEffect::ListProviders(wanted)),
        }
    }

    /// The key counts from now on: its models can be chosen.
    pub(super) fn key_stored(&mut self, provider: &str, result: Result<(), String>) {
        match result {
            Ok(()) => {
                let text = format!("the key of {provider} is stored");
                self.transcript.notice(NoticeLevel::Info, &text);
                self.effects.push(UiEffect::ListModels(None));
            }
            Err(why) => self.error(&why),
        }
    }

    /// Takes the model that is wanted, or offers all.
    pub(super) fn models(&mut self, wanted: Option<&str>, models: Vec<(Model, bool)>) {
        let Some(wanted) = wanted else { return self.pick_model(models) };
        match words::wanted_model(wanted, &models) {
            Ok(model) => self.send(SessionCommand::SetModel(model)),
            Err(why) => self.error(&why),
        }
    }

    fn pick_model(&mut self, models: Vec<(Model, bool)>) {
        let choices = models.into_iter().map(|(model, usable)| ModelChoice { model, usable });
        let current = self.footer.model.as_ref().map(|model| model.model_ref());
        let picker = ModelPicker::new(choices.collect(), current.as_ref());
        self.push_overlay(Box::new(picker));
    }

    /// Offers the sessions on disk; `search` narrows them from the start.
    pub(super) fn sessions(&mut self, search: Option<String>, sessions: Vec<ListedSession>) {
        let place = Place {
            cwd: self.cwd.display().to_string(),
            home: self.home.clone(),
            current: self.file.clone(),
            now: (self.clock)(),
        };
        self.push_overlay(Box::new(SessionPicker::new(sessions, place)));
        if let Some(search) = search {
            self.top_overlay(|picker| picker.paste(&search));
        }
    }

    /// Puts what was sent before and holds the written text into the editor; again for older ones.
    fn search_history(&mut self, now: Instant) {
        let written = self.editor.text();
        let (needle, step) = match self.recalling.take() {
            Some((needle, step, shown)) if shown == written => (needle, step + 1),
            _ => (written, 0),
        };
        let found = self.editor.search_history(&needle).nth(step).map(ToOwned::to_owned);
        match found {
            Some(text) => {
                self.editor.set_text(&text);
                self.status.hint("ctrl+r for an older one", now);
                self.recalling = Some((needle, step, text));
            }
            None => self.status.hint("nothing else that was sent holds this", now),
        }
    }

    /// `/session`: file, size, tokens, cost.
    fn show_session(&mut self) {
        let Some(reader) = &self.reader else { return };
        let text = words::session(reader, self.file.as_deref(), &self.footer.gauge);
        self.transcript.notice(NoticeLevel::Info, &text);
    }

    fn show_thinking(&mut self) {
        let names: Vec<&str> = ThinkingLevel::ALL.into_iter().map(ThinkingLevel::as_str).collect();
        let key = self.keymap.key_name(Action::CycleThinking);
        let now = self.footer.thinking.as_str();
        let names = names.join(", ");
        let text = format!("thinking is {now}; /thinking takes {names}; {key} goes to the next");
        self.transcript.notice(NoticeLevel::Info, &text);
    }

    /// What a key opens or does at once.
    pub(super) fn open_by_key(&mut self, action: Action, now: Instant) {
        match action {
            Action::ShowKeys => {
                let keys = help::keys(&self.keymap, &self.theme);
                self.push_overlay(Box::new(keys));
            }
            Action::CopyAnswer | Action::CopyCode => self.copy(action, now),
            Action::OpenTree => self.open_tree(None, now),
            Action::Find => self.find(None, now),
            Action::SearchHistory => self.search_history(now),
            Action::PasteClipboard => self.paste_clipboard(now),
            Action::PickModel => self.effects.push(UiEffect::ListModels(None)),
            _ => {}
        }
    }

    /// Opens `/tree`: at the leaf, or where a move was meant to go that did not happen (B7).
    pub(super) fn open_tree(&mut self, failed: Option<(EntryId, Option<String>)>, now: Instant) {
        let Some(mut tree) = self.tree() else {
            self.status.hint("there is nothing to go back to yet", now);
            return;
        };
        if let Some((target, error)) = failed {
            let tried = self.travelling.take().map_or(SummaryChoice::None, |tried| tried.summary);
            tree = tree.reopen_at(&target, error.as_deref().map(|error| (error, tried)));
        }
        self.push_overlay(Box::new(tree));
    }

    /// `/tree ENTRY`.
    fn open_tree_at(&mut self, entry: &EntryId) {
        let is_there = |reader: &SessionReader| reader.tree().find(entry).is_some();
        match self.tree().filter(|_| self.reader.as_ref().is_some_and(is_there)) {
            Some(tree) => self.push_overlay(Box::new(tree.at(entry))),
            None => self.error(&format!("there is no entry {entry} in this session")),
        }
    }

    /// The tree of the open session; `None` while it is empty.
    fn tree(&self) -> Option<TreeOverlay> {
        let reader = self.reader.clone().filter(|reader| !reader.tree().is_empty())?;
        let settings = self.branch_summary.clone();
        let tree = TreeOverlay::new(reader, settings, (self.clock)(), self.status.is_busy());
        Some(tree.with_keys(self.keymap.tree().clone()))
    }

    fn label_leaf(&mut self, label: Option<String>, now: Instant) {
        let target = self.reader.as_ref().and_then(|reader| reader.tree().leaf_id());
        match target {
            Some(target) => self.send(SessionCommand::Label { target, label }),
            None => self.status.hint("there is nothing to name yet", now),
        }
    }

    /// `/context`: what fills the window.
    pub(super) fn show_context(&mut self, report: &Value) {
        match ContextView::new(report) {
            Ok(view) => self.push_overlay(Box::new(view)),
            Err(error) => self.error(&format!("the report cannot be shown: {error}")),
        }
    }
}
