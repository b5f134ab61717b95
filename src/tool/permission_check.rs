//! The eyes of [`permission`](super::permission): what paths really are, links followed.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::Effect;
use super::permission::{self, Judgement, Place, SessionGrants};
use super::replace_file::follow_links;
use crate::settings::PermissionSettings;

/// How long a command is looked at. It takes milliseconds, unless the parser, which is not ours, meets
/// what it was not made for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Room for a parser that recurses.
const STACK: usize = 32 << 20;

/// Judges a call by what its paths really are. A command is judged on a thread of its own: one that
/// the parser is lost in, or breaks at, is a question and not the end of the session (F80, I7).
pub async fn check(
    effect: &Effect,
    tool: &str,
    workspace: &Path,
    settings: &PermissionSettings,
    granted: SessionGrants,
) -> Judgement {
    let Effect::Command { command } = effect else {
        return check_now(effect, tool, workspace, settings, &granted);
    };
    let judge = {
        let (effect, tool, workspace) = (effect.clone(), tool.to_owned(), workspace.to_owned());
        let (settings, granted) = (settings.clone(), granted.clone());
        move || check_now(&effect, &tool, &workspace, &settings, &granted)
    };
    let why = match apart(PATIENCE, judge).await {
        Ok(judgement) => return judgement,
        Err(why) => why,
    };
    let workspace = real(workspace);
    let place = Place { workspace: &workspace, real: &real };
    permission::judge_unread(command, why, tool, &with_home(settings), &granted, place)
}

/// Does work on a thread of its own; says why when it does not come to an end.
async fn apart<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, &'static str> {
    let (sender, result) = oneshot::channel();
    // Whoever asked may have lost patience.
    let thread = thread::Builder::new().name("permission".to_owned()).stack_size(STACK);
    let started = thread.spawn(move || sender.send(work()).ok());
    started.map_err(|_| "there is no thread to do it")?;
    match timeout(patience, result).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(_)) => Err("it breaks the parser"),
        Err(_) => Err("it takes too long"),
    }
}

fn check_now(
    effect: &Effect,
    tool: &str,
    workspace: &Path,
    settings: &PermissionSettings,
    granted: &SessionGrants,
) -> Judgement {
    let workspace = real(workspace);
    let effect = match effect {
        Effect::Read { paths } => {
            Effect::Read { paths: paths.iter().map(|path| real(path)).collect() }
        }
        Effect::Write { path, diff } => Effect::Write { path: real(path), diff: diff.clone() },
        Effect::Command { command } => Effect::Command { command: command.clone() },
    };
    let settings = with_home(settings);
    let place = Place { workspace: &workspace, real: &real };
    permission::judge_in(&effect, tool, &settings, granted, place)
}

/// A path with all links followed, as far as it exists; the rest as it stands.
#[must_use]
pub fn real(path: &Path) -> PathBuf {
    let path = follow_links(path).unwrap_or_else(|_| path.to_path_buf());
    let mut rest = Vec::new();
    let mut existing = path.as_path();
    loop {
        if let Ok(found) = existing.canonicalize() {
            return rest.into_iter().rev().fold(found, |path: PathBuf, name| path.join(name));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                existing = parent;
            }
            _ => return path,
        }
    }
}

/// Rules with `~/` also in the form that real paths have.
fn with_home(settings: &PermissionSettings) -> PermissionSettings {
    let Ok(home) = etcetera::home_dir() else { return settings.clone() };
    let home = real(&home);
    let both = |rules: &[String]| {
        let expanded = rules
            .iter()
            .filter(|rule| rule.contains("(~/"))
            .map(|rule| rule.replacen("(~/", &format!("({}/", home.display()), 1));
        rules.iter().cloned().chain(expanded).collect()
    };
    PermissionSettings {
        allow: both(&settings.allow),
        deny: both(&settings.deny),
        ..settings.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::PermissionMode;
    use std::os::unix::fs::symlink;

    fn asks(judgement: &Judgement) -> bool {
        matches!(judgement, Judgement::Ask { note: Some(note), .. } if note.contains("outside"))
    }

    #[test]
    fn a3_links_that_lead_outside_are_outside_however_they_are_reached() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
        std::fs::create_dir_all(inside.join("src")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("secret"), "").unwrap();
        symlink(&outside, inside.join("dir")).unwrap();
        symlink("../out/secret", inside.join("file")).unwrap();
        symlink("../out/not-there-yet", inside.join("dangling")).unwrap();
        symlink(&inside, folder.path().join("alias")).unwrap();
        let settings = PermissionSettings { mode: PermissionMode::Full, ..Default::default() };
        let granted = SessionGrants::default();
        let judge = |effect: &Effect, workspace: &Path| {
            check_now(effect, "bash", workspace, &settings, &granted)
        };
        for (path, expected) in [
            ("src/a", false),
            ("file", true),
            ("dangling", true),
            ("dir/new", true),
            ("dir/deep/new", true),
            ("src/../file", true),
        ] {
            let path = inside.join(path);
            let read = judge(&Effect::Read { paths: vec![path.clone()] }, &inside);
            let write = judge(&Effect::Write { path: path.clone(), diff: None }, &inside);
            assert_eq!((asks(&read), asks(&write)), (expected, expected), "{}", path.display());
        }
        for (command, expected) in [
            ("cat src/a", false),
            ("cat file", true),
            ("echo x > file", true),
            ("echo x > dangling", true),
            ("cat dir/secret", true),
            ("rm -rf dir/", true),
            ("cd dir && rm secret", true),
            ("cp --target-directory=dir src/a", true),
        ] {
            let effect = Effect::Command { command: command.to_owned() };
            assert_eq!(asks(&judge(&effect, &inside)), expected, "{command}");
        }
        // The workspace itself may be named by a link.
        let read = Effect::Read { paths: vec![inside.join("src/a")] };
        assert_eq!(judge(&read, &folder.path().join("alias")), Judgement::Allow);
    }

    #[test]
    fn a3_a_session_that_only_reads_changes_nothing_whatever_the_rules_say() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let allow = vec!["write(**)".to_owned(), "bash(*)".to_owned()];
        let mode = PermissionMode::Read;
        let settings = PermissionSettings { mode, allow, deny: vec!["read(*.key)".to_owned()] };
        let path = |name: &str| place.join(name);
        let reads = |name| Effect::Read { paths: vec![path(name)] };
        for (effect, expected) in [
            (Effect::Write { path: path("a"), diff: None }, "no"),
            (Effect::Command { command: "ls".to_owned() }, "no"),
            (reads("my.key"), "no"),
            (reads("a"), "yes"),
            (Effect::Read { paths: vec!["/etc/passwd".into()] }, "asks"),
        ] {
            let judgement = check_now(&effect, "tool", place, &settings, &SessionGrants::default());
            let short = match judgement {
                Judgement::Allow => "yes",
                Judgement::Deny { .. } => "no",
                Judgement::Ask { .. } => "asks",
            };
            assert_eq!(short, expected, "{effect:?}");
        }
    }

    #[test]
    fn a3_rules_may_speak_of_the_home() {
        let Ok(home) = etcetera::home_dir() else { return };
        let deny = vec!["read(~/.ssh/**)".to_owned()];
        let settings =
            PermissionSettings { mode: PermissionMode::Full, deny, ..Default::default() };
        let granted = SessionGrants::default();
        let folder = tempfile::tempdir().unwrap();
        for effect in [
            Effect::Read { paths: vec![home.join(".ssh/id")] },
            Effect::Command { command: "cat ~/.ssh/id".to_owned() },
            Effect::Command { command: "cat < ~/.ssh/id".to_owned() },
            Effect::Command { command: "cat \"$HOME/.ssh/id\"".to_owned() },
            Effect::Command { command: "cat ${HOME}/.ssh/id".to_owned() },
            Effect::Command { command: format!("cat {}/.ssh/id", home.display()) },
        ] {
            let judgement = check_now(&effect, "bash", folder.path(), &settings, &granted);
            assert!(matches!(judgement, Judgement::Deny { .. }), "{effect:?}: {judgement:?}");
        }
    }

    #[tokio::test]
    async fn f80_a_command_that_the_parser_is_lost_in_is_a_question() {
        let soon = Duration::from_millis(50);
        assert_eq!(apart(PATIENCE, || 1).await, Ok(1));
        let lost = apart(soon, || thread::sleep(Duration::from_secs(1))).await;
        assert_eq!(lost, Err("it takes too long"));
        let broken = apart(PATIENCE, || panic!("as the parser does")).await;
        assert_eq!(broken, Err::<(), _>("it breaks the parser"));
        let place = Place { workspace: Path::new("/"), real: &real };
        let mut settings =
            PermissionSettings { mode: PermissionMode::Full, allow: Vec::new(), deny: Vec::new() };
        let granted = SessionGrants::default();
        let judge = |settings: &PermissionSettings| {
            permission::judge_unread("ls", "it is", "bash", settings, &granted, place)
        };
        let Judgement::Ask { note, .. } = judge(&settings) else { panic!("not asked") };
        assert_eq!(note.as_deref(), Some("cannot be checked: it is"));
        settings.mode = PermissionMode::Read;
        assert!(matches!(judge(&settings), Judgement::Deny { .. }));
    }
}
