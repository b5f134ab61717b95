//! Comparison with results that other implementations of the format computed: `../shared/oracle`.
//! Where those cases are absent, every test says so and passes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::too_many_lines
)]

mod compaction;
