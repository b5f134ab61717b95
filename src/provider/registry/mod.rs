//! All providers of a run: what is configured, which keys there are, and the adapters that speak to
//! them (P1, P3). Everything is read and made when first needed: a start that needs no model pays
//! nothing. Choosing a model is in [`choose`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::anthropic::Anthropic;
use super::catalogue::{Catalogue, ProviderFacts, canonical};
use super::endpoint::Endpoint;
use super::gemini::Gemini;
use super::http::Http;
use super::key_file::{KeyFile, KeyFileError};
use super::local;
use super::model::Model;
use super::offline::{self, Offline};
use super::openai_chat::OpenAiChat;
use super::openai_responses::OpenAiResponses;
use super::secret::Secret;
use super::{ErrorKind, Provider, ProviderError, Providers};
use crate::settings::{EndpointSettings, Settings};

mod choose;

/// See the module.
pub struct ProviderRegistry {
    environment: HashMap<String, String>,
    wanted_provider: Option<String>,
    wanted_model: Option<String>,
    /// Servers of the settings.
    endpoints: Vec<EndpointSettings>,
    files: RegistryFiles,
    http: Arc<Http>,
    catalogue: OnceLock<Result<Catalogue, String>>,
    keys: OnceLock<Result<Mutex<KeyFile>, String>>,
    /// Providers that were given rather than configured, and models that servers told of.
    known: Mutex<Known>,
    adapters: Mutex<HashMap<(String, String), Arc<dyn Provider>>>,
}

/// Where a registry reads, and where it stores keys. Files that are missing count as empty.
#[derive(Debug, Clone, Default)]
pub struct RegistryFiles {
    /// The user's `models.json`; comments are allowed.
    pub models: Option<PathBuf>,
    /// `auth.json`.
    pub keys: Option<PathBuf>,
}

#[derive(Default)]
struct Known {
    given: HashMap<String, Arc<dyn Provider>>,
    models: Vec<Arc<Model>>,
}

/// A model in a list for people.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelListing {
    /// The model.
    pub model: Arc<Model>,
    /// Whether it could be asked now: there is a key, or none is needed.
    pub usable: bool,
}

impl ProviderRegistry {
    /// Knows the offline provider; reads nothing yet. `environment` is a snapshot of the process's variables.
    #[must_use]
    pub fn new(
        settings: &Settings,
        environment: HashMap<String, String>,
        files: RegistryFiles,
    ) -> Self {
        let registry = Self {
            environment,
            wanted_provider: settings.provider.clone(),
            wanted_model: settings.model.clone(),
            endpoints: settings.endpoints.clone(),
            files,
            http: Http::new(settings.timeouts),
            catalogue: OnceLock::new(),
            keys: OnceLock::new(),
            known: Mutex::default(),
            adapters: Mutex::default(),
        };
        registry.register("offline", Arc::new(Offline::default()), [offline::model()]);
        registry
    }

    /// Adds a provider that needs no configuration, with its models.
    pub fn register(
        &self,
        name: &str,
        provider: Arc<dyn Provider>,
        models: impl IntoIterator<Item = Model>,
    ) {
        let mut known = lock(&self.known);
        known.given.insert(canonical(name), provider);
        known.models.extend(models.into_iter().map(Arc::new));
    }

    /// Looks for model servers on this machine's usual ports, and remembers their models (P1).
    ///
    /// Takes at most about 150 ms and a moment more to ask those that are there.
    pub async fn find_local(&self) -> Vec<Arc<Model>> {
        let found = local::find(&self.http, &local::servers(&self.environment)).await;
        let models: Vec<Arc<Model>> = found.into_iter().map(Arc::new).collect();
        self.remember(&models);
        models
    }

    fn remember(&self, models: &[Arc<Model>]) {
        let mut known = lock(&self.known);
        for model in models {
            let same =
                |other: &&mut Arc<Model>| other.provider == model.provider && other.id == model.id;
            match known.models.iter_mut().find(same) {
                Some(place) => place.clone_from(model),
                None => known.models.push(model.clone()),
            }
        }
    }

    /// All models, usable or not, those of one provider together.
    #[must_use]
    pub fn listing(&self) -> Vec<ModelListing> {
        let known = lock(&self.known).models.clone();
        let mut list: Vec<ModelListing> =
            known.into_iter().map(|model| ModelListing { model, usable: true }).collect();
        let names: Vec<&str> =
            self.catalogue().map(|all| all.names().collect()).unwrap_or_default();
        for name in names {
            let usable = self.is_usable(name);
            for model in self.listed_models(name) {
                let twice = list.iter().any(|other| {
                    other.model.provider == model.provider && other.model.id == model.id
                });
                if !twice {
                    list.push(ModelListing { model: Arc::new(model), usable });
                }
            }
        }
        list
    }

    /// What is wrong with the files that were read, for the person.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Err(error) = self.catalogue() {
            warnings.push(error.message);
        }
        let nowhere = |endpoint: &&EndpointSettings| {
            let facts = self.catalogue().ok().and_then(|all| all.provider(&endpoint.name));
            facts.is_some_and(|facts| facts.base_url.is_none())
        };
        warnings.extend(self.endpoints.iter().filter(nowhere).map(|endpoint| {
            format!("the endpoint `{}` has no `baseUrl` and is no known provider", endpoint.name)
        }));
        match self.keys() {
            Err(why) => warnings.push(why.clone()),
            Ok(keys) if lock(keys).is_exposed() => {
                let path = self.files.keys.clone().unwrap_or_default();
                warnings.push(format!(
                    "{} can be read by others; run `chmod 600` on it",
                    path.display()
                ));
            }
            Ok(_) => {}
        }
        warnings
    }

    /// Stores a provider's key in `auth.json`, or removes it; it is used from now on.
    ///
    /// # Errors
    /// When the provider is unknown or the file cannot be written.
    pub fn store_key(&self, provider: &str, key: Option<&Secret>) -> Result<(), ProviderError> {
        let failed = |why: String| ProviderError::new(ErrorKind::Auth, why);
        let provider = canonical(provider);
        self.known_provider(&provider)?;
        let keys = self.keys().as_ref().map_err(|why| failed(why.clone()))?;
        lock(keys).set(&provider, key).map_err(|error: KeyFileError| failed(error.to_string()))?;
        lock(&self.adapters).retain(|(name, _), _| *name != provider);
        Ok(())
    }

    /// The variables that may hold the key of a provider.
    #[must_use]
    pub fn key_variables(&self, provider: &str) -> Vec<String> {
        let catalogue = self.catalogue().ok();
        let facts = catalogue.and_then(|catalogue| catalogue.provider(provider));
        facts.map(|facts| facts.api_key_env.0.clone()).unwrap_or_default()
    }

    fn catalogue(&self) -> Result<&Catalogue, ProviderError> {
        self.catalogue
            .get_or_init(|| {
                let mut catalogue = Catalogue::built_in()?;
                if let Some(path) = &self.files.models {
                    add_file(&mut catalogue, path)
                        .map_err(|why| format!("{}: {why}", path.display()))?;
                }
                for endpoint in &self.endpoints {
                    catalogue.add_endpoint(endpoint);
                }
                Ok(catalogue)
            })
            .as_ref()
            .map_err(|why| ProviderError::new(ErrorKind::BadRequest, why.clone()))
    }

    fn keys(&self) -> &Result<Mutex<KeyFile>, String> {
        self.keys.get_or_init(|| {
            KeyFile::open(self.files.keys.as_deref())
                .map(Mutex::new)
                .map_err(|error| error.to_string())
        })
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// `$NAME` and `${NAME}` stand for a variable, which may be unset; all else for itself.
    fn expand(&self, text: &str) -> Option<String> {
        let Some(name) = text.strip_prefix('$') else { return Some(text.to_owned()) };
        let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
        self.variable(name).map(str::to_owned)
    }

    fn key(&self, name: &str, facts: &ProviderFacts) -> Option<Secret> {
        let configured = facts.api_key.as_deref().and_then(|text| {
            // Other agents write the bare name of a variable.
            self.variable(text).map(str::to_owned).or_else(|| self.expand(text))
        });
        let in_environment = || {
            facts.api_key_env.0.iter().find_map(|name| self.variable(name)).and_then(Secret::new)
        };
        let stored = || self.keys().as_ref().ok().and_then(|keys| lock(keys).key(name));
        configured.as_deref().and_then(Secret::new).or_else(in_environment).or_else(stored)
    }

    /// Where a provider's server is, and whether that is another place than the list says.
    fn base_url(&self, facts: &ProviderFacts) -> (String, bool) {
        let host = facts.host_env.as_deref().and_then(|name| self.variable(name));
        if let Some(origin) = host.and_then(local::ollama_origin) {
            return (format!("{origin}/v1"), false);
        }
        let replaced = facts.base_url_env.iter().find_map(|name| self.variable(name));
        match replaced {
            Some(url) => (url.to_owned(), Some(url) != facts.base_url.as_deref()),
            None => {
                let url = facts.base_url.as_deref().and_then(|url| self.expand(url));
                (url.unwrap_or_default(), false)
            }
        }
    }

    fn is_usable(&self, name: &str) -> bool {
        let Ok(catalogue) = self.catalogue() else { return false };
        catalogue.provider(name).is_some_and(|facts| {
            let reachable = !self.base_url(facts).0.is_empty();
            reachable && (!facts.needs_key() || self.key(name, facts).is_some())
        })
    }

    /// The models that the lists name for a provider, with the address of its server.
    fn listed_models(&self, provider: &str) -> Vec<Model> {
        let Ok(catalogue) = self.catalogue() else { return Vec::new() };
        let mut models = catalogue.models(provider);
        models.iter_mut().for_each(|model| self.place(model));
        models
    }

    /// Fills in where a model's server is.
    fn place(&self, model: &mut Model) {
        let Ok(catalogue) = self.catalogue() else { return };
        let Some(facts) = catalogue.provider(&model.provider) else { return };
        let (base_url, elsewhere) = self.base_url(facts);
        if model.base_url.is_empty() {
            model.base_url = base_url;
            if let (true, Some(api)) = (elsewhere, &facts.api_elsewhere) {
                model.api.clone_from(api);
            }
        }
    }

    fn adapter(&self, model: &Model) -> Result<Arc<dyn Provider>, ProviderError> {
        let endpoint = self.endpoint(model)?;
        match model.api.as_str() {
            "openai-completions" => Ok(Arc::new(OpenAiChat::new(self.http.clone(), endpoint))),
            "openai-responses" => Ok(Arc::new(OpenAiResponses::new(self.http.clone(), endpoint))),
            "google-generative-ai" => Ok(Arc::new(Gemini::new(self.http.clone(), endpoint))),
            "anthropic-messages" => Ok(Arc::new(Anthropic::new(self.http.clone(), endpoint))),
            other => Err(ProviderError::new(
                ErrorKind::BadRequest,
                format!("{} speaks {other}, which is not known here", model.provider),
            )),
        }
    }

    fn endpoint(&self, model: &Model) -> Result<Endpoint, ProviderError> {
        let name = &model.provider;
        let Some(facts) = self.catalogue()?.provider(name) else {
            // A model of a session file or a found server: it knows where it lives.
            if model.base_url.is_empty() {
                return Err(self.unknown_provider(name));
            }
            let base_url = model.base_url.clone();
            return Ok(Endpoint { provider: name.clone(), base_url, ..Endpoint::default() });
        };
        let key = self.key(name, facts);
        if key.is_none() && facts.needs_key() {
            return Err(self.no_key(name, facts));
        }
        let headers = facts
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), Secret::new(&self.expand(value)?)?)));
        Ok(Endpoint {
            provider: name.clone(),
            base_url: self.base_url(facts).0,
            key,
            headers: headers.collect(),
            extra_body: facts.extra_body.clone(),
            quirks: facts.quirks.clone(),
            azure: facts.azure == Some(true),
            api_version: facts.api_version.as_deref().and_then(|version| self.expand(version)),
        })
    }

    fn no_key(&self, name: &str, facts: &ProviderFacts) -> ProviderError {
        let variables = facts.api_key_env.0.join(" or ");
        let set =
            if variables.is_empty() { String::new() } else { format!("set {variables}, or ") };
        let message =
            format!("there is no key for {name}: {set}store one with `regrow login {name}`");
        ProviderError::new(ErrorKind::Auth, message)
    }
}

impl Providers for ProviderRegistry {
    fn provider_for(&self, model: &Model) -> Result<Arc<dyn Provider>, ProviderError> {
        if let Some(given) = lock(&self.known).given.get(&model.provider) {
            return Ok(given.clone());
        }
        let name = (model.provider.clone(), model.api.clone());
        if let Some(adapter) = lock(&self.adapters).get(&name) {
            return Ok(adapter.clone());
        }
        let adapter = self.adapter(model)?;
        lock(&self.adapters).insert(name, adapter.clone());
        Ok(adapter)
    }

    fn models(&self) -> Vec<Arc<Model>> {
        let list = self.listing().into_iter().filter(|listing| listing.usable);
        list.map(|listing| listing.model).collect()
    }
}

/// Adds the user's list of models; a file that is missing adds nothing.
fn add_file(catalogue: &mut Catalogue, path: &Path) -> Result<(), String> {
    match std::fs::read_to_string(path) {
        Ok(text) => catalogue.add(&strip_comments(&text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// JSON without comments and trailing commas.
fn strip_comments(text: &str) -> Result<String, String> {
    let value: Option<serde_json::Value> =
        jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default())
            .map_err(|error| error.to_string())?;
    Ok(value.map_or_else(|| "{}".to_owned(), |value| value.to_string()))
}

/// Nothing panics while one of these is held; if it did, the content would still be whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
