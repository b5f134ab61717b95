//! Tests of the crate as a whole. One binary, one line per module, so that it links once.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::too_many_lines
)]

mod command_line;
mod export;
mod extend;
mod faults;
mod fuzz;
mod plain;
mod private;
mod protocols;
mod providers;
mod readme;
mod real;
mod rpc;
mod screen;
mod sessions;
mod settings;
mod soak;
mod support;
mod talk;
mod tidy;
mod tools;
mod tour;
mod tui;
