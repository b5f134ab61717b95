//! Sessions for other programs and other people: what `/export` and `regrow export` write.
//!
//! An export reads through the session's reader and returns text or writes to a given sink; it never
//! changes the session.

/// What a session is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One self-contained page.
    Html,
    /// Text with headings.
    Markdown,
    /// The session file itself.
    Jsonl,
}

impl Format {
    /// All formats and the words for them.
    pub const ALL: [(&'static str, Self); 3] =
        [("html", Self::Html), ("md", Self::Markdown), ("jsonl", Self::Jsonl)];

    /// Reads a format's word or a file ending, in any case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        match word.as_str() {
            "htm" => Some(Self::Html),
            "markdown" => Some(Self::Markdown),
            _ => Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, format)| *format),
        }
    }

    /// The ending of a file of this format, without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Jsonl => "jsonl",
        }
    }
}
