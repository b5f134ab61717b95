//! Which key means which [`Action`], and in the tree which [`TreeAction`] (U3): `assets/keymap.toml`,
//! changed by the person's own file.
//!
//! Characters that are typed are not in the map; the editor takes them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, LazyLock};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::action::{Action, Bindable, TreeAction};

const DEFAULT: &str = include_str!("../../assets/keymap.toml");

/// A test reads the built-in map, so it is never the empty one.
static BUILT_IN: LazyLock<KeyMap> = LazyLock::new(|| {
    KeyMap::parse(DEFAULT)
        .unwrap_or_else(|_| KeyMap { main: Keys::empty(), tree: Arc::new(Keys::empty()) })
});

/// A key with its modifiers, in one spelling however the terminal reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// From keys to actions, and back for the list of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys<A: Bindable> {
    actions: HashMap<Key, A>,
    keys: HashMap<A, Vec<String>>,
}

/// The keys of the main screen and those of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    main: Keys<Action>,
    tree: Arc<Keys<TreeAction>>,
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
        BUILT_IN.clone()
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
        map.main.change(changes.main);
        Arc::make_mut(&mut map.tree).change(Arc::unwrap_or_clone(changes.tree));
        Ok(map)
    }

    fn parse(source: &str) -> Result<Self, KeyMapError> {
        let file: File = toml::from_str(source).map_err(Box::new)?;
        Ok(Self { main: Keys::read(file.main)?, tree: Arc::new(Keys::read(file.tree)?) })
    }

    /// What a key means on the main screen.
    #[must_use]
    pub fn action(&self, event: &KeyEvent) -> Option<Action> {
        self.main.action(event)
    }

    /// The keys of an action of the main screen, as they are written.
    #[must_use]
    pub fn keys(&self, action: Action) -> &[String] {
        self.main.keys(action)
    }

    /// The first key of an action of the main screen, for hints.
    #[must_use]
    pub fn key_name(&self, action: Action) -> &str {
        self.main.key_name(action)
    }

    /// The keys of the tree.
    #[must_use]
    pub const fn tree(&self) -> &Arc<Keys<TreeAction>> {
        &self.tree
    }
}

impl<A: Bindable> Keys<A> {
    fn empty() -> Self {
        Self { actions: HashMap::new(), keys: HashMap::new() }
    }

    fn read(section: Section) -> Result<Self, KeyMapError> {
        let mut map = Self::empty();
        for (name, keys) in section {
            let action = A::parse(&name).ok_or(KeyMapError::Action(name))?;
            for key in &keys {
                let parsed = parse_key(key).ok_or_else(|| KeyMapError::Key(key.clone()))?;
                map.actions.insert(parsed, action);
            }
            map.keys.insert(action, keys);
        }
        Ok(map)
    }

    fn change(&mut self, changes: Self) {
        for (action, keys) in changes.keys {
            self.actions.retain(|_, taken| *taken != action);
            self.keys.insert(action, keys);
        }
        self.actions.extend(changes.actions);
        for (action, keys) in &mut self.keys {
            keys.retain(|name| {
                parse_key(name).is_some_and(|key| self.actions.get(&key) == Some(action))
            });
        }
    }

    /// What a key means.
    #[must_use]
    pub fn action(&self, event: &KeyEvent) -> Option<A> {
        self.actions.get(&Key::of(event)).copied()
    }

    /// The keys of an action, as they are written.
    #[must_use]
    pub fn keys(&self, action: A) -> &[String] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The first key of an action, for hints.
    #[must_use]
    pub fn key_name(&self, action: A) -> &str {
        self.keys(action).first().map_or("", String::as_str)
    }
}

/// Names of actions, each with its keys.
type Section = BTreeMap<String, Vec<String>>;

/// A key map file as it is written: the keys of the main screen, and a table `tree`.
#[derive(Default)]
struct File {
    main: Section,
    tree: Section,
}

impl<'de> Deserialize<'de> for File {
    /// By hand, so that a mistake is told with its line; a flattened map would lose it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = File;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("names of actions, each with a list of keys")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<File, M::Error> {
                let mut file = File::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "tree" {
                        file.tree = map.next_value()?;
                    } else {
                        file.main.insert(name, map.next_value()?);
                    }
                }
                Ok(file)
            }
        }
        deserializer.deserialize_map(Names)
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

    #[track_caller]
    fn check_complete<A: Bindable + std::fmt::Debug>(map: &Keys<A>) {
        for action in A::ALL {
            assert!(map.keys.contains_key(action), "{} is missing", action.name());
        }
        let count: usize = map.keys.values().map(Vec::len).sum();
        assert_eq!(count, map.actions.len(), "a key has two meanings");
    }

    #[test]
    fn u3_every_action_is_in_the_built_in_map() {
        let map = KeyMap::parse(DEFAULT).unwrap();
        check_complete(&map.main);
        check_complete(&map.tree);
    }

    #[test]
    fn u3_the_keys_of_the_tree_are_their_own() {
        let source = "find = [\"f5\"]\n[tree]\nsearch = [\"ctrl+s\"]\nlabel = [\"n\"]\n";
        let map = KeyMap::with_changes(source).unwrap();
        assert_eq!(map.tree().action(&press("ctrl+s")), Some(TreeAction::Search));
        assert_eq!(map.tree().action(&press("/")), None);
        assert_eq!(map.tree().action(&press("n")), Some(TreeAction::Label), "taken from another");
        assert_eq!(map.tree().action(&press("N")), Some(TreeAction::PreviousHit));
        assert_eq!(map.tree().keys(TreeAction::NextHit), [] as [String; 0]);
        assert_eq!(map.action(&press("ctrl+s")), None);
        assert_eq!(map.action(&press("f5")), Some(Action::Find));
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
        let error = KeyMap::with_changes("[tree]\nfly = [\"f1\"]").unwrap_err().to_string();
        assert!(error.contains("fly"), "{error}");
        for source in ["find = 3", "[tree]\nsearch = 3", "tree = [\"x\"]"] {
            let error = KeyMap::with_changes(source).unwrap_err().to_string();
            assert!(error.contains("line "), "{error}");
        }
    }
}
