//! Shells without a screen: one prompt in, text or events out (SPEC section 12).

pub mod interrupt;
pub mod json;
pub mod lines;
pub mod plain;
pub mod print;
pub mod printed;
pub mod rpc;

/// What is said to the model when nobody is left to be asked.
const NOBODY: &str = "nobody is there to be asked";
