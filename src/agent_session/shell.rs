//! The person's own commands: `!cmd` and `!!cmd` (SPEC U2).

use std::sync::Arc;

use super::AgentSession;
use super::activity::{Activity, Work};
use super::event::{NoticeLevel, SessionEvent};
use super::queue::Prompt;
use crate::message::{BashExecutionMessage, Message};
use crate::session::entry::EntryBody;
use crate::tool::process;
use crate::tool::truncate::Limits;

/// The id under which the output of the person's command is reported.
pub(super) const SHELL_CALL_ID: &str = "shell";

impl AgentSession {
    /// Runs a command. It needs no permission: the person typed it.
    pub(super) fn shell(&mut self, command: String, excluded: bool) {
        if !self.activity.is_idle() {
            self.notice(NoticeLevel::Info, "something runs already; escape stops it");
            let mark = if excluded { "!!" } else { "!" };
            self.give_back(vec![Prompt::text(format!("{mark}{command}"))]);
            return;
        }
        let (cancel, reports) = self.begin();
        let cwd = self.store.header().cwd.clone();
        let token = cancel.clone();
        let stamper = self.deps.stamper.clone();
        let news = reports.clone();
        let failed = BashExecutionMessage {
            command: command.clone(),
            output: super::INTERNAL_ERROR.to_owned(),
            exclude_from_context: excluded.then_some(true),
            timestamp: stamper.now().as_millis(),
            ..BashExecutionMessage::default()
        };
        let work = async move {
            let progress = Arc::new(move |text| news.send(Work::ShellOutput(text)));
            let run = process::Run {
                command: command.clone(),
                cwd: cwd.into(),
                timeout: None,
                limits: Limits::DEFAULT,
            };
            let mut message = BashExecutionMessage {
                command,
                exclude_from_context: excluded.then_some(true),
                ..BashExecutionMessage::default()
            };
            match process::run(run, token, progress).await {
                Ok(ran) => {
                    message.exit_code = ran.exit_code();
                    message.cancelled = ran.cancelled();
                    message.truncated = ran.truncated;
                    let path = ran.full_output_path;
                    message.full_output_path = path.map(|path| path.display().to_string());
                    message.output = ran.output;
                }
                Err(error) => message.output = format!("cannot start the command: {error}"),
            }
            message.timestamp = stamper.now().as_millis();
            Work::ShellEnded(message)
        };
        Self::spawn_work(reports, work, move || Work::ShellEnded(failed));
        self.set_activity(Activity::Shell { cancel });
    }

    pub(super) fn shell_output(&self, text: String) {
        self.tell(SessionEvent::ToolProgress { call_id: SHELL_CALL_ID.to_owned(), text });
    }

    pub(super) fn shell_ended(&mut self, message: BashExecutionMessage) {
        let stopped = message.cancelled;
        self.append(EntryBody::Message { message: Message::BashExecution(message) });
        if stopped {
            // F28: a stop starts nothing.
            self.end_turn_with_queue_returned();
        } else {
            self.deliver_or_rest();
        }
    }
}
