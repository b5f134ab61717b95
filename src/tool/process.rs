//! Running a command for the model (`bash`) or for the person (`!cmd`), so that the call always
//! settles and nothing of it stays behind (F72–F75, I13).
//!
//! The command gets its own session without a terminal, `/dev/null` as input, and one pipe for both
//! outputs, so that their order is kept. The run is over when the shell itself has ended and its pipe
//! is quiet: whoever else holds the pipe is not waited for. Stopping is SIGTERM, a grace, SIGKILL,
//! to the whole group; a cancelled call does not wait for that.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
pub(crate) use super::process_group::ProcessGroup;
use super::sanitize::{self, Cleaner};
use super::truncate::{self, Limits};

/// How long a command may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// After the shell's end the pipe is read until it is quiet for so long,
const QUIET: Duration = Duration::from_millis(60);

/// or until this much time has passed, when somebody keeps writing.
const LONGEST_DRAIN: Duration = Duration::from_millis(500);

/// Shortest time between two pieces of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Most bytes of one piece of progress; what came before is dropped, it is for the eye only.
const LARGEST_PROGRESS: usize = 4 * 1024;

/// Takes pieces of output while a command runs, for the screen only.
pub type Progress = Arc<dyn Fn(String) + Send + Sync>;

/// A command to run.
#[derive(Debug, Clone)]
pub struct Run {
    /// As it goes to the shell.
    pub command: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// How long it may run; `None` for as long as it wants.
    pub timeout: Option<Duration>,
    /// How much output is held.
    pub limits: Limits,
}

/// What became of a command: the pieces of a [`crate::message::BashExecutionMessage`] and more.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Both outputs in order, cleaned, cut to the limits.
    pub output: String,
    /// How it ended.
    pub end: End,
    /// Whether `output` is only a part.
    pub truncated: bool,
    /// Where the whole output is, when it is only a part.
    pub full_output_path: Option<PathBuf>,
    /// How long it ran.
    pub elapsed: Duration,
    /// Whether background jobs were found running after its end, and ended.
    pub ended_jobs: bool,
}

impl Ran {
    /// `None` when it was killed.
    #[must_use]
    pub const fn exit_code(&self) -> Option<i64> {
        match self.end {
            End::Exited(code) => Some(code as i64),
            End::Signalled(_) | End::TimedOut | End::Cancelled => None,
        }
    }

    /// Whether the person stopped it.
    #[must_use]
    pub const fn cancelled(&self) -> bool {
        matches!(self.end, End::Cancelled)
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It ran longer than it may.
    TimedOut,
    /// The person stopped it.
    Cancelled,
}

/// Runs a command to its end, its time limit or `cancel`.
///
/// # Errors
/// It could not be started.
pub async fn run(run: Run, cancel: CancellationToken, progress: Progress) -> io::Result<Ran> {
    let started = Instant::now();
    let deadline = run.timeout.map(|limit| started + limit);
    let (child, pipe) = spawn(&run)?;
    let mut running = Running::new(child, pipe, run.limits, progress)?;
    let end = match running.watch(&cancel, deadline).await {
        Watched::Ended(status) => {
            running.drain(LONGEST_DRAIN).await;
            of(status)
        }
        Watched::Late => {
            running.group.terminate();
            let stopped = running.watch(&cancel, Some(Instant::now() + GRACE)).await;
            if matches!(stopped, Watched::Late) {
                running.group.kill();
            }
            running.drain(LONGEST_DRAIN).await;
            if matches!(stopped, Watched::Cancelled) { End::Cancelled } else { End::TimedOut }
        }
        Watched::Cancelled => {
            running.group.terminate();
            running.drain(QUIET / 2).await;
            End::Cancelled
        }
    };
    let keeps_jobs = matches!(end, End::Exited(_)) && asks_for_jobs(&run.command);
    Ok(running.settle(end, started.elapsed(), keeps_jobs))
}

fn of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signalled(signal.unwrap_or(0)),
    }
}

/// Whether a command says that its background jobs are to go on after its end. `setsid` needs no
/// word: what it starts has left the group.
fn asks_for_jobs(command: &str) -> bool {
    command
        .split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .any(|word| matches!(word, "nohup" | "disown"))
}

fn spawn(run: &Run) -> io::Result<(Box<dyn ChildWrapper>, io::PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(shell());
    command
        .arg("-c")
        .arg(&run.command)
        .current_dir(&run.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::from(OwnedFd::from(writer.try_clone()?)))
        .stderr(Stdio::from(OwnedFd::from(writer)));
    keep_quiet(&mut command);
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessSession);
    let child = command.spawn()?;
    // The command holds our copies of the pipe's writing end; with them the pipe would never end.
    drop(command);
    Ok((child, reader))
}

/// Sets a program's environment so that it neither asks nor looks for the terminal.
pub(crate) fn keep_quiet(command: &mut Command) {
    for (name, value) in QUIET_ENVIRONMENT {
        command.env(name, value);
    }
    for name in TERMINAL_VARIABLES {
        command.env_remove(name);
    }
}

/// Variables that keep programs from asking, paging and colouring.
const QUIET_ENVIRONMENT: [(&str, &str); 10] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// Variables by which programs find the terminal that the screen is on.
const TERMINAL_VARIABLES: [&str; 6] =
    ["GPG_TTY", "SSH_TTY", "COLORTERM", "FORCE_COLOR", "CLICOLOR_FORCE", "LS_COLORS"];

/// bash, or what there is.
fn shell() -> PathBuf {
    let usual = ["/bin/bash", "/usr/bin/bash"].into_iter().map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("bash"));
    usual.chain(found).find(|shell| shell.is_file()).unwrap_or_else(|| Path::new("/bin/sh").into())
}

enum Watched {
    Ended(ExitStatus),
    Late,
    Cancelled,
}

/// A command that was started. Dropped before its end, it is killed with its group.
struct Running {
    child: Box<dyn ChildWrapper>,
    group: ProcessGroup,
    pipe: Option<Receiver>,
    buffer: Vec<u8>,
    output: Output,
}

impl Running {
    fn new(
        child: Box<dyn ChildWrapper>,
        pipe: io::PipeReader,
        limits: Limits,
        progress: Progress,
    ) -> io::Result<Self> {
        let group = ProcessGroup::new(child.id());
        let pipe = Receiver::from_owned_fd(OwnedFd::from(pipe))?;
        let output = Output::new(limits, progress);
        Ok(Self { child, group, pipe: Some(pipe), buffer: vec![0; 64 * 1024], output })
    }

    /// Reads until the shell has ended, the time is over or the person has had enough.
    async fn watch(&mut self, cancel: &CancellationToken, deadline: Option<Instant>) -> Watched {
        loop {
            let progress_due = self.output.progress_due();
            // The wrapper's own wait would wait for the whole group: only the shell counts (F72).
            let shell = self.child.inner_mut();
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Watched::Cancelled,
                () = at(deadline) => return Watched::Late,
                () = at(progress_due) => self.output.show_progress(),
                read = read(&mut self.pipe, &mut self.buffer) => {
                    self.output.take(&self.buffer[..read]);
                }
                status = shell.wait() => match status {
                    Ok(status) => return Watched::Ended(status),
                    Err(_) => return Watched::Ended(ExitStatus::default()),
                },
            }
        }
    }

    /// Reads what is still in the pipe: until nobody holds it, it is quiet, or `longest` is over.
    async fn drain(&mut self, longest: Duration) {
        let end = Instant::now() + longest;
        while self.pipe.is_some() {
            let until = end.min(Instant::now() + QUIET.min(longest));
            match timeout_at(until, read(&mut self.pipe, &mut self.buffer)).await {
                Ok(count) => self.output.take(&self.buffer[..count]),
                Err(_) => break,
            }
            if Instant::now() >= end {
                break;
            }
        }
    }

    /// Makes the result, and leaves the rest of the group to a task of its own.
    fn settle(self, end: End, elapsed: Duration, keeps_jobs: bool) -> Ran {
        let Self { mut child, mut group, pipe, mut buffer, output } = self;
        let captured = output.finish();
        let lives = group.is_alive();
        if lives && keeps_jobs {
            group.release();
            // Nobody reads what the jobs write, but a closed pipe would end them.
            tokio::spawn(async move {
                let mut pipe = pipe;
                while pipe.is_some() {
                    read(&mut pipe, &mut buffer).await;
                }
            });
        } else if lives || matches!(end, End::Cancelled) {
            tokio::spawn(async move {
                group.terminate();
                let deadline = Instant::now() + GRACE;
                let _ = timeout_at(deadline, child.inner_mut().wait()).await;
                group.wait_gone(deadline).await;
                group.kill();
                let _ = child.inner_mut().wait().await;
            });
        } else {
            group.release();
        }
        Ran {
            output: captured.text,
            end,
            truncated: captured.truncated,
            full_output_path: captured.full_output_path,
            elapsed,
            ended_jobs: lives && !keeps_jobs && matches!(end, End::Exited(_)),
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The next bytes; at the end, or on an error, the pipe is gone and nothing ever comes.
async fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    let Some(open) = pipe else { return std::future::pending().await };
    match open.read(buffer).await {
        Ok(count) if count > 0 => count,
        _ => {
            *pipe = None;
            0
        }
    }
}

/// Where output goes: cleaned, to the capture and to the screen.
struct Output {
    cleaner: Cleaner,
    cleaned: String,
    capture: Capture,
    progress: Progress,
    pending: String,
    shown_at: Instant,
}

impl Output {
    fn new(limits: Limits, progress: Progress) -> Self {
        Self {
            cleaner: Cleaner::default(),
            cleaned: String::new(),
            capture: Capture::new(limits),
            progress,
            pending: String::new(),
            shown_at: Instant::now(),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.cleaned.clear();
        self.cleaner.push(bytes, &mut self.cleaned);
        self.capture.push(&self.cleaned);
        self.pending.push_str(truncate::tail(&self.cleaned, LARGEST_PROGRESS));
        if self.pending.len() > 2 * LARGEST_PROGRESS {
            self.pending = truncate::tail(&self.pending, LARGEST_PROGRESS).to_owned();
        }
    }

    /// When there is something to show: the next moment at which it may be shown.
    fn progress_due(&self) -> Option<Instant> {
        (!self.pending.is_empty()).then(|| self.shown_at + PROGRESS_EVERY)
    }

    fn show_progress(&mut self) {
        let text = std::mem::take(&mut self.pending);
        (self.progress)(sanitize::for_screen(truncate::tail(&text, LARGEST_PROGRESS)).into_owned());
        self.shown_at = Instant::now();
    }

    fn finish(mut self) -> super::capture::Captured {
        self.cleaned.clear();
        self.cleaner.finish(&mut self.cleaned);
        self.capture.push(&self.cleaned);
        self.capture.finish()
    }
}
