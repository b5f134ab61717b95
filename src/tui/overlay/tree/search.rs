//! Searching as one types (SPEC U5): previews and labels of all entries at once, from an index that
//! lives as long as the search; bodies follow from the background, through [`search_bodies`].

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::rows::Rows;
use crate::message::{Block, Content, Message};
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::reader::SessionReader;
use crate::session::tree::{NodeIndex, SessionTree};
use crate::tui::effect::BodyHits;

/// Lines that [`search_bodies`] looks at before it tells what it found.
const LINES_PER_REPORT: usize = 500;

/// A text that is looked for, whatever the case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle {
    folded: String,
}

impl Needle {
    /// Looks for `text`; `None` when it is empty.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let mut folded = String::new();
        fold_into(text, &mut folded);
        (!folded.is_empty()).then_some(Self { folded })
    }

    /// Whether `text` holds it.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        let mut folded = String::with_capacity(text.len());
        fold_into(text, &mut folded);
        Finder::new(&self.folded).find(folded.as_bytes()).is_some()
    }

    /// Where `text` holds it. Made for short texts.
    #[must_use]
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        // Folding may change lengths, so each byte of the folded text remembers where it came from.
        let mut folded = String::new();
        let mut origins = Vec::new();
        let mut piece = String::new();
        for (offset, character) in text.char_indices() {
            piece.clear();
            fold_into(character.encode_utf8(&mut [0; 4]), &mut piece);
            folded.push_str(&piece);
            origins.resize(folded.len(), offset);
        }
        origins.push(text.len());
        let end_of = |byte: usize| {
            let last = origins[byte - 1];
            text[last..].chars().next().map_or(last, |character| last + character.len_utf8())
        };
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for found in Finder::new(&self.folded).find_iter(folded.as_bytes()) {
            let range = origins[found]..end_of(found + self.folded.len());
            if ranges.last().is_none_or(|last| last.end <= range.start) {
                ranges.push(range);
            }
        }
        ranges
    }
}

/// Appends `text` without its case. Text in scripts without case costs no more than a copy.
fn fold_into(text: &str, folded: &mut String) {
    if !may_have_case(text.as_bytes()) {
        let from = folded.len();
        folded.push_str(text);
        folded[from..].make_ascii_lowercase();
        return;
    }
    for character in text.chars() {
        match character {
            '\0'..='\x7f' => folded.push(character.to_ascii_lowercase()),
            '\u{ac00}'..='\u{d7a3}' => folded.push(character),
            _ => folded.extend(character.to_lowercase()),
        }
    }
}

/// Whether UTF-8 may hold letters with case besides ASCII. Punctuation, Hangul, kana, Han and emoji
/// are told apart by their first two bytes.
fn may_have_case(bytes: &[u8]) -> bool {
    bytes.iter().zip(bytes.iter().skip(1).chain([&0])).any(|(byte, next)| match byte {
        0xC2..=0xE1 => true,
        0xE2 => matches!(next, 0x84 | 0x85 | 0x92 | 0x93 | 0xB0..=0xB4),
        0xEA => *next < 0xB0,
        0xEF => matches!(next, 0xAC | 0xBC),
        0xF0 => *next != 0x9F,
        _ => false,
    })
}

/// What is said in the previews and labels of all entries, without case, one line an entry.
#[derive(Debug)]
pub struct PreviewIndex {
    text: String,
    /// Where the line of each entry ends.
    ends: Vec<u32>,
}

impl PreviewIndex {
    /// Reads all previews once.
    #[must_use]
    pub fn new(tree: &SessionTree) -> Self {
        let mut index = Self { text: String::new(), ends: Vec::with_capacity(tree.len()) };
        for (at, node) in tree.nodes() {
            fold_into(&node.preview, &mut index.text);
            if let Some(label) = tree.label(at) {
                index.text.push(' ');
                fold_into(label, &mut index.text);
            }
            index.text.push('\n');
            index.ends.push(u32::try_from(index.text.len()).unwrap_or(u32::MAX));
        }
        index
    }

    /// The entries that say it, in file order.
    #[must_use]
    pub fn hits(&self, needle: &Needle) -> Vec<NodeIndex> {
        let finder = Finder::new(&needle.folded);
        let bytes = self.text.as_bytes();
        let mut hits = Vec::new();
        let mut from = 0;
        let mut entry = 0;
        while let Some(found) = bytes.get(from..).and_then(|rest| finder.find(rest)) {
            let found = (from + found) as u32;
            // Hits tend to be near each other, so a walk beats a binary search.
            entry += self.ends[entry..].iter().take_while(|end| **end <= found).count();
            let Some(end) = self.ends.get(entry) else { break };
            hits.push(NodeIndex::new(entry));
            from = *end as usize;
        }
        hits
    }
}

/// Looks for `query` in the bodies of all entries, newest first, and tells what it finds as it goes;
/// the last report is `done`. Reads the session file, so it belongs off the UI thread. Ends early,
/// without a last report, when `cancelled` says so.
pub fn search_bodies(
    reader: &SessionReader,
    query: &str,
    cancelled: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(BodyHits),
) {
    let Some(needle) = Needle::new(query) else { return };
    let mut nodes = Vec::new();
    let total = reader.tree().len();
    let mut folded = String::new();
    for (looked_at, position) in (0..total).rev().enumerate() {
        if cancelled() {
            return;
        }
        let index = NodeIndex::new(position);
        if holds(reader, index, &needle, &mut folded) {
            nodes.push(index);
        }
        if looked_at % LINES_PER_REPORT == LINES_PER_REPORT - 1 && !nodes.is_empty() {
            tell(BodyHits { query: query.to_owned(), nodes: take_sorted(&mut nodes), done: false });
        }
    }
    tell(BodyHits { query: query.to_owned(), nodes: take_sorted(&mut nodes), done: true });
}

fn take_sorted(nodes: &mut Vec<NodeIndex>) -> Vec<NodeIndex> {
    let mut taken = std::mem::take(nodes);
    taken.sort_unstable();
    taken
}

/// Whether the body of an entry says it. A line is only parsed when its raw text leaves it open: the
/// words may also stand in a key, and letters may be written as escapes.
fn holds(reader: &SessionReader, index: NodeIndex, needle: &Needle, folded: &mut String) -> bool {
    let Ok(line) = reader.line(index) else { return false };
    let may_be_escaped =
        needle.folded.contains(['"', '\\', '/']) || memchr::memmem::find(&line, b"\\u").is_some();
    if !may_be_escaped {
        folded.clear();
        fold_into(&String::from_utf8_lossy(&line), folded);
        if Finder::new(&needle.folded).find(folded.as_bytes()).is_none() {
            return false;
        }
    }
    let Ok(entry) = serde_json::from_slice::<SessionEntry>(&line) else { return false };
    texts_of(&entry).iter().any(|text| needle.is_in(text))
}

/// All that an entry says, for searching and copying.
#[must_use]
pub fn texts_of(entry: &SessionEntry) -> Vec<Arc<str>> {
    let mut texts = Vec::new();
    match &entry.body {
        EntryBody::Message { message } => texts_of_message(message, &mut texts),
        EntryBody::Compaction(compaction) => {
            texts.extend(compaction.short_summary.as_deref().map(Arc::from));
            texts.push(Arc::from(compaction.summary.as_str()));
        }
        EntryBody::BranchSummary(summary) => texts.push(Arc::from(summary.summary.as_str())),
        EntryBody::CustomMessage { content, .. } => texts.push(content.text().into()),
        EntryBody::Label { label: Some(text), .. }
        | EntryBody::SessionInfo { name: Some(text) } => {
            texts.push(Arc::from(text.as_str()));
        }
        EntryBody::ModelChange { provider, model_id } => {
            texts.push(format!("{provider}/{model_id}").into());
        }
        _ => {}
    }
    texts
}

fn texts_of_message(message: &Message, texts: &mut Vec<Arc<str>>) {
    let mut content = |content: &Content| texts.push(content.text().into());
    match message {
        Message::User(user) => content(&user.content),
        Message::ToolResult(result) => content(&result.content),
        Message::Custom(custom) | Message::HookMessage(custom) => content(&custom.content),
        Message::Assistant(answer) => {
            for block in &answer.content {
                match block {
                    Block::Text { text, .. } => texts.push(Arc::from(text.as_str())),
                    Block::Thinking { thinking, .. } => texts.push(Arc::from(thinking.as_str())),
                    Block::ToolCall(call) => {
                        texts.push(format!("{} {}", call.name, arguments_of(call)).into());
                    }
                    Block::Image(_) | Block::Other(_) => {}
                }
            }
            texts.extend(answer.error_message.as_deref().map(Arc::from));
        }
        Message::BashExecution(run) => {
            texts.push(Arc::from(run.command.as_str()));
            texts.push(Arc::from(run.output.as_str()));
        }
        Message::BranchSummary(summary) => texts.push(Arc::from(summary.summary.as_str())),
        Message::CompactionSummary(summary) => texts.push(Arc::from(summary.summary.as_str())),
        Message::FileMention(_) | Message::Other(_) => {}
    }
}

/// The arguments of a call as one reads them: texts as they are, everything else as JSON.
fn arguments_of(call: &crate::message::ToolCall) -> String {
    let serde_json::Value::Object(fields) = &call.arguments else {
        return call.arguments.to_string();
    };
    let texts = fields.values().map(|value| match value {
        serde_json::Value::String(text) => text.clone(),
        value => value.to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A search in the tree that is open.
#[derive(Debug)]
pub struct Search {
    /// What was typed.
    pub query: String,
    /// The same, ready to look for.
    pub needle: Option<Needle>,
    index: PreviewIndex,
    hits: Vec<NodeIndex>,
    /// Whether the bodies have all been looked at.
    pub done: bool,
}

impl Search {
    /// A search for nothing yet.
    #[must_use]
    pub fn new(tree: &SessionTree) -> Self {
        Self {
            query: String::new(),
            needle: None,
            index: PreviewIndex::new(tree),
            hits: Vec::new(),
            done: true,
        }
    }

    /// Looks for another text.
    pub fn look_for(&mut self, query: &str, rows: &Rows) {
        query.clone_into(&mut self.query);
        self.needle = Needle::new(query);
        self.done = self.needle.is_none();
        self.hits = self.needle.as_ref().map_or_else(Vec::new, |needle| self.index.hits(needle));
        self.sort(rows);
    }

    /// Takes what was found in bodies, if it answers this search. Gives whether it did.
    pub fn add(&mut self, found: &BodyHits, rows: &Rows) -> bool {
        if found.query != self.query || self.needle.is_none() {
            return false;
        }
        self.done |= found.done;
        self.hits.extend_from_slice(&found.nodes);
        self.sort(rows);
        true
    }

    /// Brings the hits into the order of the rows, each row once. Linear, whatever the order.
    pub fn sort(&mut self, rows: &Rows) {
        let mut by_place = vec![None; rows.entries().len()];
        for hit in &self.hits {
            let place = rows.place(*hit).and_then(|place| by_place.get_mut(place as usize));
            if let Some(place) = place {
                place.get_or_insert(*hit);
            }
        }
        self.hits = by_place.into_iter().flatten().collect();
    }

    /// What was found, in the order of the rows.
    #[must_use]
    pub fn hits(&self) -> &[NodeIndex] {
        &self.hits
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::Filter;
    use super::super::notation::Session;
    use super::super::outline::Outline;
    use super::super::rows::Folds;
    use super::*;

    #[test]
    fn u5_case_does_not_count() {
        for (needle, text, found) in [
            ("form", "A Form per form", vec![(2, 6), (11, 15)]),
            ("한국", "이 한국어 한국", vec![(4, 10), (14, 20)]),
            ("É", "café", vec![(3, 5)]),
            ("i", "İi", vec![(0, 2), (2, 3)]),
            ("ｆ", "가…🎉Ｆ", vec![(10, 13)]),
            ("aa", "aaa", vec![(0, 2)]),
        ] {
            let needle = Needle::new(needle).unwrap();
            let ranges = needle.ranges(text).into_iter().map(|range| (range.start, range.end));
            assert_eq!(ranges.collect::<Vec<_>>(), found, "{text}");
            assert!(needle.is_in(text));
        }
        assert_eq!(Needle::new(""), None);
    }

    #[test]
    fn u5_previews_and_labels_are_found_at_once() {
        let session = Session::parse(
            "u1 user 'Fix the FORM' / a1 assistant 'done' / l1 label 'formal' of=a1 / u2 user 'x'",
        );
        let tree = session.tree();
        let rows = Rows::new(&tree, &Outline::new(&tree), Filter::All, &Folds::new());
        let mut search = Search::new(&tree);
        search.look_for("form", &rows);
        assert_eq!(search.hits(), [session.at("u1"), session.at("a1"), session.at("l1")]);
        search.look_for("formx", &rows);
        assert!(search.hits().is_empty());
    }

    #[test]
    fn u5_bodies_are_searched_beyond_their_previews_but_not_their_keys() {
        let long = "x".repeat(300);
        let session = Session::parse(&format!(
            "u1 user '{long} Needle' / a1 assistant 'say' call=bash:grep_needle / u2 user 'role'
             / u3 user 'a\\nneedle'"
        ));
        let mut all = Vec::new();
        let mut done = 0;
        let mut tell = |hits: BodyHits| {
            all.extend(hits.nodes);
            done += usize::from(hits.done);
        };
        search_bodies(&session.reader, "needle", &|| false, &mut tell);
        search_bodies(&session.reader, "toolCall", &|| false, &mut tell);
        assert_eq!(all, [session.at("u1"), session.at("a1"), session.at("u3")]);
        assert_eq!(done, 2);
        search_bodies(&session.reader, "needle", &|| true, &mut |_| panic!("was cancelled"));
    }
}
