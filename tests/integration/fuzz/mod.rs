//! Everything that reads what others wrote, fed with damaged input: it may refuse, it may not panic,
//! hang, or give out what it must not (issue of safety I2, I13, I15; F58, F60, F76, F85, F86, F98).
//!
//! Each target runs for a moment with every test run; `REGROW_FUZZ_SECONDS=600 cargo test --test
//! integration fuzz -- --nocapture --test-threads=2` runs it for ten minutes. A failure prints the
//! input and the number that makes the same inputs again (`REGROW_FUZZ_SEED`).

mod mutate;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mutate::Mutator;

/// How long a single input may take, unoptimised and among other tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// Feeds a target for the time that is set.
fn fuzz(name: &str, corpus: &[&[u8]], target: impl Fn(&[u8])) {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    let time =
        number("REGROW_FUZZ_SECONDS").map_or(Duration::from_millis(400), Duration::from_secs);
    let seed = number("REGROW_FUZZ_SEED").unwrap_or(0x5eed_0001);
    let mut mutator = Mutator::new(seed, corpus);
    let began = Instant::now();
    let mut inputs = 0_u64;
    while began.elapsed() < time {
        let input = mutator.next();
        // For an input that never ends: it stands in a file.
        if let Some(folder) = std::env::var_os("REGROW_FUZZ_KEEP") {
            std::fs::write(std::path::Path::new(&folder).join(name), &input).unwrap();
        }
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| target(&input)));
        let took = started.elapsed();
        assert!(
            outcome.is_ok() && took < PATIENCE,
            "{name}: input {inputs} of seed {seed} ({took:?}):\n{:?}\n{input:?}",
            String::from_utf8_lossy(&input)
        );
        inputs += 1;
    }
    println!("{name}: {inputs} inputs in {:?}, no panic", began.elapsed());
}
