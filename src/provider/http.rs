//! One answer over HTTP: send, watch the clocks, feed the decoder, tell errors apart (P2, F60, F70,
//! F71). Knows no protocol. Nothing is retried here, and nothing runs once the stream is dropped.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use futures::{FutureExt, TryStreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::decode::{Decode, Progress};
use super::failure::{self, Failure};
use super::secret::Redactor;
use super::sse::{self, Frame};
use super::{ErrorKind, ProviderError, StreamEvent};
use crate::settings::Timeouts;

/// After the terminal signal, figures get this long to arrive (F60: some servers keep the socket).
const GRACE: Duration = Duration::from_secs(2);

/// Most bytes of an error body that are read, and how long that may take.
const ERROR_BODY_LIMIT: usize = 256 * 1024;
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);

/// No answer is this long; whatever sends more is broken.
const ANSWER_LIMIT: usize = 256 * 1024 * 1024;

/// Connections to servers, made when the first request needs them.
pub struct Http {
    timeouts: Timeouts,
    hosted: OnceLock<Result<Client, String>>,
    local: OnceLock<Result<Client, String>>,
}

/// One POST whose answer is streamed. Has no `Debug`: its headers hold keys.
pub struct Call {
    /// The provider's name, for messages.
    pub provider: String,
    /// Where to.
    pub url: String,
    /// Sent as they are, the key's header among them; never shown.
    pub headers: Vec<(String, String)>,
    /// JSON.
    pub body: Vec<u8>,
    /// Knows the keys that may not appear in messages.
    pub redactor: Redactor,
}

impl fmt::Debug for Http {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Http").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

impl Http {
    /// No connection is made and nothing is loaded yet.
    #[must_use]
    pub fn new(timeouts: Timeouts) -> Arc<Self> {
        Arc::new(Self { timeouts, hosted: OnceLock::new(), local: OnceLock::new() })
    }

    /// Sends `call` and streams what `decoder` makes of the answer.
    ///
    /// Dropping the stream or cancelling closes the connection. The stream ends after
    /// [`StreamEvent::Finish`] or one error.
    pub fn stream(
        self: &Arc<Self>,
        call: Call,
        decoder: impl Decode + 'static,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let answer = Answer {
            http: self.clone(),
            provider: call.provider.clone(),
            redactor: call.redactor.clone(),
            decoder: Box::new(decoder),
            cancel,
            events: VecDeque::new(),
            said_something: false,
            settled: false,
            failure: None,
            state: State::Unsent(Box::new(call)),
        };
        stream::unfold(answer, |mut answer| async {
            let item = answer.next().await?;
            Some((item, answer))
        })
        .boxed()
    }

    /// The client for a server: proxies and compression are for hosted ones.
    pub(super) fn client(&self, url: &Url) -> Result<&Client, ProviderError> {
        let local = is_local(url);
        let cell = if local { &self.local } else { &self.hosted };
        cell.get_or_init(|| build_client(self.timeouts.connect, local))
            .as_ref()
            .map_err(|why| ProviderError::new(ErrorKind::BadRequest, why.clone()))
    }

    async fn send(&self, call: Call) -> Result<(Response, Instant), ProviderError> {
        let url = Url::parse(&call.url).map_err(|error| {
            let message =
                format!("the address {:?} of {} is not valid: {error}", call.url, call.provider);
            ProviderError::new(ErrorKind::BadRequest, message)
        })?;
        let first_byte =
            if is_local(&url) { self.timeouts.first_byte_local } else { self.timeouts.first_byte };
        let limit = Duration::from_secs(first_byte);
        let place = url.origin().ascii_serialization();
        let request = self.client(&url)?.post(url).headers(header_map(&call)?).body(call.body);
        let deadline = Instant::now() + limit;
        match timeout_at(deadline, request.send()).await {
            Ok(Ok(response)) => Ok((response, deadline)),
            Ok(Err(error)) => Err(send_error(&call.provider, &place, &error)),
            Err(_) => Err(silence(&call.provider, limit)),
        }
    }
}

/// Whether a server is on this machine or its network: such servers are slow to begin (F71).
#[must_use]
pub fn is_local(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_matches(['[', ']']);
    match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_unspecified(),
        Ok(std::net::IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost") || host.ends_with(".local"),
    }
}

fn build_client(connect: u64, local: bool) -> Result<Client, String> {
    // An error means that the process has one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .connect_timeout(Duration::from_secs(connect))
        .tcp_keepalive(Duration::from_secs(30))
        // A redirect would carry keys to another host, and turn POST into GET.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("regrow/", env!("CARGO_PKG_VERSION")));
    let builder = if local { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| format!("no HTTP client can be made: {}", innermost(&error)))
}

fn header_map(call: &Call) -> Result<HeaderMap, ProviderError> {
    let mut map = HeaderMap::new();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &call.headers {
        let header = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let Some((name, mut value)) = header else {
            let message = format!(
                "the header {name:?} for {} has characters that HTTP does not allow; \
                 check the key or models.json",
                call.provider
            );
            return Err(ProviderError::new(ErrorKind::Auth, message));
        };
        value.set_sensitive(true);
        map.insert(name, value);
    }
    Ok(map)
}

/// The events of an answer as they come in.
type Frames = BoxStream<'static, Result<Frame, sse_stream::Error>>;

/// The stream's state between two events.
struct Answer {
    http: Arc<Http>,
    provider: String,
    redactor: Redactor,
    decoder: Box<dyn Decode>,
    cancel: CancellationToken,
    events: VecDeque<StreamEvent>,
    said_something: bool,
    settled: bool,
    /// Given out after the events that came before it.
    failure: Option<ProviderError>,
    state: State,
}

enum State {
    Unsent(Box<Call>),
    Reading(Frames),
    Over,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                self.said_something |= !matches!(event, StreamEvent::Usage(_));
                return Some(Ok(event));
            }
            if let Some(error) = self.failure.take() {
                return Some(Err(self.finished_error(error)));
            }
            if matches!(self.state, State::Over) {
                return None;
            }
            let cancel = self.cancel.clone();
            let step = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ProviderError::cancelled()),
                step = self.step() => step,
            };
            if let Err(error) = step {
                // Drops the connection.
                self.state = State::Over;
                self.failure = Some(error);
            }
        }
    }

    /// Moves on by one frame.
    async fn step(&mut self) -> Result<(), ProviderError> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Over => Ok(()),
            State::Unsent(call) => {
                let (response, deadline) = self.http.send(*call).await?;
                let idle = Duration::from_secs(self.http.timeouts.idle);
                let frames = open(&self.provider, response, deadline, idle).await?;
                self.state = State::Reading(frames);
                Ok(())
            }
            State::Reading(mut frames) => {
                let frame = if self.settled {
                    timeout(GRACE, frames.next()).await.unwrap_or(None)
                } else {
                    frames.next().await
                };
                match frame {
                    Some(Ok(frame)) => self.take(&frame, frames),
                    // Whatever happens to the connection now, the answer is complete.
                    Some(Err(_)) if self.settled => self.end(),
                    Some(Err(error)) => Err(self.read_error(error)),
                    None => self.end(),
                }
            }
        }
    }

    fn take(&mut self, frame: &Frame, mut frames: Frames) -> Result<(), ProviderError> {
        let mut events = Vec::new();
        let progress = self.decoder.frame(frame, &mut events);
        self.events.extend(events);
        let progress = match progress {
            // Figures that were torn off, or trouble after the fact: the answer itself is complete.
            Err(_) if self.settled => return self.end(),
            progress => progress?,
        };
        match progress {
            Progress::Done => {
                // The end of the body is mostly here already; reading it lets the connection live on.
                let _ = frames.next().now_or_never();
            }
            progress => {
                self.settled = progress == Progress::Settled;
                self.state = State::Reading(frames);
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        let mut events = Vec::new();
        let end = self.decoder.end(&mut events);
        self.events.extend(events);
        end
    }

    fn read_error(&self, error: sse_stream::Error) -> ProviderError {
        let sse_stream::Error::Body(cause) = error else {
            let message = format!("{} sent bytes that are not UTF-8", self.provider);
            return ProviderError::new(ErrorKind::Cut, message);
        };
        match cause.downcast_ref::<ByteError>() {
            Some(ByteError::Silent(limit)) => silence(&self.provider, *limit),
            Some(ByteError::TooLong) => ProviderError::new(
                ErrorKind::BadRequest,
                format!("{} sends an answer without end", self.provider),
            ),
            _ => ProviderError::new(
                ErrorKind::Cut,
                format!("the connection to {} broke off: {cause}", self.provider),
            ),
        }
    }

    /// The error as it leaves: a cut before anything was said is just a lost connection; no keys.
    fn finished_error(&self, mut error: ProviderError) -> ProviderError {
        if error.kind == ErrorKind::Cut && !self.said_something {
            error.kind = ErrorKind::Transient;
        }
        error.message = self.redactor.clean(&error.message);
        error
    }
}

/// Checks the head of the answer and makes frames of its body.
async fn open(
    provider: &str,
    response: Response,
    deadline: Instant,
    idle: Duration,
) -> Result<Frames, ProviderError> {
    let status = response.status();
    if !status.is_success() {
        return Err(status_error(provider, status, response).await);
    }
    let media_type = media_type(response.headers());
    let bytes = watched_bytes(response, deadline, idle);
    match media_type.as_str() {
        "text/html" => {
            let message = format!(
                "{provider} answered with a web page instead of a model's answer; \
                 check the base URL"
            );
            Err(ProviderError::new(ErrorKind::BadRequest, message))
        }
        // A server that does not stream: its one object is the only frame.
        "application/json" => Ok(whole_body(bytes).boxed()),
        _ => Ok(sse::frames(bytes).boxed()),
    }
}

async fn status_error(provider: &str, status: StatusCode, response: Response) -> ProviderError {
    let retry_after = retry_after(response.headers());
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    if let Some(location) = location.filter(|_| status.is_redirection()) {
        let message = format!(
            "{provider} answered {} and points to {location}; set that as the base URL",
            status.as_u16()
        );
        let error = ProviderError::new(ErrorKind::BadRequest, message);
        return ProviderError { status: Some(status.as_u16()), ..error };
    }
    let body = error_body(response).await;
    let status = Some(status.as_u16());
    failure::classify(Failure { provider, status, retry_after, body: &body })
}

/// Why no more bytes came.
#[derive(Debug, thiserror::Error)]
enum ByteError {
    #[error("silent for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("{0}")]
    Lost(String),
    #[error("too long")]
    TooLong,
}

/// The body under two clocks: until the first byte, and between any two bytes (F71).
fn watched_bytes(
    response: Response,
    deadline: Instant,
    idle: Duration,
) -> impl Stream<Item = Result<Bytes, ByteError>> + Send {
    let begun = Instant::now();
    let state = Some((response, deadline, deadline - begun, 0_usize));
    stream::unfold(state, move |state| async move {
        let (mut response, deadline, limit, before) = state?;
        match timeout_at(deadline, response.chunk()).await {
            Err(_) => Some((Err(ByteError::Silent(limit)), None)),
            Ok(Err(error)) => Some((Err(ByteError::Lost(innermost(&error))), None)),
            Ok(Ok(None)) => None,
            Ok(Ok(Some(bytes))) => {
                let total = before + bytes.len();
                if total > ANSWER_LIMIT {
                    return Some((Err(ByteError::TooLong), None));
                }
                Some((Ok(bytes), Some((response, Instant::now() + idle, idle, total))))
            }
        }
    })
}

/// The whole body as one frame.
fn whole_body(
    bytes: impl Stream<Item = Result<Bytes, ByteError>> + Send,
) -> impl Stream<Item = Result<Frame, sse_stream::Error>> + Send {
    stream::once(async {
        let body = bytes
            .try_fold(Vec::new(), |mut body, more| async move {
                body.extend_from_slice(&more);
                Ok(body)
            })
            .await
            .map_err(|error| sse_stream::Error::Body(Box::new(error)))?;
        Ok(Frame { event: None, data: String::from_utf8_lossy(&body).into_owned() })
    })
}

async fn error_body(mut response: Response) -> String {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() > ERROR_BODY_LIMIT {
                break;
            }
        }
    };
    // What has arrived by then has to do.
    let _ = timeout(ERROR_BODY_TIME, reading).await;
    String::from_utf8_lossy(&body).into_owned()
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// `Retry-After` in seconds or as a date, or the finer header that some servers add (F70).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(millis) = text("retry-after-ms").and_then(failure::parse_seconds) {
        return Some(millis / 1_000);
    }
    let value = text("retry-after")?;
    failure::parse_seconds(value).or_else(|| {
        let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
        let wait = date.duration_since(jiff::Timestamp::now());
        Some(Duration::try_from(wait).unwrap_or_default())
    })
}

fn silence(provider: &str, limit: Duration) -> ProviderError {
    let message = format!(
        "{provider} sent nothing for {} s (the timeouts settings change this limit)",
        limit.as_secs()
    );
    ProviderError::new(ErrorKind::Timeout, message)
}

fn send_error(provider: &str, place: &str, error: &reqwest::Error) -> ProviderError {
    let why = innermost(error);
    if error.is_builder() {
        let message = format!("the request to {provider} cannot be made: {why}");
        return ProviderError::new(ErrorKind::BadRequest, message);
    }
    let what = if error.is_timeout() {
        format!("{provider} at {place} does not answer")
    } else if error.is_connect() {
        format!("{provider} cannot be reached at {place}: {why}")
    } else {
        format!("the connection to {provider} at {place} was lost: {why}")
    };
    ProviderError::new(ErrorKind::Transient, what)
}

/// The cause at the bottom: the ones above only say that something failed. Holds no URL.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f71_servers_nearby_are_known() {
        for (url, local) in [
            ("http://127.0.0.1:8080/v1", true),
            ("http://localhost:11434", true),
            ("http://[::1]:8000/", true),
            ("http://192.168.1.7:1234/v1", true),
            ("http://box.local/v1", true),
            ("https://api.openai.com/v1", false),
            ("https://localhost.example.com", false),
        ] {
            assert_eq!(is_local(&Url::parse(url).unwrap()), local, "{url}");
        }
    }

    #[test]
    fn f70_the_header_is_read_in_all_its_forms() {
        let wait = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::try_from(value).unwrap());
            retry_after(&headers)
        };
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(wait("retry-after", "soon"), None);
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(90);
        let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
        let date = printer.timestamp_to_rfc9110_string(&later).unwrap();
        let seconds = wait("retry-after", &date).unwrap().as_secs();
        assert!((85..=90).contains(&seconds), "{seconds}");
    }
}
