//! One session in motion: it owns the tree, the file and whatever runs.

pub mod command;
pub mod event;
