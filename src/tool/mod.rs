//! The port to tools: what a model may ask for, and how that is carried out (SPEC A2, I13).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::message::Block;
use crate::provider::ToolSpec;

pub mod builtin;
pub mod diff;
pub mod permission;
pub mod permission_check;
pub mod process;
pub mod sanitize;
pub mod skill;
pub mod stamps;
pub mod truncate;

mod arguments;
mod bash;
mod blocking;
mod capture;
mod edit;
mod find;
mod grep;
mod locate;
mod ls;
mod process_group;
mod read;
pub mod read_image;
mod replace_file;
pub mod replacement;
mod text_file;
mod walk;
mod write;

/// Something a model can ask for. Shared by all calls; a call's state lives in its future.
pub trait Tool: Send + Sync {
    /// Name, description and arguments for the model.
    fn spec(&self) -> ToolSpec;

    /// What a call would do, so that permission can be asked before anything happens. Reads at
    /// most the files it would change (to show a diff).
    ///
    /// # Errors
    /// Arguments that do not fit: the sentence goes to the model and names the field.
    fn effect(&self, arguments: &Value, cx: &ToolContext) -> Result<Effect, ToolError>;

    /// Carries a call out. Settles soon after `cx.cancel` fires (I7) and leaves no process behind.
    ///
    /// # Errors
    /// A failure is data for the model; it never ends the turn.
    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;

    /// Whether calls may run beside others: true for tools that only read.
    fn parallel(&self) -> bool {
        false
    }

    /// Whether there is anything that it could do just now; a tool that is not offered cannot be
    /// called either.
    fn is_offered(&self) -> bool {
        true
    }

    /// Folders outside the workspace that this tool sends the model to: any tool may read there
    /// without a question, unless a rule forbids it.
    fn reads_freely(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Where and under what conditions a call runs.
#[derive(Clone)]
pub struct ToolContext {
    /// The session's folder; relative paths start here.
    pub cwd: PathBuf,
    /// Fires when the person presses Escape.
    pub cancel: CancellationToken,
    /// Takes pieces of output while the call runs, for the screen only. May drop some.
    pub progress: Arc<dyn Fn(String) + Send + Sync>,
    /// Most tokens that a result should take, as a share of the model's window (F79).
    pub max_result_tokens: u64,
}

impl ToolContext {
    /// A path from arguments: `~` expanded, relative to the session's folder, `.` and `..` resolved
    /// by name only.
    #[must_use]
    pub fn resolve(&self, path: &str) -> PathBuf {
        resolve_path(&self.cwd, path)
    }
}

/// See [`ToolContext::resolve`].
#[must_use]
pub fn resolve_path(cwd: &Path, path: &str) -> PathBuf {
    use std::path::Component;
    let path = path.strip_prefix('@').unwrap_or(path);
    let joined = match (path.strip_prefix("~/"), home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if path == "~" => home().unwrap_or_else(|| cwd.to_path_buf()),
        _ => cwd.join(path),
    };
    let mut resolved = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
    }
    resolved
}

fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok()
}

/// What a call would do to the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Only looks at these paths.
    Read {
        /// Absolute.
        paths: Vec<PathBuf>,
    },
    /// Changes a file.
    Write {
        /// Absolute.
        path: PathBuf,
        /// Unified diff of what would change, bounded; `None` when it cannot be shown.
        diff: Option<String>,
    },
    /// Runs a command.
    Command {
        /// As it goes to the shell.
        command: String,
    },
}

/// What a call gave back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// For the model, bounded and without control characters (I13).
    pub content: Vec<Block>,
    /// For the screen, bounded (F53): `{diff, added, removed}`, `{exitCode, seconds, fullOutputPath}`,
    /// `{lines}`, `{matches}`; every tool also sets `summary`, the words at the right edge of its line.
    pub details: Option<Value>,
}

impl ToolOutput {
    /// Text for the model and a few words for the screen.
    #[must_use]
    pub fn text(text: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            content: vec![Block::text(text)],
            details: Some(serde_json::json!({ "summary": summary.into() })),
        }
    }
}

/// A call that failed, with what the model and the screen are told.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What was tried, on what, why it failed, what to do; may hold output of several lines.
    pub message: String,
    /// As [`ToolOutput::details`].
    pub details: Option<Value>,
}

impl ToolError {
    /// An error without details.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), details: None }
    }
}

/// The tools of a session, in the order in which models see them.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Arc<[(ToolSpec, Arc<dyn Tool>)]>,
    /// Names of those that are wanted; `None` for all.
    wanted: Option<Arc<[String]>>,
}

impl ToolRegistry {
    /// Takes the tools in order.
    #[must_use]
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let tools = tools.into_iter().map(|tool| (tool.spec(), tool)).collect();
        Self { tools, wanted: None }
    }

    /// The same tools and one more, at the end.
    #[must_use]
    pub fn and(&self, tool: Arc<dyn Tool>) -> Self {
        let more = std::iter::once((tool.spec(), tool));
        let tools = self.tools.iter().cloned().chain(more).collect();
        Self { tools, wanted: self.wanted.clone() }
    }

    /// Only the tools with these names, in the order of the registry; `None` for all of them. What an
    /// earlier choice left out can be chosen again.
    #[must_use]
    pub fn only(&self, names: Option<&[String]>) -> Self {
        Self { tools: self.tools.clone(), wanted: names.map(Into::into) }
    }

    /// What is on offer now.
    fn offered(&self) -> impl Iterator<Item = &(ToolSpec, Arc<dyn Tool>)> {
        self.tools.iter().filter(|(spec, tool)| {
            let wanted = self.wanted.as_ref().is_none_or(|names| names.contains(&spec.name));
            wanted && tool.is_offered()
        })
    }

    /// Finds a tool by the name that a model used.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.offered().find(|(spec, _)| spec.name == name).map(|(_, tool)| tool)
    }

    /// What a request offers.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.offered().map(|(spec, _)| spec.clone()).collect()
    }

    /// See [`Tool::reads_freely`].
    #[must_use]
    pub fn reads_freely(&self) -> Vec<PathBuf> {
        self.offered().flat_map(|(_, tool)| tool.reads_freely()).collect()
    }
}
