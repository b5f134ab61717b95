//! How what runs is stopped, and how a session ends (I7, I13).

use super::AgentSession;
use super::activity::Activity;
use super::command::SessionCommand;

impl AgentSession {
    /// Stops whatever runs (I7). The work itself reports its end, promptly; a wait just ends.
    pub(super) fn abort(&mut self) {
        self.after_stop = None;
        self.telling.stop();
        self.stop();
    }

    pub(super) fn stop(&mut self) {
        if let Some(cancel) = self.activity.cancel() {
            cancel.cancel();
        } else if matches!(self.activity, Activity::Waiting { .. }) {
            self.return_queue(Vec::new());
            self.become_idle();
        }
    }

    /// Stops whatever runs and does `command` afterwards. `false` when nothing runs.
    pub(super) fn stop_first(&mut self, command: SessionCommand) -> bool {
        if self.activity.is_idle() {
            return false;
        }
        self.after_stop = Some(command);
        self.stop();
        true
    }

    pub(super) fn quit(&mut self) {
        if !self.stop_first(SessionCommand::Quit) {
            self.sync();
            self.ended = true;
        }
    }

    /// Ends when nothing runs and nothing waits any more.
    pub(super) fn finish(&mut self) {
        self.finishing = true;
        self.end_if_finished();
    }

    /// See [`SessionCommand::Finish`].
    pub(super) fn end_if_finished(&mut self) {
        if self.finishing && !self.ended && self.activity.is_idle() {
            self.quit();
        }
    }
}
