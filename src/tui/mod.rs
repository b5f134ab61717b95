//! The screen (SPEC section 10).

pub mod action;
pub mod editor;
pub mod effect;
pub mod highlight;
pub mod keymap;
pub mod markdown;
pub mod overlay;
pub mod text;
pub mod theme;
pub mod wrap;
