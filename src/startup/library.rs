//! The templates and skills of a run (SPEC U4, G2): where they are, and what a run reads of them.

use std::path::Path;

use super::places::Folders;
use super::talk::settings_places;
use crate::prompt::library::{Library, LibraryPlaces, read_library};
use crate::settings::trust;
use crate::slash;

/// Reads the templates and skills that count in `cwd`. A list of trusted folders that cannot be read
/// trusts nothing; the settings say so.
pub(super) fn library(folders: &Folders, cwd: &Path) -> Library {
    let places = settings_places(folders, cwd);
    let project = places.project.unwrap_or_else(|| cwd.to_owned());
    let trusted = trust::is_trusted(&places.trust, &project).unwrap_or_default();
    let places = LibraryPlaces { user: places.user, project, trusted };
    read_library(&places, |name| slash::find(name).is_some())
}
