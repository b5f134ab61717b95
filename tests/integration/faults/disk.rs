//! Disks that take no more, at every file that is written (I8, J9; F57, F82, F96). A limit on the size
//! of files stands for a full disk: the program gets an error in the middle of a write.

use super::scene::*;

/// Files may have so many blocks of 512 bytes (or of 1024, with other shells); the signal that comes
/// with it is ignored.
fn limited(blocks: u64) -> String {
    format!("trap '' XFSZ; ulimit -f {blocks};")
}

/// A limit that every file of some megabytes exceeds.
const SMALL: u64 = 200;

#[test]
fn i8_i3_a_compaction_a_fork_an_import_and_a_repair_on_a_full_disk_change_nothing() {
    let place = Place::new();
    let kept = place.path().join("kept");
    let (big, bad) = (place.file("big.jsonl"), place.file("bad.jsonl"));
    let (content, damaged) = (session(500), damaged_session(500));
    std::fs::write(&big, &content).unwrap();
    std::fs::write(&bad, &damaged).unwrap();
    let (big_path, bad_path) = (big.to_str().unwrap(), bad.to_str().unwrap());
    for arguments in [
        &["compact", big_path][..],
        &["--fork", big_path, "-p", "read a.txt"],
        &["import", big_path],
        &["doctor", bad_path, "--fix"],
        &["--session", big_path, "-p", "read a.txt"],
    ] {
        let said = failed(&place.run(&limited(SMALL), arguments));
        let names_it = said.contains("File too large") || said.contains("No space");
        assert!(names_it, "{arguments:?}: {said}");
        assert_eq!(std::fs::read_to_string(&big).unwrap(), content, "{arguments:?}");
        assert_eq!(std::fs::read_to_string(&bad).unwrap(), damaged, "{arguments:?}");
        let left = names(&kept).into_iter().collect::<Vec<_>>();
        assert_eq!(left, ["bad.jsonl", "big.jsonl"], "{arguments:?}");
        assert_eq!(place.sessions(), Vec::<std::path::PathBuf>::new(), "{arguments:?}");
        let rubbish = names(&place.path().join("sessions"));
        assert!(rubbish.is_empty(), "{arguments:?}: {rubbish:?}");
    }
    // With room again, all of it works.
    succeeded(&place.run("", &["import", big_path]));
    succeeded(&place.run("", &["doctor", bad_path, "--fix"]));
    opens(&bad);
}

#[test]
fn j5_a_migration_on_a_full_disk_keeps_the_original() {
    let place = Place::new();
    let (path, content) = (place.file("old.jsonl"), old_session(500));
    std::fs::write(&path, &content).unwrap();
    for _ in 0..3 {
        let said = failed(
            &place.run(&limited(SMALL), &["--session", path.to_str().unwrap(), "-p", "read a.txt"]),
        );
        assert!(said.contains("File too large"), "{said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        let left = names(path.parent().unwrap()).into_iter().collect::<Vec<_>>();
        assert_eq!(left, ["old.jsonl", "old.jsonl.v1.bak"], "tried again, it is the same backup");
    }
    succeeded(&place.run("", &["--session", path.to_str().unwrap(), "-p", "read a.txt"]));
    opens(&path);
}

#[test]
fn i8_an_export_on_a_full_disk_leaves_the_old_one() {
    let place = Place::new();
    let path = place.file("big.jsonl");
    std::fs::write(&path, session(500)).unwrap();
    let out = place.path().join("out");
    std::fs::create_dir(&out).unwrap();
    for name in ["out.html", "out.md", "out.jsonl"] {
        let target = out.join(name);
        std::fs::write(&target, "what was there before").unwrap();
        let arguments = ["export", path.to_str().unwrap(), "-o", target.to_str().unwrap()];
        let said = failed(&place.run(&limited(SMALL), &arguments));
        assert!(said.contains("File too large") && said.contains(name), "{said}");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "what was there before");
    }
    assert_eq!(names(&out).len(), 3);
}

#[test]
fn f82_settings_that_cannot_be_written_stay_and_so_does_their_backup() {
    let place = Place::new();
    let file = place.path().join(".config/regrow/settings.json");
    let old = r#"{"endpoints": {"x": [{"baseUrl": "http://127.0.0.1:1", "summarize": true}]}}"#;
    let backup = file.with_extension("json.bak");
    std::fs::write(&file, old).unwrap();
    std::fs::write(&backup, "an older backup").unwrap();
    let said = failed(&place.run(&limited(0), &["config", "migrate"]));
    assert!(said.contains("settings.json"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), old);
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), "an older backup");
    assert_eq!(names(file.parent().unwrap()).len(), 2, "nothing else");
}

/// I13: output that no file takes is cut for the model all the same, and the turn goes on.
#[test]
fn i13_a_command_says_more_than_the_disk_takes() {
    let place = Place::new();
    let run = |shell: &str, prompt: &str| {
        place.run(shell, &["--permission", "full", "-p", prompt, "--mode", "json"])
    };
    let said = succeeded(&run(&limited(SMALL), "run seq 1 200000"));
    assert!(said.contains("200000"), "the end is there: {}", said.len());
    assert!(said.len() < 4_000_000, "{}", said.len());
    let session = place.sessions().pop().unwrap();
    opens(&session);
    // Nothing that claims to hold it all, and does not.
    let text = std::fs::read_to_string(&session).unwrap();
    let named = text.split("fullOutputPath\":\"").nth(1).and_then(|rest| rest.split('"').next());
    if let Some(path) = named {
        let held = std::fs::read_to_string(path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(held.starts_with("1\n2\n") && !held.ends_with("200000\n"), "{}", held.len());
        let said = text.contains(&format!("KB are in {path}")) && !text.contains("256.0 MB");
        assert!(said, "it says how much it holds");
    }
}
