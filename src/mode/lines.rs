//! Lines in and lines out for modes that programs talk to. Only LF ends a line: everything else that
//! counts as an end of line elsewhere may stand in a JSON string.
//!
//! Reading and writing have a thread each, so that neither a program that is slow to read nor one that
//! says nothing holds up the session.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde::Serialize;
use tokio::sync::{Notify, mpsc, oneshot};

/// Longest line that is taken, in bytes: a prompt with several large images fits.
pub const LONGEST: usize = 64 << 20;

/// Lines that are read ahead.
const AHEAD: usize = 16;

/// Bytes that may wait for the other side before nothing more is taken from it.
const FULL: usize = 16 << 20;

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
pub struct Writer {
    chunks: Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
}

/// What is on its way and not written yet.
#[derive(Debug, Default)]
struct Waiting {
    bytes: AtomicUsize,
    eased: Notify,
}

impl Writer {
    /// Writes a value as one line of JSON after what is already on its way. Never waits.
    ///
    /// # Errors
    /// The value is no JSON.
    pub fn write(&self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.write_bytes(line);
        Ok(())
    }

    /// Writes bytes as they are. Never waits.
    pub fn write_bytes(&self, bytes: Vec<u8>) {
        self.waiting.bytes.fetch_add(bytes.len(), Ordering::SeqCst);
        // When writing has ended, `broken` says why.
        self.chunks.send(bytes).ok();
    }

    /// Whether so much waits to be read by the other side that nothing more should be begun for it.
    fn is_full(&self) -> bool {
        self.waiting.bytes.load(Ordering::SeqCst) > FULL
    }

    /// Waits until it is not full.
    pub async fn has_room(&self) {
        loop {
            let eased = self.waiting.eased.notified();
            if !self.is_full() {
                return;
            }
            eased.await;
        }
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
        let (chunks, receiver) = channel();
        let (ended, end) = oneshot::channel();
        let waiting = Arc::<Waiting>::default();
        let writer = Writer { chunks, waiting: waiting.clone() };
        thread::Builder::new().name("output".to_owned()).spawn(move || {
            let written = write_all(&receiver, out, &waiting);
            // Nobody waits for room that will not come.
            waiting.bytes.store(0, Ordering::SeqCst);
            waiting.eased.notify_waiters();
            // Whoever started us may have stopped waiting.
            ended.send(written).ok();
        })?;
        Ok(Self { writer, end })
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

    /// Waits until everything is written, as long as the other side takes; all writers must be gone.
    ///
    /// # Errors
    /// It could not be written.
    pub async fn finish(self) -> io::Result<()> {
        drop(self.writer);
        self.end.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

fn write_all(chunks: &Receiver<Vec<u8>>, out: impl Write, waiting: &Waiting) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let write = |chunk: Vec<u8>, out: &mut io::BufWriter<_>| {
        out.write_all(&chunk)?;
        waiting.bytes.fetch_sub(chunk.len(), Ordering::SeqCst);
        waiting.eased.notify_waiters();
        io::Result::Ok(())
    };
    while let Ok(chunk) = chunks.recv() {
        write(chunk, &mut out)?;
        while let Ok(chunk) = chunks.try_recv() {
            write(chunk, &mut out)?;
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
