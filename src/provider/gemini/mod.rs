//! Google's Gemini over HTTP (P1). What is said is in [`wire`].

use std::sync::Arc;

use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::http::Http;
use super::{Provider, ProviderError, Request, StreamEvent};

pub mod wire;

/// One server.
#[derive(Debug)]
pub struct Gemini {
    http: Arc<Http>,
    endpoint: Endpoint,
}

impl Gemini {
    /// Connects to nothing yet.
    #[must_use]
    pub fn new(http: Arc<Http>, endpoint: Endpoint) -> Self {
        Self { http, endpoint }
    }
}

impl Provider for Gemini {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        // The key goes into a header: addresses end up in logs and error messages.
        let key = self.endpoint.key.iter();
        let headers = key.map(|key| ("x-goog-api-key".to_owned(), key.expose().to_owned()));
        let path = format!("/models/{}:streamGenerateContent?alt=sse", request.model.id);
        let url = self.endpoint.versioned_url(&request.model, "/v1beta", &path);
        let call = self.endpoint.call(url, headers.collect(), wire::body(&request));
        self.http.stream(call, wire::GeminiDecoder::new(&self.endpoint.provider), cancel)
    }
}
