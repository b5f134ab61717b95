//! Shells without a screen: one prompt in, text or events out (SPEC section 12).

pub mod interrupt;
pub mod json;
pub mod lines;
pub mod print;
pub mod printed;
pub mod rpc;
