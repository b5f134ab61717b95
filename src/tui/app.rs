//! The state of the screen and how events change it. Synchronous, without I/O and without a clock:
//! the time comes in with every event, and what is to be done comes out as [`UiEffect`]s.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::cell::Welcome;
use super::editor::{Arrived, Editor};
use super::effect::UiEffect;
use super::event::UiEvent;
use super::footer::{Footer, short_path};
use super::highlight::Highlights;
use super::keymap::KeyMap;
use super::links::Links;
use super::menu::{Kind, Menu};
use super::overlay::login::LoginOverlay;
use super::overlay::{Outcome, Overlay};
use super::status::Status;
use super::theme::Theme;
use super::transcript::Transcript;
use crate::agent_session::command::{Delivery, Navigation, SessionCommand};
use crate::agent_session::event::NoticeLevel;
use crate::ids::Timestamp;
use crate::prompt::template::Template;
use crate::session::reader::SessionReader;
use crate::settings::BranchSummarySettings;

mod keys;
mod open;
mod outward;
mod reloading;
mod seek;
mod session_events;

/// How long the first of two presses counts.
const TWICE: Duration = Duration::from_millis(1_000);

/// What the screen starts with.
#[derive(Debug)]
pub struct AppOptions {
    /// The styles.
    pub theme: Theme,
    /// Which key means what.
    pub keymap: KeyMap,
    /// Whether anything may move.
    pub animation: bool,
    /// The first lines.
    pub welcome: Welcome,
    /// What was sent in earlier sessions, oldest first.
    pub history: Vec<String>,
    /// The person's home, written `~`.
    pub home: Option<PathBuf>,
    /// The person's own commands.
    pub templates: Vec<Template>,
    /// The addresses of links, as the terminal will know them.
    pub links: Links,
}

/// See the module.
pub struct App {
    pub(super) theme: Theme,
    pub(super) keymap: KeyMap,
    pub(super) highlights: Highlights,
    pub(super) transcript: Transcript,
    pub(super) editor: Editor,
    pub(super) menu: Option<Menu>,
    /// What the last answer of the file finder was for.
    files_asked: Option<String>,
    pub(super) status: Status,
    pub(super) footer: Footer,
    pub(super) overlays: Vec<Box<dyn Overlay>>,
    /// Messages that wait: those for the next boundary, those for after the turn.
    pub(super) queue: Queue,
    welcome: Welcome,
    pub(super) reader: Option<SessionReader>,
    /// Branches that the session had when it was opened.
    branches: usize,
    /// How `/tree` asks about summaries (B8).
    branch_summary: BranchSummarySettings,
    /// The time of day, for ages.
    clock: fn() -> Timestamp,
    /// The move in the tree that is on its way: if it does not happen, the tree opens again there (B7).
    travelling: Option<Navigation>,
    pub(super) cwd: PathBuf,
    /// The person's own commands (U4).
    templates: Vec<Template>,
    home: Option<PathBuf>,
    /// What was searched for last in the transcript.
    sought: Option<String>,
    /// A search for it in what is not held.
    seeking: Option<seek::Seeking>,
    /// What is written is sent once its images are read.
    submits: Option<Delivery>,
    copied: Option<seek::Copied>,
    /// Whether it is shown when things were said.
    pub(super) times: bool,
    /// A search through what was sent: the words, how many steps back, what it showed.
    recalling: Option<(String, usize, String)>,
    /// The session's file; it need not be written yet.
    file: Option<PathBuf>,
    /// Columns and rows that the editor and the transcript had when they were drawn last.
    pub(super) editor_columns: usize,
    pub(super) transcript_rows: usize,
    last_escape: Option<Instant>,
    last_clear: Option<Instant>,
    /// When something was last typed into the editor and not yet sent.
    last_typed: Option<Instant>,
    /// Until when keys that answer a question are taken for typing.
    typing_until: Option<Instant>,
    focused: bool,
    quitting: bool,
    dirty: bool,
    effects: Vec<UiEffect>,
}

/// Messages that wait to be delivered (F89).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Queue {
    /// After the tool that runs now.
    pub steering: Vec<String>,
    /// After the turn.
    pub follow_up: Vec<String>,
}

impl App {
    /// A screen without a session yet.
    #[must_use]
    pub fn new(options: AppOptions) -> Self {
        let cwd_shown = options.welcome.cwd.clone();
        Self {
            theme: options.theme,
            keymap: options.keymap,
            highlights: Highlights::with_links(options.links),
            transcript: Transcript::new(options.welcome.clone()),
            editor: Editor::new(options.history),
            menu: None,
            files_asked: None,
            status: Status::new(options.animation),
            footer: Footer { cwd: cwd_shown, ..Footer::default() },
            overlays: Vec::new(),
            queue: Queue::default(),
            welcome: options.welcome,
            reader: None,
            branches: 0,
            branch_summary: BranchSummarySettings::default(),
            clock: Timestamp::default,
            travelling: None,
            cwd: PathBuf::new(),
            templates: options.templates,
            home: options.home,
            sought: None,
            seeking: None,
            submits: None,
            copied: None,
            times: false,
            recalling: None,
            file: None,
            editor_columns: 80,
            transcript_rows: 20,
            last_escape: None,
            last_clear: None,
            last_typed: None,
            typing_until: None,
            focused: true,
            quitting: false,
            dirty: true,
            effects: Vec::new(),
        }
    }

    /// Tells how branches are summarised, and what time it is.
    #[must_use]
    pub fn for_trees(mut self, settings: BranchSummarySettings, clock: fn() -> Timestamp) -> Self {
        self.branch_summary = settings;
        self.clock = clock;
        self
    }

    /// Takes one event in and says what is to be done.
    pub fn update(&mut self, event: UiEvent, now: Instant) -> Vec<UiEffect> {
        self.dirty = true;
        match event {
            UiEvent::Key(key) => self.key(key, now),
            UiEvent::Paste(text) => self.paste(&text, now),
            UiEvent::Branches(branches) => {
                self.branches = branches;
                self.refresh_welcome();
            }
            UiEvent::Arrived { place, what } => self.arrived(place, what, now),
            UiEvent::Mouse(mouse) => self.mouse(mouse),
            UiEvent::Resized | UiEvent::Woken | UiEvent::Background { .. } => {}
            UiEvent::Theme(theme) => self.wear(*theme),
            UiEvent::Focus(focused) => self.focused = focused,
            UiEvent::Session(event) => self.session_event(event, now),
            UiEvent::SessionLost => self.effects.push(UiEffect::Quit),
            UiEvent::Entries { entries, failed } => {
                if let Some(reader) = self.reader.clone() {
                    self.transcript.loaded(&reader, &entries, &failed);
                }
                self.tell_overlays(|overlay| overlay.entries(&entries));
            }
            UiEvent::Found(hits) => {
                self.found(&hits, now);
                self.tell_overlays(|overlay| overlay.found(&hits));
            }
            UiEvent::Files { query, files } => self.files_found(&query, files),
            UiEvent::Edited(Ok(text)) => self.editor.set_text(text.trim_end_matches('\n')),
            UiEvent::Edited(Err(why)) | UiEvent::Failed(why) => self.error(&why),
            UiEvent::Coloured { key, code } => {
                self.highlights.insert(key, code);
                self.transcript.redraw();
            }
            UiEvent::Branch(branch) => self.footer.branch = branch,
            UiEvent::Hint(text) => self.status.hint(text, now),
            UiEvent::Told(text) => self.transcript.notice(NoticeLevel::Info, &text),
            UiEvent::Models { wanted, models } => self.models(wanted.as_deref(), models),
            UiEvent::Providers { wanted, providers } => {
                self.push_overlay(Box::new(LoginOverlay::new(providers, wanted.as_deref())));
            }
            UiEvent::KeyStored { provider, result } => self.key_stored(&provider, result),
            UiEvent::Sessions { search, sessions } => self.sessions(search, sessions),
            UiEvent::Settings(sheet) => self.show_settings(sheet),
            UiEvent::SettingChanged { change, result } => self.setting_changed(&change, result),
            UiEvent::Reloaded(reloaded) => self.reloaded(&reloaded),
            UiEvent::Tick => self.status.tick(now),
            UiEvent::Terminate => self.quit(),
        }
        self.take_effects()
    }

    /// What is to be done besides what [`App::update`] said: drawing finds out what must be read.
    pub fn take_effects(&mut self) -> Vec<UiEffect> {
        let wanted = match &self.reader {
            Some(reader) => self.transcript.wanted(&reader.tree()),
            None => None,
        };
        self.effects.extend(wanted.map(UiEffect::LoadEntries));
        for overlay in &mut self.overlays {
            self.effects.extend(overlay.wants());
        }
        let code = self.highlights.take_wanted();
        if !code.is_empty() {
            self.effects.push(UiEffect::Colour(code));
        }
        std::mem::take(&mut self.effects)
    }

    /// Whether something has changed since the last call.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// When the screen changes by itself; `None` when nothing moves.
    #[must_use]
    pub fn next_tick(&self, now: Instant) -> Option<Duration> {
        self.status.next_change(now)
    }

    /// Whether the end of the transcript is still being read.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.reader.is_some() && self.transcript.is_loading_end()
    }

    fn send(&mut self, command: SessionCommand) {
        self.effects.push(UiEffect::Send(command));
    }

    fn error(&mut self, text: &str) {
        self.transcript.notice(NoticeLevel::Error, text);
    }

    fn quit(&mut self) {
        if !std::mem::replace(&mut self.quitting, true) {
            self.send(SessionCommand::Quit);
        }
    }

    /// Whether the session was asked to end.
    #[must_use]
    pub const fn is_quitting(&self) -> bool {
        self.quitting
    }

    /// Lays an overlay over everything.
    pub fn push_overlay(&mut self, overlay: Box<dyn Overlay>) {
        self.menu = None;
        self.overlays.push(overlay);
    }

    /// Lets every overlay hear of something, the top one first.
    fn tell_overlays(&mut self, mut tell: impl FnMut(&mut dyn Overlay) -> Outcome) {
        for place in (0..self.overlays.len()).rev() {
            let Some(overlay) = self.overlays.get_mut(place) else { continue };
            match tell(overlay.as_mut()) {
                Outcome::Ignored | Outcome::Consumed => {}
                Outcome::Do(effects) => self.overlay_effects(effects),
                Outcome::Close(effects) => {
                    self.overlays.remove(place);
                    self.overlay_effects(effects);
                }
            }
        }
    }

    /// Gives an input to the top overlay. `true` when it was taken.
    fn top_overlay(&mut self, give: impl FnOnce(&mut dyn Overlay) -> Outcome) -> bool {
        let Some(top) = self.overlays.last_mut() else { return false };
        match give(top.as_mut()) {
            Outcome::Ignored => return false,
            Outcome::Consumed => {}
            Outcome::Do(effects) => self.overlay_effects(effects),
            Outcome::Close(effects) => {
                self.overlays.pop();
                self.overlay_effects(effects);
            }
        }
        true
    }

    fn overlay_effects(&mut self, effects: Vec<UiEffect>) {
        for effect in &effects {
            if let UiEffect::Send(SessionCommand::Navigate(navigation)) = effect {
                self.travelling = Some(navigation.clone());
            }
        }
        self.effects.extend(effects);
    }

    fn paste(&mut self, text: &str, now: Instant) {
        if !self.overlays.is_empty() {
            self.top_overlay(|overlay| overlay.paste(text));
            return;
        }
        if super::attachments::may_name_images(text)
            && let Some(place) = self.editor.hold()
        {
            let (cwd, text) = (self.cwd.clone(), text.to_owned());
            self.effects.push(UiEffect::Attach { place, cwd, text });
        } else {
            self.editor.paste(text);
        }
        self.typed(now);
    }

    /// Ctrl+V.
    fn paste_clipboard(&mut self, now: Instant) {
        if let Some(place) = self.editor.hold() {
            self.effects.push(UiEffect::PasteClipboard(place));
            self.typed(now);
        }
    }

    /// What was pasted has been read: it stands where it was pasted, and what was to be sent is sent.
    fn arrived(&mut self, place: usize, what: Arrived, now: Instant) {
        let images = matches!(what, Arrived::Images(_));
        self.editor.fill(place, what);
        self.refresh_menu();
        let model = self.footer.model.as_ref().filter(|model| images && !model.images);
        if let Some(model) = model {
            let text = format!("{} takes no images; /model chooses another", model.id);
            self.status.hint(&text, now);
        }
        if let Some(delivery) = self.submits.take_if(|_| !self.editor.awaits()) {
            self.submit(delivery, now);
        }
    }

    /// The text in the editor has changed by hand.
    fn typed(&mut self, now: Instant) {
        self.submits = None;
        self.last_typed = Some(now);
        self.refresh_menu();
    }

    /// Opens, narrows or closes the menu, as the text before the caret asks for.
    fn refresh_menu(&mut self) {
        match super::menu::kind_for(self.editor.before_caret(), self.editor.after_caret()) {
            Some(Kind::Commands(typed)) => self.menu = Menu::commands(&typed, &self.templates),
            Some(Kind::Files(query)) => {
                self.files_asked = Some(query.clone());
                self.effects.push(UiEffect::FindFiles { cwd: self.cwd.clone(), query });
            }
            None => self.close_menu(),
        }
    }

    fn close_menu(&mut self) {
        self.menu = None;
        self.files_asked = None;
    }

    fn files_found(&mut self, query: &str, files: Vec<String>) {
        if self.files_asked.as_deref() == Some(query) {
            self.menu = Menu::files(query, files);
        }
    }

    /// Brings the first lines up to date: folder and model are known only once a session is open.
    fn refresh_welcome(&mut self) {
        let mut welcome = self.welcome.clone();
        welcome.cwd.clone_from(&self.footer.cwd);
        if let Some(model) = &self.footer.model {
            welcome.model = match model.provider.as_str() {
                "offline" => "offline (no model yet: /model)".to_owned(),
                _ => model.id.clone(),
            };
        }
        if !self.transcript.is_empty() {
            welcome.hints.clear();
        }
        if self.branches > 0 {
            welcome.corner = format!("{}   /tree {} branches", welcome.corner, self.branches);
        }
        self.transcript.set_welcome(welcome);
    }

    fn cwd_shown(&self) -> String {
        short_path(&self.cwd, self.home.as_deref())
    }

    /// Sends what is written, or carries out the command that it is.
    fn submit(&mut self, delivery: Delivery, now: Instant) {
        self.close_menu();
        if self.editor.awaits() {
            self.submits = Some(delivery);
            self.status.hint("sent as soon as the image is read", now);
            return;
        }
        let text = self.editor.text();
        let trimmed = text.trim_end();
        if trimmed.trim().is_empty() {
            return;
        }
        if crate::slash::is_command(trimmed) {
            return self.slash(trimmed, delivery, now);
        }
        let (text, images) = (trimmed.to_owned(), self.editor.images());
        self.remember();
        let command = text.strip_prefix('!').map(|rest| match rest.strip_prefix('!') {
            Some(rest) => (rest.trim().to_owned(), true),
            None => (rest.trim().to_owned(), false),
        });
        match command {
            Some((command, excluded)) if !command.is_empty() => {
                if !self.status.is_busy() {
                    self.transcript.settle();
                    self.transcript.shell_started(&command, excluded);
                }
                self.send(SessionCommand::Shell { command, excluded });
            }
            _ => self.send(SessionCommand::Prompt { text, images, delivery }),
        }
        self.transcript.scroll_to_end();
    }

    /// Takes the text out of the editor into the history.
    fn remember(&mut self) {
        let text = self.editor.take();
        self.last_typed = None;
        self.effects.push(UiEffect::Remember(text));
    }
}

#[cfg(test)]
mod tests;
