//! What is known of providers and their models before anybody is asked: the built-in list and the
//! user's `models.json`, which have the same shape (P1). Pure; read when first needed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::{Model, Price};
use crate::settings::EndpointSettings;

/// The built-in list.
const BUILT_IN: &str = include_str!("../../assets/models.json");

/// The window that is assumed of a hosted model that nobody knows.
pub const HOSTED_GUESS: u64 = 128_000;
/// The window that is assumed of a model on this machine whose server does not tell.
pub const LOCAL_GUESS: u64 = 8_192;
/// Most output that is assumed of a model that nobody knows.
const OUTPUT_GUESS: u64 = 16_384;

/// Providers by name.
#[derive(Debug, Default)]
pub struct Catalogue {
    providers: BTreeMap<String, ProviderFacts>,
}

/// One provider, as a file describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ProviderFacts {
    /// Where the server is. `$NAME` stands for a variable of the environment.
    pub base_url: Option<String>,
    /// Variables that replace `base_url`.
    pub base_url_env: Vec<String>,
    /// A variable that holds the host of the server, in Ollama's manner.
    pub host_env: Option<String>,
    /// The wire protocol of models that name none.
    pub api: Option<String>,
    /// The protocol at another address than `base_url`: proxies speak the common one.
    pub api_elsewhere: Option<String>,
    /// Variables that may hold the key, the first that is set wins.
    pub api_key_env: OneOrMany,
    /// The key itself, or `$NAME`.
    pub api_key: Option<String>,
    /// Whether it needs no key.
    pub local: Option<bool>,
    /// The model to begin with.
    pub default_model: Option<String>,
    /// Further headers; values may be `$NAME`.
    pub headers: BTreeMap<String, String>,
    /// Further fields of every request body.
    pub extra_body: Map<String, Value>,
    /// Changes to the table of habits of Chat Completions servers.
    pub quirks: Map<String, Value>,
    /// Whether it is Azure: other addresses, and the key in a header of its own.
    pub azure: Option<bool>,
    /// Azure's `api-version`, or `$NAME`.
    pub api_version: Option<String>,
    /// The provider whose models this one serves as well.
    pub models_of: Option<String>,
    /// Parsed when asked for: most starts need one provider's.
    models: Option<Box<RawValue>>,
    /// Parsed models that win over `models`.
    #[serde(skip)]
    own: Vec<ModelFacts>,
}

/// A name, or a list of names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "OneOrManyFile")]
pub struct OneOrMany(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrManyFile {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrManyFile> for OneOrMany {
    fn from(file: OneOrManyFile) -> Self {
        match file {
            OneOrManyFile::One(name) => Self(vec![name]),
            OneOrManyFile::Many(names) => Self(names),
        }
    }
}

/// A model, as a file describes it. Other agents' names for the same facts are taken as well.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelFacts {
    id: String,
    api: Option<String>,
    base_url: Option<String>,
    context_window: Option<u64>,
    max_tokens: Option<u64>,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    images: bool,
    /// Kinds of input, in place of `images`.
    #[serde(default)]
    input: Vec<String>,
    #[serde(default, alias = "cost")]
    price: Price,
}

#[derive(Deserialize)]
struct CatalogueFile {
    #[serde(default)]
    providers: BTreeMap<String, ProviderFacts>,
}

impl Catalogue {
    /// The built-in list alone.
    ///
    /// # Errors
    /// When the list that was built in is damaged, which tests rule out.
    pub fn built_in() -> Result<Self, String> {
        let file: CatalogueFile =
            serde_json::from_str(BUILT_IN).map_err(|error| format!("built-in models: {error}"))?;
        Ok(Self { providers: file.providers })
    }

    /// Adds a user's list (JSON, comments already removed): what it says wins.
    ///
    /// # Errors
    /// A sentence that names the place of the mistake.
    pub fn add(&mut self, json: &str) -> Result<(), String> {
        let file: CatalogueFile = serde_json::from_str(json).map_err(|error| error.to_string())?;
        for (name, facts) in file.providers {
            let name = canonical(&name);
            let own = facts
                .parse_models()
                .map_err(|error| format!("models of provider {name}: {error}"))?;
            let known = self.providers.entry(name).or_default();
            known.overlay(facts);
            known.own.extend(own);
        }
        Ok(())
    }

    /// Takes a server of the settings: a provider of its own, or another address, key or protocol for
    /// one that is known. What it says wins.
    pub fn add_endpoint(&mut self, endpoint: &EndpointSettings) {
        let text = |text: &str| endpoint.azure.then(|| text.to_owned());
        let api = endpoint.api.clone();
        let facts = ProviderFacts {
            base_url: endpoint.base_url.clone(),
            api: api.or_else(|| text("openai-responses")),
            api_key_env: OneOrMany(endpoint.api_key_env.iter().cloned().collect()),
            azure: endpoint.azure.then_some(true),
            api_version: text("$AZURE_OPENAI_API_VERSION"),
            models_of: text("openai"),
            ..ProviderFacts::default()
        };
        self.providers.entry(canonical(&endpoint.name)).or_default().overlay(facts);
    }

    /// One provider, by its name in any case or one of its other names.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&ProviderFacts> {
        self.providers.get(&canonical(name))
    }

    /// The names of all providers, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// All models of a provider, `base_url` left empty unless the model has one of its own.
    #[must_use]
    pub fn models(&self, provider: &str) -> Vec<Model> {
        let provider = canonical(provider);
        let Some(facts) = self.providers.get(&provider) else { return Vec::new() };
        let borrowed = facts.models_of.as_ref().and_then(|other| self.providers.get(other));
        let mut models: Vec<ModelFacts> = Vec::new();
        for source in [borrowed, Some(facts)].into_iter().flatten() {
            // The built-in list is tested, and a user's was checked when it was added.
            let listed = source.parse_models().unwrap_or_default();
            for model in listed.into_iter().chain(source.own.iter().cloned()) {
                match models.iter_mut().find(|known| known.id == model.id) {
                    Some(known) => *known = model,
                    None => models.push(model),
                }
            }
        }
        let api = |model: &ModelFacts| {
            // What is borrowed is spoken to in the borrower's way.
            let own = model.api.clone().filter(|_| borrowed.is_none());
            own.or_else(|| facts.api.clone()).unwrap_or_else(|| "openai-completions".into())
        };
        models.into_iter().map(|model| model.build(&provider, api(&model))).collect()
    }

    /// A model that no list knows, with cautious guesses.
    #[must_use]
    pub fn unknown_model(&self, provider: &str, id: &str) -> Model {
        let provider = canonical(provider);
        let facts = self.providers.get(&provider);
        let local = facts.is_some_and(|facts| facts.local == Some(true));
        let api = facts.and_then(|facts| facts.api.clone());
        guessed_model(&provider, id, api, if local { LOCAL_GUESS } else { HOSTED_GUESS })
    }
}

/// A model of which nothing is known but its name.
#[must_use]
pub fn guessed_model(provider: &str, id: &str, api: Option<String>, window: u64) -> Model {
    Model {
        provider: provider.to_owned(),
        id: id.to_owned(),
        api: api.unwrap_or_else(|| "openai-completions".into()),
        base_url: String::new(),
        context_window: window,
        max_tokens: output_guess(window),
        reasoning: false,
        images: false,
        price: Price::default(),
        window_is_guess: true,
    }
}

/// Most output that is asked of a model whose limit is not known.
#[must_use]
pub fn output_guess(window: u64) -> u64 {
    (window / 4).clamp(1, OUTPUT_GUESS)
}

impl ModelFacts {
    fn build(&self, provider: &str, api: String) -> Model {
        let window = self.context_window.unwrap_or(HOSTED_GUESS);
        Model {
            provider: provider.to_owned(),
            id: self.id.clone(),
            api: canonical_api(&api),
            base_url: self.base_url.clone().unwrap_or_default(),
            context_window: window,
            max_tokens: self.max_tokens.unwrap_or_else(|| output_guess(window)),
            reasoning: self.reasoning,
            images: self.images || self.input.iter().any(|kind| kind == "image"),
            price: self.price,
            window_is_guess: self.context_window.is_none(),
        }
    }
}

impl ProviderFacts {
    /// Whether it cannot be asked without a key: servers on this machine want none, nor do those of
    /// the user for which none is configured.
    #[must_use]
    pub fn needs_key(&self) -> bool {
        let keyed = self.api_key.is_some() || !self.api_key_env.0.is_empty();
        keyed && self.local != Some(true)
    }

    fn parse_models(&self) -> Result<Vec<ModelFacts>, String> {
        self.models.as_ref().map_or(Ok(Vec::new()), |models| {
            serde_json::from_str(models.get()).map_err(|error| error.to_string())
        })
    }

    /// Takes what `other` says over what this says, its models left aside.
    fn overlay(&mut self, other: Self) {
        fn replace<T>(mine: &mut Option<T>, other: Option<T>) {
            if other.is_some() {
                *mine = other;
            }
        }
        if other.base_url.is_some() {
            self.base_url_env = Vec::new();
            self.host_env = None;
        }
        replace(&mut self.base_url, other.base_url);
        self.base_url_env.extend(other.base_url_env);
        replace(&mut self.host_env, other.host_env);
        replace(&mut self.api, other.api);
        replace(&mut self.api_elsewhere, other.api_elsewhere);
        if !other.api_key_env.0.is_empty() {
            self.api_key_env = other.api_key_env;
        }
        replace(&mut self.api_key, other.api_key);
        replace(&mut self.local, other.local);
        replace(&mut self.default_model, other.default_model);
        self.headers.extend(other.headers);
        self.extra_body.extend(other.extra_body);
        self.quirks.extend(other.quirks);
        replace(&mut self.azure, other.azure);
        replace(&mut self.api_version, other.api_version);
        replace(&mut self.models_of, other.models_of);
    }
}

/// Other names of providers.
const ALIASES: &[(&str, &str)] = &[
    ("gemini", "google"),
    ("google-ai-studio", "google"),
    ("grok", "xai"),
    ("x-ai", "xai"),
    ("azure-openai", "azure"),
    ("azure-openai-responses", "azure"),
    ("kimi", "moonshot"),
    ("moonshotai", "moonshot"),
    ("z.ai", "zai"),
    ("lmstudio", "lm-studio"),
    ("llamacpp", "llama.cpp"),
    ("llama-cpp", "llama.cpp"),
];

/// A provider's name as this program writes it: lower case, one name for each.
#[must_use]
pub fn canonical(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let known = ALIASES.iter().find(|(alias, _)| *alias == name);
    known.map_or(name, |(_, canonical)| (*canonical).to_owned())
}

/// A protocol's name as this program writes it.
fn canonical_api(api: &str) -> String {
    match api {
        "openai-chat" | "openai" => "openai-completions",
        "anthropic" => "anthropic-messages",
        "google" | "gemini" => "google-generative-ai",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_the_built_in_list_is_whole() {
        let catalogue = Catalogue::built_in().unwrap();
        let mut count = 0;
        for name in catalogue.names() {
            let facts = catalogue.provider(name).unwrap();
            facts.parse_models().unwrap_or_else(|error| panic!("{name}: {error}"));
            let local = facts.local == Some(true);
            assert!(local || !facts.api_key_env.0.is_empty(), "{name}");
            for model in catalogue.models(name) {
                let known = [
                    "anthropic-messages",
                    "openai-responses",
                    "openai-completions",
                    "google-generative-ai",
                ];
                assert!(known.contains(&model.api.as_str()), "{model:?}");
                assert!(model.context_window > 0 && model.max_tokens > 0, "{model:?}");
                assert!(model.max_tokens <= model.context_window, "{model:?}");
                count += 1;
            }
            let models = catalogue.models(name);
            if let Some(default) = &facts.default_model {
                let known = models.iter().any(|model| model.id == *default);
                assert!(known || models.is_empty(), "{name}: {default}");
            }
        }
        assert!(count > 250, "{count}");
    }

    #[test]
    fn p1_azure_serves_the_models_of_openai_in_its_own_way() {
        let models = Catalogue::built_in().unwrap().models("azure-openai");
        let model = models.iter().find(|model| model.id == "gpt-6.1-sol").unwrap();
        assert_eq!((&*model.provider, &*model.api), ("azure", "openai-responses"));
    }

    #[test]
    fn p1_a_users_list_adds_and_replaces() {
        let mut catalogue = Catalogue::built_in().unwrap();
        catalogue
            .add(
                r#"{"providers": {
                "Anthropic": {"baseUrl": "http://proxy", "models": [
                    {"id": "claude-sonnet-5-5", "contextWindow": 5, "maxTokens": 1},
                    {"id": "claude-next", "input": ["text", "image"], "cost": {"input": 7}}]},
                "lab": {"baseUrl": "http://lab/v1", "api": "openai-chat", "apiKeyEnv": "LAB_KEY",
                    "models": [{"id": "m"}]}}}"#,
            )
            .unwrap();
        let anthropic = catalogue.models("anthropic");
        let find = |id: &str| anthropic.iter().find(|model| model.id == id).unwrap();
        assert_eq!(find("claude-sonnet-5-5").context_window, 5);
        let next = find("claude-next");
        assert!(next.images && next.window_is_guess && next.context_window == HOSTED_GUESS);
        assert_eq!((next.price.input, &*next.api), (7.0, "anthropic-messages"));
        assert!(anthropic.len() > 20);
        let facts = catalogue.provider("anthropic").unwrap();
        assert_eq!(facts.base_url.as_deref(), Some("http://proxy"));
        assert!(facts.base_url_env.is_empty() && facts.api_key_env.0 == ["ANTHROPIC_API_KEY"]);
        assert_eq!(catalogue.models("lab")[0].api, "openai-completions");
        let error = catalogue.add(r#"{"providers": {"x": {"models": [{}]}}}"#).unwrap_err();
        assert!(error.contains("provider x") && error.contains("id"), "{error}");
        assert!(catalogue.add(r#"{"providers": {"x": {"basUrl": ""}}}"#).is_err());
    }
}
