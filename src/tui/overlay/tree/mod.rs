//! `/tree`: the session as a tree to look around in and to move through (SPEC U5, B6, B8).

#[cfg(test)]
mod notation;
pub mod outline;
pub mod rows;
