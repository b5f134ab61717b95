//! Lines in and lines out for modes that programs talk to. Only LF ends a line: everything else that
//! counts as an end of line elsewhere may stand in a JSON string.
//!
//! Reading and writing have a thread each, so that neither a program that is slow to read nor one that
//! says nothing holds up the session.

use std::io::{self, BufRead, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

/// Longest line that is taken, in bytes: a prompt with several large images fits.
pub const LONGEST: usize = 64 << 20;

/// Lines that are read ahead.
const AHEAD: usize = 16;

/// How long the last lines may take to be read by the other side.
const PATIENCE: Duration = Duration::from_secs(2);

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A line, its end left out.
    Line(Vec<u8>),
    /// A line of more than [`LONGEST`] bytes, which was passed over.
    TooLong,
    /// The input cannot be read any further.
    Broken(String),
}

/// Reads lines on a thread of its own until the input ends or nobody listens any more.
///
/// # Errors
/// The system starts no thread.
pub fn read_from(input: impl Read + Send + 'static) -> io::Result<mpsc::Receiver<Incoming>> {
    let (sender, lines) = mpsc::channel(AHEAD);
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        let mut input = io::BufReader::new(input);
        loop {
            let line = match next_line(&mut input, LONGEST) {
                Ok(None) => return,
                Ok(Some(line)) => line,
                Err(error) => Incoming::Broken(error.to_string()),
            };
            let broken = matches!(line, Incoming::Broken(_));
            if sender.blocking_send(line).is_err() || broken {
                return;
            }
        }
    })?;
    Ok(lines)
}

/// The next line of at most `longest` bytes; `None` at the end.
fn next_line(input: &mut impl BufRead, longest: usize) -> io::Result<Option<Incoming>> {
    let mut line = Vec::new();
    let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    input.by_ref().take(most).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    } else if line.len() > longest {
        input.skip_until(b'\n')?;
        return Ok(Some(Incoming::TooLong));
    } else if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(Incoming::Line(line)))
}

/// Takes what is to be written; there may be several.
#[derive(Debug, Clone)]
pub struct Writer(Sender<Vec<u8>>);

impl Writer {
    /// Writes a value as one line of JSON after what is already on its way. Never waits.
    ///
    /// # Errors
    /// The value is no JSON.
    pub fn write(&self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        // When writing has ended, `broken` says why.
        self.0.send(line).ok();
        Ok(())
    }
}

/// Lines on their way out, by a thread of their own.
#[derive(Debug)]
pub struct Lines {
    writer: Writer,
    end: oneshot::Receiver<io::Result<()>>,
}

impl Lines {
    /// Starts writing to `out`.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn to(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, receiver) = channel();
        let (ended, end) = oneshot::channel();
        thread::Builder::new().name("output".to_owned()).spawn(move || {
            // Whoever started us may have stopped waiting.
            ended.send(write_all(&receiver, out)).ok();
        })?;
        Ok(Self { writer: Writer(lines), end })
    }

    /// Where to write.
    #[must_use]
    pub fn writer(&self) -> Writer {
        self.writer.clone()
    }

    /// Waits until the other side is gone; never ends while it is there.
    pub async fn broken(&mut self) -> io::Error {
        match (&mut self.end).await {
            Ok(Err(error)) => error,
            _ => io::Error::from(io::ErrorKind::BrokenPipe),
        }
    }

    /// Waits until everything is written, for a moment; all writers must be gone.
    ///
    /// # Errors
    /// It could not be written.
    pub async fn finish(self) -> io::Result<()> {
        drop(self.writer);
        match tokio::time::timeout(PATIENCE, self.end).await {
            Ok(Ok(written)) => written,
            _ => Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads what is written")),
        }
    }
}

fn write_all(lines: &Receiver<Vec<u8>>, out: impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    while let Ok(line) = lines.recv() {
        out.write_all(&line)?;
        while let Ok(line) = lines.try_recv() {
            out.write_all(&line)?;
        }
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], longest: usize) -> Vec<Incoming> {
        let mut input = text;
        std::iter::from_fn(|| next_line(&mut input, longest).unwrap()).collect()
    }

    fn line(text: &str) -> Incoming {
        Incoming::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn section_12_only_lf_ends_a_line() {
        assert_eq!(lines(b"", 9), []);
        assert_eq!(lines(b"a\n\nb", 9), [line("a"), line(""), line("b")]);
        assert_eq!(lines(b"a\r\nb\rc\n", 9), [line("a"), line("b\rc")]);
        let text = "\"\u{2028}\u{85}\"";
        assert_eq!(lines(text.as_bytes(), 9), [line(text)]);
    }

    #[test]
    fn section_12_a_line_that_is_too_long_costs_only_itself() {
        assert_eq!(lines(b"12345\n123456\n1\n", 5), [line("12345"), Incoming::TooLong, line("1")]);
        assert_eq!(lines(b"1234567890", 5), [Incoming::TooLong]);
    }

    #[tokio::test]
    async fn section_12_what_is_written_arrives_in_order_and_a_reader_that_left_is_noticed() {
        let (mut read, write) = std::io::pipe().unwrap();
        let out = Lines::to(write).unwrap();
        for number in 0..1_000 {
            out.writer().write(&number).unwrap();
        }
        let reader = thread::spawn(move || {
            let mut text = String::new();
            read.read_to_string(&mut text).map(|_| text)
        });
        out.finish().await.unwrap();
        let text = reader.join().unwrap().unwrap();
        assert!(text.lines().map(|line| line.parse::<i32>().unwrap()).eq(0..1_000));

        let (read, write) = std::io::pipe().unwrap();
        let mut out = Lines::to(write).unwrap();
        drop(read);
        out.writer().write(&1).unwrap();
        assert_eq!(out.broken().await.kind(), io::ErrorKind::BrokenPipe);
    }
}
