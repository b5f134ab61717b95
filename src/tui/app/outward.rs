//! What the terminal around the screen is told: the window's title, how far what runs is, new styles.

use super::App;
use crate::tui::effect::UiEffect;
use crate::tui::outward::TaskProgress;
use crate::tui::theme::Theme;

impl App {
    /// The session's name, else the last part of its folder.
    pub(super) fn place_name(&self) -> String {
        let folder = || self.cwd.file_name().map(|name| name.to_string_lossy().into_owned());
        self.footer.name.clone().or_else(folder).unwrap_or_default()
    }

    /// The window's title: what runs, and where.
    #[must_use]
    pub fn title(&self) -> String {
        let sign = match self.task_progress() {
            None => "",
            Some(TaskProgress::Waiting) => "? ",
            Some(_) => "* ",
        };
        let place = self.place_name();
        if place.is_empty() { format!("{sign}regrow") } else { format!("{sign}{place} · regrow") }
    }

    /// How far what runs is; `None` when nothing does.
    #[must_use]
    pub fn task_progress(&self) -> Option<TaskProgress> {
        if self.overlays.iter().any(|overlay| overlay.is_question()) {
            return Some(TaskProgress::Waiting);
        }
        self.status.is_busy().then(|| match self.status.share_done() {
            Some(percent) => TaskProgress::Percent(percent),
            None => TaskProgress::Running,
        })
    }

    /// Wears other styles from the next frame on.
    pub(super) fn wear(&mut self, theme: Theme) {
        self.theme = theme;
        self.highlights.clear();
        self.transcript.redraw();
        self.effects.push(UiEffect::UseTheme(theme));
    }
}
