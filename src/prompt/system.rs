//! Builds the system prompt from its parts. Pure: whoever calls it has read the files and the clock.
//!
//! The wording lives in `prompts/system/system-prompt.md`, never here. The same parts give the same
//! text, byte for byte, so that providers can cache it.

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use super::skill::Skill;

/// Everything that the system prompt is made of.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SystemPromptParts<'a> {
    /// The person's own prompt in place of the built-in rules (`--system-prompt`). The surroundings and
    /// the instructions stay.
    pub own: Option<&'a str>,
    /// The tools on offer.
    pub tools: &'a [ToolLine],
    /// The skills on offer; none when there is no tool to read them.
    pub skills: &'a [SkillLine],
    /// The day, as `2026-01-14`: not the time, which would spoil every cache.
    pub date: &'a str,
    /// The session's folder.
    pub cwd: &'a str,
    /// The root of its repository, when it is another folder.
    pub repository: Option<&'a str>,
    /// The operating system, such as `linux (x86_64)`.
    pub platform: &'a str,
    /// Project instructions, general ones first (X5).
    pub instructions: &'a [Instructions],
    /// Text for the end (`--append-system-prompt`).
    pub appended: Option<&'a str>,
}

/// A tool in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolLine {
    /// Its name.
    pub name: String,
    /// What it does.
    pub summary: String,
}

impl ToolLine {
    /// Takes the first sentence of a tool's description.
    #[must_use]
    pub fn new(name: &str, description: &str) -> Self {
        let line = description.lines().next().unwrap_or_default().trim();
        let end = line.find(". ").map_or(line.len(), |at| at + 1);
        Self { name: name.to_owned(), summary: line[..end].to_owned() }
    }
}

/// A skill in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillLine {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
}

impl From<&Skill> for SkillLine {
    fn from(skill: &Skill) -> Self {
        Self { name: skill.name.clone(), description: skill.description.clone() }
    }
}

/// The text of one file of instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instructions {
    /// Where it is, for the model and for `/context`.
    pub path: String,
    /// What it says; bounded by whoever read it.
    pub text: String,
}

/// The system prompt of a request.
#[must_use]
pub fn build_system_prompt(parts: &SystemPromptParts<'_>) -> String {
    let source = include_str!("../../prompts/system/system-prompt.md");
    let values = Serde(SystemPromptParts {
        own: parts.own.map(str::trim),
        appended: parts.appended.map(str::trim),
        ..parts.clone()
    });
    // The template is compiled in and a test renders it; it is a prompt even as it stands.
    let rendered = Environment::new().render_str(source, values);
    rendered.map_or_else(|_| source.to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Vec<ToolLine> {
        vec![
            ToolLine::new("read", "Reads a file. At most 2,000 lines."),
            ToolLine::new("bash", "Runs a command"),
        ]
    }

    fn parts<'a>(tools: &'a [ToolLine], instructions: &'a [Instructions]) -> SystemPromptParts<'a> {
        SystemPromptParts {
            tools,
            date: "2026-01-14",
            cwd: "/home/me/shop/api",
            repository: Some("/home/me/shop"),
            platform: "linux (x86_64)",
            instructions,
            ..SystemPromptParts::default()
        }
    }

    #[test]
    fn x5_the_prompt_holds_every_part_once() {
        let instructions = [
            Instructions { path: "~/AGENTS.md".into(), text: "Answer briefly.".into() },
            Instructions { path: "AGENTS.md".into(), text: "Use {{ tabs }} & <b>.".into() },
        ];
        let tools = tools();
        let mut parts = parts(&tools, &instructions);
        parts.appended = Some("  The end.  ");
        let prompt = build_system_prompt(&parts);
        for text in [
            "- read: Reads a file.\n- bash: Runs a command\n",
            "Today is 2026-01-14. The working directory is /home/me/shop/api in the repository /home/me/shop. The system is linux (x86_64).",
            "<instructions path=\"~/AGENTS.md\">\nAnswer briefly.\n</instructions>",
            "Use {{ tabs }} & <b>.",
        ] {
            assert_eq!(prompt.matches(text).count(), 1, "{text:?} in\n{prompt}");
        }
        assert!(prompt.ends_with("\n\nThe end."), "{prompt}");
        assert!(!prompt.contains("{%") && !prompt.contains("\n\n\n"), "{prompt}");
    }

    #[test]
    fn skills_are_listed_once_and_in_order() {
        let line = |name: &str, description: &str| SkillLine {
            name: name.to_owned(),
            description: description.to_owned(),
        };
        let skills = [line("pdf", "Fills {{ forms }}."), line("zip", "Packs <files>.")];
        for own in [None, Some("You are a poet.")] {
            let parts = SystemPromptParts { skills: &skills, own, ..parts(&[], &[]) };
            let prompt = build_system_prompt(&parts);
            let list = "- pdf: Fills {{ forms }}.\n- zip: Packs <files>.\n\nToday is";
            assert_eq!(prompt.matches(list).count(), 1, "{prompt}");
            assert!(!prompt.contains("\n\n\n"), "{prompt}");
            assert_eq!(build_system_prompt(&parts), prompt);
        }
    }

    #[test]
    fn x5_without_extras_nothing_empty_is_left() {
        let prompt =
            build_system_prompt(&SystemPromptParts { repository: None, ..parts(&[], &[]) });
        assert!(
            !prompt.contains("instructions follow")
                && !prompt.contains("Your tools")
                && !prompt.contains("skills"),
            "{prompt}"
        );
        assert!(
            prompt.ends_with("is /home/me/shop/api. The system is linux (x86_64)."),
            "{prompt}"
        );
        assert!(!prompt.contains("\n\n\n"), "{prompt}");
    }

    #[test]
    fn an_own_prompt_replaces_the_rules_and_keeps_the_surroundings() {
        let tools = tools();
        let instructions = [Instructions { path: "AGENTS.md".into(), text: "Rule.".into() }];
        let mut parts = parts(&tools, &instructions);
        parts.own = Some("You are a poet.");
        let prompt = build_system_prompt(&parts);
        assert!(prompt.starts_with("You are a poet.\n\nToday is 2026-01-14."), "{prompt}");
        assert!(prompt.contains("Rule.") && !prompt.contains("coding agent"), "{prompt}");
    }
}
