//! Files of older versions written anew, and files that have lost their header (SPEC J5, J9, F49).

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::{Map, Value};

use super::place::header_from_name;
use super::replace::Replacement;
use super::scan::Scan;
use crate::session::entry::{FORMAT_VERSION, SessionHeader};
use crate::session::migrate::Migration;

/// Copies a session file, bringing each record to the current version. What is no record is copied
/// as it is.
pub(super) fn migrate(
    source: impl Read,
    from: u64,
    scan: &Scan,
    path: &Path,
    sink: &mut impl Write,
) -> io::Result<()> {
    let taken = scan.tree.nodes().map(|(_, node)| node.id.as_str().to_owned());
    let taken: HashSet<_> = if from > 1 { taken.collect() } else { HashSet::new() };
    let named = header_from_name(path, scan.first_timestamp());
    let session_id = scan.header.as_ref().map_or(&named.id, |header| &header.id);
    let mut migration = Migration::new(from, session_id, taken);
    if scan.header.is_none() {
        sink.write_all(named.to_line().as_bytes())?;
    }
    let mut source = BufReader::with_capacity(1 << 20, source);
    let mut line = Vec::new();
    loop {
        line.clear();
        if source.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
        match serde_json::from_slice::<Map<String, Value>>(text) {
            Ok(mut record) => {
                migration.record(&mut record);
                serde_json::to_writer(&mut *sink, &record)?;
                sink.write_all(b"\n")?;
            }
            Err(_) => sink.write_all(&line)?,
        }
    }
}

/// Puts a header before the `len` bytes of a file that has none.
pub(super) fn prepend_header(
    mut file: &File,
    header: &SessionHeader,
    len: u64,
    path: &Path,
) -> io::Result<File> {
    let header = SessionHeader { version: FORMAT_VERSION, ..header.clone() };
    let mut replacement = Replacement::begin(path)?;
    replacement.write_all(header.to_line().as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    io::copy(&mut file.take(len), &mut replacement)?;
    replacement.finish()
}
