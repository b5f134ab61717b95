//! Moving the selection, folding, and the mouse.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::rows::{Line, Part};
use super::{Mode, TreeOverlay};
use crate::session::tree::NodeIndex;
use crate::tui::action::TreeAction;
use crate::tui::overlay::Outcome;

/// Rows that the wheel moves by.
const WHEEL: isize = 3;

impl TreeOverlay {
    pub(super) fn line(&self) -> Option<Line> {
        self.rows.lines().get(self.cursor).copied()
    }

    /// Selects the row of an entry, or of the folded branch that holds it.
    pub(super) fn select(&mut self, node: NodeIndex) {
        if let Some(line) = self.rows.line_of(node) {
            self.cursor = line;
        }
    }

    /// Unfolds what hides an entry and selects it.
    pub(super) fn go_to(&mut self, node: NodeIndex) {
        self.rows.reveal(node);
        self.select(node);
    }

    fn step(&mut self, rows: isize) {
        let last = self.rows.lines().len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(rows).min(last);
    }

    pub(super) fn travel(&mut self, action: TreeAction) {
        let page = isize::try_from(self.seen.tree.height).unwrap_or(1).max(2) - 1;
        match action {
            TreeAction::Up => self.step(-1),
            TreeAction::Down => self.step(1),
            TreeAction::PageUp => self.step(-page),
            TreeAction::PageDown => self.step(page),
            TreeAction::First => self.cursor = 0,
            TreeAction::Last => self.step(isize::MAX),
            TreeAction::Fold => self.fold_or_leave(),
            TreeAction::Unfold => self.unfold_or_enter(),
            TreeAction::ToggleFold => self.toggle_fold(),
            TreeAction::PreviousBranch => self.jump_to_branch(Direction::Back),
            TreeAction::NextBranch => self.jump_to_branch(Direction::Forward),
            TreeAction::ParentFork => self.go_to_parent_fork(),
            TreeAction::Leaf => match self.outline.leaf() {
                Some(leaf) => self.go_to(leaf),
                None => self.hint = Some("the leaf is before the first entry".to_owned()),
            },
            TreeAction::Root => self.go_to_root(),
            TreeAction::NextHit => self.go_to_hit(Direction::Forward),
            TreeAction::PreviousHit => self.go_to_hit(Direction::Back),
            _ => {}
        }
    }

    fn fold(&mut self, segment: u32, folded: bool) {
        self.rows.fold(segment, folded);
        self.cursor = self.rows.line_of_segment(segment);
    }

    /// ←: folds the branch when its head is selected, else goes to its head; from a folded one, to
    /// the fork.
    fn fold_or_leave(&mut self) {
        let Some(line) = self.line() else { return };
        let is_open = !self.rows.segment(line.segment).is_folded;
        if line.part == Part::Entry {
            self.cursor = self.rows.line_of_segment(line.segment);
        } else if is_open && self.rows.can_fold(line.segment) {
            self.fold(line.segment, true);
        } else {
            self.go_to_parent_fork();
        }
    }

    /// →: unfolds the branch, or goes on into it.
    fn unfold_or_enter(&mut self) {
        let Some(line) = self.line() else { return };
        if line.part != Part::Entry && self.rows.segment(line.segment).is_folded {
            self.fold(line.segment, false);
        } else {
            self.step(1);
        }
    }

    pub(super) fn toggle_fold(&mut self) {
        let Some(line) = self.line() else { return };
        if line.part != Part::Entry && self.rows.can_fold(line.segment) {
            let folded = self.rows.segment(line.segment).is_folded;
            self.fold(line.segment, !folded);
        }
    }

    fn jump_to_branch(&mut self, direction: Direction) {
        let begins = |line: &Line| line.part != Part::Entry;
        let lines = self.rows.lines();
        let found = match direction {
            Direction::Back => lines[..self.cursor].iter().rposition(begins),
            Direction::Forward => {
                let rest = lines.get(self.cursor + 1..).unwrap_or_default();
                rest.iter().position(begins).map(|after| self.cursor + 1 + after)
            }
        };
        match found {
            Some(line) => self.cursor = line,
            None => self.hint = Some("no branch there".to_owned()),
        }
    }

    fn go_to_parent_fork(&mut self) {
        let Some(line) = self.line() else { return };
        match self.rows.fork_of(line.segment) {
            Some(fork) => self.go_to(fork),
            None => self.cursor = self.rows.line_of_segment(line.segment),
        }
    }

    fn go_to_root(&mut self) {
        let Some(line) = self.line() else { return };
        let mut root = line.node;
        while let Some(parent) = self.outline.parent(root) {
            root = parent;
        }
        self.go_to(root);
    }

    /// The next thing found in the order of the rows, round the end.
    fn go_to_hit(&mut self, direction: Direction) {
        let Some(search) = &self.search else {
            self.hint = Some("nothing is searched for · / searches".to_owned());
            return;
        };
        let hits = search.hits();
        let here = self.line().and_then(|line| self.rows.place(line.node));
        let found = match direction {
            Direction::Forward => {
                let next = hits.partition_point(|hit| self.rows.place(*hit) <= here);
                hits.get(next).or(hits.first())
            }
            Direction::Back => {
                let next = hits.partition_point(|hit| self.rows.place(*hit) < here);
                next.checked_sub(1).map_or(hits.last(), |before| hits.get(before))
            }
        };
        match found.copied() {
            Some(hit) => self.go_to(hit),
            None => self.hint = Some(format!("nothing says “{}”", search.query)),
        }
    }

    pub(super) fn mouse_event(&mut self, mouse: MouseEvent) -> Outcome {
        let at = Position { x: mouse.column, y: mouse.row };
        let wheel = match mouse.kind {
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::Down(MouseButton::Left) => return self.click(at),
            _ => return Outcome::Ignored,
        };
        match &mut self.mode {
            Mode::Compare(comparison) => {
                comparison.top = comparison.top.saturating_add_signed(wheel);
            }
            Mode::Browse if self.seen.preview.contains(at) => self.preview.scroll(wheel),
            Mode::Browse | Mode::Search { .. } => self.step(wheel),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Selects the row; a click on the selected one folds or unfolds it.
    fn click(&mut self, at: Position) -> Outcome {
        let clicked = self.seen.widget.rendered_at(at).and_then(|path| path.last()).copied();
        let (Mode::Browse, Some(line)) = (&self.mode, clicked) else { return Outcome::Ignored };
        if self.cursor == line as usize {
            self.toggle_fold();
        } else {
            self.cursor = line as usize;
            self.step(0);
        }
        Outcome::Consumed
    }
}

/// Which way to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Back,
    Forward,
}
