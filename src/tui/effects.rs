//! Carries out what the screen wants done, off the UI thread, and reports back as [`UiEvent`]s. With
//! `terminal` the only place of the screen that touches the world.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::UnboundedSender;

use super::attachments;
use super::colour::Colourer;
use super::editor::Arrived;
use super::effect::UiEffect;
use super::event::UiEvent;
use super::files::FileFinder;
use super::git;
use super::highlight::CodeJob;
use super::outside::{OpenSession, Outside};
use super::overlay::tree::branches_of;
use super::overlay::tree::search::search_bodies;
use super::theme::Theme;
use super::theme_file::ThemeFile;
use crate::agent_session::command::SessionCommand;
use crate::session::listing::move_to_trash;
use crate::session::reader::SessionReader;
use crate::session::tree::NodeIndex;
use crate::slash::ExportRequest;

/// See the module.
pub struct Effects {
    events: UnboundedSender<UiEvent>,
    commands: UnboundedSender<SessionCommand>,
    session: Option<OpenSession>,
    outside: Arc<dyn Outside>,
    finder: Arc<FileFinder>,
    /// The number of the newest search through bodies.
    search: Arc<AtomicU64>,
    colourer: Arc<Colourer>,
    theme: Theme,
    theme_file: Arc<Mutex<ThemeFile>>,
    history_file: Option<PathBuf>,
}

/// What only the loop can do, because it holds the terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum ForLoop {
    /// Put text on the clipboard through the terminal.
    Copy(String),
    /// Edit text in the person's editor.
    EditExternally(String),
    /// Take the mouse, or leave it to the terminal.
    UseMouse(bool),
    /// Tell a person who looks elsewhere.
    Notify(String),
    /// Put the program to sleep.
    Suspend,
    /// Leave.
    Quit,
}

impl Effects {
    /// Reports to `events` and tells the session through `commands`.
    #[must_use]
    pub fn new(
        events: UnboundedSender<UiEvent>,
        commands: UnboundedSender<SessionCommand>,
        outside: Arc<dyn Outside>,
        (theme, theme_file): (Theme, Arc<Mutex<ThemeFile>>),
        history_file: Option<PathBuf>,
    ) -> Self {
        Self {
            events,
            commands,
            session: None,
            outside,
            finder: Arc::default(),
            search: Arc::default(),
            colourer: Arc::default(),
            theme,
            theme_file,
            history_file,
        }
    }

    /// Works on this session from now on.
    pub fn work_on(&mut self, session: OpenSession) {
        self.session = Some(session);
    }

    /// Reads the theme again if its file has changed.
    pub fn check_theme(&self) {
        self.change_theme(ThemeFile::load_if_changed);
    }

    /// The terminal's background is light, or dark.
    pub fn on_background(&self, light: bool) {
        self.change_theme(move |file| file.on_background(light));
    }

    fn change_theme(
        &self,
        change: impl FnOnce(&mut ThemeFile) -> Option<anyhow::Result<Theme>> + Send + 'static,
    ) {
        let file = self.theme_file.clone();
        self.report(move || {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            Some(match change(&mut file)? {
                Ok(theme) => UiEvent::Theme(Box::new(theme)),
                Err(error) => UiEvent::Failed(format!("{error:#}; the old one stays")),
            })
        });
    }

    fn reader(&self) -> Option<SessionReader> {
        self.session.as_ref().map(|session| session.reader.clone())
    }

    /// Starts an effect, or hands it back to the loop.
    pub fn run(&mut self, effect: UiEffect) -> Option<ForLoop> {
        match effect {
            UiEffect::Send(command) => {
                // A session that is gone is noticed by its events ending.
                let _ = self.commands.send(command);
            }
            UiEffect::LoadEntries(indexes) => self.load_entries(indexes),
            UiEffect::SearchBodies(query) => self.search_bodies(query),
            UiEffect::DeleteSession(file) => self.report(move || {
                Some(match move_to_trash(&file) {
                    Ok(_) => UiEvent::Hint("moved to the trash".to_owned()),
                    Err(error) => {
                        UiEvent::Failed(format!("cannot delete {}: {error}", file.display()))
                    }
                })
            }),
            UiEffect::FindFiles { cwd, query } => self.find_files(cwd, query),
            UiEffect::Colour(jobs) => self.colour(jobs),
            UiEffect::CountBranches => {
                if let Some(reader) = self.reader() {
                    self.report(move || Some(UiEvent::Branches(branches_of(&reader.tree()))));
                }
            }
            UiEffect::ReadBranch(folder) => {
                self.report(move || Some(UiEvent::Branch(git::shown(&folder))));
            }
            UiEffect::Remember(text) => self.remember(text),
            UiEffect::ListModels(wanted) => {
                let outside = self.outside.clone();
                self.report(move || Some(UiEvent::Models { wanted, models: outside.models() }));
            }
            UiEffect::ListProviders(wanted) => {
                let outside = self.outside.clone();
                self.report(move || {
                    Some(UiEvent::Providers { wanted, providers: outside.providers() })
                });
            }
            UiEffect::StoreKey { provider, key } => {
                let outside = self.outside.clone();
                self.report(move || {
                    let result = outside.store_key(&provider, &key);
                    Some(UiEvent::KeyStored { provider, result })
                });
            }
            UiEffect::ListSessions(search) => {
                let outside = self.outside.clone();
                self.report(move || {
                    Some(UiEvent::Sessions { search, sessions: outside.sessions() })
                });
            }
            UiEffect::Export(request) => self.export(request),
            UiEffect::Copy(text) => {
                self.copy_natively(text.clone());
                return Some(ForLoop::Copy(text));
            }
            UiEffect::Attach { place, cwd, text } => {
                self.arrive(place, move || attachments::attach(&cwd, &text));
            }
            UiEffect::PasteClipboard(place) => self.arrive(place, attachments::from_clipboard),
            UiEffect::EditExternally(text) => return Some(ForLoop::EditExternally(text)),
            UiEffect::ListSettings => {
                let outside = self.outside.clone();
                self.report(move || {
                    Some(match outside.settings() {
                        Ok(sheet) => UiEvent::Settings(sheet),
                        Err(why) => UiEvent::Failed(why),
                    })
                });
            }
            UiEffect::ChangeSetting(change) => {
                let outside = self.outside.clone();
                self.report(move || {
                    let result = outside.change_setting(&change);
                    let result = result.map(|(sheet, reloaded)| (sheet, Box::new(reloaded)));
                    Some(UiEvent::SettingChanged { change, result })
                });
            }
            UiEffect::Reload => self.reload(),
            UiEffect::UseTheme(theme) => self.theme = theme,
            UiEffect::UseMouse(mouse) => return Some(ForLoop::UseMouse(mouse)),
            UiEffect::Notify(text) => return Some(ForLoop::Notify(text)),
            UiEffect::Suspend => return Some(ForLoop::Suspend),
            UiEffect::Quit => return Some(ForLoop::Quit),
        }
        None
    }

    /// Runs blocking work on its own thread and reports what it gives.
    fn report(&self, work: impl FnOnce() -> Option<UiEvent> + Send + 'static) {
        let events = self.events.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(event) = work() {
                // Nobody listens any more when the screen is being left.
                let _ = events.send(event);
            }
        });
    }

    /// Reads what was pasted and reports it for its place in the editor, with a word where one is due.
    fn arrive(
        &self,
        place: usize,
        read: impl FnOnce() -> (Arrived, Option<String>) + Send + 'static,
    ) {
        let events = self.events.clone();
        tokio::task::spawn_blocking(move || {
            let (what, hint) = read();
            // Nobody listens any more when the screen is being left.
            let _ = events.send(UiEvent::Arrived { place, what });
            if let Some(hint) = hint {
                let _ = events.send(UiEvent::Hint(hint));
            }
        });
    }

    fn load_entries(&self, indexes: Vec<NodeIndex>) {
        let Some(reader) = self.reader() else { return };
        self.report(move || {
            let mut entries = Vec::with_capacity(indexes.len());
            let mut failed = Vec::new();
            for index in indexes {
                match reader.entry(index) {
                    Ok(entry) => entries.push((index, entry)),
                    Err(error) => failed.push((index, error.to_string())),
                }
            }
            Some(UiEvent::Entries { entries, failed })
        });
    }

    fn search_bodies(&self, query: String) {
        let search = self.search.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(reader) = self.reader().filter(|_| !query.is_empty()) else { return };
        let (newest, events) = (self.search.clone(), self.events.clone());
        self.report(move || {
            let is_newest = || newest.load(Ordering::SeqCst) == search;
            search_bodies(&reader, &query, &|| !is_newest(), &mut |hits| {
                let _ = events.send(UiEvent::Found(hits));
            });
            None
        });
    }

    fn export(&self, request: ExportRequest) {
        let Some(session) = self.session.clone() else { return };
        let outside = self.outside.clone();
        self.report(move || {
            Some(match outside.export(&session, &request) {
                Ok(file) => UiEvent::Told(format!("exported to {}", file.display())),
                Err(why) => UiEvent::Failed(why),
            })
        });
    }

    fn reload(&self) {
        let outside = self.outside.clone();
        let cwd = self.session.as_ref().map(|session| session.cwd.clone()).unwrap_or_default();
        self.report(move || Some(UiEvent::Reloaded(Box::new(outside.reload(&cwd)))));
    }

    fn find_files(&self, cwd: PathBuf, query: String) {
        let finder = self.finder.clone();
        let search = finder.announce();
        let events = self.events.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(files) = finder.find(search, &cwd, &query) {
                // Nobody listens any more when the screen is being left.
                let _ = events.send(UiEvent::Files { query, files });
            }
            finder.refresh(&cwd);
        });
    }

    fn colour(&self, jobs: Vec<CodeJob>) {
        if self.theme.colourless {
            return;
        }
        let (colourer, theme, events) = (self.colourer.clone(), self.theme, self.events.clone());
        self.report(move || {
            for job in jobs {
                if let Some(code) = colourer.colour(&job, &theme) {
                    let _ = events.send(UiEvent::Coloured { key: job.key, code });
                }
            }
            None
        });
    }

    fn remember(&self, text: String) {
        let Some(file) = self.history_file.clone() else { return };
        self.report(move || match append_history(&file, &text) {
            Ok(()) => None,
            Err(error) => {
                tracing::warn!("cannot remember what was sent in {}: {error}", file.display());
                None
            }
        });
    }

    #[cfg(feature = "clipboard")]
    fn copy_natively(&self, text: String) {
        let has_desktop = ["WAYLAND_DISPLAY", "DISPLAY"]
            .into_iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        if has_desktop || cfg!(target_os = "macos") {
            self.report(move || {
                // The terminal gets the text too; that this way failed is of no interest then.
                if let Ok(mut clipboard) = arboard::Clipboard::new() {
                    let _ = clipboard.set_text(text);
                }
                None
            });
        }
    }

    #[cfg(not(feature = "clipboard"))]
    fn copy_natively(&self, _text: String) {}
}

/// Adds a text to the file of what was sent, one JSON string a line, for the person's eyes only.
fn append_history(file: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).read(true).mode(0o600).open(file)?;
    let mut line = format!("{}\n", serde_json::Value::from(text));
    // What a full disk or a crash has torn stays alone on its line.
    if file.seek(SeekFrom::End(-1)).is_ok() {
        let mut last = [b'\n'];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            line.insert(0, '\n');
        }
    }
    file.write_all(line.as_bytes())
}

/// What was sent in earlier sessions, oldest first; at most the last `most`.
#[must_use]
pub fn read_history(file: &Path, most: usize) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut sent: Vec<String> =
        text.lines().rev().take(most).filter_map(|line| serde_json::from_str(line).ok()).collect();
    sent.reverse();
    sent
}

/// Lets the person edit a text in `$VISUAL` or `$EDITOR`. The terminal must have been given back.
///
/// # Errors
/// The editor cannot be started, failed, or left no readable file; in a sentence for the person.
pub async fn edit_externally(text: &str) -> Result<String, String> {
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|editor| !editor.trim().is_empty())
        .unwrap_or_else(|| "vi".to_owned());
    let trouble = |error: std::io::Error| format!("cannot edit the text in `{editor}`: {error}");
    let file =
        tempfile::Builder::new().prefix("regrow-").suffix(".md").tempfile().map_err(trouble)?;
    std::fs::write(file.path(), text).map_err(trouble)?;
    // $EDITOR may hold options, so a shell takes it apart.
    let status = tokio::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(file.path())
        .status()
        .await
        .map_err(trouble)?;
    if !status.success() {
        return Err(format!(
            "`{editor}` failed ({status}); set EDITOR to an editor that runs here"
        ));
    }
    std::fs::read_to_string(file.path()).map_err(trouble)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u2_history_keeps_lines_and_order_and_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/history.jsonl");
        for text in ["one", "two\nlines", "셋"] {
            append_history(&file, text).unwrap();
        }
        assert_eq!(read_history(&file, 2), ["two\nlines", "셋"]);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(read_history(&folder.path().join("none"), 5).is_empty());
    }

    #[test]
    fn u2_a_torn_line_of_the_history_takes_no_other_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.jsonl");
        append_history(&file, "one").unwrap();
        // A disk that was full in the middle of a line.
        let torn = std::fs::read_to_string(&file).unwrap() + "\"half of th";
        std::fs::write(&file, torn).unwrap();
        append_history(&file, "two").unwrap();
        append_history(&file, "three").unwrap();
        assert_eq!(read_history(&file, 9), ["one", "two", "three"]);
    }
}
