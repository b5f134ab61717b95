//! Session files and the tree of entries that they hold (SPEC sections 2 and 3).

mod bodies;
pub mod context;
pub mod describe;
pub mod entry;
pub mod listing;
pub mod lock;
pub mod migrate;
pub mod originals;
pub mod reader;
pub mod report;
pub mod stats;
pub mod store;
pub mod tree;
pub mod view;
