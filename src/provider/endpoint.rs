//! One server as configured: where it is, with which key and extras it is asked.

use futures::stream::{self, BoxStream, StreamExt};
use serde_json::{Map, Value};

use super::azure;
use super::http::Call;
use super::model::Model;
use super::secret::{Redactor, Secret};
use super::{ErrorKind, ProviderError, StreamEvent};

/// What the adapters need to know of a server.
#[derive(Debug, Clone, Default)]
pub struct Endpoint {
    /// The provider's name.
    pub provider: String,
    /// Used where the model names no address of its own.
    pub base_url: String,
    /// `None` for servers that want none.
    pub key: Option<Secret>,
    /// Further headers, which win over the protocol's own.
    pub headers: Vec<(String, Secret)>,
    /// Further fields of the body, which win over everything.
    pub extra_body: Map<String, Value>,
    /// Changes to the table of habits (Chat Completions).
    pub quirks: Map<String, Value>,
    /// Whether it is Azure's: other addresses, and the key in a header of its own.
    pub azure: bool,
    /// Azure's `api-version`.
    pub api_version: Option<String>,
}

impl Endpoint {
    /// The address of `path` on the server of `model`.
    #[must_use]
    pub fn url(&self, model: &Model, path: &str) -> String {
        let base = if model.base_url.is_empty() { &self.base_url } else { &model.base_url };
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// The address of `path` below `version`, whether or not the configured address ends in that.
    #[must_use]
    pub fn versioned_url(&self, model: &Model, version: &str, path: &str) -> String {
        let base = self.url(model, "");
        let base = base.strip_suffix(version).unwrap_or(&base);
        format!("{base}{version}{path}")
    }

    /// The address of a path of OpenAI's protocols.
    #[must_use]
    pub fn openai_url(&self, model: &Model, path: &str) -> String {
        if self.azure {
            return azure::url(&self.url(model, ""), self.api_version.as_deref(), &model.id, path);
        }
        self.url(model, path)
    }

    /// The key in the manner of OpenAI, or of Azure.
    #[must_use]
    pub fn openai_key(&self) -> Vec<(String, String)> {
        let header = |key: &Secret| match self.azure {
            true => ("api-key".to_owned(), key.expose().to_owned()),
            false => ("authorization".to_owned(), format!("Bearer {}", key.expose())),
        };
        self.key.iter().map(header).collect()
    }

    /// A POST with this server's extras.
    #[must_use]
    pub fn call(
        &self,
        url: String,
        mut headers: Vec<(String, String)>,
        mut body: Map<String, Value>,
    ) -> Call {
        headers.extend(
            self.headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())),
        );
        body.extend(self.extra_body.clone());
        let secrets = self.key.iter().chain(self.headers.iter().map(|(_, value)| value));
        Call {
            provider: self.provider.clone(),
            url,
            headers,
            body: Value::Object(body).to_string().into_bytes(),
            redactor: Redactor::new(secrets.cloned()),
        }
    }

    /// The answer to a request that the configuration does not allow to make.
    #[must_use]
    pub fn misconfigured(
        &self,
        key: &str,
        why: &str,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let message = format!("models.json: {key} of provider {}: {why}", self.provider);
        let error = ProviderError::new(ErrorKind::BadRequest, message);
        stream::once(async { Err(error) }).boxed()
    }
}
