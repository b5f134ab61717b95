//! Anthropic's Messages over HTTP, and whoever else speaks it (P1). What is said is in [`wire`].

use std::sync::Arc;

use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::http::Http;
use super::{Provider, ProviderError, Request, StreamEvent};

pub mod wire;

/// The version of the protocol.
const VERSION: &str = "2023-06-01";

/// One server.
#[derive(Debug)]
pub struct Anthropic {
    http: Arc<Http>,
    endpoint: Endpoint,
}

impl Anthropic {
    /// Connects to nothing yet.
    #[must_use]
    pub fn new(http: Arc<Http>, endpoint: Endpoint) -> Self {
        Self { http, endpoint }
    }
}

impl Provider for Anthropic {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let wire::Body { body, betas } = wire::body(&request);
        let mut headers = vec![("anthropic-version".to_owned(), VERSION.to_owned())];
        if let Some(key) = &self.endpoint.key {
            headers.push(("x-api-key".to_owned(), key.expose().to_owned()));
        }
        if !betas.is_empty() {
            headers.push(("anthropic-beta".to_owned(), betas.join(",")));
        }
        let url = self.endpoint.versioned_url(&request.model, "/v1", "/messages");
        let call = self.endpoint.call(url, headers, body);
        self.http.stream(call, wire::MessagesDecoder::new(&self.endpoint.provider), cancel)
    }
}
