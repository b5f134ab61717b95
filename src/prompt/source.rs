//! The port through which a session gets its system prompt, anew for every request (X5, F16).

use std::path::Path;

use crate::provider::ToolSpec;

/// Builds the system prompt of a request.
pub trait PromptSource: Send + Sync {
    /// The prompt for a session that works in `cwd` with `tools`. Project instructions are read each
    /// time, so that they are in every request, once, and as they are now.
    fn system_prompt(&self, cwd: &Path, tools: &[ToolSpec]) -> SystemPrompt;
}

/// A system prompt, and how much of it is whose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPrompt {
    /// The whole text.
    pub text: String,
    /// The part of it that is the project's instructions; for `/context`.
    pub instructions: String,
}
