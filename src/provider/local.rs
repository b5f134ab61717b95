//! Model servers on this machine (P1): are there any, which models have they, how large are their
//! windows. Asks only the loopback's usual ports and where `OLLAMA_HOST` points; nothing is loaded
//! when nobody listens.

use std::collections::HashMap;
use std::time::Duration;

use futures::future::join_all;
use reqwest::Url;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::catalogue::{LOCAL_GUESS, guessed_model, output_guess};
use super::http::Http;
use super::model::Model;

/// How long a server may take to accept a connection and list its models.
const LIST: Duration = Duration::from_millis(150);
/// How long it may take to tell more of a model: it is there, so this is worth a moment.
const DETAILS: Duration = Duration::from_millis(500);
/// Of how many models a server is asked for details.
const MOST_DETAILS: usize = 16;

/// A place where a server may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The provider that usually listens there.
    pub provider: String,
    /// Without the path.
    pub origin: String,
}

/// The usual places.
#[must_use]
pub fn servers(environment: &HashMap<String, String>) -> Vec<LocalServer> {
    let usual = [("llama.cpp", 8080), ("ollama", 11434), ("lm-studio", 1234), ("vllm", 8000)];
    let mut servers: Vec<LocalServer> = usual
        .iter()
        .map(|(provider, port)| LocalServer {
            provider: (*provider).to_owned(),
            origin: format!("http://127.0.0.1:{port}"),
        })
        .collect();
    if let Some(origin) = environment.get("OLLAMA_HOST").and_then(|host| ollama_origin(host)) {
        servers[1].origin = origin;
    }
    servers
}

/// `OLLAMA_HOST` is written for the server too: without scheme or port, or as the address to bind.
#[must_use]
pub fn ollama_origin(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('/');
    if host.is_empty() {
        return None;
    }
    let full = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let url = Url::parse(&full).ok()?;
    let name = match url.host_str()? {
        "0.0.0.0" => "127.0.0.1",
        name => name,
    };
    let port = url.port().unwrap_or(if url.scheme() == "https" { 443 } else { 11434 });
    Some(format!("{}://{name}:{port}", url.scheme()))
}

/// The models of the servers that are there, in the order of `servers`.
pub async fn find(http: &Http, servers: &[LocalServer]) -> Vec<Model> {
    join_all(servers.iter().map(|server| ask(http, server))).await.into_iter().flatten().collect()
}

async fn ask(http: &Http, server: &LocalServer) -> Vec<Model> {
    let listing = async {
        // A bare connection first: where nobody listens no client is made.
        if !listens(&server.origin).await {
            return None;
        }
        get(http, &server.origin, "/v1/models", LIST).await
    };
    let Ok(Some(list)) = timeout(LIST, listing).await else { return Vec::new() };
    let entries = list.get("data").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut models: Vec<Model> = entries.iter().filter_map(|entry| listed(entry, server)).collect();
    match models.first().map(|model| model.provider.clone()).as_deref() {
        Some("llama.cpp") => {
            if let Some(props) = get(http, &server.origin, "/props", DETAILS).await {
                models.iter_mut().for_each(|model| learn_llama(model, &props));
            }
        }
        Some("ollama") => {
            let asked = models.iter_mut().take(MOST_DETAILS).map(|model| async {
                let body = json!({"model": model.id});
                if let Some(shown) = post(http, &server.origin, "/api/show", &body).await {
                    learn_ollama(model, &shown);
                }
            });
            join_all(asked).await;
        }
        Some("lm-studio") => {
            if let Some(list) = get(http, &server.origin, "/api/v0/models", DETAILS).await {
                learn_lm_studio(&mut models, &list);
            }
        }
        _ => {}
    }
    models
}

async fn listens(origin: &str) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    let Some((host, port)) = url.host_str().zip(url.port_or_known_default()) else { return false };
    TcpStream::connect((host, port)).await.is_ok()
}

async fn get(http: &Http, origin: &str, path: &str, limit: Duration) -> Option<Value> {
    let url = Url::parse(&format!("{origin}{path}")).ok()?;
    let request = http.client(&url).ok()?.get(url).timeout(limit);
    request.send().await.ok()?.error_for_status().ok()?.json().await.ok()
}

async fn post(http: &Http, origin: &str, path: &str, body: &Value) -> Option<Value> {
    let url = Url::parse(&format!("{origin}{path}")).ok()?;
    let request = http.client(&url).ok()?.post(url).json(body).timeout(DETAILS);
    request.send().await.ok()?.error_for_status().ok()?.json().await.ok()
}

/// A line of `/v1/models`; `None` for what cannot be talked to.
fn listed(entry: &Value, server: &LocalServer) -> Option<Model> {
    let id = entry.get("id").and_then(Value::as_str)?;
    if id.to_ascii_lowercase().contains("embed") {
        return None;
    }
    // Servers move to other ports, but they sign what they list.
    let provider = match entry.get("owned_by").and_then(Value::as_str) {
        Some("llamacpp") => "llama.cpp",
        Some("vllm") => "vllm",
        Some("library") => "ollama",
        Some("organization_owner") => "lm-studio",
        _ => &server.provider,
    };
    let mut model = guessed_model(provider, id, None, LOCAL_GUESS);
    model.base_url = format!("{}/v1", server.origin);
    if let Some(window) = entry.get("max_model_len").and_then(Value::as_u64) {
        set_window(&mut model, window);
    }
    Some(model)
}

/// A window that the server itself told.
fn set_window(model: &mut Model, window: u64) {
    if window > 0 {
        model.context_window = window;
        model.max_tokens = output_guess(window);
        model.window_is_guess = false;
    }
}

/// llama.cpp's `/props`: the window of one slot, and whether it sees.
fn learn_llama(model: &mut Model, props: &Value) {
    let window = props.pointer("/default_generation_settings/n_ctx").and_then(Value::as_u64);
    set_window(model, window.unwrap_or(0));
    model.images = props.pointer("/modalities/vision") == Some(&json!(true));
}

/// Ollama's `/api/show`. What the model could take is not what the server gives it (F37): only a
/// `num_ctx` of the model's own is a fact.
fn learn_ollama(model: &mut Model, shown: &Value) {
    let can = |what: &str| {
        let list = shown.get("capabilities").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|one| one == what))
    };
    model.images = can("vision");
    model.reasoning = can("thinking");
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let own = parameters.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("num_ctx")).then(|| words.next()?.parse().ok()).flatten()
    });
    if let Some(window) = own {
        return set_window(model, window);
    }
    let info = shown.get("model_info").and_then(Value::as_object);
    let trained = info.and_then(|info| {
        let entry = info.iter().find(|(name, _)| name.ends_with(".context_length"));
        entry.and_then(|(_, window)| window.as_u64())
    });
    if let Some(trained) = trained {
        model.context_window = trained.min(LOCAL_GUESS);
        model.max_tokens = output_guess(model.context_window);
    }
}

/// LM Studio's own list: the window a model is loaded with. Loaded models come first.
fn learn_lm_studio(models: &mut Vec<Model>, list: &Value) {
    let entries = list.get("data").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let of =
        |id: &str| entries.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(id));
    for model in models.iter_mut() {
        let Some(entry) = of(&model.id) else { continue };
        model.images = entry.get("type") == Some(&json!("vlm"));
        let window = entry.get("loaded_context_length").and_then(Value::as_u64);
        set_window(model, window.unwrap_or(0));
    }
    let is_kind = |id: &str, name: &str, value: &str| {
        of(id).and_then(|entry| entry.get(name)) == Some(&json!(value))
    };
    models.retain(|model| !is_kind(&model.id, "type", "embeddings"));
    models.sort_by_key(|model| !is_kind(&model.id, "state", "loaded"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        guessed_model("x", "m", None, LOCAL_GUESS)
    }

    #[test]
    fn p1_what_servers_tell_of_their_models() {
        let server =
            LocalServer { provider: "vllm".into(), origin: "http://127.0.0.1:8000".into() };
        let entry = json!({"id": "qwen", "owned_by": "vllm", "max_model_len": 32_768});
        let vllm = listed(&entry, &server).unwrap();
        assert_eq!((vllm.context_window, vllm.window_is_guess), (32_768, false));
        assert_eq!(vllm.base_url, "http://127.0.0.1:8000/v1");
        let moved = listed(&json!({"id": "q", "owned_by": "llamacpp"}), &server).unwrap();
        assert_eq!((&*moved.provider, moved.window_is_guess), ("llama.cpp", true));
        assert!(listed(&json!({"id": "nomic-embed-text"}), &server).is_none());

        let mut llama = model();
        learn_llama(
            &mut llama,
            &json!({"default_generation_settings": {"n_ctx": 4_096}, "modalities": {"vision": true}}),
        );
        assert_eq!((llama.context_window, llama.images, llama.max_tokens), (4_096, true, 1_024));
    }

    #[test]
    fn f37_ollama_is_believed_only_about_its_own_num_ctx() {
        let info = json!({"qwen3.context_length": 40_960});
        let mut trained = model();
        learn_ollama(
            &mut trained,
            &json!({"model_info": info, "capabilities": ["tools", "vision"]}),
        );
        assert_eq!((trained.context_window, trained.window_is_guess), (LOCAL_GUESS, true));
        assert!(trained.images && !trained.reasoning);
        let mut own = model();
        let parameters = "stop \"x\"\nnum_ctx                        16384";
        learn_ollama(&mut own, &json!({"model_info": info, "parameters": parameters}));
        assert_eq!((own.context_window, own.window_is_guess), (16_384, false));
    }

    #[test]
    fn p1_lm_studio_lists_loaded_models_first() {
        let mut models =
            vec![model(), Model { id: "n".into(), ..model() }, Model { id: "e".into(), ..model() }];
        let list = json!({"data": [{"id": "n", "type": "vlm", "state": "loaded", "loaded_context_length": 9_000},
            {"id": "e", "type": "embeddings"}]});
        learn_lm_studio(&mut models, &list);
        let seen: Vec<_> = models.iter().map(|m| (&*m.id, m.context_window, m.images)).collect();
        assert_eq!(seen, [("n", 9_000, true), ("m", LOCAL_GUESS, false)]);
    }

    #[test]
    fn p1_ollama_host_in_all_its_forms() {
        for (host, origin) in [
            ("127.0.0.1", Some("http://127.0.0.1:11434")),
            ("0.0.0.0:9999", Some("http://127.0.0.1:9999")),
            ("https://box.example/", Some("https://box.example:443")),
            (" ", None),
        ] {
            assert_eq!(ollama_origin(host).as_deref(), origin, "{host}");
        }
        let environment = HashMap::from([("OLLAMA_HOST".to_owned(), "box:1".to_owned())]);
        assert_eq!(servers(&environment)[1].origin, "http://box:1");
    }
}
