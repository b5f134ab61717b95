//! kill -9 while a session is written, and disks that take no more (I8, J9).

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::scene::*;
use regrow::compaction::tokens::Estimator;
use regrow::ids::{Stamper, Timestamp};
use regrow::message::{Content, Message, ToolResultMessage};
use regrow::session::entry::{EntryBody, SessionEntry};
use regrow::session::store::{Access, SessionStore, StoreError};

/// Names the session that [`a_writer`] is to write to, and what it is to do.
const WRITER: &str = "REGROW_TEST_WRITER";

/// Ids that differ from one process to the next.
struct Ids(AtomicU32);

impl Stamper for Ids {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }
    fn entry_bits(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
    fn session_id(&self) -> String {
        "s".to_owned()
    }
}

/// Small steps of a generator that needs no crate.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// This test binary again, running [`a_writer`].
fn writer(task: &str, session: &Path, shell: &str) -> Child {
    let exe = std::env::current_exe().unwrap();
    Command::new("sh")
        .args(["-c", &format!("{shell} exec \"$0\" --exact sessions::crash::a_writer --nocapture")])
        .arg(exe)
        .env(WRITER, format!("{task} {}", session.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test: what the tests below start as a process of its own.
#[test]
fn a_writer() {
    let Ok(order) = std::env::var(WRITER) else { return };
    let (task, session) = order.split_once(' ').unwrap();
    let opened = SessionStore::open(Path::new(session), Access::Write, Estimator::default());
    let mut store = opened.unwrap().store;
    let ids = Ids(AtomicU32::new(std::process::id().wrapping_mul(0x9e37_79b9)));
    match task {
        "on" => write_on(&mut store, &ids),
        "full" => write_until_full(&mut store, &ids),
        _ => unreachable!(),
    }
}

fn result(text: String) -> EntryBody {
    let content = Content::Text(text);
    let result = ToolResultMessage { content, ..ToolResultMessage::default() };
    EntryBody::Message { message: Message::ToolResult(result) }
}

/// Appends and now and then rewrites; says on stdout what is on disk, until killed.
fn write_on(store: &mut SessionStore, ids: &Ids) {
    let mut state = u64::from(std::process::id()) | 1;
    for round in 0_u64.. {
        // Mostly small, now and then so long that a kill can come in the middle of its write.
        let exponent = if next(&mut state).is_multiple_of(8) { 20 } else { next(&mut state) % 16 };
        let size = 1 << exponent;
        let entry = store.append(result("x".repeat(size)), ids).unwrap();
        if round % 3 == 0 {
            store.sync().unwrap();
        }
        println!("\n+{}", entry.id);
        if next(&mut state).is_multiple_of(16) {
            let tree = store.reader().tree();
            let last = tree.leaf().unwrap();
            drop(tree);
            let mut pruned = SessionEntry::clone(&store.reader().entry(last).unwrap());
            pruned.body = result("pruned".into());
            store.rewrite(&[(last, pruned)].into()).unwrap();
        }
    }
}

fn write_until_full(store: &mut SessionStore, ids: &Ids) {
    loop {
        let before = std::fs::read(store.path().unwrap()).unwrap();
        match store.append(user(&"y".repeat(3_000)), ids) {
            Ok(entry) => println!("\n+{}", entry.id),
            Err(error) => {
                assert!(matches!(error, StoreError::Write { .. }));
                let message = error.to_string();
                assert!(
                    message.contains(&store.path().unwrap().display().to_string()),
                    "{message}"
                );
                assert_eq!(std::fs::read(store.path().unwrap()).unwrap(), before);
                let count = store.reader().tree().len();
                store.hold(user("held"), ids);
                assert!(store.has_unsaved());
                assert_eq!(store.reader().tree().len(), count + 1);
                // It can be saved elsewhere although this disk is full.
                println!("\n!full");
                return;
            }
        }
    }
}

/// The ids that a writer said are on disk.
fn acknowledged(child: &mut Child) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines
        .map_while(Result::ok)
        .filter_map(|line| Some(line.strip_prefix('+')?.to_owned()))
        .collect()
}

fn fresh(dir: &Path, number: usize) -> PathBuf {
    let path = dir.join(format!("{number}.jsonl"));
    std::fs::write(&path, format!("{HEADER}\n")).unwrap();
    path
}

#[test]
fn i8_two_hundred_kills_lose_nothing_that_was_acknowledged() {
    const KILLS: usize = 200;
    let dir = tempfile::tempdir().unwrap();
    let mut state = 0x5eed_u64;
    let (mut kills, mut entries, mut warned) = (0, 0, 0);
    let began = Instant::now();
    for session in 0.. {
        if kills == KILLS {
            break;
        }
        let path = fresh(dir.path(), session);
        let mut known = Vec::new();
        for _ in 0..10 {
            let mut child = writer("on", &path, "");
            // The moment is random on purpose: nothing tells a killer when to strike.
            std::thread::sleep(Duration::from_micros(20_000 + next(&mut state) % 50_000));
            child.kill().unwrap();
            known.extend(acknowledged(&mut child));
            child.wait().unwrap();
            kills += 1;
            let opened = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
            assert!(opened.warnings.len() <= 1, "{:?}", opened.warnings);
            warned += opened.warnings.len();
            drop(opened);
            let again = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
            assert_eq!(again.warnings, [""; 0]);
            let tree = again.store.reader().tree();
            for id in &known {
                assert!(tree.find(&id.as_str().into()).is_some(), "{id} is lost");
            }
            assert_eq!(tree.active_path().len(), tree.len(), "one chain");
        }
        entries += known.len();
    }
    println!(
        "{kills} kills, {entries} acknowledged entries, none lost, {warned} torn ends, {:?}",
        began.elapsed()
    );
    assert!(entries > KILLS, "the writers wrote");
}

#[test]
fn i8_a_full_disk_is_an_error_and_the_file_stays_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = fresh(dir.path(), 0);
    // A file may have 64 blocks of 512 or 1024 bytes; the signal for it is ignored.
    let mut child = writer("full", &path, "trap '' XFSZ; ulimit -f 64;");
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines: Vec<_> = lines.map_while(Result::ok).collect();
    assert!(child.wait().unwrap().success(), "{lines:?}");
    assert!(lines.iter().any(|line| line == "!full"));
    let opened = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
    assert_eq!(opened.warnings, [""; 0]);
    let written = lines.iter().filter(|line| line.starts_with('+')).count();
    assert_eq!(opened.store.reader().tree().len(), written);
}

#[test]
fn a_folder_that_cannot_be_made_is_a_clear_error() {
    let ids = Fixed::default();
    let dir = Path::new("/proc/self/no/such/folder");
    let mut store = SessionStore::create(dir, header(), Estimator::default());
    let error = store.append(user("one"), &ids).unwrap_err();
    assert!(error.to_string().contains("/proc/self/no/such/folder"), "{error}");
    assert_eq!(store.reader().tree().len(), 0);
    assert_eq!(store.path(), None);
}
