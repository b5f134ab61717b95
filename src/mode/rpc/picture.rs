//! What a program would know that has read every event: kept for those that ask later.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::agent_session::event::{ActivityKind, Gauge, PermissionQuestion, SessionEvent};
use crate::provider::ThinkingLevel;
use crate::provider::model::Model;
use crate::tui::outside::OpenSession;

/// See the module.
#[derive(Debug)]
pub(super) struct Picture {
    session: Option<OpenSession>,
    read_only: bool,
    activity: ActivityKind,
    model: Option<(Arc<Model>, ThinkingLevel)>,
    gauge: Gauge,
    steering: Vec<String>,
    follow_up: Vec<String>,
    questions: Vec<PermissionQuestion>,
}

impl Default for Picture {
    fn default() -> Self {
        Self {
            session: None,
            read_only: false,
            activity: ActivityKind::Idle,
            model: None,
            gauge: Gauge::default(),
            steering: Vec::new(),
            follow_up: Vec::new(),
            questions: Vec::new(),
        }
    }
}

impl Picture {
    /// Takes an event in.
    pub(super) fn take(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Opened { reader, file, cwd, read_only, .. } => {
                let (reader, file, cwd) = (reader.clone(), file.clone(), cwd.clone());
                self.session = Some(OpenSession { reader, file, cwd });
                self.read_only = *read_only;
            }
            SessionEvent::Activity { kind } => self.activity = *kind,
            SessionEvent::Model { model, thinking } => {
                self.model = Some((model.clone(), *thinking));
            }
            SessionEvent::Gauge(gauge) => self.gauge = *gauge,
            SessionEvent::Queue { steering, follow_up } => {
                self.steering.clone_from(steering);
                self.follow_up.clone_from(follow_up);
            }
            SessionEvent::PermissionAsked(question) => self.questions.push(question.clone()),
            SessionEvent::PermissionSettled { question } => {
                self.questions.retain(|open| open.question != *question);
            }
            _ => {}
        }
    }

    /// The session that is open; `None` before the first event.
    pub(super) const fn session(&self) -> Option<&OpenSession> {
        self.session.as_ref()
    }

    /// The numbers of the questions that wait for an answer.
    pub(super) fn questions(&self) -> impl Iterator<Item = u64> {
        self.questions.iter().map(|question| question.question)
    }

    /// All of it, as JSON.
    pub(super) fn state(&self) -> Value {
        let session = self.session.as_ref();
        let tree = session.map(|session| session.reader.tree());
        let leaf = tree.as_ref().and_then(|tree| tree.leaf_id());
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        json!({
            "file": session.and_then(|session| session.file.as_ref()).map(path),
            "cwd": session.map(|session| path(&session.cwd)),
            "name": tree.as_ref().and_then(|tree| tree.name()),
            "read_only": self.read_only,
            "entries": tree.as_ref().map_or(0, |tree| tree.len()),
            "leaf": leaf,
            "activity": self.activity,
            "model": self.model.as_ref().map(|(model, _)| model),
            "thinking": self.model.as_ref().map(|(_, thinking)| thinking),
            "gauge": self.gauge,
            "steering": self.steering,
            "follow_up": self.follow_up,
            "questions": self.questions,
        })
    }
}
