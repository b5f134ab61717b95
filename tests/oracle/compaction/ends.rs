//! Kind `truncate`: which ends of a long tool result are kept. The note between them is our own and
//! as long as theirs here, so that the room is the same (S8: head and tail are compared, not the note).

use regrow::compaction::ends::{Ends, ends};

use crate::cases::{cases, rows};
use crate::tally::Tally;

/// The note that stands between the ends of a text of `length` that has to fit `most`.
fn note(length: u64, most: u64) -> String {
    format!("\n\n… [truncated: {length} chars exceeded {most} limit] …\n\n")
}

fn text(kind: &str, length: usize) -> Option<String> {
    match kind {
        "flat" => Some("x".repeat(length)),
        "lines" => {
            let lines = (0..=length / 17).map(|number| format!("line {number:04} abcdef\n"));
            Some(lines.collect::<String>()[..length].to_owned())
        }
        _ => None,
    }
}

#[test]
fn c14_ends_of_long_results() {
    let mut tally = Tally::new("truncate");
    let cases = cases("truncate");
    for case in &cases {
        for row in rows(case) {
            let (Some(length), Some(most)) = (row["length"].as_u64(), row["maxChars"].as_u64())
            else {
                tally.except(
                    "a result's limit: a quarter of the window (F79), theirs three tenths of it",
                );
                continue;
            };
            let kind = row["kind"].as_str().unwrap();
            let Some(text) = text(kind, length as usize) else {
                tally.except("S8: characters are Unicode scalar values, theirs UTF-16 units");
                continue;
            };
            let note = note(length, most);
            let Some(room) = (most as usize).checked_sub(note.chars().count()) else {
                tally.except("no room for a note: ours never cuts a result so short");
                continue;
            };
            let ours = match (length > most).then(|| ends(&text, room)).flatten() {
                None => text.clone(),
                Some(Ends { head, tail }) => format!("{head}{note}{tail}").trim_end().to_owned(),
            };
            let units = ours.encode_utf16().count() as u64;
            let place = format!("{kind} {length} in {most}");
            tally.compare(&place, units, row["len16"].as_u64().unwrap());
            if let Some(theirs) = row["text"].as_str() {
                tally.compare(&place, ours.trim_end(), theirs.trim_end());
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 100 });
}
