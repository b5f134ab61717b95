//! Which key means which [`Action`] (U3): `assets/keymap.toml`, changed by the person's own file.
//!
//! Characters that are typed are not in the map; the editor takes them.

use std::collections::{BTreeMap, HashMap};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::Action;

const DEFAULT: &str = include_str!("../../assets/keymap.toml");

/// A key with its modifiers, in one spelling however the terminal reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// From keys to actions, and back for the list of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    actions: HashMap<Key, Action>,
    keys: HashMap<Action, Vec<String>>,
}

/// A key map that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyMapError {
    /// The file is not TOML, or a value is not a list of keys.
    #[error("the key map cannot be read: {0}")]
    Parse(#[from] Box<toml::de::Error>),
    /// No action has this name.
    #[error("there is no action `{0}`; /hotkeys lists them")]
    Action(String),
    /// No key has this name.
    #[error("`{0}` is no key; write for example \"ctrl+x\", \"alt+enter\" or \"f5\"")]
    Key(String),
}

impl Default for KeyMap {
    fn default() -> Self {
        // A test reads the built-in map, so it is never the empty one.
        Self::parse(DEFAULT)
            .unwrap_or_else(|_| Self { actions: HashMap::new(), keys: HashMap::new() })
    }
}

impl KeyMap {
    /// The built-in map with the changes of the person's own file.
    ///
    /// # Errors
    /// The file is no key map, or names an action or a key that does not exist.
    pub fn with_changes(source: &str) -> Result<Self, KeyMapError> {
        let mut map = Self::default();
        let changes = Self::parse(source)?;
        for (action, keys) in changes.keys {
            map.actions.retain(|_, taken| *taken != action);
            map.keys.insert(action, keys);
        }
        for (key, action) in changes.actions {
            map.actions.insert(key, action);
        }
        for (action, keys) in &mut map.keys {
            keys.retain(|name| {
                parse_key(name).is_some_and(|key| map.actions.get(&key) == Some(action))
            });
        }
        Ok(map)
    }

    fn parse(source: &str) -> Result<Self, KeyMapError> {
        let file: BTreeMap<String, Vec<String>> = toml::from_str(source).map_err(Box::new)?;
        let mut map = Self { actions: HashMap::new(), keys: HashMap::new() };
        for (name, keys) in file {
            let action = Action::parse(&name).ok_or(KeyMapError::Action(name))?;
            for key in &keys {
                let parsed = parse_key(key).ok_or_else(|| KeyMapError::Key(key.clone()))?;
                map.actions.insert(parsed, action);
            }
            map.keys.insert(action, keys);
        }
        Ok(map)
    }

    /// What a key means.
    #[must_use]
    pub fn action(&self, event: &KeyEvent) -> Option<Action> {
        self.actions.get(&Key::of(event)).copied()
    }

    /// The keys of an action, as they are written.
    #[must_use]
    pub fn keys(&self, action: Action) -> &[String] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The first key of an action, for hints.
    #[must_use]
    pub fn key_name(&self, action: Action) -> &str {
        self.keys(action).first().map_or("", String::as_str)
    }
}

impl Key {
    /// The key of an event. Terminals differ in whether shift is named beside a capital letter, and
    /// in what they call shift+tab.
    #[must_use]
    pub fn of(event: &KeyEvent) -> Self {
        Self::new(event.code, event.modifiers)
    }

    fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let known = KeyModifiers::SHIFT | KeyModifiers::CONTROL | KeyModifiers::ALT;
        let modifiers = modifiers & known;
        match code {
            KeyCode::BackTab => {
                Self { code: KeyCode::Tab, modifiers: modifiers | KeyModifiers::SHIFT }
            }
            KeyCode::Char(letter) if letter.is_uppercase() => Self {
                code: KeyCode::Char(letter.to_lowercase().next().unwrap_or(letter)),
                modifiers: modifiers | KeyModifiers::SHIFT,
            },
            KeyCode::Char(sign) if !sign.is_alphabetic() => {
                Self { code, modifiers: modifiers - KeyModifiers::SHIFT }
            }
            _ => Self { code, modifiers },
        }
    }
}

/// Reads a key as it is written in key map files: `ctrl+shift+left`.
fn parse_key(name: &str) -> Option<Key> {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = name;
    let code = loop {
        match rest.split_once('+') {
            Some(("ctrl", after)) => (modifiers, rest) = (modifiers | KeyModifiers::CONTROL, after),
            Some(("alt", after)) => (modifiers, rest) = (modifiers | KeyModifiers::ALT, after),
            Some(("shift", after)) => (modifiers, rest) = (modifiers | KeyModifiers::SHIFT, after),
            _ => break key_code(rest)?,
        }
    };
    Some(Key::new(code, modifiers))
}

fn key_code(name: &str) -> Option<KeyCode> {
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return Some(KeyCode::Char(only));
    }
    if let Some(number) = name.strip_prefix('f') {
        return number.parse().ok().filter(|number| (1..=24).contains(number)).map(KeyCode::F);
    }
    Some(match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        "backspace" => KeyCode::Backspace,
        "delete" => KeyCode::Delete,
        "insert" => KeyCode::Insert,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(name: &str) -> KeyEvent {
        let key = parse_key(name).unwrap();
        KeyEvent::new(key.code, key.modifiers)
    }

    #[test]
    fn u3_every_action_is_in_the_built_in_map() {
        let map = KeyMap::parse(DEFAULT).unwrap();
        for action in Action::ALL {
            assert!(map.keys.contains_key(action), "{} is missing", action.name());
        }
        let count: usize = map.keys.values().map(Vec::len).sum();
        assert_eq!(count, map.actions.len(), "a key has two meanings");
    }

    #[test]
    fn u3_keys_are_found_however_they_are_reported() {
        let map = KeyMap::default();
        assert_eq!(map.action(&press("enter")), Some(Action::Submit));
        let back_tab = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(map.action(&back_tab), Some(Action::CycleThinking));
        let capital = KeyEvent::new(KeyCode::Char('Z'), KeyModifiers::CONTROL);
        assert_eq!(map.action(&capital), Some(Action::Redo));
        assert_eq!(map.action(&press("x")), None);
    }

    #[test]
    fn u3_the_persons_own_keys_replace_ours() {
        let map = KeyMap::with_changes("find = [\"ctrl+l\"]\nundo = []").unwrap();
        assert_eq!(map.action(&press("ctrl+l")), Some(Action::Find));
        assert_eq!(map.action(&press("ctrl+f")), None);
        assert_eq!(map.action(&press("ctrl+_")), None);
        assert_eq!(map.keys(Action::PickModel), [] as [String; 0]);
        assert_eq!(map.action(&press("enter")), Some(Action::Submit));
    }

    #[test]
    fn u3_mistakes_in_a_key_map_are_named() {
        for (source, word) in [("fly = [\"f1\"]", "fly"), ("find = [\"hyper+x\"]", "hyper+x")] {
            let error = KeyMap::with_changes(source).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        assert!(KeyMap::with_changes("find = 3").is_err());
    }
}
