//! The slash commands (U4): one table that feeds the parser, the completion menu, `/help` and the
//! README. What a command does is the shell's or the session's business; nothing here does it.

use std::path::PathBuf;

use crate::agent_session::command::{SessionCommand, SwitchTo};
use crate::export::{Format, Secrets};
use crate::ids::EntryId;
use crate::nearest::nearest;
use crate::prompt::template::{Expansion, Template, expand_line};
use crate::provider::ThinkingLevel;

/// One command of the table.
#[derive(Debug)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: &'static str,
    /// Other names that are understood but not offered.
    pub aliases: &'static [&'static str],
    /// What may follow, as the menu and the help show it; empty for nothing.
    pub arguments: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    parse: fn(&str) -> Result<SlashAction, String>,
}

/// What a line with a command asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum SlashAction {
    /// Something that the session does.
    Send(SessionCommand),
    /// Show the tree; at an entry, if one is named.
    OpenTree(Option<EntryId>),
    /// Show the sessions; the text narrows the list.
    OpenSessions(Option<String>),
    /// Name the leaf; `None` takes the name away.
    LabelLeaf(Option<String>),
    /// Show the session's file, size and cost.
    ShowSession,
    /// Show the models, or take the one named.
    Model(Option<String>),
    /// Show the thinking levels.
    OpenThinking,
    /// Show the settings.
    OpenSettings,
    /// Write the session for others.
    Export(ExportRequest),
    /// Open a session of another program.
    Import(PathBuf),
    /// Put the last answer on the clipboard.
    CopyAnswer,
    /// Search in the transcript.
    Find(Option<String>),
    /// Store a key for a provider.
    Login(Option<String>),
    /// Show the keys.
    ShowHotkeys,
    /// Read settings, themes, templates and instructions again.
    Reload,
    /// Show the commands.
    ShowHelp,
}

/// See [`SlashAction::Export`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRequest {
    /// What to write.
    pub format: Format,
    /// Where to; beside the session's folder when absent.
    pub path: Option<PathBuf>,
    /// Whether what looks like a key is blacked out.
    pub secrets: Secrets,
}

/// A line that is no command that we know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlashError {
    /// No command has this name. The caller may still know it as a prompt template.
    #[error("there is no command /{name}{}", hint(.nearest.as_deref()))]
    Unknown {
        /// The name as typed.
        name: String,
        /// A name that was perhaps meant.
        nearest: Option<String>,
    },
    /// The command is known, and has no meaning here.
    #[error("/{name} is typed on the screen; a space before the slash sends it as text")]
    OnlyOnScreen {
        /// The command's name.
        name: String,
    },
    /// The command is known, what follows it is not understood.
    #[error("/{command}: {problem}; usage: {usage}")]
    Arguments {
        /// The command.
        command: &'static str,
        /// What is wrong.
        problem: String,
        /// How it goes.
        usage: String,
    },
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => {
            format!("; did you mean /{name}? (a space before the slash sends it as text)")
        }
        None => "; /help lists them (a space before the slash sends it as text)".to_owned(),
    }
}

/// What a line with a slash in front comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// A command of the table.
    Action(SlashAction),
    /// A person's own prompt, filled in.
    Prompt(String),
}

/// All commands, in the order of the menu.
pub static COMMANDS: &[SlashCommand] = &[
    SlashCommand {
        name: "compact",
        aliases: &["compress"],
        arguments: "[FOCUS | --dry-run | --undo]",
        help: "summarise old history, keep the recent tail; say what to focus on",
        parse: compact,
    },
    SlashCommand {
        name: "unprune",
        aliases: &[],
        arguments: "",
        help: "put the tool output back that pruning took out",
        parse: |rest| bare(rest, SlashAction::Send(SessionCommand::Unprune)),
    },
    SlashCommand {
        name: "tree",
        aliases: &["branches"],
        arguments: "[ENTRY]",
        help: "go to any earlier point and take another way",
        parse: |rest| Ok(SlashAction::OpenTree(word(rest)?.map(EntryId::new))),
    },
    SlashCommand {
        name: "fork",
        aliases: &["branch"],
        arguments: "[ENTRY]",
        help: "go on in a new session with the path to here, or to an entry",
        parse: |rest| {
            let entry = word(rest)?.map(EntryId::new);
            Ok(SlashAction::Send(SessionCommand::Switch(SwitchTo::Fork(entry))))
        },
    },
    SlashCommand {
        name: "clone",
        aliases: &[],
        arguments: "",
        help: "go on in a copy of the whole session",
        parse: |rest| bare(rest, SlashAction::Send(SessionCommand::Switch(SwitchTo::Clone))),
    },
    SlashCommand {
        name: "new",
        aliases: &["clear"],
        arguments: "",
        help: "start a fresh session; this one stays",
        parse: |rest| bare(rest, SlashAction::Send(SessionCommand::Switch(SwitchTo::New))),
    },
    SlashCommand {
        name: "resume",
        aliases: &["sessions", "continue"],
        arguments: "[SEARCH]",
        help: "go on in an earlier session",
        parse: |rest| Ok(SlashAction::OpenSessions(text(rest))),
    },
    SlashCommand {
        name: "name",
        aliases: &["rename"],
        arguments: "NAME",
        help: "name this session",
        parse: |rest| match text(rest) {
            Some(name) => Ok(SlashAction::Send(SessionCommand::Name(name))),
            None => Err("a name is missing".to_owned()),
        },
    },
    SlashCommand {
        name: "label",
        aliases: &["bookmark"],
        arguments: "[NAME]",
        help: "name this point of the conversation; without a name the label goes",
        parse: |rest| Ok(SlashAction::LabelLeaf(text(rest))),
    },
    SlashCommand {
        name: "session",
        aliases: &["status", "cost"],
        arguments: "",
        help: "show the session's file, size, tokens and cost",
        parse: |rest| bare(rest, SlashAction::ShowSession),
    },
    SlashCommand {
        name: "context",
        aliases: &["usage"],
        arguments: "",
        help: "show what fills the model's window",
        parse: |rest| bare(rest, SlashAction::Send(SessionCommand::ShowContext)),
    },
    SlashCommand {
        name: "find",
        aliases: &["search"],
        arguments: "[TEXT]",
        help: "search in the transcript",
        parse: |rest| Ok(SlashAction::Find(text(rest))),
    },
    SlashCommand {
        name: "model",
        aliases: &["models"],
        arguments: "[MODEL]",
        help: "choose the model that answers",
        parse: |rest| Ok(SlashAction::Model(word(rest)?.map(ToOwned::to_owned))),
    },
    SlashCommand {
        name: "thinking",
        aliases: &["effort"],
        arguments: "[off | minimal | low | medium | high | xhigh]",
        help: "choose how much the model thinks",
        parse: thinking,
    },
    SlashCommand {
        name: "login",
        aliases: &[],
        arguments: "[PROVIDER]",
        help: "store a key for a provider; it is typed unseen",
        parse: |rest| match word(rest) {
            Ok(provider) => Ok(SlashAction::Login(provider.map(ToOwned::to_owned))),
            // What was typed may be a key.
            Err(_) => Err("only the provider's name may follow; the key is asked for".to_owned()),
        },
    },
    SlashCommand {
        name: "settings",
        aliases: &["config"],
        arguments: "",
        help: "show the settings and where each comes from, and change them",
        parse: |rest| bare(rest, SlashAction::OpenSettings),
    },
    SlashCommand {
        name: "export",
        aliases: &[],
        arguments: "[html | md | jsonl] [FILE] [--redact]",
        help: "write the session for others to read",
        parse: export,
    },
    SlashCommand {
        name: "import",
        aliases: &[],
        arguments: "FILE",
        help: "open a session file of pi or oh-my-pi",
        parse: |rest| match text(rest) {
            Some(path) => Ok(SlashAction::Import(PathBuf::from(unquote(&path)))),
            None => Err("a file is missing".to_owned()),
        },
    },
    SlashCommand {
        name: "copy",
        aliases: &[],
        arguments: "",
        help: "copy the last answer",
        parse: |rest| bare(rest, SlashAction::CopyAnswer),
    },
    SlashCommand {
        name: "hotkeys",
        aliases: &["keys", "keybindings"],
        arguments: "",
        help: "list the keys",
        parse: |rest| bare(rest, SlashAction::ShowHotkeys),
    },
    SlashCommand {
        name: "reload",
        aliases: &[],
        arguments: "",
        help: "read settings, prompts, skills, theme, keys and instructions again",
        parse: |rest| bare(rest, SlashAction::Reload),
    },
    SlashCommand {
        name: "help",
        aliases: &["commands", "?"],
        arguments: "",
        help: "list the commands",
        parse: |rest| bare(rest, SlashAction::ShowHelp),
    },
    SlashCommand {
        name: "quit",
        aliases: &["exit", "q"],
        arguments: "",
        help: "leave; the session stays as it is",
        parse: |rest| bare(rest, SlashAction::Send(SessionCommand::Quit)),
    },
];

impl SlashCommand {
    /// How to type it, such as `/label [NAME]`.
    #[must_use]
    pub fn usage(&self) -> String {
        format!("/{} {}", self.name, self.arguments).trim_end().to_owned()
    }
}

/// Whether a line is meant as a command: `/` at its very beginning, and not `//`.
#[must_use]
pub fn is_command(line: &str) -> bool {
    line.starts_with('/') && !line.starts_with("//")
}

/// Whether a text that is no line of the screen is meant as a command: `/fix` and `/fix it`, but not
/// `/usr/bin/env` and not `/`.
#[must_use]
pub fn names_a_command(text: &str) -> bool {
    let name = text.split_whitespace().next().unwrap_or_default();
    is_command(text) && name.len() > 1 && !name[1..].contains('/')
}

/// Reads a line of the screen: a command, or a template that stands for a prompt.
///
/// # Errors
/// It is neither.
pub fn meaning(line: &str, templates: &[Template]) -> Result<Meaning, SlashError> {
    let (name, near) = match parse(line) {
        Ok(action) => return Ok(Meaning::Action(action)),
        Err(SlashError::Unknown { name, nearest }) => (name, nearest),
        Err(error) => return Err(error),
    };
    match expand_line(templates, line, &[]) {
        Expansion::Prompt(text) => Ok(Meaning::Prompt(text)),
        Expansion::Unknown(template) => {
            Err(SlashError::Unknown { name, nearest: near.or(template) })
        }
    }
}

/// Fills in the template that a text names where there is no screen. `more` are arguments that are
/// taken apart already.
///
/// # Errors
/// It names none, or a command of the screen.
pub fn fill_in(text: &str, more: &[String], templates: &[Template]) -> Result<String, SlashError> {
    let nearest = match expand_line(templates, text, more) {
        Expansion::Prompt(text) => return Ok(text),
        Expansion::Unknown(nearest) => nearest,
    };
    let name = text.split_whitespace().next().unwrap_or_default();
    let name = name.trim_start_matches('/').to_owned();
    Err(match find(&name) {
        Some(_) => SlashError::OnlyOnScreen { name },
        None => SlashError::Unknown { name, nearest },
    })
}

/// Reads a line with a command; the slash in front may be left out.
///
/// # Errors
/// An unknown name or arguments that do not fit. Such a line is never sent to a model.
pub fn parse(line: &str) -> Result<SlashAction, SlashError> {
    let line = line.trim();
    let line = line.strip_prefix('/').unwrap_or(line);
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let Some(command) = find(name) else {
        let known = COMMANDS
            .iter()
            .flat_map(|command| std::iter::once(&command.name).chain(command.aliases))
            .copied();
        let nearest = nearest(name, known).and_then(find).map(|command| command.name.to_owned());
        return Err(SlashError::Unknown { name: name.to_owned(), nearest });
    };
    (command.parse)(rest.trim()).map_err(|problem| SlashError::Arguments {
        command: command.name,
        problem,
        usage: command.usage(),
    })
}

/// The command with this name or alias, in any case.
#[must_use]
pub fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| {
        command.name.eq_ignore_ascii_case(name)
            || command.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    })
}

/// What the menu offers for a half-typed name (without the slash): names that begin with it, then
/// names and aliases that contain it.
#[must_use]
pub fn complete(typed: &str) -> Vec<&'static SlashCommand> {
    let typed = typed.to_lowercase();
    let mut offered: Vec<_> =
        COMMANDS.iter().filter(|command| command.name.starts_with(&typed)).collect();
    offered.extend(COMMANDS.iter().filter(|command| {
        !command.name.starts_with(&typed)
            && (command.name.contains(&typed)
                || command.aliases.iter().any(|alias| alias.starts_with(&typed)))
    }));
    offered
}

fn bare(rest: &str, action: SlashAction) -> Result<SlashAction, String> {
    if rest.is_empty() { Ok(action) } else { Err(format!("nothing may follow, but `{rest}` does")) }
}

fn text(rest: &str) -> Option<String> {
    (!rest.is_empty()).then(|| rest.to_owned())
}

fn word(rest: &str) -> Result<Option<&str>, String> {
    let mut words = rest.split_whitespace();
    let first = words.next();
    match words.next() {
        None => Ok(first),
        Some(second) => Err(format!("one word is enough, `{second}` is one too many")),
    }
}

/// Paths with blanks may be quoted, as terminals do when a file is dropped on them.
fn unquote(path: &str) -> &str {
    let quoted = |quote: char| path.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(path)
}

fn compact(rest: &str) -> Result<SlashAction, String> {
    Ok(SlashAction::Send(match rest {
        "--dry-run" => SessionCommand::PlanCompaction,
        "--undo" => SessionCommand::UndoCompaction,
        option if option.starts_with("--") => return Err(format!("unknown option `{option}`")),
        focus => SessionCommand::Compact { instructions: text(focus) },
    }))
}

fn thinking(rest: &str) -> Result<SlashAction, String> {
    let Some(name) = word(rest)? else { return Ok(SlashAction::OpenThinking) };
    match ThinkingLevel::parse(name) {
        Some(level) => Ok(SlashAction::Send(SessionCommand::SetThinking(level))),
        None => Err(format!("`{name}` is not a thinking level")),
    }
}

fn export(rest: &str) -> Result<SlashAction, String> {
    let (rest, secrets) = match rest.strip_suffix("--redact").or(rest.strip_prefix("--redact")) {
        Some(rest) => (rest.trim(), Secrets::Redact),
        None => (rest, Secrets::Keep),
    };
    if rest.starts_with("--") {
        return Err(format!("unknown option `{rest}`"));
    }
    let (first, path) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (format, path) = match Format::parse(first) {
        Some(format) => (Some(format), path.trim()),
        None => (None, rest),
    };
    let path = unquote(path);
    let by_ending = || path.rsplit_once('.').and_then(|(_, ending)| Format::parse(ending));
    let format = match format {
        Some(format) => format,
        None if path.is_empty() => Format::Markdown,
        None => {
            by_ending().ok_or_else(|| format!("`{path}` does not end in .html, .md or .jsonl"))?
        }
    };
    let path = (!path.is_empty()).then(|| PathBuf::from(path));
    Ok(SlashAction::Export(ExportRequest { format, path, secrets }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn sends(line: &str, command: SessionCommand) {
        assert_eq!(parse(line), Ok(SlashAction::Send(command)), "{line}");
    }

    #[track_caller]
    fn refuses(line: &str, message: &str) {
        assert_eq!(parse(line).unwrap_err().to_string(), message);
    }

    #[test]
    fn u4_every_command_of_the_specification_is_there() {
        let specified = "compact unprune tree fork clone new resume name label session context model \
                         thinking settings export import copy hotkeys reload help quit";
        for name in specified.split_whitespace() {
            assert!(COMMANDS.iter().any(|command| command.name == name), "/{name} is missing");
        }
    }

    #[test]
    fn u4_the_table_is_consistent() {
        let mut names = std::collections::HashSet::new();
        for command in COMMANDS {
            for name in std::iter::once(&command.name).chain(command.aliases) {
                assert!(names.insert(*name), "{name} stands twice in the table");
                assert_eq!(find(name).map(|found| found.name), Some(command.name));
            }
            assert!(!command.help.is_empty() && !command.help.ends_with('.'), "{}", command.name);
            assert!(command.help.len() <= 70, "the help of {} is long", command.name);
            // Whoever types the bare name gets an action, or an error that shows the usage.
            match parse(&format!("/{}", command.name)) {
                Ok(_) => {
                    assert!(command.arguments.is_empty() || command.arguments.starts_with('['))
                }
                Err(error) => assert!(error.to_string().ends_with(&command.usage()), "{error}"),
            }
        }
    }

    #[test]
    fn u4_reads_arguments() {
        sends("/compact", SessionCommand::Compact { instructions: None });
        sends(
            "/compact keep the API decisions\nand the tests",
            SessionCommand::Compact {
                instructions: Some("keep the API decisions\nand the tests".into()),
            },
        );
        sends("/compact --dry-run", SessionCommand::PlanCompaction);
        sends("/compact --undo ", SessionCommand::UndoCompaction);
        sends("/THINKING High", SessionCommand::SetThinking(ThinkingLevel::High));
        sends("/name 로그인 정리", SessionCommand::Name("로그인 정리".into()));
        sends("/fork 0a1b2c3d", SessionCommand::Switch(SwitchTo::Fork(Some("0a1b2c3d".into()))));
        sends("/exit", SessionCommand::Quit);
        assert_eq!(parse("/label"), Ok(SlashAction::LabelLeaf(None)));
        assert_eq!(parse("/label plan b"), Ok(SlashAction::LabelLeaf(Some("plan b".into()))));
        assert_eq!(
            parse("/import \"a b.jsonl\""),
            Ok(SlashAction::Import(PathBuf::from("a b.jsonl")))
        );
    }

    #[test]
    fn u4_export_finds_the_format_in_the_word_or_the_ending() {
        let export = |line: &str| match parse(line) {
            Ok(SlashAction::Export(request)) => request,
            other => panic!("{other:?}"),
        };
        let request = |format, path: Option<&str>, secrets| ExportRequest {
            format,
            path: path.map(PathBuf::from),
            secrets,
        };
        assert_eq!(export("/export"), request(Format::Markdown, None, Secrets::Keep));
        assert_eq!(export("/export md --redact"), request(Format::Markdown, None, Secrets::Redact));
        assert_eq!(
            export("/export notes of today.md"),
            request(Format::Markdown, Some("notes of today.md"), Secrets::Keep)
        );
        assert_eq!(
            export("/export jsonl '/a b'"),
            request(Format::Jsonl, Some("/a b"), Secrets::Keep)
        );
    }

    #[test]
    fn u4_errors_say_what_is_wrong_and_how_it_goes() {
        refuses(
            "/comapct",
            "there is no command /comapct; did you mean /compact? (a space before the slash sends it as text)",
        );
        refuses(
            "/weather in Seoul",
            "there is no command /weather; /help lists them (a space before the slash sends it as text)",
        );
        refuses("/name", "/name: a name is missing; usage: /name NAME");
        refuses("/unprune now", "/unprune: nothing may follow, but `now` does; usage: /unprune");
        refuses(
            "/thinking hard",
            "/thinking: `hard` is not a thinking level; usage: /thinking [off | minimal | low | medium | high | xhigh]",
        );
        refuses(
            "/compact --dryrun",
            "/compact: unknown option `--dryrun`; usage: /compact [FOCUS | --dry-run | --undo]",
        );
        refuses(
            "/export x.pdf",
            "/export: `x.pdf` does not end in .html, .md or .jsonl; usage: /export [html | md | jsonl] [FILE] [--redact]",
        );
    }

    #[test]
    fn u4_a_slash_in_the_text_is_text() {
        assert!(is_command("/tree"));
        for text in [" /tree", "// a comment", "see /tree", ""] {
            assert!(!is_command(text), "{text:?}");
        }
    }

    #[test]
    fn u2_the_menu_offers_beginnings_first() {
        let offered = |typed: &str| -> Vec<&str> {
            complete(typed).into_iter().map(|command| command.name).collect()
        };
        assert_eq!(
            offered("co"),
            ["compact", "context", "copy", "resume", "session", "settings", "help"]
        );
        assert_eq!(offered("nam"), ["name"]);
        assert_eq!(offered("").len(), COMMANDS.len());
        assert!(offered("zzz").is_empty());
    }
}
