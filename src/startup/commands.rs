//! The sub-commands that need neither a session nor a terminal.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use super::places::Folders;
use super::talk::{registry, settings_places};
use crate::cli::{Cli, ConfigCommand};
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
    let mut out = std::io::stdout().lock();
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

/// `regrow config …`.
pub(super) fn config(what: ConfigCommand) -> anyhow::Result<ExitCode> {
    let folders = Folders::find()?;
    let cwd = std::env::current_dir()?;
    let places = settings_places(&folders, &cwd);
    let mut out = std::io::stdout().lock();
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
                    writeln!(std::io::stderr(), "regrow: {notice}")?;
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

fn mistakes(errors: &[crate::settings::origin::SettingsError]) -> anyhow::Result<ExitCode> {
    for error in errors {
        writeln!(std::io::stderr(), "regrow: {error}")?;
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
