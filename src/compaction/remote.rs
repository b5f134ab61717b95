//! A server of the person's own that makes the summaries of a compaction (SPEC C21).

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::provider::http::is_local;
use crate::settings::Timeouts;

/// Most bytes of an answer.
const ANSWER_LIMIT: usize = 4 * 1024 * 1024;

/// The server. It is asked with a POST of `{systemPrompt, prompt}` and answers `{summary}`.
pub struct Remote {
    endpoint: String,
    timeouts: Timeouts,
}

#[derive(Deserialize)]
struct Answer {
    summary: String,
}

impl Remote {
    /// A server at `endpoint`, an `http` or `https` address.
    #[must_use]
    pub fn new(endpoint: &str, timeouts: Timeouts) -> Self {
        Self { endpoint: endpoint.to_owned(), timeouts }
    }

    /// Asks for one summary.
    ///
    /// # Errors
    /// A sentence that names the endpoint and says what came instead of a summary.
    pub async fn summarize(&self, system: &str, prompt: &str) -> Result<String, String> {
        let answer = self.post(system, prompt).await;
        answer.map_err(|problem| format!("the summary endpoint {} {problem}", self.shown()))
    }

    async fn post(&self, system: &str, prompt: &str) -> Result<String, String> {
        // An error means that the process has one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            // A redirect would turn POST into GET.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(self.timeouts.connect))
            .build()
            .map_err(|error| format!("cannot be asked: {error}"))?;
        let request =
            client.post(&self.endpoint).json(&json!({ "systemPrompt": system, "prompt": prompt }));
        // It answers in one go, so the first byte comes when the summary is finished.
        let is_local = reqwest::Url::parse(&self.endpoint).is_ok_and(|url| is_local(&url));
        let timeouts = self.timeouts;
        let first_byte = if is_local { timeouts.first_byte_local } else { timeouts.first_byte };
        let first_byte = Duration::from_secs(first_byte);
        let mut response = tokio::time::timeout(first_byte, request.send())
            .await
            .map_err(|_| format!("did not answer within {} s", first_byte.as_secs()))?
            .map_err(|error| format!("cannot be reached: {}", root_cause(&error)))?;
        let status = response.status();
        let body = self.body(&mut response).await?;
        let text = String::from_utf8_lossy(&body);
        if !status.is_success() {
            return Err(format!("answered {status}: {}", shortened(&text)));
        }
        let answer: Answer = serde_json::from_slice(&body).map_err(|error| {
            format!(
                "did not answer with JSON that holds a `summary` text ({error}): {}",
                shortened(&text)
            )
        })?;
        let summary = answer.summary.trim();
        if summary.is_empty() {
            return Err("answered with an empty summary".to_owned());
        }
        Ok(summary.to_owned())
    }

    async fn body(&self, response: &mut reqwest::Response) -> Result<Vec<u8>, String> {
        let idle = Duration::from_secs(self.timeouts.idle);
        let mut body = Vec::new();
        loop {
            let chunk = tokio::time::timeout(idle, response.chunk())
                .await
                .map_err(|_| {
                    format!("stopped in the middle of its answer for {} s", idle.as_secs())
                })?
                .map_err(|error| format!("broke off its answer: {}", root_cause(&error)))?;
            let Some(chunk) = chunk else { return Ok(body) };
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_LIMIT {
                return Err(format!("answered with more than {ANSWER_LIMIT} bytes"));
            }
        }
    }

    /// The address without user, password and query, which may hold secrets (P3).
    fn shown(&self) -> String {
        match reqwest::Url::parse(&self.endpoint) {
            Ok(mut url) => {
                let _ = url.set_username("");
                let _ = url.set_password(None);
                url.set_query(None);
                url.to_string()
            }
            Err(_) => "in compaction.remoteEndpoint".to_owned(),
        }
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return "(empty)".to_owned();
    }
    let start: String = line.chars().take(200).collect();
    if start.len() < line.len() { format!("{start}…") } else { start }
}
