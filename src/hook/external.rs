//! Hooks that are programs, in any language (SPEC section 6, F81): one start for each event, the event
//! on its standard input, the answer on its standard output.
//!
//! The program gets a session of its own without a terminal. Its input is written while its outputs
//! are read, so that neither side waits for the other; a program that reads nothing makes no error.
//! It is over when the program itself has ended and its outputs are quiet. Its process group is killed
//! with it: at its end, at its time limit, when it says too much, and when nobody wants its answer any
//! more. What has left the group lives on.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures::future::BoxFuture;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::{EventName, Hook, HookAnswer, HookEvent};
use crate::settings::{HookCommand, HookSettings};
use crate::tool::process::{ProcessGroup, keep_quiet};
use crate::tool::sanitize;
use crate::tool::truncate;

/// Most bytes of an answer; a program that writes more is killed.
pub const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

/// Most bytes of what a program says on its standard error that are kept: the last ones.
const LARGEST_COMPLAINT: usize = 16 * 1024;

/// The exit code by which a program cancels; its standard error is the reason.
const CANCELS: i32 = 2;

/// After the program's end its outputs are read until they are quiet for so long: whoever else holds
/// them is not waited for.
const QUIET: Duration = Duration::from_millis(60);

/// A program of the settings as a hook.
#[derive(Debug, Clone)]
pub struct ExternalHook {
    settings: HookSettings,
}

/// What became of a program.
#[derive(Debug, Clone)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// What it wrote on its standard output.
    pub stdout: Vec<u8>,
    /// The last of what it wrote on its standard error, cleaned.
    pub stderr: String,
    /// How long it ran.
    pub elapsed: Duration,
}

/// See [`Ran::end`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It ran longer than it may.
    TimedOut,
    /// It wrote more than [`LARGEST_ANSWER`].
    TooMuch,
}

impl ExternalHook {
    /// A hook that starts what the settings say.
    #[must_use]
    pub const fn new(settings: HookSettings) -> Self {
        Self { settings }
    }

    /// What the settings say.
    #[must_use]
    pub const fn settings(&self) -> &HookSettings {
        &self.settings
    }

    /// Starts the program for an event and waits for its end. Dropped before that, the future kills
    /// the program and all that it started.
    ///
    /// # Errors
    /// It could not be started.
    pub async fn start(&self, event: &HookEvent) -> Result<Ran, String> {
        let started = Instant::now();
        let input = serde_json::to_vec(event).map_err(|error| error.to_string())?;
        let child = spawn(&self.settings, &event.session.cwd)
            .map_err(|error| start_failed(&self.settings, &event.session.cwd, &error))?;
        let deadline = started + Duration::from_secs(self.settings.timeout);
        let (end, stdout, stderr) = Running::new(child, input).finish(deadline).await;
        Ok(Ran {
            end,
            stdout,
            stderr: sanitize::clean(&stderr).trim().to_owned(),
            elapsed: started.elapsed(),
        })
    }

    /// What a program's end and output mean.
    ///
    /// # Errors
    /// It failed; the sentence says how.
    pub fn read(&self, ran: &Ran) -> Result<Option<HookAnswer>, String> {
        let said = match ran.stderr.lines().last() {
            Some(line) => format!(": {}", truncate::one_line(line, 300)),
            None => String::new(),
        };
        match ran.end {
            End::Exited(0) => HookAnswer::read(&ran.stdout),
            End::Exited(CANCELS) => Ok(Some(HookAnswer::cancel(ran.stderr.clone()))),
            End::Exited(code) => Err(format!("it exited with code {code}{said}")),
            End::Signalled(signal) => Err(format!("it was ended by signal {signal}{said}")),
            End::TimedOut => {
                Err(format!("it took longer than {} s and was killed{said}", self.settings.timeout))
            }
            End::TooMuch => {
                let most = LARGEST_ANSWER / 1024 / 1024;
                Err(format!("it wrote more than {most} MB and was killed{said}"))
            }
        }
    }
}

impl Hook for ExternalHook {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn wants(&self, event: EventName, tool: Option<&str>) -> bool {
        let about_tool = match (&self.settings.tools, tool) {
            (Some(patterns), Some(tool)) => patterns.iter().any(|pattern| covers(pattern, tool)),
            _ => true,
        };
        about_tool && self.settings.events.contains(&event)
    }

    fn on_event<'a>(
        &'a self,
        event: &'a HookEvent,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<HookAnswer>, String>> {
        Box::pin(async move { self.read(&self.start(event).await?) })
    }

    fn required(&self) -> bool {
        self.settings.required
    }
}

/// Whether a pattern, in which `*` stands for any characters, covers a name.
fn covers(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(end)
}

fn spawn(settings: &HookSettings, cwd: &Path) -> io::Result<Box<dyn ChildWrapper>> {
    let mut command = match &settings.command {
        HookCommand::Line(line) => {
            let mut shell = Command::new("/bin/sh");
            // $0 is the hook's name, as the shell's own messages begin with it.
            shell.arg("-c").arg(line).arg(&settings.name);
            shell
        }
        HookCommand::Program(words) => {
            let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
    };
    command
        .args(&settings.args)
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    keep_quiet(&mut command);
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessSession);
    command.spawn()
}

fn start_failed(settings: &HookSettings, cwd: &Path, error: &io::Error) -> String {
    let what = match &settings.command {
        HookCommand::Line(_) => "/bin/sh",
        HookCommand::Program(words) => words.first().map_or("", String::as_str),
    };
    let why = match error.kind() {
        io::ErrorKind::NotFound if !cwd.is_dir() => "that folder is gone".to_owned(),
        io::ErrorKind::NotFound => "there is no such program".to_owned(),
        io::ErrorKind::PermissionDenied => "it is not executable (chmod +x makes it so)".to_owned(),
        _ => error.to_string(),
    };
    format!("`{what}` cannot be started in {}: {why}", cwd.display())
}

/// A program that was started. Dropped, it is killed with its group.
struct Running {
    child: Box<dyn ChildWrapper>,
    group: ProcessGroup,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    input: Vec<u8>,
    written: usize,
    answer: Vec<u8>,
    complaint: Vec<u8>,
}

/// How long what a program has left behind is read once it has ended.
const FAREWELL: Duration = Duration::from_secs(1);

/// One step of a program that runs.
enum Step {
    Wrote(io::Result<usize>),
    Answered(io::Result<usize>),
    Complained(io::Result<usize>),
    Ended(io::Result<ExitStatus>),
    Late,
}

impl Running {
    fn new(mut child: Box<dyn ChildWrapper>, input: Vec<u8>) -> Self {
        Self {
            group: ProcessGroup::new(child.id()),
            stdin: child.stdin().take(),
            stdout: child.stdout().take(),
            stderr: child.stderr().take(),
            child,
            input,
            written: 0,
            answer: Vec::new(),
            complaint: Vec::new(),
        }
    }

    async fn finish(mut self, deadline: Instant) -> (End, Vec<u8>, String) {
        let end = self.watch(deadline).await;
        if matches!(end, End::Exited(_) | End::Signalled(_)) {
            // Somebody that it has started may hold its outputs and go on talking.
            let farewell = deadline.min(Instant::now() + FAREWELL);
            while self.is_open()
                && !self.is_too_much()
                && Instant::now() < farewell
                && self.drain().await
            {}
        }
        self.group.kill();
        let end = if self.is_too_much() { End::TooMuch } else { end };
        let complaint = String::from_utf8_lossy(&self.complaint).into_owned();
        (end, std::mem::take(&mut self.answer), complaint)
    }

    fn is_too_much(&self) -> bool {
        self.answer.len() > LARGEST_ANSWER
    }

    /// Writes and reads until the program has ended, its time is over or it has said too much.
    async fn watch(&mut self, deadline: Instant) -> End {
        loop {
            let step = tokio::select! {
                biased;
                () = sleep_until(deadline) => Step::Late,
                read = read(&mut self.stdout, &mut self.answer) => Step::Answered(read),
                read = read(&mut self.stderr, &mut self.complaint) => Step::Complained(read),
                wrote = write(&mut self.stdin, &self.input[self.written..]) => Step::Wrote(wrote),
                // The wrapper's own wait would wait for the whole group: only the program counts.
                status = self.child.inner_mut().wait() => Step::Ended(status),
            };
            match step {
                Step::Late => return End::TimedOut,
                Step::Ended(Ok(status)) => return end_of(status),
                Step::Ended(Err(_)) => return End::Signalled(0),
                Step::Wrote(Ok(count)) if count > 0 => {
                    self.written += count;
                    if self.written == self.input.len() {
                        self.stdin = None;
                    }
                }
                // It reads no more; that is its own business.
                Step::Wrote(_) => self.stdin = None,
                Step::Answered(result) if ended(&result) => self.stdout = None,
                Step::Complained(result) if ended(&result) => self.stderr = None,
                Step::Answered(_) if self.is_too_much() => return End::TooMuch,
                Step::Answered(_) => {}
                Step::Complained(_) => self.forget_old_complaints(),
            }
        }
    }

    /// Reads a piece of what is still in the outputs; `false` when they are quiet.
    async fn drain(&mut self) -> bool {
        let piece = async {
            tokio::select! {
                biased;
                read = read(&mut self.stdout, &mut self.answer) => Step::Answered(read),
                read = read(&mut self.stderr, &mut self.complaint) => Step::Complained(read),
            }
        };
        match timeout(QUIET, piece).await {
            Ok(Step::Answered(result)) if ended(&result) => self.stdout = None,
            Ok(Step::Complained(result)) if ended(&result) => self.stderr = None,
            Ok(_) => self.forget_old_complaints(),
            Err(_) => return false,
        }
        true
    }

    const fn is_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    fn forget_old_complaints(&mut self) {
        if self.complaint.len() > 2 * LARGEST_COMPLAINT {
            self.complaint.drain(..self.complaint.len() - LARGEST_COMPLAINT);
        }
    }
}

fn ended(result: &io::Result<usize>) -> bool {
    !matches!(result, Ok(count) if *count > 0)
}

fn end_of(status: ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signalled(signal.unwrap_or(0)),
    }
}

/// More of a pipe; a pipe that is gone never gives anything.
async fn read(pipe: &mut Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read_buf(into).await,
        None => std::future::pending().await,
    }
}

async fn write(pipe: &mut Option<ChildStdin>, bytes: &[u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.write(bytes).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_names() {
        for (pattern, name, expected) in [
            ("bash", "bash", true),
            ("bash", "bash2", false),
            ("*", "bash", true),
            ("w*", "write", true),
            ("w*", "grep", false),
            ("*e", "write", true),
            ("w*t*", "write", true),
            ("w*x*e", "write", false),
            ("ab*ba", "aba", false),
            ("", "bash", false),
        ] {
            assert_eq!(covers(pattern, name), expected, "{pattern} {name}");
        }
    }
}
