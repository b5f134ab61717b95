//! Where regrow keeps its files (SPEC J1, G1).

use std::path::{Path, PathBuf};

use anyhow::Context;
use etcetera::BaseStrategy;

use crate::session::store::place::project_dir;

/// The folders of a run.
#[derive(Debug, Clone)]
pub(super) struct Folders {
    /// Settings, instructions, themes, keys: `$XDG_CONFIG_HOME/regrow`.
    pub(super) config: PathBuf,
    /// Sessions and history: `$XDG_DATA_HOME/regrow`.
    pub(super) data: PathBuf,
    /// Logs: `$XDG_STATE_HOME/regrow`.
    pub(super) state: PathBuf,
}

impl Folders {
    /// Finds them from the environment.
    ///
    /// # Errors
    /// There is no home folder.
    pub(super) fn find() -> anyhow::Result<Self> {
        let base = etcetera::choose_base_strategy().context(
            "cannot find your home folder; set HOME, or XDG_CONFIG_HOME and XDG_DATA_HOME",
        )?;
        Ok(Self {
            config: base.config_dir().join("regrow"),
            data: base.data_dir().join("regrow"),
            state: base.state_dir().unwrap_or_else(|| base.data_dir()).join("regrow"),
        })
    }

    /// The folder of the sessions of `cwd`: `chosen` (from the command line, the environment or the
    /// settings, in that order) is taken as it is.
    #[must_use]
    pub(super) fn sessions(&self, cwd: &Path, chosen: Option<&Path>) -> PathBuf {
        match chosen {
            Some(chosen) => cwd.join(chosen),
            None => project_dir(&self.data.join("sessions"), cwd),
        }
    }
}
