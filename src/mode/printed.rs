//! Where words for people are printed without a screen. Nothing that stood in a file, in a name or in
//! an answer commands their terminal from there (F86). What programs read (JSON) goes past it, byte for
//! byte.

use std::io::{self, BufWriter, Stderr, Stdout};

use crate::tool::sanitize::Cleaned;

/// Standard output, for people.
#[must_use]
pub fn stdout() -> Cleaned<BufWriter<Stdout>> {
    Cleaned::over(BufWriter::new(io::stdout()))
}

/// Standard error, for people.
#[must_use]
pub fn stderr() -> Cleaned<Stderr> {
    Cleaned::over(io::stderr())
}
