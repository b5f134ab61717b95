//! A summariser whose model and whose summary server answer as the mock of the cases did.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use futures::stream::BoxStream;
use regrow::compaction::prompts::Template;
use regrow::compaction::summarizer::Summarizer;
use regrow::compaction::tokens::Estimator;
use regrow::message::{Message, StopReason};
use regrow::provider::model::Model;
use regrow::provider::{
    BlockStart, ErrorKind, Provider, ProviderError, Providers, Request, StreamEvent,
};
use regrow::settings::{Fallback, Settings};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A request as it arrived, whoever it was sent to.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) remote: bool,
    pub(super) max_tokens: Option<u64>,
    pub(super) prompt: String,
}

impl Sent {
    /// The text between a tag and its end.
    pub(super) fn block(&self, tag: &str) -> Option<&str> {
        let (_, rest) = self.prompt.split_once(&format!("<{tag}>\n"))?;
        rest.split_once(&format!("\n</{tag}>\n\n")).map(|(text, _)| text)
    }

    /// Which of our prompts it ends with, and what follows the prompt.
    pub(super) fn template(&self) -> Option<(Template, &str)> {
        let folding = self.block("previous-summary").is_some();
        Template::ALL.into_iter().find_map(|template| {
            let text = template.text(None, folding);
            self.prompt.split_once(&text).map(|(_, suffix)| (template, suffix))
        })
    }
}

fn reply(prompt: &str) -> &'static str {
    let sent = Sent { remote: false, max_tokens: None, prompt: prompt.to_owned() };
    match sent.template().map(|(template, _)| template) {
        Some(Template::Summary) => "## Goal\nHISTORY SUMMARY BODY",
        Some(Template::UpdateSummary) => "## Goal\nUPDATED SUMMARY BODY",
        Some(Template::TurnPrefix) => "## Original Request\nTURN PREFIX BODY",
        Some(Template::ShortSummary) => "I did SHORT SUMMARY.",
        Some(Template::Branch) => "## Goal\nBRANCH SUMMARY BODY",
        None => "CUSTOM PROMPT BODY",
    }
}

/// The summariser, its settings and what it sent.
pub(super) struct Stage {
    pub(super) sent: Arc<Mutex<Vec<Sent>>>,
    pub(super) model: Arc<Model>,
    pub(super) summarizer: Summarizer,
}

impl Stage {
    pub(super) fn new(mut settings: Settings, window: u64, broken: bool) -> Self {
        settings.compaction.fallback = Fallback::None;
        let sent: Arc<Mutex<Vec<Sent>>> = Arc::default();
        let mock = Mock { sent: sent.clone(), broken };
        let model = json!({
            "provider": "mock", "id": "mock-large", "api": "mock", "contextWindow": window,
            "maxTokens": 32_000
        });
        Self {
            sent,
            model: serde_json::from_value(model).unwrap(),
            summarizer: Summarizer::new(
                Arc::new(mock),
                Arc::new(settings),
                Estimator::CharsPerFour,
            ),
        }
    }
}

struct Mock {
    sent: Arc<Mutex<Vec<Sent>>>,
    broken: bool,
}

impl Providers for Mock {
    fn provider_for(&self, _: &Model) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(Self { sent: self.sent.clone(), broken: self.broken }))
    }

    fn models(&self) -> Vec<Arc<Model>> {
        Vec::new()
    }
}

impl Provider for Mock {
    fn stream(
        &self,
        request: Request,
        _: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let [message] = request.messages.as_slice() else { panic!("more than one message") };
        let Message::User(user) = &**message else { panic!("not from the user") };
        let prompt = user.content.text();
        let text = reply(&prompt).to_owned();
        self.sent.lock().unwrap().push(Sent {
            remote: false,
            max_tokens: Some(request.max_tokens),
            prompt,
        });
        if self.broken {
            let error = ProviderError::new(ErrorKind::BadRequest, "400 mock bad request");
            return futures::stream::iter([Err(error)]).boxed();
        }
        futures::stream::iter([
            Ok(StreamEvent::BlockStart { index: 0, block: BlockStart::Text }),
            Ok(StreamEvent::Delta { index: 0, text }),
            Ok(StreamEvent::Finish { reason: StopReason::Stop }),
        ])
        .boxed()
    }
}

/// Starts the summary server of a variant; the requests go to `sent` with the model's.
pub(super) async fn remote(variant: &str, sent: Arc<Mutex<Vec<Sent>>>) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let variant = variant.to_owned();
    let answer = move |axum::Json(body): axum::Json<Value>| async move {
        let keys: Vec<_> = body.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["systemPrompt", "prompt"]);
        let prompt = body["prompt"].as_str().unwrap().to_owned();
        let text = format!("REMOTE {}", reply(&prompt));
        sent.lock().unwrap().push(Sent { remote: true, max_tokens: None, prompt });
        match variant.as_str() {
            "remoteEndpoint-500" => (axum::http::StatusCode::INTERNAL_SERVER_ERROR, String::new()),
            "remoteEndpoint-missing-summary" => (axum::http::StatusCode::OK, "{}".to_owned()),
            "remoteEndpoint-null-body" => (axum::http::StatusCode::OK, "null".to_owned()),
            _ => (axum::http::StatusCode::OK, json!({ "summary": text }).to_string()),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = axum::Router::new().route("/", axum::routing::post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/")
}
