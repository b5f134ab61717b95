//! `--plain`: the conversation line by line, for screen readers, for terminals that can do nothing else,
//! and for pipes. Lines come in as the terminal edits them; what happens goes out as words ([`voice`]).
//! No escape sequence is written, and nothing that was written is changed.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use self::typed::{Joining, Typed};
use self::voice::Voice;
use super::interrupt::{Interrupt, Interrupts};
use super::lines::{Incoming, Lines, Writer, read_from};
use super::nobody_answers;
use super::print::RunEnd;
use crate::agent_session::SessionHandle;
use crate::agent_session::command::{
    Delivery, Navigation, SessionCommand, SummaryChoice, SwitchTo,
};
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
    /// Whether a branch that is left is summarised (B8).
    pub summarize: bool,
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
    out: impl Write + Send + 'static,
) -> io::Result<RunEnd> {
    let mut interrupts = Interrupts::listen()?;
    let mut lines = Lines::to(out)?;
    let mut input = read_from(input)?;
    let mut talk = Talk {
        handle,
        outside: options.outside,
        templates: options.templates,
        terminal: options.terminal,
        out: lines.writer(),
        voice: Voice::default(),
        session: None,
        question: Vec::new(),
        joining: Joining::default(),
        choose: options.choose && options.prompt.is_none(),
        summarize: options.summarize,
        at_prompt: false,
        leaving: false,
        input_ended: false,
        awaited: 0,
        kept: VecDeque::new(),
        end: RunEnd::Answered,
    };
    talk.say(&format!("regrow {}; /help lists the commands", env!("CARGO_PKG_VERSION")));
    if let Some(prompt) = options.prompt {
        talk.send(prompt.into_command(Delivery::FollowUp));
    }
    talk.await_echo();
    loop {
        while talk.is_ready() && talk.question.is_empty() {
            let Some(line) = talk.kept.pop_front() else { break };
            talk.typed(&line);
        }
        if talk.is_ready() && talk.handle.events.is_empty() {
            talk.prompt();
        }
        tokio::select! {
            biased;
            interrupt = interrupts.next() => {
                if interrupt == Interrupt::Demand || talk.leaves_at_interrupt() {
                    talk.send(SessionCommand::Abort);
                    talk.send(SessionCommand::Quit);
                    talk.end = RunEnd::Interrupted;
                }
            }
            error = lines.broken() => return Err(error),
            event = talk.handle.events.recv() => match event {
                None | Some(SessionEvent::Ended) => break,
                Some(event) => talk.event(event),
            },
            line = input.recv(), if talk.takes_lines() => match line {
                Some(Incoming::Line(line)) => {
                    let burst = talk.burst(line, &mut input).await;
                    talk.heard(burst);
                }
                Some(other) => talk.not_heard(other),
                None => talk.no_more_input(),
            },
        }
    }
    let end = talk.end;
    drop(talk);
    tokio::select! {
        written = lines.finish() => written.map(|()| end),
        _ = interrupts.next() => Ok(RunEnd::Interrupted),
        () = tokio::time::sleep(FAREWELL), if end == RunEnd::Interrupted => Ok(end),
    }
}

/// How long the last lines may take after a signal.
const FAREWELL: Duration = Duration::from_secs(1);

struct Talk {
    handle: SessionHandle,
    outside: Arc<dyn Outside>,
    templates: Vec<Template>,
    terminal: bool,
    out: Writer,
    voice: Voice,
    session: Option<OpenSession>,
    /// Questions that wait, the oldest first.
    question: Vec<PermissionQuestion>,
    joining: Joining,
    /// Whether the sessions are listed once one is open.
    choose: bool,
    /// Whether a branch that is left is summarised (B8).
    summarize: bool,
    /// Whether the last thing that was written is the prompt.
    at_prompt: bool,
    /// Whether Ctrl+C was pressed with nothing to stop.
    leaving: bool,
    input_ended: bool,
    /// Lines that the session has not taken up yet.
    awaited: u64,
    /// Lines of a pipe that came while a question waited, and were no answer to it.
    kept: VecDeque<String>,
    end: RunEnd,
}

impl Talk {
    /// A session that is over has told so.
    fn send(&self, command: SessionCommand) {
        self.handle.commands.send(command).ok();
    }

    fn say(&mut self, line: &str) {
        let feed = if std::mem::take(&mut self.at_prompt) { "\n" } else { "" };
        self.out.write_bytes(format!("{feed}{line}\n").into_bytes());
    }

    fn say_all(&mut self, lines: &[String]) {
        for line in lines {
            self.say(line);
        }
    }

    /// Shows that a line is awaited.
    fn prompt(&mut self) {
        if self.terminal && !self.at_prompt && !self.input_ended {
            let sign = match (self.question.is_empty(), self.joining.goes_on()) {
                (false, _) => "? ",
                (true, true) => "+ ",
                (true, false) => "> ",
            };
            self.out.write_bytes(sign.into());
            self.at_prompt = true;
        }
    }

    fn event(&mut self, event: SessionEvent) {
        let said = self.voice.hear(&event);
        self.say_all(&said);
        match event {
            SessionEvent::Opened { reader, file, cwd, .. } => {
                self.session = Some(OpenSession { reader, file, cwd });
                if std::mem::take(&mut self.choose) {
                    self.act(SlashAction::OpenSessions(None));
                }
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
    }

    /// A person may type at any time; the lines of a pipe follow one another.
    fn takes_lines(&self) -> bool {
        !self.input_ended && (self.terminal || self.is_ready())
    }

    /// Whether a line is awaited: what was typed is taken up, and nothing runs or a question waits.
    fn is_ready(&self) -> bool {
        self.awaited == 0 && (!self.question.is_empty() || !self.voice.busy())
    }

    /// A line, and those that were pasted with it.
    async fn burst(&mut self, first: Vec<u8>, input: &mut mpsc::Receiver<Incoming>) -> Vec<String> {
        let mut lines = vec![String::from_utf8_lossy(&first).into_owned()];
        while self.terminal {
            match tokio::time::timeout(PASTE, input.recv()).await {
                Ok(Some(Incoming::Line(line))) => {
                    lines.push(String::from_utf8_lossy(&line).into_owned());
                }
                Ok(Some(other)) => self.not_heard(other),
                Ok(None) | Err(_) => break,
            }
        }
        lines
    }

    /// A paste is one text, but never an answer.
    fn heard(&mut self, lines: Vec<String>) {
        // The terminal has gone to the next line by itself.
        (self.at_prompt, self.leaving) = (false, false);
        match (self.question.first(), lines.as_slice()) {
            (Some(_), [line]) => self.answered(line),
            (Some(_), lines) => {
                let text = format!("{} lines came at once; that is no answer", lines.len());
                self.say(&text);
            }
            (None, lines) => self.typed(&lines.join("\n")),
        }
    }

    fn not_heard(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Broken(why) => {
                self.say(&format!("error: {why}"));
                self.end = RunEnd::Failed;
                self.no_more_input();
            }
            _ => self.say("error: that line is too long; it was passed over"),
        }
    }

    fn answered(&mut self, line: &str) {
        let Some(question) = self.question.first() else { return };
        let number = question.question;
        match typed::answer(line, question) {
            Ok(answer) => {
                self.send(SessionCommand::Permission { question: number, answer });
                self.await_echo();
            }
            Err(why) if self.terminal => self.say(&why),
            // Whoever writes into the pipe does not know of the question.
            Err(_) => {
                self.kept.push_back(line.to_owned());
                self.send(nobody_answers(number));
                self.await_echo();
            }
        }
    }

    fn typed(&mut self, line: &str) {
        self.understand(line);
        self.await_echo();
    }

    fn understand(&mut self, line: &str) {
        let Some(text) = self.joining.line(line) else { return };
        match typed::read(&text, &self.templates) {
            Typed::Nothing => {}
            Typed::Act(action) => self.act(action),
            Typed::Wrong(why) => self.say(&format!("error: {why}")),
        }
    }

    fn await_echo(&mut self) {
        self.awaited += 1;
        self.send(SessionCommand::Echo(self.awaited));
    }

    /// Carries out a command that the screen opens something for.
    fn act(&mut self, action: SlashAction) {
        let Some(open) = self.session.clone() else { return self.say("no session is open yet") };
        let outside = self.outside.clone();
        let lines = match action {
            SlashAction::Send(command) => {
                self.send(command);
                Vec::new()
            }
            SlashAction::OpenTree(None) => listing::tree(&open.reader),
            SlashAction::OpenTree(Some(_)) if self.voice.busy() => {
                vec!["something runs; ctrl+c stops it".to_owned()]
            }
            SlashAction::OpenTree(Some(target)) => {
                let summary =
                    if self.summarize { SummaryChoice::Default } else { SummaryChoice::None };
                self.send(SessionCommand::Navigate(Navigation { target, summary, label: None }));
                Vec::new()
            }
            SlashAction::OpenSessions(search) => {
                let sessions = outside.sessions();
                self.send_or_list(listing::sessions(&sessions, search.as_deref()))
            }
            SlashAction::Model(wanted) => {
                self.send_or_list(listing::models(&*outside, wanted.as_deref()))
            }
            SlashAction::LabelLeaf(label) => match open.reader.tree().leaf_id() {
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
        self.say_all(&lines);
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
            self.summarize = settings.branch_summary.enabled;
            self.send(SessionCommand::UseSettings(settings));
        }
        if changed.is_empty() {
            changed.push("read again; nothing has changed".to_owned());
        }
        changed.extend(problems.into_iter().map(|problem| format!("warning: {problem}")));
        changed
    }

    /// Ctrl+C: stops what runs; with nothing to stop, the second one leaves.
    fn leaves_at_interrupt(&mut self) -> bool {
        if self.voice.busy() {
            self.send(SessionCommand::Abort);
            return false;
        }
        if std::mem::replace(&mut self.leaving, true) {
            return true;
        }
        self.joining = Joining::default();
        self.say("ctrl+c again leaves");
        false
    }

    /// What was sent comes to its end, and that is the end.
    fn no_more_input(&mut self) {
        self.input_ended = true;
        if std::mem::take(&mut self.at_prompt) {
            self.out.write_bytes(b"\n".into());
        }
        self.refuse_all();
        for line in std::mem::take(&mut self.kept) {
            self.understand(&line);
        }
        self.send(SessionCommand::Finish);
    }

    fn refuse_all(&self) {
        for question in &self.question {
            self.send(nobody_answers(question.question));
        }
    }
}
