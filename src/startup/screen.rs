//! What the screen is told at its start: theme, keys, greeting, where history is kept.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use super::live::Live;
use super::places::Folders;
use super::stamp::SystemStamper;
use crate::agent_session::SessionHandle;
use crate::agent_session::command::{Delivery, SessionCommand};
use crate::agent_session::queue::Prompt;
use crate::export::Source;
use crate::ids::Stamper;
use crate::provider::model::Model;
use crate::provider::registry::ProviderRegistry;
use crate::session::entry::SessionHeader;
use crate::session::listing::{ListedSession, list_all};
use crate::settings::Settings;
use crate::settings::edit::Change;
use crate::slash::ExportRequest;
use crate::tui::cell::Welcome;
use crate::tui::keymap::KeyMap;
use crate::tui::outside::{OpenSession, Outside, Reloaded};
use crate::tui::outward::Manner;
use crate::tui::overlay::settings::SettingsSheet;
use crate::tui::theme::ColorDepth;
use crate::tui::theme_file::ThemeFile;
use crate::tui::{self, ExitReason, FirstThing, TuiOptions};

/// What happens at once: the prompt of the command line, or the choice of a session (`--resume`).
pub(super) fn first_thing(prompt: Option<Prompt>, resume: bool) -> FirstThing {
    match prompt {
        _ if resume => FirstThing::ChooseSession,
        None => FirstThing::Nothing,
        Some(Prompt { text, images }) => {
            let delivery = Delivery::FollowUp;
            FirstThing::Send(SessionCommand::Prompt { text, images, delivery })
        }
    }
}

/// Shows a session on the screen until it is left.
///
/// # Errors
/// The theme or the key map cannot be used, or the terminal is gone.
pub(super) async fn show(
    handle: SessionHandle,
    first: FirstThing,
    settings: &Settings,
    folders: &Folders,
    registry: Arc<ProviderRegistry>,
    live: Live,
) -> anyhow::Result<ExitReason> {
    let (theme, keymap) = live.look(settings)?;
    let options = TuiOptions {
        theme,
        theme_file: live.theme_file(),
        manner: Manner::detect(&settings.terminal, |name| std::env::var(name).ok()),
        mouse: settings.mouse,
        animation: settings.animation != Some(false),
        keymap,
        welcome: welcome(),
        branch_summary: settings.branch_summary.clone(),
        templates: live.templates(),
        clock: || SystemStamper.now(),
        first,
        history_file: Some(folders.state.join("history.jsonl")),
        home: etcetera::home_dir().ok(),
        outside: Arc::new(Program { registry, sessions: folders.data.join("sessions"), live }),
    };
    tui::run(handle, options).await
}

/// What the screen asks of the program around it.
struct Program {
    registry: Arc<ProviderRegistry>,
    /// The folder of the sessions of all projects.
    sessions: PathBuf,
    live: Live,
}

impl Outside for Program {
    fn models(&self) -> Vec<(Model, bool)> {
        let listing = self.registry.listing();
        listing.into_iter().map(|listed| ((*listed.model).clone(), listed.usable)).collect()
    }

    fn sessions(&self) -> Vec<ListedSession> {
        list_all(&self.sessions).sessions
    }

    fn export(&self, open: &OpenSession, request: &ExportRequest) -> Result<PathBuf, String> {
        let file = open.file.as_ref().filter(|file| file.exists());
        let file = file.ok_or("there is nothing to export yet")?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let path = match &request.path {
            Some(path) => open.resolve(path),
            None => open.cwd.join(format!("{name}.{}", request.format.ending())),
        };
        write_export(open, file, request, &path)
            .map_err(|error| format!("cannot export to {}: {error}", path.display()))?;
        Ok(path)
    }

    fn settings(&self) -> Result<SettingsSheet, String> {
        self.live.settings()
    }

    fn change_setting(&self, change: &Change) -> Result<(SettingsSheet, Reloaded), String> {
        self.live.change_setting(change)
    }

    fn reload(&self, cwd: &Path) -> Reloaded {
        self.live.reload(cwd)
    }
}

/// Writes an export to a file that only the person can read.
fn write_export(
    open: &OpenSession,
    file: &Path,
    request: &ExportRequest,
    path: &Path,
) -> std::io::Result<()> {
    let mut first = String::new();
    BufReader::new(File::open(file)?).read_line(&mut first)?;
    let header: SessionHeader = serde_json::from_str(&first)?;
    let leaf = open.reader.tree().leaf();
    let source = Source { reader: &open.reader, header: &header, leaf, file: Some(file) };
    let session = open.file.as_deref();
    super::sessions::write_export(request.format, &source, request.secrets, session, path)?;
    Ok(())
}

fn welcome() -> Welcome {
    let hint = |typed: &str, help: &str| (typed.to_owned(), help.to_owned());
    Welcome {
        version: format!("regrow {}", env!("CARGO_PKG_VERSION")),
        corner: "/help".to_owned(),
        hints: vec![
            hint("read README.md", "or say what you want done"),
            hint("/tree", "goes back to any point and takes another way"),
            hint("/compact", "shortens the history; nothing is lost"),
            hint("/model", "chooses who answers"),
        ],
        ..Welcome::default()
    }
}

/// Where the theme comes from. Some terminals say at once what their background is; dark is the guess
/// until the others have answered.
pub(super) fn theme_file(config: &Path) -> ThemeFile {
    let depth = ColorDepth::detect(|name| std::env::var(name).ok());
    let colours = std::env::var("COLORFGBG").unwrap_or_default();
    let light = matches!(colours.rsplit(';').next(), Some("7" | "15"));
    ThemeFile::new("auto".to_owned(), config.join("themes"), depth, light)
}

/// The key map: the built-in one with the person's changes.
pub(super) fn keymap(config: &Path) -> anyhow::Result<KeyMap> {
    let file = config.join("keymap.toml");
    match std::fs::read_to_string(&file) {
        Ok(source) => KeyMap::with_changes(&source)
            .with_context(|| format!("cannot use the key map {}", file.display())),
        Err(_) => Ok(KeyMap::default()),
    }
}
