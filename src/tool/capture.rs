//! Holding the output of a command: its beginning and its end in bounded memory, all of it (up to a
//! cap) in a file that only the person can read (F75). Text comes in cleaned.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use tempfile::NamedTempFile;

use super::truncate::{self, Bytes, Limits, counted};

/// Most bytes that go to the file.
const LARGEST_FILE: u64 = 256 * 1024 * 1024;

/// The share of the limits that the beginning gets is one in so many; the end matters more.
const HEAD_SHARE: usize = 5;

/// Takes output as it comes.
pub(crate) struct Capture {
    limits: Limits,
    /// Everything while it fits, then the beginning.
    head: String,
    /// The end, once not everything fits; holds up to twice what is wanted of it.
    tail: String,
    overflowed: bool,
    lines: usize,
    bytes: u64,
    spill: Option<Spill>,
}

/// What was held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Captured {
    /// The output, or its beginning and end with a line between that says what is missing.
    pub(crate) text: String,
    /// Whether something is missing.
    pub(crate) truncated: bool,
    /// Where all of it is, when something is missing.
    pub(crate) full_output_path: Option<PathBuf>,
}

impl Capture {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            head: String::new(),
            tail: String::new(),
            overflowed: false,
            lines: 0,
            bytes: 0,
            spill: None,
        }
    }

    /// Takes more output. Writes to the file in place: to the page cache that takes microseconds.
    pub(crate) fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        if self.overflowed {
            if let Some(spill) = &mut self.spill {
                spill.write(text);
            }
            self.push_tail(text);
            return;
        }
        self.head.push_str(text);
        if self.head.len() > self.limits.bytes || self.lines > self.limits.lines {
            self.overflow();
        }
    }

    fn overflow(&mut self) {
        self.overflowed = true;
        self.spill = Spill::create();
        if let Some(spill) = &mut self.spill {
            spill.write(&self.head);
        }
        let share =
            Limits { lines: self.limits.lines / HEAD_SHARE, bytes: self.limits.bytes / HEAD_SHARE };
        let (kept, _) = truncate::first_lines(&self.head, share);
        let rest = self.head.split_off(kept.len());
        self.push_tail(&rest);
    }

    fn push_tail(&mut self, text: &str) {
        let wanted = self.limits.bytes;
        self.tail.push_str(truncate::tail(text, wanted));
        if self.tail.len() > 2 * wanted {
            let from = self.tail.ceil_char_boundary(self.tail.len() - wanted);
            self.tail.drain(..from);
        }
    }

    /// Ends the capture. The file stays, for the model and the person to look into.
    pub(crate) fn finish(self) -> Captured {
        if !self.overflowed {
            return Captured { text: self.head, ..Captured::default() };
        }
        let share = Limits {
            lines: self.limits.lines - self.limits.lines / HEAD_SHARE,
            bytes: self.limits.bytes - self.limits.bytes / HEAD_SHARE,
        };
        let tail = truncate::last_lines(&self.tail, share);
        let held = self.head.len() + tail.len();
        let missing = self.bytes.saturating_sub(held as u64);
        let newlines = |text: &str| text.matches('\n').count();
        let lines = self.lines.saturating_sub(newlines(&self.head) + newlines(tail));
        let saved = self.spill.and_then(Spill::keep);
        let whole = match &saved {
            Some((path, None)) => format!("the whole output is in {}", path.display()),
            Some((path, Some(bytes))) => {
                format!("the first {} are in {}", Bytes(*bytes), path.display())
            }
            None => "no file could be made for the whole output".to_owned(),
        };
        let left_out = match lines {
            0 => Bytes(missing).to_string(),
            lines => format!("{} ({})", counted(lines, "line"), Bytes(missing)),
        };
        let break_before = if self.head.ends_with('\n') { "" } else { "\n" };
        let text =
            format!("{}{break_before}\n[… {left_out} left out; {whole}]\n\n{tail}", self.head);
        Captured { text, truncated: true, full_output_path: saved.map(|(path, _)| path) }
    }
}

/// The file that takes everything. A full disk ends it, never the command.
struct Spill {
    file: BufWriter<NamedTempFile>,
    written: u64,
    whole: bool,
}

impl Spill {
    fn create() -> Option<Self> {
        let file =
            tempfile::Builder::new().prefix(truncate::OUTPUT_FILE_START).suffix(".log").tempfile();
        Some(Self {
            file: BufWriter::with_capacity(64 * 1024, file.ok()?),
            written: 0,
            whole: true,
        })
    }

    fn write(&mut self, text: &str) {
        if !self.whole {
            return;
        }
        let room = LARGEST_FILE.saturating_sub(self.written);
        let part = truncate::head(text, usize::try_from(room).unwrap_or(usize::MAX));
        let written = self.file.write_all(part.as_bytes()).is_ok();
        self.written += part.len() as u64;
        self.whole = written && part.len() == text.len();
    }

    /// The file's path, and how many bytes it holds when it does not hold everything. One that holds
    /// nothing is no file.
    fn keep(mut self) -> Option<(PathBuf, Option<u64>)> {
        self.whole &= self.file.flush().is_ok();
        // What a full disk did not take is given up.
        let (file, _) = self.file.into_parts();
        let bytes = file.as_file().metadata().ok()?.len();
        if bytes == 0 {
            return None;
        }
        let (_, path) = file.keep().ok()?;
        Some((path, (!self.whole).then_some(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const LIMITS: Limits = Limits { lines: 100, bytes: 2_000 };

    fn captured(pieces: impl IntoIterator<Item = String>) -> Captured {
        let mut capture = Capture::new(LIMITS);
        for piece in pieces {
            capture.push(&piece);
            assert!(capture.head.len() <= LIMITS.bytes + piece.len(), "bounded head");
            assert!(capture.tail.len() <= 2 * LIMITS.bytes, "bounded tail");
        }
        capture.finish()
    }

    #[test]
    fn f75_short_output_is_whole() {
        let captured = captured(["a\n".to_owned(), "b".to_owned()]);
        assert_eq!(captured, Captured { text: "a\nb".to_owned(), ..Captured::default() });
    }

    #[test]
    fn f75_long_output_keeps_beginning_and_end_and_is_whole_in_a_private_file() {
        let all: String = (0..5_000).map(|number| format!("line {number} ✓\n")).collect();
        let captured = captured(
            all.as_bytes().chunks(6_000).map(|chunk| String::from_utf8_lossy(chunk).into_owned()),
        );
        assert!(captured.truncated && captured.text.len() < LIMITS.bytes + 300);
        assert!(captured.text.starts_with("line 0 ✓\nline 1 ✓\n"), "{}", captured.text);
        assert!(captured.text.ends_with("line 4998 ✓\nline 4999 ✓\n"));
        let path = captured.full_output_path.unwrap();
        assert!(
            captured
                .text
                .contains(&format!("left out; the whole output is in {}]", path.display()))
        );
        let saved = std::fs::read_to_string(&path).unwrap();
        assert_eq!(saved.lines().count(), 5_000);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn f75_counts_of_what_is_left_out_are_true() {
        let captured = captured((0..500).map(|number| format!("{number:03}\n")));
        let shown = captured.text.lines().filter(|line| line.len() == 3).count();
        assert!(
            captured.text.contains(&format!("[… {} lines (", 500 - shown)),
            "{}",
            captured.text
        );
        std::fs::remove_file(captured.full_output_path.unwrap()).unwrap();
    }

    #[test]
    fn f76_one_endless_line_is_cut_between_characters() {
        let captured = captured((0..100).map(|_| "한✓".repeat(33)));
        assert!(captured.text.starts_with("한✓") && captured.text.ends_with("한✓"));
        assert!(captured.text.contains("KB left out"), "{}", captured.text);
        std::fs::remove_file(captured.full_output_path.unwrap()).unwrap();
    }
}
