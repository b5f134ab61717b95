//! The composition root: the only place that picks real implementations, and what the program does
//! with a command line (SPEC section 12).

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use crate::cli::{Cli, Command};

mod commands;
mod hooks;
mod library;
mod live;
mod log;
mod places;
mod program;
mod prompt_args;
mod prompts;
mod screen;
mod session_choice;
mod sessions;
mod stamp;
mod talk;

/// Carries out a command line and gives the exit code: 0 ok, 1 failure, 2 usage, 130 interrupted.
///
/// # Errors
/// Whatever stopped it; [`report`] puts it into words.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        None => talk::talk(&cli.talk),
        Some(Command::Sessions { all, json }) => sessions::list(all, json),
        Some(Command::Tree { session, all, json }) => sessions::tree(&session, all, json),
        Some(Command::Doctor { session, fix }) => sessions::doctor(&session, fix),
        Some(Command::Context { session, leaf, model, json }) => {
            sessions::context(&session, leaf.as_deref(), model.as_deref(), json)
        }
        Some(Command::Compact { session, instructions, dry_run, json }) => {
            sessions::compact(&session, &instructions.join(" "), dry_run, json)
        }
        Some(Command::Export { session, format, html, md, jsonl, output, redact }) => {
            let flags = [(html, "html"), (md, "md"), (jsonl, "jsonl")];
            let flag = flags.into_iter().find_map(|(given, word)| given.then_some(word));
            sessions::export(&session, format.as_deref().or(flag), output.as_deref(), redact)
        }
        Some(Command::Import { file }) => sessions::import(&file),
        Some(Command::Login { provider }) => commands::login(&provider),
        Some(Command::Models { filter }) => commands::models(filter.as_deref()),
        Some(Command::Config { what }) => commands::config(what),
        Some(Command::Hooks { what }) => hooks::hooks(what),
        Some(Command::Completions { shell }) => commands::completions(shell),
    }
}

/// Writes an error and its causes to stderr. A reader of our output that has gone is no error.
pub fn report(error: &anyhow::Error) {
    let gone = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
    if !gone {
        // Nothing is left to tell it to when stderr is gone too.
        writeln!(crate::mode::printed::stderr(), "regrow: {error:#}").ok();
    }
}

/// Whether a person sits at both ends.
fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
