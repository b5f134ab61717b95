//! A model server on a real socket that does what the test says and accepts nothing malformed.
//!
//! The test pushes [`Reply`]s; each request, in whatever protocol its path names, gets the next one,
//! rendered in that protocol. Before that the request is checked as strictly as the real servers do
//! (I2): what they would reject is rejected here, in their words.

mod chat;
mod gemini;
mod messages;
mod reply;
mod responses;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use reply::{Gate, Reply};

/// What this server signs reasoning with; no other signature is good here.
pub const SIGNATURE: &str = "signed-by-this-server";

/// What a server insists on.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Tokens that fit; four characters of the request count as one.
    pub window: Option<u64>,
    /// Neighbouring user messages are rejected (strict chat templates).
    pub alternate: bool,
    /// The key that requests must carry.
    pub key: Option<String>,
    /// In whose words an overflow is reported.
    pub overflow: Overflow,
    /// Requests are answered and forgotten: [`ModelServer::requests`] stays empty.
    pub forgetful: bool,
}

/// Whose overflow error is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overflow {
    #[default]
    OpenAi,
    LlamaCpp,
    Anthropic,
    Gemini,
    /// 400 without a body (Cerebras).
    Bare,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
    /// Tokens, as this server counts them: a quarter of the body's characters.
    pub size: u64,
}

/// A running server; it stops when dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stop: DropGuard,
}

type Answerer = Box<dyn Fn(&Recorded) -> Reply + Send + Sync>;

struct Shared {
    rules: Mutex<Rules>,
    replies: Mutex<VecDeque<Reply>>,
    otherwise: Mutex<Option<Answerer>>,
    gets: Mutex<Vec<(String, Reply)>>,
    requests: Mutex<Vec<Recorded>>,
    rejections: Mutex<Vec<String>>,
    asked: Notify,
}

impl ModelServer {
    /// Listens on a free port.
    pub async fn start(rules: Rules) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            rules: Mutex::new(rules),
            replies: Mutex::default(),
            otherwise: Mutex::default(),
            gets: Mutex::default(),
            requests: Mutex::default(),
            rejections: Mutex::default(),
            asked: Notify::new(),
        });
        let app = Router::new()
            .fallback(answer)
            .layer(axum::extract::DefaultBodyLimit::max(256 * 1024 * 1024))
            .with_state(shared.clone());
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        tokio::spawn(async move {
            tokio::select! {
                () = stopped => {}
                served = axum::serve(listener, app).into_future() => served.unwrap(),
            }
        });
        Self { address, shared, _stop: stop.drop_guard() }
    }

    /// Without scheme-specific path: `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL of OpenAI's protocols.
    pub fn v1(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// The answer to the next request that has none yet.
    pub fn push(&self, reply: Reply) {
        self.shared.replies.lock().unwrap().push_back(reply);
    }

    /// The answer to requests for which nothing was pushed.
    pub fn otherwise(&self, answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) {
        *self.shared.otherwise.lock().unwrap() = Some(Box::new(answer));
    }

    /// What a path answers to GET (and to POSTs that are no model's), as JSON.
    pub fn serve(&self, path: &str, body: Value) {
        let reply =
            Reply::status(200, &body.to_string()).header("content-type", "application/json");
        self.serve_as(path, reply);
    }

    /// As [`ModelServer::serve`], with an answer of any kind.
    pub fn serve_as(&self, path: &str, reply: Reply) {
        self.shared.gets.lock().unwrap().push((path.to_owned(), reply));
    }

    /// Changes what the server insists on.
    pub fn set_rules(&self, rules: Rules) {
        *self.shared.rules.lock().unwrap() = rules;
    }

    /// The model requests so far, rejected ones included.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// The body of the newest request.
    pub fn last(&self) -> Value {
        self.requests().pop().expect("a request").body
    }

    /// Why requests were rejected; a test of well-formedness ends with this being empty.
    pub fn rejections(&self) -> Vec<String> {
        self.shared.rejections.lock().unwrap().clone()
    }

    /// Waits until at least `count` model requests have come.
    pub async fn asked(&self, count: usize) {
        loop {
            let next = self.shared.asked.notified();
            if self.shared.requests.lock().unwrap().len() >= count {
                return;
            }
            next.await;
        }
    }
}

/// The bytes of an answer in a protocol, by the name that settings have for it.
pub fn rendered(api: &str, reply: &Reply) -> Vec<u8> {
    let protocol = match api {
        "openai-completions" => Protocol::Chat,
        "anthropic-messages" => Protocol::Messages,
        "openai-responses" => Protocol::Responses,
        "google-generative-ai" => Protocol::Gemini,
        other => panic!("no protocol {other}"),
    };
    protocol.render(reply).into_bytes()
}

/// The protocols, by what their paths end in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Chat,
    Messages,
    Responses,
    Gemini,
}

impl Protocol {
    fn of(path: &str) -> Option<Self> {
        let ends = [
            ("/chat/completions", Self::Chat),
            ("/v1/messages", Self::Messages),
            ("/responses", Self::Responses),
            (":streamGenerateContent", Self::Gemini),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, protocol)| protocol)
    }

    fn check(self, request: &Recorded, rules: &Rules) -> Result<(), String> {
        match self {
            Self::Chat => chat::check(request, rules),
            Self::Messages => messages::check(request),
            Self::Responses => responses::check(request),
            Self::Gemini => gemini::check(request),
        }
    }

    fn render(self, reply: &Reply) -> reply::Pieces {
        match self {
            Self::Chat => chat::render(reply),
            Self::Messages => messages::render(reply),
            Self::Responses => responses::render(reply),
            Self::Gemini => gemini::render(reply),
        }
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    let Some(protocol) = Protocol::of(&path).filter(|_| method == Method::POST) else {
        let gets = shared.gets.lock().unwrap();
        let found = gets.iter().rev().find(|(known, _)| *known == path).cloned();
        drop(gets);
        return match found {
            Some((_, reply)) => reply.respond(chat::render),
            None => json(404, &serde_json::json!({"error": {"message": "no such path"}})),
        };
    };
    let size = String::from_utf8_lossy(&body).chars().count() as u64 / 4;
    let body: Value = match serde_json::from_slice(&body) {
        Ok(body) => body,
        Err(error) => return reject(&shared, &format!("the body is no JSON: {error}")),
    };
    let recorded = Recorded { path, headers, body, size };
    let rules = shared.rules.lock().unwrap().clone();
    if !rules.forgetful {
        shared.requests.lock().unwrap().push(recorded.clone());
        shared.asked.notify_waiters();
    }
    if let Some(key) = &rules.key
        && !carries_key(&recorded.headers, key)
    {
        let names = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
        let echoed = names.iter().find_map(|name| recorded.headers.get(*name));
        let message = format!("Incorrect API key provided: {echoed:?}");
        return json(401, &serde_json::json!({"error": {"message": message}}));
    }
    if let Err(why) = protocol.check(&recorded, &rules) {
        return reject(&shared, &why);
    }
    if let Some(window) = rules.window.filter(|window| size > *window) {
        return overflow(rules.overflow, size, window);
    }
    let next = shared.replies.lock().unwrap().pop_front();
    let reply = next.unwrap_or_else(|| match &*shared.otherwise.lock().unwrap() {
        Some(answer) => answer(&recorded),
        None => Reply::status(500, "the test has no reply for this request"),
    });
    reply.respond(|reply| protocol.render(reply))
}

fn carries_key(headers: &HeaderMap, key: &str) -> bool {
    let is = |name: &str, expected: &str| {
        headers.get(name).is_some_and(|value| value.as_bytes() == expected.as_bytes())
    };
    is("authorization", &format!("Bearer {key}"))
        || is("x-api-key", key)
        || is("api-key", key)
        || is("x-goog-api-key", key)
}

fn reject(shared: &Shared, why: &str) -> Response {
    shared.rejections.lock().unwrap().push(why.to_owned());
    let error = serde_json::json!({"message": why, "type": "invalid_request_error"});
    json(400, &serde_json::json!({"type": "error", "error": error}))
}

/// An overflow in the words of the server that is played.
fn overflow(whose: Overflow, size: u64, window: u64) -> Response {
    use serde_json::json as body;
    let (status, body) = match whose {
        Overflow::OpenAi => (
            400,
            body!({"error": {"code": "context_length_exceeded", "type": "invalid_request_error",
                "message": format!("This model's maximum context length is {window} tokens. However, your messages resulted in {size} tokens.")}}),
        ),
        Overflow::LlamaCpp => (
            400,
            body!({"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": size, "n_ctx": window,
                "message": "the request exceeds the available context size, try increasing it"}}),
        ),
        Overflow::Anthropic => (
            400,
            body!({"type": "error", "error": {"type": "invalid_request_error",
                "message": format!("prompt is too long: {size} tokens > {window} maximum")}}),
        ),
        Overflow::Gemini => (
            400,
            body!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
                "message": format!("The input token count ({size}) exceeds the maximum number of tokens allowed ({window}).")}}),
        ),
        Overflow::Bare => return Response::builder().status(400).body(Body::empty()).unwrap(),
    };
    json(status, &body)
}

fn json(status: u16, body: &Value) -> Response {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}
