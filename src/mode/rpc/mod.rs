//! `--mode rpc`: a program drives a session. Commands come in and events go out, one JSON object a
//! line; every command has its response (SPEC section 12, `assets/docs/rpc.md`).
//!
//! The session does not know of it: a command becomes a [`SessionCommand`], an event is written as it
//! comes. What a screen would look up in its own copy is answered from [`picture`] and the file.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::asking::{Aside, Question, Templates, answer_all};
use self::command::{Addressee, Refusal, Request, RpcCommand};
use self::picture::Picture;
use super::interrupt::Interrupts;
use super::lines::{Incoming, LONGEST, Lines, Writer, read_from};
use super::print::RunEnd;
use crate::agent_session::SessionHandle;
use crate::agent_session::command::{Delivery, PermissionAnswer, SessionCommand, SwitchTo};
use crate::agent_session::event::SessionEvent;
use crate::agent_session::queue::Prompt;
use crate::prompt::template::{Expansion, Template, expand_line};
use crate::slash::{self, SlashError};
use crate::tool::resolve_path;
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
    let interrupts = Interrupts::listen()?;
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
    let serving =
        Serving { handle, out, templates, asides, picture: Picture::default(), input_ended: false };
    if let Some(Prompt { text, images }) = options.prompt {
        let delivery = Delivery::FollowUp;
        serving.tell_session(SessionCommand::Prompt { text, images, delivery });
    }
    let end = serving.serve(read_from(input)?, interrupts, lines).await?;
    // What was asked before the end is still answered.
    let lines = end.1;
    answers.await.map_err(io::Error::other)??;
    lines.finish().await?;
    Ok(end.0)
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

struct Serving {
    handle: SessionHandle,
    out: Writer,
    templates: Templates,
    asides: mpsc::UnboundedSender<Question>,
    picture: Picture,
    input_ended: bool,
}

impl Serving {
    async fn serve(
        mut self,
        mut input: mpsc::Receiver<Incoming>,
        mut interrupts: Interrupts,
        mut lines: Lines,
    ) -> io::Result<(RunEnd, Lines)> {
        let mut end = RunEnd::Answered;
        loop {
            tokio::select! {
                // What happened is told before what is asked next is answered.
                biased;
                _ = interrupts.next() => {
                    self.tell_session(SessionCommand::Abort);
                    self.tell_session(SessionCommand::Quit);
                    end = RunEnd::Interrupted;
                }
                error = lines.broken() => return Err(error),
                event = self.handle.events.recv() => {
                    let Some(event) = event else { return Ok((end, lines)) };
                    self.picture.take(&event);
                    self.out.write(&event)?;
                    match event {
                        SessionEvent::Ended => return Ok((end, lines)),
                        SessionEvent::PermissionAsked(_) if self.input_ended => self.refuse_all(),
                        _ => {}
                    }
                }
                incoming = input.recv(), if !self.input_ended => match incoming {
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
            let answer = PermissionAnswer::No { reason: Some(super::NOBODY.to_owned()) };
            self.tell_session(SessionCommand::Permission { question, answer });
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
                self.no_more_input();
                Ok(())
            }
        }
    }

    fn request(&self, request: Request) -> io::Result<()> {
        let Request { id, name, command } = request;
        let answer = match command.address() {
            Ok(Addressee::Session(command)) => self.fill_in(command).map(|command| {
                self.tell_session(command);
                Value::Null
            }),
            Ok(Addressee::Mode(RpcCommand::State {})) => Ok(self.picture.state()),
            Ok(Addressee::Mode(command)) => match self.picture.session() {
                Some(session) => {
                    let question = (Request { id, name, command }, session.clone());
                    // They are answered until this end is dropped.
                    self.asides.send(question).ok();
                    return Ok(());
                }
                None => Err("no session is open yet".to_owned()),
            },
            Err(error) => Err(error),
        };
        respond(&self.out, id, Some(&name), answer)
    }

    /// What a person's words stand for: a template's name for its text, a path for its file.
    fn fill_in(&self, command: SessionCommand) -> Result<SessionCommand, String> {
        let (text, images, delivery) = match command {
            SessionCommand::Prompt { text, images, delivery } => (text, images, delivery),
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
        match expand_line(&templates, &text, &[]) {
            Expansion::Prompt(text) => Ok(SessionCommand::Prompt { text, images, delivery }),
            Expansion::Unknown(nearest) => {
                let name = text.split_whitespace().next().unwrap_or_default();
                let name = name.trim_start_matches('/').to_owned();
                Err(match slash::find(&name) {
                    Some(_) => format!(
                        "/{name} is typed on the screen; programs send a command of its own \
                         (a space before the slash sends it as text)"
                    ),
                    None => SlashError::Unknown { name, nearest }.to_string(),
                })
            }
        }
    }
}
