//! Skimming blocks of a long file on all processors, in the order of the file.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::block::{Block, BlockReader, RawLine};
use super::facts::{Facts, Object, Skimmer};
use crate::compaction::tokens::Estimator;

/// Files below this length are not worth a thread.
const LONG: u64 = 8 << 20;

/// Most threads beside the one that reads.
const MOST_WORKERS: usize = 4;

/// A block, and what was found in it at first sight.
#[derive(Debug)]
pub(super) struct Skimmed {
    block: Block,
    /// Per line: its length, and the entry that it is, if it is one and nothing else.
    lines: Vec<(usize, Option<Facts>)>,
}

/// What the one who puts the tree together gets, line by line.
pub(super) enum Line<'a> {
    /// One whole entry on a line that ends at this place, its `\n` included.
    Entry(Facts, u64),
    /// Anything else.
    Other(RawLine<'a>),
}

impl Skimmed {
    fn of(block: Block, skimmer: &mut Skimmer) -> Self {
        let lines =
            block.lines().map(|line| (line.bytes.len(), whole_entry(line, skimmer))).collect();
        Self { block, lines }
    }

    /// Hands out the lines, and gives the block's memory back.
    fn take(self, take: &mut dyn FnMut(Line<'_>)) -> Block {
        let mut at = 0;
        for (len, facts) in self.lines {
            take(match facts {
                Some(facts) => Line::Entry(facts, self.block.offset + (at + len) as u64 + 1),
                None => Line::Other(self.block.line(at, len)),
            });
            at += len + 1;
        }
        self.block
    }
}

fn whole_entry(line: RawLine<'_>, skimmer: &mut Skimmer) -> Option<Facts> {
    let text = std::str::from_utf8(line.bytes).ok().filter(|_| line.terminated)?;
    match skimmer.object(text, line.offset)? {
        (Object::Entry(facts), len) if len == text.len() => Some(facts),
        _ => None,
    }
}

/// Reads a stream to its end and hands out its lines in order. `len` is about how long it is;
/// `watch` is told now and then how far it has been read.
pub(super) fn for_each_line(
    source: impl Read,
    offset: u64,
    len: u64,
    estimator: Estimator,
    watch: &mut dyn FnMut(u64),
    take: &mut dyn FnMut(Line<'_>),
) -> io::Result<()> {
    let mut blocks = BlockReader::new(source, offset);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    if len < LONG || processors == 1 {
        let mut skimmer = Skimmer::new(estimator);
        let mut used = Block::default();
        while let Some(block) = blocks.next_block(used)? {
            watch(block.offset);
            used = Skimmed::of(block, &mut skimmer).take(take);
        }
        return Ok(());
    }
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors.min(MOST_WORKERS))
            .map(|_| {
                let (give, work) = channel();
                let (done, got) = channel();
                scope.spawn(move || skim_all(&work, &done, estimator));
                (give, got)
            })
            .collect();
        hand_out(&mut blocks, &workers, watch, take)
    })
}

fn skim_all(work: &Receiver<Block>, done: &Sender<Skimmed>, estimator: Estimator) {
    let mut skimmer = Skimmer::new(estimator);
    for block in work {
        if done.send(Skimmed::of(block, &mut skimmer)).is_err() {
            return;
        }
    }
}

/// Gives each worker every n-th block, and takes the results back in the same order. Two blocks a
/// worker are on their way at most, so memory does not grow with the file.
fn hand_out(
    blocks: &mut BlockReader<impl Read>,
    workers: &[(Sender<Block>, Receiver<Skimmed>)],
    watch: &mut dyn FnMut(u64),
    take: &mut dyn FnMut(Line<'_>),
) -> io::Result<()> {
    // A worker goes only when its work ends, or by a panic.
    let collect = |got: &Receiver<Skimmed>, take: &mut dyn FnMut(Line<'_>)| {
        got.recv().map(|skimmed| skimmed.take(take)).map_err(io::Error::other)
    };
    let mut waiting = VecDeque::new();
    let mut used = Block::default();
    for (give, got) in workers.iter().cycle() {
        let Some(block) = blocks.next_block(std::mem::take(&mut used))? else { break };
        watch(block.offset);
        give.send(block).map_err(io::Error::other)?;
        waiting.push_back(got);
        if waiting.len() == 2 * workers.len()
            && let Some(first) = waiting.pop_front()
        {
            used = collect(first, take)?;
        }
    }
    waiting.into_iter().try_for_each(|got| collect(got, take).map(drop))
}
