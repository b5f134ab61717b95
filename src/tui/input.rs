//! What comes from outside, as [`UiEvent`]s: keys, pastes, signals. And the few bytes and signals that
//! go out beside frames.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use base64::Engine;
use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind, KeyModifiers};
use futures::StreamExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;

use super::event::UiEvent;
use super::outward::Manner;
use super::replies::{Heard, Replies};

/// Keys that come at once and are more than these, with line feeds among them, are a paste from a
/// terminal that does not say so (F86).
const BURST: usize = 24;

/// Most bytes that are put on the clipboard through the terminal; terminals drop longer ones.
const MOST_COPIED: usize = 74_000;

/// What the terminal reports, read by a task of its own: the stream of events remembers only the first
/// waker that it meets, so it must not be polled from several places.
pub(super) struct Keys {
    /// `None` once the terminal is gone.
    events: Option<UnboundedReceiver<io::Result<Event>>>,
    reader: JoinHandle<()>,
    replies: Replies,
    /// Events that were held back and turned out to be keys.
    ready: VecDeque<UiEvent>,
}

impl Keys {
    pub(super) fn listen() -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let reader = tokio::spawn(async move {
            let mut stream = EventStream::new();
            while let Some(event) = stream.next().await {
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        Self { events: Some(events), reader, replies: Replies::default(), ready: VecDeque::new() }
    }

    /// The next event; `None` for one that means nothing here. When the terminal is gone there is
    /// nobody to draw for.
    pub(super) async fn next(&mut self) -> Option<UiEvent> {
        if let Some(event) = self.ready.pop_front() {
            return Some(event);
        }
        let Some(events) = &mut self.events else { return std::future::pending().await };
        match events.recv().await {
            Some(Ok(event)) => self.hear(event),
            Some(Err(_)) | None => {
                self.events = None;
                Some(UiEvent::Terminate)
            }
        }
    }

    /// An event that is there already.
    pub(super) fn next_ready(&mut self) -> Option<Option<UiEvent>> {
        if let Some(event) = self.ready.pop_front() {
            return Some(Some(event));
        }
        let event = self.events.as_mut()?.try_recv().ok()?.ok()?;
        Some(self.hear(event))
    }

    /// The terminal was asked for the colour of its background.
    pub(super) fn expect_background(&mut self) {
        self.replies.expect(Instant::now());
    }

    fn hear(&mut self, event: Event) -> Option<UiEvent> {
        match self.replies.hear(event, Instant::now()) {
            Heard::Nothing => None,
            Heard::Background { light } => Some(UiEvent::Background { light }),
            Heard::Events(events) => {
                self.ready.extend(events.into_iter().filter_map(ui_event));
                self.ready.pop_front()
            }
        }
    }

    /// Stops reading, so that another program can.
    pub(super) async fn stop(&mut self) {
        self.reader.abort();
        // That it was cancelled is what was asked for.
        let _ = (&mut self.reader).await;
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The event of the screen for one of the terminal.
fn ui_event(event: Event) -> Option<UiEvent> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => Some(UiEvent::Key(key)),
        Event::Paste(text) => Some(UiEvent::Paste(text)),
        Event::Mouse(mouse) => Some(UiEvent::Mouse(mouse)),
        Event::Resize(..) => Some(UiEvent::Resized),
        Event::FocusGained => Some(UiEvent::Focus(true)),
        Event::FocusLost => Some(UiEvent::Focus(false)),
    }
}

/// The character that a key types, if it types one.
fn typed(event: &UiEvent) -> Option<char> {
    let UiEvent::Key(key) = event else { return None };
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        // A raw line feed is reported as ctrl+j.
        let feed = key.code == KeyCode::Char('j') && key.modifiers == KeyModifiers::CONTROL;
        return feed.then_some('\n');
    }
    match key.code {
        KeyCode::Char(character) => Some(character),
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

/// Makes pastes of keys that no person types: many at once, with a line feed that is not the last.
pub(super) fn fold_bursts(events: Vec<UiEvent>) -> Vec<UiEvent> {
    let text: Option<String> = events.iter().map(typed).collect();
    match text {
        Some(text)
            if text.chars().count() >= BURST && text.trim_end_matches('\n').contains('\n') =>
        {
            vec![UiEvent::Paste(text)]
        }
        _ => events,
    }
}

/// Puts text on the clipboard of whoever looks at the terminal (OSC 52), also through ssh and tmux,
/// which by default takes it only wrapped.
pub(super) fn clipboard_sequence(text: &str, manner: &Manner) -> String {
    let mut end = text.len().min(MOST_COPIED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let encoded = base64::engine::general_purpose::STANDARD.encode(&text[..end]);
    let sequence = format!("\u{1b}]52;c;{encoded}\u{1b}\\");
    if manner.is_tmux() { format!("{sequence}{}", manner.through(&sequence)) } else { sequence }
}

/// Stops the program as Ctrl+Z does; returns when it is woken up.
pub(super) fn stop_this_program() {
    // Without job control there is nothing to stop for; then it just goes on.
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
}

/// The signals that ask the program to end.
pub(super) struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    /// Somebody stopped and woke us: the terminal may be anything now.
    awake: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            awake: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        })
    }

    pub(super) async fn next(&mut self) -> UiEvent {
        tokio::select! {
            _ = self.terminate.recv() => UiEvent::Terminate,
            _ = self.hang_up.recv() => UiEvent::Terminate,
            _ = self.interrupt.recv() => UiEvent::Terminate,
            _ = self.awake.recv() => UiEvent::Woken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyEvent;

    fn keys(text: &str) -> Vec<UiEvent> {
        let code = |c| if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
        text.chars().map(|c| UiEvent::Key(KeyEvent::from(code(c)))).collect()
    }

    #[test]
    fn f86_a_burst_of_lines_is_a_paste_and_a_typed_line_is_not() {
        let pasted = "fn main() {\n    println!();\n}\n";
        assert!(matches!(&fold_bursts(keys(pasted))[..], [UiEvent::Paste(text)] if text == pasted));
        let line = "a line that is typed fast and sent\n";
        assert_eq!(fold_bursts(keys(line)).len(), line.len());
        assert_eq!(fold_bursts(keys("a\nb\n")).len(), 4);
    }

    #[test]
    fn u1_the_clipboard_gets_whole_characters() {
        let sequence = clipboard_sequence(&"한".repeat(MOST_COPIED), &Manner::default());
        let encoded = sequence.trim_start_matches("\u{1b}]52;c;").trim_end_matches("\u{1b}\\");
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
        assert!(String::from_utf8(bytes).unwrap().chars().all(|c| c == '한'));
    }
}
