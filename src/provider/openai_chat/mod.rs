//! Chat Completions over HTTP: any server that speaks OpenAI's older protocol (P1).
//!
//! What is said is in [`wire`], how servers differ in [`quirks`], the connection in
//! [`http`](super::http).

use std::sync::Arc;

use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::http::Http;
use super::{Provider, ProviderError, Request, StreamEvent};
use quirks::Quirks;

pub mod quirks;
pub mod wire;

/// One server.
#[derive(Debug)]
pub struct OpenAiChat {
    http: Arc<Http>,
    endpoint: Endpoint,
}

impl OpenAiChat {
    /// Connects to nothing yet.
    #[must_use]
    pub fn new(http: Arc<Http>, endpoint: Endpoint) -> Self {
        Self { http, endpoint }
    }
}

impl Provider for OpenAiChat {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let quirks = match Quirks::of(&request.model).with(&self.endpoint.quirks) {
            Ok(quirks) => quirks,
            Err(why) => return self.endpoint.misconfigured("quirks", &why),
        };
        let body = wire::body(&request, &quirks);
        let url = self.endpoint.openai_url(&request.model, "/chat/completions");
        let call = self.endpoint.call(url, self.endpoint.openai_key(), body);
        self.http.stream(call, wire::ChatDecoder::new(&self.endpoint.provider), cancel)
    }
}
