//! kill -9 of the real program while it does something to a session (I8, J5, J9; F31, F46, F54, F56):
//! what was acknowledged is there, what is in place is whole, and no rubbish piles up.

use std::path::Path;
use std::time::Duration;

use super::scene::*;

/// Turns of the sessions: some megabytes, so that there is something to be killed in.
const TURNS: usize = 500;

/// All of what a program does.
const ALL: Duration = Duration::MAX;

/// Kills the program so often in the `last` part of what it does with `arguments`. Before each start the file is put in place
/// by `prepare`; after each kill `check` looks.
fn strike(
    what: &str,
    last: Duration,
    place: &Place,
    arguments: &[&str],
    prepare: impl Fn(),
    check: impl Fn(&str),
) {
    prepare();
    let takes = time(|| {
        succeeded(&place.run("", arguments));
    });
    check("left alone");
    let mut killer = Killer::new(takes, last);
    for round in 0..killer.rounds {
        prepare();
        killer.strike(place.command("", arguments));
        check(&format!("{what}, round {round}"));
    }
    println!("{what}: {} kills in {takes:?} of work, {} too late", killer.rounds, killer.late);
    prepare();
    succeeded(&place.run("", arguments));
}

/// No more in the folders than there would be had nobody been killed.
#[track_caller]
fn assert_tidy(folder: &Path, known: &[&str]) {
    let rubbish: Vec<_> = names(folder)
        .into_iter()
        .filter(|name| !known.contains(&name.as_str()) && !name.ends_with(".jsonl"))
        .filter(|name| !name.ends_with(".lock"))
        .collect();
    assert!(rubbish.is_empty(), "left behind: {rubbish:?}");
}

#[test]
fn i8_a_compaction_is_killed() {
    let place = Place::new();
    let (path, content) = (place.file("big.jsonl"), session(40));
    let before = {
        std::fs::write(&path, &content).unwrap();
        texts(&path)
    };
    let prepare = || std::fs::write(&path, &content).unwrap();
    // Before that a summary is written.
    let last = Duration::from_millis(150);
    strike("a compaction", last, &place, &["compact", path.to_str().unwrap()], prepare, |when| {
        assert!(std::fs::read(&path).unwrap().starts_with(content.as_bytes()), "{when}");
        opens(&path);
        assert_eq!(texts(&path)[..before.len()], before, "{when}");
    });
    assert_tidy(path.parent().unwrap(), &["big.jsonl.torn"]);
}

#[test]
fn j5_a_migration_is_killed() {
    let place = Place::new();
    let (path, content) = (place.file("old.jsonl"), old_session(TURNS));
    std::fs::write(&path, &content).unwrap();
    let before = texts(&path);
    let prepare = || {
        // Each original is another one to the program, and has a backup of its own.
        for name in names(path.parent().unwrap()) {
            if name.ends_with(".bak") || name.ends_with(".jsonl") {
                std::fs::remove_file(place.file(&name)).unwrap();
            }
        }
        std::fs::write(&path, &content).unwrap();
    };
    let arguments = ["--session", path.to_str().unwrap(), "-p", "read a.txt"];
    strike("a migration", ALL, &place, &arguments, prepare, |when| {
        let now = texts(&path);
        assert!(now.starts_with(&before), "{when}: {} of {}", now.len(), before.len());
        opens(&path);
        assert!(texts(&path).starts_with(&before), "{when}");
        let backups: Vec<_> = names(path.parent().unwrap())
            .into_iter()
            .filter(|name| name.ends_with(".bak"))
            .collect();
        assert_eq!(backups, ["old.jsonl.v1.bak"], "{when}");
        assert_eq!(std::fs::read_to_string(place.file(&backups[0])).unwrap(), content, "{when}");
    });
    assert_tidy(path.parent().unwrap(), &["old.jsonl.v1.bak", "old.jsonl.torn"]);
}

#[test]
fn f56_a_fork_is_killed() {
    let place = Place::new();
    let (path, content) = (place.file("big.jsonl"), compacted_session(TURNS));
    std::fs::write(&path, &content).unwrap();
    let before = texts(&path);
    let sessions = place.path().join("sessions");
    let prepare = || {
        for file in place.sessions() {
            std::fs::remove_file(file).unwrap();
        }
    };
    let arguments = ["--fork", path.to_str().unwrap(), "-p", "read a.txt"];
    strike("a fork", ALL, &place, &arguments, prepare, |when| {
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content, "{when}");
        for file in place.sessions() {
            opens(&file);
            assert!(texts(&file).starts_with(&before), "{when}: a fork is whole or not there");
        }
    });
    assert_tidy(path.parent().unwrap(), &[]);
    assert_tidy(&sessions, &[]);
}

#[test]
fn i8_an_export_is_killed() {
    for name in ["out.html", "out.md", "out.jsonl"] {
        let place = Place::new();
        let (path, content) = (place.file("big.jsonl"), session(TURNS));
        std::fs::write(&path, &content).unwrap();
        let out = place.path().join("out");
        std::fs::create_dir(&out).unwrap();
        let target = out.join(name);
        let arguments = ["export", path.to_str().unwrap(), "-o", target.to_str().unwrap()];
        succeeded(&place.run("", &arguments));
        let whole = std::fs::read(&target).unwrap();
        let prepare = || std::fs::write(&target, "what was there before").unwrap();
        strike(&format!("an export to {name}"), ALL, &place, &arguments, prepare, |when| {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content, "{when}");
            let now = std::fs::read(&target).unwrap();
            // A page says when it was made.
            let made = now.len() == whole.len();
            assert!(made || now == b"what was there before", "{when}: {} bytes", now.len());
        });
        assert_eq!(names(&out).into_iter().collect::<Vec<_>>(), [name]);
    }
}

#[test]
fn i8_an_import_is_killed() {
    let place = Place::new();
    let (path, content) = (place.file("big.jsonl"), session(TURNS));
    std::fs::write(&path, &content).unwrap();
    let target = place.path().join("sessions/big.jsonl");
    let prepare = || {
        let _ = std::fs::remove_file(&target);
    };
    strike("an import", ALL, &place, &["import", path.to_str().unwrap()], prepare, |when| {
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content, "{when}");
        if target.exists() {
            let now = std::fs::read_to_string(&target).unwrap();
            assert!(now == content, "{when}: half of it, {} bytes", now.len());
        }
    });
    assert_tidy(&place.path().join("sessions"), &[]);
}

#[test]
fn i8_a_repair_is_killed() {
    let place = Place::new();
    let (path, content) = (place.file("bad.jsonl"), damaged_session(TURNS));
    std::fs::write(&path, &content).unwrap();
    let before = texts(&path);
    let damaged = place.file("bad.jsonl.damaged");
    let prepare = || {
        let _ = std::fs::remove_file(&damaged);
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, &content).unwrap();
    };
    let arguments = ["doctor", path.to_str().unwrap(), "--fix"];
    strike("a repair", ALL, &place, &arguments, prepare, |when| {
        assert_eq!(texts(&path), before, "{when}");
        if damaged.exists() {
            assert_eq!(std::fs::read_to_string(&damaged).unwrap(), content, "{when}");
        }
        // What the kill has interrupted can be done again.
        let again = place.run("", &arguments);
        succeeded(&again);
        assert_eq!(texts(&path), before, "{when}, and repaired");
        opens(&path);
    });
    assert_tidy(path.parent().unwrap(), &["bad.jsonl.damaged"]);
}

/// I14: what a tool writes is the old file or the new one.
#[test]
fn i14_a_write_of_a_tool_is_killed() {
    let place = Place::new();
    let target = place.file("target.txt");
    let (old, new) = ("what was there before\n".to_owned(), "word ".repeat(4_000));
    let prompt = format!("write kept/target.txt: {new}");
    let prepare = || std::fs::write(&target, &old).unwrap();
    let arguments = ["--no-session", "--permission", "full", "-p", &prompt];
    strike("a write", ALL, &place, &arguments, prepare, |when| {
        let now = std::fs::read_to_string(&target).unwrap();
        let whole = now.trim_end() == new.trim_end();
        assert!(now == old || whole, "{when}: {} bytes", now.len());
        assert!(whole || when != "left alone", "it was written: {now:.100}");
    });
    assert_eq!(names(target.parent().unwrap()).into_iter().collect::<Vec<_>>(), ["target.txt"]);
}
