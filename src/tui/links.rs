//! Links that a terminal can open (OSC 8). A link travels through drawing as the underline colour of its
//! cells, which no theme uses: so it is wrapped, cached and compared like any style, and
//! [`LinkingBackend`] turns it into what the terminal understands when a frame is written.
//!
//! Only addresses of the web and of files become links, and only as long as they are plain.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Style};

use super::clusters::Clusters;
use super::text::columns;

/// Longer addresses stay text.
const LONGEST: usize = 2_000;

/// Most addresses that are remembered; later ones stay text.
const MOST: usize = 10_000;

/// The first byte of colours that stand for links.
const MARK: u8 = 0xa1;

/// The addresses of all links that were drawn. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Links(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    addresses: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u16>,
}

impl Links {
    /// `style` for text that leads to `address`; as it is where that is not safe to follow.
    #[must_use]
    pub fn mark(&self, style: Style, address: &str) -> Style {
        match self.number(address) {
            Some(number) => {
                let [high, low] = number.to_be_bytes();
                style.underline_color(Color::Rgb(MARK, high, low))
            }
            None => style,
        }
    }

    fn number(&self, address: &str) -> Option<u16> {
        if !is_safe(address) {
            return None;
        }
        let mut known = self.lock();
        if let Some(number) = known.numbers.get(address) {
            return Some(*number);
        }
        let number = u16::try_from(known.addresses.len()).ok()?;
        if usize::from(number) >= MOST {
            return None;
        }
        let address: Arc<str> = address.into();
        known.addresses.push(address.clone());
        known.numbers.insert(address, number);
        Some(number)
    }

    fn address(&self, color: Color) -> Option<Arc<str>> {
        let Color::Rgb(MARK, high, low) = color else { return None };
        self.lock().addresses.get(usize::from(u16::from_be_bytes([high, low]))).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an address may be handed to the terminal: no other schemes, nothing that could end the
/// sequence that it stands in.
#[must_use]
pub fn is_safe(address: &str) -> bool {
    let schemes = ["https://", "http://", "file://"];
    address.len() <= LONGEST
        && schemes.iter().any(|scheme| {
            address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
                && address.len() > scheme.len()
        })
        && address.chars().all(|character| {
            !character.is_control() && !character.is_whitespace() && !is_turning(character)
        })
}

/// Characters that make an address look like another one.
const fn is_turning(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// Where bare addresses stand in a text, in bytes. Korean, Japanese and Chinese words may follow an
/// address at once: they belong to it only in its host.
#[must_use]
pub fn bare_addresses(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("http").map(|at| from + at) {
        let rest = &text[at..];
        let end = rest.find(ends_address).unwrap_or(rest.len());
        let whole = &rest[..end];
        let address = whole[..without_words(whole)].trim_end_matches(TRAILING);
        if is_safe(address) {
            found.push(at..at + address.len());
        }
        from = at + end.max("http".len());
    }
    found
}

/// What ends the sentence around an address rather than the address.
const TRAILING: [char; 10] = ['.', ',', ';', ':', '!', '?', ')', ']', '\'', '*'];

/// Characters that stand in no bare address: blanks, quotes and brackets, the punctuation that is as
/// wide as a Han character.
fn ends_address(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '<' | '>'
                | '"'
                | '`'
                | '|'
                | '«'
                | '»'
                | '\u{2018}'..='\u{201f}'
                | '…'
                | '\u{3000}'..='\u{3004}'
                | '\u{3008}'..='\u{3020}'
                | '\u{3030}'
                | '・'
                | '\u{fe30}'..='\u{fe6f}'
                | '\u{ff01}'..='\u{ff0f}'
                | '\u{ff1a}'..='\u{ff20}'
                | '\u{ff3b}'..='\u{ff40}'
                | '\u{ff5b}'..='\u{ff65}'
                | '\u{ffe0}'..='\u{ffe6}'
        )
}

/// Where the words of Hangul, kana or Han begin that follow an address. A host may be made of them,
/// but a name of it that begins without them, such as `com`, has none at its end.
fn without_words(address: &str) -> usize {
    let host = address.find("://").map_or(address.len(), |sign| sign + "://".len());
    let path = address[host..].find(['/', '?', '#']).map_or(address.len(), |length| host + length);
    let last = address[..path].trim_end_matches('.').rfind(['.', '@']).map_or(host, |dot| dot + 1);
    let from = match address[last.max(host)..].starts_with(is_word) {
        true => path,
        false => last.max(host),
    };
    address[from..].find(is_word).map_or(address.len(), |length| from + length)
}

/// Hangul, kana, Han, and what is written like them.
const fn is_word(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{11ff}'
            | '\u{2e80}'..='\u{2fdf}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3021}'..='\u{303f}'
            | '\u{3040}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff10}'..='\u{ffdc}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Draws for crossterm, with links where `links` is given.
pub struct LinkingBackend<W: Write> {
    inner: CrosstermBackend<W>,
    links: Option<Links>,
    clusters: Clusters,
}

/// A mark without a letter would go onto the cell before, and what follows would stand in its place.
fn keep_in_place(cell: &mut Cell) {
    let symbol = cell.symbol();
    let is_mark = |c: char| columns(c.encode_utf8(&mut [0; 4])) == 0;
    if symbol.starts_with(is_mark) {
        let rest = symbol.trim_start_matches(is_mark).to_owned();
        cell.set_symbol(if rest.is_empty() { " " } else { &rest });
    }
}

impl<W: Write> LinkingBackend<W> {
    /// Writes to `out`; without `links` all links are plain text.
    pub fn new(out: W, links: Option<Links>) -> Self {
        Self { inner: CrosstermBackend::new(out), links, clusters: Clusters::default() }
    }

    /// Draws cells of one link, or of none.
    fn draw_run(&mut self, address: Option<&str>, run: &[(u16, u16, Cell)]) -> io::Result<()> {
        if let Some(address) = address {
            write!(self.inner, "\u{1b}]8;;{address}\u{1b}\\")?;
        }
        self.inner.draw(run.iter().map(|(x, y, cell)| (*x, *y, cell)))?;
        if address.is_some() {
            write!(self.inner, "\u{1b}]8;;\u{1b}\\")?;
        }
        Ok(())
    }
}

impl<W: Write> Write for LinkingBackend<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut self.inner, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.inner)
    }
}

impl<W: Write> Backend for LinkingBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut run: Vec<(u16, u16, Cell)> = Vec::new();
        let mut address: Option<Arc<str>> = None;
        for (x, y, cell) in content {
            let mut cell = cell.clone();
            let mark = std::mem::replace(&mut cell.underline_color, Color::Reset);
            let leads_to = self.links.as_ref().and_then(|links| links.address(mark));
            if leads_to != address {
                if !run.is_empty() {
                    self.draw_run(address.as_deref(), &run)?;
                    run.clear();
                }
                address = leads_to;
            }
            keep_in_place(&mut cell);
            let left = self.clusters.draw(x, y, cell.symbol());
            run.push((x, y, cell));
            run.extend(left.map(|column| (column, y, Cell::EMPTY)));
        }
        self.draw_run(address.as_deref().filter(|_| !run.is_empty()), &run)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clusters = Clusters::default();
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_only_plain_addresses_of_the_web_and_of_files_are_links() {
        for good in ["https://x.io/a?b=c#d", "http://한국.kr", "file:///tmp/a", "HTTPS://X.io"] {
            assert!(is_safe(good), "{good}");
        }
        let long = format!("https://{}", "x".repeat(LONGEST));
        for bad in [
            "javascript:alert(1)",
            "https://",
            "https://a b",
            "https://a\u{1b}\\\u{1b}]0;owned\u{7}",
            "https://a\u{9c}b",
            "https://moc.\u{202e}elgoog",
            "ssh://x",
            "",
            &long,
        ] {
            assert!(!is_safe(bad), "{bad:?}");
        }
    }

    #[test]
    fn u1_bare_addresses_are_found_without_what_follows_them() {
        let text = "see https://a.io/x_y, (http://b.io) and httpx or https:// end http://c.io.";
        let found: Vec<&str> = bare_addresses(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["https://a.io/x_y", "http://b.io", "http://c.io"]);
    }

    #[test]
    fn f83_korean_japanese_and_chinese_around_an_address_are_no_part_of_it() {
        for (text, address) in [
            ("https://a.io/x에서 받는다", "https://a.io/x"),
            ("(https://b.io/y)。", "https://b.io/y"),
            ("「https://b.io/y」と（https://b.io/y）", "https://b.io/y"),
            ("见https://b.io/y，然后", "https://b.io/y"),
            ("https://b.io/?q=1#z를", "https://b.io/?q=1#z"),
            ("https://b.io/y！", "https://b.io/y"),
            ("https://b.ioを見る", "https://b.io"),
            ("https://b.io에서.", "https://b.io"),
            ("http://localhost:3000에서", "http://localhost:3000"),
            ("http://127.0.0.1:80입니다", "http://127.0.0.1:80"),
            ("https://b.io/y에서(https", "https://b.io/y"),
            ("http://한국.kr/a를", "http://한국.kr/a"),
            ("http://한국.kr에서", "http://한국.kr"),
            ("http://이름.한국/a/b。", "http://이름.한국/a/b"),
            ("“https://b.io/y”", "https://b.io/y"),
            ("https://b.io/é/ü.", "https://b.io/é/ü"),
        ] {
            let found = bare_addresses(text);
            assert!(!found.is_empty(), "{text}");
            for place in found {
                assert_eq!(&text[place], address, "{text}");
            }
        }
        assert_eq!(bare_addresses("https://에서 https://。").first(), Some(&(0..14)));
    }

    fn written(links: Option<Links>, style: Style) -> String {
        let mut bytes = Vec::new();
        let mut backend = LinkingBackend::new(&mut bytes, links);
        let mut cells = [Cell::new("a"), Cell::new("b"), Cell::new("c")];
        cells[1].set_style(style);
        let placed = cells.iter().enumerate().map(|(x, cell)| (x as u16, 0, cell));
        backend.draw(placed).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn u1_a_link_surrounds_its_cells_and_leaves_no_colour() {
        let links = Links::default();
        let style = links.mark(Style::new(), "https://x.io");
        assert_eq!(style, links.mark(Style::new(), "https://x.io"), "one number for one address");
        let with = written(Some(links), style);
        let inside = with.split("\u{1b}]8;;https://x.io\u{1b}\\").nth(1).unwrap();
        let inside = inside.split("\u{1b}]8;;\u{1b}\\").next().unwrap();
        assert!(inside.contains('b') && !inside.contains('c'), "{with:?}");
        let without = written(None, style);
        assert!(!without.contains("]8;") && !with.contains("58;2") && !without.contains("58;2"));
    }
}
