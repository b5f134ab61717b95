//! How the session's events change the screen.

use std::time::{Duration, Instant};

use super::{App, Queue};
use crate::agent_session::event::{ActivityKind, NoticeLevel, SessionEvent};
use crate::tui::effect::UiEffect;
use crate::tui::overlay::permission::PermissionOverlay;
use crate::tui::words;

/// A turn that took longer rings the bell when the window has no focus.
const LONG_TURN: Duration = Duration::from_secs(20);

impl App {
    pub(super) fn session_event(&mut self, event: SessionEvent, now: Instant) {
        self.tell_overlays(|overlay| overlay.session(&event));
        match event {
            SessionEvent::Opened { reader, file, cwd, warnings, read_only } => {
                self.cwd = cwd;
                self.file = file;
                self.footer.cwd = self.cwd_shown();
                self.footer.read_only = read_only;
                self.queue = Queue::default();
                self.seeking = None;
                self.footer.name = reader.tree().name().map(ToOwned::to_owned);
                self.transcript.clear();
                self.transcript.show(&reader);
                self.branches = 0;
                self.effects.push(UiEffect::CountBranches);
                self.reader = Some(reader);
                for warning in warnings {
                    self.transcript.notice(NoticeLevel::Warning, &warning);
                }
                self.refresh_welcome();
                self.effects.push(UiEffect::ReadBranch(self.cwd.clone()));
            }
            SessionEvent::Appended { entry } => {
                if let Some(reader) = &self.reader {
                    self.transcript.appended(reader, &entry);
                    self.footer.name = reader.tree().name().map(ToOwned::to_owned);
                }
            }
            SessionEvent::Moved { leaf: _, editor } => {
                self.travelling = None;
                if let Some(reader) = &self.reader {
                    self.transcript.show(reader);
                }
                if let Some(text) = editor {
                    self.editor.set_text(&text);
                }
            }
            SessionEvent::Activity { kind } => self.activity(kind, now),
            SessionEvent::Stream { delta } => {
                self.status.stream(&delta);
                self.transcript.stream(&delta);
            }
            SessionEvent::ToolStarted { call } => {
                self.status.tool(&call.name);
                self.transcript.tool_started(&call);
            }
            SessionEvent::ToolProgress { call_id, text } => {
                self.transcript.tool_progress(&call_id, &text);
            }
            SessionEvent::PermissionAsked(question) => {
                self.guard_typing(now);
                self.ring(&format!("{} waits for your answer", question.tool));
                self.push_overlay(Box::new(PermissionOverlay::new(question)));
            }
            SessionEvent::Queue { steering, follow_up } => {
                self.queue = Queue { steering, follow_up };
            }
            SessionEvent::QueueReturned { text, images } => self.editor.put_before(&text, images),
            SessionEvent::Progress(progress) => self.status.progress(&progress),
            SessionEvent::Retry { error, attempt, delay_ms } => {
                self.transcript.notice(NoticeLevel::Warning, &error);
                self.status.retry(attempt, now + Duration::from_millis(delay_ms));
            }
            SessionEvent::Model { model, thinking } => {
                self.footer.model = Some(model);
                self.footer.thinking = thinking;
                self.refresh_welcome();
            }
            SessionEvent::Gauge(gauge) => self.footer.gauge = gauge,
            SessionEvent::Notice { level, text } => self.transcript.notice(level, &text),
            SessionEvent::Ended => self.effects.push(UiEffect::Quit),
            event => self.summary_event(event, now),
        }
    }

    /// Events of compactions and moves in the tree.
    fn summary_event(&mut self, event: SessionEvent, now: Instant) {
        match event {
            SessionEvent::CompactionEnd { result, aborted, error, reason, .. } => {
                if let Some(result) = result {
                    // The figures stand in the transcript already.
                    if result.extractive {
                        self.status.hint("compacted without a model", now);
                    }
                } else if aborted {
                    self.status.hint("compaction stopped; nothing has changed", now);
                } else if let Some(error) = error {
                    self.transcript
                        .notice(NoticeLevel::Error, &words::failed_compaction(reason, &error));
                }
            }
            SessionEvent::CompactionPlanned { plan } => {
                self.transcript.notice(NoticeLevel::Info, &words::plan(&plan));
            }
            SessionEvent::Context { report } => self.show_context(&report),
            SessionEvent::NavigationEnded { target, aborted, error } => {
                if aborted {
                    self.status.hint("stopped; you are where you were", now);
                }
                self.open_tree(Some((target, error)), now);
            }
            _ => {}
        }
    }

    fn activity(&mut self, kind: ActivityKind, now: Instant) {
        let was_long = self.status.elapsed(now) >= LONG_TURN;
        let was_busy = self.status.is_busy();
        self.status.activity(kind, now);
        if kind == ActivityKind::Idle {
            self.transcript.end_stream();
            self.transcript.settle();
            if was_busy {
                self.effects.push(UiEffect::ReadBranch(self.cwd.clone()));
            }
            if was_busy && was_long {
                self.ring("done");
            }
        }
    }

    /// Tells a person who looks elsewhere; whoever looks here sees it.
    fn ring(&mut self, what: &str) {
        if !self.focused {
            let text = format!("{what} · {}", self.place_name());
            self.effects.push(UiEffect::Notify(text));
        }
    }
}
