//! What a running program reads again: settings, templates, skills, theme, keys (`/reload`,
//! `/settings`). Nothing here touches a session; the screen hands on what is read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::library::library;
use super::places::Folders;
use super::screen::{keymap, theme_file};
use super::talk::settings_places;
use crate::prompt::context_files::read_instructions;
use crate::prompt::library::Library;
use crate::prompt::skill::{Skill, SkillShelf};
use crate::prompt::system::Instructions;
use crate::prompt::template::Template;
use crate::settings::Settings;
use crate::settings::edit::Change;
use crate::settings::file::{Resolved, change_checked, environment, find, load, own_values};
use crate::settings::layers::Override;
use crate::settings::resolve::Shown;
use crate::tool::permission::rule_problems;
use crate::tui::keymap::KeyMap;
use crate::tui::outside::Reloaded;
use crate::tui::overlay::settings::SettingsSheet;
use crate::tui::theme::Theme;
use crate::tui::theme_file::ThemeFile;

/// Where a run reads from, and what it read last.
pub(super) struct Live {
    folders: Folders,
    cwd: PathBuf,
    overrides: Vec<Override>,
    skills: SkillShelf,
    theme: Arc<Mutex<ThemeFile>>,
    last: Mutex<Snapshot>,
}

/// What was read last, to say what has changed.
#[derive(Default)]
struct Snapshot {
    shown: Vec<Shown>,
    templates: Vec<Template>,
    skills: Vec<Skill>,
    /// `None` until they were looked at for the first time.
    instructions: Option<Vec<Instructions>>,
    theme: Option<Theme>,
    keymap: Option<KeyMap>,
}

impl Live {
    /// A run that started in `cwd`, with these options of the command line and these skills.
    pub(super) fn new(
        folders: &Folders,
        cwd: &Path,
        overrides: Vec<Override>,
        skills: &SkillShelf,
    ) -> Self {
        let (folders, cwd, skills) = (folders.clone(), cwd.to_owned(), skills.clone());
        let last = Snapshot { skills: skills.skills().to_vec(), ..Snapshot::default() };
        let theme = Arc::new(Mutex::new(theme_file(&folders.config)));
        Self { folders, cwd, overrides, skills, theme, last: Mutex::new(last) }
    }

    /// What the start has read already.
    pub(super) fn having_read(self, shown: Vec<Shown>, templates: Vec<Template>) -> Self {
        let mut last = self.last();
        (last.shown, last.templates) = (shown, templates);
        drop(last);
        self
    }

    /// The templates of the start.
    pub(super) fn templates(&self) -> Vec<Template> {
        self.last().templates.clone()
    }

    /// The look of the start.
    ///
    /// # Errors
    /// The theme or the key map cannot be used.
    pub(super) fn look(&self, settings: &Settings) -> anyhow::Result<(Theme, KeyMap)> {
        let theme = self.theme(settings)?;
        let keymap = keymap(&self.folders.config)?;
        let mut last = self.last();
        (last.theme, last.keymap) = (Some(theme), Some(keymap.clone()));
        Ok((theme, keymap))
    }

    /// Where the theme comes from.
    pub(super) fn theme_file(&self) -> Arc<Mutex<ThemeFile>> {
        self.theme.clone()
    }

    fn theme(&self, settings: &Settings) -> anyhow::Result<Theme> {
        let mut file = self.theme.lock().unwrap_or_else(PoisonError::into_inner);
        file.choose(settings.theme.as_deref().unwrap_or("auto")).load()
    }

    /// See [`crate::tui::outside::Outside::settings`].
    pub(super) fn settings(&self) -> Result<SettingsSheet, String> {
        Ok(self.sheet(self.load()?.shown))
    }

    /// See [`crate::tui::outside::Outside::change_setting`].
    pub(super) fn change_setting(
        &self,
        change: &Change,
    ) -> Result<(SettingsSheet, Reloaded), String> {
        let places = settings_places(&self.folders, &self.cwd);
        let changes = std::slice::from_ref(change);
        let resolved = change_checked(&places, environment(), &self.overrides, changes)
            .map_err(|error| words(&error))?;
        let sheet = self.sheet(resolved.shown.clone());
        let mut reloaded = Reloaded::default();
        self.take_settings(resolved, &mut reloaded);
        Ok((sheet, reloaded))
    }

    /// See [`crate::tui::outside::Outside::reload`].
    pub(super) fn reload(&self, cwd: &Path) -> Reloaded {
        let mut reloaded = Reloaded::default();
        match self.load() {
            Ok(resolved) => self.take_settings(resolved, &mut reloaded),
            Err(problems) => {
                reloaded.problems.push(format!("the settings stay as they were: {problems}"));
            }
        }
        match keymap(&self.folders.config) {
            Ok(keymap) => {
                let old = self.last().keymap.replace(keymap.clone());
                if old.is_some_and(|old| old != keymap) {
                    reloaded.changed.push("keys: keymap.toml has changed".to_owned());
                }
                reloaded.keymap = Some(keymap);
            }
            Err(error) => reloaded.problems.push(format!("{error:#}")),
        }
        self.take_library(library(&self.folders, &self.cwd), &mut reloaded);
        self.look_at_instructions(cwd, &mut reloaded);
        reloaded
    }

    fn load(&self) -> Result<Resolved, String> {
        let places = settings_places(&self.folders, &self.cwd);
        load(&places, environment(), &self.overrides).map_err(|errors| {
            let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
            lines.join("\n")
        })
    }

    fn sheet(&self, shown: Vec<Shown>) -> SettingsSheet {
        let folder = &self.folders.config;
        let found = find(folder).ok().flatten();
        let file = found.map_or_else(|| folder.join("settings.json"), |(path, _)| path);
        let own = own_values(folder);
        SettingsSheet { file, shown, own }
    }

    fn take_settings(&self, resolved: Resolved, reloaded: &mut Reloaded) {
        let settings = resolved.settings;
        let name = settings.theme.as_deref().unwrap_or("auto");
        match self.theme(&settings) {
            Ok(theme) => {
                let old = self.last().theme.replace(theme);
                if old.is_some_and(|old| old != theme) {
                    reloaded.changed.push(format!("theme: {name} looks different now"));
                }
                reloaded.theme = Some(theme);
            }
            Err(error) => reloaded.problems.push(format!("{error:#}")),
        }
        let mut last = self.last();
        let old = std::mem::replace(&mut last.shown, resolved.shown);
        reloaded.changed.extend(changed_settings(&old, &last.shown));
        reloaded.problems.extend(resolved.notices);
        reloaded.problems.extend(rule_problems(&settings.permissions));
        reloaded.settings = Some(Arc::new(settings));
    }

    fn take_library(&self, found: Library, reloaded: &mut Reloaded) {
        let mut last = self.last();
        let named = |template: &Template| format!("/{}", template.name);
        let prompts = changed_items("prompts", &last.templates, &found.templates, named);
        let named = |skill: &Skill| skill.name.clone();
        let skills = changed_items("skills", &last.skills, &found.skills, named);
        reloaded.changed.extend(prompts.into_iter().chain(skills));
        reloaded.problems.extend(found.notices);
        last.templates.clone_from(&found.templates);
        last.skills.clone_from(&found.skills);
        // What stays the same is left alone: so does what providers have cached.
        if *self.skills.skills() != *found.skills {
            self.skills.replace(found.skills);
        }
        reloaded.templates = Some(found.templates);
    }

    /// Every request reads them anew; here is said what that comes to.
    fn look_at_instructions(&self, cwd: &Path, reloaded: &mut Reloaded) {
        let (found, notices) = read_instructions(&self.folders.config, cwd);
        reloaded.problems.extend(notices);
        let old = self.last().instructions.replace(found.clone());
        let changed = match old {
            Some(old) => changed_items("instructions", &old, &found, |file| file.path.clone()),
            None if found.is_empty() => None,
            None => {
                let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
                Some(format!("instructions: {} (read with every request)", paths.join(", ")))
            }
        };
        reloaded.changed.extend(changed);
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Snapshot> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `compaction.reserveTokens: 16384 → 8000`, for every key that is another one now.
fn changed_settings(old: &[Shown], new: &[Shown]) -> Vec<String> {
    let value = |shown: Option<&Shown>| {
        let value = shown.and_then(|shown| shown.value.as_ref());
        value.map_or_else(|| "not set".to_owned(), ToString::to_string)
    };
    let find =
        |all: &[Shown], wanted: &Shown| all.iter().find(|one| one.key == wanted.key).cloned();
    let gone = old.iter().filter(|shown| find(new, shown).is_none());
    new.iter()
        .chain(gone)
        .filter_map(|shown| {
            let before = value(find(old, shown).as_ref());
            let after = value(find(new, shown).as_ref());
            let later = match shown.key.counts_from_next_start() {
                true => " (from the next start)",
                false => "",
            };
            (before != after).then(|| format!("{}: {before} → {after}{later}", shown.key))
        })
        .collect()
}

/// `prompts: new /fix, changed /review, gone /old`; `None` when all is as it was.
fn changed_items<T: PartialEq>(
    what: &str,
    old: &[T],
    new: &[T],
    name: impl Fn(&T) -> String,
) -> Option<String> {
    let same_name = |all: &[T], item: &T| all.iter().position(|one| name(one) == name(item));
    let mut words = Vec::new();
    for item in new {
        match same_name(old, item) {
            None => words.push(format!("new {}", name(item))),
            Some(at) if old[at] != *item => words.push(format!("changed {}", name(item))),
            Some(_) => {}
        }
    }
    let gone = old.iter().filter(|item| same_name(new, item).is_none());
    words.extend(gone.map(|item| format!("gone {}", name(item))));
    (!words.is_empty()).then(|| format!("{what}: {}", words.join(", ")))
}

/// An error and its causes.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_a_reload_says_what_has_changed() {
        let name = |item: &(&str, u8)| item.0.to_owned();
        let items = |old: &[(&str, u8)], new: &[(&str, u8)]| changed_items("x", old, new, name);
        assert_eq!(items(&[("a", 1)], &[("a", 1)]), None);
        assert_eq!(
            items(&[("a", 1), ("b", 1)], &[("b", 2), ("c", 1)]).unwrap(),
            "x: changed b, new c, gone a"
        );
        let root = tempfile::tempdir().unwrap();
        let base = |name: &str| root.path().join(name);
        let folders = Folders { config: base("config"), data: base("data"), state: base("state") };
        let shelf = SkillShelf::default();
        let write = |path: &str, text: &str| {
            let path = base(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("shop/a", "");
        let cwd = base("shop");
        let live = Live::new(&folders, &cwd, Vec::new(), &shelf);
        live.reload(&cwd);
        assert_eq!(live.reload(&cwd).changed, [""; 0]);
        write("config/settings.json", "{\"compaction\": {\"reserveTokens\": 5}, \"model\": \"m\"}");
        write("config/prompts/fix.md", "fix");
        write("config/skills/pdf/SKILL.md", "---\ndescription: d\n---\n");
        write("shop/AGENTS.md", "be brief");
        let reloaded = live.reload(&cwd);
        assert_eq!(
            reloaded.changed,
            [
                "model: not set → \"m\" (from the next start)".to_owned(),
                "compaction.reserveTokens: 16384 → 5".to_owned(),
                "prompts: new /fix".to_owned(),
                "skills: new pdf".to_owned(),
                format!("instructions: new {}", cwd.join("AGENTS.md").display()),
            ]
        );
        assert_eq!(reloaded.settings.unwrap().compaction.reserve_tokens, 5);
        assert_eq!(shelf.skills().len(), 1);
        // What is wrong leaves everything else to be read, and the old settings in force.
        write("config/settings.json", "{\"mous\": true}");
        write("config/keymap.toml", "nonsense = [");
        write("config/prompts/fix.md", "fix it");
        let reloaded = live.reload(&cwd);
        assert!(reloaded.settings.is_none() && reloaded.keymap.is_none());
        assert_eq!(reloaded.changed, ["prompts: changed /fix"]);
        assert!(reloaded.problems[0].contains("unknown key `mous`"), "{:?}", reloaded.problems);
        assert!(reloaded.problems[1].contains("keymap.toml"), "{:?}", reloaded.problems);
    }
}
