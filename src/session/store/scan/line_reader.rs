//! Lines of a file, one after the other, borrowed from one buffer that grows with the longest.

use std::io::{self, Read};

/// What one read asks for.
const CHUNK: usize = 1 << 20;

/// Cuts a stream of bytes into lines.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    start: usize,
    end: usize,
    /// Where `start` is in the stream.
    offset: u64,
}

/// A line without its `\n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawLine<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: u64,
    /// Whether a `\n` follows; only the last line may lack it.
    pub(super) terminated: bool,
}

impl<R: Read> LineReader<R> {
    /// Reads `source`, whose first byte is at `offset` of the file.
    pub(super) fn new(source: R, offset: u64) -> Self {
        Self { source, buffer: vec![0; CHUNK], start: 0, end: 0, offset }
    }

    /// The next line, or `None` at the end.
    pub(super) fn next_line(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let mut searched = self.start;
        loop {
            if let Some(len) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let range = self.start..searched + len;
                let offset = self.offset;
                self.offset += range.len() as u64 + 1;
                self.start = range.end + 1;
                let bytes = &self.buffer[range];
                return Ok(Some(RawLine { bytes, offset, terminated: true }));
            }
            searched = self.end;
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                searched -= self.start;
                self.end -= self.start;
                self.start = 0;
            }
            if self.fill()? == 0 {
                break;
            }
        }
        if self.start == self.end {
            return Ok(None);
        }
        let bytes = &self.buffer[self.start..self.end];
        let line = RawLine { bytes, offset: self.offset, terminated: false };
        self.offset += bytes.len() as u64;
        self.start = self.end;
        Ok(Some(line))
    }

    fn fill(&mut self) -> io::Result<usize> {
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let len = read?;
                    self.end += len;
                    return Ok(len);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives `step` bytes a read.
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
        let long = "x".repeat(3 * CHUNK);
        let text = format!("a\n\n{long}\nlast");
        for step in [1 << 10, CHUNK, usize::MAX] {
            let mut lines = LineReader::new(Trickle(text.as_bytes(), step), 5);
            let mut seen = Vec::new();
            while let Some(line) = lines.next_line().unwrap() {
                seen.push((line.bytes.len(), line.offset, line.terminated));
            }
            let third = 5 + 3;
            let last = third + long.len() as u64 + 1;
            let expect = [(1, 5, true), (0, 7, true), (long.len(), third, true), (4, last, false)];
            assert_eq!(seen, expect);
        }
    }
}
