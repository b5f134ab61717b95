//! Faults from outside: connections, disks, signals and windows that fail, at every moment at which
//! they can (I2, I7, I8, I12, I13, I15).
//!
//! `REGROW_FAULT_ROUNDS=200 cargo test --test integration faults -- --nocapture` strikes more often
//! than the usual run; `REGROW_FAULT_SEED` strikes at other moments.

mod cuts;
mod disk;
mod kills;
mod prune;
mod scene;
mod terminal;
mod together;
