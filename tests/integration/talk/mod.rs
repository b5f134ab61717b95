//! The real session on real files with a scripted model: turns, compaction, branches, stops.

mod branches;
mod compaction;
mod harness;
mod stops;
mod turns;
