//! What is told to the terminal beside frames: its title, progress in the task bar, notifications, and
//! the question for its background (U7). Pure: makes the bytes, writes nothing.
//!
//! Everything here is optional to a terminal. What might be misread by one is sent only to those that
//! are known to understand it; through tmux a sequence goes wrapped, so that tmux hands it on.

use super::text::{clip, one_line};
use crate::settings::{Notify, TerminalSettings};

/// Columns of a title, and of a notification, at most.
const LONGEST: usize = 160;

/// Asks for the colour of the background; [`super::replies`] reads the answer.
pub const ASK_BACKGROUND: &str = "\u{1b}]11;?\u{1b}\\";

/// Puts the title on the terminal's stack, to be taken back at the end.
pub const KEEP_TITLE: &str = "\u{1b}[22;2t";

/// Takes the title back.
pub const RESTORE_TITLE: &str = "\u{1b}[23;2t";

/// Ends all progress.
pub const NO_PROGRESS: &str = "\u{1b}]9;4;0;0\u{1b}\\";

/// How far what runs has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskProgress {
    /// Something runs, nobody knows for how long.
    Running,
    /// So many per cent are done.
    Percent(u8),
    /// A question waits for the person.
    Waiting,
}

/// What may be told to the terminal: what the person wants and the terminal understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// Its title is ours.
    pub title: bool,
    /// It shows progress.
    pub progress: bool,
    /// It makes links of text.
    pub links: bool,
    /// It can be asked for the colour of its background.
    pub background: bool,
    notify: Notify,
    /// Whether tmux stands between.
    tmux: bool,
    /// Whether it takes notifications as OSC 777 rather than OSC 9.
    notifies_777: bool,
}

impl Manner {
    /// What the settings want and the environment promises; `variable` looks a variable up.
    pub fn detect(settings: &TerminalSettings, variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).unwrap_or_default();
        let (term, program) = (value("TERM"), value("TERM_PROGRAM"));
        let tmux = !value("TMUX").is_empty();
        let screen = !tmux && (term.starts_with("screen") || !value("STY").is_empty());
        let bare = term.is_empty() || term == "dumb" || term == "linux";
        let shows_progress = matches!(program.as_str(), "ghostty" | "WezTerm")
            || !value("WT_SESSION").is_empty()
            || value("ConEmuANSI") == "ON";
        let old_links = match program.as_str() {
            "tmux" => version(&value("TERM_PROGRAM_VERSION")) < (3, 4),
            "Apple_Terminal" => true,
            _ => tmux || version_of_vte(&value("VTE_VERSION")).is_some_and(|vte| vte < 5_000),
        };
        Self {
            title: settings.title && !bare && !screen,
            progress: settings.progress && shows_progress && !tmux && !screen,
            links: settings.links && !bare && !screen && !old_links,
            background: !bare && !screen,
            notify: settings.notify,
            tmux,
            notifies_777: term.starts_with("foot") || term.starts_with("rxvt"),
        }
    }

    /// Tells somebody who looks elsewhere.
    #[must_use]
    pub fn notification(&self, text: &str) -> String {
        let text = clip(&one_line(text), LONGEST).replace(';', ",");
        match self.notify {
            Notify::Off => String::new(),
            Notify::Bell => "\u{7}".to_owned(),
            Notify::Desktop if self.notifies_777 => {
                self.through(&format!("\u{1b}]777;notify;regrow;{text}\u{1b}\\")) + "\u{7}"
            }
            Notify::Desktop => self.through(&format!("\u{1b}]9;{text}\u{1b}\\")) + "\u{7}",
        }
    }

    /// A sequence for the terminal behind tmux, if there is one. tmux drops it unless
    /// `allow-passthrough` is on.
    #[must_use]
    pub fn through(&self, sequence: &str) -> String {
        if !self.tmux {
            return sequence.to_owned();
        }
        format!("\u{1b}Ptmux;{}\u{1b}\\", sequence.replace('\u{1b}', "\u{1b}\u{1b}"))
    }

    /// Whether tmux stands between, which may keep the clipboard to itself.
    #[must_use]
    pub const fn is_tmux(&self) -> bool {
        self.tmux
    }
}

/// Names the window.
#[must_use]
pub fn title(text: &str) -> String {
    format!("\u{1b}]2;{}\u{1b}\\", clip(&one_line(text), LONGEST))
}

/// Shows progress, or ends it.
#[must_use]
pub fn progress(progress: Option<TaskProgress>) -> String {
    match progress {
        None => NO_PROGRESS.to_owned(),
        Some(TaskProgress::Running) => "\u{1b}]9;4;3;0\u{1b}\\".to_owned(),
        Some(TaskProgress::Percent(done)) => format!("\u{1b}]9;4;1;{done}\u{1b}\\"),
        Some(TaskProgress::Waiting) => "\u{1b}]9;4;4;100\u{1b}\\".to_owned(),
    }
}

/// The first two numbers of a version such as `3.3a`.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text.split('.').map(|part| {
        let digits = part.trim_matches(|c: char| !c.is_ascii_digit());
        digits.parse().unwrap_or(0)
    });
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn version_of_vte(text: &str) -> Option<u32> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manner(settings: TerminalSettings, pairs: &[(&str, &str)]) -> Manner {
        let find = |name: &str| pairs.iter().find(|(key, _)| *key == name);
        Manner::detect(&settings, |name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn u7_a_terminal_is_told_only_what_it_understands() {
        let all = TerminalSettings::default;
        type Case = (&'static [(&'static str, &'static str)], (bool, bool, bool));
        let cases: [Case; 8] = [
            (&[("TERM", "xterm-256color")], (true, false, true)),
            (&[("TERM", "xterm-ghostty"), ("TERM_PROGRAM", "ghostty")], (true, true, true)),
            (&[("TERM", "linux")], (false, false, false)),
            (&[("TERM", "dumb")], (false, false, false)),
            (&[("TERM", "screen"), ("STY", "1.a")], (false, false, false)),
            (
                &[
                    ("TERM", "tmux"),
                    ("TMUX", "x"),
                    ("TERM_PROGRAM", "tmux"),
                    ("TERM_PROGRAM_VERSION", "3.3a"),
                ],
                (true, false, false),
            ),
            (
                &[
                    ("TERM", "tmux"),
                    ("TMUX", "x"),
                    ("TERM_PROGRAM", "tmux"),
                    ("TERM_PROGRAM_VERSION", "3.5"),
                ],
                (true, false, true),
            ),
            (&[("TERM", "xterm"), ("VTE_VERSION", "4205")], (true, false, false)),
        ];
        for (variables, expected) in cases {
            let manner = manner(all(), variables);
            assert_eq!((manner.title, manner.progress, manner.links), expected, "{variables:?}");
        }
        let off = TerminalSettings { title: false, links: false, progress: false, ..all() };
        let manner = manner(off, &[("TERM", "xterm"), ("TERM_PROGRAM", "ghostty")]);
        assert!(!manner.title && !manner.links && !manner.progress);
    }

    #[test]
    fn u7_notifications_go_as_the_terminal_takes_them_and_cannot_break_out() {
        let desktop = || TerminalSettings { notify: Notify::Desktop, ..Default::default() };
        let plain = manner(desktop(), &[("TERM", "xterm")]);
        assert_eq!(
            plain.notification("done; \u{1b}]0;x\u{7}all\n"),
            "\u{1b}]9;done, all\u{1b}\\\u{7}"
        );
        let foot = manner(desktop(), &[("TERM", "foot")]);
        assert_eq!(foot.notification("done"), "\u{1b}]777;notify;regrow;done\u{1b}\\\u{7}");
        let tmux = manner(desktop(), &[("TERM", "tmux"), ("TMUX", "x")]);
        assert_eq!(
            tmux.notification("done"),
            "\u{1b}Ptmux;\u{1b}\u{1b}]9;done\u{1b}\u{1b}\\\u{1b}\\\u{7}"
        );
        let bell = manner(TerminalSettings::default(), &[("TERM", "xterm")]);
        assert_eq!(bell.notification("done"), "\u{7}");
        let off = TerminalSettings { notify: Notify::Off, ..Default::default() };
        assert_eq!(manner(off, &[]).notification("done"), "");
    }

    #[test]
    fn u7_titles_and_progress_are_sequences_of_one_piece() {
        assert_eq!(title("a\u{1b}]0;b\u{7}\nc"), "\u{1b}]2;a c\u{1b}\\");
        assert_eq!(progress(Some(TaskProgress::Percent(40))), "\u{1b}]9;4;1;40\u{1b}\\");
        assert_eq!(progress(None), NO_PROGRESS);
    }
}
