//! Commands that run other commands: `bash -c`, `env`, `sudo`, `xargs`, `find -exec` … (F80). Pure.

use super::shell::{Base, Item, SimpleRun, Walker, join};
use super::word::Word;

/// What a command runs besides itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inner {
    /// Nothing.
    None,
    /// Exactly these, and nothing else of note: when they are allowed, it is.
    Only(Vec<Item>),
    /// These among others, or in another way (as another user, for each file): a rule that forbids
    /// one of them forbids it, a rule that allows them does not allow it.
    Among(Vec<Item>),
    /// Code that cannot be seen in the text.
    Hidden,
}

/// Shells, by their names.
pub(super) const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "ash", "fish"];

/// Programs that run the command in their arguments, in a way of their own.
const RUNNERS: &[&str] = &[
    "sudo",
    "doas",
    "su",
    "xargs",
    "parallel",
    "watch",
    "find",
    "fd",
    "exec",
    "builtin",
    "setsid",
    "stdbuf",
    "ionice",
    "chroot",
    "strace",
    "ltrace",
    "flock",
    "unshare",
    "nsenter",
    "busybox",
    "toybox",
    "entr",
    "script",
    "systemd-run",
    "chrt",
    "taskset",
    "unbuffer",
    "coproc",
    "env",
    "nohup",
    "time",
    "nice",
    "timeout",
    "command",
];

/// What a simple command runs besides itself.
pub(super) fn of(run: &SimpleRun) -> Inner {
    let Some(name) = run.program_name() else { return Inner::Hidden };
    let arguments = run.arguments();
    match name {
        shell if SHELLS.contains(&shell) => of_shell(run, arguments),
        "eval" => of_code(run, &join(arguments), arguments.iter().all(|word| word.literal)),
        "trap" => match arguments {
            [code, _, ..] if code.literal => of_code(run, &code.text, true),
            [_, _, ..] => Inner::Hidden,
            _ => Inner::None,
        },
        "env" => transparent(run, skip_assignments(arguments)),
        "nohup" | "time" => transparent(run, arguments),
        "command" => match arguments {
            [option, ..] if option.text == "-v" || option.text == "-V" => Inner::None,
            _ => transparent(run, arguments),
        },
        "nice" => match arguments {
            [option, _, rest @ ..] if option.text == "-n" => transparent(run, rest),
            _ => transparent(run, arguments),
        },
        "timeout" => match arguments {
            [duration, rest @ ..] if duration.text.starts_with(|c: char| c.is_ascii_digit()) => {
                transparent(run, rest)
            }
            _ => among(run, arguments),
        },
        runner if RUNNERS.contains(&runner) => among(run, arguments),
        builtin if rebinds(builtin, arguments) => Inner::Hidden,
        _ => Inner::None,
    }
}

/// Whether a builtin runs code of its own, or gives names of commands another meaning.
fn rebinds(builtin: &str, arguments: &[Word]) -> bool {
    let has = |options: &[char]| {
        arguments.iter().any(|word| {
            !word.literal || (word.text.starts_with('-') && word.text.contains(options))
        })
    };
    match builtin {
        "alias" | "bind" | "." | "source" | "trap" => !arguments.is_empty(),
        "shopt" => has(&['s', 'o']),
        "mapfile" | "readarray" => has(&['C']),
        "complete" | "compgen" => has(&['C', 'F']),
        "enable" => has(&['f']),
        "hash" => has(&['p']),
        _ => false,
    }
}

/// `env A=1 B=2 command`: the command runs with variables of its own, as with a prefix.
fn skip_assignments(arguments: &[Word]) -> &[Word] {
    let end = arguments.iter().take_while(|word| is_assignment(&word.text)).count();
    &arguments[end..]
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Whether a text can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|character: char| character.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A command that is the rest of another's words, and runs just as if it stood there alone.
fn transparent(run: &SimpleRun, rest: &[Word]) -> Inner {
    match rest.first() {
        None => Inner::None,
        Some(first) if first.text.starts_with('-') => among(run, rest),
        Some(_) => {
            let mut assignments = run.assignments.clone();
            let own = run.arguments().iter().take_while(|word| is_assignment(&word.text));
            assignments.extend(own.map(|word| word.text.clone()));
            let words = rest.to_vec();
            Inner::Only(vec![Item::Run(SimpleRun { assignments, words, ..run.clone() })])
        }
    }
}

/// Every tail of the arguments could be the command that is run: options of runners differ, and a
/// rule that forbids must not be dodged with one.
fn among(run: &SimpleRun, arguments: &[Word]) -> Inner {
    if run.is_tail {
        return Inner::None;
    }
    let tails = (0..arguments.len()).map(|start| {
        let words = arguments[start..].to_vec();
        Item::Run(SimpleRun {
            words,
            base: Base::Unknown,
            piped: run.piped,
            assignments: Vec::new(),
            is_tail: true,
        })
    });
    let tails: Vec<_> = tails.filter(is_command).collect();
    if tails.is_empty() { Inner::None } else { Inner::Among(tails) }
}

fn is_command(item: &Item) -> bool {
    let Item::Run(run) = item else { return false };
    run.program().is_some_and(|program| !program.starts_with('-'))
}

fn of_shell(run: &SimpleRun, arguments: &[Word]) -> Inner {
    let options = arguments.iter().take_while(|word| word.text.starts_with(['-', '+'])).count();
    let code = arguments[..options]
        .iter()
        .any(|word| !word.text.starts_with("--") && word.text.contains('c'));
    match (code, arguments.get(options)) {
        (true, Some(text)) => of_code(run, &text.text, text.literal),
        (true, None) => Inner::None,
        // It reads its commands from its input.
        (false, None) if run.piped => Inner::Hidden,
        (false, None) => Inner::None,
        // A script: a program like others. `-o option` takes a word; then it is not told apart.
        (false, Some(_)) => Inner::None,
    }
}

fn of_code(run: &SimpleRun, code: &str, literal: bool) -> Inner {
    if !literal {
        return Inner::Hidden;
    }
    let mut walker = Walker::at(run.base.clone());
    match walker.text(code) {
        Ok(()) => Inner::Only(walker.into_items()),
        Err(_) => Inner::Hidden,
    }
}
