//! From what was written to the values in force: defaults filled in, rules between keys checked. Pure.
//!
//! One principle settles how defaults and wishes meet: a default never contradicts what somebody wrote.
//! Two things that somebody wrote may contradict each other; that is an error.

use serde_json::Value;

use super::layer::{
    BranchSummaryLayer, CompactionLayer, ContextPruningLayer, EndpointLayer, FallbackName,
    HardClearLayer, HookCommandLayer, HookLayer, ModeName, NotifyName, PermissionsLayer,
    RetainRecentLayer, SettingsLayer, SoftTrimLayer, SummarizationLayer, TerminalLayer,
    TimeoutsLayer, TriggerLayer,
};
use super::layers::Merged;
use super::origin::{Origin, SettingsError};
use super::schema::{Key, leaves};
use super::{
    BranchSummarySettings, CompactionSettings, ContextPruningSettings, EndpointSettings, Fallback,
    HookCommand, HookSettings, Notify, PermissionMode, PermissionSettings, RetainRecent, Settings,
    SummarizationSettings, TerminalSettings, Timeouts, Trigger,
};

/// Seconds that a hook may take when it does not say (section 6).
const HOOK_TIMEOUT: u64 = 60;

/// A key as `config show` lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Which key.
    pub key: Key,
    /// The value in force; `None` when nobody set it and it has no default.
    pub value: Option<Value>,
    /// Who set it.
    pub origin: Origin,
}

impl std::fmt::Display for Shown {
    /// `compaction.reserveTokens = 16384  (built-in)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{} = {value}  ({})", self.key, self.origin),
            None => write!(f, "{} is not set", self.key),
        }
    }
}

/// Makes the settings of a run out of all layers.
///
/// # Errors
/// Values that contradict each other.
pub fn resolve(merged: &Merged) -> Result<Settings, Vec<SettingsError>> {
    let errors = contradictions(merged);
    if !errors.is_empty() {
        return Err(errors);
    }
    // What passed the check fits the type that the schema was derived from.
    let layer: SettingsLayer = serde_json::from_value(merged.to_value()).map_err(|error| {
        vec![SettingsError::new(Origin::BuiltIn, None, format!("cannot be read: {error}"))]
    })?;
    Ok(Settings::from(layer))
}

/// All keys with values and origins: what was set, then the defaults of the rest.
#[must_use]
pub fn show(merged: &Merged) -> Vec<Shown> {
    let mut shown = Vec::new();
    for leaf in leaves() {
        let set: Vec<Shown> = merged
            .iter()
            .filter(|(key, ..)| key.names().starts_with(leaf.key.names()))
            .map(|(key, value, origin)| Shown {
                key: key.clone(),
                value: Some(value.clone()),
                origin: origin.clone(),
            })
            .collect();
        if set.is_empty() {
            let value = leaf.schema.get("default").cloned();
            shown.push(Shown { key: leaf.key, value, origin: Origin::BuiltIn });
        } else {
            shown.extend(set);
        }
    }
    shown
}

/// Rules between keys (S8), for keys that somebody set.
fn contradictions(merged: &Merged) -> Vec<SettingsError> {
    let pruning = |name: &str| Key::parse(&format!("summarization.contextPruning.{name}"));
    let number = |key: &Key| {
        let (value, origin) = merged.get(key)?;
        Some((value.as_f64()?, origin.clone()))
    };
    let mut errors = Vec::new();
    let (soft, hard) = (pruning("softTrimRatio"), pruning("hardClearRatio"));
    if let (Some((from, origin)), Some((to, _))) = (number(&soft), number(&hard))
        && from > to
    {
        let problem = format!(
            "`{soft}` ({from}) must not be above `hardClearRatio` ({to}): results are trimmed before they are cleared"
        );
        errors.push(SettingsError::new(origin, Some(soft), problem));
    }
    let (head, tail) = (pruning("softTrim.headChars"), pruning("softTrim.tailChars"));
    let max = number(&pruning("softTrim.maxChars"));
    let most = max.as_ref().map_or(SoftTrim::default().max as f64, |(most, _)| *most);
    let sides = [number(&head), number(&tail)];
    let sum: f64 = sides.iter().flatten().map(|(count, _)| count).sum();
    let last = sides.into_iter().flatten().next_back();
    if let Some((_, origin)) = last
        && sum > most
    {
        let problem = format!(
            "`{head}` and `tailChars` together ({sum}) must not be above `maxChars` ({most}): a trimmed result is never longer"
        );
        errors.push(SettingsError::new(origin, Some(head), problem));
    }
    errors
}

/// The three figures of a soft trim.
struct SoftTrim {
    max: u64,
    head: u64,
    tail: u64,
}

impl Default for SoftTrim {
    fn default() -> Self {
        let settings = ContextPruningSettings::default();
        Self {
            max: settings.soft_trim_max_chars as u64,
            head: settings.soft_trim_head_chars as u64,
            tail: settings.soft_trim_tail_chars as u64,
        }
    }
}

impl From<SoftTrimLayer> for SoftTrim {
    /// Sides that nobody set share the room that is left, up to their defaults.
    fn from(layer: SoftTrimLayer) -> Self {
        let default = Self::default();
        let max = layer.max_chars.unwrap_or(default.max);
        let set = layer.head_chars.unwrap_or_default() + layer.tail_chars.unwrap_or_default();
        let open = u64::from(layer.head_chars.is_none()) + u64::from(layer.tail_chars.is_none());
        let share = max.saturating_sub(set) / open.max(1);
        Self {
            max,
            head: layer.head_chars.unwrap_or_else(|| default.head.min(share)),
            tail: layer.tail_chars.unwrap_or_else(|| default.tail.min(share)),
        }
    }
}

impl From<SettingsLayer> for Settings {
    fn from(layer: SettingsLayer) -> Self {
        let mut compaction = CompactionSettings::from(layer.compaction);
        compaction.enabled &= layer.summarization.enabled.unwrap_or(true);
        Self {
            compaction,
            branch_summary: layer.branch_summary.into(),
            summarization: layer.summarization.into(),
            permissions: layer.permissions.into(),
            hooks: layer.hooks.unwrap_or_default().into_iter().map(HookSettings::from).collect(),
            endpoints: layer
                .endpoints
                .unwrap_or_default()
                .into_iter()
                .flat_map(|(group, servers)| endpoints(&group, servers))
                .collect(),
            provider: not_empty(layer.provider).map(|name| name.to_lowercase()),
            model: not_empty(layer.model),
            thinking: layer.thinking.map(|level| word(&level)),
            session_dir: layer.session_dir,
            tools: layer.tools,
            theme: layer.theme,
            mouse: layer.mouse.unwrap_or_default(),
            animation: layer.animation,
            terminal: layer.terminal.into(),
            cache: layer.cache,
            timeouts: layer.timeouts.into(),
        }
    }
}

/// The word that stands for a name in a file.
fn word(name: &impl serde::Serialize) -> String {
    match serde_json::to_value(name) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// An empty text means the same as none.
fn not_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

impl From<TerminalLayer> for TerminalSettings {
    fn from(layer: TerminalLayer) -> Self {
        let default = Self::default();
        Self {
            title: layer.title.unwrap_or(default.title),
            links: layer.links.unwrap_or(default.links),
            progress: layer.progress.unwrap_or(default.progress),
            notify: match layer.notify {
                Some(NotifyName::Off) => Notify::Off,
                Some(NotifyName::Bell) => Notify::Bell,
                Some(NotifyName::Desktop) => Notify::Desktop,
                None => default.notify,
            },
        }
    }
}

impl From<CompactionLayer> for CompactionSettings {
    fn from(layer: CompactionLayer) -> Self {
        let default = Self::default();
        Self {
            enabled: layer.enabled.unwrap_or(default.enabled),
            reserve_tokens: layer.reserve_tokens.unwrap_or(default.reserve_tokens),
            keep_recent_tokens: layer.keep_recent_tokens.unwrap_or(default.keep_recent_tokens),
            auto_continue: layer.auto_continue.unwrap_or(default.auto_continue),
            remote_endpoint: layer.remote_endpoint,
            fallback: match layer.fallback {
                Some(FallbackName::Extractive) => Fallback::Extractive,
                Some(FallbackName::None) => Fallback::None,
                None => default.fallback,
            },
        }
    }
}

impl From<BranchSummaryLayer> for BranchSummarySettings {
    fn from(layer: BranchSummaryLayer) -> Self {
        let default = Self::default();
        Self {
            enabled: layer.enabled.unwrap_or(default.enabled),
            reserve_tokens: layer.reserve_tokens.unwrap_or(default.reserve_tokens),
            skip_prompt: layer.skip_prompt.unwrap_or(default.skip_prompt),
        }
    }
}

impl From<SummarizationLayer> for SummarizationSettings {
    fn from(layer: SummarizationLayer) -> Self {
        let default = Self::default();
        let recent = layer.retain_recent;
        Self {
            provider: not_empty(layer.provider).map(|name| name.to_lowercase()),
            model: not_empty(layer.model),
            parameters: layer.parameters.unwrap_or_default(),
            prompt: not_empty(layer.prompt),
            update_prompt: not_empty(layer.update_prompt),
            max_summary_tokens: layer.max_summary_tokens.map(|most| most as u64),
            reserve_ratio: layer.reserve_ratio.unwrap_or(default.reserve_ratio),
            trigger: layer.trigger.map(|trigger| match trigger {
                TriggerLayer::TokenRatio(value) => Trigger::TokenRatio(value),
                TriggerLayer::RemainingTokens(value) => Trigger::RemainingTokens(value),
                TriggerLayer::MessagesToRefine(value) => Trigger::MessagesToRefine(value),
            }),
            // The newest turn is kept whole in any case, so a bare `tokens` asks for nothing more.
            retain_recent: (recent != RetainRecentLayer::default())
                .then(|| RetainRecent { turns: recent.turns.unwrap_or(1), tokens: recent.tokens }),
            context_pruning: layer.context_pruning.into(),
        }
    }
}

impl From<ContextPruningLayer> for ContextPruningSettings {
    fn from(layer: ContextPruningLayer) -> Self {
        let default = Self::default();
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (soft_trim_ratio, hard_clear_ratio) =
            match (layer.soft_trim_ratio, layer.hard_clear_ratio) {
                (None, None) => (default.soft_trim_ratio, default.hard_clear_ratio),
                (Some(soft), None) => (soft, default.hard_clear_ratio.max(soft)),
                (None, Some(hard)) => (default.soft_trim_ratio.min(hard), hard),
                (Some(soft), Some(hard)) => (soft, hard),
            };
        let trim = SoftTrim::from(layer.soft_trim);
        Self {
            enabled: layer.enabled.unwrap_or(default.enabled),
            keep_last_assistants: layer
                .keep_last_assistants
                .map_or(default.keep_last_assistants, |turns| turns as usize),
            soft_trim_ratio,
            hard_clear_ratio,
            min_prunable_tool_chars: layer
                .min_prunable_tool_chars
                .map_or(default.min_prunable_tool_chars, size),
            soft_trim_max_chars: size(trim.max),
            soft_trim_head_chars: size(trim.head),
            soft_trim_tail_chars: size(trim.tail),
            hard_clear_enabled: layer.hard_clear.enabled.unwrap_or(default.hard_clear_enabled),
            hard_clear_placeholder: layer
                .hard_clear
                .placeholder
                .unwrap_or(default.hard_clear_placeholder),
        }
    }
}

impl From<PermissionsLayer> for PermissionSettings {
    fn from(layer: PermissionsLayer) -> Self {
        Self {
            mode: match layer.mode {
                Some(ModeName::Read) => PermissionMode::Read,
                Some(ModeName::Ask) | None => PermissionMode::Ask,
                Some(ModeName::Edits) => PermissionMode::Edits,
                Some(ModeName::Full) => PermissionMode::Full,
            },
            allow: layer.allow.unwrap_or_default(),
            deny: layer.deny.unwrap_or_default(),
        }
    }
}

impl From<HookLayer> for HookSettings {
    fn from(layer: HookLayer) -> Self {
        let command = match layer.command {
            HookCommandLayer::Line(line) => HookCommand::Line(line),
            HookCommandLayer::Program(words) => HookCommand::Program(words),
        };
        let program = match &command {
            HookCommand::Line(line) => line.clone(),
            HookCommand::Program(words) => words.first().cloned().unwrap_or_default(),
        };
        Self {
            name: not_empty(layer.name).unwrap_or(program),
            events: layer.events,
            command,
            args: layer.args.unwrap_or_default(),
            tools: layer.tools,
            timeout: layer.timeout.unwrap_or(HOOK_TIMEOUT),
            required: layer.required.unwrap_or_default(),
        }
    }
}

/// The model servers of a group.
fn endpoints(group: &str, servers: Vec<EndpointLayer>) -> Vec<EndpointSettings> {
    let azure = group.to_lowercase().starts_with("azure");
    let server = |layer: EndpointLayer| EndpointSettings {
        name: layer.name.trim().to_lowercase(),
        base_url: layer.base_url.map(|url| url.trim_end_matches('/').to_owned()),
        api_key_env: layer.api_key_env,
        api: layer.api.map(|api| word(&api)),
        azure,
    };
    servers.into_iter().map(server).collect()
}

impl From<TimeoutsLayer> for Timeouts {
    fn from(layer: TimeoutsLayer) -> Self {
        let default = Self::default();
        Self {
            connect: layer.connect.unwrap_or(default.connect),
            first_byte: layer.first_byte.unwrap_or(default.first_byte),
            first_byte_local: layer.first_byte_local.unwrap_or(default.first_byte_local),
            idle: layer.idle.unwrap_or(default.idle),
        }
    }
}

impl SettingsLayer {
    /// The defaults as a file would say them; keys without a default stay absent.
    #[must_use]
    pub fn defaults() -> Self {
        let settings = Settings::default();
        let compaction = settings.compaction;
        let branch = settings.branch_summary;
        let timeouts = settings.timeouts;
        Self {
            cache: Some(settings.cache.unwrap_or(true)),
            mouse: Some(settings.mouse),
            animation: Some(settings.animation.unwrap_or(true)),
            theme: Some(settings.theme.unwrap_or_else(|| "auto".to_owned())),
            terminal: TerminalLayer {
                title: Some(settings.terminal.title),
                links: Some(settings.terminal.links),
                progress: Some(settings.terminal.progress),
                notify: Some(NotifyName::Bell),
            },
            compaction: CompactionLayer {
                enabled: Some(compaction.enabled),
                reserve_tokens: Some(compaction.reserve_tokens),
                keep_recent_tokens: Some(compaction.keep_recent_tokens),
                auto_continue: Some(compaction.auto_continue),
                remote_endpoint: None,
                fallback: Some(match compaction.fallback {
                    Fallback::Extractive => FallbackName::Extractive,
                    Fallback::None => FallbackName::None,
                }),
            },
            branch_summary: BranchSummaryLayer {
                enabled: Some(branch.enabled),
                reserve_tokens: Some(branch.reserve_tokens),
                skip_prompt: Some(branch.skip_prompt),
            },
            summarization: SummarizationLayer {
                enabled: Some(true),
                reserve_ratio: Some(settings.summarization.reserve_ratio),
                context_pruning: ContextPruningLayer::from(settings.summarization.context_pruning),
                ..SummarizationLayer::default()
            },
            permissions: PermissionsLayer {
                mode: Some(ModeName::Ask),
                ..PermissionsLayer::default()
            },
            timeouts: TimeoutsLayer {
                connect: Some(timeouts.connect),
                first_byte: Some(timeouts.first_byte),
                first_byte_local: Some(timeouts.first_byte_local),
                idle: Some(timeouts.idle),
            },
            ..Self::default()
        }
    }
}

impl From<ContextPruningSettings> for ContextPruningLayer {
    fn from(settings: ContextPruningSettings) -> Self {
        Self {
            enabled: Some(settings.enabled),
            keep_last_assistants: Some(settings.keep_last_assistants as f64),
            soft_trim_ratio: Some(settings.soft_trim_ratio),
            hard_clear_ratio: Some(settings.hard_clear_ratio),
            min_prunable_tool_chars: Some(settings.min_prunable_tool_chars as u64),
            soft_trim: SoftTrimLayer {
                max_chars: Some(settings.soft_trim_max_chars as u64),
                head_chars: Some(settings.soft_trim_head_chars as u64),
                tail_chars: Some(settings.soft_trim_tail_chars as u64),
            },
            hard_clear: HardClearLayer {
                enabled: Some(settings.hard_clear_enabled),
                placeholder: Some(settings.hard_clear_placeholder),
            },
        }
    }
}
