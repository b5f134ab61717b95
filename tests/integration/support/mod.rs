//! What the tests of the whole crate share.
// Not every module uses everything, and nothing here leaves the test binary.
#![allow(dead_code, unreachable_pub)]

pub mod dice;
pub mod pty;
pub mod server;
