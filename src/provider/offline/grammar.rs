//! The commands that the offline model understands (SPEC section 9). Pure.
//!
//! Commands stand on lines of their own or are joined by `then`. Looking commands on neighbouring
//! lines run together; whatever changes something, and whatever follows `then`, waits for its turn.

use serde_json::{Value, json};

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Read { path: String, lines: Option<(u64, Option<u64>)> },
    List { path: String },
    Find { pattern: String, path: Option<String> },
    Grep { pattern: String, path: Option<String> },
    Run { command: String },
    Skill { name: String },
    Write { path: String, content: String },
    Replace { old: String, new: String, path: String },
}

impl Command {
    /// The tool's name and its arguments.
    pub(super) fn call(&self) -> (&'static str, Value) {
        match self {
            Self::Read { path, lines } => {
                let mut arguments = json!({ "path": path });
                if let Some((first, last)) = lines {
                    arguments["offset"] = json!(first);
                    if let Some(last) = last {
                        arguments["limit"] = json!(last - first + 1);
                    }
                }
                ("read", arguments)
            }
            Self::List { path } => ("ls", json!({ "path": path })),
            Self::Find { pattern, path } => {
                ("find", with_path(json!({ "pattern": pattern }), path))
            }
            Self::Grep { pattern, path } => {
                ("grep", with_path(json!({ "pattern": pattern }), path))
            }
            Self::Run { command } => ("bash", json!({ "command": command })),
            Self::Skill { name } => ("skill", json!({ "name": name })),
            Self::Write { path, content } => ("write", json!({ "path": path, "content": content })),
            Self::Replace { old, new, path } => {
                ("edit", json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }))
            }
        }
    }

    const fn only_looks(&self) -> bool {
        matches!(
            self,
            Self::Read { .. }
                | Self::List { .. }
                | Self::Find { .. }
                | Self::Grep { .. }
                | Self::Skill { .. }
        )
    }
}

fn with_path(mut arguments: Value, path: &Option<String>) -> Value {
    if let Some(path) = path {
        arguments["path"] = json!(path);
    }
    arguments
}

/// What a message asks for: steps one after another, the commands of a step side by side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Program {
    pub(super) steps: Vec<Vec<Command>>,
    /// The first line that is no command, where others are.
    pub(super) puzzling: Option<String>,
}

/// Reads a message. Without a command in its first line it holds none: prose stays prose.
pub(super) fn parse(text: &str) -> Program {
    let mut program = Program::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if let Some((path, first)) = write_start(line) {
            let content = written(first, &mut lines);
            program.push(Command::Write { path, content }, Joint::Waits);
            continue;
        }
        match joined(line) {
            Some(groups) => {
                for (at, group) in groups.into_iter().enumerate() {
                    let mut joint = if at == 0 { Joint::Beside } else { Joint::Waits };
                    for command in group {
                        program.push(command, std::mem::replace(&mut joint, Joint::Beside));
                    }
                }
            }
            None if program.steps.is_empty() => return program,
            None => {
                program.puzzling.get_or_insert_with(|| line.trim().to_owned());
            }
        }
    }
    program
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// Runs with the command before, if both only look.
    Beside,
    /// Runs when the step before is over.
    Waits,
}

impl Program {
    fn push(&mut self, command: Command, joint: Joint) {
        match self.steps.last_mut() {
            Some(step)
                if joint == Joint::Beside
                    && command.only_looks()
                    && step.iter().all(Command::only_looks) =>
            {
                step.push(command);
            }
            _ => self.steps.push(vec![command]),
        }
    }
}

/// The commands of a line, grouped: `then` separates the groups, a group is one command or the
/// files of `read a, b`. `None` if any part is no command.
fn joined(line: &str) -> Option<Vec<Vec<Command>>> {
    let line = line.trim();
    let line = ["- ", "* ", "> "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    for separator in [", then ", "; then ", " and then ", " then ", " 그리고 ", " 다음에 "] {
        for (at, _) in line.match_indices(separator) {
            let rest = joined(&line[at + separator.len()..]);
            if let (Some(first), Some(rest)) = (command(polite(&line[..at])), rest) {
                return Some([first].into_iter().chain(rest).collect());
            }
        }
    }
    command(polite(line)).map(|first| vec![first])
}

/// The text without `please` and the like before it.
fn polite(text: &str) -> &str {
    let text = text.trim();
    ["please ", "can you ", "could you ", "now ", "then ", "also "]
        .iter()
        .find_map(|word| strip_word(text, word))
        .map_or(text, polite)
}

/// What follows a word in any case of letters.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| text[word.len()..].trim_start())
}

fn verb<'a>(text: &'a str, verbs: &[&str]) -> Option<&'a str> {
    verbs.iter().find_map(|verb| {
        if text.eq_ignore_ascii_case(verb) {
            return Some("");
        }
        strip_word(text, &format!("{verb} ")).or_else(|| strip_word(text, &format!("{verb}:")))
    })
}

fn command(text: &str) -> Option<Vec<Command>> {
    if let Some(rest) = verb(text, &["read", "show", "cat", "open", "읽기", "읽어"]) {
        return reads(rest);
    }
    if let Some(rest) = verb(text, &["ls", "list", "목록"]) {
        return list(rest).map(|command| vec![command]);
    }
    if let Some(rest) = verb(text, &["find", "glob", "찾기"]) {
        let (pattern, path) = with_place(rest);
        let is_quoted = leading_quote(rest).is_some();
        let pattern = if is_quoted { pattern } else { operand(&pattern)? };
        return Some(vec![Command::Find { pattern, path }]);
    }
    if let Some(rest) = verb(text, &["grep", "rg", "search for", "search", "검색"]) {
        let (pattern, path) = with_place(rest);
        return (!pattern.is_empty()).then(|| vec![Command::Grep { pattern, path }]);
    }
    if let Some(rest) = verb(text, &["run", "execute", "bash", "$", "실행"]) {
        return run(rest).map(|command| vec![command]);
    }
    if let Some(name) = verb(text, &["skill", "use skill"]).filter(|name| is_skill_name(name)) {
        return Some(vec![Command::Skill { name: name.to_owned() }]);
    }
    if let Some(rest) = verb(text, &["replace", "바꾸기"]) {
        return replace(rest).map(|command| vec![command]);
    }
    korean(text).map(|command| vec![command])
}

/// Prose about skills is no command.
fn is_skill_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// The order of words that Korean has: `F 읽어 줘`, `CMD 실행해 줘`.
fn korean(text: &str) -> Option<Command> {
    let text = text.trim_end_matches(['.', '!', '~']);
    let before = |verbs: &[&str]| {
        let (subject, said) = text.rsplit_once(verbs.first()?)?;
        let polite =
            ["", "줘", "주세요", "해줘", "해 줘", "해주세요", "해 주세요", "하기", "봐", "봐줘"];
        polite.contains(&said.trim()).then(|| {
            let subject = subject.trim();
            ["을", "를"]
                .iter()
                .find_map(|particle| subject.strip_suffix(particle))
                .unwrap_or(subject)
        })
    };
    if let Some(subject) = before(&["읽어"]) {
        return Some(Command::Read { path: operand(subject)?, lines: None });
    }
    before(&["실행"]).and_then(run)
}

fn reads(rest: &str) -> Option<Vec<Command>> {
    let rest = strip_word(rest, "the ").unwrap_or(rest);
    let rest = strip_word(rest, "file ").or_else(|| strip_word(rest, "files ")).unwrap_or(rest);
    if let Some(one) = read(rest) {
        return Some(vec![one]);
    }
    let parts: Vec<&str> = rest.split([',', '&']).flat_map(|part| part.split(" and ")).collect();
    parts.into_iter().filter(|part| !part.trim().is_empty()).map(read).collect()
}

/// `F`, `F 10-20`, `F lines 10-20`, `F from 10`.
fn read(text: &str) -> Option<Command> {
    let text = text.trim();
    if let Some(path) = operand(text) {
        return Some(Command::Read { path, lines: None });
    }
    let (path, range) = text.rsplit_once(' ')?;
    let (first, last) = match range.split_once(['-', '–']) {
        Some((first, last)) => (first.parse().ok()?, Some(last.parse::<u64>().ok()?)),
        None => (range.parse::<u64>().ok()?, None),
    };
    let word = ["lines", "line", "from", ":"].iter().find_map(|word| path.strip_suffix(word));
    let is_one = path.ends_with("line");
    let path = operand(word.unwrap_or(path))?;
    let last = if is_one { Some(first) } else { last };
    (first >= 1 && last.is_none_or(|last| last >= first))
        .then_some(Command::Read { path, lines: Some((first, last)) })
}

fn list(rest: &str) -> Option<Command> {
    let rest = strip_word(rest, "files in ").or_else(|| strip_word(rest, "in ")).unwrap_or(rest);
    if rest.trim().is_empty() || matches!(rest.trim(), "files" | "the files" | "here") {
        return Some(Command::List { path: ".".to_owned() });
    }
    operand(rest).map(|path| Command::List { path })
}

fn run(rest: &str) -> Option<Command> {
    let rest = rest.trim();
    let command = fenced(rest).unwrap_or(rest);
    let first = command.split_whitespace().next()?;
    // `run the tests` is a wish, not a command line.
    let prose = ["the", "a", "an", "all", "my", "our", "this", "that", "it", "some", "away"];
    (!prose.contains(&first.to_lowercase().as_str()))
        .then(|| Command::Run { command: command.to_owned() })
}

/// `"a" with "b" in F`.
fn replace(rest: &str) -> Option<Command> {
    let (old, rest) = leading_quote(rest)?;
    let rest =
        strip_word(rest.trim_start(), "with ").or_else(|| strip_word(rest.trim_start(), "by "))?;
    let (new, rest) = leading_quote(rest)?;
    let path = operand(strip_word(rest.trim_start(), "in ")?)?;
    (!old.is_empty()).then_some(Command::Replace { old, new, path })
}

/// The pattern and, behind the last `in`, where to look.
fn with_place(rest: &str) -> (String, Option<String>) {
    if let Some((pattern, rest)) = leading_quote(rest) {
        let place = strip_word(rest.trim_start(), "in ").and_then(operand);
        if place.is_some() || rest.trim().is_empty() {
            return (pattern, place);
        }
    }
    if let Some((pattern, place)) = rest.rsplit_once(" in ")
        && let Some(path) = operand(place)
    {
        return (pattern.trim().to_owned(), Some(path));
    }
    (rest.trim().to_owned(), None)
}

/// `write F: …`, with whatever stands behind the colon.
fn write_start(line: &str) -> Option<(String, &str)> {
    let rest = verb(polite(line.trim()), &["write", "쓰기"])?;
    let (path, content) = match leading_quote(rest) {
        Some((path, rest)) => (path, rest.trim_start().strip_prefix(':')?),
        None => {
            let (path, content) = rest.split_once(':')?;
            (operand(path)?, content)
        }
    };
    Some((path, content.strip_prefix(' ').unwrap_or(content)))
}

/// The content of a file: a fenced block, or the rest of the line and the lines up to the next
/// command. Ends in a line break, as files do.
fn written<'a>(
    first: &'a str,
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> String {
    let mut content = Vec::new();
    if !first.trim().is_empty() {
        content.push(first);
    } else if lines.peek().is_some_and(|line| line.trim_start().starts_with("```")) {
        lines.next();
        content.extend(lines.by_ref().take_while(|line| line.trim() != "```"));
        return ended(&content);
    }
    while let Some(line) =
        lines.next_if(|line| joined(line).is_none() && write_start(line).is_none())
    {
        content.push(line);
    }
    while content.last().is_some_and(|line| line.trim().is_empty()) {
        content.pop();
    }
    ended(&content)
}

fn ended(lines: &[&str]) -> String {
    if lines.is_empty() { String::new() } else { format!("{}\n", lines.join("\n")) }
}

/// One path or glob: quoted, or without blanks inside.
fn operand(text: &str) -> Option<String> {
    let text = text.trim();
    let bare = text
        .strip_suffix(['.', '?', '!', ','])
        .filter(|rest| !rest.is_empty() && !rest.ends_with('.'))
        .unwrap_or(text);
    if let Some(inner) = quoted(bare) {
        return Some(inner);
    }
    (!bare.is_empty() && !bare.contains(char::is_whitespace)).then(|| bare.to_owned())
}

const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];

/// The text inside quotes, when all of it is one quotation.
fn quoted(text: &str) -> Option<String> {
    let (inner, rest) = leading_quote(text.trim())?;
    rest.trim().is_empty().then_some(inner)
}

/// A quotation and what follows it. `\"`, `\n`, `\t` and `\\` are known.
fn leading_quote(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let mut characters = text.char_indices();
    let (_, opening) = characters.next()?;
    let (_, closing) = QUOTES.into_iter().find(|(known, _)| *known == opening)?;
    let mut inner = String::new();
    while let Some((at, character)) = characters.next() {
        if character == closing {
            return Some((inner, &text[at + character.len_utf8()..]));
        }
        if character != '\\' {
            inner.push(character);
            continue;
        }
        match characters.next()?.1 {
            'n' => inner.push('\n'),
            't' => inner.push('\t'),
            known if known == closing || known == '\\' => inner.push(known),
            other => inner.extend(['\\', other]),
        }
    }
    None
}

/// A command line between backticks.
fn fenced(text: &str) -> Option<&str> {
    text.strip_prefix('`')?.strip_suffix('`').filter(|inner| !inner.contains('`'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_of(path: &str) -> Command {
        Command::Read { path: path.into(), lines: None }
    }

    fn run_of(command: &str) -> Command {
        Command::Run { command: command.into() }
    }

    #[track_caller]
    fn one(text: &str, expected: Command) {
        assert_eq!(parse(text).steps, vec![vec![expected]], "{text}");
    }

    #[test]
    fn s9_each_command_in_its_spellings() {
        one("read Cargo.toml", read_of("Cargo.toml"));
        one("Please read the file `src/my file.rs`.", read_of("src/my file.rs"));
        one("read a.rs 10-20", Command::Read { path: "a.rs".into(), lines: Some((10, Some(20))) });
        one("read a.rs from 10", Command::Read { path: "a.rs".into(), lines: Some((10, None)) });
        one("skill pdf-forms", Command::Skill { name: "pdf-forms".into() });
        one("ls", Command::List { path: ".".into() });
        one("list src/", Command::List { path: "src/".into() });
        one("find **/*.rs", Command::Find { pattern: "**/*.rs".into(), path: None });
        one("find *.rs in src", Command::Find { pattern: "*.rs".into(), path: Some("src".into()) });
        one(
            "grep fn main in src",
            Command::Grep { pattern: "fn main".into(), path: Some("src".into()) },
        );
        one("grep \"a in b\"", Command::Grep { pattern: "a in b".into(), path: None });
        one("run cargo test --lib", run_of("cargo test --lib"));
        one("run: `echo 'x then y'`", run_of("echo 'x then y'"));
        one(
            "write notes.md: hello",
            Command::Write { path: "notes.md".into(), content: "hello\n".into() },
        );
        one(
            r#"replace "a \"b\"" with "c\n" in src/x.rs"#,
            Command::Replace { old: "a \"b\"".into(), new: "c\n".into(), path: "src/x.rs".into() },
        );
    }

    #[test]
    fn s9_korean_text_is_text_like_any_other() {
        one("read 문서/계획.md", read_of("문서/계획.md"));
        one("문서/계획.md 읽어 줘", read_of("문서/계획.md"));
        one("Cargo.toml을 읽어주세요.", read_of("Cargo.toml"));
        one("cargo test 실행해 줘", run_of("cargo test"));
        one(
            "grep 압축 요약 in 문서",
            Command::Grep { pattern: "압축 요약".into(), path: Some("문서".into()) },
        );
        one(
            "write 메모.md: 안녕 세상",
            Command::Write { path: "메모.md".into(), content: "안녕 세상\n".into() },
        );
        one(
            "replace “가나” with “다라” in 메모.md",
            Command::Replace {
                old: "가나".into(), new: "다라".into(), path: "메모.md".into()
            },
        );
    }

    #[test]
    fn s9_lines_that_look_run_together_and_then_waits() {
        let steps = |text: &str| parse(text).steps.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(steps("read a.rs\nls src\n\ngrep x in src"), [3]);
        assert_eq!(steps("read a.rs, b.rs and c.rs"), [3]);
        assert_eq!(steps("read a.rs then run cargo test then ls"), [1, 1, 1]);
        assert_eq!(steps("read a.rs\nrun cargo test\nls"), [1, 1, 1]);
        assert_eq!(steps("write a.txt: one\ntwo\n\nrun cat a.txt"), [1, 1]);
        let program = parse("write a.txt:\n```\nrun me\n\nlast\n```\nread a.txt");
        let content = "run me\n\nlast\n".to_owned();
        assert_eq!(program.steps[0], [Command::Write { path: "a.txt".into(), content }]);
        assert_eq!(program.steps[1], [read_of("a.txt")]);
    }

    #[test]
    fn s9_prose_is_no_command() {
        for text in [
            "",
            "hello",
            "find the bug in the parser",
            "read between the lines",
            "run the tests",
            "Why does it run away?",
            "write a parser",
            "Hello!\nread a.rs",
            "replace a with b in c",
            "안녕하세요",
            "open the pod bay doors",
        ] {
            assert_eq!(parse(text).steps, Vec::<Vec<Command>>::new(), "{text}");
        }
        let program = parse("read a.rs\nand tell me a story");
        assert_eq!(
            (program.steps.len(), program.puzzling.as_deref()),
            (1, Some("and tell me a story"))
        );
    }

    #[test]
    fn s9_commands_become_the_arguments_of_the_real_tools() {
        let call = |text: &str| {
            let (name, arguments) = parse(text).steps[0][0].call();
            format!("{name} {arguments}")
        };
        assert_eq!(call("read a 5-9"), r#"read {"path":"a","offset":5,"limit":5}"#);
        assert_eq!(call("grep x in d"), r#"grep {"pattern":"x","path":"d"}"#);
        assert_eq!(call("run ls"), r#"bash {"command":"ls"}"#);
        assert_eq!(
            call("replace 'a' with 'b' in f"),
            r#"edit {"path":"f","edits":[{"oldText":"a","newText":"b"}]}"#
        );
    }
}
