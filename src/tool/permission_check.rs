//! The eyes of [`permission`](super::permission): what paths really are, links followed.

use std::path::{Path, PathBuf};

use super::Effect;
use super::permission::{self, Judgement, Place, SessionGrants};
use super::replace_file::follow_links;
use crate::settings::PermissionSettings;

/// Judges a call by what its paths really are.
#[must_use]
pub fn check(
    effect: &Effect,
    tool: &str,
    workspace: &Path,
    settings: &PermissionSettings,
    granted: &SessionGrants,
) -> Judgement {
    let workspace = real(workspace);
    let effect = match effect {
        Effect::Read { paths } => {
            Effect::Read { paths: paths.iter().map(|path| real(path)).collect() }
        }
        Effect::Write { path, diff } => Effect::Write { path: real(path), diff: diff.clone() },
        Effect::Command { command } => Effect::Command { command: command.clone() },
    };
    let settings = with_home(settings);
    let place = Place { workspace: &workspace, real: &real };
    permission::judge_in(&effect, tool, &settings, granted, place)
}

/// A path with all links followed, as far as it exists; the rest as it stands.
#[must_use]
pub fn real(path: &Path) -> PathBuf {
    let path = follow_links(path).unwrap_or_else(|_| path.to_path_buf());
    let mut rest = Vec::new();
    let mut existing = path.as_path();
    loop {
        if let Ok(found) = existing.canonicalize() {
            return rest.into_iter().rev().fold(found, |path: PathBuf, name| path.join(name));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                existing = parent;
            }
            _ => return path,
        }
    }
}

/// Rules with `~/` also in the form that real paths have.
fn with_home(settings: &PermissionSettings) -> PermissionSettings {
    let Ok(home) = etcetera::home_dir() else { return settings.clone() };
    let home = real(&home);
    let both = |rules: &[String]| {
        let expanded = rules
            .iter()
            .filter(|rule| rule.contains("(~/"))
            .map(|rule| rule.replacen("(~/", &format!("({}/", home.display()), 1));
        rules.iter().cloned().chain(expanded).collect()
    };
    PermissionSettings {
        allow: both(&settings.allow),
        deny: both(&settings.deny),
        ..settings.clone()
    }
}
