//! Skills: folders with a `SKILL.md` that a model reads when a task calls for them, after the Agent
//! Skills convention. Pure; reading the folders is [`super::library`]'s.
//!
//! A request says only their names and descriptions, so the list is bounded, sorted, and the same for
//! every request until `/reload`: what a provider has cached stays good.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::front_matter::split;
use super::template::folded;

/// Most characters of a name, as the convention has it.
const LONGEST_NAME: usize = 64;
/// Most characters of a description, as the convention has it.
const LONGEST_DESCRIPTION: usize = 1_024;
/// Most bytes of all names and descriptions together: about 4 000 tokens of every request.
const MOST_LISTED: usize = 16 * 1024;

/// A skill, as far as every request knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name: lower-case letters, digits and single hyphens.
    pub name: String,
    /// What it does and when to use it, in one line.
    pub description: String,
    /// Its folder, links followed; `SKILL.md` lies in it.
    pub folder: PathBuf,
}

impl Skill {
    /// Reads the text of a `SKILL.md`; `called` is the name of its folder. What is wrong but can be
    /// lived with goes to `warnings`.
    ///
    /// # Errors
    /// It cannot be offered: no name that can be called, or no description.
    pub fn parse(
        text: &str,
        called: &str,
        folder: &Path,
        warnings: &mut Vec<String>,
    ) -> Result<Self, String> {
        let (head, _) = split(text)?;
        let name = head.get("name").unwrap_or_else(|| {
            warnings.push(format!("has no `name`; it is called `{called}` like its folder"));
            called
        });
        if let Some(problem) = name_problem(name) {
            return Err(format!("the name `{}` {problem}", folded(name, LONGEST_NAME)));
        }
        if name != called {
            warnings.push(format!("is called `{name}`, but its folder is `{called}`"));
        }
        let Some(description) = head.get("description") else {
            return Err("has no `description`, so no model could tell when to use it".to_owned());
        };
        if description.chars().count() > LONGEST_DESCRIPTION {
            warnings.push(format!(
                "has a description of more than {LONGEST_DESCRIPTION} characters; the rest is left out"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            description: folded(description, LONGEST_DESCRIPTION),
            folder: folder.to_owned(),
        })
    }

    /// The file that says how it is done.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join("SKILL.md")
    }
}

fn name_problem(name: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.chars().count() > LONGEST_NAME {
        return Some("is longer than 64 characters");
    }
    if !name.chars().all(allowed) {
        return Some("may hold only lower-case letters, digits and hyphens");
    }
    let edge = name.is_empty() || name.starts_with('-') || name.ends_with('-');
    (edge || name.contains("--")).then_some("may not begin or end with a hyphen, nor double one")
}

/// Puts skills in order and leaves out what is too much for every request; `warnings` name it.
#[must_use]
pub fn bounded(mut skills: Vec<Skill>, warnings: &mut Vec<String>) -> Vec<Skill> {
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    let mut room = MOST_LISTED;
    let fitting = skills.iter().take_while(|skill| {
        let size = skill.name.len() + skill.description.len();
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    });
    let fitting = fitting.count();
    let left_out: Vec<String> = skills.drain(fitting..).map(|skill| skill.name).collect();
    if !left_out.is_empty() {
        warnings.push(format!(
            "the descriptions of all skills together are longer than {} KiB; not offered: {}",
            MOST_LISTED >> 10,
            left_out.join(", ")
        ));
    }
    skills
}

/// The skills of a run, shared by the system prompt and the `skill` tool. What is on it changes only
/// as a whole.
#[derive(Debug, Clone, Default)]
pub struct SkillShelf(Arc<RwLock<Arc<[Skill]>>>);

impl SkillShelf {
    /// A shelf with these.
    #[must_use]
    pub fn new(skills: Vec<Skill>) -> Self {
        Self(Arc::new(RwLock::new(skills.into())))
    }

    /// What is on it now.
    #[must_use]
    pub fn skills(&self) -> Arc<[Skill]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts others in place of all.
    pub fn replace(&self, skills: Vec<Skill>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = skills.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Result<Skill, String>, Vec<String>) {
        let mut warnings = Vec::new();
        let skill = Skill::parse(text, "pdf-forms", Path::new("/skills/pdf-forms"), &mut warnings);
        (skill, warnings)
    }

    #[test]
    fn a_skill_is_read_as_the_convention_has_it() {
        let (skill, warnings) = parse(
            "---\nname: pdf-forms\ndescription: >\n  Fills forms.\n  Use for PDF files.\nlicense: MIT\n\
             metadata:\n  author: x\nallowed-tools: Bash(x) Read\n---\n# How\n",
        );
        let skill = skill.unwrap();
        assert_eq!(skill.name, "pdf-forms");
        assert_eq!(skill.description, "Fills forms. Use for PDF files.");
        assert_eq!(skill.file(), Path::new("/skills/pdf-forms/SKILL.md"));
        assert_eq!(warnings, [""; 0]);
    }

    #[test]
    fn what_can_be_lived_with_is_a_warning() {
        let (skill, warnings) = parse("---\ndescription: d\n---\n");
        assert_eq!(skill.unwrap().name, "pdf-forms");
        assert_eq!(warnings, ["has no `name`; it is called `pdf-forms` like its folder"]);
        let (skill, warnings) = parse("---\nname: other\ndescription: d\n---\n");
        assert_eq!(skill.unwrap().name, "other");
        assert_eq!(warnings, ["is called `other`, but its folder is `pdf-forms`"]);
        let long = "가".repeat(2_000);
        let (skill, warnings) = parse(&format!("---\nname: pdf-forms\ndescription: {long}\n---\n"));
        assert_eq!(skill.unwrap().description.chars().count(), LONGEST_DESCRIPTION + 1);
        assert!(warnings[0].contains("1024"), "{warnings:?}");
    }

    #[test]
    fn what_cannot_be_offered_says_why() {
        let long = format!("---\nname: {}\ndescription: d\n---\n", "a".repeat(65));
        for (text, expected) in [
            ("# How\n", "has no `description`, so no model could tell when to use it"),
            (
                "---\nname: PDF\ndescription: d\n---\n",
                "the name `PDF` may hold only lower-case letters, digits and hyphens",
            ),
            (
                "---\nname: a_b\ndescription: d\n---\n",
                "the name `a_b` may hold only lower-case letters, digits and hyphens",
            ),
            (
                "---\nname: a--b\ndescription: d\n---\n",
                "the name `a--b` may not begin or end with a hyphen, nor double one",
            ),
            (
                "---\nname: -a\ndescription: d\n---\n",
                "the name `-a` may not begin or end with a hyphen, nor double one",
            ),
            (
                "---\nname: ../x\ndescription: d\n---\n",
                "the name `../x` may hold only lower-case letters, digits and hyphens",
            ),
            (
                "---\nname: pdf-forms\ndescription: ''\n---\n",
                "has no `description`, so no model could tell when to use it",
            ),
            ("---\nname: pdf-forms\n", "the head that begins in line 1 has no closing `---`"),
            (
                &long,
                &format!("the name `{}` is longer than 64 characters", folded(&"a".repeat(65), 64)),
            ),
        ] {
            assert_eq!(parse(text).0.unwrap_err(), *expected, "{text}");
        }
    }

    #[test]
    fn the_list_is_sorted_and_bounded() {
        let skill = |name: &str, length| Skill {
            name: name.to_owned(),
            description: "x".repeat(length),
            folder: PathBuf::new(),
        };
        let mut warnings = Vec::new();
        let few = bounded(vec![skill("b", 1), skill("a", 1)], &mut warnings);
        assert_eq!(few.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(warnings.is_empty());
        let many = (0..30).map(|number| skill(&format!("s{number:02}"), 1_000)).collect();
        let many = bounded(many, &mut warnings);
        assert_eq!(many.len(), 16);
        assert!(
            warnings[0].ends_with(
                "not offered: s16, s17, s18, s19, s20, s21, s22, s23, s24, s25, s26, s27, s28, s29"
            ),
            "{warnings:?}"
        );
    }

    #[test]
    fn a_shelf_is_shared() {
        let shelf = SkillShelf::default();
        let other = shelf.clone();
        let skill = Skill { name: "a".into(), description: "b".into(), folder: PathBuf::new() };
        other.replace(vec![skill.clone()]);
        assert_eq!(*shelf.skills(), [skill]);
    }
}
