//! The terminal as the screen needs it, and as it was before (U7, F87).
//!
//! One function puts everything back. It runs when the guard goes, when the UI thread panics, and
//! before the program is put to sleep; running it twice does no harm.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::{Frame, Terminal};

use super::links::{LinkingBackend, Links};
use super::outward::{KEEP_TITLE, Manner, NO_PROGRESS, RESTORE_TITLE};

/// Whether the terminal is ours now. The panic hook must know, and it belongs to no one.
static OURS: AtomicBool = AtomicBool::new(false);

/// Whether the title is ours, and whether progress may be shown: to be undone with the rest.
static TITLED: AtomicBool = AtomicBool::new(false);
static PROGRESSED: AtomicBool = AtomicBool::new(false);

/// Ends a link in the midst of which a frame was broken off.
const END_LINK: &str = "\u{1b}]8;;\u{1b}\\";

type Drawn = Terminal<LinkingBackend<BufWriter<Stdout>>>;

/// The terminal while the screen runs. Puts everything back when it goes.
pub struct Screen {
    terminal: Drawn,
    mouse: bool,
    manner: Manner,
    links: Links,
}

impl Screen {
    /// Takes the terminal. Must be called on the thread that goes on to draw.
    ///
    /// # Errors
    /// Standard output is no terminal, or it does not obey.
    pub fn enter(mouse: bool, manner: Manner, links: Links) -> io::Result<Self> {
        restore_on_panic();
        take(mouse, manner)?;
        let terminal = blank(manner, &links).inspect_err(|_| restore())?;
        Ok(Self { terminal, mouse, manner, links })
    }

    /// Draws a frame; the terminal shows it at once or not at all.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(draw)?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        io::Write::flush(self.terminal.backend_mut())
    }

    /// Writes bytes that draw nothing: the bell, the clipboard, the title.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn write(&mut self, bytes: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        backend.write_all(bytes.as_bytes())?;
        io::Write::flush(backend)
    }

    /// Takes the mouse, or leaves it to the terminal.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn use_mouse(&mut self, mouse: bool) -> io::Result<()> {
        match (std::mem::replace(&mut self.mouse, mouse), mouse) {
            (false, true) => execute!(io::stdout(), EnableMouseCapture),
            (true, false) => execute!(io::stdout(), DisableMouseCapture),
            _ => Ok(()),
        }
    }

    /// Gives the terminal back for a while; [`Screen::resume`] takes it again.
    pub fn leave(&mut self) {
        restore();
    }

    /// Takes the terminal again and forgets what it showed.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn resume(&mut self) -> io::Result<()> {
        take(self.mouse, self.manner)?;
        // Clearing the old one would ask the terminal where its cursor is, and wait for the answer.
        self.terminal = blank(self.manner, &self.links)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// A screen that shows nothing yet, as the alternate one does when it is entered.
fn blank(manner: Manner, links: &Links) -> io::Result<Drawn> {
    let out = BufWriter::with_capacity(1 << 16, io::stdout());
    Terminal::new(LinkingBackend::new(out, manner.links.then(|| links.clone())))
}

fn take(mouse: bool, manner: Manner) -> io::Result<()> {
    enable_raw_mode()?;
    OURS.store(true, Ordering::SeqCst);
    TITLED.store(manner.title, Ordering::SeqCst);
    PROGRESSED.store(manner.progress, Ordering::SeqCst);
    let taken = set_modes(mouse);
    if taken.is_err() {
        restore();
    }
    taken
}

fn set_modes(mouse: bool) -> io::Result<()> {
    // Terminals that do not know the keyboard protocol ignore the request; asking first would cost
    // a round trip at every start.
    let keyboard = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange,
        PushKeyboardEnhancementFlags(keyboard)
    )?;
    if TITLED.load(Ordering::SeqCst) {
        execute!(io::stdout(), Print(KEEP_TITLE))?;
    }
    if mouse { execute!(io::stdout(), EnableMouseCapture) } else { Ok(()) }
}

/// Puts everything back, if it is ours. What fails is left: there is nobody to tell.
pub fn restore() {
    if !OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    if PROGRESSED.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), Print(NO_PROGRESS));
    }
    if TITLED.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), Print(RESTORE_TITLE));
    }
    let _ = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        Print(END_LINK),
        PopKeyboardEnhancementFlags,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

/// A panic on this thread puts the terminal back before it prints. One on another thread ends a task
/// and not the screen: it goes to the log, and printing it would spoil what is drawn.
fn restore_on_panic() {
    let screen_thread = std::thread::current().id();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if OURS.load(Ordering::SeqCst) && std::thread::current().id() != screen_thread {
            tracing::error!("a task panicked: {info}");
            return;
        }
        restore();
        previous(info);
    }));
}
