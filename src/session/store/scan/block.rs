//! A file in blocks of whole lines, and the lines in them.

use std::io::{self, Read};

/// How much a block holds, unless one line is longer.
const BLOCK: usize = 1 << 20;

/// Cuts a stream of bytes into blocks that end where a line ends.
#[derive(Debug)]
pub(super) struct BlockReader<R> {
    source: R,
    /// The beginning of the next block.
    carry: Vec<u8>,
    /// Where `carry` is in the stream.
    offset: u64,
}

/// Some lines in a row. Only the last one of a stream may lack its `\n`.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    pub(super) offset: u64,
}

/// A line without its `\n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawLine<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: u64,
    /// Whether a `\n` follows; only the last line may lack it.
    pub(super) terminated: bool,
}

impl<R: Read> BlockReader<R> {
    /// Reads `source`, whose first byte is at `offset` of the file.
    pub(super) fn new(source: R, offset: u64) -> Self {
        Self { source, carry: Vec::new(), offset }
    }

    /// The next block, in the memory of `used`, or `None` at the end.
    pub(super) fn next_block(&mut self, used: Block) -> io::Result<Option<Block>> {
        let mut bytes = used.bytes;
        bytes.clear();
        bytes.append(&mut self.carry);
        let offset = self.offset;
        loop {
            let searched = bytes.len();
            bytes.reserve(BLOCK);
            let read = (&mut self.source).take(BLOCK as u64).read_to_end(&mut bytes)?;
            let end = memchr::memrchr(b'\n', &bytes[searched..]).map(|at| searched + at + 1);
            match end {
                Some(end) => {
                    self.carry.extend_from_slice(&bytes[end..]);
                    bytes.truncate(end);
                }
                None if read > 0 => continue,
                None => {}
            }
            self.offset += bytes.len() as u64;
            return Ok((!bytes.is_empty()).then_some(Block { bytes, offset }));
        }
    }
}

impl Block {
    /// The lines, in order.
    pub(super) fn lines(&self) -> impl Iterator<Item = RawLine<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = self.bytes.get(at..).filter(|rest| !rest.is_empty())?;
            let line = self.line(at, memchr::memchr(b'\n', rest).unwrap_or(rest.len()));
            at += line.bytes.len() + 1;
            Some(line)
        })
    }

    /// The line of `len` bytes that begins at `at`.
    pub(super) fn line(&self, at: usize, len: usize) -> RawLine<'_> {
        RawLine {
            bytes: &self.bytes[at..at + len],
            offset: self.offset + at as u64,
            terminated: at + len < self.bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives at most so many bytes a read.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(buffer.len()).min(self.0.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    #[test]
    fn i10_lines_are_whole_however_they_arrive() {
        let long = "x".repeat(3 * BLOCK);
        let text = format!("a\n\n{long}\nlast");
        for step in [1 << 10, BLOCK, usize::MAX] {
            let mut blocks = BlockReader::new(Trickle(text.as_bytes(), step), 5);
            let mut seen = Vec::new();
            let mut used = Block::default();
            while let Some(block) = blocks.next_block(used).unwrap() {
                let line = |line: RawLine<'_>| (line.bytes.len(), line.offset, line.terminated);
                seen.extend(block.lines().map(line));
                used = block;
            }
            let third = 5 + 3;
            let last = third + long.len() as u64 + 1;
            let expect = [(1, 5, true), (0, 7, true), (long.len(), third, true), (4, last, false)];
            assert_eq!(seen, expect);
        }
    }
}
