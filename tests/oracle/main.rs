//! Comparison with results that other implementations of the format computed: `../shared/oracle`.
//! Where those cases are absent, every test says so and passes. `-- --nocapture` shows how many
//! figures were compared per kind, and how many differ on purpose.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::too_many_lines
)]

mod cases;
mod compaction;
mod sessions;
mod settings;
mod summary;
mod tally;
