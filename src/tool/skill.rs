//! The `skill` tool: the instructions of a skill, when a task calls for them. What skills there are is
//! said in the system prompt; finding them is `prompt::library`'s business.

use std::io::Read as _;
use std::path::PathBuf;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::replace_file::failed;
use super::truncate::{Limits, counted, first_lines};
use super::{Effect, Tool, ToolContext, ToolError, ToolOutput, blocking, locate, sanitize};
use crate::nearest::nearest;
use crate::prompt::skill::{Skill, SkillShelf};
use crate::provider::ToolSpec;

/// See the module.
#[derive(Debug, Clone)]
pub struct SkillTool {
    shelf: SkillShelf,
}

impl SkillTool {
    /// Reads from this shelf.
    #[must_use]
    pub const fn new(shelf: SkillShelf) -> Self {
        Self { shelf }
    }

    fn wanted(&self, arguments: &Value) -> Result<Skill, ToolError> {
        let arguments = Arguments::new("skill", arguments)?;
        let name = arguments.filled_text(&["name", "skill"])?;
        let skills = self.shelf.skills();
        skills.iter().find(|skill| skill.name == name).cloned().ok_or_else(|| {
            let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
            let hint = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are: {}", names.join(", ")),
            };
            arguments.error("name", &format!("is no skill: `{name}`; {hint}"))
        })
    }
}

impl Tool for SkillTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "skill".to_owned(),
            description: include_str!("../../prompts/tools/skill.md").trim_end().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Name of the skill, as the system prompt lists it"}
                },
                "required": ["name"]
            }),
        }
    }

    fn effect(&self, arguments: &Value, _cx: &ToolContext) -> Result<Effect, ToolError> {
        Ok(Effect::Read { paths: vec![self.wanted(arguments)?.file()] })
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let wanted = self.wanted(&arguments);
        Box::pin(async move {
            let skill = wanted?;
            let limits = Limits::for_tokens(cx.max_result_tokens);
            blocking::look(cx.cancel, move |_| read(&skill, limits)).await
        })
    }

    fn parallel(&self) -> bool {
        true
    }

    fn is_offered(&self) -> bool {
        !self.shelf.skills().is_empty()
    }

    fn reads_freely(&self) -> Vec<PathBuf> {
        self.shelf.skills().iter().map(|skill| skill.folder.clone()).collect()
    }
}

fn read(skill: &Skill, limits: Limits) -> Result<ToolOutput, ToolError> {
    let path = skill.file();
    let cannot = |error| failed(&path, "it cannot be read", &error);
    let mut bytes = Vec::new();
    let file = locate::open_file(&path).map_err(cannot)?;
    file.take(limits.bytes as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    let is_whole = bytes.len() <= limits.bytes;
    let text = String::from_utf8_lossy(&bytes);
    let (text, _) = sanitize::with_visible_controls(&text);
    let (shown, lines) = first_lines(&text, limits);
    let mut said = format!("Folder of this skill: {}\n\n{}", skill.folder.display(), shown.trim());
    if !is_whole || shown.len() < text.len() {
        said.push_str(&format!(
            "\n\n[Only the first {} are shown; read {} for the rest]",
            counted(lines, "line"),
            path.display()
        ));
    }
    Ok(ToolOutput::text(said, counted(lines, "line")))
}
