//! Which session a run works on (SPEC section 12, J1, J8).

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::cli::TalkArgs;
use crate::compaction::tokens::Estimator;
use crate::ids::Stamper;
use crate::session::entry::SessionHeader;
use crate::session::listing;
use crate::session::store::place::create_private_dir;
use crate::session::store::{Access, ForkScope, Opened, SessionStore, StoreError};

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
    all: &Path,
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
        Some(listing::find(wanted, &[dir, all])?)
    } else if let Some(wanted) = &args.fork {
        let original = listing::find(wanted, &[dir, all])?;
        let Opened { store, .. } = SessionStore::open(&original, Access::ReadOnly, estimator)?;
        let leaf = store.reader().tree().leaf();
        Some(store.fork(leaf, ForkScope::Path, dir, stamper)?)
    } else if args.continue_last {
        listing::list(dir).sessions.into_iter().next().map(|session| session.path)
    } else {
        None
    };
    match existing {
        Some(path) => {
            let mut chosen = open(&path, estimator)?;
            settle_folder(&mut chosen, args.cwd.is_some(), cwd);
            Ok(chosen)
        }
        None => {
            let store = SessionStore::create(dir, header(), estimator);
            Ok(Chosen { store, warnings: Vec::new() })
        }
    }
}

/// A resumed session works in its own folder, unless that is gone or another one is named (F55).
fn settle_folder(chosen: &mut Chosen, is_named: bool, cwd: &Path) {
    let own = PathBuf::from(&chosen.store.header().cwd);
    if is_named {
        chosen.store.work_in(cwd);
    } else if !own.is_dir() {
        chosen.store.work_in(cwd);
        chosen.warnings.push(format!(
            "the folder of this session, {}, is gone; it goes on in {}",
            own.display(),
            cwd.display()
        ));
    }
}

/// Opens for writing; a session that another process has open is only looked at (J8).
fn open(path: &Path, estimator: Estimator) -> anyhow::Result<Chosen> {
    let mut progress = OpeningProgress::default();
    let opened = SessionStore::open_watched(path, Access::Write, estimator, &mut |done, total| {
        progress.show(done, total);
    });
    progress.clear();
    match opened {
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

/// How far the opening of a large session is, on stderr while nothing else is drawn (J11).
struct OpeningProgress {
    began: Instant,
    is_shown: bool,
}

impl Default for OpeningProgress {
    fn default() -> Self {
        Self { began: Instant::now(), is_shown: false }
    }
}

impl OpeningProgress {
    /// What takes longer says so.
    const PATIENCE: Duration = Duration::from_millis(300);

    fn show(&mut self, done: u64, total: u64) {
        let mut stderr = std::io::stderr();
        if self.began.elapsed() < Self::PATIENCE || !stderr.is_terminal() {
            return;
        }
        self.is_shown = true;
        let percent = (done * 100).checked_div(total).unwrap_or_default();
        // A line that cannot be shown is no reason not to open.
        write!(stderr, "\ropening the session · {percent} %").and_then(|()| stderr.flush()).ok();
    }

    fn clear(&self) {
        if self.is_shown {
            write!(std::io::stderr(), "\r\x1b[K").ok();
        }
    }
}

/// Writes a copy of the tour, with an id and a folder of its own.
pub(super) fn copy_tour(dir: &Path, header: SessionHeader) -> anyhow::Result<PathBuf> {
    let path = dir.join(crate::session::store::place::file_name(&header));
    create_private_dir(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let entries = TOUR.split_once('\n').map_or("", |(_, entries)| entries);
    crate::whole_file::write(&path, format!("{}{entries}", header.to_line()).as_bytes())
        .with_context(|| format!("cannot write the tour to {}", path.display()))?;
    Ok(path)
}
