//! The last line: where one is, who answers, and how full the window is.

use std::path::Path;
use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::amount::{money, tokens};
use super::text::{clip, clip_start, one_line, width};
use super::theme::Theme;
use crate::agent_session::event::Gauge;
use crate::provider::ThinkingLevel;
use crate::provider::model::Model;

/// Cells of the gauge's bar.
const BAR: u64 = 8;

/// See the module.
#[derive(Debug, Default)]
pub struct Footer {
    /// The folder, `~` for home.
    pub cwd: String,
    /// The git branch.
    pub branch: Option<String>,
    /// The session's name.
    pub name: Option<String>,
    /// Who answers.
    pub model: Option<Arc<Model>>,
    /// How much it thinks.
    pub thinking: ThinkingLevel,
    /// How full the window is.
    pub gauge: Gauge,
    /// Whether the session can only be read.
    pub read_only: bool,
}

impl Footer {
    /// Draws the line. What there is no room for goes, the least useful first.
    #[must_use]
    pub fn draw(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let room = columns.saturating_sub(2);
        let gauge = self.right(Detail::Least, theme);
        for detail in [Detail::Full, Detail::NoAdvice, Detail::NoBar] {
            let right = self.right(detail, theme);
            let taken: usize = right.iter().map(|span| width(&span.content)).sum();
            let left_room = room.saturating_sub(taken + 2);
            let left = self.left(detail, left_room);
            let used = width(&left);
            if used > left_room {
                continue;
            }
            let gap = room.saturating_sub(width(&left) + taken);
            let mut spans = vec![Span::raw(" "), Span::styled(left, theme.dim)];
            spans.push(Span::raw(" ".repeat(gap)));
            spans.extend(right);
            return Line::from(spans);
        }
        self.least(gauge, room, theme)
    }

    /// `38% · sonnet-5 · $0.41`
    fn least(&self, gauge: Vec<Span<'static>>, room: usize, theme: &Theme) -> Line<'static> {
        let cost = money(self.gauge.cost);
        let taken = if cost.is_empty() { 0 } else { width(&cost) + 3 };
        let mut spans = vec![Span::raw(" ")];
        let mut used = 0;
        spans.extend(gauge.into_iter().inspect(|span| used += width(&span.content)));
        let model = self.model.as_ref().map(|model| short_model(&model.id, Detail::Least));
        let read_only = self.read_only.then(|| "read only".to_owned());
        for part in [read_only, model].into_iter().flatten() {
            let separator = if used > 0 { " · " } else { "" };
            let left = room.saturating_sub(used + taken + width(separator));
            if left >= 2 {
                let part = format!("{separator}{}", clip(&part, left));
                used += width(&part);
                spans.push(Span::styled(part, theme.dim));
            }
        }
        if !cost.is_empty() {
            let separator = if used > 0 { " · " } else { "" };
            spans.push(Span::styled(format!("{separator}{cost}"), theme.dim));
        }
        Line::from(spans)
    }

    fn left(&self, detail: Detail, room: usize) -> String {
        let model = self.model.as_ref().map(|model| short_model(&model.id, detail));
        let thinks = self.model.as_ref().is_some_and(|model| model.reasoning)
            || self.thinking != ThinkingLevel::Off;
        let thinking = thinks.then(|| self.thinking.as_str().to_owned());
        let place = match &self.branch {
            Some(branch) => format!("{} {}", one_line(&self.cwd), one_line(branch)),
            None => one_line(&self.cwd),
        };
        let read_only = self.read_only.then(|| "read only".to_owned());
        let rest: Vec<String> = [self.name.as_deref().map(one_line), read_only, model, thinking]
            .into_iter()
            .flatten()
            .collect();
        let rest = rest.join(" · ");
        // A long path gives way before anything else does.
        let place_room = room.saturating_sub(width(&rest) + 3).max(10);
        let place = clip_start(&place, place_room);
        if rest.is_empty() { place.into_owned() } else { format!("{place} · {rest}") }
    }

    fn right(&self, detail: Detail, theme: &Theme) -> Vec<Span<'static>> {
        let Gauge { tokens: used, window, estimated, compacts_at, cost, .. } = self.gauge;
        let mut spans = Vec::new();
        if window > 0 {
            let style = self.gauge_style(theme);
            let percent = percent(used, window);
            let sign = if estimated { "~" } else { "" };
            if matches!(detail, Detail::Full | Detail::NoAdvice) {
                let full = (used * BAR).div_ceil(window).min(BAR) as usize;
                let bar = "▰".repeat(full) + &"▱".repeat(BAR as usize - full);
                spans.push(Span::styled("ctx ", theme.dim));
                spans.push(Span::styled(bar, style));
                spans.push(Span::raw(" "));
            }
            spans.push(Span::styled(format!("{sign}{percent}%"), style));
            if let (Detail::Full, Some(at)) = (detail, compacts_at) {
                let words = format!(" · compacts at {}%", at * 100 / window);
                spans.push(Span::styled(words, theme.dim));
            }
            if compacts_at.is_none() && detail == Detail::Full {
                spans.push(Span::styled(format!(" of {}", tokens(window)), theme.dim));
            }
        }
        let cost = money(cost);
        if !cost.is_empty() && detail != Detail::Least {
            let separator = if spans.is_empty() { "" } else { " · " };
            spans.push(Span::styled(format!("{separator}{cost}"), theme.dim));
        }
        spans
    }

    /// The warning colour close to the next compaction, or to the window's end.
    fn gauge_style(&self, theme: &Theme) -> Style {
        let limit = self.gauge.compacts_at.unwrap_or(self.gauge.window);
        match percent(self.gauge.tokens, limit.max(1)) {
            0..80 => theme.accent,
            80..100 => theme.warning,
            _ => theme.error,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Full,
    NoAdvice,
    NoBar,
    Least,
}

const fn percent(part: u64, whole: u64) -> u64 {
    (part.saturating_mul(100) + whole / 2) / whole
}

/// A model's id without what can be guessed: a path before it, and where there is little room, its
/// maker's name.
fn short_model(id: &str, detail: Detail) -> String {
    let id = one_line(id);
    let name = id.rsplit('/').next().unwrap_or(&id);
    match (detail, name.split_once('-')) {
        (Detail::Least, Some(("claude", rest))) => rest.to_owned(),
        _ => name.to_owned(),
    }
}

/// A folder as people write it, `home` shortened to `~`.
#[must_use]
pub fn short_path(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::model::Price;

    fn footer() -> Footer {
        Footer {
            cwd: "~/src/shop".into(),
            branch: Some("main".into()),
            name: Some("auth-refactor".into()),
            model: Some(Arc::new(Model {
                provider: "anthropic".into(),
                id: "claude-sonnet-5".into(),
                api: String::new(),
                base_url: String::new(),
                context_window: 200_000,
                max_tokens: 8_000,
                reasoning: true,
                images: false,
                price: Price::default(),
                window_is_guess: false,
            })),
            thinking: ThinkingLevel::High,
            gauge: Gauge {
                tokens: 76_100,
                estimated: false,
                window: 200_000,
                compacts_at: Some(183_616),
                cost: 0.41,
                ..Gauge::default()
            },
            read_only: false,
        }
    }

    #[track_caller]
    fn check(footer: &Footer, columns: usize, expected: &str) {
        let line = footer.draw(columns, &Theme::dark()).to_string();
        assert_eq!(line, expected);
        assert!(width(&line) < columns);
    }

    #[test]
    fn u7_the_footer_keeps_what_matters_at_every_width() {
        let footer = footer();
        check(
            &footer,
            110,
            " ~/src/shop main · auth-refactor · claude-sonnet-5 · high          ctx ▰▰▰▰▱▱▱▱ 38% · compacts at 91% · $0.41",
        );
        check(
            &footer,
            80,
            " …/shop main · auth-refactor · claude-sonnet-5 · high  ctx ▰▰▰▰▱▱▱▱ 38% · $0.41",
        );
        check(&footer, 40, " 38% · sonnet-5 · $0.41");
        check(&footer, 20, " 38% · son… · $0.41");
    }

    #[test]
    fn s9_estimates_are_marked_and_a_full_window_warns() {
        let mut footer = footer();
        footer.gauge.estimated = true;
        footer.gauge.tokens = 170_000;
        check(&footer, 40, " ~85% · sonnet-5 · $0.41");
        assert_eq!(footer.gauge_style(&Theme::dark()), Theme::dark().warning);
    }

    #[test]
    fn u1_paths_are_written_from_home() {
        let home = Path::new("/home/me");
        assert_eq!(short_path(Path::new("/home/me/src"), Some(home)), "~/src");
        assert_eq!(short_path(Path::new("/home/me"), Some(home)), "~");
        assert_eq!(short_path(Path::new("/srv"), Some(home)), "/srv");
    }
}
