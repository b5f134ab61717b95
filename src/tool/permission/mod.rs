//! Whether a call may run: freely, after a question, or not at all (SPEC A3, F80). Pure.
//!
//! Rules that forbid win over everything, then comes what must be asked, then what is allowed. Of a
//! command every part is judged, wherever it stands; what is not understood is asked. Paths outside
//! the workspace are asked in every mode, unless a rule or an answer names them. All this guards
//! against mistakes and against being talked into something; it is no sandbox.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::settings::{PermissionMode, PermissionSettings};

use super::Effect;
use grant::Granted;
use rule::{Access, Rule};

pub use grant::{Grant, SessionGrants};
pub(super) use reach::Place;

mod command;
mod grant;
mod inner;
mod limits;
mod marks;
mod notes;
mod reach;
mod rule;
mod shell;
mod spelling;
mod word;

const OUTSIDE: &str = "outside the workspace";

/// What a model is told of a change or a command while only reading is allowed.
const ONLY_READING: &str = "This session may only read (permission mode `read`): nothing is changed and no \
     command is run, whatever rules and answers say. Say what you would do instead";

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It runs.
    Allow,
    /// It does not run; the reason goes to the model.
    Deny {
        /// What forbids it.
        reason: String,
    },
    /// The person decides.
    Ask {
        /// The command, or the path.
        subject: String,
        /// The byte ranges of `subject` that the question is about, in order and apart; empty when it is
        /// about all of it.
        marks: Vec<Range<usize>>,
        /// What would change in a file.
        diff: Option<String>,
        /// What is remarkable: `deletes files`, `outside the workspace`.
        note: Option<String>,
        /// What *always* would allow; its `Display` goes into the question.
        rule: Grant,
    },
}

/// The rule that allows reading in a folder.
#[must_use]
pub fn reading_in(folder: &Path) -> String {
    format!("read({})", globset::escape(&folder.to_string_lossy()))
}

/// What is wrong with the rules of the settings, a sentence each. A rule that allows and cannot be
/// read allows nothing; one that forbids makes everything a question.
#[must_use]
pub fn rule_problems(settings: &PermissionSettings) -> Vec<String> {
    let rules = settings.allow.iter().chain(&settings.deny);
    rules.filter_map(|rule| Rule::parse(rule).err()).collect()
}

/// Judges a call. Paths in `effect` and `workspace` must be real paths, links followed; paths that a
/// command names are taken as they stand. `tool::permission_check` does both.
#[must_use]
pub fn judge(
    effect: &Effect,
    tool: &str,
    workspace: &Path,
    settings: &PermissionSettings,
    granted: &SessionGrants,
) -> Judgement {
    judge_in(effect, tool, settings, granted, Place { workspace, real: &Path::to_path_buf })
}

/// As [`judge`], with the eyes that `place` gives it.
pub(super) fn judge_in(
    effect: &Effect,
    tool: &str,
    settings: &PermissionSettings,
    granted: &SessionGrants,
    place: Place<'_>,
) -> Judgement {
    if settings.mode == PermissionMode::Read && !matches!(effect, Effect::Read { .. }) {
        return Judgement::Deny { reason: ONLY_READING.to_owned() };
    }
    let judge = Judge::new(tool, settings, granted, place);
    let judgement = match effect {
        Effect::Read { paths } => judge.reading(paths),
        Effect::Write { path, diff } => judge.writing(path, diff.as_ref()),
        Effect::Command { command } => judge.command(command),
    };
    match (judgement, &judge.broken) {
        (Judgement::Allow, Some(problem)) => judge.doubtful(effect, problem),
        (judgement, _) => judgement,
    }
}

/// What becomes of a command that nobody could take apart, and why nobody could.
pub(super) fn judge_unread(
    command: &str,
    why: &str,
    tool: &str,
    settings: &PermissionSettings,
    granted: &SessionGrants,
    place: Place<'_>,
) -> Judgement {
    if settings.mode == PermissionMode::Read {
        return Judgement::Deny { reason: ONLY_READING.to_owned() };
    }
    Judge::new(tool, settings, granted, place).taken_apart(command, Err(why.to_owned()))
}

struct Judge<'a> {
    tool: &'a str,
    mode: PermissionMode,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
    /// A rule that forbids something, but cannot be read: then nothing is free.
    broken: Option<String>,
    granted: &'a SessionGrants,
    place: Place<'a>,
}

/// What a part of a command needs.
enum Need {
    /// Nothing: it is allowed.
    Allowed,
    /// Nothing, but it is no reason to run the whole either.
    Neutral,
    /// A question.
    Question {
        notes: Vec<String>,
        grants: Vec<Granted>,
        /// The words of the parts that it is about.
        parts: Vec<Vec<String>>,
    },
}

impl Need {
    fn question(note: impl Into<String>, grant: Granted) -> Self {
        Self::Question { notes: vec![note.into()], grants: vec![grant], parts: Vec::new() }
    }

    /// The same, and it is about a part of a command with this word.
    fn about(mut self, word: &str) -> Self {
        if let Self::Question { parts, .. } = &mut self {
            parts.push(vec![word.to_owned()]);
        }
        self
    }
}

impl<'a> Judge<'a> {
    fn new(
        tool: &'a str,
        settings: &PermissionSettings,
        granted: &'a SessionGrants,
        place: Place<'a>,
    ) -> Self {
        let mut broken = None;
        let mut deny = Vec::new();
        for rule in &settings.deny {
            match Rule::parse(rule) {
                Ok(rule) => deny.push(rule),
                Err(problem) => broken = Some(problem),
            }
        }
        let allow = settings.allow.iter().filter_map(|rule| Rule::parse(rule).ok()).collect();
        Self { tool, mode: settings.mode, allow, deny, broken, granted, place }
    }

    fn doubtful(&self, effect: &Effect, problem: &str) -> Judgement {
        let (subject, rule) = match effect {
            Effect::Command { command } => (command.clone(), Granted::Whole(command.clone())),
            Effect::Write { path, .. } => (self.shown(path), Granted::Write(path.clone())),
            Effect::Read { paths } => {
                let path = paths.first().cloned().unwrap_or_default();
                (self.shown(&path), Granted::Read(path))
            }
        };
        let note = Some(format!("a rule that forbids something cannot be read: {problem}"));
        let (marks, diff, rule) = (Vec::new(), None, Grant::one(rule));
        Judgement::Ask { subject, marks, diff, note, rule }
    }

    fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(self.place.workspace).ok();
        let inside = inside.filter(|inside| !inside.as_os_str().is_empty());
        inside.unwrap_or(path).to_string_lossy().into_owned()
    }

    /// The rule that forbids access to a path.
    fn forbids_path(&self, path: &Path, access: Access) -> Option<&Rule> {
        self.deny.iter().find(|rule| {
            rule.is_for(self.tool, access) && rule.covers_path(path, self.place.workspace)
        })
    }

    fn allows_path(&self, path: &Path, access: Access) -> bool {
        self.allow.iter().any(|rule| {
            rule.is_for(self.tool, access) && rule.covers_path(path, self.place.workspace)
        })
    }

    fn reading(&self, paths: &[PathBuf]) -> Judgement {
        for path in paths {
            if let Some(rule) = self.forbids_path(path, Access::Read) {
                return forbidden(&self.shown(path), rule);
            }
        }
        let asked = paths.iter().find(|path| !self.may_read(path));
        match asked {
            None => Judgement::Allow,
            Some(path) => Judgement::Ask {
                subject: self.shown(path),
                marks: Vec::new(),
                diff: None,
                note: Some(OUTSIDE.to_owned()),
                rule: Grant::one(Granted::Read(path.clone())),
            },
        }
    }

    fn may_read(&self, path: &Path) -> bool {
        path.starts_with(self.place.workspace)
            || self.allows_path(path, Access::Read)
            || self.granted.reads(path)
            || is_saved_output(path)
    }

    fn writing(&self, path: &Path, diff: Option<&String>) -> Judgement {
        if let Some(rule) = self.forbids_path(path, Access::Write) {
            return forbidden(&self.shown(path), rule);
        }
        match self.write_need(path) {
            Need::Question { notes, grants, .. } => Judgement::Ask {
                subject: self.shown(path),
                marks: Vec::new(),
                diff: diff.cloned(),
                note: joined(notes),
                rule: Grant(grants),
            },
            Need::Allowed | Need::Neutral => Judgement::Allow,
        }
    }

    /// What changing a file needs that no rule forbids.
    fn write_need(&self, path: &Path) -> Need {
        let this = || Granted::Write(path.to_path_buf());
        if self.allows_path(path, Access::Write) || self.granted.writes(path) {
            return Need::Allowed;
        }
        if !path.starts_with(self.place.workspace) {
            return Need::question(OUTSIDE, this());
        }
        if self.mode == PermissionMode::Full {
            return Need::Allowed;
        }
        if is_powerful_file(path, self.place.workspace) {
            return Need::question("changes what programs do here", this());
        }
        if self.mode == PermissionMode::Edits || self.granted.edits() {
            return Need::Allowed;
        }
        Need::Question { notes: Vec::new(), grants: vec![Granted::Edits], parts: Vec::new() }
    }
}

fn forbidden(subject: &str, rule: &Rule) -> Judgement {
    let subject = super::truncate::one_line(subject, 200);
    Judgement::Deny {
        reason: format!(
            "`{subject}` is forbidden by the rule `{}` of the settings. Do not look for another way \
             to do the same; if it is needed, ask the user",
            rule.text
        ),
    }
}

fn joined(notes: Vec<String>) -> Option<String> {
    let mut unique: Vec<String> = Vec::new();
    for note in notes {
        if !unique.contains(&note) {
            unique.push(note);
        }
    }
    (!unique.is_empty()).then(|| unique.join(", "))
}

/// Files that decide what programs do: git's hooks and configuration, our own settings.
fn is_powerful_file(path: &Path, workspace: &Path) -> bool {
    let inside = path.strip_prefix(workspace).unwrap_or(path);
    inside.components().any(|part| {
        part.as_os_str().to_str().is_some_and(|name| matches!(name, ".git" | ".regrow"))
    })
}

/// The file in which `bash` keeps output that was too long: the model has seen a part of it already.
fn is_saved_output(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(super::truncate::OUTPUT_FILE_START) && name.ends_with(".log")
}

#[cfg(test)]
mod bash_tests;
#[cfg(test)]
mod tests;
