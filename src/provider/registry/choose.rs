//! Which model a run begins with, and help when a name is wrong (P1).
//!
//! Order: what the command line says, `REGROW_PROVIDER`/`REGROW_MODEL`, the settings, the usual key
//! variables, a server on this machine, the built-in offline provider.

use std::sync::Arc;

use super::{ProviderRegistry, lock};
use crate::nearest::nearest;
use crate::provider::catalogue::canonical;
use crate::provider::model::Model;
use crate::provider::{ErrorKind, ProviderError};

/// Providers that are tried in this order when only their keys say what is wanted; all others follow.
const PREFERRED: &[&str] = &["anthropic", "openai", "google", "openrouter"];

/// The provider that needs nothing.
const OFFLINE: &str = "offline";

impl ProviderRegistry {
    /// The model for these names; for none, the default in the order that the module tells.
    ///
    /// A model that no list knows is accepted for a provider that is named or implied, with a window
    /// that is a guess; not so when the name looks like a misspelt one.
    ///
    /// # Errors
    /// When a name is unknown (with the nearest known one) or the provider has no key.
    pub fn choose_model(
        &self,
        provider: Option<&str>,
        model: Option<&str>,
    ) -> Result<Arc<Model>, ProviderError> {
        if provider.is_some() || model.is_some() {
            return self.named(provider, model);
        }
        match self.wanted() {
            (None, None) => self.default_model(),
            (provider, model) => self.named(provider, model),
        }
    }

    /// Whether nothing is configured, so that a server on this machine should be looked for.
    #[must_use]
    pub fn is_unconfigured(&self) -> bool {
        self.wanted() == (None, None) && self.configured_providers().is_empty()
    }

    /// What the environment and the settings ask for. A model alone keeps its meaning: a provider
    /// that stands further down the order does not apply to it.
    fn wanted(&self) -> (Option<&str>, Option<&str>) {
        let environment = (self.variable("REGROW_PROVIDER"), self.variable("REGROW_MODEL"));
        match environment {
            (None, None) => (self.wanted_provider.as_deref(), self.wanted_model.as_deref()),
            environment => environment,
        }
    }

    fn default_model(&self) -> Result<Arc<Model>, ProviderError> {
        // A broken models.json is told, not passed over.
        self.catalogue()?;
        if let Some(name) = self.configured_providers().first() {
            return self.default_of(name);
        }
        let known = lock(&self.known).models.clone();
        let local = known.iter().find(|model| model.provider != OFFLINE);
        local.or_else(|| known.first()).cloned().ok_or_else(|| {
            let message = "no model is configured; set a key such as ANTHROPIC_API_KEY, \
                           or name one with --provider and --model";
            ProviderError::new(ErrorKind::BadRequest, message)
        })
    }

    /// Providers that somebody set up, the preferred ones first: they have a key, or the user's list
    /// has models of theirs that need none.
    fn configured_providers(&self) -> Vec<String> {
        let Ok(catalogue) = self.catalogue() else { return Vec::new() };
        let others = catalogue.names().filter(|name| !PREFERRED.contains(name));
        let is_set_up = |name: &&str| {
            let Some(facts) = catalogue.provider(name) else { return false };
            let keyed = self.key(name, facts).is_some();
            let listed = || !facts.needs_key() && !catalogue.models(name).is_empty();
            self.is_usable(name) && (keyed || listed())
        };
        PREFERRED.iter().copied().chain(others).filter(is_set_up).map(str::to_owned).collect()
    }

    fn named(
        &self,
        provider: Option<&str>,
        model: Option<&str>,
    ) -> Result<Arc<Model>, ProviderError> {
        match (provider, model) {
            (Some(provider), None) => {
                let provider = canonical(provider);
                self.known_provider(&provider)?;
                self.default_of(&provider)
            }
            (Some(provider), Some(model)) => {
                let provider = canonical(provider);
                self.known_provider(&provider)?;
                self.model_of(&provider, model)
            }
            (None, Some(model)) => self.model_by_name(model),
            (None, None) => self.default_model(),
        }
    }

    /// `provider/id`, or an id of any provider: usable ones first.
    fn model_by_name(&self, name: &str) -> Result<Arc<Model>, ProviderError> {
        let list = self.listing();
        let exact = |usable: bool| {
            list.iter()
                .find(|entry| entry.usable == usable && entry.model.id.eq_ignore_ascii_case(name))
        };
        if let Some(entry) = exact(true) {
            return Ok(entry.model.clone());
        }
        if let Some((provider, id)) = name.split_once('/') {
            let provider = canonical(provider);
            if self.known_provider(&provider).is_ok() {
                return self.model_of(&provider, id);
            }
        }
        if let Some(entry) = exact(false) {
            return self.model_of(&entry.model.provider, &entry.model.id);
        }
        let near = nearest(name, list.iter().map(|entry| entry.model.id.as_str()));
        let help = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
        let message = format!("no model is called {name}; {help}`regrow models` lists them");
        Err(ProviderError::new(ErrorKind::BadRequest, message))
    }

    fn model_of(&self, provider: &str, id: &str) -> Result<Arc<Model>, ProviderError> {
        let known = lock(&self.known).models.clone();
        let same = |model: &Model| model.provider == provider && model.id.eq_ignore_ascii_case(id);
        if let Some(model) = known.iter().find(|model| same(model)) {
            return Ok(model.clone());
        }
        self.usable_or_error(provider)?;
        let listed = self.listed_models(provider);
        if let Some(model) = listed.iter().find(|model| same(model)) {
            return Ok(Arc::new(model.clone()));
        }
        if let Some(near) = nearest(id, listed.iter().map(|model| model.id.as_str()))
            && letters(near) != letters(id)
        {
            let message = format!(
                "{provider} has no model {id}; did you mean {near}? \
                 (add it to models.json if it exists)"
            );
            return Err(ProviderError::new(ErrorKind::BadRequest, message));
        }
        let mut model = self.catalogue()?.unknown_model(provider, id);
        self.place(&mut model);
        Ok(Arc::new(model))
    }

    fn default_of(&self, provider: &str) -> Result<Arc<Model>, ProviderError> {
        let known = lock(&self.known).models.clone();
        if let Some(model) = known.iter().find(|model| model.provider == provider) {
            return Ok(model.clone());
        }
        self.usable_or_error(provider)?;
        let facts = self.catalogue()?.provider(provider);
        if let Some(id) = facts.and_then(|facts| facts.default_model.as_deref()) {
            return self.model_of(provider, id);
        }
        self.listed_models(provider).into_iter().next().map(Arc::new).ok_or_else(|| {
            let message =
                format!("no model of {provider} is known; name one with --model {provider}/NAME");
            ProviderError::new(ErrorKind::BadRequest, message)
        })
    }

    /// An error for a provider that cannot be asked for want of a key or an address.
    fn usable_or_error(&self, provider: &str) -> Result<(), ProviderError> {
        let Some(facts) = self.catalogue()?.provider(provider) else { return Ok(()) };
        if facts.needs_key() && self.key(provider, facts).is_none() {
            return Err(self.no_key(provider, facts));
        }
        if self.base_url(facts).0.is_empty() {
            let variables = facts.base_url_env.join(" or ");
            let message = format!("it is not known where {provider} is; set {variables}");
            return Err(ProviderError::new(ErrorKind::BadRequest, message));
        }
        Ok(())
    }

    /// An error for a provider that nobody knows.
    pub(super) fn known_provider(&self, name: &str) -> Result<(), ProviderError> {
        let given = lock(&self.known).given.contains_key(name);
        if given || self.catalogue()?.provider(name).is_some() {
            return Ok(());
        }
        Err(self.unknown_provider(name))
    }

    pub(super) fn unknown_provider(&self, name: &str) -> ProviderError {
        let mut names: Vec<String> = lock(&self.known).given.keys().cloned().collect();
        if let Ok(catalogue) = self.catalogue() {
            names.extend(catalogue.names().map(str::to_owned));
        }
        let near = nearest(name, names.iter().map(String::as_str));
        let help = near.map_or_else(
            || format!("known are {}", names.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        ProviderError::new(ErrorKind::BadRequest, format!("no provider is called {name}; {help}"))
    }
}

/// Names that differ only in figures are different versions, not misspelt.
fn letters(id: &str) -> String {
    id.chars().filter(|letter| letter.is_alphabetic()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Providers;
    use crate::provider::catalogue::guessed_model;
    use crate::provider::registry::RegistryFiles;
    use crate::settings::Settings;

    fn registry(environment: &[(&str, &str)]) -> ProviderRegistry {
        with_settings(&Settings::default(), environment)
    }

    fn with_settings(settings: &Settings, environment: &[(&str, &str)]) -> ProviderRegistry {
        let environment =
            environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        ProviderRegistry::new(settings, environment, RegistryFiles::default())
    }

    #[track_caller]
    fn chosen(registry: &ProviderRegistry, provider: &str, model: &str) -> String {
        let name = |name: &'static str| (!name.is_empty()).then_some(name);
        let (provider, model): (&'static str, &'static str) =
            (provider.to_owned().leak(), model.to_owned().leak());
        match registry.choose_model(name(provider), name(model)) {
            Ok(model) => format!("{}/{}", model.provider, model.id),
            Err(error) => error.message,
        }
    }

    #[test]
    fn p1_without_anything_the_offline_provider_answers() {
        let registry = registry(&[]);
        assert_eq!(chosen(&registry, "", ""), "offline/offline");
        assert!(registry.is_unconfigured());
        let model = registry.choose_model(None, None).unwrap();
        assert!(registry.provider_for(&model).is_ok());
    }

    #[test]
    fn p1_keys_choose_in_the_usual_order() {
        let openai = ("OPENAI_API_KEY", "k");
        let all = registry(&[("GROQ_API_KEY", "k"), openai, ("ANTHROPIC_API_KEY", "k")]);
        assert_eq!(chosen(&all, "", ""), "anthropic/claude-sonnet-5-5");
        assert!(!all.is_unconfigured());
        let two = registry(&[openai, ("XAI_API_KEY", "k")]);
        assert!(chosen(&two, "", "").starts_with("openai/"));
        let google = registry(&[("GOOGLE_API_KEY", "k"), ("ANTHROPIC_API_KEY", " ")]);
        assert!(chosen(&google, "", "").starts_with("google/"));
    }

    #[test]
    fn g1_command_line_then_environment_then_settings() {
        let settings = Settings {
            provider: Some("Groq".into()),
            model: Some("openai/gpt-oss-20b".into()),
            ..Settings::default()
        };
        let keys = [("GROQ_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
        let registry = with_settings(&settings, &keys);
        assert_eq!(chosen(&registry, "", ""), "groq/openai/gpt-oss-20b");
        let mut more = keys.to_vec();
        more.push(("REGROW_MODEL", "claude-opus-5"));
        let registry = with_settings(&settings, &more);
        assert_eq!(chosen(&registry, "", ""), "anthropic/claude-opus-5");
        assert_eq!(chosen(&registry, "offline", ""), "offline/offline");
        assert_eq!(chosen(&registry, "", "groq/openai/gpt-oss-120b"), "groq/openai/gpt-oss-120b");
        assert_eq!(chosen(&registry, "", "Claude-Haiku-4-5"), "anthropic/claude-haiku-4-5");
    }

    #[test]
    fn p1_wrong_names_get_help() {
        let registry = registry(&[("ANTHROPIC_API_KEY", "k")]);
        assert!(chosen(&registry, "antropic", "").contains("did you mean anthropic?"));
        assert!(chosen(&registry, "anthropic", "claude-sonet-5-5").contains("claude-sonnet-5-5?"));
        assert!(chosen(&registry, "", "claude-sonet-5-5").contains("did you mean claude-sonnet"));
        assert!(chosen(&registry, "", "zzzzzz").contains("`regrow models`"));
        let no_key = chosen(&registry, "openai", "");
        assert!(no_key.contains("OPENAI_API_KEY") && no_key.contains("regrow login"), "{no_key}");
        assert!(chosen(&registry, "", "gpt-4o").contains("OPENAI_API_KEY"));
        assert!(chosen(&registry, "ollama", "").contains("--model ollama/NAME"));
    }

    #[test]
    fn p1_models_that_no_list_knows_are_accepted_with_a_guess() {
        let registry = registry(&[("ANTHROPIC_API_KEY", "k"), ("OPENROUTER_API_KEY", "k")]);
        let model = registry.choose_model(Some("anthropic"), Some("claude-sonnet-9-1")).unwrap();
        assert!(model.window_is_guess && model.base_url == "https://api.anthropic.com");
        assert_eq!(model.api, "anthropic-messages");
        let model = registry.choose_model(None, Some("openrouter/meta/llama-9")).unwrap();
        assert_eq!((&*model.id, &*model.api), ("meta/llama-9", "openai-completions"));
        let local = registry.choose_model(Some("ollama"), Some("qwen3:8b")).unwrap();
        assert_eq!(local.base_url, "http://127.0.0.1:11434/v1");
    }

    #[test]
    fn p1_a_found_server_comes_before_the_offline_provider() {
        let registry = registry(&[]);
        registry.remember(&[Arc::new(guessed_model("llama.cpp", "qwen", None, 4_096))]);
        assert_eq!(chosen(&registry, "", ""), "llama.cpp/qwen");
        assert_eq!(chosen(&registry, "llamacpp", ""), "llama.cpp/qwen");
        assert_eq!(registry.models().len(), 2);
    }

    #[test]
    fn p1_base_urls_and_keys_of_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path().join("models.json");
        std::fs::write(
            &models,
            r#"{ // mine
              "providers": {"lab": {"baseUrl": "$LAB_URL", "apiKey": "$LAB_KEY",
                "headers": {"x-team": "${TEAM}", "x-none": "$NONE"}, "models": [{"id": "m", "contextWindow": 9000},]}}}"#,
        )
        .unwrap();
        let environment = [
            ("LAB_URL", "http://lab/v1"),
            ("LAB_KEY", "sk-lab"),
            ("TEAM", "red"),
            ("OPENAI_BASE_URL", "http://proxy/v1"),
            ("OPENAI_API_KEY", "k"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let files = RegistryFiles { models: Some(models.clone()), keys: None };
        let registry =
            ProviderRegistry::new(&Settings::default(), environment.into(), files.clone());
        let model = registry.choose_model(None, Some("m")).unwrap();
        assert_eq!((&*model.base_url, model.context_window), ("http://lab/v1", 9_000));
        let endpoint = registry.endpoint(&model).unwrap();
        assert_eq!(endpoint.openai_key()[0].1, "Bearer sk-lab");
        assert_eq!(endpoint.headers.len(), 1);
        let proxied = registry.choose_model(Some("openai"), Some("gpt-4o")).unwrap();
        assert_eq!((&*proxied.base_url, &*proxied.api), ("http://proxy/v1", "openai-completions"));
        std::fs::write(&models, "{\"providers\": {\"lab\": {\"bseUrl\": 1}}}").unwrap();
        let broken = ProviderRegistry::new(&Settings::default(), [].into(), files);
        let error = broken.choose_model(None, None).unwrap_err().message;
        assert!(error.contains("models.json") && error.contains("bseUrl"), "{error}");
        assert_eq!(broken.warnings().len(), 1);
    }

    #[test]
    fn p1_a_server_of_the_user_that_wants_no_key_needs_none() {
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path().join("models.json");
        let list =
            r#"{"providers": {"lab": {"baseUrl": "http://lab/v1", "models": [{"id": "m"}]}}}"#;
        std::fs::write(&models, list).unwrap();
        let files = RegistryFiles { models: Some(models), keys: None };
        let registry = ProviderRegistry::new(&Settings::default(), [].into(), files);
        assert_eq!(chosen(&registry, "", ""), "lab/m");
        assert!(!registry.is_unconfigured());
        let model = registry.choose_model(None, None).unwrap();
        assert!(registry.provider_for(&model).is_ok());
    }

    #[test]
    fn p3_a_stored_key_is_used_at_once_and_forgotten_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Some(folder.path().join("auth.json"));
        let files = RegistryFiles { models: None, keys };
        let registry = ProviderRegistry::new(&Settings::default(), [].into(), files);
        let key = crate::provider::secret::Secret::new("sk-stored");
        registry.store_key("groq", key.as_ref()).unwrap();
        let model = registry.choose_model(Some("groq"), None).unwrap();
        assert!(registry.provider_for(&model).is_ok());
        registry.store_key("groq", None).unwrap();
        assert!(registry.provider_for(&model).is_err());
        assert!(registry.store_key("gruq", key.as_ref()).unwrap_err().message.contains("groq"));
    }
}
