//! Judging commands: every part for itself, then the whole. Pure.

use std::path::Path;

use crate::settings::PermissionMode;

use super::grant::{Grant, Granted};
use super::inner::{self, Inner};
use super::reach::{self, Target};
use super::rule::{Access, Rule};
use super::shell::{self, Base, Item, SimpleRun};
use super::spelling::{offered, spelling, spellings};
use super::word::Word;
use super::{Judge, Judgement, Need, OUTSIDE, forbidden, joined, marks, notes};

/// How far a rule that allows a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Paths outside the workspace are still asked for.
    Workspace,
    /// It says itself which paths are meant.
    AsNamed,
}

/// What the parts of a command need together.
#[derive(Default)]
struct Needs {
    notes: Vec<String>,
    grants: Vec<Granted>,
    /// The words of the parts that are asked about.
    parts: Vec<Vec<String>>,
    /// Whether a rule, an answer or the mode allows one of them.
    allowed: bool,
}

impl From<Needs> for Need {
    fn from(Needs { notes, grants, parts, allowed }: Needs) -> Self {
        match (grants.is_empty(), allowed) {
            (false, _) => Self::Question { notes, grants, parts },
            (true, true) => Self::Allowed,
            (true, false) => Self::Neutral,
        }
    }
}

impl Judge<'_> {
    pub(super) fn command(&self, command: &str) -> Judgement {
        self.taken_apart(command, shell::take_apart(command))
    }

    /// Judges a command by its parts, or by the reason why it has none.
    pub(super) fn taken_apart(&self, command: &str, items: Result<Vec<Item>, String>) -> Judgement {
        if let Some(judgement) = self.forbidden_command(command, items.as_deref().unwrap_or(&[])) {
            return judgement;
        }
        if self.granted.whole(command) {
            return Judgement::Allow;
        }
        let ask = |notes: Vec<String>, grants: Vec<Granted>, marks| Judgement::Ask {
            subject: command.to_owned(),
            marks,
            diff: None,
            note: joined(notes),
            rule: Grant(grants),
        };
        let whole = || vec![Granted::Whole(command.to_owned())];
        let items = match items {
            Ok(items) => items,
            Err(why) => {
                // Nothing of it was understood, so all of it stands out.
                let all = std::iter::once(0..command.len()).collect();
                return ask(vec![format!("cannot be checked: {why}")], whole(), all);
            }
        };
        let Needs { notes, mut grants, parts, allowed } = self.needs(&items);
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
        ask(notes, grants, marks::locate(command, &parts))
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
                    .about(name)
            }
            Item::Assign(_) => Need::Neutral,
            Item::Write(word, base) => match self.place.target(word, base) {
                Target::Nowhere => Need::Neutral,
                Target::Inside(path) | Target::Outside(path) => match self.write_need(&path) {
                    Need::Allowed => Need::Neutral,
                    need => need.about(&word.text),
                },
                Target::Unknown => {
                    self.unknown_need("writes to a file known only when it runs").about(&word.text)
                }
            },
            Item::Read(word, base) => match self.place.target(word, base) {
                Target::Outside(path) if !self.may_read(&path) => {
                    Need::question(OUTSIDE, Granted::Read(path)).about(&word.text)
                }
                Target::Unknown => {
                    self.unknown_need("reads a file known only when it runs").about(&word.text)
                }
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
                Inner::Only(items) => return self.needs(&items).into(),
                _ if notes::is_neutral(run) => return Need::Neutral,
                _ => {}
            }
        }
        let mut notes: Vec<String> = notes::of(run).into_iter().map(ToOwned::to_owned).collect();
        if beyond {
            notes.push(OUTSIDE.to_owned());
        }
        if inner == Inner::Hidden && run.program().is_some() {
            notes.retain(|note| note != notes::RUNS_CODE);
            notes.push("runs code that is not shown".to_owned());
        }
        let grant = Granted::Command(offered(run, &inner, notes.is_empty()));
        let words = run.words.iter().map(|word| word.text.clone()).collect();
        Need::Question { notes, grants: vec![grant], parts: vec![words] }
    }

    fn needs(&self, items: &[Item]) -> Needs {
        let mut needs = Needs::default();
        for item in items {
            match self.need(item) {
                Need::Allowed => needs.allowed = true,
                Need::Neutral => {}
                Need::Question { notes, grants, parts } => {
                    needs.parts.extend(parts);
                    needs.notes.extend(notes);
                    needs.grants.extend(grants);
                }
            }
        }
        needs
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
