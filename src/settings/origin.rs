//! Where a value came from, and what is wrong with it: the words in which settings explain themselves.

use std::fmt;
use std::path::PathBuf;

use super::node::Place;
use super::schema::Key;

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    BuiltIn,
    /// A settings file.
    File {
        /// Which.
        path: PathBuf,
        /// Where in it.
        place: Place,
    },
    /// An environment variable.
    Variable(String),
    /// An option of the command line.
    CommandLine(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::File { path, place } => write!(f, "{}:{place}", path.display()),
            Self::Variable(name) | Self::CommandLine(name) => f.write_str(name),
        }
    }
}

/// One mistake in the settings. Reads as `file:line:column: what is wrong, what to do`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}{}", self.place(), self.advice.as_deref().map(|text| format!("\n{text}")).unwrap_or_default())]
pub struct SettingsError {
    /// Where the mistake is.
    pub origin: Origin,
    /// The key that it concerns.
    pub key: Option<Key>,
    /// What is wrong, what was expected, and what was probably meant.
    pub problem: String,
    /// Longer help, such as a block to write instead.
    pub advice: Option<String>,
}

impl SettingsError {
    /// A mistake without longer help.
    pub fn new(origin: Origin, key: Option<Key>, problem: impl Into<String>) -> Self {
        Self { origin, key, problem: problem.into(), advice: None }
    }

    fn place(&self) -> String {
        match &self.origin {
            Origin::BuiltIn => "settings".to_owned(),
            origin => origin.to_string(),
        }
    }
}
