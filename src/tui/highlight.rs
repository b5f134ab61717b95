//! What drawing looks up: colours of code (U1), made off the UI thread, and the marks of links.
//!
//! Drawing never waits. Code that has no colours yet is drawn plain and noted as wanted; the effect
//! that colours it answers with [`Highlights::insert`], and the blocks that hold it are drawn again.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::Span;

use super::links::Links;

/// Longer code stays plain, in bytes.
const LONGEST: usize = 20_000;

/// Most coloured blocks that are kept.
const MOST: usize = 400;

/// Names a piece of code in a language.
pub type CodeKey = u64;

/// A wish to have code coloured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeJob {
    /// Names it in the answer.
    pub key: CodeKey,
    /// The language as the fence names it.
    pub language: String,
    /// The code.
    pub code: String,
}

/// Code in colours, a list of spans for each line.
pub type ColouredCode = Arc<Vec<Vec<Span<'static>>>>;

/// All coloured code at hand.
#[derive(Debug, Default)]
pub struct Highlights {
    known: HashMap<CodeKey, ColouredCode>,
    wanted: RefCell<Vec<CodeJob>>,
    asked: RefCell<HashSet<CodeKey>>,
    off: bool,
    /// `None` where links are only text.
    links: Option<Links>,
}

impl Highlights {
    /// Colours nothing.
    #[must_use]
    pub fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// With links that are marked for the terminal.
    #[must_use]
    pub fn with_links(links: Links) -> Self {
        Self { links: Some(links), ..Self::default() }
    }

    /// The same links, and no colours.
    #[must_use]
    pub fn only_links(&self) -> Self {
        Self { links: self.links.clone(), ..Self::off() }
    }

    /// `style` for text that leads to `address`.
    #[must_use]
    pub fn link(&self, style: Style, address: &str) -> Style {
        self.links.as_ref().map_or(style, |links| links.mark(style, address))
    }

    /// Forgets all colours: the theme has changed.
    pub fn clear(&mut self) {
        self.known.clear();
        self.asked.get_mut().clear();
    }

    /// The coloured lines of a piece of code. When they are not there yet, they are asked for.
    #[must_use]
    pub fn get(&self, language: &str, code: &str) -> Option<ColouredCode> {
        if self.off || language.is_empty() || code.len() > LONGEST {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (language, code).hash(&mut hasher);
        let key = hasher.finish();
        let known = self.known.get(&key).cloned();
        if known.is_none() && self.asked.borrow_mut().insert(key) {
            let job = CodeJob { key, language: language.to_owned(), code: code.to_owned() };
            self.wanted.borrow_mut().push(job);
        }
        known
    }

    /// Takes what was asked for since the last time.
    pub fn take_wanted(&mut self) -> Vec<CodeJob> {
        self.wanted.take()
    }

    /// Remembers coloured code.
    pub fn insert(&mut self, key: CodeKey, code: ColouredCode) {
        if self.known.len() >= MOST {
            self.clear();
        }
        self.known.insert(key, code);
    }
}
