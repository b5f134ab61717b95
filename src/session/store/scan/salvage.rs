//! What can still be had from lines that are no whole record (F47, F48).

use super::block::RawLine;
use super::facts::{Facts, Object, Said, Skimmer};
use crate::session::reader::tidy;

/// How many places of a line are tried as the beginning of a record.
const MOST_STARTS: usize = 64;

/// How many lines, and bytes, one record may be spread over.
const MOST_FRAGMENTS: usize = 64;
const LONGEST_FRAGMENTS: usize = 4 << 20;

/// The last whole entry of a broken line, where it reaches the line's end, and where it begins.
pub(super) fn last_entry(skimmer: &mut Skimmer, line: &str, offset: u64) -> Option<(usize, Facts)> {
    let starts = memchr::memmem::rfind_iter(line.as_bytes(), b"{\"type\":");
    starts.take(MOST_STARTS).filter(|at| *at > 0).find_map(|at| {
        let (object, len) = skimmer.object(&line[at..], offset + at as u64)?;
        let reaches_end = line[at + len..].trim_ascii().is_empty();
        match object {
            // Blocks of a message have ids too, but name no parent.
            Object::Entry(facts) if reaches_end && facts.parent != Said::Unsaid => {
                Some((at, facts))
            }
            _ => None,
        }
    })
}

/// Lines in a row that are no records, and may be one together.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    bytes: Vec<u8>,
    start: u64,
    lines: usize,
}

impl Fragments {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.lines = 0;
    }

    /// How many lines there were before the last one; forgets them.
    pub(super) fn take_lines(&mut self) -> usize {
        let lines = self.lines.saturating_sub(1);
        self.clear();
        lines
    }

    /// Adds the end of a line that begins with `rest`, and gives all of them as one when they may
    /// be a record now, with the place where it begins.
    pub(super) fn join(&mut self, line: RawLine<'_>, rest: &str) -> Option<(String, u64)> {
        let goes_on = self.lines > 0
            && self.lines < MOST_FRAGMENTS
            && self.bytes.len() + line.bytes.len() < LONGEST_FRAGMENTS
            && self.start + self.bytes.len() as u64 + 1 == line.offset;
        if goes_on {
            self.bytes.push(b'\n');
            self.bytes.extend_from_slice(line.bytes);
        } else {
            self.clear();
            if !rest.starts_with('{') || rest.len() > LONGEST_FRAGMENTS {
                return None;
            }
            self.start = line.offset + (line.bytes.len() - rest.len()) as u64;
            self.bytes.extend_from_slice(rest.as_bytes());
        }
        self.lines += 1;
        let ends = rest.trim_ascii_end().ends_with('}');
        (self.lines > 1 && ends).then(|| (tidy(&self.bytes), self.start))
    }

    /// Adds a blank line, which may be one in the middle of a record's text.
    pub(super) fn blank(&mut self, line: RawLine<'_>) {
        if self.lines > 0 && self.start + self.bytes.len() as u64 + 1 == line.offset {
            self.bytes.push(b'\n');
            self.bytes.extend_from_slice(line.bytes);
        }
    }
}
