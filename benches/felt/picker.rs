//! The `@` picker in a folder with very many files.

use std::time::{Duration, Instant};

use super::pty::{Home, Pty};
use super::{Table, median};

const FILES: usize = 200_000;

pub fn measure(table: &mut Table) {
    let home = Home::new();
    for folder in 0..FILES / 500 {
        let path = home.project().join(format!("crate-{folder}/src"));
        std::fs::create_dir_all(&path).unwrap();
        for file in 0..500 {
            std::fs::File::create(path.join(format!("module_{file}.rs"))).unwrap();
        }
    }
    let mut screen = Pty::start(home.command(&[]), 120, 40);
    screen.until_shows("ctx");
    let began = Instant::now();
    screen.send("@");
    screen.until_shows("crate-");
    table.time("@ in 200 000 files: first list", began.elapsed(), Duration::from_secs(1));
    let mut keys = Vec::new();
    for (number, key) in "crate31mod7x".chars().enumerate() {
        let began = Instant::now();
        screen.send(key.to_string());
        // Every list names what was typed; the line itself shows it at once.
        screen.until_shows(&"@crate31mod7x"[..number + 2]);
        keys.push(began.elapsed());
    }
    table.time("@ in 200 000 files: a key is echoed", median(&mut keys), Duration::from_millis(16));
    let began = Instant::now();
    screen.send("\u{7f}");
    screen.until_shows("module_7");
    table.time("@ in 200 000 files: a list", began.elapsed(), Duration::from_millis(100));
}
