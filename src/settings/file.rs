//! Settings files on disk: finds and reads them, and changes the person's own file. The only part of
//! `settings`, with [`super::trust`], that touches files. A file that does not parse is never written
//! over, and what is written over is kept as `<name>.bak` (F82).

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::edit::{self, Change, EditError};
use super::layers::{Layer, Merged, Override};
use super::migrate::migrate;
use super::node::{Format, Place};
use super::origin::{Origin, SettingsError};
use super::resolve::{Shown, resolve, show};
use super::schema::Key;
use super::{Settings, trust};
use crate::whole_file::WholeFile;

/// The folder of a project's own settings, inside the project.
pub const PROJECT_FOLDER: &str = ".regrow";

/// Largest settings file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Where settings are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The person's folder, `$XDG_CONFIG_HOME/regrow`.
    pub user: PathBuf,
    /// The project's folder (see [`project_root`]); its settings are in [`PROJECT_FOLDER`].
    pub project: Option<PathBuf>,
    /// The file that lists trusted folders.
    pub trust: PathBuf,
}

/// What a run goes by.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The values in force.
    pub settings: Settings,
    /// Every key with its value and origin, for `config show`.
    pub shown: Vec<Shown>,
    /// The files that were read, lowest first.
    pub files: Vec<PathBuf>,
    /// What the project sets and may not before its folder is trusted (G2). Not empty: ask, then
    /// [`trust::trust`] and load again.
    pub withheld: Vec<String>,
    /// Words to the person, `withheld` included.
    pub notices: Vec<String>,
}

/// Reads all layers: the person's file, the project's, the environment, the command line (G1).
///
/// # Errors
/// Every mistake in every layer. The program must not start on defaults then.
pub fn load(
    places: &Places,
    environment: impl IntoIterator<Item = (String, String)>,
    overrides: &[Override],
) -> Result<Resolved, Vec<SettingsError>> {
    load_with(places, environment, overrides, None)
}

/// As [`load`], with the person's file as it would be after a change.
fn load_with(
    places: &Places,
    environment: impl IntoIterator<Item = (String, String)>,
    overrides: &[Override],
    proposed: Option<&Proposed>,
) -> Result<Resolved, Vec<SettingsError>> {
    let mut errors = Vec::new();
    let mut notices = Vec::new();
    let mut files = Vec::new();
    let mut withheld = Vec::new();
    let mut layers = Vec::new();
    let mut keep = |layer: Result<Layer, Vec<SettingsError>>| match layer {
        Ok(layer) => layers.push(layer),
        Err(found) => errors.extend(found),
    };
    keep(match proposed {
        None => read_layer(&places.user, &mut files),
        Some(proposed) => {
            files.push(proposed.path.clone());
            Layer::from_file(&proposed.path, &proposed.new, proposed.format)
        }
    });
    if let Some(project) = &places.project {
        let layer = read_layer(&project.join(PROJECT_FOLDER), &mut files);
        let trusted = trust::is_trusted(&places.trust, project).unwrap_or_else(|problem| {
            notices.push(problem.to_string());
            false
        });
        keep(layer.map(|layer| {
            if trusted {
                return layer;
            }
            let (layer, held) = layer.withhold();
            withheld = held.iter().map(|entry| entry.key.to_string()).collect();
            layer
        }));
    }
    keep(Layer::from_environment(environment, &mut notices));
    keep(Layer::from_command_line(overrides));
    if let (false, Some(project)) = (withheld.is_empty(), &places.project) {
        notices.push(format!(
            "{} is not trusted: its settings of {} are left out; start with --trust to take them",
            project.display(),
            withheld.join(", ")
        ));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let merged = Merged::of(layers);
    let settings = resolve(&merged)?;
    Ok(Resolved { settings, shown: show(&merged), files, withheld, notices })
}

/// The environment for [`load`]. Variables that are no text cannot be settings and are left out.
#[must_use]
pub fn environment() -> Vec<(String, String)> {
    let text = |value: std::ffi::OsString| value.into_string().ok();
    std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

fn read_layer(folder: &Path, files: &mut Vec<PathBuf>) -> Result<Layer, Vec<SettingsError>> {
    let found = find(folder).map_err(|error| vec![error])?;
    let Some((path, format)) = found else { return Ok(Layer::default()) };
    let text = read_text(&path).map_err(|error| vec![error])?;
    files.push(path.clone());
    Layer::from_file(&path, &text, format)
}

/// The settings file of a folder.
///
/// # Errors
/// Two files in one place, or one under a name that is not read.
pub fn find(folder: &Path) -> Result<Option<(PathBuf, Format)>, SettingsError> {
    let at = |name: &str| Some(folder.join(name)).filter(|path| path.symlink_metadata().is_ok());
    let whole = |path: PathBuf| Origin::File { path, place: Place::START };
    match (at("settings.json"), at("settings.yaml")) {
        (Some(json), Some(yaml)) => Err(SettingsError::new(
            whole(yaml),
            None,
            format!("there is {} as well; keep one of the two", json.display()),
        )),
        (Some(json), None) => Ok(Some((json, Format::Json))),
        (None, Some(yaml)) => Ok(Some((yaml, Format::Yaml))),
        (None, None) => {
            let near =
                [("settings.yml", "yaml"), ("settings.jsonc", "json"), ("settings.toml", "yaml")];
            match near.iter().find_map(|(name, ending)| Some((at(name)?, ending))) {
                Some((path, ending)) => Err(SettingsError::new(
                    whole(path),
                    None,
                    format!("this name is not read; settings are in settings.{ending}"),
                )),
                None => Ok(None),
            }
        }
    }
}

fn read_text(path: &Path) -> Result<String, SettingsError> {
    let wrong = |problem: String| {
        let origin = Origin::File { path: path.to_owned(), place: Place::START };
        SettingsError::new(origin, None, problem)
    };
    let cannot = |error: io::Error| wrong(format!("cannot be read: {error}"));
    let facts = fs::metadata(path).map_err(cannot)?;
    if !facts.is_file() {
        return Err(wrong("cannot be read: it is not a file".to_owned()));
    }
    if facts.len() > MAX_BYTES {
        return Err(wrong(format!(
            "is larger than {} KiB; that is no settings file",
            MAX_BYTES >> 10
        )));
    }
    let bytes = fs::read(path).map_err(cannot)?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
        let origin =
            Origin::File { path: path.to_owned(), place: Place::of_byte(&text, text.len()) };
        SettingsError::new(origin, None, "this is not UTF-8 text")
    })
}

/// Why a settings file was not changed. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It has mistakes; they are to be mended first.
    #[error("{0}")]
    Settings(SettingsError),
    /// With the change the settings would have mistakes.
    #[error("{}", in_lines(.0))]
    Refused(Vec<SettingsError>),
    /// It is written in a way that cannot be changed safely.
    #[error("{}: {source}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// What stands in the way.
        source: EditError,
    },
    /// The disk said no.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

/// Makes changes to the settings file of a folder; a folder without one gets `settings.json`.
/// Comments, order and unknown keys of newer versions stay. Returns the file.
///
/// # Errors
/// The file has mistakes that keep it from being read, cannot be changed safely, or cannot be written.
pub fn change(folder: &Path, changes: &[Change]) -> Result<PathBuf, WriteError> {
    let proposed = propose(folder, changes)?;
    write(&proposed.path, &proposed.old, &proposed.new)?;
    Ok(proposed.path)
}

/// As [`change`] on the person's file, but only if the settings of a run hold together afterwards;
/// gives them.
///
/// # Errors
/// As [`change`], and [`WriteError::Refused`]; the file is as it was then.
pub fn change_checked(
    places: &Places,
    environment: impl IntoIterator<Item = (String, String)>,
    overrides: &[Override],
    changes: &[Change],
) -> Result<Resolved, WriteError> {
    let proposed = propose(&places.user, changes)?;
    let resolved = load_with(places, environment, overrides, Some(&proposed));
    let resolved = resolved.map_err(WriteError::Refused)?;
    write(&proposed.path, &proposed.old, &proposed.new)?;
    Ok(resolved)
}

/// A file, its text, and what that would become.
struct Proposed {
    path: PathBuf,
    format: Format,
    old: String,
    new: String,
}

fn propose(folder: &Path, changes: &[Change]) -> Result<Proposed, WriteError> {
    let found = find(folder).map_err(WriteError::Settings)?;
    let (path, format) = found.unwrap_or_else(|| (folder.join("settings.json"), Format::Json));
    let old =
        if path.exists() { read_text(&path).map_err(WriteError::Settings)? } else { String::new() };
    let new = edit::apply(&old, format, changes)
        .map_err(|source| WriteError::Edit { path: path.clone(), source })?;
    Ok(Proposed { path, format, old, new })
}

/// What a folder's settings file says itself, before anything is added to it; nothing when there is
/// none that can be read.
#[must_use]
pub fn own_values(folder: &Path) -> Vec<(Key, Value)> {
    let Ok(Some((path, format))) = find(folder) else { return Vec::new() };
    let Ok(text) = read_text(&path) else { return Vec::new() };
    let layer = Layer::from_file(&path, &text, format).unwrap_or_default();
    layer.entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
}

fn in_lines(errors: &[SettingsError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Rewrites removed keys of the settings file of a folder (S10). Returns the file and what was done,
/// in words; nothing to do leaves it alone.
///
/// # Errors
/// As [`change`].
pub fn migrate_file(folder: &Path) -> Result<Option<(PathBuf, Vec<String>)>, WriteError> {
    let Some((path, format)) = find(folder).map_err(WriteError::Settings)? else { return Ok(None) };
    let old = read_text(&path).map_err(WriteError::Settings)?;
    let (new, done) =
        migrate(&old, format).map_err(|source| WriteError::Edit { path: path.clone(), source })?;
    if !done.is_empty() {
        write(&path, &old, &new)?;
    }
    Ok(Some((path, done)))
}

/// Replaces a file in one step, after a backup. A link stays a link: what it points to is replaced.
fn write(path: &Path, old: &str, new: &str) -> Result<(), WriteError> {
    let failed = |source: io::Error| WriteError::Io { path: path.to_owned(), source };
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    if !old.is_empty() {
        let mut backup = target.clone().into_os_string();
        backup.push(".bak");
        put(backup.as_ref(), &target, old).map_err(failed)?;
    }
    put(&target, &target, new).map_err(failed)
}

/// Puts a text in place at once, for those who may read `model`.
fn put(path: &Path, model: &Path, text: &str) -> io::Result<()> {
    let mut file = WholeFile::begin(path)?;
    file.write_all(text.as_bytes())?;
    if let Ok(facts) = fs::metadata(model) {
        file.set_permissions(facts.permissions())?;
    }
    file.finish()
}

/// The project that a folder belongs to: the nearest folder upwards with a [`PROJECT_FOLDER`], but not
/// beyond the repository; else the repository's root; else the folder itself.
#[must_use]
pub fn project_root(cwd: &Path) -> PathBuf {
    let repository = cwd.ancestors().find(|folder| folder.join(".git").exists());
    let inside =
        |folder: &&Path| repository.map_or(*folder == cwd, |root| folder.starts_with(root));
    cwd.ancestors()
        .take_while(inside)
        .find(|folder| folder.join(PROJECT_FOLDER).is_dir())
        .or(repository)
        .unwrap_or(cwd)
        .to_owned()
}

/// Whether the debug log is wanted (S11): `AGENT_DEBUG_LOGGING` in the environment, else in the `.env`
/// file of the folder. Nothing else is ever taken from that file.
#[must_use]
pub fn debug_logging(variable: Option<&str>, cwd: &Path) -> bool {
    const NAME: &str = "AGENT_DEBUG_LOGGING";
    let from_file = || {
        let pairs = dotenvy::from_path_iter(cwd.join(".env")).ok()?;
        pairs.flatten().find(|(name, _)| name == NAME).map(|(_, value)| value)
    };
    variable
        .map(ToOwned::to_owned)
        .or_else(from_file)
        .is_some_and(|value| value.trim().eq_ignore_ascii_case("true") || value.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::schema::Key;
    use serde_json::json;

    struct Machine {
        folder: tempfile::TempDir,
        places: Places,
    }

    fn machine() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let places = Places {
            user: root.join("config"),
            project: Some(root.join("shop")),
            trust: root.join("data/trust.json"),
        };
        fs::create_dir_all(&places.user).unwrap();
        fs::create_dir_all(root.join("shop/.regrow")).unwrap();
        Machine { folder, places }
    }

    impl Machine {
        fn put(&self, path: &str, text: &str) {
            fs::write(self.folder.path().join(path), text).unwrap();
        }

        fn get(&self, path: &str) -> String {
            fs::read_to_string(self.folder.path().join(path)).unwrap()
        }

        fn load(&self) -> Result<Resolved, String> {
            load(&self.places, [], &[]).map_err(|errors| {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                texts.join("\n").replace(&*self.folder.path().to_string_lossy(), "ROOT")
            })
        }
    }

    #[test]
    fn g1_without_files_the_defaults_are_in_force() {
        let loaded = machine().load().unwrap();
        assert_eq!(loaded.settings, Settings::default());
        assert!(loaded.notices.is_empty() && loaded.files.is_empty());
    }

    #[test]
    fn g1_layers_lie_over_each_other_and_say_where_they_come_from() {
        let machine = machine();
        machine.put(
            "config/settings.json",
            "{\"compaction\": {\"reserveTokens\": 100, \"keepRecentTokens\": 200}}",
        );
        machine.put("shop/.regrow/settings.yaml", "compaction:\n  reserveTokens: 300\n");
        let environment = [("REGROW_MOUSE".to_owned(), "true".to_owned())];
        let option = Override { option: "--model".into(), key: "model", text: "m".into() };
        let loaded = load(&machine.places, environment, &[option]).unwrap();
        assert_eq!(loaded.settings.compaction.reserve_tokens, 300);
        assert_eq!(loaded.settings.compaction.keep_recent_tokens, 200);
        assert!(loaded.settings.mouse);
        let origin = |key: &str| {
            let shown = loaded.shown.iter().find(|shown| shown.key == Key::parse(key)).unwrap();
            shown.origin.to_string().replace(&*machine.folder.path().to_string_lossy(), "")
        };
        assert_eq!(origin("compaction.reserveTokens"), "/shop/.regrow/settings.yaml:2:18");
        assert_eq!(origin("compaction.keepRecentTokens"), "/config/settings.json:1:59");
        assert_eq!(origin("mouse"), "REGROW_MOUSE");
        assert_eq!(origin("model"), "--model");
        assert_eq!(origin("compaction.enabled"), "built-in");
    }

    #[test]
    fn g1_all_mistakes_of_all_layers_are_told() {
        let machine = machine();
        machine.put("config/settings.json", "{\"mous\": true}");
        machine.put("shop/.regrow/settings.yaml", "theme: 1\n");
        assert_eq!(
            machine.load().unwrap_err(),
            "ROOT/config/settings.json:1:2: unknown key `mous`; did you mean `mouse`?\n\
             ROOT/shop/.regrow/settings.yaml:1:8: `theme` must be a text that is not empty, not 1"
        );
    }

    #[test]
    fn g1_two_formats_in_one_place_are_an_error() {
        let machine = machine();
        machine.put("config/settings.json", "{}");
        machine.put("config/settings.yaml", "");
        assert_eq!(
            machine.load().unwrap_err(),
            "ROOT/config/settings.yaml:1:1: there is ROOT/config/settings.json as well; keep one of the two"
        );
    }

    #[test]
    fn f82_files_that_cannot_be_read_are_told() {
        let machine = machine();
        machine.put("config/settings.yml", "");
        fs::create_dir(machine.folder.path().join("shop/.regrow/settings.json")).unwrap();
        assert_eq!(
            machine.load().unwrap_err(),
            "ROOT/config/settings.yml:1:1: this name is not read; settings are in settings.yaml\n\
             ROOT/shop/.regrow/settings.json:1:1: cannot be read: it is not a file"
        );
        fs::rename(
            machine.folder.path().join("config/settings.yml"),
            machine.folder.path().join("config/settings.yaml"),
        )
        .unwrap();
        fs::write(machine.places.user.join("settings.yaml"), b"mouse: true\n# \xff\n").unwrap();
        assert!(machine.load().unwrap_err().contains("settings.yaml:2:3: this is not UTF-8 text"));
        machine.put("config/settings.yaml", &"#".repeat(2 << 20));
        assert!(machine.load().unwrap_err().contains("is larger than 1024 KiB"));
    }

    #[test]
    fn g2_a_project_is_asked_about_once() {
        let machine = machine();
        machine.put("shop/.regrow/settings.yaml", "permissions: {mode: full}\nmouse: true\n");
        let loaded = machine.load().unwrap();
        assert_eq!(loaded.settings.permissions.mode, crate::settings::PermissionMode::Ask);
        assert!(loaded.settings.mouse, "what is harmless counts at once");
        assert_eq!(loaded.withheld, ["permissions.mode"]);
        assert!(loaded.notices[0].ends_with(
            "shop is not trusted: its settings of permissions.mode are left out; start with --trust to take them"
        ));
        trust::trust(&machine.places.trust, machine.places.project.as_ref().unwrap()).unwrap();
        let loaded = machine.load().unwrap();
        assert_eq!(loaded.settings.permissions.mode, crate::settings::PermissionMode::Full);
        assert!(loaded.withheld.is_empty() && loaded.notices.is_empty());
    }

    #[test]
    fn f82_changes_keep_the_rest_and_leave_a_backup() {
        let machine = machine();
        let wish = |value| [Change { key: Key::parse("mouse"), value: Some(value) }];
        let old = "# mine\nmouse: false # no\nfromTheFuture: 1\n";
        machine.put("config/settings.yaml", old);
        change(&machine.places.user, &wish(json!(true))).unwrap();
        assert_eq!(machine.get("config/settings.yaml"), old.replace("mouse: false", "mouse: true"));
        assert_eq!(machine.get("config/settings.yaml.bak"), old);

        let other = machine.places.project.clone().unwrap();
        let old =
            "{\n  // newer\n  \"future\": {\"x\": [1, {\"y\": null}]},\n  \"mouse\": false,\n}\n";
        machine.put("shop/settings.json", old);
        change(&other, &wish(json!(true))).unwrap();
        assert_eq!(machine.get("shop/settings.json"), old.replace("false", "true"));

        machine.put("config/settings.yaml", "mouse: [\n");
        change(&machine.places.user, &wish(json!(true))).unwrap_err();
        assert_eq!(machine.get("config/settings.yaml"), "mouse: [\n", "a broken file stays");
    }

    #[test]
    fn f82_the_first_change_makes_a_file() {
        let machine = machine();
        let folder = machine.folder.path().join("fresh");
        let wish = Change { key: Key::parse("compaction.enabled"), value: Some(json!(false)) };
        let path = change(&folder, &[wish]).unwrap();
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            "{\n  \"compaction\": {\n    \"enabled\": false\n  }\n}\n"
        );
    }

    #[cfg(unix)]
    #[test]
    fn f78_a_link_to_dotfiles_stays_a_link() {
        let machine = machine();
        machine.put("dotfiles.yaml", "mouse: false\n");
        let link = machine.places.user.join("settings.yaml");
        std::os::unix::fs::symlink(machine.folder.path().join("dotfiles.yaml"), &link).unwrap();
        change(
            &machine.places.user,
            &[Change { key: Key::parse("mouse"), value: Some(json!(true)) }],
        )
        .unwrap();
        assert!(link.is_symlink());
        assert_eq!(machine.get("dotfiles.yaml"), "mouse: true\n");
    }

    #[test]
    fn s10_a_file_is_migrated_once() {
        let machine = machine();
        machine.put(
            "config/settings.yaml",
            "endpoints:\n  custom:\n    - name: a\n      summaryModel: m\n",
        );
        let (_, done) = migrate_file(&machine.places.user).unwrap().unwrap();
        assert_eq!(done.len(), 2);
        assert_eq!(machine.load().unwrap().settings.summarization.model.as_deref(), Some("m"));
        assert!(migrate_file(&machine.places.user).unwrap().unwrap().1.is_empty());
    }

    #[test]
    fn g1_a_project_is_found_from_below_but_not_beyond_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for inner in [
            "outer/.regrow",
            "outer/repo/.git",
            "outer/repo/part/.regrow",
            "outer/repo/part/src",
            "outer/repo/doc",
            "outer/plain/x",
        ] {
            fs::create_dir_all(root.join(inner)).unwrap();
        }
        let found =
            |from: &str| project_root(&root.join(from)).strip_prefix(root).unwrap().to_owned();
        assert_eq!(found("outer/repo/part/src"), Path::new("outer/repo/part"));
        assert_eq!(found("outer/repo/doc"), Path::new("outer/repo"));
        assert_eq!(found("outer/plain/x"), Path::new("outer/plain/x"));
    }

    #[test]
    fn s11_debug_logging_is_all_that_a_env_file_can_say() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!debug_logging(None, folder.path()));
        assert!(debug_logging(Some("true"), folder.path()));
        fs::write(folder.path().join(".env"), "X=1\nAGENT_DEBUG_LOGGING=true\n").unwrap();
        assert!(debug_logging(None, folder.path()));
        assert!(!debug_logging(Some("false"), folder.path()));
    }

    #[test]
    fn g1_a_change_that_contradicts_the_rest_is_refused_and_writes_nothing() {
        let machine = machine();
        let text = "# mine\nsummarization:\n  contextPruning:\n    hardClearRatio: 0.4\n";
        machine.put("config/settings.yaml", text);
        let change = |key: &str, value: serde_json::Value| {
            let change = Change { key: Key::parse(key), value: Some(value) };
            change_checked(&machine.places, [], &[], &[change])
        };
        let refused = change("summarization.contextPruning.softTrimRatio", json!(0.9)).unwrap_err();
        assert!(refused.to_string().contains("softTrimRatio"), "{refused}");
        let refused = change("compaction.reserveTokens", json!("many")).unwrap_err();
        assert!(refused.to_string().contains("must be a whole number"), "{refused}");
        assert_eq!(machine.get("config/settings.yaml"), text);
        assert!(!machine.places.user.join("settings.yaml.bak").exists());
        let resolved = change("compaction.reserveTokens", json!(5)).unwrap();
        assert_eq!(resolved.settings.compaction.reserve_tokens, 5);
        assert_eq!(machine.load().unwrap().shown, resolved.shown);
        assert!(machine.get("config/settings.yaml").starts_with("# mine\n"));
        assert_eq!(machine.get("config/settings.yaml.bak"), text);
        machine.put("config/settings.yaml", "mouse: [");
        change("mouse", json!(true)).unwrap_err();
        assert_eq!(machine.get("config/settings.yaml"), "mouse: [");
    }
}
