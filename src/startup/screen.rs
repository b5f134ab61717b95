//! What the screen is told at its start: theme, keys, greeting, where history is kept.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use super::live::Live;
use super::places::Folders;
use super::stamp::SystemStamper;
use crate::agent_session::SessionHandle;
use crate::agent_session::command::Delivery;
use crate::agent_session::queue::Prompt;
use crate::ids::Stamper;
use crate::settings::Settings;
use crate::tui::cell::{Hint, Welcome};
use crate::tui::keymap::KeyMap;
use crate::tui::outside::Outside;
use crate::tui::outward::Manner;
use crate::tui::theme::ColorDepth;
use crate::tui::theme_file::ThemeFile;
use crate::tui::{self, ExitReason, FirstThing, TuiOptions};

/// What happens at once: the prompt of the command line, or the choice of a session (`--resume`).
pub(super) fn first_thing(prompt: Option<Prompt>, resume: bool) -> FirstThing {
    match prompt {
        _ if resume => FirstThing::ChooseSession,
        None => FirstThing::Nothing,
        Some(prompt) => FirstThing::Send(prompt.into_command(Delivery::FollowUp)),
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
    live: &Live,
    outside: Arc<dyn Outside>,
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
        outside,
    };
    tui::run(handle, options).await
}

fn welcome() -> Welcome {
    Welcome {
        version: format!("regrow {}", env!("CARGO_PKG_VERSION")),
        corner: "/help".to_owned(),
        hints: vec![
            Hint::new("read README.md", "or say what you want", " done"),
            Hint::new("/tree", "to any earlier point", ", and another way from there"),
            Hint::new("/compact", "shortens the history", "; nothing is lost"),
            Hint::new("/model", "chooses who answers", ""),
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
