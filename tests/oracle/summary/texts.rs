//! File lists, file blocks and the text of a person's commands.

use regrow::compaction::file_ops::{FileOps, upsert_file_blocks};
use regrow::message::BashExecutionMessage;
use regrow::session::view::bash_execution_text;
use serde_json::{Value, json};

use crate::cases::{OMP, PI, cases, rows};
use crate::tally::Tally;

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn ops(read: &Value, written: &Value, edited: &Value) -> FileOps {
    let mut ops = FileOps::default();
    texts(read).into_iter().for_each(|path| ops.add_read(path));
    texts(written).into_iter().chain(texts(edited)).for_each(|path| ops.add_modified(path));
    ops
}

/// Row 12: upstream glues paths or tags together, or puts a blank line between the tags.
fn one_newline(blocks: &str) -> String {
    blocks.replace("</read-files>\n\n<mod", "</read-files>\n<mod")
}

#[test]
fn c20_lists_of_files() {
    let mut tally = Tally::new("fileLists");
    let cases = cases("fileLists");
    for (row, expected) in cases.iter().flat_map(rows).map(|row| (row, &row["expected"])) {
        if !row["fileOps"].is_object() {
            continue;
        }
        let done = &row["fileOps"];
        let ops = ops(&done["read"], &done["written"], &done["edited"]);
        for source in [OMP, PI] {
            tally.compare(row, ops.read_files(), texts(&expected[source]["readFiles"]));
            tally.compare(row, ops.modified_files(), texts(&expected[source]["modifiedFiles"]));
        }
        let blocks = expected[PI]["tags"].as_str().unwrap().trim_start();
        tally.compare(row, upsert_file_blocks("", &ops), one_newline(blocks));
        tally.except("row 12: omp joins paths by a literal backslash-n and leaves some out");
    }
    tally.finish(if cases.is_empty() { 0 } else { 100 });
}

#[test]
fn c20_blocks_in_a_summary() {
    let mut tally = Tally::new("fileLists upsert");
    let cases = cases("fileLists");
    for row in cases.iter().flat_map(rows).filter(|row| row["summary"].is_string()) {
        let ops = ops(&row["readFiles"], &row["modifiedFiles"], &json!([]));
        let theirs = row["expected"][OMP].as_str().unwrap();
        // Row 12: no newline between their tags.
        let theirs = theirs.replace("</read-files><mod", "</read-files>\n<mod");
        tally.compare(row, upsert_file_blocks(row["summary"].as_str().unwrap(), &ops), theirs);
    }
    tally.finish(if cases.is_empty() { 0 } else { 4 });
}

#[test]
fn x3_commands_of_the_person() {
    let mut tally = Tally::new("bashText");
    let cases = cases("bashText");
    for row in cases.iter().flat_map(rows) {
        let mut fields = row.clone();
        if fields["exitCode"] == "undefined" {
            fields["exitCode"] = Value::Null;
        }
        let run: BashExecutionMessage = serde_json::from_value(fields).unwrap();
        for source in [OMP, PI] {
            let theirs = row["expected"][source].as_str().unwrap().to_owned();
            tally.compare(row, bash_execution_text(&run), theirs);
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 50 });
}
