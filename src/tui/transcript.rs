//! What was said, as blocks of lines (U1): entries on the path to the leaf, then what streams now.
//!
//! Only a window of the path is held, its end first; the entries before and after it are asked for when
//! one scrolls near them ([`Transcript::wanted`]), and what is far from the view is let go. Lines are drawn once per block and width, and a frame
//! costs the lines that are seen. No I/O: bodies come in through [`Transcript::loaded`].

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ratatui::text::Line;

use super::cell::{Cell, Detail, Look, NoticeCell, Welcome};
use crate::agent_session::event::NoticeLevel;
use crate::ids::Timestamp;
use crate::message::Message;
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::reader::SessionReader;
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};

mod anchor;
mod entries;
mod found;
mod live;
mod scroll;
mod seek;

use anchor::Anchor;
use entries::{add_entry, holds, is_visible, tokens_after, visible_path};
use found::Sought;
use scroll::View;
pub use scroll::{Seen, SeenBlock};

/// Entries that are asked for at once.
const CHUNK: usize = 48;

/// Most blocks that are held; those farthest from the view go.
const MOST_BLOCKS: usize = 600;

/// Where a block comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// An entry of the path.
    Entry(NodeIndex),
    /// The answer that streams, by the number of its block.
    Stream(usize),
    /// The screen itself.
    Local,
}

/// One block, with its lines as last drawn.
#[derive(Debug)]
struct Block {
    /// Names the block for as long as it is held; a streamed block hands it on to the entry's.
    seq: i64,
    origin: Origin,
    cell: Cell,
    /// When it was said, for entries.
    time: Option<Timestamp>,
    /// Whether a blank line stands before it.
    gap: bool,
    drawn: Vec<Line<'static>>,
    /// The look that `drawn` is of; `None` when it must be drawn again.
    look: Option<u64>,
}

impl Block {
    const fn new(seq: i64, origin: Origin, cell: Cell) -> Self {
        Self { seq, origin, cell, time: None, gap: true, drawn: Vec::new(), look: None }
    }

    /// Lines, the blank one before it included.
    fn height(&self) -> usize {
        usize::from(self.gap) + self.cell.lines(&self.drawn).len()
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Transcript {
    /// What the path shows, oldest first.
    path: Vec<NodeIndex>,
    /// The part of `path` that `blocks` shows.
    window: Range<usize>,
    /// The part of `path` that was asked for.
    pending: Option<Range<usize>>,
    /// Blocks of entries, and of the screen itself between them.
    blocks: VecDeque<Block>,
    /// What streams, and what the screen itself said meanwhile.
    live: Vec<Block>,
    /// The beginning of an escape sequence at the end of what streamed.
    unfinished: String,
    next_seq: i64,
    first_seq: i64,
    view: View,
    /// Lines to move by when it is drawn next; negative is back.
    steps: isize,
    /// The last block and its height when the view left the end. A height holds for one look only;
    /// without one, all of the block was there.
    left_at: (i64, Option<(u64, usize)>),
    /// Whether the view is so near the beginning that older entries are needed.
    near_top: bool,
    /// The same for the end of what is held.
    near_bottom: bool,
    /// The first block below the view.
    bottom: usize,
    /// Whether the view's top was gone to, so that it stays although what follows would not fill the view.
    pinned: bool,
    /// The entry that is to be seen as soon as it is read.
    goal: Option<NodeIndex>,
    /// What was sought, while that is the last thing that was done here.
    sought: Option<Sought>,
    /// What is sought in the entry that is gone to, and the last block of that once it is there.
    goal_text: Option<Sought>,
    goal_block: Option<i64>,
    anchor: Option<Anchor>,
    /// Counts looks: all blocks are drawn again when it changes.
    look: u64,
    width: usize,
    tools: Detail,
    thinking: Detail,
    welcome: Option<Welcome>,
}

impl Transcript {
    /// An empty one that begins with a welcome.
    #[must_use]
    pub fn new(welcome: Welcome) -> Self {
        Self { welcome: Some(welcome), ..Self::default() }
    }

    /// Shows the path to the leaf of another session, or of this one after a move. What both paths
    /// share stays as it is.
    pub fn show(&mut self, reader: &SessionReader) {
        let tree = reader.tree();
        let path = visible_path(&tree);
        let shared =
            self.path.iter().zip(&path).take_while(|(before, after)| before == after).count();
        let ends_inside =
            shared > self.window.start && path.len() - shared.min(path.len()) <= 4 * CHUNK;
        self.live.clear();
        self.pending = None;
        self.goal = None;
        if ends_inside && self.window.end >= shared {
            self.drop_after(&path[..shared]);
            self.window.end = shared;
        } else {
            self.hold_nothing_at(path.len());
        }
        self.path = path;
        if self.window.is_empty() && self.window.start == 0 {
            self.put_welcome();
        }
    }

    /// Holds no entries, and reads next those around a place of the path.
    fn hold_nothing_at(&mut self, place: usize) {
        self.blocks.clear();
        self.window = place..place;
        self.pending = None;
        self.view = View::End;
        self.pinned = false;
        self.near_top = true;
    }

    /// Whether the end of the path is held, so that what streams follows it.
    fn is_attached(&self) -> bool {
        self.window.end == self.path.len()
    }

    /// Forgets all that was said and is on its way, for another session. How things are looked at stays.
    pub fn clear(&mut self) {
        *self = Self {
            next_seq: self.next_seq,
            first_seq: self.first_seq,
            look: self.look,
            width: self.width,
            tools: self.tools,
            thinking: self.thinking,
            welcome: self.welcome.take(),
            ..Self::default()
        };
    }

    /// Drops all blocks that do not belong to `kept`, the beginning of the path.
    fn drop_after(&mut self, kept: &[NodeIndex]) {
        let last = kept.last().copied();
        while let Some(block) = self.blocks.back() {
            match block.origin {
                // Results are absorbed by their calls, so the last kept entry may have no block.
                Origin::Entry(index) if Some(index) <= last && kept.contains(&index) => break,
                _ if last.is_none() && matches!(block.cell, Cell::Welcome(_)) => break,
                _ => self.blocks.pop_back(),
            };
        }
    }

    /// Entries whose bodies are needed now. Asking notes them as asked for.
    pub fn wanted(&mut self, tree: &SessionTree) -> Option<Vec<NodeIndex>> {
        if self.pending.is_some() {
            return None;
        }
        let wants_newer = !self.is_attached() && (self.view == View::End || self.near_bottom);
        let range = if wants_newer {
            self.window.end..(self.window.end + 4 * CHUNK).min(self.path.len())
        } else if self.window.start > 0 && self.wants_older() {
            self.whole_turns(tree, self.window.start.saturating_sub(CHUNK))..self.window.start
        } else {
            return None;
        };
        self.pending = Some(range.clone());
        Some(self.path[range].to_vec())
    }

    /// Moves a start back so that results stay with their calls.
    fn whole_turns(&self, tree: &SessionTree, mut start: usize) -> usize {
        while start > 0 && matches!(tree.node(self.path[start]).kind, NodeKind::ToolResult { .. }) {
            start -= 1;
        }
        start
    }

    /// Takes bodies that were read. Entries that could not be read are shown as such.
    pub fn loaded(
        &mut self,
        reader: &SessionReader,
        entries: &[(NodeIndex, Arc<SessionEntry>)],
        failed: &[(NodeIndex, String)],
    ) {
        let Some(range) = self.pending.clone() else { return };
        let asked = self.path[range.clone()].to_vec();
        let answered =
            entries.iter().map(|(index, _)| index).chain(failed.iter().map(|(index, _)| index));
        // Overlays ask for entries too; what answers them is not for us.
        if answered.count() != asked.len()
            || asked.iter().any(|index| !holds(entries, failed, *index))
        {
            return;
        }
        self.pending = None;
        // Whether more is needed shows when this is drawn.
        self.near_top = false;
        self.near_bottom = false;
        let goes_before = range.end <= self.window.start;
        let mut made = Vec::new();
        for index in asked {
            match entries.iter().find(|(found, _)| *found == index) {
                Some((_, entry)) => {
                    let after = tokens_after(reader, index, entry);
                    let calls = if goes_before { None } else { Some(&mut self.blocks) };
                    add_entry(&mut made, calls, index, entry, after);
                }
                None => {
                    let why = failed.iter().find(|(failed, _)| *failed == index);
                    let why = why.map_or("", |(_, why)| why.as_str());
                    let text = format!("an entry cannot be read: {why}");
                    let cell = Cell::Notice(NoticeCell::new(NoticeLevel::Error, &text));
                    made.push(Block::new(0, Origin::Entry(index), cell));
                }
            }
        }
        if goes_before {
            self.window.start = range.start;
            self.prepend(made);
        } else {
            self.window.end = range.end;
            self.append(made);
        }
        if self.window.start == 0 {
            self.put_welcome();
        }
        self.reach_goal();
        self.trim();
    }

    /// An entry was appended at the leaf.
    pub fn appended(&mut self, reader: &SessionReader, entry: &SessionEntry) {
        let index = {
            let tree = reader.tree();
            let Some(index) = tree.find(&entry.id) else { return };
            if !is_visible(&tree.node(index).kind, !self.path.is_empty()) {
                return;
            }
            index
        };
        let attached = self.is_attached() && !self.is_loading_newer();
        self.path.push(index);
        if !attached {
            self.end_stream();
            return;
        }
        self.window.end = self.path.len();
        let after = tokens_after(reader, index, entry);
        let mut made = Vec::new();
        add_entry(&mut made, Some(&mut self.blocks), index, entry, after);
        match &entry.body {
            EntryBody::Message { message: Message::Assistant(_) } => self.replace_stream(&mut made),
            EntryBody::Message { message: Message::BashExecution(_) } => {
                self.live.retain(|block| !matches!(block.cell, Cell::Shell(_)));
            }
            _ => {}
        }
        self.append(made);
        self.trim();
    }

    fn append(&mut self, made: Vec<Block>) {
        for mut block in made {
            if block.seq == 0 {
                self.next_seq += 1;
                block.seq = self.next_seq;
            }
            block.gap = self.blocks.back().is_some_and(|before| !block.cell.joins(&before.cell));
            self.blocks.push_back(block);
        }
        self.fix_live_gaps();
    }

    fn prepend(&mut self, made: Vec<Block>) {
        for mut block in made.into_iter().rev() {
            self.first_seq -= 1;
            block.seq = self.first_seq;
            if let Some(after) = self.blocks.front_mut() {
                after.gap = !after.cell.joins(&block.cell);
            }
            block.gap = false;
            self.blocks.push_front(block);
        }
    }

    fn put_welcome(&mut self) {
        let there = matches!(self.blocks.front().map(|block| &block.cell), Some(Cell::Welcome(_)));
        if let (false, Some(welcome)) = (there, self.welcome.clone()) {
            self.prepend(vec![Block::new(0, Origin::Local, Cell::Welcome(welcome))]);
        }
    }

    /// Changes the welcome, once the model is known.
    pub fn set_welcome(&mut self, welcome: Welcome) {
        if let Some(front) = self.blocks.front_mut()
            && matches!(front.cell, Cell::Welcome(_))
        {
            front.cell = Cell::Welcome(welcome.clone());
            front.look = None;
        }
        self.welcome = Some(welcome);
    }

    /// Whether what follows the window is being read.
    fn is_loading_newer(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.start >= self.window.end)
            && !self.is_attached()
    }

    /// Lets go of the blocks that are farthest from the view. What the screen itself said there is gone;
    /// entries are read again when they are needed.
    fn trim(&mut self) {
        if self.pending.is_some() {
            return;
        }
        while self.blocks.len() > MOST_BLOCKS {
            let place = match self.view {
                View::End => self.blocks.len(),
                View::Top { seq, .. } => self.place_of(seq).unwrap_or(self.blocks.len()),
            };
            if place >= self.blocks.len() / 2 { self.drop_front() } else { self.drop_back() }
        }
        if let Some(front) = self.blocks.front_mut() {
            front.gap = false;
        }
    }

    fn drop_front(&mut self) {
        let Some(Block { origin, .. }) = self.blocks.pop_front() else { return };
        let Origin::Entry(index) = origin else { return };
        // All blocks of an entry go together, and results go with their calls.
        while self.blocks.front().is_some_and(|block| block.origin == Origin::Entry(index)) {
            self.blocks.pop_front();
        }
        let next = self.blocks.iter().find_map(|block| match block.origin {
            Origin::Entry(index) => Some(index),
            _ => None,
        });
        let held = &self.path[self.window.clone()];
        let gone = next.and_then(|next| held.iter().position(|index| *index == next));
        self.window.start += gone.unwrap_or(held.len());
    }

    fn drop_back(&mut self) {
        let Some(Block { origin, .. }) = self.blocks.pop_back() else { return };
        let Origin::Entry(index) = origin else { return };
        while self.blocks.back().is_some_and(|block| block.origin == Origin::Entry(index)) {
            self.blocks.pop_back();
        }
        let held = &self.path[self.window.clone()];
        let from = held.iter().rposition(|held| *held == index).unwrap_or(0);
        self.window.end = self.window.start + from;
    }

    /// A word from the program, at the end.
    pub fn notice(&mut self, level: NoticeLevel, text: &str) {
        self.push_local(Cell::Notice(NoticeCell::new(level, text)));
    }

    fn push_local(&mut self, cell: Cell) {
        self.next_seq += 1;
        let block = Block::new(self.next_seq, Origin::Local, cell);
        if self.live.is_empty() && self.is_attached() {
            self.append(vec![block]);
        } else {
            self.live.push(block);
            self.fix_live_gaps();
        }
    }

    /// How much of tools and summaries is shown.
    #[must_use]
    pub const fn tools(&self) -> Detail {
        self.tools
    }

    /// Shows more or less of tools and summaries.
    pub fn toggle_tools(&mut self) {
        self.keep_place();
        self.tools = self.tools.toggled();
        self.redraw();
    }

    /// Shows more or less of thinking.
    pub fn toggle_thinking(&mut self) {
        self.keep_place();
        self.thinking = self.thinking.toggled();
        self.redraw();
    }

    /// Draws everything again: the theme or colours of code have changed.
    pub fn redraw(&mut self) {
        self.keep_place();
        self.look += 1;
        for block in self.blocks.iter_mut().chain(&mut self.live) {
            block.cell.redraw();
        }
    }

    /// Whether nothing was said yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.path.is_empty() && self.live.is_empty()
    }

    /// Whether the end of the path is not there yet, so that drawing now would show a hole.
    #[must_use]
    pub fn is_loading_end(&self) -> bool {
        self.view == View::End
            && (!self.is_attached() || (self.window.is_empty() && !self.path.is_empty()))
    }

    fn draw_block(block: &mut Block, stamp: u64, look: Look<'_>) {
        if block.look != Some(stamp) {
            block.drawn = block.cell.draw(look);
            block.look = Some(stamp);
        }
    }
}

#[cfg(test)]
mod tests;
