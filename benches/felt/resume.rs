//! Sessions of 1 000 entries to 500 MB: opening them, `/tree` in them, compacting them.

use std::path::Path;
use std::time::{Duration, Instant};

use super::generate::{self, Shape};
use super::pty::{Home, Pty};
use super::{Table, millis, process, server};

/// How often a key is pressed.
const KEYS: usize = 40;

pub fn measure(table: &mut Table, host: &server::Host) {
    let branches = Shape { branch_every: 20, ..Shape::chain(100_000, 1_000) };
    for (name, shape) in [
        ("1 000 entries", Shape::chain(1_000, 1_000)),
        ("10 000 entries", Shape::chain(10_000, 1_000)),
        ("100 000 entries, 250 MB", Shape::chain(100_000, 5_500)),
        ("100 000 entries, 5 000 forks", branches),
        ("200 000 entries, 500 MB", Shape::chain(200_000, 5_500)),
    ] {
        session(table, host, name, shape);
    }
}

fn session(table: &mut Table, host: &server::Host, name: &str, shape: Shape) {
    let home = Home::new();
    let file = home.project().join("session.jsonl");
    generate::write(&file, shape).unwrap();
    let lines = count_lines(&file);
    host.configure(&home);
    let arguments = ["--session", file.to_str().unwrap()];
    let began = Instant::now();
    let mut screen = Pty::start(host.command(&home, &arguments), 120, 40);
    screen.until_shows("ctx");
    let first = began.elapsed();
    let budget = lines * 4 + Duration::from_millis(50);
    table.time(&format!("{name}: first frame (4 × `wc -l` + 50 ms)"), first, budget);
    let pss = process::pss(screen.pid().as_raw_nonzero().get());
    table.row(&format!("{name}: PSS"), pss, 80.0, "MB");

    let began = Instant::now();
    screen.send("/tree\r");
    screen.until_shows("← active");
    table.time(&format!("{name}: /tree opens"), began.elapsed(), Duration::from_millis(50));
    let mut keys: Vec<Duration> = Vec::new();
    for _ in 0..KEYS {
        let before = screen.screen();
        let began = Instant::now();
        screen.send("\u{1b}[A");
        screen.until("another row", |now| now.contents() != before);
        keys.push(began.elapsed());
    }
    keys.sort();
    // Frames are drawn at most every 16 ms; the key itself has 5 ms.
    let budget = Duration::from_millis(21);
    table.time(&format!("{name}: a key in /tree, with its frame"), keys[KEYS / 2], budget);
    screen.send("\u{1b}");
    screen.until_gone("esc close");

    let before = process::Use::of(screen.pid().as_raw_nonzero().get());
    let began = Instant::now();
    screen.send("/compact\r");
    screen.until_shows(server::SHORT_SUMMARY);
    table.time(&format!("{name}: /compact, the model instant"), began.elapsed(), Duration::ZERO);
    let used = process::Use::of(screen.pid().as_raw_nonzero().get()).since(before);
    table.row(&format!("{name}: /compact, CPU"), millis(used.cpu), 0.0, "ms");
    screen.send("/quit\r");
    screen.wait();
}

/// How long `wc -l` takes, the file in memory.
fn count_lines(file: &Path) -> Duration {
    let count = || {
        let began = Instant::now();
        std::process::Command::new("wc").arg("-l").arg(file).output().unwrap();
        began.elapsed()
    };
    count();
    (0..5).map(|_| count()).min().unwrap()
}
