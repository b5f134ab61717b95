//! One answer of the server, in no protocol yet, and how it is delivered.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::stream::{self, StreamExt};
use tokio_util::sync::{CancellationToken, DropGuard};

/// What one request is answered with.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) steps: Vec<Step>,
    pub(super) usage: Option<Tokens>,
    status: u16,
    headers: Vec<(String, String)>,
    /// In place of rendered steps.
    plain: Option<String>,
    delivery: Delivery,
}

#[derive(Debug, Clone, Default)]
struct Delivery {
    split: Option<usize>,
    pause: Duration,
    line_end: Option<&'static str>,
    reset: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Step {
    Text(String),
    Thinking(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    Error(String),
    Hold(Gate),
    /// Bytes of the protocol, or of none.
    Raw(String),
    /// Why the answer ends, in OpenAI's words; without it, the answer is cut.
    Finish(&'static str),
}

/// Token counts; the cached ones are part of the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

/// A piece of a rendered answer.
#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Hold(Gate),
}

/// An answer as it is rendered.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<Piece>);

impl Pieces {
    /// An event with JSON, named if the JSON says its `type`.
    pub(super) fn event(&mut self, data: &serde_json::Value) {
        if let Some(name) = data["type"].as_str() {
            self.raw(&format!("event: {name}\ndata: {data}\n\n"));
        } else {
            self.raw(&format!("data: {data}\n\n"));
        }
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.0.push(Piece::Bytes(text.to_owned().into_bytes()));
    }

    pub(super) fn hold(&mut self, gate: &Gate) {
        self.0.push(Piece::Hold(gate.clone()));
    }

    /// All bytes, in one piece.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let bytes = self.0.into_iter().filter_map(|piece| match piece {
            Piece::Bytes(bytes) => Some(bytes),
            Piece::Hold(_) => None,
        });
        bytes.flatten().collect()
    }
}

/// A place where the answer waits, and the view from there.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    reached: CancellationToken,
    released: CancellationToken,
    closed: CancellationToken,
}

impl Gate {
    /// Waits until the answer has come this far.
    pub async fn reached(&self) {
        self.reached.cancelled().await;
    }

    /// Lets the answer go on.
    pub fn release(&self) {
        self.released.cancel();
    }

    /// Waits until the client has closed the connection.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            usage: None,
            status: 200,
            headers: Vec::new(),
            plain: None,
            delivery: Delivery::default(),
        }
    }
}

impl Reply {
    /// An answer of one text, ended as it should.
    pub fn says(text: &str) -> Self {
        Self::default().text(text).finish("stop")
    }

    /// An answer that wants one tool run.
    pub fn calls(id: &str, name: &str, arguments: serde_json::Value) -> Self {
        Self::default().call(id, name, &arguments.to_string()).finish("tool_calls")
    }

    /// Whether nothing at all is said.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// An HTTP error with a JSON or plain body.
    pub fn status(status: u16, body: &str) -> Self {
        Self { status, plain: Some(body.to_owned()), ..Self::default() }
    }

    /// A body that no protocol renders.
    pub fn raw(body: &str) -> Self {
        let mut reply = Self::default();
        reply.steps.push(Step::Raw(body.to_owned()));
        reply
    }

    /// Bytes of no protocol after what was said.
    pub fn raw_tail(mut self, bytes: &str) -> Self {
        self.steps.push(Step::Raw(bytes.to_owned()));
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A block of text, sent in several deltas.
    pub fn text(mut self, text: &str) -> Self {
        self.steps.push(Step::Text(text.to_owned()));
        self
    }

    pub fn thinking(mut self, text: &str) -> Self {
        self.steps.push(Step::Thinking(text.to_owned()));
        self
    }

    /// A tool call; `arguments` as the model writes them, valid or not.
    pub fn call(mut self, id: &str, name: &str, arguments: &str) -> Self {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
        self.steps.push(Step::Call { id, name, arguments });
        self
    }

    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(Tokens { input, output, cached: 0 });
        self
    }

    /// Of the input, this much came from the cache.
    pub fn cached(mut self, cached: u64) -> Self {
        if let Some(usage) = &mut self.usage {
            usage.cached = cached;
        }
        self
    }

    /// An error inside the stream.
    pub fn error(mut self, message: &str) -> Self {
        self.steps.push(Step::Error(message.to_owned()));
        self
    }

    /// Waits here until the gate is released or the client goes away.
    pub fn hold(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Hold(gate.clone()));
        self
    }

    /// Ends the answer: `stop`, `length`, `tool_calls`, `content_filter`. Without it the connection
    /// just ends.
    pub fn finish(mut self, reason: &'static str) -> Self {
        self.steps.push(Step::Finish(reason));
        self
    }

    /// After all that, the connection breaks in the middle of the body.
    pub fn reset(mut self) -> Self {
        self.delivery.reset = true;
        self
    }

    /// Delivers the body in pieces of this many bytes.
    pub fn split(mut self, bytes: usize) -> Self {
        self.delivery.split = Some(bytes);
        self
    }

    /// Waits before each piece.
    pub fn drip(mut self, pause: Duration) -> Self {
        self.delivery.pause = pause;
        self
    }

    /// Ends lines so.
    pub fn line_end(mut self, end: &'static str) -> Self {
        self.delivery.line_end = Some(end);
        self
    }

    pub(super) fn respond(self, render: impl Fn(&Self) -> Pieces) -> Response {
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        if let Some(plain) = self.plain {
            return response.body(Body::from(plain)).unwrap();
        }
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            response = response.header("content-type", "text/event-stream");
        }
        let pieces = deliver(render(&self).0, &self.delivery);
        let gates: Vec<DropGuard> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Hold(gate) => Some(gate.closed.clone().drop_guard()),
                Piece::Bytes(_) => None,
            })
            .collect();
        let pause = self.delivery.pause;
        // The guards live as long as the body: hyper drops it when the client is gone.
        let state = (pieces.into_iter(), gates);
        let broken = stream::iter(self.delivery.reset.then_some(())).then(|()| async {
            // What was said has gone out by then.
            tokio::time::sleep(Duration::from_millis(10)).await;
            Err(std::io::ErrorKind::ConnectionReset.into())
        });
        let body = stream::unfold(state, move |(mut pieces, gates)| async move {
            loop {
                match pieces.next()? {
                    Piece::Bytes(bytes) => {
                        if pause.is_zero() {
                            // Lets the piece go out on its own.
                            tokio::task::yield_now().await;
                        } else {
                            tokio::time::sleep(pause).await;
                        }
                        return Some((
                            Ok::<_, std::io::Error>(Bytes::from(bytes)),
                            (pieces, gates),
                        ));
                    }
                    Piece::Hold(gate) => {
                        gate.reached.cancel();
                        gate.released.cancelled().await;
                    }
                }
            }
        });
        response.body(Body::from_stream(body.chain(broken).boxed())).unwrap()
    }
}

fn deliver(pieces: Vec<Piece>, delivery: &Delivery) -> Vec<Piece> {
    let mut delivered = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Hold(gate) => delivered.push(Piece::Hold(gate)),
            Piece::Bytes(bytes) => {
                let bytes = match delivery.line_end {
                    Some(end) => String::from_utf8(bytes).unwrap().replace('\n', end).into_bytes(),
                    None => bytes,
                };
                let size = delivery.split.unwrap_or(bytes.len()).max(1);
                delivered.extend(bytes.chunks(size).map(|piece| Piece::Bytes(piece.to_vec())));
            }
        }
    }
    delivered
}

/// Cuts a text as models do: after each space.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// Cuts JSON in the middle of everything, but not of a character.
pub(super) fn fragments(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(5).map(|piece| piece.iter().collect()).collect()
}
