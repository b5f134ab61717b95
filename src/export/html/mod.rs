//! A session as one page that works anywhere: every branch, no network, nothing in it that could run
//! but our own script (U4, F57).
//!
//! The path to the leaf stands in the page itself, so that it can be read without a script; all other
//! entries wait as text in a block of JSON and are shown when somebody goes to their branch. Entries are
//! written one by one; memory does not grow with the session.

mod entry;
mod markdown;
mod outline;

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::json;

use super::{Secrets, Source, shown};
use crate::ids::EntryId;
use crate::session::entry::SessionEntry;
use crate::session::originals::load_originals;
use crate::session::tree::NodeIndex;
use crate::tool::sanitize::clean;

const STYLE: &str = include_str!("../../../assets/export/style.css");
const SCRIPT: &str = include_str!("../../../assets/export/script.js");

/// What the page may do: nothing but its own style and its own script. The hashes are of
/// `assets/export`; a test says the new ones when these change.
const STYLE_HASH: &str = "sha256-J9ksCsqAyg6JVcznjB1gsySRAujCgg9LF3eGfpN0jhA=";
const SCRIPT_HASH: &str = "sha256-B5SaQxN45vO3wbP3D//s1OcJxyKlsjm4aiFeQU9PcgQ=";

pub(super) fn write(
    source: &Source<'_>,
    secrets: Secrets,
    out: &mut dyn Write,
) -> io::Result<Vec<String>> {
    let mut page = Page {
        source,
        writer: entry::Writer { secrets },
        originals: source.file.and_then(|file| load_originals(file).ok()).unwrap_or_default(),
        problems: Vec::new(),
    };
    let text = |text: &str| escape(&shown(&clean(text), secrets));
    let (title, path, count) = {
        let tree = source.reader.tree();
        let title = tree.name().unwrap_or("Session").to_owned();
        (text(&title), tree.path(source.leaf), tree.nodes().len())
    };
    let started = source.header.timestamp.to_string();
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         style-src '{STYLE_HASH}'; script-src '{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<nav aria-label=\"Branches\">\n\
         <h1>{title}</h1>\n<p>{} · <span class=\"where\">{}</span> · {count} entries</p>\n",
        escape(started.get(..10).unwrap_or(&started)),
        text(&source.header.cwd),
    )?;
    outline::write(source, secrets, &path, out)?;
    out.write_all(b"</nav>\n<main>\n")?;
    for index in &path {
        let article = page.article(*index);
        if !article.is_empty() {
            writeln!(out, "{article}")?;
        }
    }
    out.write_all(b"</main>\n<script type=\"application/json\" id=\"entries\">[")?;
    let on_path: std::collections::HashSet<NodeIndex> = path.into_iter().collect();
    let all: Vec<NodeIndex> = source.reader.tree().nodes().map(|(index, _)| index).collect();
    for (number, index) in all.into_iter().enumerate() {
        let html = if on_path.contains(&index) { String::new() } else { page.article(index) };
        let line = {
            let tree = source.reader.tree();
            let up = tree.parent(index).map_or(-1, |parent| parent.get() as i64);
            json!({"id": tree.node(index).id, "up": up, "html": html}).to_string()
        };
        write!(out, "{}\n{}", if number == 0 { "" } else { "," }, inert(&line))?;
    }
    write!(out, "\n]</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")?;
    Ok(page.problems)
}

struct Page<'a> {
    source: &'a Source<'a>,
    writer: entry::Writer,
    /// Results as they were before they were pruned (C9).
    originals: HashMap<EntryId, SessionEntry>,
    problems: Vec<String>,
}

impl Page<'_> {
    fn article(&mut self, index: NodeIndex) -> String {
        match self.source.reader.entry(index) {
            Ok(entry) => self.writer.entry(self.originals.get(&entry.id).unwrap_or(&entry)),
            Err(error) => {
                let id = self.source.reader.tree().node(index).id.clone();
                self.problems.push(format!("entry {id} is left out: {error}"));
                String::new()
            }
        }
    }
}

/// JSON that stands in a page: nothing in it ends the block or begins another.
fn inert(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        match character {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            character => text.push(character),
        }
    }
    text
}

/// A text in HTML, in quotes or between tags.
fn escape(text: &str) -> String {
    let mut page = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            character => page.push(character),
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn f57_the_page_allows_its_own_style_and_script_and_nothing_else() {
        for (asset, hash) in [(STYLE, STYLE_HASH), (SCRIPT, SCRIPT_HASH)] {
            let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(asset));
            assert_eq!(hash, format!("sha256-{digest}"));
            assert!(!asset.contains("</"), "it would end its element");
        }
    }

    #[test]
    fn f57_json_in_the_page_stays_json() {
        let line = json!({"html": "</script><!-- & \u{2028}"}).to_string();
        let inert = inert(&line);
        assert!(!inert.contains(['<', '>', '&', '\u{2028}']));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&inert).unwrap(),
            serde_json::from_str::<serde_json::Value>(&line).unwrap()
        );
    }
}
