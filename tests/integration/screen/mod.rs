//! More of the screen in a real pseudo-terminal, one subject a file (SPEC section 10).

mod terminal;
