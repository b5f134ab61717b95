//! Two branches side by side (U5): where they part, what was asked on each side, which files each
//! changed, and its last answer. Which entries matter is decided on the tree; their bodies are asked
//! for in pieces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ratatui::text::{Line, Span};

use super::bodies::answer_of;
use super::filter::only_calls;
use super::outline::{Outline, Size};
use super::paint::{age, size_in_words};
use crate::compaction::file_ops::FileOps;
use crate::ids::Timestamp;
use crate::message::{AssistantMessage, Message};
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};
use crate::tui::highlight::Highlights;
use crate::tui::markdown::{Page, render};
use crate::tui::text::sanitize;
use crate::tui::theme::Theme;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// Bodies that are asked for at once.
const CHUNK: usize = 64;

/// Most requests of one side that are listed.
const MOST_REQUESTS: usize = 200;

/// See the module.
#[derive(Debug)]
pub(super) struct Comparison {
    /// The entry from which both sides go off; `None` before the first entry.
    pub(super) fork: Option<NodeIndex>,
    /// What the fork says.
    fork_preview: String,
    /// The two sides, the marked one first.
    pub(super) sides: [Side; 2],
    /// Entries whose bodies are still to be asked for.
    waiting: Vec<NodeIndex>,
    /// Entries that were asked for.
    asked: BTreeSet<NodeIndex>,
    /// First line to be seen.
    pub(super) top: usize,
}

/// One side of a comparison: the entries between the fork and its end.
#[derive(Debug)]
pub(super) struct Side {
    size: Size,
    newest: Timestamp,
    requests: Vec<String>,
    last_answer: Option<NodeIndex>,
    answer: Option<String>,
    files: FileOps,
    /// Answers with calls that changed files, and which of their calls went well; branch summaries.
    sources: BTreeMap<NodeIndex, BTreeSet<usize>>,
}

/// The end of the branch that an entry stands for: the leaf for the active path, else the newest
/// entry below.
#[must_use]
pub(super) fn end_of_branch(outline: &Outline, entry: NodeIndex) -> NodeIndex {
    match outline.leaf() {
        Some(leaf) if outline.on_path(entry) => leaf,
        _ => outline.tip(entry),
    }
}

impl Comparison {
    /// Compares the branches that end at `one` and `other`; `None` when they are the same.
    #[must_use]
    pub(super) fn new(
        tree: &SessionTree,
        outline: &Outline,
        one: NodeIndex,
        other: NodeIndex,
    ) -> Option<Self> {
        if one == other {
            return None;
        }
        let fork = tree.ancestors(one).find(|above| outline.is_above(*above, other));
        let sides = [one, other].map(|end| Side::new(tree, outline, fork, end));
        let mut waiting: Vec<NodeIndex> = sides
            .iter()
            .flat_map(|side| side.sources.keys().chain(&side.last_answer))
            .copied()
            .collect();
        waiting.sort_unstable();
        waiting.dedup();
        let fork_preview =
            fork.map_or_else(String::new, |fork| tree.node(fork).preview.to_string());
        Some(Self { fork, fork_preview, sides, waiting, asked: BTreeSet::new(), top: 0 })
    }

    /// The next bodies to ask for, once those asked for before are there.
    pub(super) fn wants(&mut self) -> Vec<NodeIndex> {
        if !self.asked.is_empty() {
            return Vec::new();
        }
        let rest = self.waiting.split_off(self.waiting.len().min(CHUNK));
        let chunk = std::mem::replace(&mut self.waiting, rest);
        self.asked.extend(&chunk);
        chunk
    }

    /// Takes bodies that were read.
    pub(super) fn add(&mut self, entries: &[(NodeIndex, Arc<SessionEntry>)]) {
        for (index, entry) in entries {
            for side in &mut self.sides {
                side.add(*index, entry);
            }
        }
        // What of a chunk has not come with the rest cannot be read; the next chunk follows.
        if entries.iter().any(|(index, _)| self.asked.contains(index)) {
            self.asked.clear();
        }
    }

    fn is_complete(&self) -> bool {
        self.waiting.is_empty() && self.asked.is_empty()
    }

    /// All lines in `columns`: side by side where there is room for two columns.
    #[must_use]
    pub(super) fn lines(
        &self,
        columns: usize,
        now: Timestamp,
        theme: &Theme,
    ) -> Vec<Line<'static>> {
        let fork = match self.fork {
            Some(_) => format!("both go off from: {}", sanitize(&self.fork_preview)),
            None => "nothing in common".to_owned(),
        };
        let wrapped = |text: String, style| {
            wrap(&[Span::styled(text, style)], columns, &Margins::default(), Breaking::Words)
        };
        let mut lines = wrapped(fork, theme.heading);
        if !self.is_complete() {
            let left = self.waiting.len() + self.asked.len();
            lines.push(Line::styled(format!("reading {left} more entries …"), theme.dim));
        }
        lines.push(Line::default());
        let is_wide = columns >= 72;
        let width = if is_wide { (columns - 3) / 2 } else { columns };
        let parts = self.sides.each_ref().map(|side| side.parts(width, now, theme));
        let [one, other] = parts;
        if !is_wide {
            for part in one.into_iter().chain(other) {
                lines.extend(part);
                lines.push(Line::default());
            }
            return lines;
        }
        for (left, right) in one.into_iter().zip(other) {
            lines.extend(beside(left, right, width, theme));
            lines.push(Line::styled(format!("{} │", " ".repeat(width)), theme.dim));
        }
        lines.pop();
        lines
    }
}

/// Two blocks of lines beside each other.
fn beside(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let rows = left.len().max(right.len());
    let mut right = right.into_iter();
    let mut left = left.into_iter();
    (0..rows)
        .map(|_| {
            let mut line = left.next().unwrap_or_default();
            let gap = width.saturating_sub(line.width());
            line.push_span(Span::styled(format!("{} │ ", " ".repeat(gap)), theme.dim));
            let other = right.next().unwrap_or_default();
            let style = other.style;
            line.spans.extend(other.spans.into_iter().map(|span| {
                let style = style.patch(span.style);
                span.style(style)
            }));
            line
        })
        .collect()
}

impl Side {
    fn new(tree: &SessionTree, outline: &Outline, fork: Option<NodeIndex>, end: NodeIndex) -> Self {
        let mut side = Self {
            size: outline.path_size(end)
                - fork.map_or_else(Size::default, |fork| outline.path_size(fork)),
            newest: tree.node(end).timestamp,
            requests: Vec::new(),
            last_answer: None,
            answer: None,
            files: FileOps::default(),
            sources: BTreeMap::new(),
        };
        for index in tree.ancestors(end).take_while(|index| Some(*index) != fork) {
            let node = tree.node(index);
            match &node.kind {
                NodeKind::User => side.requests.push(node.preview.to_string()),
                NodeKind::Assistant(_)
                    if side.last_answer.is_none()
                        && !node.preview.is_empty()
                        && only_calls(tree, index).is_none() =>
                {
                    side.last_answer = Some(index);
                }
                NodeKind::ToolResult { tool, is_error: false, .. } if changes_files(tool) => {
                    if let Some((answer, call)) = answer_of(tree, index) {
                        side.sources.entry(answer).or_default().insert(call);
                    }
                }
                NodeKind::BranchSummary { from: Some(_) } => {
                    side.sources.entry(index).or_default();
                }
                _ => {}
            }
        }
        side.requests.reverse();
        side
    }

    fn add(&mut self, index: NodeIndex, entry: &SessionEntry) {
        if self.last_answer == Some(index)
            && let EntryBody::Message { message: Message::Assistant(answer) } = &entry.body
        {
            self.answer = Some(words_of(answer));
        }
        let Some(went_well) = self.sources.get(&index) else { return };
        match &entry.body {
            EntryBody::Message { message: Message::Assistant(answer) } => {
                for (_, call) in
                    answer.tool_calls().enumerate().filter(|(call, _)| went_well.contains(call))
                {
                    let path = call.arguments.get("path").and_then(serde_json::Value::as_str);
                    if let Some(path) = path.filter(|_| changes_files(&call.name)) {
                        self.files.add_modified(path);
                    }
                }
            }
            EntryBody::BranchSummary(summary) => {
                if let Some(details) = &summary.details {
                    self.files.add_details(details);
                }
            }
            _ => {}
        }
    }

    /// What it is, what was asked, which files it changed, what was answered last.
    fn parts(&self, width: usize, now: Timestamp, theme: &Theme) -> [Vec<Line<'static>>; 4] {
        let wrapped = |text: &str, style, margins: &Margins| {
            wrap(
                &[Span::styled(sanitize(text).into_owned(), style)],
                width,
                margins,
                Breaking::Words,
            )
        };
        let plain = Margins::default();
        let newest = age(self.newest, now);
        let facts = format!("{} · {newest}", size_in_words(self.size));
        let head = wrapped(&facts, theme.heading, &plain);

        let mut requests = vec![Line::styled("requests", theme.dim)];
        let bullet = Margins {
            first: vec![Span::styled("● ", theme.accent)],
            rest: vec![Span::raw("  ")],
        };
        let omitted = self.requests.len().saturating_sub(MOST_REQUESTS);
        if omitted > 0 {
            requests.push(Line::styled(format!("… {omitted} earlier"), theme.dim));
        }
        for request in &self.requests[omitted..] {
            requests.extend(wrapped(request, theme.text, &bullet));
        }
        if self.requests.is_empty() {
            requests.push(Line::styled("none", theme.dim));
        }

        let mut files = vec![Line::styled("files changed", theme.dim)];
        let modified = self.files.modified_files();
        for path in &modified {
            files.extend(wrapped(path, theme.text, &plain));
        }
        if modified.is_empty() {
            files.push(Line::styled("none", theme.dim));
        }

        let mut answer = vec![Line::styled("last answer", theme.dim)];
        match &self.answer {
            Some(text) => {
                let highlights = Highlights::off();
                answer.extend(render(
                    &sanitize(text),
                    Page { theme, width, highlights: &highlights },
                ));
            }
            None => answer.push(Line::styled("none", theme.dim)),
        }
        [head, requests, files, answer]
    }
}

fn changes_files(tool: &str) -> bool {
    matches!(tool, "edit" | "write")
}

fn words_of(answer: &AssistantMessage) -> String {
    let text = answer.text();
    let end = text.floor_char_boundary(8_000);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::notation::{NOW, Session};
    use super::*;

    #[test]
    fn u5_two_branches_side_by_side() {
        let session = Session::parse(
            "u1 user 'Start' / a1 assistant 'ok' / u2 user 'with a macro'
             / a2 assistant call=edit:derive.rs / r2 result 'ok' of=a2-0 tool=edit
             / a3 assistant 'macro built' / u4 user 'with a trait' < a1
             / a4 assistant 'writing' call=write:form.rs call=edit:lib.rs
             / r4 result 'ok' of=a4-0 tool=write / r5 result 'no' of=a4-1 tool=edit failed
             / a5 assistant 'trait done'",
        );
        let tree = session.tree();
        let outline = Outline::new(&tree);
        let ends = ["u2", "u1"].map(|id| end_of_branch(&outline, session.at(id)));
        assert_eq!(ends, [session.at("a3"), session.at("a5")]);
        let mut comparison = Comparison::new(&tree, &outline, ends[0], ends[1]).unwrap();
        assert_eq!(comparison.fork, Some(session.at("a1")));
        let wanted = comparison.wants();
        assert!(comparison.wants().is_empty(), "one chunk at a time");
        let bodies: Vec<_> =
            wanted.iter().map(|index| (*index, session.reader.entry(*index).unwrap())).collect();
        comparison.add(&bodies);
        let lines = comparison.lines(80, NOW, &Theme::dark());
        let text: Vec<String> =
            lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect();
        insta::assert_snapshot!(text.join("\n"));
    }

    #[test]
    fn u5_a_branch_is_not_compared_with_itself() {
        let session = Session::parse("u1 user 'a' / a1 assistant 'b'");
        let tree = session.tree();
        let outline = Outline::new(&tree);
        let end = |id| end_of_branch(&outline, session.at(id));
        assert!(Comparison::new(&tree, &outline, end("u1"), end("a1")).is_none());
    }
}
