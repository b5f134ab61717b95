//! Which session a run works on (SPEC section 12, J1, J8).

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::cli::TalkArgs;
use crate::compaction::tokens::Estimator;
use crate::ids::Stamper;
use crate::session::entry::SessionHeader;
use crate::session::store::place::{create_private_dir, create_private_file};
use crate::session::store::{Access, Opened, SessionStore, StoreError};

/// The session that shows what a tree is (`--tour`).
const TOUR: &str = include_str!("../../assets/sessions/tour.jsonl");

/// A session to work on.
pub(super) struct Chosen {
    /// The session.
    pub(super) store: SessionStore,
    /// What the person should know about it.
    pub(super) warnings: Vec<String>,
}

/// Opens or makes the session that the flags ask for.
pub(super) fn choose_session(
    args: &TalkArgs,
    dir: &Path,
    cwd: &Path,
    estimator: Estimator,
    stamper: &dyn Stamper,
) -> anyhow::Result<Chosen> {
    let header = || {
        let cwd = cwd.display().to_string();
        SessionHeader::new(stamper.session_id(), stamper.now(), cwd)
    };
    if args.no_session {
        let store = SessionStore::in_memory(header(), estimator);
        return Ok(Chosen { store, warnings: Vec::new() });
    }
    let existing = if args.tour {
        Some(copy_tour(dir, header())?)
    } else if let Some(wanted) = &args.session {
        Some(find_session(wanted, dir)?)
    } else if args.continue_last {
        newest_session(dir)?
    } else {
        None
    };
    match existing {
        Some(path) => open(&path, estimator),
        None => {
            let store = SessionStore::create(dir, header(), estimator);
            Ok(Chosen { store, warnings: Vec::new() })
        }
    }
}

/// Opens for writing; a session that another process has open is only looked at (J8).
fn open(path: &Path, estimator: Estimator) -> anyhow::Result<Chosen> {
    match SessionStore::open(path, Access::Write, estimator) {
        Ok(Opened { store, warnings }) => Ok(Chosen { store, warnings }),
        Err(error @ StoreError::Lock { .. }) => {
            let Opened { store, mut warnings } =
                SessionStore::open(path, Access::ReadOnly, estimator)?;
            warnings.push(format!(
                "{error}; it is open read-only here, /fork goes on in a file of its own"
            ));
            Ok(Chosen { store, warnings })
        }
        Err(error) => Err(error.into()),
    }
}

/// A file, an id, or the beginning of one.
fn find_session(wanted: &str, dir: &Path) -> anyhow::Result<PathBuf> {
    let path = Path::new(wanted);
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    if wanted.contains(std::path::MAIN_SEPARATOR) || path.extension().is_some() {
        bail!("there is no session file {wanted}");
    }
    let mut found: Vec<_> = session_files(dir)?
        .into_iter()
        .filter(|path| id_of(path).is_some_and(|id| id.starts_with(wanted)))
        .collect();
    match (found.pop(), found.len()) {
        (Some(path), 0) => Ok(path),
        (Some(_), more) => bail!("{} sessions begin with {wanted}; give more of the id", more + 1),
        (None, _) => bail!("no session of this folder has an id that begins with {wanted}"),
    }
}

/// The newest session of a folder, by its name, which begins with the time.
fn newest_session(dir: &Path) -> anyhow::Result<Option<PathBuf>> {
    Ok(session_files(dir)?.into_iter().max_by(|one, other| one.file_name().cmp(&other.file_name())))
}

fn session_files(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context(format!("cannot read {}", dir.display())),
    };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_session = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".jsonl") && !name.ends_with(".originals.jsonl")
    };
    Ok(paths.filter(is_session).collect())
}

/// The id in a session file's name.
fn id_of(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    stem.split_once('_').map(|(_, id)| id.to_owned())
}

/// Writes a copy of the tour, with an id and a folder of its own.
fn copy_tour(dir: &Path, header: SessionHeader) -> anyhow::Result<PathBuf> {
    let path = dir.join(crate::session::store::place::file_name(&header));
    create_private_dir(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let entries = TOUR.split_once('\n').map_or("", |(_, entries)| entries);
    let mut file = create_private_file(&path)
        .with_context(|| format!("cannot write the tour to {}", path.display()))?;
    std::io::Write::write_all(&mut file, format!("{}{entries}", header.to_line()).as_bytes())?;
    Ok(path)
}
