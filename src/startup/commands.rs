//! The sub-commands that need neither a session nor a terminal.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::bail;
use clap::CommandFactory;
use crossterm::event::{Event, KeyCode, KeyModifiers};

use super::places::Folders;
use super::talk::{registry, settings_places};
use crate::cli::{Cli, ConfigCommand};
use crate::mode::printed;
use crate::provider::secret::Secret;
use crate::settings::Settings;
use crate::settings::file::{PROJECT_FOLDER, environment, load, migrate_file};

/// `regrow models [FILTER]`.
pub(super) fn models(filter: Option<&str>) -> anyhow::Result<ExitCode> {
    let folders = Folders::find()?;
    let cwd = std::env::current_dir()?;
    let resolved = match load(&settings_places(&folders, &cwd), environment(), &[]) {
        Ok(resolved) => resolved,
        Err(errors) => return mistakes(&errors),
    };
    let registry = registry(&resolved.settings, &folders);
    let mut out = printed::stdout();
    let wanted = filter.unwrap_or_default().to_lowercase();
    for listed in registry.listing() {
        let model = &listed.model;
        let name = model.model_ref().to_string();
        if !name.to_lowercase().contains(&wanted) {
            continue;
        }
        let ready = if listed.usable { "ready" } else { "no key" };
        writeln!(
            out,
            "{name:<50} {:>9} window {:>8} out  ${:.2}/${:.2} per million  {ready}",
            model.context_window, model.max_tokens, model.price.input, model.price.output
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `regrow login PROVIDER`: the key goes to `auth.json`, which only its owner can read (P3).
pub(super) fn login(provider: &str) -> anyhow::Result<ExitCode> {
    let folders = Folders::find()?;
    let registry = registry(&Settings::default(), &folders);
    let key = if std::io::stdin().is_terminal() {
        write!(std::io::stderr(), "key of {provider} (it is not shown): ")?;
        read_hidden()?
    } else {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line)?;
        line
    };
    let Some(key) = Secret::new(&key) else { bail!("no key was given; nothing has changed") };
    registry.store_key(provider, Some(&key))?;
    writeln!(std::io::stdout(), "stored; `regrow models {provider}` lists what can be asked")?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a line from the terminal without echo. Escape and Ctrl+C give up: the line is empty then.
fn read_hidden() -> anyhow::Result<String> {
    crossterm::terminal::enable_raw_mode()?;
    let typed = read_hidden_keys();
    crossterm::terminal::disable_raw_mode()?;
    writeln!(std::io::stderr())?;
    Ok(typed?)
}

fn read_hidden_keys() -> std::io::Result<String> {
    let mut typed = String::new();
    loop {
        let Event::Key(key) = crossterm::event::read()? else { continue };
        match key.code {
            KeyCode::Enter => return Ok(typed),
            KeyCode::Esc => return Ok(String::new()),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Ok(String::new());
            }
            KeyCode::Backspace => {
                typed.pop();
            }
            KeyCode::Char(character) => typed.push(character),
            _ => {}
        }
    }
}

/// `regrow config …`.
pub(super) fn config(what: ConfigCommand) -> anyhow::Result<ExitCode> {
    let folders = Folders::find()?;
    let cwd = std::env::current_dir()?;
    let places = settings_places(&folders, &cwd);
    let mut out = printed::stdout();
    match what {
        ConfigCommand::Schema => {
            let schema = crate::settings::schema::schema();
            writeln!(out, "{}", serde_json::to_string_pretty(schema)?)?;
        }
        ConfigCommand::Path => {
            writeln!(out, "{}", places.user.display())?;
            if let Some(project) = &places.project {
                let folder = project.join(PROJECT_FOLDER);
                writeln!(out, "{}", folder.display())?;
            }
        }
        ConfigCommand::Show => match load(&places, environment(), &[]) {
            Ok(resolved) => {
                for shown in resolved.shown {
                    writeln!(out, "{shown}")?;
                }
                for notice in resolved.notices {
                    writeln!(printed::stderr(), "regrow: {notice}")?;
                }
            }
            Err(errors) => return mistakes(&errors),
        },
        ConfigCommand::Migrate => {
            let project = places.project.map(|project| project.join(PROJECT_FOLDER));
            for folder in std::iter::once(places.user).chain(project) {
                let Some((path, done)) = migrate_file(&folder)? else { continue };
                if done.is_empty() {
                    writeln!(out, "{}: nothing to do", path.display())?;
                }
                for change in done {
                    writeln!(out, "{}: {change}", path.display())?;
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn mistakes(
    errors: &[crate::settings::origin::SettingsError],
) -> anyhow::Result<ExitCode> {
    for error in errors {
        writeln!(printed::stderr(), "regrow: {error}")?;
    }
    Ok(ExitCode::from(2))
}

/// `regrow completions SHELL`.
pub(super) fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "regrow", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
