//! One row of the tree as a styled line: the bar of the active path, guides and fold mark, what the
//! entry is, and at the right edge what is to be known of it. Draws, decides nothing, reads no body.

use std::borrow::Cow;
use std::ops::Range;

use jiff::tz::TimeZone;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::filter::only_calls;
use super::outline::{Outline, Size};
use super::rows::{self, Guide, Part, Rows};
use crate::ids::Timestamp;
use crate::message::StopReason;
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};
use crate::tui::amount::tokens;
use crate::tui::text::{clip, sanitize, width};
use crate::tui::theme::Theme;

/// Columns that the name of who spoke takes at least.
const ROLE: usize = 8;

/// Columns that the text of a row keeps, whatever else would like to stand there.
const LEAST_TEXT: usize = 14;

/// What rows are painted from.
pub struct Painter<'a> {
    /// The tree.
    pub tree: &'a SessionTree,
    /// Its outline.
    pub outline: &'a Outline,
    /// Its rows.
    pub rows: &'a Rows,
    /// The styles.
    pub theme: &'a Theme,
    /// The time from which ages are counted.
    pub now: Timestamp,
    /// Where the times are to be read, when they are shown.
    pub zone: Option<&'a TimeZone>,
    /// What a tool call was about, by its result; `None` when it is not known (yet).
    pub subject: &'a dyn Fn(NodeIndex) -> Option<String>,
    /// Parts of a text that a search has found.
    pub hits: &'a dyn Fn(&str) -> Vec<Range<usize>>,
    /// The entry that was marked for a comparison.
    pub marked: Option<NodeIndex>,
}

/// What an entry is, in words.
struct Words {
    sign: &'static str,
    role: Cow<'static, str>,
    text: String,
    style: Style,
}

impl Painter<'_> {
    /// A row in `columns`.
    #[must_use]
    pub fn line(&self, line: &rows::Line, columns: usize) -> Line<'static> {
        let mut spans = self.before(line, columns);
        let used: usize = spans.iter().map(|span| width(&span.content)).sum();
        let room = columns.saturating_sub(used);
        let edge = self.edge(line, room);
        let edge_columns: usize = edge.iter().map(|span| width(&span.content)).sum();
        let left = room.saturating_sub(edge_columns + usize::from(edge_columns > 0));
        let taken = self.push_words(&mut spans, line, left);
        if edge_columns > 0 {
            spans.push(Span::raw(" ".repeat(room.saturating_sub(taken + edge_columns))));
            spans.extend(edge);
        }
        Line::from(spans)
    }

    fn is_active(&self, line: &rows::Line) -> bool {
        match line.part {
            Part::Title => self.rows.segment(line.segment).is_active,
            Part::Head if self.rows.segment(line.segment).is_folded => {
                self.rows.segment(line.segment).is_active
            }
            Part::Head | Part::Entry => self.outline.on_path(line.node),
        }
    }

    /// The bar of the active path, the guides of the forks above, the fold mark.
    fn before(&self, line: &rows::Line, columns: usize) -> Vec<Span<'static>> {
        let theme = self.theme;
        let bar = if self.is_active(line) { "┃" } else { " " };
        let mut spans = vec![Span::styled(bar, theme.accent)];
        let (skipped, guides) = self.rows.guides(line, (columns / 10).clamp(2, 12));
        if skipped > 0 {
            spans.push(Span::styled(format!("+{skipped} "), theme.dim));
        }
        let mut text = String::new();
        for guide in &guides {
            text.push(match guide {
                Guide::Branch => '├',
                Guide::LastBranch => '└',
                Guide::Pass => '│',
                Guide::Blank => ' ',
            });
            text.push(match guide {
                Guide::Branch | Guide::LastBranch => self.fold_mark(line.segment),
                Guide::Pass | Guide::Blank => ' ',
            });
        }
        if !guides.is_empty() {
            text.push(' ');
            spans.push(Span::styled(text, theme.dim));
        }
        spans
    }

    fn fold_mark(&self, segment: u32) -> char {
        match (self.rows.can_fold(segment), self.rows.segment(segment).is_folded) {
            (false, _) => '─',
            (true, true) => '▸',
            (true, false) => '▾',
        }
    }

    /// Puts down what the entry is, in at most `columns`. Gives the columns it took.
    fn push_words(
        &self,
        spans: &mut Vec<Span<'static>>,
        line: &rows::Line,
        columns: usize,
    ) -> usize {
        let words = self.words(line);
        let theme = self.theme;
        // What was left is dim; only failures and summaries keep their colour.
        let fade = |style: Style| match self.is_active(line) {
            true => style,
            false if style == theme.accent => theme.dim,
            false => theme.dim.patch(style),
        };
        let role_style = match self.tree.node(line.node).kind {
            NodeKind::User if self.is_active(line) => theme.heading,
            _ => fade(Style::new()),
        };
        let lead = match words.role.is_empty() {
            true => format!("{} ", words.sign),
            false => {
                let gap = " ".repeat(ROLE.saturating_sub(width(&words.role)));
                format!("{} {}{gap} ", words.sign, words.role)
            }
        };
        let lead = clip(&lead, columns).into_owned();
        let mut taken = width(&lead);
        let sign_bytes = words.sign.len().min(lead.len());
        let (sign, role) = lead.split_at(sign_bytes);
        spans.push(Span::styled(sign.to_owned(), fade(words.style)));
        spans.push(Span::styled(role.to_owned(), role_style));
        let clean = sanitize(&words.text);
        let text = clip(&clean, columns.saturating_sub(taken));
        taken += width(&text);
        let style = fade(match line.part {
            Part::Title => words.style,
            Part::Head | Part::Entry => Style::new(),
        });
        let found = style.patch(theme.accent).add_modifier(Modifier::UNDERLINED);
        let mut from = 0;
        for hit in (self.hits)(&text) {
            spans.push(Span::styled(text[from..hit.start].to_owned(), style));
            spans.push(Span::styled(text[hit.clone()].to_owned(), found));
            from = hit.end;
        }
        spans.push(Span::styled(text[from..].to_owned(), style));
        taken
    }

    fn words(&self, line: &rows::Line) -> Words {
        let node = self.tree.node(line.node);
        let theme = self.theme;
        let preview = node.preview.to_string();
        let words = |sign, role: &'static str, text, style| Words {
            sign,
            role: Cow::Borrowed(role),
            text,
            style,
        };
        if line.part == Part::Title {
            return words("✎", "", preview, theme.summary);
        }
        match &node.kind {
            NodeKind::User => words("●", "you", preview, theme.accent),
            NodeKind::Assistant(facts) => {
                let (sign, style) = match facts.stop {
                    StopReason::Error => ("✗", theme.error),
                    _ => ("○", Style::new()),
                };
                let text = match facts.stop {
                    StopReason::Aborted if preview.is_empty() => "stopped".to_owned(),
                    _ => preview,
                };
                words(sign, "regrow", text, style)
            }
            NodeKind::ToolResult { tool, is_error, .. } => Words {
                sign: if *is_error { "✗" } else { "○" },
                role: Cow::Owned(clip(&sanitize(tool), 14).into_owned()),
                text: self.call_subject(line.node).unwrap_or_default(),
                style: if *is_error { theme.error } else { Style::new() },
            },
            NodeKind::BashExecution { excluded } => {
                let sign = if *excluded { "!! " } else { "! " };
                words("●", "shell", format!("{sign}{preview}"), theme.accent)
            }
            NodeKind::Custom { .. } => words("○", "note", preview, Style::new()),
            NodeKind::BranchSummary { .. } => words("✎", "summary", preview, theme.summary),
            NodeKind::Compaction { .. } => {
                words("◆", "compacted", self.compaction(line.node, &preview), theme.summary)
            }
            NodeKind::CompactionSummary => words("◆", "compacted", preview, theme.summary),
            NodeKind::OtherMessage => words("·", "message", preview, theme.dim),
            NodeKind::ModelChange(_) => words("·", "model", preview, theme.dim),
            NodeKind::ThinkingLevelChange(_) => words("·", "thinking", preview, theme.dim),
            NodeKind::LeafMark => words("·", "moved", "the leaf was put here".into(), theme.dim),
            NodeKind::CustomData => words("·", "data", preview, theme.dim),
            NodeKind::Label { target, label } => {
                let text = match label {
                    Some(label) => format!("{target} is called {label}"),
                    None => format!("{target} has no label any more"),
                };
                words("·", "label", text, theme.dim)
            }
            NodeKind::SessionInfo { .. } => words("·", "name", preview, theme.dim),
            NodeKind::Unknown => words("·", "unknown", preview, theme.dim),
        }
    }

    /// What a call was about: from the answer's body when it was read, else from its preview.
    fn call_subject(&self, result: NodeIndex) -> Option<String> {
        (self.subject)(result).or_else(|| {
            let answer = self.tree.parent(result)?;
            only_calls(self.tree, answer).map(str::to_owned)
        })
    }

    /// `41.2k → 9.8k · moved validation`: what it left is its summary and the kept tail.
    fn compaction(&self, index: NodeIndex, preview: &str) -> String {
        let node = self.tree.node(index);
        let NodeKind::Compaction { first_kept, tokens_before } = &node.kind else {
            return preview.to_owned();
        };
        let kept = self.tree.find(first_kept).map(|first| self.outline.between(first, index));
        let after = u64::from(node.tokens) + kept.map_or(0, |kept| kept.tokens);
        format!("{} → {} · {preview}", tokens(*tokens_before), tokens(after))
    }

    /// What stands at the right edge, as much as leaves room for the text.
    fn edge(&self, line: &rows::Line, room: usize) -> Vec<Span<'static>> {
        let theme = self.theme;
        // The most important first; the screen shows them the other way round.
        let mut notes: Vec<(String, Style)> = Vec::new();
        if self.shows_leaf(line) {
            notes.push(("← active".to_owned(), theme.accent));
        }
        if self.marked == Some(line.node) {
            notes.push(("◇ marked".to_owned(), theme.warning));
        }
        if self.tree.is_orphan(line.node) {
            notes.push(("parent missing".to_owned(), theme.warning));
        }
        if line.part != Part::Title
            && let Some(label) = self.tree.label(line.node)
        {
            notes.push((format!("[{}]", clip(&sanitize(label), 24)), theme.accent));
        }
        if line.part != Part::Entry {
            let head = self.rows.head(line.segment);
            let age = age(self.outline.newest(self.tree, head), self.now);
            let size = self.outline.size(head);
            let figures = match room {
                0..48 => format!("{} · {age}", size.entries),
                _ => format!("{} · {} · {age}", size.entries, tokens(size.tokens)),
            };
            notes.push((figures, theme.dim));
        }
        if let Some(zone) = self.zone {
            notes.push((moment(self.tree.node(line.node).timestamp, zone), theme.dim));
        }
        let mut left = room.saturating_sub(LEAST_TEXT.min(room / 2));
        let mut spans = Vec::new();
        for (text, style) in notes {
            let columns = width(&text) + 2;
            if columns > left {
                continue;
            }
            left -= columns;
            spans.push(Span::styled(text, style));
            spans.push(Span::raw("  "));
        }
        spans.pop();
        spans.reverse();
        spans
    }

    /// Whether the leaf is this row, or lies in what is folded away here.
    fn shows_leaf(&self, line: &rows::Line) -> bool {
        let Some(leaf) = self.outline.leaf() else { return false };
        if self.rows.segment(line.segment).is_folded {
            return self.outline.is_above(self.rows.head(line.segment), leaf);
        }
        line.part != Part::Title && line.node == leaf
    }
}

/// `14 entries (6.2k tokens)`
#[must_use]
pub fn size_in_words(size: Size) -> String {
    format!("{} ({} tokens)", entries(size.entries), tokens(size.tokens))
}

/// `1 entry`, `14 entries`.
#[must_use]
pub fn entries(number: u32) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}

/// How long ago something was: `now`, `5 min`, `2 h`, `3 d`, `5 w`, `2 y`.
#[must_use]
pub fn age(then: Timestamp, now: Timestamp) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const YEAR: u64 = 365 * DAY;
    match then.seconds_until(now) {
        0..MINUTE => "now".to_owned(),
        seconds @ MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h", seconds / HOUR),
        seconds if seconds < 14 * DAY => format!("{} d", seconds / DAY),
        seconds if seconds < YEAR => format!("{} w", seconds / (7 * DAY)),
        seconds => format!("{} y", seconds / YEAR),
    }
}

/// `01-14 15:00` in a time zone.
#[must_use]
pub fn moment(time: Timestamp, zone: &TimeZone) -> String {
    jiff::Timestamp::from_millisecond(time.as_millis())
        .map(|time| time.to_zoned_datetime(zone.clone()).strftime("%m-%d %H:%M").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_ages_are_short() {
        let now = Timestamp::from_millis(1_768_402_800_000);
        let ago = |seconds: i64| age(Timestamp::from_millis(now.as_millis() - seconds * 1000), now);
        assert_eq!(
            [5, 300, 7_300, 90_000, 86_400 * 30, 86_400 * 800].map(ago),
            ["now", "5 min", "2 h", "1 d", "4 w", "2 y"]
        );
        assert_eq!(ago(-500), "now");
    }
}
