//! What the person has allowed for the rest of a session.

use std::fmt;
use std::path::{Path, PathBuf};

use super::rule::CommandPattern;

/// What *always* would allow; its text is what the question shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant(pub(super) Vec<Granted>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Granted {
    /// Simple commands that match.
    Command(CommandPattern),
    /// One whole command, as it was written.
    Whole(String),
    /// Changes of files in the workspace.
    Edits,
    /// Changes of this file, or of all below this folder.
    Write(PathBuf),
    /// Reading of this file, or of all below this folder.
    Read(PathBuf),
}

impl Grant {
    pub(super) fn one(granted: Granted) -> Self {
        Self(vec![granted])
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, granted) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            match granted {
                Granted::Command(pattern) => write!(f, "`{pattern}`")?,
                Granted::Whole(_) => f.write_str("this very command")?,
                Granted::Edits => f.write_str("edits in this folder")?,
                Granted::Write(path) => write!(f, "writing {}", path.display())?,
                Granted::Read(path) => write!(f, "reading {}", path.display())?,
            }
        }
        Ok(())
    }
}

/// Everything granted so far. Lives as long as the session is open; never written to a file.
#[derive(Debug, Clone, Default)]
pub struct SessionGrants {
    granted: Vec<Granted>,
}

impl SessionGrants {
    /// Adds what the person answered *always* to.
    pub fn grant(&mut self, grant: Grant) {
        for granted in grant.0 {
            if !self.granted.contains(&granted) {
                self.granted.push(granted);
            }
        }
    }

    pub(super) fn whole(&self, command: &str) -> bool {
        self.any(|granted| matches!(granted, Granted::Whole(text) if text == command))
    }

    /// The patterns that cover a simple command.
    pub(super) fn command(&self, text: &str) -> Option<&CommandPattern> {
        self.granted.iter().find_map(|granted| match granted {
            Granted::Command(pattern) if pattern.matches(text) => Some(pattern),
            _ => None,
        })
    }

    pub(super) fn edits(&self) -> bool {
        self.any(|granted| *granted == Granted::Edits)
    }

    pub(super) fn writes(&self, path: &Path) -> bool {
        self.any(|granted| matches!(granted, Granted::Write(place) if path.starts_with(place)))
    }

    pub(super) fn reads(&self, path: &Path) -> bool {
        let covers = |granted: &Granted| match granted {
            Granted::Read(place) | Granted::Write(place) => path.starts_with(place),
            _ => false,
        };
        self.any(covers)
    }

    fn any(&self, covers: impl Fn(&Granted) -> bool) -> bool {
        self.granted.iter().any(covers)
    }
}
