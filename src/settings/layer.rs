//! The settings as one file may give them: everything optional. This type is the one definition of
//! every key: its name, its help (the first line of documentation), its type and its range. The JSON
//! Schema is derived from it ([`super::schema`]), files are checked against that schema
//! ([`super::check`]), and `config show`, the environment and the README read it too.
//!
//! Two marks are added to the schema: `x-needsTrust` for keys that a project may only set once its
//! folder is trusted (G2), and `x-adds` for lists to which a later layer adds.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The keys of a settings file (G1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SettingsLayer {
    /// where the JSON Schema of this file is, for editors
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// version of the file, for information only
    #[schemars(schema_with = "text_or_number")]
    pub version: Option<Value>,
    /// provider to start with
    pub provider: Option<String>,
    /// model to start with
    pub model: Option<String>,
    /// how much the model thinks, to start with
    pub thinking: Option<ThinkingName>,
    /// names of the tools on offer; all when absent
    pub tools: Option<Vec<String>>,
    /// prompt caching, where the provider has it
    pub cache: Option<bool>,
    /// automatic and manual compaction
    pub compaction: CompactionLayer,
    /// summaries of branches that are left
    pub branch_summary: BranchSummaryLayer,
    /// how every summary is made
    pub summarization: SummarizationLayer,
    /// what may be done without asking
    pub permissions: PermissionsLayer,
    /// programs that watch, change or stop what happens
    #[schemars(extend("x-needsTrust" = true, "x-adds" = true))]
    pub hooks: Option<Vec<HookLayer>>,
    /// model servers of your own, by group; those of the group `azureOpenAI` are Azure's
    #[schemars(extend("x-needsTrust" = true))]
    pub endpoints: Option<BTreeMap<String, Vec<EndpointLayer>>>,
    /// folder of session files
    #[schemars(extend("x-needsTrust" = true), length(min = 1))]
    pub session_dir: Option<String>,
    /// name of a theme, or `auto`
    #[schemars(length(min = 1))]
    pub theme: Option<String>,
    /// whether the screen takes the mouse
    pub mouse: Option<bool>,
    /// whether anything moves on the screen
    pub animation: Option<bool>,
    /// what the terminal around the screen is told
    pub terminal: TerminalLayer,
    /// how long to wait for a model, in seconds
    pub timeouts: TimeoutsLayer,
}

/// See [`SettingsLayer::thinking`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum ThinkingName {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
}

/// See [`SettingsLayer::compaction`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CompactionLayer {
    /// compact by itself when the window fills; `/compact` works all the same
    pub enabled: Option<bool>,
    /// tokens kept free for the answer
    #[schemars(range(min = 1))]
    pub reserve_tokens: Option<u64>,
    /// tokens of recent messages that stay verbatim
    #[schemars(range(min = 1))]
    pub keep_recent_tokens: Option<u64>,
    /// go on with the work after an automatic compaction
    pub auto_continue: Option<bool>,
    /// address of a server that makes the summaries
    #[schemars(extend("x-needsTrust" = true), regex(pattern = "^https?://"))]
    pub remote_endpoint: Option<String>,
    /// what happens when every model fails: a summary without a model, or an error
    pub fallback: Option<FallbackName>,
}

/// See [`CompactionLayer::fallback`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum FallbackName {
    Extractive,
    None,
}

/// See [`SettingsLayer::branch_summary`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BranchSummaryLayer {
    /// whether `/tree` preselects *summarise*
    pub enabled: Option<bool>,
    /// tokens kept free for the answer
    #[schemars(range(min = 1))]
    pub reserve_tokens: Option<u64>,
    /// never ask, follow `enabled`
    pub skip_prompt: Option<bool>,
}

/// See [`SettingsLayer::summarization`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SummarizationLayer {
    /// `false` does the same as `compaction.enabled: false`
    pub enabled: Option<bool>,
    /// provider of the summarising model, in any case; the session's own when absent
    pub provider: Option<String>,
    /// the summarising model; the session's own when absent
    pub model: Option<String>,
    /// passed to the summarising model, such as `temperature`
    #[schemars(schema_with = "scalars")]
    pub parameters: Option<Map<String, Value>>,
    /// replaces the built-in prompt of a first summary
    pub prompt: Option<String>,
    /// replaces the built-in prompt of a later summary
    pub update_prompt: Option<String>,
    /// most tokens of a summary; a fraction is rounded down
    #[schemars(range(min = 1))]
    pub max_summary_tokens: Option<f64>,
    /// share of the window that stays free
    #[schemars(range(min = 0, max = 1))]
    pub reserve_ratio: Option<f64>,
    /// when to compact, instead of by `compaction.reserveTokens`
    pub trigger: Option<TriggerLayer>,
    /// whole turns that a compaction keeps
    pub retain_recent: RetainRecentLayer,
    /// shortening of old tool results in what the model sees
    pub context_pruning: ContextPruningLayer,
}

/// See [`SummarizationLayer::trigger`]. One value: a later layer replaces it whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value", rename_all = "snake_case", deny_unknown_fields)]
pub enum TriggerLayer {
    /// this share of the window is used
    TokenRatio(#[schemars(range(min = 0, max = 1))] f64),
    /// this many tokens remain, or fewer
    RemainingTokens(#[schemars(range(min = 1))] u64),
    /// a compaction would summarise this many messages, or more
    MessagesToRefine(#[schemars(range(min = 1))] u64),
}

/// See [`SummarizationLayer::retain_recent`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RetainRecentLayer {
    /// how many turns
    #[schemars(range(min = 0, max = 20))]
    pub turns: Option<u32>,
    /// as long as they stay under this many tokens
    #[schemars(range(min = 1))]
    pub tokens: Option<u64>,
}

/// See [`SummarizationLayer::context_pruning`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContextPruningLayer {
    /// whether old results are shortened at all
    pub enabled: Option<bool>,
    /// newest assistant turns that stay whole; a fraction is rounded down
    #[schemars(range(min = 0, max = 10))]
    pub keep_last_assistants: Option<f64>,
    /// age from which results are trimmed: 0 is the newest message, 1 the oldest
    #[schemars(range(min = 0, max = 1))]
    pub soft_trim_ratio: Option<f64>,
    /// age from which results are cleared
    #[schemars(range(min = 0, max = 1))]
    pub hard_clear_ratio: Option<f64>,
    /// results with fewer characters stay whole
    pub min_prunable_tool_chars: Option<u64>,
    /// what stays of a trimmed result
    pub soft_trim: SoftTrimLayer,
    /// what stays of a cleared result
    pub hard_clear: HardClearLayer,
}

/// See [`ContextPruningLayer::soft_trim`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SoftTrimLayer {
    /// results with more characters are trimmed
    pub max_chars: Option<u64>,
    /// characters that stay of the beginning
    pub head_chars: Option<u64>,
    /// characters that stay of the end
    pub tail_chars: Option<u64>,
}

/// See [`ContextPruningLayer::hard_clear`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HardClearLayer {
    /// whether old results are cleared
    pub enabled: Option<bool>,
    /// what a cleared result says
    pub placeholder: Option<String>,
}

/// See [`SettingsLayer::permissions`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PermissionsLayer {
    /// only read (`read`), ask before edits and commands, only before commands (`edits`), or never (`full`)
    #[schemars(extend("x-needsTrust" = true))]
    pub mode: Option<ModeName>,
    /// what is allowed without asking, as `tool(pattern)`
    #[schemars(extend("x-needsTrust" = true, "x-adds" = true))]
    pub allow: Option<Vec<String>>,
    /// what is never done, as `tool(pattern)`; wins over everything
    #[schemars(extend("x-adds" = true))]
    pub deny: Option<Vec<String>>,
}

/// See [`PermissionsLayer::mode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum ModeName {
    Read,
    Ask,
    Edits,
    Full,
}

/// See [`SettingsLayer::hooks`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookLayer {
    /// events that start the program
    #[schemars(length(min = 1))]
    pub events: Vec<EventName>,
    /// a line for the shell, or a program with its arguments
    #[schemars(schema_with = "text_or_texts")]
    pub command: HookCommandLayer,
    /// more arguments; a line for the shell gets them as $1, $2 …
    #[serde(default)]
    pub args: Option<Vec<String>>,
    /// name for messages; the program's when absent
    #[serde(default)]
    pub name: Option<String>,
    /// tools whose calls start it, `*` stands for any characters; all when absent
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// seconds until the program is stopped
    #[serde(default)]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: Option<u64>,
    /// whether its failure cancels what can be cancelled
    #[serde(default)]
    pub required: Option<bool>,
}

/// See [`HookLayer::command`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HookCommandLayer {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments.
    Program(Vec<String>),
}

/// The events of SPEC section 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum EventName {
    SessionBeforeCompact,
    #[serde(rename = "session.compacting")]
    SessionCompacting,
    SessionCompact,
    SessionBeforeTree,
    SessionTree,
    SessionStart,
    SessionShutdown,
    BeforePrompt,
    ToolCall,
    ToolResult,
    TurnEnd,
}

/// See [`SettingsLayer::endpoints`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointLayer {
    /// name of the provider that this server is
    #[schemars(length(min = 1))]
    pub name: String,
    /// address of the server, without the protocol's own path
    #[serde(default)]
    #[schemars(regex(pattern = "^https?://"))]
    pub base_url: Option<String>,
    /// name of the environment variable that holds the key
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// the protocol it speaks
    #[serde(default)]
    pub api: Option<ApiName>,
}

/// See [`EndpointLayer::api`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum ApiName {
    OpenaiCompletions,
    OpenaiResponses,
    AnthropicMessages,
    GoogleGenerativeAi,
}

/// See [`SettingsLayer::terminal`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TerminalLayer {
    /// whether the window's title says what runs and where
    pub title: Option<bool>,
    /// whether links can be opened, in terminals that know links
    pub links: Option<bool>,
    /// whether the task bar shows progress, in terminals that know it
    pub progress: Option<bool>,
    /// how a long turn's end or a question reaches you when you look elsewhere
    pub notify: Option<NotifyName>,
}

/// See [`TerminalLayer::notify`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum NotifyName {
    Off,
    Bell,
    Desktop,
}

/// See [`SettingsLayer::timeouts`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TimeoutsLayer {
    /// until the connection stands
    #[schemars(range(min = 1, max = 86400))]
    pub connect: Option<u64>,
    /// until the first byte from a hosted model
    #[schemars(range(min = 1, max = 86400))]
    pub first_byte: Option<u64>,
    /// until the first byte from a model on this machine
    #[schemars(range(min = 1, max = 86400))]
    pub first_byte_local: Option<u64>,
    /// between two bytes
    #[schemars(range(min = 1, max = 86400))]
    pub idle: Option<u64>,
}

fn text_or_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number"] })
}

fn text_or_texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "array"], "minLength": 1, "minItems": 1, "items": { "type": "string" }
    })
}

fn scalars(_: &mut SchemaGenerator) -> Schema {
    let scalar = json_schema!({ "type": ["string", "number", "boolean"] });
    json_schema!({ "type": "object", "additionalProperties": scalar })
}
