//! `--mode rpc`: a program drives a session. Commands come in and events go out, one JSON object a
//! line; every command has its response (SPEC section 12, `assets/docs/rpc.md`).
//!
//! The session does not know of it: a command becomes a [`SessionCommand`], an event is written as it
//! comes. What a screen would look up in its own copy is answered from [`picture`] and the file.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::asking::{Aside, Question, Templates, answer_all};
use self::command::{Addressee, Refusal, Request, RpcCommand};
use self::picture::Picture;
use super::interrupt::Interrupts;
use super::lines::{Incoming, LONGEST, Lines, Writer, read_from};
use super::nobody_answers;
use super::print::RunEnd;
use crate::agent_session::SessionHandle;
use crate::agent_session::command::{Delivery, SessionCommand, SwitchTo};
use crate::agent_session::event::SessionEvent;
use crate::agent_session::queue::Prompt;
use crate::prompt::template::Template;
use crate::slash;
use crate::tool::{read_image, resolve_path};
use crate::tui::outside::Outside;

mod asking;
pub mod command;
mod picture;

/// The version of the protocol. It grows when something changes that a program may have relied on.
pub const PROTOCOL: u32 = 1;

/// What the mode needs besides the session.
pub struct RpcOptions {
    /// What is said first.
    pub prompt: Option<Prompt>,
    /// The person's own prompts.
    pub templates: Vec<Template>,
    /// Models, sessions, settings, exports.
    pub outside: Arc<dyn Outside>,
}

/// How long the last lines may take after a signal.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serves a program until it is done: it says so, its end of the pipe is closed, or a signal comes.
///
/// # Errors
/// Nobody reads what is written.
pub async fn run(
    handle: SessionHandle,
    options: RpcOptions,
    input: impl Read + Send + 'static,
    out: impl Write + Send + 'static,
) -> io::Result<RunEnd> {
    let mut interrupts = Interrupts::listen()?;
    let lines = Lines::to(out)?;
    let out = lines.writer();
    out.write(&json!({
        "type": "ready", "protocol": PROTOCOL, "version": env!("CARGO_PKG_VERSION"),
    }))?;
    let templates = Arc::new(Mutex::new(options.templates));
    let (asides, questions) = mpsc::unbounded_channel();
    let aside = Aside {
        outside: options.outside,
        templates: templates.clone(),
        session: handle.commands.clone(),
    };
    let answers = tokio::spawn(answer_all(questions, aside, out.clone()));
    let serving = Serving {
        handle,
        out,
        templates,
        asides,
        picture: Picture::default(),
        held: VecDeque::new(),
        echoes: 0,
        ending: false,
        input_ended: false,
        end: RunEnd::Answered,
    };
    if let Some(prompt) = options.prompt {
        serving.tell_session(prompt.into_command(Delivery::FollowUp));
    }
    let (end, lines) = serving.serve(read_from(input)?, &mut interrupts, lines).await?;
    if end == RunEnd::Interrupted {
        // Whoever sends a signal does not wait for a reader that may be stuck.
        answers.abort();
        tokio::time::timeout(FAREWELL, lines.finish()).await.ok();
        return Ok(end);
    }
    // What was asked before the end is still answered, and read.
    let rest = async {
        answers.await.map_err(io::Error::other)??;
        lines.finish().await
    };
    tokio::select! {
        written = rest => written.map(|()| end),
        _ = interrupts.next() => Ok(RunEnd::Interrupted),
    }
}

/// A response to one command.
#[derive(Debug, Serialize)]
struct Response<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: Value,
    command: Option<&'a str>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Writes a response; an answer without data is null.
fn respond(
    out: &Writer,
    id: Value,
    command: Option<&str>,
    answer: Result<Value, String>,
) -> io::Result<()> {
    let success = answer.is_ok();
    let (data, error) = match answer {
        Ok(Value::Null) => (None, None),
        Ok(data) => (Some(data), None),
        Err(error) => (None, Some(error)),
    };
    out.write(&Response { kind: "response", id, command, success, data, error })
}

/// The next line, once what was written before has been read: a program that asks and does not listen
/// fills its own pipe, not this memory.
async fn taken(input: &mut mpsc::Receiver<Incoming>, out: &Writer) -> Option<Incoming> {
    out.has_room().await;
    input.recv().await
}

struct Serving {
    handle: SessionHandle,
    out: Writer,
    templates: Templates,
    asides: mpsc::UnboundedSender<Question>,
    picture: Picture,
    /// Lookups that wait for what was asked before them, each with the number of its echo.
    held: VecDeque<(u64, Request)>,
    /// Echoes that were asked for.
    echoes: u64,
    /// Whether the session was asked to end.
    ending: bool,
    input_ended: bool,
    end: RunEnd,
}

impl Serving {
    async fn serve(
        mut self,
        mut input: mpsc::Receiver<Incoming>,
        interrupts: &mut Interrupts,
        mut lines: Lines,
    ) -> io::Result<(RunEnd, Lines)> {
        let room = self.out.clone();
        loop {
            tokio::select! {
                // What happened is told before what is asked next is answered.
                biased;
                _ = interrupts.next() => {
                    self.tell_session(SessionCommand::Abort);
                    self.tell_session(SessionCommand::Quit);
                    self.end = RunEnd::Interrupted;
                }
                error = lines.broken() => return Err(error),
                event = self.handle.events.recv() => {
                    let Some(event) = event else { return Ok((self.end, lines)) };
                    if let SessionEvent::Echo { number } = event {
                        self.look_up(number)?;
                        continue;
                    }
                    self.picture.take(&event);
                    self.out.write(&event)?;
                    match event {
                        SessionEvent::Ended => {
                            self.refuse_the_rest(&mut input)?;
                            return Ok((self.end, lines));
                        }
                        SessionEvent::PermissionAsked(_) if self.input_ended => self.refuse_all(),
                        _ => {}
                    }
                }
                incoming = taken(&mut input, &room), if !self.input_ended => match incoming {
                    Some(incoming) => self.incoming(incoming)?,
                    None => self.no_more_input(),
                },
            }
        }
    }

    /// A session that is over has told so.
    fn tell_session(&self, command: SessionCommand) {
        self.handle.commands.send(command).ok();
    }

    fn no_more_input(&mut self) {
        self.input_ended = true;
        self.refuse_all();
        self.tell_session(SessionCommand::Finish);
    }

    fn refuse_all(&self) {
        for question in self.picture.questions() {
            self.tell_session(nobody_answers(question));
        }
    }

    fn incoming(&mut self, incoming: Incoming) -> io::Result<()> {
        match incoming {
            Incoming::Line(line) if line.trim_ascii().is_empty() => Ok(()),
            Incoming::Line(line) => match command::read(&line) {
                Ok(request) => self.request(request),
                Err(Refusal { id, name, error }) => {
                    respond(&self.out, id, name.as_deref(), Err(error))
                }
            },
            Incoming::TooLong => {
                let error = format!("a line of more than {LONGEST} bytes was passed over");
                respond(&self.out, Value::Null, None, Err(error))
            }
            Incoming::Broken(error) => {
                respond(&self.out, Value::Null, None, Err(format!("cannot read on: {error}")))?;
                self.end = RunEnd::Failed;
                self.no_more_input();
                Ok(())
            }
        }
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        let Request { id, name, command } = request;
        let answer = match command.address() {
            Ok(Addressee::Session(_)) if self.ending => Err("the session is ending".to_owned()),
            Ok(Addressee::Session(command)) => self.fill_in(command).map(|command| {
                self.ending |= matches!(command, SessionCommand::Finish | SessionCommand::Quit);
                self.tell_session(command);
                Value::Null
            }),
            Ok(Addressee::Mode(command)) => {
                self.echoes += 1;
                self.held.push_back((self.echoes, Request { id, name, command }));
                self.tell_session(SessionCommand::Echo(self.echoes));
                return Ok(());
            }
            Err(error) => Err(error),
        };
        respond(&self.out, id, Some(&name), answer)
    }

    /// Answers what was held until the session had taken up all that was asked before it.
    fn look_up(&mut self, number: u64) -> io::Result<()> {
        while self.held.front().is_some_and(|(held, _)| *held <= number) {
            let Some((_, request)) = self.held.pop_front() else { return Ok(()) };
            match (&request.command, self.picture.session()) {
                (RpcCommand::State {}, _) => {
                    let state = self.picture.state();
                    respond(&self.out, request.id, Some(&request.name), Ok(state))?;
                }
                (_, Some(session)) => {
                    // They are answered until this end is dropped.
                    self.asides.send((request, session.clone())).ok();
                }
                (_, None) => {
                    let error = Err("no session is open".to_owned());
                    respond(&self.out, request.id, Some(&request.name), error)?;
                }
            }
        }
        Ok(())
    }

    /// The session is over: what waits for it is looked up, what comes too late is told so.
    fn refuse_the_rest(&mut self, input: &mut mpsc::Receiver<Incoming>) -> io::Result<()> {
        self.look_up(u64::MAX)?;
        self.ending = true;
        while let Ok(incoming) = input.try_recv() {
            self.incoming(incoming)?;
        }
        self.look_up(u64::MAX)
    }

    /// What a person's words stand for: a template's name for its text, a path for its file.
    fn fill_in(&self, command: SessionCommand) -> Result<SessionCommand, String> {
        let (text, images, delivery) = match command {
            SessionCommand::Prompt { text, images, delivery } => {
                let images = images.iter().map(read_image::checked).collect::<Result<_, _>>();
                (text, images?, delivery)
            }
            SessionCommand::Permission { question, .. }
                if !self.picture.questions().any(|open| open == question) =>
            {
                return Err(format!("no question {question} waits for an answer"));
            }
            SessionCommand::Switch(SwitchTo::Open(path)) => {
                let cwd = self.picture.session().map_or(Path::new(""), |open| &open.cwd);
                let path = resolve_path(cwd, &path.to_string_lossy());
                return Ok(SessionCommand::Switch(SwitchTo::Open(path)));
            }
            other => return Ok(other),
        };
        if !slash::names_a_command(&text) {
            return Ok(SessionCommand::Prompt { text, images, delivery });
        }
        let templates = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        let text = slash::fill_in(&text, &[], &templates).map_err(|error| error.to_string())?;
        Ok(SessionCommand::Prompt { text, images, delivery })
    }
}
