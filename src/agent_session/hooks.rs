//! Where a session runs its hooks (SPEC section 6, F81): the one place from which chains start.
//!
//! What can stop or change something is waited for, as a part of what runs, so that Escape stops it.
//! What only tells goes to a line of its own behind it: told in order, never waited for but at the
//! end of the session. A failing hook is a notice to the person.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::activity::{Activity, Work};
use super::command::SessionCommand;
use super::event::{NoticeLevel, SessionEvent};
use super::queue::{Prompt, Saying};
use super::{AgentSession, Attendance};
use crate::agent::tool_calls::{CallVerdict, CallWatch, Change, bounded_text};
use crate::hook::chain::{Cancelled, ChainEnd, Hooks, Occasion};
use crate::hook::conversation::{AfterCall, BeforeCall, BeforePrompt};
use crate::hook::told::Told;
use crate::hook::{EventName, SessionFacts};
use crate::message::{Content, Message, ToolCall, ToolResultMessage};
use crate::session::entry::EntryBody;
use crate::session::tree::NodeKind;
use crate::tool::truncate::one_line;

/// The `customType` of what hooks add to a prompt.
const ADDITION: &str = "regrow.hook";

/// How long hooks that are told of something may hold up leaving while a person waits.
const FAREWELL: Duration = Duration::from_secs(5);

/// Characters of rewritten arguments that the model is shown above the result.
const SHOWN_ARGUMENTS: usize = 2_000;

/// The hooks of a session, the facts that they are told, and where their failures are told.
#[derive(Clone)]
pub(super) struct HookDesk {
    hooks: Hooks,
    facts: SessionFacts,
    events: mpsc::UnboundedSender<SessionEvent>,
}

impl HookDesk {
    /// Whether any hook wants such an event.
    pub(super) fn wants(&self, event: EventName) -> bool {
        self.hooks.want(event, None)
    }

    /// What hooks are told of the session.
    pub(super) const fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// Runs the hooks that want an event.
    pub(super) async fn run(
        &self,
        occasion: &mut dyn Occasion,
        cancel: &CancellationToken,
    ) -> ChainEnd {
        let report = |text| {
            let notice = SessionEvent::Notice { level: NoticeLevel::Warning, text };
            // A shell that has gone needs no notices.
            self.events.send(notice).ok();
        };
        self.hooks.run(occasion, &self.facts, cancel, &report).await
    }
}

/// What hooks made of one prompt.
#[derive(Debug)]
pub(super) enum Heard {
    /// It is said.
    Passed(Saying),
    /// It goes back to the editor.
    HeldBack(Prompt, Cancelled),
}

/// The entry of what hooks add to a prompt. It takes no more room than a tool's result may.
pub(super) fn addition(texts: &[String], max_tokens: u64) -> EntryBody {
    EntryBody::CustomMessage {
        custom_type: ADDITION.to_owned(),
        content: Content::from_text(bounded_text(&texts.join("\n\n"), max_tokens)),
        display: true,
        details: None,
    }
}

impl AgentSession {
    pub(super) fn desk(&self) -> HookDesk {
        let header = self.store.header();
        let facts = SessionFacts {
            id: header.id.clone(),
            file: self.store.planned_path().map(PathBuf::from),
            cwd: header.cwd.clone().into(),
        };
        HookDesk { hooks: self.hooks.clone(), facts, events: self.events.clone() }
    }

    pub(super) fn hooks_want(&self, event: EventName) -> bool {
        self.hooks.want(event, None)
    }

    /// Lets hooks look at prompts before they are said.
    pub(super) fn let_hooks_hear(&mut self, prompts: Vec<Prompt>) {
        let (cancel, reports) = self.begin();
        let desk = self.desk();
        let token = cancel.clone();
        let said = prompts.clone();
        let work = async move { Work::Heard(hear(&desk, said, &token).await) };
        Self::spawn_work(reports, work, || Work::Heard(None));
        self.set_activity(Activity::Hearing { cancel, prompts });
    }

    pub(super) fn heard(&mut self, heard: Option<Vec<Heard>>) {
        let Activity::Hearing { cancel, prompts } = std::mem::take(&mut self.activity) else {
            return;
        };
        let Some(heard) = heard.filter(|_| !cancel.is_cancelled()) else {
            self.return_queue(prompts);
            self.become_idle();
            return;
        };
        let mut sayings = Vec::new();
        for heard in heard {
            match heard {
                Heard::Passed(saying) => sayings.push(saying),
                Heard::HeldBack(prompt, cancelled) => {
                    self.complain(format!("your prompt was not sent: {cancelled}"));
                    self.give_back(vec![prompt]);
                }
            }
        }
        if sayings.is_empty() { self.deliver_or_rest() } else { self.say_heard(sayings) }
    }

    /// Who watches the calls of a round; nobody when no hook wants to.
    pub(super) fn call_watch(&self) -> Option<Arc<dyn CallWatch>> {
        let about_calls = [EventName::ToolCall, EventName::ToolResult];
        let watches = about_calls.into_iter().any(|event| self.hooks_want(event));
        watches.then(|| Arc::new(HookedCalls(self.desk())) as Arc<dyn CallWatch>)
    }

    /// Tells hooks of something, behind whatever runs.
    pub(super) fn tell_hooks(&mut self, told: impl FnOnce(&Self) -> Told) {
        if self.hooks.is_empty() {
            return;
        }
        let told = told(self);
        if self.hooks_want(told.event()) {
            let desk = self.desk();
            self.telling.tell(desk, told);
        }
    }

    /// Tells of a turn's end, once.
    pub(super) fn close_turn(&mut self) {
        if std::mem::take(&mut self.turn.open) && self.hooks_want(EventName::TurnEnd) {
            self.tell_hooks(Self::turn_end);
        }
    }

    /// What was said since the person spoke last.
    pub(super) fn turn_end(&self) -> Told {
        let nodes = {
            let tree = self.store.reader().tree();
            let above = tree.leaf().into_iter().flat_map(|leaf| tree.ancestors(leaf));
            let is_user = |index: &_| matches!(tree.node(*index).kind, NodeKind::User);
            let mut nodes: Vec<_> = above.take_while(|index| !is_user(index)).collect();
            nodes.reverse();
            nodes
        };
        let (messages, _) = self.store.reader().messages(&nodes);
        let messages: Vec<_> = messages.into_iter().map(|(_, message)| message).collect();
        let is_answer = |message: &&Arc<Message>| matches!(***message, Message::Assistant(_));
        let answer = messages.iter().rfind(is_answer).map(AsRef::as_ref);
        let is_result = |message: &&Arc<Message>| matches!(***message, Message::ToolResult(_));
        let results: Vec<_> = messages.iter().filter(is_result).cloned().collect();
        Told::turn_end(answer, &results)
    }

    /// Waits for hooks that are still being told. A person who waits is not kept for long, and a
    /// second wish to stop or leave ends it.
    pub(super) async fn farewell(
        &mut self,
        commands: &mut mpsc::UnboundedReceiver<SessionCommand>,
    ) {
        let Some(mut line) = self.telling.close() else { return };
        let impatience = async {
            while let Some(command) = commands.recv().await {
                if matches!(command, SessionCommand::Abort | SessionCommand::Quit) {
                    return;
                }
            }
            std::future::pending().await
        };
        let limit = async {
            match self.deps.attendance {
                Attendance::Attended => tokio::time::sleep(FAREWELL).await,
                Attendance::Unattended => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = &mut line => return,
            () = impatience => {}
            () = limit => {
                self.notice(NoticeLevel::Warning, "hooks that had not ended yet were stopped");
            }
        }
        self.telling.stop();
        line.await.ok();
    }
}

async fn hear(
    desk: &HookDesk,
    prompts: Vec<Prompt>,
    cancel: &CancellationToken,
) -> Option<Vec<Heard>> {
    let mut heard = Vec::with_capacity(prompts.len());
    for prompt in prompts {
        let mut occasion = BeforePrompt::new(prompt.text.clone(), prompt.images.clone());
        heard.push(match desk.run(&mut occasion, cancel).await {
            ChainEnd::Passed => Heard::Passed(Saying { prompt, added: occasion.context }),
            ChainEnd::Cancelled(cancelled) => Heard::HeldBack(prompt, cancelled),
            ChainEnd::Stopped => return None,
        });
    }
    Some(heard)
}

/// The line of what is told. Its task starts with the first word and lives as long as the session.
#[derive(Default)]
pub(super) struct Telling {
    line: Option<(mpsc::UnboundedSender<Word>, JoinHandle<()>)>,
    cancel: CancellationToken,
}

type Word = (HookDesk, Told, CancellationToken);

impl Telling {
    fn tell(&mut self, desk: HookDesk, told: Told) {
        let (sender, _) = self.line.get_or_insert_with(|| {
            let (sender, mut words) = mpsc::unbounded_channel::<Word>();
            let task = tokio::spawn(async move {
                while let Some((desk, mut told, cancel)) = words.recv().await {
                    desk.run(&mut told, &cancel).await;
                }
            });
            (sender, task)
        });
        // The task ends only when this end is dropped.
        sender.send((desk, told, self.cancel.clone())).ok();
    }

    /// Stops what is being told and what waits to be told.
    pub(super) fn stop(&mut self) {
        std::mem::take(&mut self.cancel).cancel();
    }

    /// Nothing more is told; the task ends when all was told.
    fn close(&mut self) -> Option<JoinHandle<()>> {
        self.line.take().map(|(_, task)| task)
    }
}

/// Hooks as watchers of calls.
struct HookedCalls(HookDesk);

impl CallWatch for HookedCalls {
    fn before<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallVerdict> {
        Box::pin(async move {
            let mut occasion = BeforeCall::new(call.clone());
            match self.0.run(&mut occasion, cancel).await {
                ChainEnd::Passed => match occasion.rewritten() {
                    None => CallVerdict::Unchanged,
                    Some((arguments, hooks)) => {
                        let shown = one_line(&arguments.to_string(), SHOWN_ARGUMENTS);
                        let hooks = hooks.join("`, `");
                        let note = format!(
                            "The hook `{hooks}` changed this call; it ran with the arguments {shown}"
                        );
                        CallVerdict::Changed(Change { arguments, note })
                    }
                },
                ChainEnd::Cancelled(Cancelled { hook, reason }) => CallVerdict::Blocked(format!(
                    "Not run: the hook `{hook}` of the user's settings blocked this call: {reason}"
                )),
                // The caller knows already.
                ChainEnd::Stopped => CallVerdict::Unchanged,
            }
        })
    }

    fn after<'a>(
        &'a self,
        call: &'a ToolCall,
        result: &'a ToolResultMessage,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Option<ToolResultMessage>> {
        Box::pin(async move {
            let mut occasion = AfterCall::new(call.arguments.clone(), result.clone());
            match self.0.run(&mut occasion, cancel).await {
                ChainEnd::Passed | ChainEnd::Cancelled(_) => {}
                ChainEnd::Stopped => return None,
            }
            let (result, rewritten) = occasion.into_result();
            rewritten.then_some(result)
        })
    }
}
