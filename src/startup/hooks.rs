//! The hooks of the settings, and `regrow hooks`.

use std::sync::Arc;

use crate::hook::Hook;
use crate::hook::chain::Hooks;
use crate::hook::external::ExternalHook;
use crate::settings::Settings;

/// The hooks of the settings, in their order.
pub(super) fn configured(settings: &Settings) -> Hooks {
    let hook =
        |settings: &_| -> Arc<dyn Hook> { Arc::new(ExternalHook::new(Clone::clone(settings))) };
    Hooks::new(settings.hooks.iter().map(hook).collect())
}
