//! More of the screen in a real pseudo-terminal, one subject a file (SPEC section 10).

mod commands;
mod fixture;
mod keys;
mod storm;
mod table;
mod terminal;
mod tree_keys;
