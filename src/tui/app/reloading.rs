//! What follows for the screen when settings, templates, theme or keys are other ones now.

use super::App;
use crate::agent_session::command::SessionCommand;
use crate::agent_session::event::NoticeLevel;
use crate::settings::edit::Change;
use crate::tui::effect::UiEffect;
use crate::tui::outside::Reloaded;
use crate::tui::overlay::settings::{SettingsOverlay, SettingsSheet};

impl App {
    /// `/settings`.
    pub(super) fn show_settings(&mut self, sheet: SettingsSheet) {
        self.push_overlay(Box::new(SettingsOverlay::new(sheet)));
    }

    /// A change of the person's settings was made, or was not.
    pub(super) fn setting_changed(
        &mut self,
        change: &Change,
        result: Result<(SettingsSheet, Box<Reloaded>), String>,
    ) {
        let result = result.map(|(sheet, reloaded)| {
            self.adopt(&reloaded);
            self.tell_others(change, &reloaded.changed);
            self.tell_problems(&reloaded.problems);
            sheet
        });
        if let (Err(why), true) = (&result, self.overlays.is_empty()) {
            self.error(why);
        }
        self.tell_overlays(|overlay| overlay.setting_changed(change, &result));
    }

    /// `/reload` has read everything again.
    pub(super) fn reloaded(&mut self, reloaded: &Reloaded) {
        self.adopt(reloaded);
        let words = match reloaded.changed.as_slice() {
            [] => "read again; nothing has changed".to_owned(),
            changed => format!("read again\n{}", changed.join("\n")),
        };
        self.transcript.notice(NoticeLevel::Info, &words);
        self.tell_problems(&reloaded.problems);
    }

    /// What counts from now on as well, because files have changed meanwhile.
    fn tell_others(&mut self, change: &Change, changed: &[String]) {
        let own = change.key.to_string();
        let is_own = |line: &&String| {
            line.strip_prefix(&own).is_some_and(|rest| rest.starts_with([':', '.']))
        };
        let others: Vec<_> = changed.iter().filter(|line| !is_own(line)).cloned().collect();
        if !others.is_empty() {
            let text =
                format!("these had changed on disk and count as well\n{}", others.join("\n"));
            self.transcript.notice(NoticeLevel::Warning, &text);
        }
    }

    fn tell_problems(&mut self, problems: &[String]) {
        for problem in problems {
            self.transcript.notice(NoticeLevel::Warning, problem);
        }
    }

    /// Goes by what was read; what could not be used stays as it was.
    fn adopt(&mut self, reloaded: &Reloaded) {
        if let Some(theme) = reloaded.theme.filter(|theme| *theme != self.theme) {
            self.wear(theme);
        }
        if let Some(keymap) = &reloaded.keymap {
            self.keymap = keymap.clone();
        }
        if let Some(templates) = &reloaded.templates {
            self.templates.clone_from(templates);
        }
        if let Some(settings) = &reloaded.settings {
            self.branch_summary = settings.branch_summary.clone();
            self.status.set_animation(settings.animation != Some(false));
            self.effects.push(UiEffect::UseMouse(settings.mouse));
            self.send(SessionCommand::UseSettings(settings.clone()));
        }
    }
}
