//! The real program in a pseudo-terminal: keys in, screen out.
//!
//! A thread feeds what the program writes to a terminal emulator; [`Pty::until`] waits for the screen
//! to show something and fails with the whole screen when it does not.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(20);

struct Emulator {
    parser: vt100::Parser,
    /// Everything that was written, for what the emulator does not keep.
    bytes: Vec<u8>,
    closed: bool,
}

/// A program in a pseudo-terminal.
pub struct Pty {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    emulator: Arc<(Mutex<Emulator>, Condvar)>,
}

/// A person's folders: a project, and a home that nothing else knows.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    /// An empty project with a README.
    pub fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(home.project()).unwrap();
        home.put("README.md", "# Shop\n\nA small shop.\n");
        home
    }

    /// The project's folder.
    pub fn project(&self) -> std::path::PathBuf {
        self.folder.path().join("shop")
    }

    /// Writes a file of the project.
    pub fn put(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a file of the person's own, beside the settings.
    pub fn configure(&self, path: &str, text: &str) {
        let path = self.config(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A file of the person's own, beside the settings.
    pub fn config(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join("config/regrow").join(path)
    }

    /// The program with these arguments, on the offline model.
    pub fn command(&self, arguments: &[&str]) -> CommandBuilder {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_regrow"));
        command.args(["--provider", "offline", "--model", "offline"]);
        command.args(arguments);
        self.settle(&mut command);
        command
    }

    /// Gives a command this home and nothing of ours.
    pub fn settle(&self, command: &mut CommandBuilder) {
        let home = self.folder.path();
        command.env_clear();
        command.cwd(self.project());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        for (name, folder) in
            [("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_STATE_HOME", "state")]
        {
            command.env(name, home.join(folder));
        }
    }

    /// The files of all sessions, newest last.
    pub fn sessions(&self) -> Vec<std::path::PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().join("data")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

fn holds(bytes: &[u8], sequence: &str) -> bool {
    bytes.windows(sequence.len()).any(|window| window == sequence.as_bytes())
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn non_zero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Pty {
    /// Starts a command on a screen of this size.
    pub fn start(command: CommandBuilder, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let parser = vt100::Parser::new(non_zero(rows), non_zero(columns), 0);
        let emulator = Emulator { parser, bytes: Vec::new(), closed: false };
        let emulator = Arc::new((Mutex::new(emulator), Condvar::new()));
        let shared = emulator.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            loop {
                let count = reader.read(&mut buffer).unwrap_or(0);
                let mut emulator = shared.0.lock().unwrap();
                emulator.parser.process(&buffer[..count]);
                emulator.bytes.extend(&buffer[..count]);
                emulator.closed = count == 0;
                shared.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self { master: pair.master, writer, child, emulator }
    }

    /// Types, or sends any bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.writer.write_all(bytes.as_ref()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Gives the window another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let mut emulator = self.emulator.0.lock().unwrap();
        emulator.parser.screen_mut().set_size(non_zero(rows), non_zero(columns));
        self.master.resize(size(columns, rows)).unwrap();
    }

    /// Waits until the screen is as `holds` says, and gives it.
    #[track_caller]
    pub fn until(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) -> String {
        self.until_within(what, PATIENCE, holds)
    }

    /// As [`Pty::until`], with a patience of one's own.
    #[track_caller]
    pub fn until_within(
        &self,
        what: &str,
        patience: Duration,
        holds: impl Fn(&vt100::Screen) -> bool,
    ) -> String {
        let deadline = Instant::now() + patience;
        let mut emulator = self.emulator.0.lock().unwrap();
        loop {
            if holds(emulator.parser.screen()) {
                return emulator.parser.screen().contents();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !emulator.closed,
                "waited for {what} on\n{}",
                emulator.parser.screen().contents()
            );
            emulator = self.emulator.1.wait_timeout(emulator, left).unwrap().0;
        }
    }

    /// Waits until the screen holds a text, and gives the screen.
    #[track_caller]
    pub fn until_shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contents().contains(text))
    }

    /// Waits until the screen no longer holds a text, and gives the screen.
    #[track_caller]
    pub fn until_gone(&self, text: &str) -> String {
        self.until(&format!("no {text}"), |screen| !screen.contents().contains(text))
    }

    /// Waits until these bytes were written, whatever became of them.
    #[track_caller]
    pub fn until_written(&self, sequence: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut emulator = self.emulator.0.lock().unwrap();
        while !holds(&emulator.bytes, sequence) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !emulator.closed, "waited for the bytes {sequence:?}");
            emulator = self.emulator.1.wait_timeout(emulator, left).unwrap().0;
        }
    }

    /// Whether these bytes were written so far.
    pub fn has_written(&self, sequence: &str) -> bool {
        holds(&self.emulator.0.lock().unwrap().bytes, sequence)
    }

    /// How often these bytes were written so far.
    pub fn count_written(&self, sequence: &str) -> usize {
        let emulator = self.emulator.0.lock().unwrap();
        emulator.bytes.windows(sequence.len()).filter(|w| *w == sequence.as_bytes()).count()
    }

    /// Waits until the program has written nothing for a moment; for no longer than that many moments.
    pub fn until_quiet(&self, moment: Duration, most: u32) {
        let mut emulator = self.emulator.0.lock().unwrap();
        for _ in 0..most {
            let before = emulator.bytes.len();
            emulator = self.emulator.1.wait_timeout(emulator, moment).unwrap().0;
            if emulator.bytes.len() == before {
                return;
            }
        }
    }

    /// Waits until the screen is another one than `before`, and says whether it is.
    pub fn changes_from(&self, before: &str, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut emulator = self.emulator.0.lock().unwrap();
        while emulator.parser.screen().contents() == before {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            emulator = self.emulator.1.wait_timeout(emulator, left).unwrap().0;
        }
        true
    }

    /// Looks at the screen as it is now.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.emulator.0.lock().unwrap().parser.screen())
    }

    /// The screen now.
    pub fn screen(&self) -> String {
        self.emulator.0.lock().unwrap().parser.screen().contents()
    }

    /// Row and column of the caret.
    pub fn caret(&self) -> (u16, u16) {
        self.emulator.0.lock().unwrap().parser.screen().cursor_position()
    }

    /// How many bytes were written so far.
    pub fn written(&self) -> usize {
        self.emulator.0.lock().unwrap().bytes.len()
    }

    /// The process.
    pub fn pid(&self) -> rustix::process::Pid {
        let id = self.child.process_id().unwrap();
        rustix::process::Pid::from_raw(id.cast_signed()).unwrap()
    }

    /// Waits for the program's end and gives its exit code.
    #[track_caller]
    pub fn wait(&mut self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(Instant::now() < deadline, "it did not end; it shows\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Fails unless the terminal is as it was before the program (F87).
    #[track_caller]
    pub fn assert_clean(&self) {
        // Lines edited by the terminal, and echo: what raw mode takes away.
        let modes = self.master.get_termios().unwrap();
        let flags = format!("{:?}", modes.local_flags);
        assert!(flags.contains("ICANON") && flags.contains("ECHO"), "still raw: {flags}");
        self.until("a clean terminal", |screen| {
            !screen.alternate_screen()
                && !screen.bracketed_paste()
                && !screen.hide_cursor()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        let emulator = self.emulator.0.lock().unwrap();
        let count = |sequence: &str| {
            emulator.bytes.windows(sequence.len()).filter(|w| *w == sequence.as_bytes()).count()
        };
        assert_eq!(count("\u{1b}[>1u"), count("\u{1b}[<1u"), "keyboard protocol");
        assert_eq!(count("\u{1b}[?1004h"), count("\u{1b}[?1004l"), "focus reports");
        assert_eq!(count("\u{1b}[22;2t"), count("\u{1b}[23;2t"), "the title");
        assert_eq!(count("\u{1b}[?2026h"), count("\u{1b}[?2026l").min(count("\u{1b}[?2026h")));
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The path of a program of this system, if it is there.
pub fn program(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| Path::is_file(file))
}
