//! Permission for tool calls: judged by rules, asked of the person where the rules leave it open
//! (SPEC A3).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;

use super::activity::Work;
use super::command::PermissionAnswer;
use super::event::{PermissionQuestion, SessionEvent};
use super::{AgentSession, Attendance, Reports};
use crate::agent::tool_calls::{Change, Gate, GateAnswer, STOPPED};
use crate::message::ToolCall;
use crate::settings::PermissionSettings;
use crate::tool::Effect;
use crate::tool::permission::{Judgement, SessionGrants, reading_in};
use crate::tool::permission_check::check;

/// The gate of one round.
struct RuledGate {
    reports: Reports,
    workspace: PathBuf,
    settings: PermissionSettings,
    grants: Arc<Mutex<SessionGrants>>,
    attendance: Attendance,
}

impl Gate for RuledGate {
    fn ask<'a>(&'a self, call: &'a ToolCall, effect: Effect) -> BoxFuture<'a, GateAnswer> {
        Box::pin(async move {
            match self.judge(call, &effect).await {
                Judgement::Allow => GateAnswer::Allowed,
                Judgement::Deny { reason } => GateAnswer::Refused(reason),
                Judgement::Ask { .. } if self.attendance == Attendance::Unattended => {
                    GateAnswer::Refused(
                        "This needs the user's permission and nobody is there to give it. \
                         `--permission full` or an allow rule in the settings gives it beforehand."
                            .to_owned(),
                    )
                }
                Judgement::Ask { subject, marks, diff, note, rule } => {
                    let question = PermissionQuestion {
                        question: 0,
                        tool: call.name.clone(),
                        subject,
                        marks: marks.into_iter().map(|range| (range.start, range.end)).collect(),
                        diff,
                        note,
                        rule: rule.to_string(),
                        editable: matches!(effect, Effect::Command { .. }),
                    };
                    let (reply, answer) = oneshot::channel();
                    self.reports.send(Work::Ask { question, reply });
                    match answer.await {
                        Ok(PermissionAnswer::Once) => GateAnswer::Allowed,
                        Ok(PermissionAnswer::Always) => {
                            self.grants().grant(rule);
                            GateAnswer::Allowed
                        }
                        Ok(PermissionAnswer::Edited { command }) => match effect {
                            Effect::Command { .. } => self.edited(call, command).await,
                            // Not asked for; what is no command cannot become one.
                            _ => GateAnswer::Refused(refusal(Some(command))),
                        },
                        Ok(PermissionAnswer::No { reason }) => GateAnswer::Refused(refusal(reason)),
                        Err(_) => GateAnswer::Refused(STOPPED.to_owned()),
                    }
                }
            }
        })
    }
}

impl RuledGate {
    fn grants(&self) -> MutexGuard<'_, SessionGrants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn judge(&self, call: &ToolCall, effect: &Effect) -> Judgement {
        let granted = self.grants().clone();
        check(effect, &call.name, &self.workspace, &self.settings, granted).await
    }

    /// The person has written another command: it needs no more questions, but a rule that forbids it
    /// wins over everything.
    async fn edited(&self, call: &ToolCall, command: String) -> GateAnswer {
        let effect = Effect::Command { command: command.clone() };
        if let Judgement::Deny { reason } = self.judge(call, &effect).await {
            return GateAnswer::Refused(reason);
        }
        let mut arguments = call.arguments.clone();
        if let Value::Object(fields) = &mut arguments {
            // The other name under which the command may have come.
            fields.remove("cmd");
            fields.insert("command".to_owned(), Value::String(command.clone()));
        }
        let note = format!("The user changed this command before it ran: {command}");
        GateAnswer::Changed(Change { arguments, note })
    }
}

fn refusal(reason: Option<String>) -> String {
    match reason {
        Some(reason) => format!("The user said no to this call: {reason}"),
        None => "The user said no to this call. Ask what to do instead.".to_owned(),
    }
}

impl AgentSession {
    pub(super) fn gate(&self, reports: &Reports) -> Arc<dyn Gate> {
        let mut settings = self.deps.settings.permissions.clone();
        settings.allow.extend(self.deps.tools.reads_freely().iter().map(|path| reading_in(path)));
        Arc::new(RuledGate {
            reports: reports.clone(),
            workspace: self.store.header().cwd.clone().into(),
            settings,
            grants: self.grants.clone(),
            attendance: self.deps.attendance,
        })
    }

    pub(super) fn ask(
        &mut self,
        mut question: PermissionQuestion,
        reply: oneshot::Sender<PermissionAnswer>,
    ) {
        question.question = self.next_question;
        self.next_question += 1;
        self.questions.push((question.question, reply));
        self.tell(SessionEvent::PermissionAsked(question));
    }

    pub(super) fn settle_question(&mut self, question: u64, answer: PermissionAnswer) {
        let Some(place) = self.questions.iter().position(|(number, _)| *number == question) else {
            return;
        };
        let (_, reply) = self.questions.remove(place);
        // The call may have been stopped meanwhile; then nobody waits.
        reply.send(answer).ok();
        self.tell(SessionEvent::PermissionSettled { question });
    }

    /// Questions of work that has ended need no answer.
    pub(super) fn drop_questions(&mut self) {
        for (question, _) in std::mem::take(&mut self.questions) {
            self.tell(SessionEvent::PermissionSettled { question });
        }
    }
}
