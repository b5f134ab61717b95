//! The real session on real files with a scripted model: turns, compaction, branches, stops.

mod branches;
mod compaction;
pub mod harness;
mod hooks;
pub mod served;
mod skills;
mod stops;
mod summaries;
mod turns;
mod windows;
