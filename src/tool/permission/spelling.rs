//! How commands are written down to be compared with rules, and which rule is offered for one. Pure.

use super::inner::Inner;
use super::notes;
use super::rule::CommandPattern;
use super::shell::{self, SimpleRun};
use super::word::Word;

/// How rules that allow see a command: variables that change it are part of it.
pub(super) fn spelling(run: &SimpleRun) -> String {
    let mut text = String::new();
    for assignment in run.assignments.iter().filter(|assignment| !notes::is_harmless(assignment)) {
        text.push_str(assignment);
        text.push(' ');
    }
    text + &run.text()
}

/// All the ways in which rules that forbid see a command: however it is spelt, it is the same.
pub(super) fn spellings(run: &SimpleRun) -> Vec<String> {
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
pub(super) fn offered(run: &SimpleRun, inner: &Inner, plain: bool) -> CommandPattern {
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
