//! Sessions for other programs and other people: what `/export` and `regrow export` write.
//!
//! An export reads entry by entry through the session's reader and writes to a sink that it is given:
//! memory does not grow with the session. It never changes the session.

use std::io::{self, Write};
use std::path::Path;

use crate::session::entry::SessionHeader;
use crate::session::reader::SessionReader;
use crate::session::tree::NodeIndex;

mod html;
mod jsonl;
mod markdown;
mod redact;
pub mod tree;

pub use redact::redact;

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The session's entries.
    pub reader: &'a SessionReader,
    /// Its first line.
    pub header: &'a SessionHeader,
    /// The end of the path that formats without branches show; `None` is before the first entry.
    pub leaf: Option<NodeIndex>,
    /// The session's file, beside which the originals of pruned results may lie.
    pub file: Option<&'a Path>,
}

/// Whether what looks like a key is blacked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// As it is in the session.
    Keep,
    /// Replaced by `[redacted]`.
    Redact,
}

/// Writes a session. Entries that cannot be read are left out; returns one sentence for each of them.
///
/// # Errors
/// The sink failed.
pub fn export(
    format: Format,
    source: &Source<'_>,
    secrets: Secrets,
    out: &mut dyn Write,
) -> io::Result<Vec<String>> {
    match format {
        Format::Markdown => {
            // It is read in terminals as well.
            markdown::write(source, secrets, &mut crate::tool::sanitize::Cleaned::over(out))
        }
        Format::Jsonl => jsonl::write(source, secrets, out),
        Format::Html => html::write(source, secrets, out),
    }
}

/// A text as it may be shown.
fn shown(text: &str, secrets: Secrets) -> std::borrow::Cow<'_, str> {
    match secrets {
        Secrets::Keep => text.into(),
        Secrets::Redact => redact(text),
    }
}

/// What a session is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The path to the leaf as text with headings.
    Markdown,
    /// The whole session in its own format.
    Jsonl,
    /// The whole session as one page for a browser.
    Html,
}

impl Format {
    /// All formats and the words for them.
    pub const ALL: [(&'static str, Self); 3] =
        [("md", Self::Markdown), ("jsonl", Self::Jsonl), ("html", Self::Html)];

    /// Reads a format's word or a file ending, in any case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        match word.as_str() {
            "markdown" => Some(Self::Markdown),
            _ => Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, format)| *format),
        }
    }

    /// The ending of a file of this format, without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Jsonl => "jsonl",
            Self::Html => "html",
        }
    }
}
