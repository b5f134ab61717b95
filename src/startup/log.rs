//! The debug log: a file, never the terminal (S11).

use std::path::Path;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

/// Starts the log if it was asked for: `AGENT_DEBUG_LOGGING=true` or a filter in `REGROW_LOG`. The
/// guard writes what is left when it is dropped.
#[must_use]
pub(super) fn start_log(state: &Path, debug: bool) -> Option<WorkerGuard> {
    let filter = std::env::var("REGROW_LOG").ok();
    if !debug && filter.is_none() {
        return None;
    }
    let folder = state.join("logs");
    // What a session says stands in it.
    crate::session::store::place::create_private_dir(&folder).ok()?;
    let (writer, guard) =
        tracing_appender::non_blocking(tracing_appender::rolling::daily(folder, "regrow.log"));
    let filter = EnvFilter::new(filter.unwrap_or_else(|| "regrow=debug".to_owned()));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(writer)
        .try_init()
        .ok()?;
    Some(guard)
}
