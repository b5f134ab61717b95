//! Other models, other thinking levels, other settings, other sessions (SPEC U4, J1, F55, F56).

use std::sync::Arc;

use super::AgentSession;
use super::command::{SessionCommand, SwitchTo};
use super::event::{NoticeLevel, SessionEvent};
use super::turn::TurnState;
use crate::hook::told::Told;
use crate::provider::ThinkingLevel;
use crate::provider::model::Model;
use crate::session::context::build_session_context;
use crate::session::entry::{EntryBody, SessionHeader};
use crate::session::store::{Access, ForkScope, Opened, SessionStore, StoreError};
use crate::session::tree::ModelRef;
use crate::settings::Settings;

impl AgentSession {
    /// Tells the shell of the open session: at the start and after every switch.
    pub(super) fn announce(&mut self, warnings: Vec<String>) {
        self.recount();
        let store = &self.store;
        self.tell(SessionEvent::Opened {
            reader: store.reader().clone(),
            file: store.planned_path().map(Into::into),
            cwd: store.header().cwd.clone().into(),
            warnings,
            read_only: store.is_read_only(),
        });
        self.adopt_model_of_path();
        self.tell_model();
        // An untouched start draws its first frame before anything is read (section 13).
        if self.leaf().is_some() {
            self.measure_overhead();
        }
        self.show_gauge();
    }

    /// A resumed session goes on with the model it was last worked on with, where that is to be had
    /// (X2).
    fn adopt_model_of_path(&mut self) {
        let outline = {
            let tree = self.store.reader().tree();
            build_session_context(&tree, tree.leaf())
        };
        if let Some(level) = outline.thinking.as_deref().and_then(ThinkingLevel::parse) {
            self.thinking = level;
        }
        let Some(wanted) = outline.model else { return };
        if wanted == self.model.model_ref() {
            return;
        }
        match self.find_model(&wanted) {
            Some(model) => self.take_model(model),
            None => self.notice(
                NoticeLevel::Info,
                format!("{wanted} is not to be had here; {} answers", self.model.model_ref()),
            ),
        }
    }

    fn find_model(&self, wanted: &ModelRef) -> Option<Arc<Model>> {
        let model =
            self.deps.providers.models().into_iter().find(|model| model.model_ref() == *wanted)?;
        self.deps.providers.provider_for(&model).ok().map(|_| model)
    }

    /// Answers with this model, without a word of it in the file (`regrow context --model`).
    pub fn answer_with(&mut self, model: Arc<Model>) {
        self.take_model(model);
        self.tell_model();
        self.show_gauge();
    }

    /// Asks for this thinking level, whatever the path last asked for (`--thinking`).
    pub fn think_at(&mut self, level: ThinkingLevel) {
        self.thinking = level;
        self.tell_model();
    }

    fn take_model(&mut self, model: Arc<Model>) {
        self.window = model.context_window;
        self.model = model;
        self.refused_images = None;
        self.breaker.rearm();
    }

    fn tell_model(&self) {
        self.tell(SessionEvent::Model { model: self.model.clone(), thinking: self.thinking });
    }

    pub(super) fn set_model(&mut self, wanted: &ModelRef) {
        let known =
            self.deps.providers.models().into_iter().find(|model| model.model_ref() == *wanted);
        let Some(model) = known else {
            self.complain(format!("there is no model {wanted}; `regrow models` lists them"));
            return;
        };
        if let Err(error) = self.deps.providers.provider_for(&model) {
            self.complain(error.to_string());
            return;
        }
        self.take_model(model);
        self.append(EntryBody::ModelChange {
            provider: self.model.provider.clone(),
            model_id: self.model.id.clone(),
        });
        self.tell_model();
        self.show_gauge();
    }

    /// Goes by other settings: everything is asked of them when it is needed, so the next step of
    /// whatever runs sees them.
    pub(super) fn use_settings(&mut self, settings: Arc<Settings>) {
        self.deps.summarizer = Arc::new(self.deps.summarizer.with_settings(settings.clone()));
        let (names, mode) = (settings.tools.as_deref(), settings.permissions.mode);
        self.deps.tools = self.deps.tools.only_in(names, mode);
        self.hooks = (self.deps.hooks)(&settings);
        self.deps.settings = settings;
        // What could not be compacted before may be compacted now.
        self.breaker.rearm();
        self.show_gauge();
    }

    pub(super) fn set_thinking(&mut self, level: ThinkingLevel) {
        self.thinking = level;
        self.append(EntryBody::ThinkingLevelChange { thinking_level: level.as_str().to_owned() });
        self.tell_model();
    }

    /// Goes on in another session. What runs is stopped first.
    pub(super) fn switch(&mut self, to: SwitchTo) {
        if let SwitchTo::Open(path) = &to
            && !path.is_file()
        {
            self.complain(format!("there is no session file {}", path.display()));
            return;
        }
        if let SwitchTo::Open(path) = &to
            && self.has_open(path)
        {
            self.notice(NoticeLevel::Info, "this session is open already");
            return;
        }
        if self.stop_first(SessionCommand::Switch(to.clone())) {
            return;
        }
        let how = match &to {
            SwitchTo::New => "new",
            SwitchTo::Open(_) => "resume",
            SwitchTo::Fork(_) => "fork",
            SwitchTo::Clone => "clone",
        };
        match self.open_other(to) {
            Ok(Opened { store, warnings }) => {
                self.sync();
                self.tell_hooks(|_| Told::session_shutdown(how));
                self.store = store;
                self.tell_hooks(|_| Told::session_start(how));
                self.turn = TurnState::default();
                // Permissions and figures belong to the session that was left (A3).
                self.grants = Arc::default();
                self.breaker.rearm();
                self.window = self.model.context_window;
                self.return_queue(Vec::new());
                self.announce(warnings);
            }
            Err(words) => self.complain(words),
        }
    }

    /// Whether a file is the one that this session writes.
    fn has_open(&self, path: &std::path::Path) -> bool {
        let own = self.store.path().and_then(|own| own.canonicalize().ok());
        own.is_some() && own == path.canonicalize().ok()
    }

    fn open_other(&self, to: SwitchTo) -> Result<Opened, String> {
        let stamper = self.deps.stamper.as_ref();
        let dir = &self.deps.session_dir;
        let estimator = self.deps.estimator;
        let path = match to {
            SwitchTo::New => {
                let cwd = self.store.header().cwd.clone();
                let header = SessionHeader::new(stamper.session_id(), stamper.now(), cwd);
                // `--no-session` stays what it is.
                let store = match self.store.planned_path() {
                    Some(_) => SessionStore::create(dir, header, estimator),
                    None => SessionStore::in_memory(header, estimator),
                };
                return Ok(Opened { store, warnings: Vec::new() });
            }
            SwitchTo::Open(path) => path,
            SwitchTo::Fork(entry) => {
                let leaf = match &entry {
                    None => self.leaf(),
                    Some(id) => {
                        let found = self.store.reader().tree().find(id);
                        Some(
                            found
                                .ok_or_else(|| format!("there is no entry {id} in this session"))?,
                        )
                    }
                };
                let fork = self.store.fork(leaf, ForkScope::Path, dir, stamper);
                fork.map_err(|error| super::chain(&error))?
            }
            SwitchTo::Clone => {
                let clone = self.store.fork(self.leaf(), ForkScope::Whole, dir, stamper);
                clone.map_err(|error| super::chain(&error))?
            }
        };
        match SessionStore::open(&path, Access::Write, estimator) {
            Err(error @ StoreError::Lock { .. }) => {
                let opened = SessionStore::open(&path, Access::ReadOnly, estimator);
                let mut opened = opened.map_err(|error| super::chain(&error))?;
                opened
                    .warnings
                    .push(format!("{}; it is open read-only here", super::chain(&error)));
                Ok(opened)
            }
            opened => opened.map_err(|error| super::chain(&error)),
        }
    }
}
