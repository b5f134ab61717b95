//! What the selected row is, in full: the entry as the transcript would show it, or the summary of a
//! branch (U5). Lines are made once per selection and width; very long texts are cut, because a
//! glance must cost no more than a glance.

use std::path::Path;

use jiff::tz::TimeZone;
use ratatui::text::Line;

use super::bodies::{Bodies, answer_of, call_of};
use super::filter::leaf_left;
use super::outline::Outline;
use super::paint::{age, moment, size_in_words};
use super::rows::{self, Part, Rows};
use crate::ids::Timestamp;
use crate::message::{Block, Content, Message};
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};
use crate::tui::amount::tokens;
use crate::tui::cell::{Cell, Detail, INSET, Look, Shown, ToolCell, cells_of};
use crate::tui::highlight::Highlights;
use crate::tui::markdown::{Page, render};
use crate::tui::text::sanitize;
use crate::tui::theme::Theme;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// Most bytes of one text that are drawn.
const MOST_BYTES: usize = 16_000;

/// What a preview is made from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) tree: &'a SessionTree,
    pub(super) outline: &'a Outline,
    pub(super) rows: &'a Rows,
    pub(super) bodies: &'a Bodies,
    pub(super) theme: &'a Theme,
    pub(super) now: Timestamp,
    pub(super) zone: &'a TimeZone,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Preview {
    /// What `lines` shows: the row, the width, and whether its bodies were there.
    shown: Option<(rows::Line, bool, usize, bool)>,
    lines: Vec<Line<'static>>,
    top: usize,
    height: usize,
}

impl Preview {
    /// Moves up (negative) or down.
    pub(super) fn scroll(&mut self, lines: isize) {
        self.top = self.top.saturating_add_signed(lines);
    }

    /// The lines to be drawn in `columns` × `height` for a row.
    pub(super) fn lines(
        &mut self,
        row: &rows::Line,
        columns: usize,
        height: usize,
        source: Source<'_>,
    ) -> &[Line<'static>] {
        let is_folded = source.rows.segment(row.segment).is_folded;
        let is_loaded =
            needed(source.tree, row.node).iter().all(|index| source.bodies.get(*index).is_some());
        let shown = (*row, is_folded, columns, is_loaded);
        if self.shown != Some(shown) {
            let same_row = self.shown.is_some_and(|(before, ..)| before == *row);
            self.top = if same_row { self.top } else { 0 };
            self.lines = draw(row, columns, source);
            self.shown = Some(shown);
        }
        self.height = height;
        self.top = self.top.min(self.lines.len().saturating_sub(height));
        let end = self.lines.len().min(self.top + height);
        &self.lines[self.top..end]
    }

    /// Draws anew next time, because the tree has changed.
    pub(super) fn forget(&mut self) {
        self.shown = None;
    }
}

/// The bodies that a preview of an entry needs.
pub(super) fn needed(tree: &SessionTree, node: NodeIndex) -> Vec<NodeIndex> {
    let mut needed = vec![node];
    if matches!(tree.node(node).kind, NodeKind::ToolResult { .. }) {
        needed.extend(answer_of(tree, node).map(|(answer, _)| answer));
    }
    needed
}

fn draw(row: &rows::Line, columns: usize, source: Source<'_>) -> Vec<Line<'static>> {
    let mut facts = Vec::new();
    if row.part != Part::Entry {
        facts.push(branch_facts(row, source));
    }
    let body = source.bodies.get(row.node);
    if row.part == Part::Title {
        let title = sanitize(&source.tree.node(row.node).preview).into_owned();
        let mut lines = vec![Line::styled(title, source.theme.heading)];
        lines.extend(wrapped(&facts.join(" · "), columns, source.theme));
        lines.push(Line::default());
        let text = match body.map(|entry| &entry.body) {
            Some(EntryBody::BranchSummary(summary)) => cut(&summary.summary),
            _ => "",
        };
        lines.extend(render(
            &sanitize(text.trim()),
            page(columns, source.theme, &Highlights::off()),
        ));
        return lines;
    }
    facts.push(entry_facts(row.node, source));
    let mut lines = wrapped(&facts.join(" · "), columns, source.theme);
    lines.push(Line::default());
    if let Some(entry) = body {
        lines.extend(draw_entry(row.node, entry, columns, source));
    }
    lines
}

fn wrapped(text: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let span = ratatui::text::Span::styled(text.to_owned(), theme.dim);
    wrap(&[span], columns, &Margins::default(), Breaking::Words)
}

const fn page<'a>(width: usize, theme: &'a Theme, highlights: &'a Highlights) -> Page<'a> {
    Page { theme, width, highlights }
}

/// `14 entries (6.2k tokens) · 2 h ago · left at 9f3c21aa`
fn branch_facts(row: &rows::Line, source: Source<'_>) -> String {
    let head = source.rows.head(row.segment);
    let newest = age(source.outline.newest(source.tree, head), source.now);
    let ago = if newest == "now" { newest } else { format!("{newest} ago") };
    let mut facts = format!("{} · {ago}", size_in_words(source.outline.size(head)));
    if let Some(left) = leaf_left(source.tree, row.node).filter(|_| row.part == Part::Title) {
        facts.push_str(&format!(" · left at {}", source.tree.node(left).id));
    }
    facts
}

/// `2026-01-14 15:00 · 120 tokens · 9f3c21aa`
fn entry_facts(index: NodeIndex, source: Source<'_>) -> String {
    let node = source.tree.node(index);
    let mut facts = vec![moment(node.timestamp, source.zone)];
    if node.tokens > 0 {
        facts.push(format!("{} tokens", tokens(u64::from(node.tokens))));
    }
    if let NodeKind::Assistant(answer) = &node.kind {
        facts.push(answer.model.id.to_string());
    }
    facts.push(node.id.to_string());
    facts.retain(|fact| !fact.is_empty());
    if let Some(label) = source.tree.label(index) {
        facts.push(format!("[{}]", sanitize(label)));
    }
    facts.join(" · ")
}

fn draw_entry(
    index: NodeIndex,
    entry: &SessionEntry,
    columns: usize,
    source: Source<'_>,
) -> Vec<Line<'static>> {
    let highlights = Highlights::off();
    let look = Look {
        theme: source.theme,
        highlights: &highlights,
        width: columns,
        tools: Detail::Full,
        thinking: Detail::Full,
        cwd: Path::new(""),
    };
    let entry = shortened(entry);
    let mut cells = match cells_of(&entry, None) {
        Shown::Cells(cells) => cells,
        Shown::Result(result) => {
            let answer = answer_of(source.tree, index).and_then(|(at, _)| source.bodies.get(at));
            let call = answer.and_then(|answer| call_of(answer, &entry)).cloned();
            let name = result.tool_name.clone();
            let call =
                call.unwrap_or_else(|| crate::message::ToolCall { name, ..Default::default() });
            let mut cell = ToolCell::new(&call);
            cell.finish(result);
            vec![Cell::Tool(Box::new(cell))]
        }
    };
    let mut lines = Vec::new();
    for cell in &mut cells {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        // The transcript has margins, the preview has none: what stands between margins there may
        // be so much wider here.
        let width = if cell.inset() > 0 { columns + 2 * INSET } else { columns };
        let drawn = cell.draw(Look { width, ..look });
        lines.extend_from_slice(cell.lines(&drawn));
    }
    lines
}

/// The beginning of a text.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_BYTES)]
}

/// The entry with all long texts cut.
fn shortened(entry: &SessionEntry) -> SessionEntry {
    let mut entry = entry.clone();
    let shorten = |text: &mut String| {
        let end = text.floor_char_boundary(MOST_BYTES);
        text.truncate(end);
    };
    let shorten_content = |content: &mut Content| match content {
        Content::Text(text) => shorten(text),
        Content::Blocks(blocks) => {
            for block in blocks {
                if let Block::Text { text, .. } = block {
                    shorten(text);
                }
            }
        }
    };
    match &mut entry.body {
        EntryBody::Compaction(compaction) => shorten(&mut compaction.summary),
        EntryBody::BranchSummary(summary) => shorten(&mut summary.summary),
        EntryBody::CustomMessage { content, .. } => shorten_content(content),
        EntryBody::Message { message } => match message {
            Message::User(user) => shorten_content(&mut user.content),
            Message::ToolResult(result) => shorten_content(&mut result.content),
            Message::Custom(custom) | Message::HookMessage(custom) => {
                shorten_content(&mut custom.content);
            }
            Message::BashExecution(run) => shorten(&mut run.output),
            Message::Assistant(answer) => {
                for block in &mut answer.content {
                    match block {
                        Block::Text { text, .. } | Block::Thinking { thinking: text, .. } => {
                            shorten(text);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        },
        _ => {}
    }
    entry
}
