//! Where the theme comes from: a file of the person's, else a built-in one. Blocking; the effects look
//! at the file off the UI thread, only when somebody uses the screen.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;

use super::theme::{ColorDepth, Theme};

/// Most bytes that are read of a theme.
const LARGEST: u64 = 256 << 10;

/// See the module.
#[derive(Debug, Clone)]
pub struct ThemeFile {
    /// The name of a theme, or `auto`.
    name: String,
    /// The person's themes.
    folder: PathBuf,
    depth: ColorDepth,
    /// Whether the terminal's background is light; decides what `auto` is.
    light: bool,
    /// When the file that was read last was written; `None` for a built-in theme.
    read: Option<SystemTime>,
}

impl ThemeFile {
    /// The theme `name` for a terminal with so many colours.
    #[must_use]
    pub const fn new(name: String, folder: PathBuf, depth: ColorDepth, light: bool) -> Self {
        Self { name, folder, depth, light, read: None }
    }

    /// Another theme is wanted.
    pub fn choose(&mut self, name: &str) -> &mut Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Whether the theme depends on the terminal's background, and that matters.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        self.name == "auto" && self.depth != ColorDepth::None
    }

    /// Reads it.
    ///
    /// # Errors
    /// No theme has this name, or its file is none; the sentence says what to do.
    pub fn load(&mut self) -> anyhow::Result<Theme> {
        let name = self.chosen().to_owned();
        // A project may name a theme, but no place outside of the person's.
        anyhow::ensure!(
            !name.contains(['/', '\\', '\0']) && !name.starts_with('.'),
            "`{name}` is no name of a theme; write dark, light, auto or a name from {}",
            self.folder.display()
        );
        let file = self.file(&name);
        self.read = written(&file);
        if let Some(source) = source(&file) {
            let theme = Theme::parse(&source, self.depth)
                .with_context(|| format!("cannot use the theme {}", file.display()))?;
            return Ok(Theme { light: name == "light" || self.light, ..theme });
        }
        Theme::named(&name, self.depth).with_context(|| {
            format!(
                "there is no theme `{name}`; write dark, light or auto, or put it into {}",
                file.display()
            )
        })
    }

    /// Reads it again when its file has changed, appeared or gone since.
    pub fn load_if_changed(&mut self) -> Option<anyhow::Result<Theme>> {
        (written(&self.file(self.chosen())) != self.read).then(|| self.load())
    }

    /// The terminal has told its background. Gives the theme when it is another one then.
    pub fn on_background(&mut self, light: bool) -> Option<anyhow::Result<Theme>> {
        if std::mem::replace(&mut self.light, light) == light || !self.is_auto() {
            return None;
        }
        Some(self.load())
    }

    /// The theme's name, once it is known what `auto` is.
    fn chosen(&self) -> &str {
        match (self.name.as_str(), self.light) {
            ("auto", true) => "light",
            ("auto", false) => "dark",
            (name, _) => name,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.toml"))
    }
}

/// The text of a theme's file, up to what any theme needs; `None` when there is none. Anything but a
/// file is not opened: that may hang, and never end.
fn source(file: &Path) -> Option<String> {
    let facts = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let mut text = String::new();
    let most = facts.len().min(LARGEST);
    std::fs::File::open(file).ok()?.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

fn written(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_a_name_leads_nowhere_else_and_only_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("x.toml")).unwrap();
        let path = folder.path().join("x").display().to_string();
        for name in [path.as_str(), "../x", ".x", "x", "/proc/self/cwd/x"] {
            let mut source =
                ThemeFile::new(name.into(), folder.path().into(), ColorDepth::True, false);
            assert!(source.load().is_err(), "{name}");
        }
    }

    #[test]
    fn u7_the_persons_theme_is_read_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        let dark = include_str!("../../assets/themes/dark.toml");
        std::fs::write(&file, dark).unwrap();
        let mut source =
            ThemeFile::new("mine".into(), folder.path().into(), ColorDepth::True, false);
        let before = source.load().unwrap();
        assert!(source.load_if_changed().is_none(), "nothing has changed");
        let write = |text: &str, age: u64| {
            std::fs::write(&file, text).unwrap();
            let time = SystemTime::now() - std::time::Duration::from_secs(age);
            std::fs::File::options().append(true).open(&file).unwrap().set_modified(time).unwrap();
        };
        write(&dark.replacen("#7fb4ca", "#112233", 1), 60);
        assert_ne!(source.load_if_changed().unwrap().unwrap(), before);
        write("no theme", 30);
        assert!(source.load_if_changed().unwrap().is_err());
        assert!(source.load_if_changed().is_none(), "a mistake is told once");
    }

    #[test]
    fn u7_auto_follows_the_background_and_a_name_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let source =
            |name: &str| ThemeFile::new(name.into(), folder.path().into(), ColorDepth::True, false);
        let mut auto = source("auto");
        assert!(!auto.load().unwrap().light);
        assert!(auto.on_background(false).is_none());
        assert!(auto.on_background(true).unwrap().unwrap().light);
        assert!(source("dark").on_background(true).is_none());
        assert!(source("sepia").load().unwrap_err().to_string().contains("sepia"));
    }
}
