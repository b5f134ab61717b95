//! What a shell asks of the program around it: models, sessions, exports, settings.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::live::Live;
use super::places::Folders;
use crate::export::Source;
use crate::provider::model::Model;
use crate::provider::registry::ProviderRegistry;
use crate::provider::secret::Secret;
use crate::session::entry::SessionHeader;
use crate::session::listing::{ListedSession, list_all};
use crate::settings::edit::Change;
use crate::slash::ExportRequest;
use crate::tui::outside::{OpenSession, Outside, ProviderKey, Reloaded};
use crate::tui::overlay::settings::SettingsSheet;

/// See the module.
pub(super) struct Program {
    registry: Arc<ProviderRegistry>,
    /// The folder of the sessions of all projects.
    sessions: PathBuf,
    live: Arc<Live>,
}

impl Program {
    /// A program with these models, files and settings.
    pub(super) fn new(registry: Arc<ProviderRegistry>, folders: &Folders, live: Arc<Live>) -> Self {
        Self { registry, sessions: folders.data.join("sessions"), live }
    }
}

impl Outside for Program {
    fn models(&self) -> Vec<(Model, bool)> {
        let listing = self.registry.listing();
        listing.into_iter().map(|listed| ((*listed.model).clone(), listed.usable)).collect()
    }

    fn providers(&self) -> Vec<ProviderKey> {
        let mut providers: Vec<ProviderKey> = Vec::new();
        for listed in self.registry.listing() {
            let name = &listed.model.provider;
            if !providers.iter().any(|known| known.name == *name) {
                let variables = self.registry.key_variables(name);
                let has_key = listed.usable;
                providers.push(ProviderKey { name: name.clone(), has_key, variables });
            }
        }
        providers
    }

    fn store_key(&self, provider: &str, key: &Secret) -> Result<(), String> {
        self.registry.store_key(provider, Some(key)).map_err(|error| error.to_string())
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
