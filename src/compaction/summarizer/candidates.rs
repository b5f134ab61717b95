//! Which models are asked for a summary, in order (SPEC C22, S1).

use std::sync::Arc;

use crate::provider::Providers;
use crate::provider::model::Model;
use crate::settings::SummarizationSettings;

/// The configured model, the session's, and the one with the largest window; each once. A setting
/// that names no known model is an `Err` with the sentence for the person.
pub(super) fn candidates(
    providers: &dyn Providers,
    settings: &SummarizationSettings,
    session: &Arc<Model>,
) -> Vec<Result<Arc<Model>, String>> {
    let models = providers.models();
    let mut candidates: Vec<Result<Arc<Model>, String>> = Vec::new();
    candidates.extend(configured(&models, settings, session));
    candidates.push(Ok(session.clone()));
    // The offline model is no model: it stands in only where the session itself uses it.
    let largest =
        models.into_iter().filter(|model| model.api != "offline").reduce(|best, model| {
            if model.context_window > best.context_window { model } else { best }
        });
    candidates.extend(largest.map(Ok));
    let mut seen = Vec::new();
    candidates.retain(|candidate| match candidate {
        Ok(model) => {
            let name = model.model_ref();
            let fresh = !seen.contains(&name);
            seen.push(name);
            fresh
        }
        Err(_) => true,
    });
    candidates
}

fn configured(
    models: &[Arc<Model>],
    settings: &SummarizationSettings,
    session: &Model,
) -> Option<Result<Arc<Model>, String>> {
    if settings.provider.is_none() && settings.model.is_none() {
        return None;
    }
    let provider = settings.provider.as_deref().unwrap_or(&session.provider);
    let id = settings.model.as_deref().unwrap_or(&session.id);
    let of_provider = |model: &&Arc<Model>| model.provider.eq_ignore_ascii_case(provider);
    let named = |model: &&Arc<Model>| model.id.eq_ignore_ascii_case(id);
    let found = models
        .iter()
        .find(|model| of_provider(model) && named(model))
        // A model alone may be of any provider, a provider alone may not know the session's model.
        .or_else(|| models.iter().find(|model| settings.provider.is_none() && named(model)))
        .or_else(|| {
            let fits = |model: &&Arc<Model>| settings.model.is_none() && of_provider(model);
            models.iter().filter(fits).max_by_key(|model| model.context_window)
        });
    Some(found.cloned().ok_or_else(|| {
        format!(
            "summarization.provider/model names {provider}/{id}, which is not among the models in \
             use; `regrow models` lists them"
        )
    }))
}
