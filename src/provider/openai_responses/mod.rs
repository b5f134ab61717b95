//! OpenAI's Responses over HTTP (P1), Azure's included. What is said is in [`wire`].
//!
//! Nothing is stored on the server: what the model thought comes back encrypted and is sent again.

use std::sync::Arc;

use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::http::Http;
use super::{Provider, ProviderError, Request, StreamEvent};

pub mod wire;

/// One server.
#[derive(Debug)]
pub struct OpenAiResponses {
    http: Arc<Http>,
    endpoint: Endpoint,
}

impl OpenAiResponses {
    /// Connects to nothing yet.
    #[must_use]
    pub fn new(http: Arc<Http>, endpoint: Endpoint) -> Self {
        Self { http, endpoint }
    }
}

impl Provider for OpenAiResponses {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let url = self.endpoint.openai_url(&request.model, "/responses");
        let call = self.endpoint.call(url, self.endpoint.openai_key(), wire::body(&request));
        let decoder = wire::ResponsesDecoder::new(&self.endpoint.provider, wire::limit(&request));
        self.http.stream(call, decoder, cancel)
    }
}
