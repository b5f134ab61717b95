//! `--plain`: the conversation line by line, for screen readers, for terminals that can do nothing else,
//! and for pipes. Lines come in as the terminal edits them; what happens goes out as words ([`voice`]).
//! No escape sequence is written, and nothing that was written is changed.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use self::typed::{Joining, Typed};
use self::voice::Voice;
use super::interrupt::{Interrupt, Interrupts};
use super::lines::{Incoming, read_from};
use super::print::RunEnd;
use crate::agent_session::SessionHandle;
use crate::agent_session::command::{Delivery, PermissionAnswer, SessionCommand, SwitchTo};
use crate::agent_session::event::{PermissionQuestion, SessionEvent};
use crate::agent_session::queue::Prompt;
use crate::prompt::template::Template;
use crate::slash::SlashAction;
use crate::tool::resolve_path;
use crate::tui::outside::{OpenSession, Outside, Reloaded};
use crate::tui::words;

mod listing;
pub mod typed;
pub mod voice;

/// Lines that come faster than this were pasted, and are one text.
const PASTE: Duration = Duration::from_millis(25);

/// What the mode needs besides the session.
pub struct PlainOptions {
    /// What is said first.
    pub prompt: Option<Prompt>,
    /// Whether the sessions are listed first (`--resume`).
    pub choose: bool,
    /// The person's own prompts.
    pub templates: Vec<Template>,
    /// Models, sessions, settings, exports.
    pub outside: Arc<dyn Outside>,
    /// Whether a person types, rather than a pipe.
    pub terminal: bool,
}

/// Talks until the person leaves.
///
/// # Errors
/// Nobody reads what is written.
pub async fn run(
    handle: SessionHandle,
    options: PlainOptions,
    input: impl Read + Send + 'static,
    out: impl Write + Send,
) -> io::Result<RunEnd> {
    let mut interrupts = Interrupts::listen()?;
    let mut lines = read_from(input)?;
    let mut talk = Talk {
        handle,
        outside: options.outside,
        templates: options.templates,
        terminal: options.terminal,
        out,
        voice: Voice::default(),
        session: None,
        question: Vec::new(),
        joining: Joining::default(),
        at_prompt: false,
        leaving: false,
        input_ended: false,
        awaited: 0,
    };
    talk.say(&format!("regrow {}; /help lists the commands", env!("CARGO_PKG_VERSION")))?;
    match options.prompt {
        Some(Prompt { text, images }) => {
            talk.send(SessionCommand::Prompt { text, images, delivery: Delivery::FollowUp });
        }
        None if options.choose => talk.act(SlashAction::OpenSessions(None))?,
        None => {}
    }
    talk.await_echo();
    let mut end = RunEnd::Answered;
    loop {
        if talk.is_ready() && talk.handle.events.is_empty() {
            talk.prompt()?;
        }
        tokio::select! {
            biased;
            interrupt = interrupts.next() => {
                if interrupt == Interrupt::Demand || talk.leaves_at_interrupt()? {
                    talk.send(SessionCommand::Abort);
                    talk.send(SessionCommand::Quit);
                    end = RunEnd::Interrupted;
                }
            }
            event = talk.handle.events.recv() => match event {
                None | Some(SessionEvent::Ended) => return Ok(end),
                Some(event) => talk.event(event)?,
            },
            line = lines.recv(), if talk.takes_lines() => match line {
                Some(Incoming::Line(line)) => {
                    let line = talk.pasted(line, &mut lines).await;
                    talk.typed(&line)?;
                }
                Some(Incoming::TooLong) => talk.say("error: that line is too long")?,
                Some(Incoming::Broken(why)) => {
                    talk.say(&format!("error: {why}"))?;
                    talk.no_more_input()?;
                }
                None => talk.no_more_input()?,
            },
        }
    }
}

struct Talk<W> {
    handle: SessionHandle,
    outside: Arc<dyn Outside>,
    templates: Vec<Template>,
    terminal: bool,
    out: W,
    voice: Voice,
    session: Option<OpenSession>,
    /// Questions that wait, the oldest first.
    question: Vec<PermissionQuestion>,
    joining: Joining,
    /// Whether the last thing that was written is the prompt.
    at_prompt: bool,
    /// Whether Ctrl+C was pressed with nothing to stop.
    leaving: bool,
    input_ended: bool,
    /// Lines that the session has not taken up yet.
    awaited: u64,
}

impl<W: Write> Talk<W> {
    /// A session that is over has told so.
    fn send(&self, command: SessionCommand) {
        self.handle.commands.send(command).ok();
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        if std::mem::take(&mut self.at_prompt) {
            self.out.write_all(b"\n")?;
        }
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    fn say_all(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.say(line))
    }

    /// Shows that a line is awaited.
    fn prompt(&mut self) -> io::Result<()> {
        if self.terminal && !self.at_prompt && !self.input_ended {
            let sign: &[u8] = match (self.question.is_empty(), self.joining.goes_on()) {
                (false, _) => b"? ",
                (true, true) => b"+ ",
                (true, false) => b"> ",
            };
            self.out.write_all(sign)?;
            self.out.flush()?;
            self.at_prompt = true;
        }
        Ok(())
    }

    fn event(&mut self, event: SessionEvent) -> io::Result<()> {
        let said = self.voice.hear(&event);
        self.say_all(&said)?;
        match event {
            SessionEvent::Opened { reader, file, cwd, .. } => {
                self.session = Some(OpenSession { reader, file, cwd });
            }
            SessionEvent::PermissionAsked(question) => {
                self.question.push(question);
                if self.input_ended {
                    self.refuse_all();
                }
            }
            SessionEvent::PermissionSettled { question } => {
                self.question.retain(|open| open.question != question);
            }
            SessionEvent::Echo { .. } => self.awaited -= 1,
            _ => {}
        }
        Ok(())
    }

    /// A person may type at any time; the lines of a pipe follow one another.
    fn takes_lines(&self) -> bool {
        !self.input_ended && (self.terminal || self.is_ready())
    }

    /// Whether a line is awaited: what was typed is taken up, and nothing runs or a question waits.
    fn is_ready(&self) -> bool {
        self.awaited == 0 && (!self.question.is_empty() || !self.voice.busy())
    }

    /// The lines of a paste, as one text.
    async fn pasted(&self, first: Vec<u8>, lines: &mut mpsc::Receiver<Incoming>) -> String {
        let mut text = String::from_utf8_lossy(&first).into_owned();
        while self.terminal && self.question.is_empty() {
            match tokio::time::timeout(PASTE, lines.recv()).await {
                Ok(Some(Incoming::Line(line))) => {
                    text.push('\n');
                    text.push_str(&String::from_utf8_lossy(&line));
                }
                _ => break,
            }
        }
        text
    }

    fn typed(&mut self, line: &str) -> io::Result<()> {
        self.understand(line)?;
        self.await_echo();
        Ok(())
    }

    fn await_echo(&mut self) {
        self.awaited += 1;
        self.send(SessionCommand::Echo(self.awaited));
    }

    fn understand(&mut self, line: &str) -> io::Result<()> {
        // The terminal has gone to the next line by itself.
        (self.at_prompt, self.leaving) = (false, false);
        if let Some(question) = self.question.first() {
            match typed::answer(line, question) {
                Ok(answer) => {
                    let question = question.question;
                    self.send(SessionCommand::Permission { question, answer });
                    return Ok(());
                }
                Err(why) => self.say(&why)?,
            }
            return Ok(());
        }
        let Some(text) = self.joining.line(line) else { return Ok(()) };
        match typed::read(&text, &self.templates) {
            Typed::Nothing => {}
            Typed::Send(command) => self.send(command),
            Typed::Act(action) => self.act(action)?,
            Typed::Wrong(why) => self.say(&format!("error: {why}"))?,
        }
        Ok(())
    }

    /// Carries out a command that the screen opens something for.
    fn act(&mut self, action: SlashAction) -> io::Result<()> {
        let Some(open) = self.session.clone() else { return self.say("no session is open yet") };
        let outside = self.outside.clone();
        let lines = match action {
            SlashAction::Send(command) => {
                self.send(command);
                Vec::new()
            }
            SlashAction::OpenTree => listing::tree(&open.reader),
            SlashAction::OpenSessions(search) => {
                let sessions = outside.sessions();
                self.send_or_list(listing::sessions(&sessions, search.as_deref()))
            }
            SlashAction::Model(wanted) => {
                self.send_or_list(listing::models(&*outside, wanted.as_deref()))
            }
            SlashAction::LabelLeaf(label) => match listing::leaf(&open.reader) {
                Some(target) => {
                    self.send(SessionCommand::Label { target, label });
                    Vec::new()
                }
                None => vec!["there is nothing to name yet".to_owned()],
            },
            SlashAction::ShowSession => {
                vec![words::session(&open.reader, open.file.as_deref(), self.voice.gauge())]
            }
            SlashAction::OpenThinking => vec![listing::thinking()],
            SlashAction::OpenSettings => listing::settings(&*outside),
            SlashAction::Export(request) => vec![match outside.export(&open, &request) {
                Ok(file) => format!("exported to {}", file.display()),
                Err(why) => format!("error: {why}"),
            }],
            SlashAction::Import(path) => {
                let path = resolve_path(&open.cwd, &path.to_string_lossy());
                self.send(SessionCommand::Switch(SwitchTo::Open(path)));
                Vec::new()
            }
            SlashAction::CopyAnswer => match listing::last_answer(&open.reader) {
                Some(answer) => answer.lines().map(ToOwned::to_owned).collect(),
                None => vec!["there is no answer yet".to_owned()],
            },
            SlashAction::Find(Some(text)) => listing::find(&open.reader, &text),
            SlashAction::Find(None) => vec!["say what to find: /find TEXT".to_owned()],
            SlashAction::Login(_) => {
                vec!["leave, and type: regrow login PROVIDER".to_owned()]
            }
            SlashAction::ShowHotkeys => listing::keys(),
            SlashAction::ShowHelp => listing::help(&self.templates),
            SlashAction::Reload => self.adopt(outside.reload(&open.cwd)),
        };
        self.say_all(&lines)
    }

    fn send_or_list(&self, found: Result<SessionCommand, Vec<String>>) -> Vec<String> {
        match found {
            Ok(command) => {
                self.send(command);
                Vec::new()
            }
            Err(lines) => lines,
        }
    }

    /// Goes by what was read again; says what is different.
    fn adopt(&mut self, reloaded: Reloaded) -> Vec<String> {
        let Reloaded { settings, templates, mut changed, problems, .. } = reloaded;
        if let Some(templates) = templates {
            self.templates = templates;
        }
        if let Some(settings) = settings {
            self.send(SessionCommand::UseSettings(settings));
        }
        if changed.is_empty() {
            changed.push("read again; nothing has changed".to_owned());
        }
        changed.extend(problems.into_iter().map(|problem| format!("warning: {problem}")));
        changed
    }

    /// Ctrl+C: stops what runs; with nothing to stop, the second one leaves.
    fn leaves_at_interrupt(&mut self) -> io::Result<bool> {
        if self.voice.busy() {
            self.send(SessionCommand::Abort);
            return Ok(false);
        }
        if std::mem::replace(&mut self.leaving, true) {
            return Ok(true);
        }
        self.joining = Joining::default();
        self.say("ctrl+c again leaves")?;
        Ok(false)
    }

    fn no_more_input(&mut self) -> io::Result<()> {
        self.input_ended = true;
        if std::mem::take(&mut self.at_prompt) {
            self.out.write_all(b"\n")?;
            self.out.flush()?;
        }
        self.refuse_all();
        self.send(SessionCommand::Finish);
        Ok(())
    }

    fn refuse_all(&self) {
        for question in &self.question {
            let reason = Some(super::NOBODY.to_owned());
            let (question, answer) = (question.question, PermissionAnswer::No { reason });
            self.send(SessionCommand::Permission { question, answer });
        }
    }
}
