//! One session in motion: it owns the file, the tree, the queue and whatever runs.
//!
//! [`AgentSession::run`] is one loop over commands of the person, news of the running work and one
//! timer. Handlers are synchronous: they decide, append, tell the shell, and start the next piece of
//! work. Appending comes first, telling second, so that the screen never shows what a crash would
//! take back. Work that was stopped may still send news; its epoch is over by then and nobody listens
//! (I7, F14).

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::compaction::breaker::Breaker;
use crate::compaction::summarizer::Summarizer;
use crate::compaction::tokens::Estimator;
use crate::hook::chain::Hooks;
use crate::hook::told::Told;
use crate::ids::Stamper;
use crate::message::Message;
use crate::prompt::source::PromptSource;
use crate::provider::model::Model;
use crate::provider::retry::RetryPolicy;
use crate::provider::{Providers, ThinkingLevel};
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::reader::SessionReader;
use crate::session::store::SessionStore;
use crate::session::tree::NodeIndex;
use crate::settings::Settings;
use crate::tool::ToolRegistry;
use crate::tool::permission::SessionGrants;
use activity::{Activity, Work};
use command::{PermissionAnswer, SessionCommand};
use event::{ActivityKind, NoticeLevel, SessionEvent};
use queue::Queue;

mod activity;
pub mod command;
mod compact;
pub mod event;
mod gauge;
mod hooks;
mod making;
mod navigate;
mod next_step;
mod permission;
mod prune;
pub mod queue;
mod report;
mod request;
mod sample;
mod shell;
mod stop;
mod switch;
mod turn;

/// A shell's two ends of a running session: wishes go in, events come out, and nothing else passes.
#[derive(Debug)]
pub struct SessionHandle {
    /// Takes wishes; never waits.
    pub commands: mpsc::UnboundedSender<SessionCommand>,
    /// Gives events; ends after [`SessionEvent::Ended`].
    pub events: mpsc::UnboundedReceiver<SessionEvent>,
}

/// Whether a person is there to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// Questions go to the shell and wait for an answer.
    Attended,
    /// What would be asked is refused (A3).
    Unattended,
}

/// What a session is built from; chosen in `startup`.
pub struct SessionDeps {
    /// The models.
    pub providers: Arc<dyn Providers>,
    /// The tools on offer.
    pub tools: ToolRegistry,
    /// The settings of the run.
    pub settings: Arc<Settings>,
    /// Clock and ids.
    pub stamper: Arc<dyn Stamper>,
    /// Builds the system prompt of each request (X5).
    pub prompts: Arc<dyn PromptSource>,
    /// Makes the summaries.
    pub summarizer: Arc<Summarizer>,
    /// When failed requests are made again.
    pub retry: RetryPolicy,
    /// Whether a person is there.
    pub attendance: Attendance,
    /// How tokens are estimated.
    pub estimator: Estimator,
    /// The folder in which new sessions are made.
    pub session_dir: PathBuf,
    /// Who watches, in order, by the settings in force (SPEC section 6).
    pub hooks: HookSource,
}

/// See [`SessionDeps::hooks`].
pub type HookSource = Arc<dyn Fn(&Settings) -> Hooks + Send + Sync>;

/// A session in motion. See the module's page.
pub struct AgentSession {
    deps: SessionDeps,
    store: SessionStore,
    model: Arc<Model>,
    /// Tokens that fit in: the model's window, or less when a server turned out to have a smaller one.
    window: u64,
    thinking: ThinkingLevel,
    grants: Arc<Mutex<SessionGrants>>,

    queue: Queue,
    steer: watch::Sender<bool>,
    activity: Activity,
    turn: turn::TurnState,
    breaker: Breaker,
    /// Tokens of system prompt and tools, as of the last request.
    overhead: u64,
    /// What the model in force counted last, beside what had been estimated for it.
    measured: Option<request::Measured>,
    totals: gauge::Totals,
    /// Images up to this entry were refused by the model in force; it gets placeholders (F68).
    refused_images: Option<NodeIndex>,
    /// Done as soon as nothing runs: the command that had to stop something first.
    after_stop: Option<SessionCommand>,
    questions: Vec<(u64, oneshot::Sender<PermissionAnswer>)>,
    next_question: u64,

    /// Hooks that are told of what has happened, behind what runs.
    telling: hooks::Telling,
    hooks: Hooks,
    epoch: u64,
    work_sender: mpsc::UnboundedSender<(u64, Work)>,
    work: mpsc::UnboundedReceiver<(u64, Work)>,
    events: mpsc::UnboundedSender<SessionEvent>,
    /// Whether the session ends with what runs.
    finishing: bool,
    ended: bool,
}

/// Where running work sends its news. What arrives after its epoch is ignored.
#[derive(Clone)]
struct Reports {
    epoch: u64,
    sender: mpsc::UnboundedSender<(u64, Work)>,
}

impl Reports {
    fn send(&self, work: Work) {
        // The session may be over; then nobody needs to know.
        self.sender.send((self.epoch, work)).ok();
    }
}

/// What is told when a task of ours panicked.
const INTERNAL_ERROR: &str = "an internal error ended this; the log has the details";

impl AgentSession {
    /// Makes a session ready to run on an open store, and the handle for its shell. `warnings` are
    /// told to the shell when the session runs.
    #[must_use]
    pub fn new(
        deps: SessionDeps,
        store: SessionStore,
        warnings: Vec<String>,
        model: Arc<Model>,
        thinking: ThinkingLevel,
    ) -> (Self, Commands, SessionHandle) {
        let (command_sender, commands) = mpsc::unbounded_channel();
        let (event_sender, events) = mpsc::unbounded_channel();
        let (work_sender, work) = mpsc::unbounded_channel();
        let mut session = Self {
            hooks: (deps.hooks)(&deps.settings),
            deps,
            store,
            window: model.context_window,
            model,
            thinking,
            grants: Arc::default(),
            queue: Queue::default(),
            steer: watch::Sender::new(false),
            activity: Activity::Idle,
            turn: turn::TurnState::default(),
            breaker: Breaker::default(),
            overhead: 0,
            measured: None,
            totals: gauge::Totals::default(),
            refused_images: None,
            after_stop: None,
            questions: Vec::new(),
            next_question: 1,
            telling: hooks::Telling::default(),
            epoch: 0,
            work_sender,
            work,
            events: event_sender,
            finishing: false,
            ended: false,
        };
        session.announce(warnings);
        (session, Commands(commands), SessionHandle { commands: command_sender, events })
    }

    /// Runs until [`SessionCommand::Quit`], or until the shell has gone.
    pub async fn run(mut self, commands: Commands) {
        let Commands(mut commands) = commands;
        let mut shell_is_there = true;
        self.tell_hooks(|session| {
            Told::session_start(if session.leaf().is_some() { "resume" } else { "startup" })
        });
        while !self.ended {
            let alarm = match &self.activity {
                Activity::Waiting { until } => Some(*until),
                _ => None,
            };
            tokio::select! {
                command = commands.recv(), if shell_is_there => match command {
                    Some(command) => self.command(command),
                    None => {
                        shell_is_there = false;
                        self.command(SessionCommand::Quit);
                    }
                },
                Some((epoch, work)) = self.work.recv() => {
                    if epoch == self.epoch {
                        self.news(work);
                    }
                }
                () = sleep_until(alarm) => self.try_again(),
            }
        }
        self.tell_hooks(|_| Told::session_shutdown("quit"));
        self.farewell(&mut commands).await;
        self.tell(SessionEvent::Ended);
    }

    fn command(&mut self, command: SessionCommand) {
        match command {
            SessionCommand::Prompt { text, images, delivery } => {
                self.prompt(queue::Prompt { text, images }, delivery);
            }
            SessionCommand::Abort => self.abort(),
            SessionCommand::TakeQueue => self.return_queue(Vec::new()),
            SessionCommand::Compact { instructions } => self.compact_by_hand(instructions),
            SessionCommand::PlanCompaction => self.show_plan(),
            SessionCommand::UndoCompaction => self.undo_compaction(),
            SessionCommand::Unprune => self.unprune(),
            SessionCommand::Navigate(navigation) => self.navigate(navigation),
            SessionCommand::Label { target, label } => self.label(target, label),
            SessionCommand::Name(name) => {
                self.append(EntryBody::SessionInfo { name: Some(name) });
            }
            SessionCommand::Shell { command, excluded } => self.shell(command, excluded),
            SessionCommand::UseSettings(settings) => self.use_settings(settings),
            SessionCommand::SetModel(model) => self.set_model(&model),
            SessionCommand::SetThinking(level) => self.set_thinking(level),
            SessionCommand::Permission { question, answer } => {
                self.settle_question(question, answer)
            }
            SessionCommand::ShowContext => self.show_context(),
            SessionCommand::Switch(to) => self.switch(to),
            SessionCommand::Echo(number) => self.tell(SessionEvent::Echo { number }),
            SessionCommand::Finish => self.finish(),
            SessionCommand::Quit => self.quit(),
        }
    }

    fn news(&mut self, work: Work) {
        match work {
            Work::Agent(event) => self.agent_event(event),
            Work::RoundEnded(end) => self.round_ended(end),
            Work::Ask { question, reply } => self.ask(question, reply),
            Work::HooksBegin => self.tell(SessionEvent::Activity { kind: ActivityKind::Hooks }),
            Work::HooksDone => self.tell(SessionEvent::Activity { kind: self.activity.kind() }),
            Work::Heard(heard) => self.heard(heard),
            Work::Progress(progress) => self.tell(SessionEvent::Progress(progress)),
            Work::Compacted(result) => self.compacted(result),
            Work::BranchSummarized(result) => self.branch_summarized(result),
            Work::ShellOutput(text) => self.shell_output(text),
            Work::ShellEnded(message) => self.shell_ended(message),
        }
    }

    /// Starts a piece of work: earlier work is no longer listened to.
    fn begin(&mut self) -> (CancellationToken, Reports) {
        self.epoch += 1;
        (CancellationToken::new(), Reports { epoch: self.epoch, sender: self.work_sender.clone() })
    }

    fn set_activity(&mut self, activity: Activity) {
        self.activity = activity;
        self.tell(SessionEvent::Activity { kind: self.activity.kind() });
    }

    /// Nothing runs any more. A command that waited for this is done now.
    fn become_idle(&mut self) {
        self.epoch += 1;
        self.close_turn();
        self.drop_questions();
        self.set_activity(Activity::Idle);
        if let Some(command) = self.after_stop.take() {
            self.command(command);
        }
        self.end_if_finished();
    }

    /// Runs a piece of work and reports what it comes to, even if it panics: no end of work may fail
    /// to arrive (F100).
    fn spawn_work(
        reports: Reports,
        work: impl Future<Output = Work> + Send + 'static,
        panicked: impl FnOnce() -> Work + Send + 'static,
    ) {
        tokio::spawn(async move {
            let end = std::panic::AssertUnwindSafe(work).catch_unwind().await;
            reports.send(end.unwrap_or_else(|_| panicked()));
        });
    }

    /// The work is over: what was queued meanwhile is said, unless a command waits for the session to
    /// be idle.
    fn deliver_or_rest(&mut self) {
        if self.after_stop.is_some() {
            self.return_queue(Vec::new());
        }
        if self.queue.is_empty() { self.end_turn() } else { self.deliver_queue() }
    }

    /// Says that a session open read-only cannot go on. `false` when it can.
    fn refuse_read_only(&self) -> bool {
        let read_only = self.store.is_read_only();
        if read_only {
            self.complain(
                "this session is open read-only; /fork continues it in a file of its own",
            );
        }
        read_only
    }

    /// Gives what waits back to the editor (U3, C24), `first` in front.
    fn return_queue(&mut self, first: Vec<queue::Prompt>) {
        let prompts: Vec<_> = first.into_iter().chain(self.queue.take_all()).collect();
        self.queue_changed();
        self.give_back(prompts);
    }

    /// Gives prompts back to the editor.
    fn give_back(&self, prompts: Vec<queue::Prompt>) {
        if prompts.is_empty() {
            return;
        }
        let texts: Vec<_> = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
        let text = texts.join("\n\n");
        let images = prompts.into_iter().flat_map(|prompt| prompt.images).collect();
        self.tell(SessionEvent::QueueReturned { text, images });
    }

    fn queue_changed(&self) {
        self.steer.send_replace(self.queue.has_steering());
        let (steering, follow_up) = self.queue.texts();
        self.tell(SessionEvent::Queue { steering, follow_up });
    }

    fn reader(&self) -> SessionReader {
        self.store.reader().clone()
    }

    fn leaf(&self) -> Option<NodeIndex> {
        self.store.reader().tree().leaf()
    }

    /// Appends an entry at the leaf and tells the shell. `None`, after a notice, when it could not be
    /// written; whatever runs is stopped then, because what it does next could not be kept either.
    fn append(&mut self, body: EntryBody) -> Option<Arc<SessionEntry>> {
        let leaf = self.leaf();
        self.append_at(leaf, body)
    }

    fn append_at(
        &mut self,
        parent: Option<NodeIndex>,
        body: EntryBody,
    ) -> Option<Arc<SessionEntry>> {
        let stamper = self.deps.stamper.clone();
        let moves = parent != self.leaf();
        match self.store.append_at(parent, body.clone(), stamper.as_ref()) {
            // What stands elsewhere is shown by the move that follows.
            Ok(entry) if moves => {
                self.count(&entry);
                Some(entry)
            }
            Ok(entry) => {
                self.appended(&entry);
                Some(entry)
            }
            Err(error) => {
                self.complain(format!("{error}; /export saves the conversation elsewhere"));
                // What cannot be made again stays on the screen, and goes to disk as soon as it takes it.
                let kept = cannot_be_repeated(&body) && parent == self.leaf();
                if kept && !self.store.is_read_only() {
                    let entry = self.store.hold(body, stamper.as_ref());
                    self.appended(&entry);
                }
                self.stop();
                None
            }
        }
    }

    fn appended(&mut self, entry: &Arc<SessionEntry>) {
        self.count(entry);
        self.tell(SessionEvent::Appended { entry: entry.clone() });
        for notice in self.store.take_notices() {
            self.notice(NoticeLevel::Warning, notice);
        }
    }

    /// Makes sure that everything appended is on disk (J7); a failure is told.
    fn sync(&mut self) {
        if let Err(error) = self.store.sync() {
            self.complain(chain(&error));
        }
    }

    fn tell(&self, event: SessionEvent) {
        // A shell that has gone needs no events; the loop ends when its commands end.
        self.events.send(event).ok();
    }

    fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.tell(SessionEvent::Notice { level, text: text.into() });
    }

    fn complain(&self, text: impl Into<String>) {
        self.notice(NoticeLevel::Error, text);
    }
}

/// Whether an entry would be lost if it were not kept in memory: a prompt goes back to the editor and
/// a summary can be made again, an answer or a result cannot.
const fn cannot_be_repeated(body: &EntryBody) -> bool {
    matches!(
        body,
        EntryBody::Message {
            message: Message::Assistant(_) | Message::ToolResult(_) | Message::BashExecution(_)
        }
    )
}

/// The session's end of the command channel.
#[derive(Debug)]
pub struct Commands(mpsc::UnboundedReceiver<SessionCommand>);

async fn sleep_until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => tokio::time::sleep_until(alarm).await,
        None => std::future::pending().await,
    }
}

/// An error and its causes in one sentence.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}
