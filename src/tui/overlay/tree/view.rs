//! Drawing the tree overlay: header, rows, preview, and the foot with what Enter would do or what is
//! being asked. Decides nothing; what it saw is noted for the mouse and for loading.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};
use tui_tree_widget::{Tree, TreeItem, TreeState};

use super::bodies::answer_of;
use super::filter::only_calls;
use super::keys::{help, hint};
use super::paint::{Painter, entries};
use super::preview::{Source, needed};
use super::rows::Part;
use super::{Mode, TreeOverlay};
use crate::session::tree::{NodeIndex, NodeKind};
use crate::tui::action::TreeAction;
use crate::tui::amount::count;
use crate::tui::overlay::input::Input;
use crate::tui::text::{clip, first_parts, sanitize, width};
use crate::tui::theme::Theme;

/// The preview stands beside the rows from this width on.
const BESIDE: u16 = 100;

/// The preview stands below the rows from this height on.
const BELOW: u16 = 20;

/// Rows kept between the selection and the edge, where there are rows.
const MARGIN: usize = 2;

/// Where the preview is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pane {
    /// Beside or below the rows, if there is room.
    #[default]
    Auto,
    /// Nowhere.
    Hidden,
    /// In place of the rows: for screens without room for both.
    Alone,
}

impl Pane {
    /// What Tab makes of it on a screen that has room for both or not.
    pub(super) const fn toggled(self, has_room: bool) -> Self {
        match self {
            Self::Auto if has_room => Self::Hidden,
            Self::Auto => Self::Alone,
            Self::Hidden | Self::Alone => Self::Auto,
        }
    }
}

impl TreeOverlay {
    pub(super) fn draw_all(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        theme: &Theme,
    ) -> Option<Position> {
        frame.render_widget(Clear, area);
        if area.width < 30 || area.height < 8 {
            frame.render_widget(Paragraph::new("the window is too small"), area);
            return None;
        }
        let foot_height = self.foot_height(area);
        let [head, middle, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(foot_height),
        ])
        .areas(area);
        self.draw_head(frame, head, theme);
        self.seen.tree = middle;
        self.seen.preview = Rect::ZERO;
        self.seen.previewed = None;
        match &mut self.mode {
            Mode::Help => {
                for ((keys, words), place) in help(&self.keys).into_iter().zip(middle.rows()) {
                    let keys = Span::styled(format!("  {keys}  "), theme.accent);
                    frame.render_widget(Line::from(vec![keys, Span::raw(words)]), place);
                }
            }
            Mode::Compare(comparison) => {
                let lines = comparison.lines(usize::from(middle.width) - 2, self.now, theme);
                let rows = usize::from(middle.height);
                comparison.top = comparison.top.min(lines.len().saturating_sub(rows));
                let inside = Rect { x: middle.x + 1, width: middle.width - 2, ..middle };
                for (line, place) in lines.into_iter().skip(comparison.top).zip(inside.rows()) {
                    frame.render_widget(line, place);
                }
            }
            _ => self.draw_panes(frame, middle, theme),
        }
        self.draw_foot(frame, foot, theme)
    }

    fn draw_panes(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let is_wide = area.width >= BESIDE;
        self.seen.has_room = is_wide || area.height >= BELOW;
        let (tree, preview) = match self.pane {
            Pane::Alone => (None, Some(area)),
            Pane::Auto if is_wide => {
                let [tree, preview] =
                    Layout::horizontal([Constraint::Percentage(55), Constraint::Min(10)])
                        .spacing(1)
                        .areas(area);
                (Some(tree), Some(preview))
            }
            Pane::Auto if self.seen.has_room => {
                let [tree, preview] =
                    Layout::vertical([Constraint::Percentage(60), Constraint::Min(4)]).areas(area);
                (Some(tree), Some(preview))
            }
            Pane::Auto | Pane::Hidden => (Some(area), None),
        };
        self.seen.tree = tree.unwrap_or_default();
        if let Some(tree) = tree {
            self.draw_rows(frame, tree, theme);
        }
        let Some(area) = preview else { return };
        let inside = match self.pane {
            Pane::Alone => Rect { x: area.x + 1, width: area.width - 2, ..area },
            _ if is_wide => {
                for place in area.rows() {
                    frame.render_widget(Span::styled("│", theme.dim), place);
                }
                Rect { x: area.x + 2, width: area.width.saturating_sub(3), ..area }
            }
            _ => {
                let rule = "─".repeat(usize::from(area.width));
                frame.render_widget(Span::styled(rule, theme.dim), area);
                Rect {
                    x: area.x + 1,
                    width: area.width - 2,
                    y: area.y + 1,
                    height: area.height.saturating_sub(1),
                }
            }
        };
        self.draw_preview(frame, inside, theme);
    }

    fn draw_preview(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let Some(row) = self.line() else { return };
        self.seen.preview = area;
        self.seen.previewed = Some(row.node);
        let tree = self.reader.tree();
        let source = Source {
            tree: &tree,
            outline: &self.outline,
            rows: &self.rows,
            bodies: &self.bodies,
            theme,
            now: self.now,
            zone: &self.zone,
        };
        let (columns, height) = (usize::from(area.width), usize::from(area.height));
        let lines = self.preview.lines(&row, columns, height, source);
        for (line, place) in lines.iter().zip(area.rows()) {
            frame.render_widget(line, place);
        }
    }

    /// The rows to be seen go through the tree widget, which draws them, marks the selected one and
    /// knows which row is where. It gets the window only, as siblings: it flattens whatever it is
    /// given with every frame, and nested items would carry their whole path (F90). Guides and fold
    /// marks are part of the rows, because the widget has none for a window into the middle of a tree.
    fn draw_rows(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let height = usize::from(area.height);
        let total = self.rows.lines().len();
        if total == 0 {
            let words = if self.reader.tree().is_empty() {
                " nothing has been said yet".to_owned()
            } else {
                let next = hint(&self.keys, TreeAction::Filter, " takes the next one");
                [Some(" no entry passes the filter".to_owned()), next]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" · ")
            };
            frame.render_widget(Span::styled(words, theme.dim), area);
            return;
        }
        let margin = MARGIN.min(height.saturating_sub(1) / 2);
        let lowest = (self.cursor + margin + 1).saturating_sub(height);
        let highest = self.cursor.saturating_sub(margin);
        self.top = self.top.max(lowest).min(highest).min(total.saturating_sub(height));
        let end = total.min(self.top + height);

        let tree = self.reader.tree();
        let subject = |result: NodeIndex| self.bodies.subject(&tree, result);
        let needle = self.search.as_ref().and_then(|search| search.needle.as_ref());
        let painter = Painter {
            tree: &tree,
            outline: &self.outline,
            rows: &self.rows,
            theme,
            now: self.now,
            zone: self.show_times.then_some(&self.zone),
            subject: &subject,
            hits: &|text| needle.map(|needle| needle.ranges(text)).unwrap_or_default(),
            marked: self.marked,
        };
        let columns = usize::from(area.width);
        let items: Vec<TreeItem<'_, u32>> = self.rows.lines()[self.top..end]
            .iter()
            .zip(self.top..)
            .map(|(line, number)| TreeItem::new_leaf(number as u32, painter.line(line, columns)))
            .collect();
        let mut state = TreeState::default();
        state.select(vec![self.cursor as u32]);
        if let Ok(widget) = Tree::new(&items) {
            let widget = widget.highlight_style(theme.selected).node_no_children_symbol("");
            frame.render_stateful_widget(widget, area, &mut state);
        }
        self.seen.widget = state;
    }

    /// Bodies that what was drawn last would show and that are not there yet.
    pub(super) fn wanted_by_rows(&mut self) -> Vec<NodeIndex> {
        if self.stale {
            return Vec::new();
        }
        let tree = self.reader.tree();
        let end = self.rows.lines().len().min(self.top + usize::from(self.seen.tree.height));
        let seen = self.rows.lines().get(self.top..end).unwrap_or_default();
        let mut wanted = Vec::new();
        for line in seen.iter().filter(|line| line.part != Part::Title) {
            if !matches!(tree.node(line.node).kind, NodeKind::ToolResult { .. }) {
                continue;
            }
            let Some((answer, number)) = answer_of(&tree, line.node) else { continue };
            let told_by_preview = number == 0 && only_calls(&tree, answer).is_some();
            if !told_by_preview && !self.bodies.knows_calls(answer) {
                wanted.push(answer);
            }
        }
        wanted.extend(self.seen.previewed.into_iter().flat_map(|node| needed(&tree, node)));
        drop(tree);
        self.bodies.ask_for(wanted)
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let (title, keys) = self.head_words();
        let columns = usize::from(area.width);
        let title = first_parts(&title, columns.saturating_sub(2)).into_owned();
        let room = columns.saturating_sub(width(&title) + 4);
        frame.render_widget(Line::styled(format!(" {title}"), theme.heading), area);
        if let Some(keys) = keys.into_iter().find(|keys| width(keys) <= room) {
            frame.render_widget(Line::styled(format!("{keys} "), theme.dim).right_aligned(), area);
        }
    }

    /// The title, and the keys that matter, from the longest form to the shortest.
    fn head_words(&self) -> (String, Vec<String>) {
        let closes = || vec!["esc back".to_owned()];
        match &self.mode {
            Mode::Compare(_) => return ("Two branches".to_owned(), closes()),
            Mode::Help => return ("Tree · keys".to_owned(), closes()),
            _ => {}
        }
        let tree = self.reader.tree();
        let mut title = vec!["Tree".to_owned()];
        title.extend(tree.name().map(|name| sanitize(name).into_owned()));
        let branches = self.rows.branches();
        let size = entries(self.outline.counted());
        title.push(match branches {
            0 => size,
            // "branches" is no plural that `count` makes.
            _ => format!("{size}, {branches} branches"),
        });
        (title.join(" · "), self.key_hints())
    }

    /// The keys that matter, from the longest list to the shortest.
    fn key_hints(&self) -> Vec<String> {
        let filter = self.filter.name();
        let all = [
            (TreeAction::Search, " search".to_owned(), 2),
            (TreeAction::Filter, format!(" filter: {filter}"), 2),
            (TreeAction::Filter, format!(": {filter}"), 1),
            (TreeAction::Label, " label".to_owned(), 3),
            (TreeAction::Compare, " compare".to_owned(), 3),
            (TreeAction::Enter, " go".to_owned(), 2),
            (TreeAction::Help, " keys".to_owned(), 0),
            (TreeAction::Back, " close".to_owned(), 1),
        ];
        let up_to = |most: u8| {
            let mut hints = Vec::new();
            for (action, words, rank) in &all {
                let is_other_form = *action == TreeAction::Filter && (*rank == 1) != (most == 1);
                if *rank <= most && !is_other_form {
                    hints.extend(hint(&self.keys, *action, words));
                }
            }
            hints.join("  ")
        };
        (0..=3).rev().map(up_to).collect()
    }

    fn foot_height(&self, area: Rect) -> u16 {
        let most = area.height.saturating_sub(4).max(1);
        let wanted = match &self.mode {
            Mode::Ask { .. } => 7,
            Mode::Write { input, wording, .. } => input.height(wording.prompt(), area.width) + 1,
            _ => 1,
        };
        wanted.min(most)
    }

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        let columns = usize::from(area.width);
        match &self.mode {
            Mode::Ask { question, .. } => {
                let lines = question.lines(columns, theme);
                for (line, place) in lines.into_iter().zip(area.rows()) {
                    frame.render_widget(line, place);
                }
                None
            }
            Mode::Write { input, wording, .. } => {
                let [words, below] =
                    Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(area);
                let hint =
                    self.hint.as_deref().unwrap_or("enter go · alt+enter new line · esc back");
                frame.render_widget(Line::styled(format!(" {hint}"), theme.dim), below);
                Some(input.draw(frame, words, wording.prompt(), theme))
            }
            Mode::Label { input, .. } => {
                Some(self.draw_line(frame, area, input, " label: ", theme))
            }
            Mode::Search { input, .. } => Some(self.draw_line(frame, area, input, " / ", theme)),
            Mode::Compare(_) | Mode::Help => None,
            Mode::Browse => {
                let (words, style) = match &self.hint {
                    Some(hint) => (hint.clone(), theme.warning),
                    None => (self.foresee(), theme.text),
                };
                let found = self.found_so_far();
                let room = columns.saturating_sub(width(&found) + 2);
                let words = clip(&words, room).into_owned();
                frame.render_widget(Line::styled(format!(" {words}"), style), area);
                frame.render_widget(Line::styled(found, theme.dim).right_aligned(), area);
                None
            }
        }
    }

    /// An input on the last line, with what a search has found at its right.
    fn draw_line(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        input: &Input,
        prompt: &str,
        theme: &Theme,
    ) -> Position {
        let found = self.found_so_far();
        let taken = u16::try_from(width(&found)).unwrap_or(0).min(area.width / 2);
        let [words, right] =
            Layout::horizontal([Constraint::Min(1), Constraint::Length(taken)]).areas(area);
        frame.render_widget(Line::styled(found, theme.dim).right_aligned(), right);
        input.draw(frame, words, prompt, theme)
    }

    /// `3 of 17 `, `none yet `: what the search has found.
    fn found_so_far(&self) -> String {
        let Some(search) = &self.search else { return String::new() };
        if search.needle.is_none() {
            return String::new();
        }
        let hits = search.hits();
        let here = self.line().and_then(|line| self.rows.place(line.node));
        let at = hits.partition_point(|hit| self.rows.place(*hit) < here);
        let is_hit = hits.get(at).is_some_and(|hit| self.rows.place(*hit) == here);
        let more = if search.done { "" } else { " …" };
        match (hits.len(), is_hit) {
            (0, _) if search.done => "nothing found ".to_owned(),
            (0, _) => "searching … ".to_owned(),
            (all, true) => format!("{} of {all}{more} ", at + 1),
            (all, false) => format!("{}{more} ", count(all, "hit")),
        }
    }
}
