//! regrow: a coding agent for the terminal whose conversations are trees.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::too_many_lines
    )
)]

pub mod ids;
pub mod message;
pub mod nearest;

pub mod compaction;
pub mod prompt;
pub mod session;
pub mod settings;

pub mod hook;
pub mod provider;
pub mod tool;

pub mod agent;
pub mod agent_session;
pub mod export;
pub mod slash;
pub mod tui;

pub mod cli;
pub mod mode;
pub mod startup;
