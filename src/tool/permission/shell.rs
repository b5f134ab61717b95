//! What a shell command consists of: every simple command in it, every redirection, wherever it
//! hides (F80). Pure; the grammar is `brush-parser`'s.
//!
//! This is a sieve, not an interpreter: when a construct could run something that cannot be seen in
//! the text, the whole command counts as not understood.

use std::path::{Path, PathBuf};

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, ExtendedTestExpr, IoFileRedirectKind, IoFileRedirectTarget,
    IoRedirect, Pipeline, RedirectList, SimpleCommand,
};
use brush_parser::{Parser, ParserOptions};

use super::inner::is_name;
use super::limits;
use super::word::{self, Word};

/// Commands in commands in commands, this deep, are not followed any more.
const DEEPEST: usize = 12;

/// One thing that a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// Runs a program or a builtin.
    Run(SimpleRun),
    /// Writes to a file by redirection.
    Write(Word, Base),
    /// Reads a file by redirection.
    Read(Word, Base),
    /// Sets a variable for what follows.
    Assign(String),
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SimpleRun {
    /// Variables set for it alone, as `NAME=value`.
    pub(super) assignments: Vec<String>,
    /// The program and its arguments, quotes removed.
    pub(super) words: Vec<Word>,
    /// Where it runs.
    pub(super) base: Base,
    /// Whether the output of another command is its input.
    pub(super) piped: bool,
    /// It is the end of a runner's words, as one reading of them; all other ends are looked at too,
    /// so that its own ends need not be.
    pub(super) is_tail: bool,
}

/// The folder that relative paths start from, as far as the text tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Base {
    /// The folder that the command was started in, or one below it: `cd` was followed.
    #[default]
    Start,
    /// After `cd` with this path, as long as it is sure that it took place.
    Moved(PathBuf),
    /// After a `cd` that may have failed, or to a place that only running it would tell. (A place
    /// outside is noticed where the `cd` stands.)
    Unknown,
}

impl Base {
    /// A path as seen from here; `None` when that cannot be known.
    pub(super) fn resolve(&self, workspace: &Path, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        match self {
            Self::Moved(base) => Some(normal(&workspace.join(base).join(path))),
            Self::Unknown if !path.is_absolute() && climbs(path) => None,
            Self::Start | Self::Unknown => Some(normal(&workspace.join(path))),
        }
    }
}

fn climbs(path: &Path) -> bool {
    path.components().any(|part| part == std::path::Component::ParentDir)
}

/// Resolves `.` and `..` by name.
fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
    }
    resolved
}

impl SimpleRun {
    /// The program's name; `None` when only running it would tell.
    pub(super) fn program(&self) -> Option<&str> {
        self.words.first().filter(|word| word.literal).map(|word| word.text.as_str())
    }

    /// The program's name without its folder.
    pub(super) fn program_name(&self) -> Option<&str> {
        self.program().map(|program| program.rsplit('/').next().unwrap_or(program))
    }

    /// Program and arguments joined by spaces.
    pub(super) fn text(&self) -> String {
        join(&self.words)
    }

    /// Arguments, the program not among them.
    pub(super) fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// Words joined by spaces.
pub(super) fn join(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Takes a command apart.
///
/// # Errors
/// Why it was not understood, as the rest of "cannot be checked: …".
pub(super) fn take_apart(command: &str) -> Result<Vec<Item>, String> {
    let mut walker = Walker::at(Base::Start);
    walker.text(command)?;
    Ok(walker.into_items())
}

pub(super) struct Walker {
    items: Vec<Item>,
    base: Base,
    depth: usize,
}

type Walked = Result<(), String>;

impl Walker {
    /// A walker over code that runs in a known place.
    pub(super) const fn at(base: Base) -> Self {
        Self { items: Vec::new(), base, depth: 0 }
    }

    /// What was found.
    pub(super) fn into_items(self) -> Vec<Item> {
        self.items
    }

    /// A command as text: the whole, or one that stands in another.
    pub(super) fn text(&mut self, command: &str) -> Walked {
        limits::check(command)?;
        if self.depth == DEEPEST {
            return Err("commands are nested too deeply".to_owned());
        }
        self.depth += 1;
        let options = options();
        let mut parser = Parser::new(command.as_bytes(), &options);
        let program = parser
            .parse_program()
            .map_err(|error| format!("it is no valid shell syntax ({error})"))?;
        for list in &program.complete_commands {
            self.list(list)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// As `text`, for what runs in a shell of its own: a `cd` in it does not last.
    pub(super) fn subshell_text(&mut self, command: &str) -> Walked {
        let base = self.base.clone();
        self.text(command)?;
        self.base = base;
        Ok(())
    }

    fn list(&mut self, list: &CompoundList) -> Walked {
        for item in &list.0 {
            let before = self.base.clone();
            self.pipeline(&item.0.first)?;
            for next in &item.0.additional {
                if matches!(next, AndOr::Or(_)) {
                    self.doubt(&before);
                }
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
                self.pipeline(pipeline)?;
            }
            // Only what follows a `cd` with `&&` runs only where it led.
            self.doubt(&before);
        }
        Ok(())
    }

    /// A change of folder since `before` may not have taken place.
    fn doubt(&mut self, before: &Base) {
        if self.base != *before {
            self.base = Base::Unknown;
        }
    }

    fn subshell(&mut self, list: &CompoundList) -> Walked {
        let base = self.base.clone();
        self.list(list)?;
        self.base = base;
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Walked {
        let base = self.base.clone();
        let several = pipeline.seq.len() > 1;
        for (index, command) in pipeline.seq.iter().enumerate() {
            self.command(command, index > 0)?;
            if several {
                self.base = base.clone();
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &Command, piped: bool) -> Walked {
        match command {
            Command::Simple(simple) => self.simple(simple, piped),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref())?;
                self.compound(compound)
            }
            Command::Function(function) => {
                // What it does is judged here, whoever calls it; its calls are commands like others.
                self.redirects(function.body.1.as_ref())?;
                self.compound(&function.body.0)
            }
            Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref())?;
                self.test(&test.expr)
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Walked {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.arithmetic(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                for part in parts.into_iter().flatten() {
                    self.arithmetic(&part.value)?;
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.subshell(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                self.assigned(&clause.variable_name);
                for value in clause.values.iter().flatten() {
                    self.word(&value.value)?;
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value)?;
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(&pattern.value)?;
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list)?;
                    }
                }
                Ok(())
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.list(&clause.then)?;
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition)?;
                    }
                    self.list(&other.body)?;
                }
                Ok(())
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0)?;
                self.list(&clause.1.list)
            }
            CompoundCommand::Coprocess(process) => {
                if let Some(name) = &process.name {
                    self.assigned(&name.value);
                }
                self.command(&process.body, false)
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, piped: bool) -> Walked {
        let mut run = SimpleRun { base: self.base.clone(), piped, ..SimpleRun::default() };
        let mut assigned = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                    self.assignment(assignment)?;
                    assigned.push(name_of(assignment));
                    run.assignments.push(word.value.clone());
                }
                other => self.part(other, &mut run)?,
            }
        }
        if let Some(word) = &simple.word_or_name {
            let word = self.word(&word.value)?;
            run.words.push(word);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.part(item, &mut run)?;
        }
        if run.words.is_empty() {
            self.items.extend(assigned.into_iter().map(Item::Assign));
            return Ok(());
        }
        self.change_folder(&run);
        self.items.push(Item::Run(run));
        Ok(())
    }

    fn part(&mut self, item: &CommandPrefixOrSuffixItem, run: &mut SimpleRun) -> Walked {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::Word(word) => {
                let word = self.word(&word.value)?;
                run.words.push(word);
                Ok(())
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                self.assignment(assignment)?;
                let known = matches!(assignment.value, AssignmentValue::Scalar(_));
                let word = if known { self.word(&word.value)? } else { Word::dynamic(&word.value) };
                run.words.push(word);
                Ok(())
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                run.words.push(Word::dynamic("<(…)"));
                self.subshell(&subshell.list)
            }
        }
    }

    /// Follows a plain `cd`, so that the paths after it are seen from the right place.
    fn change_folder(&mut self, run: &SimpleRun) {
        match (run.program(), run.arguments()) {
            (Some("cd"), [folder]) if folder.is_plain_path() && folder.text != "-" => {
                self.base = match &self.base {
                    Base::Start => Base::Moved(PathBuf::from(&folder.text)),
                    Base::Moved(base) => Base::Moved(base.join(&folder.text)),
                    Base::Unknown if folder.text.starts_with('/') => {
                        Base::Moved(PathBuf::from(&folder.text))
                    }
                    Base::Unknown => Base::Unknown,
                };
            }
            (Some("cd" | "pushd" | "popd"), _) | (None, _) => self.base = Base::Unknown,
            _ => {}
        }
    }

    fn assignment(&mut self, assignment: &Assignment) -> Walked {
        if let AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.arithmetic(index)?;
        }
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.word(&word.value).map(|_| ()),
            AssignmentValue::Array(values) => {
                for (index, value) in values {
                    if let Some(index) = index {
                        self.arithmetic(&index.value)?;
                    }
                    self.word(&value.value)?;
                }
                Ok(())
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) -> Walked {
        redirects.iter().flat_map(|list| &list.0).try_for_each(|redirect| self.redirect(redirect))
    }

    fn redirect(&mut self, redirect: &IoRedirect) -> Walked {
        match redirect {
            IoRedirect::File(_, kind, target) => self.redirect_target(kind, target),
            IoRedirect::OutputAndError(word, _) => {
                let word = self.word(&word.value)?;
                self.items.push(Item::Write(word, self.base.clone()));
                Ok(())
            }
            IoRedirect::HereString(_, word) => self.word(&word.value).map(|_| ()),
            IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                let pieces = brush_parser::word::parse_heredoc(&document.doc.value, &options())
                    .map_err(|_| "a here-document is not understood".to_owned())?;
                word::from_pieces(&document.doc.value, &pieces, self).map(|_| ())
            }
            IoRedirect::HereDocument(..) => Ok(()),
        }
    }

    fn redirect_target(
        &mut self,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
    ) -> Walked {
        let word = match target {
            IoFileRedirectTarget::Fd(_) => return Ok(()),
            IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                return self.subshell(&subshell.list);
            }
            IoFileRedirectTarget::Filename(word) => self.word(&word.value)?,
            IoFileRedirectTarget::Duplicate(word) => {
                let word = self.word(&word.value)?;
                if word.literal && word.text.trim_end_matches('-').parse::<u32>().is_ok()
                    || word.text == "-"
                {
                    return Ok(());
                }
                word
            }
        };
        let base = self.base.clone();
        self.items.push(match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => Item::Read(word, base),
            _ => Item::Write(word, base),
        });
        Ok(())
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Walked {
        match test {
            ExtendedTestExpr::And(one, other) | ExtendedTestExpr::Or(one, other) => {
                self.test(one)?;
                self.test(other)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner)
            }
            ExtendedTestExpr::UnaryTest(_, word) => self.word(&word.value).map(|_| ()),
            ExtendedTestExpr::BinaryTest(_, one, other) => {
                self.word(&one.value)?;
                self.word(&other.value).map(|_| ())
            }
        }
    }

    /// A word, and whatever it runs.
    pub(super) fn word(&mut self, raw: &str) -> Result<Word, String> {
        word::parse(raw, self)
    }

    /// Text that is expanded where it stands: a default value, a pattern.
    pub(super) fn fragment(&mut self, text: &str) -> Walked {
        self.word(text).map(|_| ())
    }

    /// Arithmetic, subscripts among it: expanded, and every name in it may be set.
    pub(super) fn arithmetic(&mut self, text: &str) -> Walked {
        let names =
            text.split(|character: char| !(character.is_alphanumeric() || character == '_'));
        names.filter(|name| is_name(name)).for_each(|name| self.assigned(name));
        self.fragment(text)
    }

    /// A variable gets a value.
    pub(super) fn assigned(&mut self, name: &str) {
        self.items.push(Item::Assign(name.to_owned()));
    }
}

fn name_of(assignment: &Assignment) -> String {
    match &assignment.name {
        AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _) => {
            name.clone()
        }
    }
}

/// The grammar of `bash -c`: no extended globs, they are off there.
pub(super) fn options() -> ParserOptions {
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}
