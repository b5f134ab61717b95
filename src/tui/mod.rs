//! The screen (SPEC section 10): the loop that wakes up, updates, and draws.
//!
//! `App` holds all state and decides; `effects` and `terminal` alone touch the world; the session is
//! spoken to through its commands and events and in no other way. While nothing happens nothing
//! runs: no timer, no bytes to the terminal.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::agent_session::SessionHandle;
use crate::agent_session::command::SessionCommand;
use crate::agent_session::event::SessionEvent;

pub mod action;
pub mod amount;
pub mod app;
pub mod attachments;
pub mod cell;
mod clusters;
pub mod colour;
pub mod editor;
pub mod effect;
pub mod effects;
pub mod event;
pub mod files;
pub mod footer;
mod git;
pub mod highlight;
mod input;
pub mod keymap;
pub mod links;
pub mod markdown;
pub mod menu;
pub mod outside;
pub mod outward;
pub mod overlay;
mod replies;
pub mod status;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod theme_file;
pub mod transcript;
pub mod view;
pub mod words;
pub mod wrap;

use app::{App, AppOptions};
use cell::Welcome;
use effect::UiEffect;
use effects::{Effects, ForLoop};
use event::UiEvent;
use input::{Keys, Signals};
use keymap::KeyMap;
use links::Links;
use outside::{OpenSession, Outside};
use outward::{Manner, TaskProgress};
use terminal::Screen;
use theme::Theme;
use theme_file::ThemeFile;

use crate::ids::Timestamp;
use crate::prompt::template::Template;
use crate::settings::BranchSummarySettings;

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);

/// Shortest time between a frame and one that shows a key: what is typed waits for nothing that can be
/// seen, and a key that is held still costs no more than the terminal can show.
const KEY_FRAME: Duration = Duration::from_millis(4);

/// Shortest time between two frames that only streaming asks for (F88).
const STREAM_FRAME: Duration = Duration::from_millis(50);

/// How long a frame waits for what is being read, so that nothing flashes.
const PATIENCE: Duration = Duration::from_millis(30);

/// Most events that are taken in before a frame.
const BATCH: usize = 1_024;

/// Shortest time between two looks at the theme's file; while nothing happens nobody looks.
const THEME_CHECK: Duration = Duration::from_secs(1);

/// How long the session may take to end.
const FAREWELL: Duration = Duration::from_secs(3);

/// Texts that were sent, at most, that are offered again.
const HISTORY: usize = 500;

/// What the screen needs to know at its start.
pub struct TuiOptions {
    /// The styles, made for the terminal at hand.
    pub theme: Theme,
    /// Where they come from, to be read again when they change.
    pub theme_file: Arc<Mutex<ThemeFile>>,
    /// What may be told to the terminal.
    pub manner: Manner,
    /// Whether the screen takes the mouse.
    pub mouse: bool,
    /// Whether anything may move.
    pub animation: bool,
    /// Which key means what.
    pub keymap: KeyMap,
    /// The first lines.
    pub welcome: Welcome,
    /// How `/tree` asks about summaries (B8).
    pub branch_summary: BranchSummarySettings,
    /// The person's own commands (U4).
    pub templates: Vec<Template>,
    /// The time of day, for ages.
    pub clock: fn() -> Timestamp,
    /// What happens at once.
    pub first: FirstThing,
    /// Where what is sent is remembered for later sessions; `None` for nowhere.
    pub history_file: Option<PathBuf>,
    /// The person's home, written `~`.
    pub home: Option<PathBuf>,
    /// The program around the screen.
    pub outside: Arc<dyn Outside>,
}

/// What the screen does as soon as it is there.
#[derive(Debug, Clone, PartialEq)]
pub enum FirstThing {
    /// Waits for the person.
    Nothing,
    /// Tells the session.
    Send(SessionCommand),
    /// Offers the sessions.
    ChooseSession,
}

/// Why the screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The person left.
    Quit,
    /// A signal asked for it.
    Signal,
    /// The session ended on its own.
    SessionLost,
}

/// Runs the screen on a session until it is left. Must run on the main thread (see
/// [`terminal::Screen::enter`]).
///
/// # Errors
/// There is no terminal, or it is gone.
pub async fn run(handle: SessionHandle, options: TuiOptions) -> anyhow::Result<ExitReason> {
    let signals = Signals::listen()?;
    let links = Links::default();
    let screen = Screen::enter(options.mouse, options.manner, links.clone())?;
    let history = options.history_file.as_deref().map(|file| effects::read_history(file, HISTORY));
    let app = App::new(AppOptions {
        theme: options.theme,
        keymap: options.keymap,
        animation: options.animation,
        welcome: options.welcome,
        history: history.unwrap_or_default(),
        home: options.home,
        templates: options.templates,
        links,
    })
    .for_trees(options.branch_summary, options.clock);
    let (sender, results) = mpsc::unbounded_channel();
    let commands = handle.commands.clone();
    let theme_file = options.theme_file;
    let asks_background =
        options.manner.background && theme_file.lock().is_ok_and(|theme_file| theme_file.is_auto());
    let themes = (options.theme, theme_file);
    let mut effects = Effects::new(sender, commands, options.outside, themes, options.history_file);
    match options.first {
        FirstThing::Nothing => {}
        // A session that is gone already is noticed by its events ending.
        FirstThing::Send(command) => drop(handle.commands.send(command)),
        FirstThing::ChooseSession => drop(effects.run(UiEffect::ListSessions(None))),
    }
    let main_loop = MainLoop {
        app,
        screen,
        effects,
        keys: Keys::listen(),
        session: handle.events,
        results,
        signals,
        started: Instant::now(),
        last_frame: None,
        dirty: Some(Urgency::Now),
        patience: Some(Instant::now() + PATIENCE),
        farewell: None,
        reason: ExitReason::Quit,
        exit: false,
        manner: options.manner,
        told: Told::default(),
        asks_background,
        theme_checked: Instant::now(),
    };
    Ok(main_loop.run().await?)
}

/// How soon a change must be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// Text streams.
    Soon,
    /// Something happened.
    Now,
    /// A key was pressed.
    AtOnce,
}

struct MainLoop {
    app: App,
    screen: Screen,
    effects: Effects,
    keys: Keys,
    session: UnboundedReceiver<SessionEvent>,
    results: UnboundedReceiver<UiEvent>,
    signals: Signals,
    started: Instant,
    last_frame: Option<Instant>,
    dirty: Option<Urgency>,
    /// A frame waits until then for what is being read.
    patience: Option<Instant>,
    /// When waiting for the session's end is over.
    farewell: Option<Instant>,
    /// Why it will be left.
    reason: ExitReason,
    exit: bool,
    manner: Manner,
    told: Told,
    /// The terminal is asked for its background after the first frame.
    asks_background: bool,
    /// When the theme's file was looked at last.
    theme_checked: Instant,
}

/// What the terminal was told last.
#[derive(Debug, Default, PartialEq)]
struct Told {
    title: Option<String>,
    progress: Option<TaskProgress>,
}

impl MainLoop {
    async fn run(mut self) -> io::Result<ExitReason> {
        loop {
            self.draw_if_due()?;
            let events = self.wait().await;
            for event in events {
                self.take_in(event).await?;
            }
            if self.exit {
                return Ok(self.reason);
            }
        }
    }

    /// Waits for something to happen and takes what else is ready.
    async fn wait(&mut self) -> Vec<UiEvent> {
        let now = Instant::now();
        let tick = self.app.next_tick(now).map(|wait| now + wait);
        let deadline = [tick, self.frame_due(), self.farewell].into_iter().flatten().min();
        let mut events = Vec::new();
        tokio::select! {
            biased;
            event = self.keys.next() => events.extend(event),
            signal = self.signals.next() => events.push(signal),
            event = self.results.recv() => events.extend(event),
            event = self.session.recv() => {
                events.push(event.map_or(UiEvent::SessionLost, UiEvent::Session));
            }
            () = sleep_until(deadline) => {
                if tick.is_some_and(|tick| tick <= Instant::now()) {
                    events.push(UiEvent::Tick);
                }
                if self.farewell.is_some_and(|until| until <= Instant::now()) {
                    events.push(UiEvent::SessionLost);
                }
            }
        }
        self.take_ready(&mut events);
        events
    }

    fn take_ready(&mut self, events: &mut Vec<UiEvent>) {
        let mut typed = std::mem::take(events);
        typed.extend(std::iter::from_fn(|| self.keys.next_ready()).take(BATCH).flatten());
        *events = input::fold_bursts(typed);
        while events.len() < BATCH {
            match self.results.try_recv() {
                Ok(event) => events.push(event),
                Err(_) => break,
            }
        }
        while events.len() < BATCH {
            match self.session.try_recv() {
                Ok(event) => events.push(UiEvent::Session(event)),
                Err(_) => break,
            }
        }
    }

    async fn take_in(&mut self, event: UiEvent) -> io::Result<()> {
        let now = Instant::now();
        let urgency = match &event {
            UiEvent::Session(SessionEvent::Stream { .. } | SessionEvent::ToolProgress { .. })
            | UiEvent::Tick => Urgency::Soon,
            UiEvent::Key(_) | UiEvent::Paste(_) => Urgency::AtOnce,
            _ => Urgency::Now,
        };
        match &event {
            UiEvent::Session(SessionEvent::Opened { reader, file, cwd, .. }) => {
                self.effects.work_on(OpenSession {
                    reader: reader.clone(),
                    file: file.clone(),
                    cwd: cwd.clone(),
                });
                self.patience = Some(now + PATIENCE);
            }
            UiEvent::Session(SessionEvent::Moved { .. }) => self.patience = Some(now + PATIENCE),
            UiEvent::Woken => {
                self.screen.leave();
                self.take_back()?;
            }
            UiEvent::Background { light } => self.effects.on_background(*light),
            UiEvent::Key(_) | UiEvent::Focus(true) | UiEvent::Tick
                if now.saturating_duration_since(self.theme_checked) >= THEME_CHECK =>
            {
                self.theme_checked = now;
                self.effects.check_theme();
            }
            UiEvent::Terminate => self.reason = ExitReason::Signal,
            UiEvent::SessionLost if !self.app.is_quitting() => {
                self.reason = ExitReason::SessionLost;
            }
            _ => {}
        }
        let effects = self.app.update(event, now);
        if self.app.take_dirty() {
            self.dirty = self.dirty.max(Some(urgency));
        }
        self.carry_out(effects).await?;
        if self.app.is_quitting() && self.farewell.is_none() {
            self.farewell = Some(now + FAREWELL);
        }
        Ok(())
    }

    async fn carry_out(&mut self, effects: Vec<effect::UiEffect>) -> io::Result<()> {
        for effect in effects {
            match self.effects.run(effect) {
                None => {}
                Some(ForLoop::Copy(text)) => {
                    self.screen.write(&input::clipboard_sequence(&text, &self.manner))?;
                    let first = text.trim_start().lines().next().unwrap_or_default();
                    let (first, lines) = (text::clip(first, 40), text.lines().count());
                    let hint = format!("copied {}: {first}", amount::count(lines, "line"));
                    let hint = UiEvent::Hint(hint);
                    self.app.update(hint, Instant::now());
                }
                Some(ForLoop::UseMouse(mouse)) => self.screen.use_mouse(mouse)?,
                Some(ForLoop::Notify(text)) => {
                    self.screen.write(&self.manner.notification(&text))?;
                }
                Some(ForLoop::Suspend) => self.suspend()?,
                Some(ForLoop::EditExternally(text)) => self.edit(&text).await?,
                Some(ForLoop::Quit) => self.exit = true,
            }
        }
        Ok(())
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.screen.leave();
        input::stop_this_program();
        self.take_back()?;
        self.dirty = Some(Urgency::Now);
        Ok(())
    }

    /// Takes the terminal again: it knows nothing of us any more.
    fn take_back(&mut self) -> io::Result<()> {
        self.told = Told::default();
        self.screen.resume()
    }

    /// The editor has the terminal alone: nothing of ours reads its keys meanwhile.
    async fn edit(&mut self, text: &str) -> io::Result<()> {
        self.keys.stop().await;
        self.screen.leave();
        let edited = effects::edit_externally(text).await;
        self.take_back()?;
        self.keys = Keys::listen();
        let effects = self.app.update(UiEvent::Edited(edited), Instant::now());
        self.dirty = Some(Urgency::Now);
        for effect in effects {
            self.effects.run(effect);
        }
        Ok(())
    }

    /// When the next frame may be drawn; `None` when nothing has changed.
    fn frame_due(&self) -> Option<Instant> {
        let pause = match self.dirty? {
            Urgency::AtOnce => KEY_FRAME,
            Urgency::Now => FRAME,
            Urgency::Soon => STREAM_FRAME,
        };
        let due = self.last_frame.map_or(self.started, |last| last + pause);
        let waits = self.last_frame.is_none() && self.app.reader.is_none() || self.app.is_loading();
        Some(self.patience.filter(|_| waits).map_or(due, |patience| due.max(patience)))
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.frame_due().is_none_or(|due| due > now) {
            return Ok(());
        }
        self.patience = None;
        self.dirty = None;
        self.last_frame = Some(now);
        let app = &mut self.app;
        self.screen.draw(|frame| view::draw(app, frame, now))?;
        self.tell_terminal()?;
        // Drawing finds out what must be read.
        for effect in self.app.take_effects() {
            self.effects.run(effect);
        }
        Ok(())
    }
}

impl MainLoop {
    /// Tells the terminal what has changed beside the frame.
    fn tell_terminal(&mut self) -> io::Result<()> {
        let wanted = Told {
            title: self.manner.title.then(|| self.app.title()),
            progress: self.app.task_progress().filter(|_| self.manner.progress),
        };
        let mut bytes = String::new();
        if std::mem::take(&mut self.asks_background) {
            bytes.push_str(outward::ASK_BACKGROUND);
            self.keys.expect_background();
        }
        if wanted.title != self.told.title {
            bytes.extend(wanted.title.as_deref().map(outward::title));
        }
        if wanted.progress != self.told.progress {
            bytes.push_str(&outward::progress(wanted.progress));
        }
        self.told = wanted;
        if bytes.is_empty() { Ok(()) } else { self.screen.write(&bytes) }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
