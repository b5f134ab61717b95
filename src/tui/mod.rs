//! The screen (SPEC section 10).

pub mod effect;
pub mod overlay;
pub mod theme;
