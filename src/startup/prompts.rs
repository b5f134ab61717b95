//! Builds the system prompt of each request from what is on disk at that moment (X5, F16).

use std::path::{Path, PathBuf};

use crate::prompt::context_files::read_instructions;
use crate::prompt::skill::SkillShelf;
use crate::prompt::source::{PromptSource, SystemPrompt};
use crate::prompt::system::{SkillLine, SystemPromptParts, ToolLine, build_system_prompt};
use crate::provider::ToolSpec;
use crate::settings::file::project_root;

/// The real source of system prompts.
#[derive(Debug, Clone)]
pub(super) struct DiskPrompts {
    /// The person's folder, with instructions for all projects.
    pub(super) user_folder: PathBuf,
    /// `--system-prompt`.
    pub(super) own: Option<String>,
    /// `--append-system-prompt`.
    pub(super) appended: Option<String>,
    /// The skills on offer.
    pub(super) skills: SkillShelf,
}

impl PromptSource for DiskPrompts {
    fn system_prompt(&self, cwd: &Path, tools: &[ToolSpec]) -> SystemPrompt {
        let (instructions, notices) = read_instructions(&self.user_folder, cwd);
        for notice in notices {
            tracing::warn!("{notice}");
        }
        let tools: Vec<_> =
            tools.iter().map(|tool| ToolLine::new(&tool.name, &tool.description)).collect();
        let can_read_skills = tools.iter().any(|tool| tool.name == "skill");
        let skills: Vec<_> = match can_read_skills {
            true => self.skills.skills().iter().map(SkillLine::from).collect(),
            false => Vec::new(),
        };
        let root = project_root(cwd);
        let repository = (root != cwd).then(|| root.display().to_string());
        let parts = SystemPromptParts {
            own: self.own.as_deref(),
            tools: &tools,
            skills: &skills,
            date: &today(),
            cwd: &cwd.display().to_string(),
            repository: repository.as_deref(),
            platform: &format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH),
            instructions: &instructions,
            appended: self.appended.as_deref(),
        };
        SystemPrompt {
            text: build_system_prompt(&parts),
            instructions: instructions.iter().map(|file| file.text.as_str()).collect(),
        }
    }
}

/// The day in UTC: the same for everybody who shares a cache.
fn today() -> String {
    jiff::Timestamp::now().to_string().chars().take(10).collect()
}
