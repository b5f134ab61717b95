//! One pass over a session file: its header, its tree, and what is damaged (SPEC J7, J11).
//!
//! Nothing here changes the file. Whatever can be read becomes a node; the rest is counted, and
//! what followed it hangs on the nearest entry that is left.

mod block;
mod facts;
mod link;
mod salvage;
mod skim;
mod workers;

use std::io::{self, Read};

use self::block::RawLine;
use self::facts::{Facts, Object, Skimmer, head_of};
use self::link::Linker;
use self::salvage::{Fragments, last_entry};
use self::workers::{Line, for_each_line};
use crate::compaction::tokens::Estimator;
use crate::ids::Timestamp;
use crate::session::entry::SessionHeader;
use crate::session::tree::{LineSpan, Node, SessionTree};

/// What a session file holds.
#[derive(Debug, Default)]
pub(in crate::session) struct Scan {
    /// The header, if there is one.
    pub(in crate::session) header: Option<SessionHeader>,
    /// The entries; the leaf is the last of them.
    pub(in crate::session) tree: SessionTree,
    /// Where the entries begin: after the header's line.
    pub(in crate::session) body: u64,
    /// How the file ends.
    pub(in crate::session) tail: Tail,
    /// Length of the file.
    pub(in crate::session) len: u64,
    /// What is wrong with it.
    pub(in crate::session) damage: Damage,
    /// Entries without an id, as files of version 1 have them. They are not in the tree.
    pub(in crate::session) anonymous: usize,
}

/// How a session file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::session) enum Tail {
    /// With a whole line.
    #[default]
    Whole,
    /// With an entry that lacks its `\n`.
    Unterminated,
    /// With bytes from here on that are no entry.
    Torn(u64),
}

/// Counts of what is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::session) struct Damage {
    /// Lines, or parts of lines, that cannot be read. The torn tail is not among them.
    pub(super) unreadable: usize,
    /// Lines that hold more than one record or part of one, and records on several lines.
    pub(super) welded: usize,
    /// Entries whose body is not what their type promises.
    pub(super) broken_bodies: usize,
    /// Lines that are not UTF-8.
    pub(super) not_utf8: usize,
    /// Entries whose id was taken already.
    pub(super) repeated_ids: usize,
    /// Entries whose parent cannot be read, hung on the nearest entry before.
    pub(super) rehung: usize,
    /// Entries whose parent is nowhere in the file.
    pub(super) lost_parents: usize,
    /// Circles of parents.
    pub(super) circles: usize,
    /// The header is missing or is no session header.
    pub(super) no_header: bool,
}

/// Reads a session file, or the part of one that begins at `offset`, some `len` bytes long.
///
/// `watch` is told now and then how many bytes have been read.
pub(in crate::session) fn scan(
    file: impl Read,
    offset: u64,
    len: u64,
    estimator: Estimator,
    watch: &mut dyn FnMut(u64),
) -> io::Result<Scan> {
    let mut scanner = Scanner::new(offset, estimator);
    for_each_line(file, offset, len, estimator, watch, &mut |line| match line {
        Line::Entry(facts, end) => scanner.whole_line(facts, end),
        Line::Other(line) => scanner.line(line),
    })?;
    Ok(scanner.finish())
}

/// Reads a session, or the end of one, that is in memory.
pub(in crate::session) fn scan_bytes(
    bytes: &[u8],
    offset: u64,
    estimator: Estimator,
) -> io::Result<Scan> {
    scan(bytes, offset, bytes.len() as u64, estimator, &mut |_| {})
}

impl Scan {
    /// When the first entry was made.
    pub(super) fn first_timestamp(&self) -> Timestamp {
        self.tree.nodes().next().map(|(_, node)| node.timestamp).unwrap_or_default()
    }
}

impl Damage {
    /// What is wrong, in a few words each.
    pub(super) fn report(&self) -> Vec<String> {
        let count = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            more => Some(format!("{more} {many}")),
        };
        let header = self.no_header.then(|| "its header is missing".to_owned());
        header
            .into_iter()
            .chain(count(
                self.unreadable,
                "line cannot be read; it is kept and skipped",
                "lines cannot be read; they are kept and skipped",
            ))
            .chain(count(
                self.welded,
                "record had to be pieced out",
                "records had to be pieced out",
            ))
            .chain(count(
                self.broken_bodies,
                "entry has a body that cannot be read",
                "entries have a body that cannot be read",
            ))
            .chain(count(self.not_utf8, "line is not UTF-8", "lines are not UTF-8"))
            .chain(count(self.repeated_ids, "id is used twice", "ids are used twice"))
            .chain(count(
                self.rehung,
                "entry hangs on the nearest entry before its lost parent",
                "entries hang on the nearest entry before their lost parents",
            ))
            .chain(count(
                self.lost_parents,
                "entry has a parent that is not there",
                "entries have parents that are not there",
            ))
            .chain(count(self.circles, "circle of parents was cut", "circles of parents were cut"))
            .collect()
    }
}

struct Scanner {
    scan: Scan,
    skimmer: Skimmer,
    linker: Linker,
    nodes: Vec<Node>,
    fragments: Fragments,
}

impl Scanner {
    fn new(offset: u64, estimator: Estimator) -> Self {
        Self {
            scan: Scan { body: offset, len: offset, ..Scan::default() },
            skimmer: Skimmer::new(estimator),
            linker: Linker::default(),
            nodes: Vec::new(),
            fragments: Fragments::default(),
        }
    }

    /// Takes a line that is one entry and nothing else.
    fn whole_line(&mut self, facts: Facts, end: u64) {
        self.line_begins();
        self.scan.len = end;
        self.fragments.clear();
        self.entry(facts);
    }

    fn line_begins(&mut self) {
        // Whatever the line before ended with is not the end of the file after all.
        if let Tail::Torn(_) = std::mem::take(&mut self.scan.tail) {
            self.scan.damage.unreadable += 1;
        }
    }

    /// Takes any line.
    fn line(&mut self, line: RawLine<'_>) {
        self.line_begins();
        let first = self.scan.len == 0;
        self.scan.len = line.offset + line.bytes.len() as u64 + u64::from(line.terminated);
        let masked;
        let text = match std::str::from_utf8(line.bytes) {
            Ok(text) => text,
            Err(_) => {
                self.scan.damage.not_utf8 += 1;
                masked = mask(line.bytes);
                &masked
            }
        };
        let mut rest = Rest { text, offset: line.offset };
        if first && let Some(text) = text.strip_prefix('\u{feff}') {
            rest = Rest { text, offset: line.offset + 3 };
        }
        rest.skip_blank();
        if rest.text.is_empty() {
            self.fragments.blank(line);
            return;
        }
        let mut records = 0;
        while !rest.text.is_empty() {
            let Some((object, len)) = self.skimmer.object(rest.text, rest.offset) else { break };
            if !self.object(object, &rest.text[..len], line) {
                self.scan.damage.unreadable += 1;
            }
            records += 1;
            rest.advance(len);
            rest.skip_blank();
        }
        if !rest.text.is_empty() {
            records += 1;
            self.broken(rest, line);
        } else if !line.terminated {
            self.scan.tail = Tail::Unterminated;
        }
        if records > 1 {
            self.scan.damage.welded += 1;
        }
    }

    /// Takes a whole object; `false` when it is nothing that a session file should hold.
    fn object(&mut self, object: Object, json: &str, line: RawLine<'_>) -> bool {
        match object {
            Object::Entry(facts) => {
                self.fragments.clear();
                self.entry(facts);
                true
            }
            Object::Header if self.scan.header.is_none() => {
                self.scan.header = serde_json::from_str(json).ok();
                if self.scan.header.is_some() && self.nodes.is_empty() {
                    self.scan.body = line.offset + line.bytes.len() as u64 + 1;
                }
                self.scan.header.is_some()
            }
            Object::Anonymous { is_entry: true } => {
                self.scan.anonymous += 1;
                true
            }
            Object::Header | Object::Anonymous { .. } => false,
        }
    }

    fn entry(&mut self, facts: Facts) {
        self.scan.damage.broken_bodies += usize::from(facts.broken_body);
        self.linker.entry(facts.parent);
        self.nodes.push(facts.node);
    }

    /// Takes what is no whole object, up to the end of its line.
    fn broken(&mut self, mut rest: Rest<'_>, line: RawLine<'_>) {
        if let Some(facts) = self.joined(rest.text, line) {
            self.entry(facts);
            if !line.terminated {
                self.scan.tail = Tail::Unterminated;
            }
            return;
        }
        // `half a record{"type":…}`: the whole ones at the end can be saved.
        let mut saved = Vec::new();
        while let Some((at, facts)) = last_entry(&mut self.skimmer, rest.text, rest.offset) {
            saved.push(facts);
            rest.text = &rest.text[..at];
        }
        if !rest.text.trim_ascii().is_empty() {
            let (id, parent) = head_of(rest.text);
            self.linker.gap(id, parent);
        }
        if saved.is_empty() {
            // A torn tail if nothing follows, else an unreadable line.
            self.scan.tail = Tail::Torn(rest.offset);
            return;
        }
        self.scan.damage.unreadable += 1;
        saved.into_iter().rev().for_each(|facts| self.entry(facts));
        if !line.terminated {
            self.scan.tail = Tail::Unterminated;
        }
    }

    /// An entry that raw newlines have spread over several lines, of which this is the last.
    fn joined(&mut self, rest: &str, line: RawLine<'_>) -> Option<Facts> {
        let (text, start) = self.fragments.join(line, rest)?;
        let (object, len) = self.skimmer.object(&text, start)?;
        let Object::Entry(mut facts) = object else { return None };
        if len < text.len() || facts.broken_body {
            return None;
        }
        let before = self.fragments.take_lines();
        self.scan.damage.unreadable = self.scan.damage.unreadable.saturating_sub(before);
        self.scan.damage.welded += 1;
        self.linker.forget_gaps(before);
        let end = line.offset + line.bytes.len() as u64;
        let len = u32::try_from(end - start).ok()?;
        facts.node.span = LineSpan { offset: start, len };
        Some(facts)
    }

    fn finish(mut self) -> Scan {
        let damage = &mut self.scan.damage;
        damage.no_header = self.scan.header.is_none();
        let parents = self.linker.finish(&self.nodes, damage);
        let lost = damage.lost_parents;
        self.scan.tree = SessionTree::from_entries(self.nodes, parents);
        damage.repeated_ids = self.scan.tree.len() - self.scan.tree.distinct_ids();
        let roots = self.scan.tree.children(None);
        damage.circles = roots.filter(|root| self.scan.tree.is_orphan(*root)).count() - lost;
        self.scan
    }
}

/// What is left of a line.
#[derive(Clone, Copy)]
struct Rest<'a> {
    text: &'a str,
    offset: u64,
}

impl Rest<'_> {
    fn advance(&mut self, len: usize) {
        self.text = &self.text[len..];
        self.offset += len as u64;
    }

    fn skip_blank(&mut self) {
        self.advance(self.text.len() - self.text.trim_ascii_start().len());
    }
}

/// A line that is not UTF-8 with a `?` for each byte that is not, so that places stay what they are.
fn mask(line: &[u8]) -> String {
    let mut masked = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        masked.push_str(chunk.valid());
        masked.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    masked
}
