//! Running work on files beside the async tasks, so that a call settles the moment it is cancelled.

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::ToolError;

/// Runs work that only looks. When `cancel` fires the call is over at once; the work sees the token
/// too and ends by itself.
pub(crate) async fn look<T: Send + 'static>(
    cancel: CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let token = cancel.clone();
    let running = spawn_blocking(move || work(&token));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(stopped()),
        done = running => done.unwrap_or_else(|error| Err(broken(&error))),
    }
}

/// Runs work that changes something: not begun when `cancel` has fired, but never left in the middle.
pub(crate) async fn change<T: Send + 'static>(
    cancel: CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    if cancel.is_cancelled() {
        return Err(stopped());
    }
    spawn_blocking(move || work(&cancel)).await.unwrap_or_else(|error| Err(broken(&error)))
}

/// What a call says that was stopped by the person.
pub(crate) fn stopped() -> ToolError {
    ToolError {
        message: "Stopped by the user".to_owned(),
        details: Some(serde_json::json!({ "summary": "stopped", "cancelled": true })),
    }
}

fn broken(error: &tokio::task::JoinError) -> ToolError {
    ToolError::new(format!("The tool broke down ({error}); this is a bug in regrow"))
}
