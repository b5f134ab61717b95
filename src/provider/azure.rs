//! Where Azure keeps OpenAI's protocols (P1). Pure.

/// The address of `path` (such as `/responses`) for a model, which Azure calls a deployment.
///
/// A dated `api_version` means the older layout, where Chat Completions have the deployment in
/// their path; without one, or with `preview` and the like, it is the one of OpenAI itself.
#[must_use]
pub fn url(base_url: &str, api_version: Option<&str>, deployment: &str, path: &str) -> String {
    let base = base_url.trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let base = base.strip_suffix("/openai").unwrap_or(base);
    match api_version {
        None => format!("{base}/openai/v1{path}"),
        Some(version) if !version.starts_with("20") => {
            format!("{base}/openai/v1{path}?api-version={version}")
        }
        Some(version) if path == "/chat/completions" => {
            format!("{base}/openai/deployments/{deployment}{path}?api-version={version}")
        }
        Some(version) => format!("{base}/openai{path}?api-version={version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_azure_has_an_old_and_a_new_layout() {
        for base in ["https://x.openai.azure.com/", "https://x.openai.azure.com/openai/v1"] {
            let url = |version, path| url(base, version, "gpt", path);
            let host = "https://x.openai.azure.com/openai";
            assert_eq!(url(None, "/responses"), format!("{host}/v1/responses"));
            assert_eq!(
                url(Some("preview"), "/responses"),
                format!("{host}/v1/responses?api-version=preview")
            );
            assert_eq!(
                url(Some("2024-10-21"), "/chat/completions"),
                format!("{host}/deployments/gpt/chat/completions?api-version=2024-10-21")
            );
            assert_eq!(
                url(Some("2025-04-01-preview"), "/responses"),
                format!("{host}/responses?api-version=2025-04-01-preview")
            );
        }
    }
}
