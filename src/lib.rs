//! regrow: a coding agent for the terminal whose conversations are trees.
//!
//! This page is the map of the crate; every module has a page of its own.
//!
//! # The idea in five sentences
//!
//! 1. **The session tree is the only truth.** What a model sees, what the screen shows and what the
//!    gauge says are functions of (tree, leaf). Nothing keeps a second list of messages.
//! 2. **Decide as data, then do.** Where to cut, what to prune, what follows a round: pure functions
//!    that return plans. Files, sockets and processes are touched only where a plan is carried out.
//! 3. **Commit points are explicit.** An operation changes nothing until its one append; it checks that
//!    the leaf is still the one that it started from, appends, then tells the shell.
//! 4. **Whatever runs is one activity with one cancellation token.** Escape cancels it; what it reports
//!    afterwards belongs to an epoch that is over, and nobody listens.
//! 5. **Depth and size are linear.** Flat arrays and loops, no recursion over the tree; the body of an
//!    entry is read when somebody looks at it.
//!
//! # Layers
//!
//! Modules import from their own layer and from those above it in this list, never from below. A test
//! (`tests/integration/tidy.rs`) reads the sources and says so if one does.
//!
//! | layer | modules | may not name |
//! | --- | --- | --- |
//! | words | [`ids`], [`message`], [`nearest`] | runtime, network, files, environment, clock |
//! | pure domain | [`session`] (entry, tree, describe, context, view, migrate, report), [`compaction`] (all but summarizer and remote), [`settings`], [`prompt`] | as above |
//! | ports | [`provider`], [`tool`], [`hook`]: traits and their data | as above |
//! | adapters | [`whole_file`], [`session::store`], `provider::*`, `tool::*`, `settings::file`, `prompt::context_files`, `prompt::library`, [`compaction::summarizer`], [`hook::external`] | screen and command line |
//! | agent loop | [`agent`]: one round = one request and its tool calls | as above |
//! | session in motion | [`agent_session`]: owns file, tree, queue and whatever runs | as above |
//! | shells | [`tui`], [`mode`], [`export`], [`slash`], [`cli`], [`startup`] | – |
//!
//! Only [`startup`] picks real implementations. A shell speaks to a session through
//! [`agent_session::command::SessionCommand`] and [`agent_session::event::SessionEvent`], and reads
//! through the [`session::reader::SessionReader`] that an event hands it; through nothing else.
//!
//! There are four shells that talk: the screen ([`tui`]), lines for people ([`mode::plain`]), lines for
//! programs ([`mode::rpc`], both ways; [`mode::json`], out alone) and one answer ([`mode::print`]).
//!
//! # Data on its way
//!
//! *A prompt.* Key → `SessionCommand::Prompt` → is a compaction due? → append the user entry, on disk
//! → request built from the tree → [`agent::round`] streams, runs tools, reports → each finished message
//! is appended, then told → `next_step` says what follows: another round, a compaction, the queue, a wait,
//! nothing.
//!
//! *`/compact`.* Plan first, before anything is stopped → stop what runs → summary calls, with progress →
//! checks (leaf unchanged, not cancelled, smaller than before) → one append. Manual, threshold and overflow
//! are one path with three reasons.
//!
//! *`/tree`.* The overlay reads nodes, not bodies → `SessionCommand::Navigate` → settle what runs → summary
//! of the branch that is left, if wanted → one append: the summary, or the mark of a moved leaf.
//!
//! *A hook.* Something is about to happen → its [`hook::chain::Occasion`] says it as JSON → the hooks that
//! want it are asked in order, each seeing what earlier ones changed → the first cancel ends it. The session
//! starts chains in one place (`agent_session::hooks`): as a part of what runs where an answer counts, so that
//! Escape stops them, and on a line of their own where something is only told.
//!
//! *`/reload`, `/settings`.* The screen asks the program around it (`tui::outside`) → files are read anew,
//! a change only after the whole holds together → `SessionCommand::UseSettings`; the next step of whatever
//! runs goes by it. Templates are filled in by the shell; skills lie on a shelf that the system prompt and
//! the `skill` tool share, and change only there.
//!
//! # What is not here
//!
//! No second copy of the conversation, no database, no index that could disagree with the session file, no
//! recursion over the tree, no global state.
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

pub mod whole_file;

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
