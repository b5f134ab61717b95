//! What every wire protocol does with the events of an answer. Pure.

use serde_json::Value;

use super::failure::{self, Failure};
use super::sse::Frame;
use super::{ErrorKind, ProviderError, StreamEvent};

/// Turns one answer's frames into stream events; one decoder per answer.
pub trait Decode: Send + Sync {
    /// Takes one frame and adds what it means to `events`.
    ///
    /// # Errors
    /// An error that the server reported inside the stream (F62), or a frame that cannot be read.
    /// The answer is over then.
    fn frame(
        &mut self,
        frame: &Frame,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Progress, ProviderError>;

    /// The body has ended, or nothing came any more after [`Progress::Settled`].
    ///
    /// # Errors
    /// When the protocol's terminal signal has not been seen: the answer was cut (F60).
    fn end(&mut self, events: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More has to come.
    Open,
    /// The terminal signal has been seen; only figures may follow, so nobody waits long for them.
    Settled,
    /// Nothing follows; [`StreamEvent::Finish`] has been given out.
    Done,
}

/// The JSON of an event.
///
/// # Errors
/// A torn event is a cut answer; plain text is the failure of a server behind a gateway.
pub fn parse(provider: &str, data: &str) -> Result<Value, ProviderError> {
    serde_json::from_str(data).map_err(|error| {
        if data.starts_with('{') {
            let message = format!("{provider} sent an event that cannot be read: {error}");
            return ProviderError::new(ErrorKind::Cut, message);
        }
        reported(provider, data)
    })
}

/// An error that the server reported inside the stream (F62).
#[must_use]
pub fn reported(provider: &str, body: &str) -> ProviderError {
    failure::classify(Failure { provider, body, ..Failure::default() })
}

/// The body ended before the protocol's terminal signal (F60).
#[must_use]
pub fn cut(provider: &str) -> ProviderError {
    let message = format!("the answer of {provider} broke off before its end");
    ProviderError::new(ErrorKind::Cut, message)
}

/// A filter or the model itself declined.
#[must_use]
pub fn refused(provider: &str, what: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Refused, format!("{provider} {what}"))
}
