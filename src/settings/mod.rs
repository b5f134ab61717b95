//! The settings of a run, resolved: plain values with the defaults of SPEC sections 7 and 8.
//!
//! Where a value came from is [`layer`]'s business; nothing here reads files or the environment.

use serde_json::{Map, Value};

pub mod check;
pub mod edit;
pub mod file;
pub mod layer;
pub mod layers;
pub mod migrate;
pub mod node;
pub mod origin;
pub mod resolve;
pub mod schema;
pub mod trust;

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Automatic and manual compaction (G3).
    pub compaction: CompactionSettings,
    /// Summaries of branches that are left (G3).
    pub branch_summary: BranchSummarySettings,
    /// How every summary is made (section 8).
    pub summarization: SummarizationSettings,
    /// What may be done without asking (A3).
    pub permissions: PermissionSettings,
    /// External programs that watch the session, in the order in which they run (section 6).
    pub hooks: Vec<HookSettings>,
    /// The person's own model servers.
    pub endpoints: Vec<EndpointSettings>,
    /// `provider` and `model` to start with.
    pub provider: Option<String>,
    /// See `provider`.
    pub model: Option<String>,
    /// Thinking level to start with.
    pub thinking: Option<String>,
    /// Folder of session files; overrides J1's default.
    pub session_dir: Option<String>,
    /// Names of the tools on offer; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Theme name, or `auto`.
    pub theme: Option<String>,
    /// Whether the screen takes the mouse.
    pub mouse: bool,
    /// `false` turns off everything that moves.
    pub animation: Option<bool>,
    /// What the terminal around the screen is told.
    pub terminal: TerminalSettings,
    /// `false` turns prompt caching off.
    pub cache: Option<bool>,
    /// Limits of waiting, in seconds.
    pub timeouts: Timeouts,
}

/// See [`Settings::terminal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSettings {
    /// The window's title says what runs and where.
    pub title: bool,
    /// Links can be opened.
    pub links: bool,
    /// The task bar shows progress.
    pub progress: bool,
    /// How news reaches a person who looks elsewhere.
    pub notify: Notify,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self { title: true, links: true, progress: true, notify: Notify::Bell }
    }
}

/// See [`TerminalSettings::notify`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notify {
    /// Not at all.
    Off,
    /// By the terminal's bell.
    #[default]
    Bell,
    /// By the bell and a notification on the desktop.
    Desktop,
}

/// See [`Settings::compaction`].
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionSettings {
    /// Automatic compaction; `/compact` works all the same.
    pub enabled: bool,
    /// Tokens kept free for the answer.
    pub reserve_tokens: u64,
    /// Tokens of recent messages that stay verbatim.
    pub keep_recent_tokens: u64,
    /// Whether work goes on by itself after a threshold compaction.
    pub auto_continue: bool,
    /// A server that makes the summaries (C21).
    pub remote_endpoint: Option<String>,
    /// What happens when every model fails (C22).
    pub fallback: Fallback,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
            auto_continue: true,
            remote_endpoint: None,
            fallback: Fallback::Extractive,
        }
    }
}

/// See [`CompactionSettings::fallback`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// The summary is made without a model.
    #[default]
    Extractive,
    /// The error is reported.
    None,
}

/// See [`Settings::branch_summary`].
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummarySettings {
    /// Whether *summarise* is the preselected answer (B8).
    pub enabled: bool,
    /// Tokens kept free for the answer (B3).
    pub reserve_tokens: u64,
    /// Never ask; follow `enabled`.
    pub skip_prompt: bool,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { enabled: false, reserve_tokens: 16_384, skip_prompt: false }
    }
}

/// See [`Settings::summarization`].
#[derive(Debug, Clone, PartialEq)]
pub struct SummarizationSettings {
    /// Provider of the summarising model, in any case; the session's own when absent (S1).
    pub provider: Option<String>,
    /// The summarising model; the session's own when absent (S1).
    pub model: Option<String>,
    /// Passed to the model (S2).
    pub parameters: Map<String, Value>,
    /// Replaces the first prompt entirely (S3).
    pub prompt: Option<String>,
    /// Replaces the update prompt entirely (S3).
    pub update_prompt: Option<String>,
    /// Upper limit of a summary (S4).
    pub max_summary_tokens: Option<u64>,
    /// Headroom, 0–1 (S5).
    pub reserve_ratio: f64,
    /// When to compact, instead of C3 (S6).
    pub trigger: Option<Trigger>,
    /// Whole turns to keep (S7).
    pub retain_recent: Option<RetainRecent>,
    /// Shortening of old tool results in the view (S8).
    pub context_pruning: ContextPruningSettings,
}

impl Default for SummarizationSettings {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            parameters: Map::new(),
            prompt: None,
            update_prompt: None,
            max_summary_tokens: None,
            reserve_ratio: 0.05,
            trigger: None,
            retain_recent: None,
            context_pruning: ContextPruningSettings::default(),
        }
    }
}

/// See [`SummarizationSettings::trigger`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trigger {
    /// Fires at `1 − remaining/window ≥ value`, 0–1.
    TokenRatio(f64),
    /// Fires at this many remaining tokens or fewer.
    RemainingTokens(u64),
    /// Fires when a compaction would summarise this many messages or more.
    MessagesToRefine(u64),
}

/// See [`SummarizationSettings::retain_recent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetainRecent {
    /// Whole turns, 0–20.
    pub turns: u32,
    /// As long as they stay under this.
    pub tokens: Option<u64>,
}

/// See [`SummarizationSettings::context_pruning`].
#[derive(Debug, Clone, PartialEq)]
pub struct ContextPruningSettings {
    /// Off by default.
    pub enabled: bool,
    /// Newest assistant turns that are never touched, 0–10.
    pub keep_last_assistants: usize,
    /// From this age on results are trimmed, 0–1.
    pub soft_trim_ratio: f64,
    /// From this age on results are cleared, 0–1.
    pub hard_clear_ratio: f64,
    /// Results below this many characters are never touched.
    pub min_prunable_tool_chars: usize,
    /// A result longer than this is trimmed.
    pub soft_trim_max_chars: usize,
    /// What stays of its beginning.
    pub soft_trim_head_chars: usize,
    /// What stays of its end.
    pub soft_trim_tail_chars: usize,
    /// Whether results are cleared at all.
    pub hard_clear_enabled: bool,
    /// What a cleared result says.
    pub hard_clear_placeholder: String,
}

impl Default for ContextPruningSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            keep_last_assistants: 3,
            soft_trim_ratio: 0.3,
            hard_clear_ratio: 0.5,
            min_prunable_tool_chars: 50_000,
            soft_trim_max_chars: 4_000,
            soft_trim_head_chars: 1_500,
            soft_trim_tail_chars: 1_500,
            hard_clear_enabled: true,
            hard_clear_placeholder: "[Old tool result content cleared]".to_owned(),
        }
    }
}

/// See [`Settings::permissions`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionSettings {
    /// What is free without rules.
    pub mode: PermissionMode,
    /// `tool(pattern)` rules that allow.
    pub allow: Vec<String>,
    /// `tool(pattern)` rules that forbid; they win.
    pub deny: Vec<String>,
}

/// See [`PermissionSettings::mode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PermissionMode {
    /// Reads are free; writes and commands are refused, and their tools are not on offer.
    Read,
    /// Reads are free; writes and commands ask.
    #[default]
    Ask,
    /// Edits inside the workspace are free as well.
    Edits,
    /// Everything inside the workspace is free, commands too.
    Full,
}

/// See [`Settings::hooks`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSettings {
    /// For messages.
    pub name: String,
    /// Events that start it.
    pub events: Vec<layer::EventName>,
    /// What is started.
    pub command: HookCommand,
    /// Arguments besides those of `command`.
    pub args: Vec<String>,
    /// Names of tools, `*` for any characters: events about other tools do not start it. `None` for
    /// all tools.
    pub tools: Option<Vec<String>>,
    /// Seconds until it is stopped.
    pub timeout: u64,
    /// Whether its failure cancels what can be cancelled (F81).
    pub required: bool,
}

/// See [`HookSettings::command`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookCommand {
    /// A line for `sh -c`.
    Line(String),
    /// A program and its arguments; never empty.
    Program(Vec<String>),
}

/// See [`Settings::endpoints`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSettings {
    /// The provider's name, lower case.
    pub name: String,
    /// Where it is; `None` when only its key is set here.
    pub base_url: Option<String>,
    /// The environment variable that holds its key.
    pub api_key_env: Option<String>,
    /// The wire protocol; `None` for the provider's own, of an unknown one `openai-completions`.
    pub api: Option<String>,
    /// Whether it is one of Azure's, by its group.
    pub azure: bool,
}

/// See [`Settings::timeouts`]; seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: u64,
    /// Until the first byte of a hosted model's answer.
    pub first_byte: u64,
    /// Until the first byte of a local model's answer.
    pub first_byte_local: u64,
    /// Between two bytes of an answer.
    pub idle: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: 10, first_byte: 300, first_byte_local: 1_800, idle: 120 }
    }
}
