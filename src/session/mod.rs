//! Session files and the tree of entries that they hold (SPEC sections 2 and 3).

pub mod context;
pub mod describe;
pub mod entry;
pub mod reader;
pub mod report;
pub mod tree;
pub mod view;
