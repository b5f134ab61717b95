//! What the offline model says: about itself, before its calls, and from their results. Pure.

use super::grammar::{Command, Program};

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Result<'a> {
    pub(super) command: &'a Command,
    /// The tool's text; `None` when there is no result.
    pub(super) text: Option<String>,
    pub(super) is_error: bool,
}

/// What it says of itself, when there is nothing that it could do.
pub(super) const ABOUT: &str = "\
I am the built-in offline model: a small program, not a language model. I cannot hold a conversation \
or write code, but I run the same tools that a model would, on these commands:

- `read Cargo.toml` or `read src/main.rs 10-40`
- `ls src` and `find **/*.rs`
- `grep TODO in src`
- `run cargo test`
- `write notes.md: some text`
- `replace \"old\" with \"new\" in notes.md`

Several lines run one after another, and so does `read a.txt then run wc -l a.txt`. `/tree` and `/compact` \
work as they always do.

To talk to a language model, set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY` and start \
regrow again, or start a local server such as llama.cpp, Ollama or LM Studio; it is found by itself. \
`/model` lists what there is.";

/// For the prompt that follows an automatic compaction (C3).
pub(super) const NO_STEPS: &str = "I have no next steps of my own: tell me what to run.";

/// The words before the calls of a step.
pub(super) fn announcement(step: &[Command]) -> String {
    let parts: Vec<String> = step.iter().map(doing).collect();
    format!("{}.", capital(&parts.join(", ")))
}

fn doing(command: &Command) -> String {
    match command {
        Command::Read { path, .. } => format!("reading `{path}`"),
        Command::List { path } => format!("listing `{path}`"),
        Command::Find { pattern, .. } => format!("looking for `{pattern}`"),
        Command::Grep { pattern, .. } => format!("searching for `{pattern}`"),
        Command::Run { command } => format!("running `{}`", first_line(command)),
        Command::Skill { name } => format!("reading the skill `{name}`"),
        Command::Write { path, .. } => format!("writing `{path}`"),
        Command::Replace { path, .. } => format!("editing `{path}`"),
    }
}

/// The closing words: what came of each command, what was left out, what to try next.
pub(super) fn report(results: &[Result<'_>], program: &Program, skipped: usize) -> String {
    let mut said: Vec<String> = results.iter().map(outcome).collect();
    if skipped > 0 {
        let commands = if skipped == 1 { "command" } else { "commands" };
        said.push(format!("I left out the {skipped} {commands} after it."));
    }
    if let Some(line) = &program.puzzling {
        said.push(format!("I did not understand `{}`.", clip(line, 80)));
    }
    if let Some(hint) = results.last().and_then(hint) {
        said.push(hint);
    }
    let separator = if said.len() > 3 { "\n" } else { " " };
    said.join(separator)
}

fn outcome(result: &Result<'_>) -> String {
    let Some(text) = &result.text else {
        return format!("There is no result of {}.", doing(result.command));
    };
    if result.is_error {
        return failure(result.command, text);
    }
    let lines: Vec<&str> = content_lines(text);
    match result.command {
        Command::Read { path, .. } => {
            let lines: Vec<&str> = lines.iter().map(|line| without_number(line)).collect();
            let first = lines.iter().find(|line| !line.trim().is_empty());
            let begins = first
                .map_or(String::new(), |line| format!("; the first says `{}`", clip(line, 80)));
            format!("I read {} of `{path}`{begins}.", count(lines.len(), "line"))
        }
        Command::Skill { name } => {
            let last = lines.iter().rev().find(|line| !line.trim().is_empty());
            format!("I read the skill `{name}`; it ends with `{}`.", clip(last.unwrap_or(&""), 100))
        }
        Command::List { path } => {
            format!("`{path}` has {}{}.", count_entries(&lines), listed(&lines))
        }
        Command::Find { pattern, .. } => match lines.as_slice() {
            [only] if only.starts_with("Nothing matches") => sentence(only),
            _ => format!("{} `{pattern}`{}.", matching(lines.len(), "path"), listed(&lines)),
        },
        Command::Grep { pattern, .. } => match lines.as_slice() {
            [only] if only.starts_with("No matches") => sentence(only),
            _ => {
                let first = lines
                    .first()
                    .map_or(String::new(), |line| format!("; first `{}`", clip(line, 100)));
                format!("{} `{pattern}`{first}.", matching(lines.len(), "line"))
            }
        },
        Command::Run { command } => {
            let command = clip(first_line(command), 60);
            match lines.iter().rev().find(|line| !line.trim().is_empty()) {
                Some(last) if last.trim() != "(no output)" => format!(
                    "`{command}` ended well with {} of output; the last says `{}`.",
                    count(lines.len(), "line"),
                    clip(last, 100)
                ),
                _ => format!("`{command}` ended well and printed nothing."),
            }
        }
        Command::Write { .. } | Command::Replace { .. } => {
            let first = lines.first().copied().unwrap_or("Done");
            format!("{}.", clip(first, 120).trim_end_matches('.'))
        }
    }
}

fn failure(command: &Command, text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let ending = lines.iter().rev().find(|line| line.starts_with("[Command "));
    let word = |line: &&&str| {
        let line = line.to_lowercase();
        ["error", "fail", "panicked", "denied", "not found", "no such"]
            .iter()
            .any(|sign| line.contains(sign))
    };
    let telling =
        lines.iter().find(word).or(lines.iter().find(|line| !line.starts_with('['))).copied();
    let told = clip(telling.unwrap_or("no reason was given"), 160);
    let told = told.trim_end_matches('.');
    match ending {
        Some(ending) => {
            let how = ending.trim_matches(['[', ']']).trim_start_matches("Command ");
            format!("`{}` {how}: {told}.", clip(first_line(subject(command)), 60))
        }
        None => format!("{} failed: {told}.", capital(&doing(command))),
    }
}

/// What the person could try next.
fn hint(result: &Result<'_>) -> Option<String> {
    if result.is_error {
        return match result.command {
            Command::Read { path, .. } => {
                let name = path.rsplit('/').next().unwrap_or(path);
                (!name.is_empty()).then(|| format!("Try `find **/*{name}*`."))
            }
            Command::Replace { path, .. } => Some(format!("`read {path}` shows what it holds.")),
            Command::List { .. } => Some("Try `ls`.".to_owned()),
            Command::Run { .. } => Some("Try `read` on the file that it names.".to_owned()),
            _ => None,
        };
    }
    match result.command {
        Command::List { .. } => Some("`read` shows one of them.".to_owned()),
        Command::Write { path, .. } | Command::Replace { path, .. } => {
            Some(format!("`read {path}` shows it."))
        }
        _ => None,
    }
}

fn subject(command: &Command) -> &str {
    match command {
        Command::Read { path, .. }
        | Command::List { path }
        | Command::Write { path, .. }
        | Command::Replace { path, .. } => path,
        Command::Find { pattern, .. } | Command::Grep { pattern, .. } => pattern,
        Command::Run { command } => command,
        Command::Skill { name } => name,
    }
}

/// The lines of a result without the notes that tools put in brackets at the end.
fn content_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    while let Some(last) = lines.last() {
        let note = last.starts_with('[') && last.ends_with(']');
        if !note && !last.trim().is_empty() {
            break;
        }
        lines.pop();
    }
    lines
}

/// A line of the read tool without its number.
fn without_number(line: &str) -> &str {
    match line.split_once('\t') {
        Some((number, rest)) if number.trim().parse::<u64>().is_ok() => rest,
        _ => line,
    }
}

fn sentence(text: &str) -> String {
    if text.ends_with('.') { text.to_owned() } else { format!("{text}.") }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn count_entries(lines: &[&str]) -> String {
    if lines.len() == 1 { "1 entry".to_owned() } else { format!("{} entries", lines.len()) }
}

fn matching(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun} matches") } else { format!("{number} {noun}s match") }
}

/// The first few of a list.
fn listed(lines: &[&str]) -> String {
    let names: Vec<String> = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .take(5)
        .map(|line| format!("`{}`", clip(line, 60)))
        .collect();
    let more = if lines.len() > names.len() { ", …" } else { "" };
    if names.is_empty() { String::new() } else { format!(": {}{more}", names.join(", ")) }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn clip(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let start: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar::parse;
    use super::*;

    #[track_caller]
    fn check(command: &str, text: &str, is_error: bool, expected: &str) {
        let program = parse(command);
        let result =
            Result { command: &program.steps[0][0], text: Some(text.to_owned()), is_error };
        assert_eq!(report(&[result], &program, 0), expected);
    }

    #[test]
    fn s9_answers_come_from_the_results() {
        check(
            "read Cargo.toml",
            "  1\t[package]\n  2\tname = \"x\"\n\n[Lines 1–2 of 90 are shown. Next line: offset=3.]",
            false,
            "I read 2 lines of `Cargo.toml`; the first says `[package]`.",
        );
        check(
            "ls src",
            "a.rs\nb/",
            false,
            "`src` has 2 entries: `a.rs`, `b/`. `read` shows one of them.",
        );
        check("find *.py", "Nothing matches *.py in .", false, "Nothing matches *.py in .");
        check(
            "grep 압축 in 문서",
            "문서/a.md:3: 압축",
            false,
            "1 line matches `압축`; first `문서/a.md:3: 압축`.",
        );
        check("run true", "(no output)", false, "`true` ended well and printed nothing.");
        check(
            "run seq 3",
            "1\n2\n3",
            false,
            "`seq 3` ended well with 3 lines of output; the last says `3`.",
        );
        check(
            "run cargo test",
            "compiling\nerror[E0308]: mismatched types\n\n[Command exited with code 101]",
            true,
            "`cargo test` exited with code 101: error[E0308]: mismatched types. Try `read` on the file that it names.",
        );
        check(
            "read x/nope.rs",
            "x/nope.rs does not exist",
            true,
            "Reading `x/nope.rs` failed: x/nope.rs does not exist. Try `find **/*nope.rs*`.",
        );
        check(
            "write a.md: x",
            "Made a.md (1 line, 2 B).",
            false,
            "Made a.md (1 line, 2 B). `read a.md` shows it.",
        );
    }

    #[test]
    fn s9_what_was_left_out_is_said() {
        let program = parse("read a then run b then run c\nand sing");
        let result = Result {
            command: &program.steps[0][0],
            text: Some("a does not exist".into()),
            is_error: true,
        };
        let said = report(&[result], &program, 2);
        assert!(said.contains("I left out the 2 commands after it."), "{said}");
        assert!(said.contains("I did not understand `and sing`."), "{said}");
    }
}
