//! The session as runs and forks: a run without a fork is one level, at a fork each branch is a
//! foldable part of its own (SPEC U5). Pure, flat and without recursion (F90): a chain of any length
//! is one segment, and a fold is a jump over a range of segments.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use super::filter::{Filter, leaf_left, only_calls};
use super::outline::Outline;
use crate::session::tree::{NodeIndex, SessionTree};

/// Entries one below the other without a fork between them, and what hangs at their end.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Its entries, as a range of places.
    run: Range<u32>,
    /// One after the last segment that hangs below.
    end: u32,
    /// The segment that it hangs below.
    parent: Option<u32>,
    /// How many forks lie above.
    pub depth: u32,
    /// Whether it is one of several at a fork, and so can be folded.
    pub is_branch: bool,
    /// Whether no sibling follows.
    pub is_last: bool,
    /// Whether its first entry lies on the active path.
    pub is_active: bool,
    /// Whether only its first row shows.
    pub is_folded: bool,
    /// The summary that was made of it when it was left.
    pub summary: Option<NodeIndex>,
    /// What it is about, without a summary: its first user message, else its first entry.
    about: NodeIndex,
}

/// What a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The summary of the branch that begins here; stands for the branch as a whole.
    Title,
    /// The first entry of a branch; of a folded one, the entry that says best what it is about.
    Head,
    /// Any other entry.
    Entry,
}

/// One line of the tree as folded now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The entry that it shows; for a title, the summary.
    pub node: NodeIndex,
    /// Where it belongs.
    pub segment: u32,
    /// What it shows.
    pub part: Part,
}

/// What stands before a row at one level of forks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guide {
    /// `├`: a branch begins, others follow.
    Branch,
    /// `└`: the last branch begins.
    LastBranch,
    /// `│`: other branches follow further down.
    Pass,
    /// Nothing follows at this level.
    Blank,
}

/// The rows of a tree under one filter, with their folds.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// All entries with a row, in the order in which they would stand if nothing were folded. The
    /// position in this list is an entry's *place*.
    entries: Vec<NodeIndex>,
    /// By node: its place, or the place of the row that stands for it.
    places: Vec<Option<u32>>,
    segments: Vec<Segment>,
    lines: Vec<Line>,
}

/// Folds that differ from the default, by the first entry of the branch: kept while rows are rebuilt.
pub type Folds = HashMap<NodeIndex, bool>;

impl Rows {
    /// Shapes a tree. Abandoned branches are folded and the active path is not, but for `folds`.
    #[must_use]
    pub fn new(tree: &SessionTree, outline: &Outline, filter: Filter, folds: &Folds) -> Self {
        let kinship = Kinship::new(outline, filter);
        let mut rows = Self { places: vec![None; tree.len()], ..Self::default() };
        rows.grow(outline, &kinship);
        rows.place_hidden(tree, outline, &kinship);
        rows.name_branches(tree, outline, &kinship);
        rows.set_folds(folds);
        rows
    }

    /// Folds all branches as [`Rows::folds`] said at another time.
    pub fn set_folds(&mut self, folds: &Folds) {
        for segment in &mut self.segments {
            let head = self.entries[segment.run.start as usize];
            let default = !segment.is_active;
            segment.is_folded = segment.is_branch && *folds.get(&head).unwrap_or(&default);
        }
        self.lay_lines();
    }

    /// Walks from the roots down and makes a segment of every run.
    fn grow(&mut self, outline: &Outline, kinship: &Kinship) {
        struct Start {
            head: NodeIndex,
            parent: Option<u32>,
            depth: u32,
            is_branch: bool,
            is_last: bool,
        }
        let mut open: Vec<Start> = Vec::new();
        let mut parent = None;
        let mut depth = 0;
        let mut fork: Vec<NodeIndex> = kinship.children(None).to_vec();
        loop {
            let is_branch = fork.len() > 1;
            fork.sort_by_key(|head| (!outline.on_path(*head), Reverse(outline.tip(*head))));
            let depth_below = depth + u32::from(is_branch);
            open.extend(fork.drain(..).rev().enumerate().map(|(from_end, head)| Start {
                head,
                parent,
                depth: depth_below,
                is_branch,
                is_last: from_end == 0,
            }));
            let Some(start) = open.pop() else { break };
            let first = self.entries.len() as u32;
            let mut about = None;
            let mut last = start.head;
            loop {
                self.places[last.get()] = Some(self.entries.len() as u32);
                self.entries.push(last);
                if about.is_none() && outline.is_shown_by(last, Filter::UserOnly.bit()) {
                    about = Some(last);
                }
                match kinship.children(Some(last)) {
                    [only] => last = *only,
                    children => {
                        fork.extend_from_slice(children);
                        break;
                    }
                }
            }
            let number = self.segments.len() as u32;
            self.segments.push(Segment {
                run: first..self.entries.len() as u32,
                end: number + 1,
                parent: start.parent,
                depth: start.depth,
                is_branch: start.is_branch,
                is_last: start.is_last,
                is_active: outline.on_path(start.head),
                is_folded: false,
                summary: None,
                about: about.unwrap_or(start.head),
            });
            parent = Some(number);
            depth = start.depth;
        }
        for number in (0..self.segments.len()).rev() {
            let Segment { end, parent: Some(parent), .. } = self.segments[number] else { continue };
            let parent = &mut self.segments[parent as usize];
            parent.end = parent.end.max(end);
        }
    }

    /// Gives entries without a row the place of the row that stands for them: the nearest above; of
    /// an answer that is nothing but calls, its first call.
    fn place_hidden(&mut self, tree: &SessionTree, outline: &Outline, kinship: &Kinship) {
        for index in outline.order() {
            if self.places[index.get()].is_some() {
                continue;
            }
            let behind = only_calls(tree, *index).and_then(|_| tree.children(Some(*index)).next());
            let stand_in = behind
                .filter(|child| kinship.shown[child.get()] == Some(*child))
                .or(kinship.shown[index.get()]);
            self.places[index.get()] = stand_in.and_then(|stand_in| self.places[stand_in.get()]);
        }
    }

    /// Puts each branch summary at the branch that it speaks of: the one which holds the leaf that
    /// was left, and which the summary itself is not part of.
    fn name_branches(&mut self, tree: &SessionTree, outline: &Outline, kinship: &Kinship) {
        for summary in outline.summaries() {
            let Some(left) = leaf_left(tree, *summary) else { continue };
            let Some(place) = self.places[left.get()] else { continue };
            let apart = |rows: &Self, segment: u32| {
                let head = rows.head(segment);
                outline.is_above(head, left) && !outline.is_above(head, *summary)
            };
            let mut segment = self.segment_at(place);
            if !apart(self, segment) {
                continue;
            }
            while let Some(parent) = self.segments[segment as usize].parent
                && apart(self, parent)
            {
                segment = parent;
            }
            let named = &mut self.segments[segment as usize];
            if named.is_branch {
                named.summary = named.summary.max(Some(*summary));
                if kinship.shown[summary.get()] != Some(*summary) {
                    self.places[summary.get()] = Some(named.run.start);
                }
            }
        }
    }

    /// Lists what is to be seen with the folds as they are.
    fn lay_lines(&mut self) {
        self.lines.clear();
        let mut number = 0;
        while let Some(segment) = self.segments.get(number as usize) {
            let line = |node, part| Line { node, segment: number, part };
            if let Some(summary) = segment.summary {
                self.lines.push(line(summary, Part::Title));
            }
            if segment.is_folded {
                if segment.summary.is_none() {
                    self.lines.push(line(segment.about, Part::Head));
                }
                number = segment.end;
                continue;
            }
            let run = &self.entries[segment.run.start as usize..segment.run.end as usize];
            let has_head = segment.is_branch && segment.summary.is_none();
            self.lines.extend(run.iter().enumerate().map(|(position, node)| {
                let part = if has_head && position == 0 { Part::Head } else { Part::Entry };
                line(*node, part)
            }));
            number += 1;
        }
    }

    /// The lines to be seen.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// A segment by its number.
    #[must_use]
    pub fn segment(&self, number: u32) -> &Segment {
        &self.segments[number as usize]
    }

    /// How many branches there are.
    #[must_use]
    pub fn branches(&self) -> usize {
        self.segments.iter().filter(|segment| segment.is_branch).count()
    }

    /// The first entry of a segment.
    #[must_use]
    pub fn head(&self, number: u32) -> NodeIndex {
        self.entries[self.segments[number as usize].run.start as usize]
    }

    /// Whether folding a segment would hide anything.
    #[must_use]
    pub fn can_fold(&self, number: u32) -> bool {
        let segment = &self.segments[number as usize];
        let lines = segment.run.len() + usize::from(segment.summary.is_some());
        segment.is_branch && (lines > 1 || segment.end > number + 1)
    }

    /// The last entry of the segment that a segment hangs below: the fork.
    #[must_use]
    pub fn fork_of(&self, number: u32) -> Option<NodeIndex> {
        let parent = self.segments[number as usize].parent?;
        self.entries.get(self.segments[parent as usize].run.end.checked_sub(1)? as usize).copied()
    }

    /// All entries with a row, folded away or not, in order.
    #[must_use]
    pub fn entries(&self) -> &[NodeIndex] {
        &self.entries
    }

    /// The place of an entry, or of the row that stands for it.
    #[must_use]
    pub fn place(&self, index: NodeIndex) -> Option<u32> {
        self.places.get(index.get()).copied().flatten()
    }

    fn segment_at(&self, place: u32) -> u32 {
        self.segments.partition_point(|segment| segment.run.end <= place) as u32
    }

    /// The line that shows an entry, or the folded branch that holds it.
    #[must_use]
    pub fn line_of(&self, index: NodeIndex) -> Option<usize> {
        let place = self.place(index)?;
        let own = self.segment_at(place);
        let mut shown = own;
        let mut walk = Some(own);
        while let Some(number) = walk {
            let segment = &self.segments[number as usize];
            if segment.is_folded {
                shown = number;
            }
            walk = segment.parent;
        }
        let first = self.line_of_segment(shown);
        if self.segments[shown as usize].is_folded {
            return Some(first);
        }
        let segment = &self.segments[own as usize];
        let title = usize::from(segment.summary.is_some());
        Some(first + title + (place - segment.run.start) as usize)
    }

    /// The first line of a segment that is to be seen.
    #[must_use]
    pub fn line_of_segment(&self, number: u32) -> usize {
        self.lines.partition_point(|line| line.segment < number)
    }

    /// Folds or unfolds a branch.
    pub fn fold(&mut self, number: u32, folded: bool) {
        let segment = &mut self.segments[number as usize];
        if segment.is_branch && segment.is_folded != folded {
            segment.is_folded = folded;
            self.lay_lines();
        }
    }

    /// Unfolds whatever hides an entry.
    pub fn reveal(&mut self, index: NodeIndex) {
        let Some(place) = self.place(index) else { return };
        let mut walk = Some(self.segment_at(place));
        let mut changed = false;
        while let Some(number) = walk {
            let segment = &mut self.segments[number as usize];
            changed |= std::mem::take(&mut segment.is_folded);
            walk = segment.parent;
        }
        if changed {
            self.lay_lines();
        }
    }

    /// Unfolds everything.
    pub fn unfold_all(&mut self) {
        for segment in &mut self.segments {
            segment.is_folded = false;
        }
        self.lay_lines();
    }

    /// The folds that differ from the default.
    #[must_use]
    pub fn folds(&self) -> Folds {
        let changed = self
            .segments
            .iter()
            .enumerate()
            .filter(|(_, segment)| segment.is_branch && segment.is_folded == segment.is_active);
        changed.map(|(number, segment)| (self.head(number as u32), segment.is_folded)).collect()
    }

    /// What stands before a line, outermost level first: at most `most` of the levels nearest to it,
    /// and how many levels that leaves out. Costs `most` steps.
    #[must_use]
    pub fn guides(&self, line: &Line, most: usize) -> (u32, Vec<Guide>) {
        let mut guides = Vec::new();
        let mut begins = line.part != Part::Entry;
        let mut walk = Some(line.segment);
        let mut rest = self.segment(line.segment).depth;
        while let Some(number) = walk {
            let segment = self.segment(number);
            walk = segment.parent;
            if !segment.is_branch {
                continue;
            }
            if guides.len() == most {
                break;
            }
            guides.push(match (begins, segment.is_last) {
                (true, false) => Guide::Branch,
                (true, true) => Guide::LastBranch,
                (false, false) => Guide::Pass,
                (false, true) => Guide::Blank,
            });
            rest -= 1;
            begins = false;
        }
        guides.reverse();
        (rest, guides)
    }
}

/// Who has a row, and which rows follow which, with hidden entries left out.
struct Kinship {
    /// By node: itself when it has a row, else the nearest above that has one.
    shown: Vec<Option<NodeIndex>>,
    /// Children lists one after the other; `starts` says where each begins. The roots come first.
    children: Vec<NodeIndex>,
    starts: Vec<u32>,
}

impl Kinship {
    fn new(outline: &Outline, filter: Filter) -> Self {
        let entries = outline.order().len();
        let mut shown = vec![None; entries];
        let mut counts = vec![0_u32; entries + 2];
        let slot = |above: Option<NodeIndex>| above.map_or(0, |above| above.get() + 1);
        let above = |shown: &[Option<NodeIndex>], index: NodeIndex| {
            outline.parent(index).and_then(|parent| shown[parent.get()])
        };
        for index in outline.order() {
            let above = above(&shown, *index);
            shown[index.get()] = if outline.is_shown_by(*index, filter.bit()) {
                counts[slot(above) + 1] += 1;
                Some(*index)
            } else {
                above
            };
        }
        for position in 1..counts.len() {
            counts[position] += counts[position - 1];
        }
        let starts = counts;
        let mut filled = starts.clone();
        let mut children = vec![NodeIndex::new(0); starts.last().map_or(0, |all| *all as usize)];
        for index in outline.order() {
            if shown[index.get()] == Some(*index) {
                let place = &mut filled[slot(above(&shown, *index))];
                children[*place as usize] = *index;
                *place += 1;
            }
        }
        Self { shown, children, starts }
    }

    fn children(&self, of: Option<NodeIndex>) -> &[NodeIndex] {
        let slot = of.map_or(0, |of| of.get() + 1);
        &self.children[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}

#[cfg(test)]
mod tests;
