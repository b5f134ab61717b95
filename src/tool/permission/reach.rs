//! Which paths outside the workspace a command's words name. Pure: what a path really is, links
//! followed, is asked of a function that the caller gives.

use std::path::{Path, PathBuf};

use super::shell::{Base, SimpleRun};
use super::word::Word;

/// Places that belong to nobody.
const NOWHERE: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/random",
    "/dev/urandom",
];

/// Programs whose words are not paths.
const SPEAKERS: &[&str] = &["echo", "printf", "test", "[", "export", "expr", "true", "false", ":"];

/// Programs whose first argument is a pattern or a script, not a path.
const PATTERN_FIRST: &[&str] =
    &["grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "tr", "jq", "perl"];

/// The workspace, and how paths are seen.
#[derive(Clone, Copy)]
pub(in crate::tool) struct Place<'a> {
    pub(in crate::tool) workspace: &'a Path,
    /// A path with its links followed.
    pub(in crate::tool) real: &'a dyn Fn(&Path) -> PathBuf,
}

/// Where a word leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Inside the workspace, or nowhere.
    Inside(PathBuf),
    /// To a file that belongs to nobody, such as `/dev/null`.
    Nowhere,
    /// Outside; the path as far as it is known.
    Outside(PathBuf),
    /// Only running the command would tell.
    Unknown,
}

impl Place<'_> {
    /// Where a path of a redirection or an argument leads.
    pub(super) fn target(&self, word: &Word, base: &Base) -> Target {
        if word.home || word.text.starts_with('~') {
            return Target::Outside(PathBuf::from(&word.text));
        }
        if !word.literal {
            return self.of_unknown(word);
        }
        if NOWHERE.contains(&word.text.as_str()) || word.text.starts_with("/dev/fd/") {
            return Target::Nowhere;
        }
        match base.resolve(self.workspace, &word.text) {
            None => Target::Outside(PathBuf::from(&word.text)),
            Some(path) => self.of_path(&path),
        }
    }

    /// Where a path leads.
    pub(super) fn of_path(&self, path: &Path) -> Target {
        let path = (self.real)(path);
        if path.starts_with(self.workspace) { Target::Inside(path) } else { Target::Outside(path) }
    }

    /// A pattern or a word with variables: what can be said of its beginning.
    fn of_unknown(&self, word: &Word) -> Target {
        let certain = word.text.split(['*', '?', '[', '{', '$', '`']).next().unwrap_or_default();
        let climbs = word.text.split('/').any(|part| part == "..");
        if certain.starts_with('/') {
            let folder = certain.rsplit_once('/').map_or("/", |(folder, _)| folder);
            return match self.of_path(Path::new(if folder.is_empty() { "/" } else { folder })) {
                Target::Inside(_) if !climbs => Target::Unknown,
                _ => Target::Outside(PathBuf::from(&word.text)),
            };
        }
        if climbs { Target::Outside(PathBuf::from(&word.text)) } else { Target::Unknown }
    }
}

/// The paths outside the workspace that a simple command names.
pub(super) fn outside(run: &SimpleRun, place: &Place<'_>) -> Vec<PathBuf> {
    let Some(name) = run.program_name() else { return Vec::new() };
    if SPEAKERS.contains(&name) {
        return Vec::new();
    }
    if name == "cd" && run.arguments().is_empty() {
        return vec![PathBuf::from("~")];
    }
    let mut skip_pattern = PATTERN_FIRST.contains(&name);
    let mut found = Vec::new();
    let mut speaks = false;
    for word in run.arguments() {
        let spoken = std::mem::replace(&mut speaks, takes_text(name, &word.text));
        // A pattern given by an option is not given again.
        skip_pattern &= !matches!(word.text.as_str(), "-e" | "--expression" | "--regexp");
        if spoken {
            continue;
        }
        if skip_pattern && !word.text.starts_with('-') {
            skip_pattern = false;
            continue;
        }
        for part in paths_in(word) {
            if let Target::Outside(path) = place.target(&part, &run.base) {
                found.push(path);
            }
        }
    }
    found
}

/// Whether an option is followed by a pattern, a script or a message.
fn takes_text(program: &str, option: &str) -> bool {
    match program {
        "git" => matches!(option, "-m" | "--message" | "-S" | "-G" | "--grep" | "--author"),
        pattern if PATTERN_FIRST.contains(&pattern) => {
            matches!(option, "-e" | "-v" | "--expression" | "--regexp")
                && !(option == "-v" && pattern.contains("grep"))
        }
        _ => false,
    }
}

/// The parts of a word that can be paths: all of it, what follows `=`, what stands between `:`, and
/// what is glued to an option of one letter (`-I/usr/include`).
pub(super) fn paths_in(word: &Word) -> Vec<Word> {
    let mut found = Vec::new();
    if word.home || may_be_a_path(&word.text) {
        found.push(word.clone());
    }
    let mut add = |text: &str, relative: bool| {
        if is_path(text) || (relative && may_be_a_path(text)) {
            found.push(Word { text: text.to_owned(), literal: word.literal, home: false });
        }
    };
    for (index, value) in word.text.split('=').enumerate().skip(1) {
        add(value, index == 1);
    }
    word.text.split([':', ',']).skip(1).for_each(|part| add(part, false));
    if let Some(glued) = word.text.strip_prefix('-').and_then(|rest| rest.get(1..)) {
        add(glued, false);
    }
    found
}

/// Whether a text can only be a path, and one that is worth a look.
fn is_path(text: &str) -> bool {
    !text.starts_with("//")
        && (text.starts_with(['/', '~']) || text.split('/').any(|part| part == ".."))
}

/// Plain relative words matter too: they can be links that lead outside.
fn may_be_a_path(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains("://") && !text.contains('\n')
}
