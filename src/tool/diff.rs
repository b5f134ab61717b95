//! Unified diffs for people, bounded whatever the size of the files (F53). Pure.

use std::fmt::Write as _;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::{sanitize, truncate};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// When more lines than this differ on a side, they are shown as one replaced block.
const MOST_COMPARED_LINES: usize = 4_000;

/// Most lines and bytes of a shown diff.
const LIMITS: truncate::Limits = truncate::Limits { lines: 400, bytes: 24 * 1024 };

/// Most characters of a shown line.
const LINE_CHARS: usize = 400;

/// How two texts differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Hunks of a unified diff, without file names, bounded; empty when nothing differs.
    pub text: String,
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
}

impl FileDiff {
    /// `+18 −4`.
    #[must_use]
    pub fn summary(&self) -> String {
        match (self.added, self.removed) {
            (added, 0) => format!("+{added}"),
            (0, removed) => format!("−{removed}"),
            (added, removed) => format!("+{added} −{removed}"),
        }
    }
}

/// Compares two texts by lines.
#[must_use]
pub fn unified(old: &str, new: &str) -> FileDiff {
    let old: Vec<_> = old.split_inclusive('\n').collect();
    let new: Vec<_> = new.split_inclusive('\n').collect();
    let ops = operations(&old, &new);
    let (mut added, mut removed) = (0, 0);
    for op in &ops {
        if !matches!(op, DiffOp::Equal { .. }) {
            removed += op.old_range().len();
            added += op.new_range().len();
        }
    }
    FileDiff { text: shown(&old, &new, ops), added, removed }
}

/// The operations that turn one list of lines into the other, common ends cut off first: files are
/// large and edits are small.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let old_middle = &old_rest[..old_rest.len() - suffix];
    let new_middle = &new_rest[..new_rest.len() - suffix];

    let mut ops = Vec::new();
    if prefix > 0 {
        ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: prefix });
    }
    if old_middle.len().max(new_middle.len()) > MOST_COMPARED_LINES {
        ops.push(DiffOp::Replace {
            old_index: prefix,
            old_len: old_middle.len(),
            new_index: prefix,
            new_len: new_middle.len(),
        });
    } else {
        ops.extend(
            capture_diff_slices(Algorithm::Myers, old_middle, new_middle)
                .into_iter()
                .map(|op| moved(op, prefix)),
        );
    }
    if suffix > 0 {
        let (old_index, new_index) = (old.len() - suffix, new.len() - suffix);
        ops.push(DiffOp::Equal { old_index, new_index, len: suffix });
    }
    ops
}

fn moved(op: DiffOp, by: usize) -> DiffOp {
    let (old, new) = (op.old_range(), op.new_range());
    let (old_index, new_index) = (old.start + by, new.start + by);
    match op {
        DiffOp::Equal { len, .. } => DiffOp::Equal { old_index, new_index, len },
        DiffOp::Delete { old_len, .. } => DiffOp::Delete { old_index, old_len, new_index },
        DiffOp::Insert { new_len, .. } => DiffOp::Insert { old_index, new_index, new_len },
        DiffOp::Replace { old_len, new_len, .. } => {
            DiffOp::Replace { old_index, old_len, new_index, new_len }
        }
    }
}

fn shown(old: &[&str], new: &[&str], ops: Vec<DiffOp>) -> String {
    let mut page = Page::default();
    for group in group_diff_ops(ops, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        page.line(&format!("@@ -{} +{} @@", span(&old_range), span(&new_range)));
        for op in &group {
            if let DiffOp::Equal { old_index, len, .. } = *op {
                old[old_index..old_index + len].iter().for_each(|line| page.marked(' ', line));
            } else {
                old[op.old_range()].iter().for_each(|line| page.marked('-', line));
                new[op.new_range()].iter().for_each(|line| page.marked('+', line));
            }
        }
    }
    page.finish()
}

fn span(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        len => format!("{},{len}", range.start + 1),
    }
}

/// Takes lines as long as there is room and counts the rest.
#[derive(Default)]
struct Page {
    text: String,
    lines: usize,
    left_out: usize,
}

impl Page {
    fn line(&mut self, line: &str) {
        let full = self.lines >= LIMITS.lines || self.text.len() + line.len() > LIMITS.bytes;
        if full || self.left_out > 0 {
            self.left_out += 1;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }

    fn marked(&mut self, mark: char, line: &str) {
        if self.left_out > 0 {
            self.left_out += 1;
            return;
        }
        let body = line.strip_suffix('\n').unwrap_or(line);
        let body = body.strip_suffix('\r').unwrap_or(body);
        let (body, _) = sanitize::with_visible_controls(body);
        self.line(&format!("{mark}{}", truncate::one_line(&body, LINE_CHARS)));
        if !line.ends_with('\n') {
            self.line("\\ No newline at end of file");
        }
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            let _ = writeln!(self.text, "… {}", truncate::counted(self.left_out, "more line"));
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(range: std::ops::Range<usize>) -> String {
        range.map(|number| format!("line {number}\n")).collect()
    }

    #[test]
    fn a2_a_change_is_shown_with_its_place_and_surroundings() {
        let old = numbered(1..30);
        let new = old.replace("line 12\n", "line twelve\nand more\n");
        let diff = unified(&old, &new);
        assert_eq!(
            diff.text,
            "@@ -9,7 +9,8 @@\n line 9\n line 10\n line 11\n-line 12\n+line twelve\n+and more\n \
             line 13\n line 14\n line 15\n"
        );
        assert_eq!(diff.summary(), "+2 −1");
    }

    #[test]
    fn new_files_removed_lines_and_missing_last_newlines_are_shown() {
        assert_eq!(unified("", "a\nb\n").text, "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(unified("", "a\nb\n").summary(), "+2");
        assert_eq!(
            unified("a\nb", "a\n").text,
            "@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("a\n", "a\n").text, "");
    }

    #[test]
    fn f53_the_diff_of_large_files_is_bounded_and_its_counts_are_true() {
        let old = numbered(0..50_000);
        let new = old.replace("line", "row");
        let diff = unified(&old, &new);
        assert!(diff.text.len() < 30 * 1024, "{}", diff.text.len());
        assert_eq!((diff.added, diff.removed), (50_000, 50_000));
        assert!(diff.text.ends_with("more lines\n"), "{}", &diff.text[diff.text.len() - 40..]);
        let one_line = unified("x\n", &"y".repeat(1_000_000));
        assert!(one_line.text.len() < 2_000);
    }

    #[test]
    fn two_distant_changes_make_two_hunks() {
        let old = numbered(1..100);
        let new = old.replace("line 5\n", "five\n").replace("line 90\n", "ninety\n");
        assert_eq!(unified(&old, &new).text.matches("@@ -").count(), 2);
    }
}
