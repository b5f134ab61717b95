//! The line between transcript and editor: what runs, how far, how long, and how to stop it (U6).
//!
//! When nothing runs it shows a short-lived hint or is blank; it is always there, so that nothing
//! jumps.

use std::time::{Duration, Instant};

use ratatui::text::{Line, Span};

use super::amount;
use super::text::{clip, one_line};
use super::theme::Theme;
use crate::agent_session::event::{ActivityKind, Progress, StreamDelta};
use crate::compaction::tokens::Estimator;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Time between two pictures of the spinner.
const FRAME: Duration = Duration::from_millis(100);

/// How long a hint stays.
const HINT: Duration = Duration::from_secs(3);

/// See the module.
#[derive(Debug)]
pub struct Status {
    kind: ActivityKind,
    since: Option<Instant>,
    what: String,
    /// Characters of the answer, in quarters of tokens as the estimator counts them.
    tokens: u64,
    pieces: Option<(u32, u32)>,
    /// Why a summary does not go on just now.
    note: Option<String>,
    retry: Option<Instant>,
    hint: Option<(String, Instant)>,
    animation: bool,
}

impl Status {
    /// Nothing runs.
    #[must_use]
    pub const fn new(animation: bool) -> Self {
        Self {
            kind: ActivityKind::Idle,
            since: None,
            what: String::new(),
            tokens: 0,
            pieces: None,
            note: None,
            retry: None,
            hint: None,
            animation,
        }
    }

    /// Lets the sign of work move, or stand.
    pub const fn set_animation(&mut self, animation: bool) {
        self.animation = animation;
    }

    /// Whether something runs.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.kind != ActivityKind::Idle
    }

    /// How long the turn has been running.
    #[must_use]
    pub fn elapsed(&self, now: Instant) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Something else runs now.
    pub fn activity(&mut self, kind: ActivityKind, now: Instant) {
        if kind == self.kind {
            return;
        }
        let in_turn = |kind| {
            matches!(
                kind,
                ActivityKind::Answering | ActivityKind::RunningTools | ActivityKind::Retrying
            )
        };
        // The clock of a turn runs on through its tools and retries.
        if !(in_turn(kind) && in_turn(self.kind)) {
            self.since = (kind != ActivityKind::Idle).then_some(now);
            self.tokens = 0;
        }
        self.kind = kind;
        self.pieces = None;
        self.note = None;
        if kind != ActivityKind::Retrying {
            self.retry = None;
        }
        self.what = match kind {
            ActivityKind::Idle => "",
            ActivityKind::Answering => "waiting for the model",
            ActivityKind::RunningTools => "running",
            ActivityKind::Retrying => "trying again",
            ActivityKind::Compacting => "summarising",
            ActivityKind::Summarizing => "summarising the branch",
            ActivityKind::Shell => "running your command",
            ActivityKind::Hooks => "running hooks",
        }
        .to_owned();
    }

    /// More of the answer came.
    pub fn stream(&mut self, delta: &StreamDelta) {
        let (what, text) = match delta {
            StreamDelta::Start => ("waiting for the model".to_owned(), ""),
            StreamDelta::Text { text, .. } => ("answering".to_owned(), text.as_str()),
            StreamDelta::Thinking { text, .. } => ("thinking".to_owned(), text.as_str()),
            StreamDelta::ToolCall { name, .. } => (format!("calling {}", one_line(name)), ""),
            StreamDelta::Arguments { text, .. } => (String::new(), text.as_str()),
        };
        if !what.is_empty() && what != self.what {
            self.what = what;
        }
        self.tokens += u64::from(Estimator::ScriptAware.text(text));
    }

    /// A tool runs.
    pub fn tool(&mut self, name: &str) {
        self.what = format!("running {}", one_line(name));
    }

    /// How far a summary is.
    pub fn progress(&mut self, progress: &Progress) {
        self.pieces = (progress.pieces > 1).then_some((progress.piece, progress.pieces));
        self.tokens = progress.tokens;
        self.note = progress.note.as_deref().map(one_line);
    }

    /// A request is tried again at `until`.
    pub fn retry(&mut self, attempt: u32, until: Instant) {
        self.retry = Some(until);
        self.what = format!("trying again (attempt {attempt})");
    }

    /// Says something for a moment.
    pub fn hint(&mut self, text: impl Into<String>, now: Instant) {
        self.hint = Some((one_line(&text.into()), now + HINT));
    }

    /// Takes back what was said.
    pub fn clear_hint(&mut self) {
        self.hint = None;
    }

    /// How many per cent of a summary in pieces are done.
    #[must_use]
    pub fn share_done(&self) -> Option<u8> {
        let (piece, pieces) = self.pieces?;
        u8::try_from(piece.saturating_sub(1) * 100 / pieces.max(1)).ok()
    }

    /// Time passes: hints end.
    pub fn tick(&mut self, now: Instant) {
        if self.hint.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.hint = None;
        }
    }

    /// When the line changes by itself; `None` when nothing moves (no wake-ups while idle).
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Option<Duration> {
        let moving = self.is_busy().then_some(if self.animation { FRAME } else { 10 * FRAME });
        let hint = self.hint.as_ref().map(|(_, until)| until.saturating_duration_since(now));
        [moving, hint].into_iter().flatten().min()
    }

    /// Draws the line.
    #[must_use]
    pub fn draw(&self, columns: usize, now: Instant, theme: &Theme) -> Line<'static> {
        let room = columns.saturating_sub(2);
        if let Some((hint, _)) = &self.hint {
            return Line::styled(format!("  {}", clip(hint, room)), theme.warning);
        }
        if !self.is_busy() {
            return Line::default();
        }
        let elapsed = self.elapsed(now);
        let frame = (elapsed.as_millis() / FRAME.as_millis()) as usize % SPINNER.len();
        let sign = if self.animation { SPINNER[frame] } else { "•" };
        let stop = match self.kind {
            ActivityKind::Compacting | ActivityKind::Summarizing => "esc to cancel",
            _ => "esc to stop",
        };
        let mut words = vec![self.what.clone()];
        if let Some((piece, pieces)) = self.pieces {
            words.push(format!("{piece}/{pieces}"));
        }
        words.extend(self.note.clone());
        match self.retry {
            Some(until) => {
                let left = until.saturating_duration_since(now).as_secs_f64().ceil();
                words.push(format!("in {left} s"));
            }
            None => words.push(amount::duration(elapsed)),
        }
        if self.tokens > 0 {
            words.push(format!("{} tokens", amount::tokens(self.tokens)));
        }
        words.push(stop.to_owned());
        // Where there is no room, the way to stop it is worth more than the figures.
        while words.len() > 2 && super::text::width(&words.join(" · ")) + 2 > room {
            words.remove(words.len() - 2);
        }
        Line::from(vec![
            Span::styled(format!("  {sign} "), theme.accent),
            Span::styled(clip(&words.join(" · "), room.saturating_sub(2)).into_owned(), theme.dim),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Purpose;

    #[test]
    fn u6_the_line_says_what_how_long_how_much_and_how_to_stop() {
        let start = Instant::now();
        let mut status = Status::new(true);
        let at = |seconds| start + Duration::from_secs(seconds);
        let draw = |status: &Status, columns, seconds| {
            status.draw(columns, at(seconds), &Theme::dark()).to_string()
        };
        assert_eq!(draw(&status, 80, 0), "");
        assert_eq!(status.next_change(start), None, "idle wakes nobody");
        status.activity(ActivityKind::Answering, start);
        status.stream(&StreamDelta::Thinking { block: 0, text: "x".repeat(5600) });
        assert_eq!(draw(&status, 80, 12), "  ⠋ thinking · 12 s · 1.4k tokens · esc to stop");
        assert_eq!(
            draw(&status, 30, 12),
            "  ⠋ thinking · 12 s · esc to stop"[..].replace(" · 12 s", "")
        );
        status.activity(ActivityKind::RunningTools, at(13));
        status.tool("bash");
        assert_eq!(draw(&status, 80, 14), "  ⠋ running bash · 14 s · 1.4k tokens · esc to stop");
        status.activity(ActivityKind::Summarizing, at(20));
        let progress = Progress {
            purpose: Purpose::BranchSummary,
            what: "branch".into(),
            piece: 2,
            pieces: 3,
            tokens: 420,
            note: None,
        };
        status.progress(&progress);
        assert_eq!(
            draw(&status, 80, 28),
            "  ⠋ summarising the branch · 2/3 · 8 s · 420 tokens · esc to cancel"
        );
        assert_eq!(status.next_change(at(28)), Some(FRAME));
    }

    #[test]
    fn u6_hints_go_by_themselves() {
        let now = Instant::now();
        let mut status = Status::new(false);
        status.hint("ctrl+c again to quit", now);
        assert_eq!(status.next_change(now), Some(HINT));
        status.tick(now + HINT);
        assert_eq!(status.draw(80, now, &Theme::dark()).to_string(), "");
        assert_eq!(status.next_change(now), None);
    }
}
