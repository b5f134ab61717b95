//! The terminal's answer to the question for its background, told apart from keys. To the key parser
//! an answer is Alt+], a few characters and Alt+\; what begins like one and is none is given back.

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

/// How long an answer is waited for. A late one would be typed into the editor.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every answer begins with, after its introducer.
const HEAD: &str = "11;rgb";

/// Longest answer, in characters.
const LONGEST: usize = 40;

/// Watches events for one answer.
#[derive(Debug, Default)]
pub(super) struct Replies {
    until: Option<Instant>,
    /// Events of what may be an answer.
    held: Vec<Event>,
    text: String,
}

/// What became of an event.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// It is no part of an answer: these are events to go on with, in order.
    Events(Vec<Event>),
    /// It may be a part of one.
    Nothing,
    /// The background is light, or dark.
    Background {
        /// Which.
        light: bool,
    },
}

impl Replies {
    /// The question was asked.
    pub(super) fn expect(&mut self, now: Instant) {
        self.until = Some(now + PATIENCE);
    }

    /// Takes an event.
    pub(super) fn hear(&mut self, event: Event, now: Instant) -> Heard {
        let waits = self.until.is_some_and(|until| now < until);
        if self.held.is_empty() {
            if !waits || !is_key(&event, ']', KeyModifiers::ALT) {
                return Heard::Events(vec![event]);
            }
            self.held.push(event);
            return Heard::Nothing;
        }
        let ends =
            is_key(&event, '\\', KeyModifiers::ALT) || is_key(&event, 'g', KeyModifiers::CONTROL);
        let typed = typed(&event);
        self.held.push(event);
        if ends {
            return self.answered();
        }
        self.text.extend(typed);
        let begins = HEAD.starts_with(&self.text) || self.text.starts_with(HEAD);
        if typed.is_none() || !begins || self.text.len() > LONGEST {
            self.text.clear();
            return Heard::Events(std::mem::take(&mut self.held));
        }
        Heard::Nothing
    }

    fn answered(&mut self) -> Heard {
        let held = std::mem::take(&mut self.held);
        match is_light(&std::mem::take(&mut self.text)) {
            Some(light) => {
                self.until = None;
                Heard::Background { light }
            }
            None => Heard::Events(held),
        }
    }
}

fn is_key(event: &Event, sign: char, modifiers: KeyModifiers) -> bool {
    let Event::Key(key) = event else { return false };
    key.code == KeyCode::Char(sign) && key.modifiers == modifiers
}

fn typed(event: &Event) -> Option<char> {
    let Event::Key(key) = event else { return None };
    let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(sign) if plain && key.kind != KeyEventKind::Release => Some(sign),
        _ => None,
    }
}

/// Whether `11;rgb:RRRR/GGGG/BBBB` is a light colour.
fn is_light(answer: &str) -> Option<bool> {
    let colour = answer.strip_prefix("11;")?;
    let parts = colour.strip_prefix("rgb:").or_else(|| colour.strip_prefix("rgba:"))?;
    let mut shares = parts.split('/').map(|part| {
        let most = 16f64.powi(i32::try_from(part.len()).ok()?) - 1.0;
        Some(f64::from(u32::from_str_radix(part, 16).ok()?) / most)
    });
    let (red, green, blue) = (shares.next()??, shares.next()??, shares.next()??);
    Some(0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyEvent;

    fn key(sign: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(sign), modifiers))
    }

    fn answer(text: &str) -> Vec<Event> {
        let mut events = vec![key(']', KeyModifiers::ALT)];
        events.extend(text.chars().map(|sign| key(sign, KeyModifiers::NONE)));
        events.push(key('\\', KeyModifiers::ALT));
        events
    }

    /// Everything that came through, and the background if one was told.
    fn listen(replies: &mut Replies, events: Vec<Event>) -> (Vec<Event>, Option<bool>) {
        let (mut through, mut told) = (Vec::new(), None);
        for event in events {
            match replies.hear(event, Instant::now()) {
                Heard::Events(events) => through.extend(events),
                Heard::Nothing => {}
                Heard::Background { light } => told = Some(light),
            }
        }
        (through, told)
    }

    #[test]
    fn u7_the_background_is_read_and_nothing_of_it_is_typed() {
        for (text, light) in [
            ("11;rgb:ffff/ffff/ffff", true),
            ("11;rgb:00/2b/36", false),
            ("11;rgba:fdfd/f6f6/e3e3/ffff", true),
            ("11;rgb:0000/0000/ffff", false),
        ] {
            let mut replies = Replies::default();
            replies.expect(Instant::now());
            assert_eq!(listen(&mut replies, answer(text)), (Vec::new(), Some(light)), "{text}");
            let typed = vec![key(']', KeyModifiers::ALT)];
            assert_eq!(listen(&mut replies, typed.clone()).0, typed, "one answer is all there is");
        }
    }

    #[test]
    fn u7_keys_that_are_no_answer_come_through_in_order() {
        for events in [answer("12;rgb:0/0/0"), answer("11;nonsense"), answer("11;rgb:x/y/z")] {
            let mut replies = Replies::default();
            replies.expect(Instant::now());
            assert_eq!(listen(&mut replies, events.clone()), (events, None));
        }
        let events = answer("11;rgb:0/0/0");
        assert_eq!(listen(&mut Replies::default(), events.clone()).0, events, "nothing was asked");
    }
}
