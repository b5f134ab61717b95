//! Whether a call may run (SPEC A3). Asks for everything but reads; the folder `permission/` with the
//! rules takes this file's place: delete this file when it lands.

use std::path::Path;

use super::Effect;
use crate::settings::{PermissionMode, PermissionSettings};

/// What the person allowed for the session.
#[derive(Debug, Default)]
pub struct SessionGrants(Vec<String>);

impl SessionGrants {
    /// Adds one.
    pub fn grant(&mut self, rule: String) {
        self.0.push(rule);
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It runs.
    Allow,
    /// It does not.
    Deny {
        /// Why.
        reason: String,
    },
    /// The person decides.
    Ask {
        /// The command, or the path.
        subject: String,
        /// What would change in a file.
        diff: Option<String>,
        /// What is remarkable.
        note: Option<String>,
        /// What *always* allows.
        rule: String,
    },
}

/// Judges a call.
#[must_use]
pub fn judge(
    effect: &Effect,
    tool: &str,
    _workspace: &Path,
    settings: &PermissionSettings,
    granted: &SessionGrants,
) -> Judgement {
    let (subject, diff) = match effect {
        Effect::Read { .. } => return Judgement::Allow,
        Effect::Write { path, diff } => (path.display().to_string(), diff.clone()),
        Effect::Command { command } => (command.clone(), None),
    };
    let rule = format!("{tool} {subject}");
    if settings.mode == PermissionMode::Full || granted.0.contains(&rule) {
        return Judgement::Allow;
    }
    Judgement::Ask { subject, diff, note: None, rule }
}
