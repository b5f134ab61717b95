//! Finds and reads prompt templates and skills: the person's, and those of a project that is trusted
//! (SPEC G2). Reads only; whatever cannot be read is told, never fatal.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::skill::{Skill, bounded};
use super::template::Template;

/// Most bytes of one file.
const MAX_BYTES: u64 = 256 * 1024;
/// Most files or folders that are looked at in one place.
const MOST_ENTRIES: usize = 500;

/// Where a run's templates and skills are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryPlaces {
    /// The person's folder, `$XDG_CONFIG_HOME/regrow`.
    pub user: PathBuf,
    /// The project's folder.
    pub project: PathBuf,
    /// Whether the project may add its own.
    pub trusted: bool,
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Library {
    /// By name.
    pub templates: Vec<Template>,
    /// By name; bounded.
    pub skills: Vec<Skill>,
    /// What the person should know of.
    pub notices: Vec<String>,
}

/// Reads all templates and skills. Of two with one name the project's wins. `commands` are names
/// that no template can have, because commands of the program do.
#[must_use]
pub fn read_library(places: &LibraryPlaces, is_command: impl Fn(&str) -> bool) -> Library {
    let mut notices = Vec::new();
    let own = places.project.join(".regrow");
    let project = |folder: PathBuf| places.trusted.then_some(folder);
    let prompts = [Some(places.user.join("prompts")), project(own.join("prompts"))];
    let mut templates = BTreeMap::new();
    for folder in prompts.into_iter().flatten() {
        read_templates(&folder, &is_command, &mut templates, &mut notices);
    }
    let folders = [
        Some(places.user.join("skills")),
        project(places.project.join(".agents/skills")),
        project(own.join("skills")),
    ];
    let mut skills = BTreeMap::new();
    for folder in folders.into_iter().flatten() {
        read_skills(&folder, &mut skills, &mut notices);
    }
    if !places.trusted {
        notices.extend(left_out(&places.project));
    }
    let skills = bounded(skills.into_values().collect(), &mut notices);
    Library { templates: templates.into_values().collect(), skills, notices }
}

/// What a project would add if it were trusted.
fn left_out(project: &Path) -> Option<String> {
    let there: Vec<&str> = [".regrow/prompts", ".regrow/skills", ".agents/skills"]
        .into_iter()
        .filter(|folder| project.join(folder).is_dir())
        .collect();
    (!there.is_empty()).then(|| {
        format!(
            "{} is not trusted: its {} are left out; start with --trust to take them",
            project.display(),
            there.join(" and ")
        )
    })
}

fn read_templates(
    folder: &Path,
    is_command: &impl Fn(&str) -> bool,
    found: &mut BTreeMap<String, Template>,
    notices: &mut Vec<String>,
) {
    for path in entries(folder, notices) {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        // Only files: opening anything else may hang.
        if path.extension().is_none_or(|ending| ending != "md") || !path.is_file() {
            continue;
        }
        let shown = path.display().to_string();
        if name.is_empty() || name.contains(char::is_whitespace) {
            notices.push(format!("{shown}: the name of a template must be one word"));
        } else if is_command(&name) {
            notices.push(format!("{shown} is not used: /{name} is a command of regrow's own"));
        } else {
            match read(&path).and_then(|text| Template::parse(&name, &shown, &text)) {
                Ok(template) => drop(found.insert(name, template)),
                Err(problem) => notices.push(format!("{shown}: {problem}")),
            }
        }
    }
}

fn read_skills(folder: &Path, found: &mut BTreeMap<String, Skill>, notices: &mut Vec<String>) {
    for path in entries(folder, notices) {
        let file = path.join("SKILL.md");
        if !file.is_file() {
            continue;
        }
        let called = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let mut warnings = Vec::new();
        let skill = read(&file).and_then(|text| Skill::parse(&text, &called, &real, &mut warnings));
        let told = match &skill {
            Ok(_) => warnings,
            Err(problem) => vec![problem.clone()],
        };
        notices.extend(told.into_iter().map(|problem| format!("{}: {problem}", file.display())));
        if let Ok(skill) = skill {
            found.insert(skill.name.clone(), skill);
        }
    }
}

/// What a folder holds, in order; nothing when it is not there.
fn entries(folder: &Path, notices: &mut Vec<String>) -> Vec<PathBuf> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                notices.push(format!("{} cannot be read: {error}", folder.display()));
            }
            return Vec::new();
        }
    };
    let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    if paths.len() > MOST_ENTRIES {
        paths.truncate(MOST_ENTRIES);
        notices.push(format!(
            "{} holds more than {MOST_ENTRIES} entries; the rest is left out",
            folder.display()
        ));
    }
    paths
}

fn read(path: &Path) -> Result<String, String> {
    let cannot = |error: io::Error| format!("cannot be read: {error}");
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(cannot)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("is larger than {} KiB", MAX_BYTES >> 10));
    }
    String::from_utf8(bytes).map_err(|_| "is no UTF-8 text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn library(root: &tempfile::TempDir, trusted: bool) -> Library {
        let places = LibraryPlaces {
            user: root.path().join("config"),
            project: root.path().join("shop"),
            trusted,
        };
        let mut library = read_library(&places, |name| name == "tree");
        let root = root.path().display().to_string();
        for notice in &mut library.notices {
            *notice = notice.replace(&root, "ROOT");
        }
        library
    }

    const SKILL: &str = "---\nname: NAME\ndescription: D\n---\nDo.\n";

    fn named(name: &str, description: &str) -> String {
        SKILL.replace("NAME", name).replace('D', description)
    }

    #[test]
    fn g2_a_projects_own_count_once_it_is_trusted() {
        let root = machine(&[
            ("config/prompts/fix.md", "mine"),
            ("config/skills/pdf/SKILL.md", &named("pdf", "mine")),
            ("config/skills/notes.txt", "no skill"),
            ("config/skills/empty/README.md", "no skill"),
            ("shop/.regrow/prompts/fix.md", "the project's"),
            ("shop/.regrow/prompts/review.md", "review"),
            ("shop/.agents/skills/pdf/SKILL.md", &named("pdf", "agents")),
            ("shop/.agents/skills/zip/SKILL.md", &named("zip", "agents")),
            ("shop/.regrow/skills/pdf/SKILL.md", &named("pdf", "project")),
        ]);
        let told = |library: &Library| -> Vec<String> {
            let templates = library.templates.iter().map(|t| format!("{}: {}", t.name, t.body));
            let skills = library.skills.iter().map(|s| format!("{}: {}", s.name, s.description));
            templates.chain(skills).collect()
        };
        let trusted = library(&root, true);
        assert_eq!(
            told(&trusted),
            ["fix: the project's", "review: review", "pdf: project", "zip: agents"]
        );
        assert_eq!(trusted.notices, [""; 0]);
        let untrusted = library(&root, false);
        assert_eq!(told(&untrusted), ["fix: mine", "pdf: mine"]);
        assert_eq!(
            untrusted.notices,
            [
                "ROOT/shop is not trusted: its .regrow/prompts and .regrow/skills and .agents/skills are \
              left out; start with --trust to take them"
            ]
        );
    }

    #[test]
    fn u4_what_cannot_be_used_is_told_by_file() {
        let root = machine(&[
            ("config/prompts/tree.md", "never"),
            ("config/prompts/two words.md", "never"),
            ("config/prompts/open.md", "---\ndescription: x\n"),
            ("config/prompts/notes.txt", "no template"),
            ("config/prompts/huge.md", &"x".repeat(300_000)),
            ("config/skills/bad/SKILL.md", "# no head\n"),
            ("config/skills/other/SKILL.md", &named("another", "x")),
        ]);
        fs::write(root.path().join("config/prompts/bytes.md"), [0xff, 0xfe]).unwrap();
        let library = library(&root, true);
        assert!(library.templates.is_empty());
        assert_eq!(
            library.notices,
            [
                "ROOT/config/prompts/bytes.md: is no UTF-8 text",
                "ROOT/config/prompts/huge.md: is larger than 256 KiB",
                "ROOT/config/prompts/open.md: the head that begins in line 1 has no closing `---`",
                "ROOT/config/prompts/tree.md is not used: /tree is a command of regrow's own",
                "ROOT/config/prompts/two words.md: the name of a template must be one word",
                "ROOT/config/skills/bad/SKILL.md: has no `description`, so no model could tell when to \
                 use it",
                "ROOT/config/skills/other/SKILL.md: is called `another`, but its folder is `other`",
            ]
        );
        assert_eq!(library.skills.len(), 1);
    }

    #[test]
    fn f79_pipes_are_never_opened() {
        let root = machine(&[("config/prompts/a.md", "a"), ("config/skills/x/README.md", "")]);
        for path in ["config/prompts/b.md", "config/skills/x/SKILL.md"] {
            let made = std::process::Command::new("mkfifo").arg(root.path().join(path)).status();
            assert!(made.unwrap().success());
        }
        let library = library(&root, true);
        assert_eq!((library.templates.len(), library.skills.len()), (1, 0));
    }
}
