//! Whether a call may run: freely, after a question, or not at all (SPEC A3, F80). Pure.
//!
//! Rules that forbid win over everything, then comes what must be asked, then what is allowed. Of a
//! command every part is judged, wherever it stands; what is not understood is asked. Paths outside
//! the workspace are asked in every mode, unless a rule or an answer names them. All this guards
//! against mistakes and against being talked into something; it is no sandbox.

use std::path::{Path, PathBuf};

use crate::settings::{PermissionMode, PermissionSettings};

use super::Effect;
use grant::Granted;
use inner::Inner;
use reach::Target;
use rule::{Access, CommandPattern, Rule};
use shell::{Base, Item, SimpleRun};
use word::Word;

pub use grant::{Grant, SessionGrants};
pub(super) use reach::Place;

mod grant;
mod inner;
mod limits;
mod notes;
mod reach;
mod rule;
mod shell;
mod word;

const OUTSIDE: &str = "outside the workspace";

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
        /// What would change in a file.
        diff: Option<String>,
        /// What is remarkable: `deletes files`, `outside the workspace`.
        note: Option<String>,
        /// What *always* would allow; its `Display` goes into the question.
        rule: Grant,
    },
}

/// Says whether a rule of the settings can be read.
///
/// # Errors
/// What is wrong with it.
pub fn check_rule(rule: &str) -> Result<(), String> {
    Rule::parse(rule).map(|_| ())
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
    Question { notes: Vec<String>, grants: Vec<Granted> },
}

impl Need {
    fn question(note: impl Into<String>, grant: Granted) -> Self {
        Self::Question { notes: vec![note.into()], grants: vec![grant] }
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
        Judgement::Ask { subject, diff: None, note, rule: Grant::one(rule) }
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
            Need::Question { notes, grants } => Judgement::Ask {
                subject: self.shown(path),
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
        Need::Question { notes: Vec::new(), grants: vec![Granted::Edits] }
    }

    fn command(&self, command: &str) -> Judgement {
        let items = shell::take_apart(command);
        if let Some(judgement) = self.forbidden_command(command, items.as_deref().unwrap_or(&[])) {
            return judgement;
        }
        if self.granted.whole(command) {
            return Judgement::Allow;
        }
        let ask = |notes: Vec<String>, grants: Vec<Granted>| Judgement::Ask {
            subject: command.to_owned(),
            diff: None,
            note: joined(notes),
            rule: Grant(grants),
        };
        let whole = || vec![Granted::Whole(command.to_owned())];
        let items = match items {
            Ok(items) => items,
            Err(why) => return ask(vec![format!("cannot be checked: {why}")], whole()),
        };
        let (mut notes, mut grants, mut allowed) = (Vec::new(), Vec::new(), false);
        for item in &items {
            match self.need(item) {
                Need::Allowed => allowed = true,
                Need::Neutral => {}
                Need::Question { notes: more_notes, grants: more_grants } => {
                    notes.extend(more_notes);
                    grants.extend(more_grants);
                }
            }
        }
        if grants.is_empty() && (allowed || self.mode == PermissionMode::Full) {
            return Judgement::Allow;
        }
        if grants.is_empty() {
            let runs = items.iter().filter_map(|item| match item {
                Item::Run(run) => Some(Granted::Command(offered(run, &inner::of(run), true))),
                _ => None,
            });
            grants.extend(runs);
        }
        if grants.is_empty() || grants.iter().any(|granted| matches!(granted, Granted::Whole(_))) {
            grants = whole();
        }
        grants.dedup();
        ask(notes, grants)
    }

    fn forbidden_command(&self, command: &str, items: &[Item]) -> Option<Judgement> {
        let rules = || self.deny.iter().filter(|rule| rule.is_for(self.tool, Access::Command));
        if let Some(rule) = rules().find(|rule| rule.covers_command(command)) {
            return Some(forbidden(command, rule));
        }
        items.iter().find_map(|item| self.forbidden_item(item))
    }

    fn forbidden_item(&self, item: &Item) -> Option<Judgement> {
        match item {
            Item::Assign(_) => None,
            Item::Write(word, base) => self.forbidden_word(word, base, Access::Write),
            Item::Read(word, base) => self.forbidden_word(word, base, Access::Read),
            Item::Run(run) => self.forbidden_run(run),
        }
    }

    fn forbidden_run(&self, run: &SimpleRun) -> Option<Judgement> {
        let texts = spellings(run);
        let rule = self.deny.iter().find(|rule| {
            rule.is_for(self.tool, Access::Command)
                && texts.iter().any(|text| rule.covers_command(text))
        });
        if let Some(rule) = rule {
            return Some(forbidden(&run.text(), rule));
        }
        let accesses: &[Access] =
            if notes::writes_files(run) { &[Access::Read, Access::Write] } else { &[Access::Read] };
        let by_word = run.arguments().iter().flat_map(reach::paths_in).find_map(|word| {
            accesses.iter().find_map(|access| self.forbidden_word(&word, &run.base, *access))
        });
        by_word.or_else(|| match inner::of(run) {
            Inner::Only(items) | Inner::Among(items) => {
                items.iter().find_map(|item| self.forbidden_item(item))
            }
            Inner::None | Inner::Hidden => None,
        })
    }

    fn forbidden_word(&self, word: &Word, base: &Base, access: Access) -> Option<Judgement> {
        let (Target::Inside(path) | Target::Outside(path)) = self.place.target(word, base) else {
            return None;
        };
        self.forbids_path(&path, access).map(|rule| forbidden(&word.text, rule))
    }

    fn need(&self, item: &Item) -> Need {
        match item {
            Item::Run(run) => self.run_need(run),
            Item::Assign(name) if self.mode != PermissionMode::Full && notes::is_powerful(name) => {
                Need::question("sets variables that change programs", Granted::Whole(String::new()))
            }
            Item::Assign(_) => Need::Neutral,
            Item::Write(word, base) => match self.place.target(word, base) {
                Target::Nowhere => Need::Neutral,
                Target::Inside(path) | Target::Outside(path) => match self.write_need(&path) {
                    Need::Allowed => Need::Neutral,
                    need => need,
                },
                Target::Unknown => self.unknown_need("writes to a file known only when it runs"),
            },
            Item::Read(word, base) => match self.place.target(word, base) {
                Target::Outside(path) if !self.may_read(&path) => {
                    Need::question(OUTSIDE, Granted::Read(path))
                }
                Target::Unknown => self.unknown_need("reads a file known only when it runs"),
                _ => Need::Neutral,
            },
        }
    }

    fn unknown_need(&self, note: &str) -> Need {
        match self.mode {
            PermissionMode::Full => Need::Neutral,
            _ => Need::question(note, Granted::Whole(String::new())),
        }
    }

    fn run_need(&self, run: &SimpleRun) -> Need {
        let inner = inner::of(run);
        let allowed = self.allowed(run);
        let outside: Vec<_> = reach::outside(run, &self.place)
            .into_iter()
            .filter(|path| !self.may_reach(path, run))
            .collect();
        let hidden = inner == Inner::Hidden && self.forbids_commands();
        let beyond = !outside.is_empty() && !matches!(allowed, Some(Reach::AsNamed));
        let free = match (&allowed, self.mode) {
            (Some(Reach::AsNamed), _) => true,
            (Some(Reach::Workspace), _) | (None, PermissionMode::Full) => !hidden,
            (None, _) => false,
        };
        if !beyond {
            match inner {
                _ if free => return Need::Allowed,
                Inner::Only(items) => return self.together(&items),
                _ if notes::is_neutral(run) => return Need::Neutral,
                _ => {}
            }
        }
        let mut notes: Vec<String> = notes::of(run).into_iter().map(ToOwned::to_owned).collect();
        if beyond {
            notes.push(OUTSIDE.to_owned());
        }
        if inner == Inner::Hidden && run.program().is_some() {
            notes.push("runs code that is not shown".to_owned());
        }
        let grant = Granted::Command(offered(run, &inner, notes.is_empty()));
        Need::Question { notes, grants: vec![grant] }
    }

    /// The need of commands that a command runs and that are all it does.
    fn together(&self, items: &[Item]) -> Need {
        let (mut notes, mut grants, mut allowed) = (Vec::new(), Vec::new(), false);
        for item in items {
            match self.need(item) {
                Need::Allowed => allowed = true,
                Need::Neutral => {}
                Need::Question { notes: more_notes, grants: more_grants } => {
                    notes.extend(more_notes);
                    grants.extend(more_grants);
                }
            }
        }
        match (grants.is_empty(), allowed) {
            (false, _) => Need::Question { notes, grants },
            (true, true) => Need::Allowed,
            (true, false) => Need::Neutral,
        }
    }

    /// Whether a rule or an answer allows a simple command, and how far.
    fn allowed(&self, run: &SimpleRun) -> Option<Reach> {
        let text = spelling(run);
        let rules = self.allow.iter().filter(|rule| rule.is_for(self.tool, Access::Command));
        let mut covering = rules.filter(|rule| rule.covers_command(&text)).peekable();
        if covering.peek().is_some() {
            let named = covering.any(Rule::names_paths);
            return Some(if named { Reach::AsNamed } else { Reach::Workspace });
        }
        let pattern = self.granted.command(&text)?;
        Some(if pattern.names_paths() { Reach::AsNamed } else { Reach::Workspace })
    }

    fn may_reach(&self, path: &Path, run: &SimpleRun) -> bool {
        if notes::writes_files(run) {
            self.allows_path(path, Access::Write) || self.granted.writes(path)
        } else {
            self.may_read(path) || self.allows_path(path, Access::Write)
        }
    }

    fn forbids_commands(&self) -> bool {
        self.deny.iter().any(|rule| rule.is_for(self.tool, Access::Command))
    }
}

/// How far a rule that allows a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Paths outside the workspace are still asked for.
    Workspace,
    /// It says itself which paths are meant.
    AsNamed,
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

/// How rules that allow see a command: variables that change it are part of it.
fn spelling(run: &SimpleRun) -> String {
    let mut text = String::new();
    for assignment in run.assignments.iter().filter(|assignment| !notes::is_harmless(assignment)) {
        text.push_str(assignment);
        text.push(' ');
    }
    text + &run.text()
}

/// All the ways in which rules that forbid see a command: however it is spelt, it is the same.
fn spellings(run: &SimpleRun) -> Vec<String> {
    let mut texts = vec![run.text(), spelling(run)];
    if let (Some(name), [_, arguments @ ..]) = (run.program_name(), run.words.as_slice()) {
        let mut short = vec![name.to_owned()];
        short.extend(arguments.iter().map(|word| word.text.clone()));
        texts.push(short.join(" "));
        if name == "git" {
            texts.push(format!("git {}", shell::join(after_git_options(arguments))));
        }
    }
    texts
}

/// `git -C folder -c key=value push`: from `push` on.
fn after_git_options(mut arguments: &[Word]) -> &[Word] {
    loop {
        arguments = match arguments {
            [option, _, rest @ ..]
                if ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"]
                    .contains(&option.text.as_str()) =>
            {
                rest
            }
            [option, rest @ ..] if option.text.starts_with('-') => rest,
            rest => return rest,
        };
    }
}

/// What *always* covers: this program, or this sub-command of it; only this very command when there
/// is something remarkable about it.
fn offered(run: &SimpleRun, inner: &Inner, plain: bool) -> CommandPattern {
    let text = spelling(run);
    let ordinary = plain
        && matches!(inner, Inner::None | Inner::Only(_))
        && run.assignments.iter().all(|assignment| notes::is_harmless(assignment));
    let (true, Some(program)) = (ordinary, run.program()) else {
        return CommandPattern::exactly(&text);
    };
    if !notes::has_subcommands(program) {
        return CommandPattern::starting_with(program);
    }
    match run.arguments().first() {
        Some(word) if word.literal && !word.text.starts_with('-') => {
            CommandPattern::starting_with(&format!("{program} {}", word.text))
        }
        _ => CommandPattern::exactly(&text),
    }
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
mod tests;
