//! The agent's loop, one round at a time (SPEC A1).
//!
//! A *round* is one request to a model and the tool calls of its answer. What follows a round
//! (another one, a compaction, a queued message, nothing) is the session's decision; that way the
//! context of every request is derived from the tree.

pub mod event;
pub mod round;
pub mod tool_calls;
