//! A long random session through the real thing, checked after each step against a reading of the
//! file by other code (I1–I4, I6–I11; SPEC sections 2–5, 13).
//!
//! `REGROW_SOAK_TURNS=20000 cargo test --release --test integration soak -- --nocapture` says more
//! prompts than the usual few hundred, `REGROW_SOAK_SEED` gives another session. A failure prints the
//! seed and the step.

mod actor;
mod book;
mod counts;
mod driver;
mod steps;

use std::time::Instant;

use crate::support::dice::number;
use counts::Memory;
use driver::Soak;

/// What an entry may cost in memory, in bytes: its node in the tree takes about 600, twice that while
/// the file is open a second time, as at a switch and a whole comparison, and this test notes it too.
const BYTES_AN_ENTRY: u64 = 2_200;

/// Memory that comes and goes: texts in context, caches, what the allocator keeps.
const SLACK: u64 = 32 << 20;

#[tokio::test]
async fn i1_i8_a_long_random_session_stays_what_its_file_says() {
    let (turns, seed) = (number("REGROW_SOAK_TURNS", 200), number("REGROW_SOAK_SEED", 1));
    let began = Instant::now();
    let mut soak = Soak::start(seed);
    let mut memory = Vec::new();
    for quarter in 1..=4 {
        while soak.counts.turns < turns * quarter / 4 {
            soak.step().await;
        }
        soak.check_all().await;
        memory.push(Memory::now(soak.entries_open(), soak.counts.entries));
        println!("{} after {} prompts", memory[memory.len() - 1], soak.counts.turns);
    }
    let counts = soak.finish().await;
    println!("seed {seed}: {counts} in {:?}", began.elapsed());
    counts.assert_varied();
    let (first, last) = (&memory[0], &memory[3]);
    let grown = last.resident.saturating_sub(first.resident);
    let entries = last.open.saturating_sub(first.open);
    println!(
        "resident memory grew by {grown} bytes while the open session grew by {entries} entries: {} an entry",
        grown / entries.max(1)
    );
    assert!(
        grown <= entries * BYTES_AN_ENTRY + SLACK,
        "memory is not flat: {grown} bytes for {entries} entries, of {BYTES_AN_ENTRY} each"
    );
}
