//! What a person feels (SPEC section 13): the real binary in a pseudo-terminal, on sessions of
//! 1 000 to 100 000 entries. Prints a table; nothing is asserted, because times belong to machines.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

#[path = "sessions/generate.rs"]
mod generate;
#[path = "../tests/integration/support/pty.rs"]
mod pty;

use std::time::{Duration, Instant};

use generate::Shape;
use pty::{Home, Pty};

/// How often a key is pressed.
const KEYS: usize = 40;

fn main() {
    println!(
        "{:<28} {:>12} {:>10} {:>12} {:>12}",
        "session", "first frame", "PSS", "/tree opens", "a key there"
    );
    let branches = Shape { branch_every: 20, ..Shape::chain(100_000, 1_000) };
    for (name, shape) in [
        ("1 000 entries", Shape::chain(1_000, 1_000)),
        ("10 000 entries", Shape::chain(10_000, 1_000)),
        ("100 000 entries, 250 MB", Shape::chain(100_000, 5_500)),
        ("100 000 entries, 5 000 forks", branches),
    ] {
        measure(name, shape);
    }
}

fn measure(name: &str, shape: Shape) {
    let home = Home::new();
    let file = home.project().join("session.jsonl");
    generate::write(&file, shape).unwrap();
    let began = Instant::now();
    let mut screen = Pty::start(home.command(&["--session", file.to_str().unwrap()]), 120, 40);
    screen.until_shows("ctx");
    let first = began.elapsed();
    let pss = pss(screen.pid().as_raw_nonzero().get());

    let began = Instant::now();
    screen.send("/tree\r");
    screen.until_shows("← active");
    let opened = began.elapsed();

    let mut keys: Vec<Duration> = Vec::new();
    for _ in 0..KEYS {
        let before = screen.screen();
        let began = Instant::now();
        screen.send("\u{1b}[A");
        screen.until("another row", |now| now.contents() != before);
        keys.push(began.elapsed());
    }
    keys.sort();
    println!(
        "{name:<28} {:>9.0} ms {:>7} MB {:>9.0} ms {:>9.1} ms",
        millis(first),
        pss / 1024,
        millis(opened),
        millis(keys[KEYS / 2])
    );
    screen.send("\u{1b}");
    screen.until_gone("← active");
    screen.send("/quit\r");
    screen.wait();
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Kilobytes that a process alone occupies.
fn pss(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
