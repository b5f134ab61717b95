//! One pass over a session file: its header, its tree, and what is damaged.

use std::io::{self, BufRead};

use crate::compaction::tokens::Estimator;
use crate::session::describe::describe;
use crate::session::entry::{SessionEntry, SessionHeader};
use crate::session::tree::{LineSpan, SessionTree};

/// What a session file holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) header: Option<SessionHeader>,
    pub(super) tree: SessionTree,
    pub(super) bad_lines: usize,
    pub(super) end: u64,
}

/// Reads a session file from its beginning.
pub(super) fn scan(mut file: impl BufRead, estimator: Estimator) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let len = file.read_until(b'\n', &mut line)?;
        if len == 0 {
            return Ok(scan);
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let span = LineSpan { offset: scan.end, len: text.len() as u32 };
        scan.end += len as u64;
        if scan.header.is_none() {
            scan.header = serde_json::from_slice(text).ok();
            continue;
        }
        match serde_json::from_slice::<SessionEntry>(text) {
            Ok(entry) => {
                let parent = entry.parent_id.as_ref().and_then(|id| scan.tree.find(id));
                let index = scan.tree.insert(describe(&entry, estimator, span), parent);
                scan.tree.set_leaf(Some(index));
            }
            Err(_) => scan.bad_lines += 1,
        }
    }
}
