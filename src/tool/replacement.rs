//! Exact replacement in a text: what `edit` does, without files (SPEC A2, F77, F97). Pure.
//!
//! Texts are compared with line endings normalised; what is put back is the file's own bytes
//! wherever a line did not change. Nothing is ever guessed: a piece that is missing or not unique is
//! refused, with help.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::truncate::{counted, one_line};

/// Places that a message about an ambiguous piece names.
const MOST_NAMED: usize = 5;

/// Lines of a file among which a near one is looked for.
const MOST_COMPARED_LINES: usize = 20_000;

/// Characters of a quoted line.
const QUOTE: usize = 100;

/// One piece to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is to be there, once.
    pub old: String,
    /// What takes its place.
    pub new: String,
}

/// Replaces all pieces in `text`, each found in the original.
///
/// # Errors
/// A sentence that says which edit cannot be made, and why.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, String> {
    let original = Normalized::new(text);
    let mut spans = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let name = if edits.len() == 1 {
            "oldText".to_owned()
        } else {
            format!("oldText of edit {}", index + 1)
        };
        let span = locate(&original, edit, &name)?;
        spans.push((span, index));
    }
    spans.sort_by_key(|(span, _)| span.start);
    for pair in spans.windows(2) {
        let ((first, a), (second, b)) = (&pair[0], &pair[1]);
        if second.start < first.end {
            return Err(format!(
                "edits {} and {} overlap at line {}; join them into one edit",
                a.min(b) + 1,
                a.max(b) + 1,
                original.line_of(second.start)
            ));
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (span, index) in spans {
        out.push_str(&text[done..original.place(span.start)]);
        original.replace(&span, &unix(&edits[index].new), &mut out);
        done = original.place(span.end);
    }
    out.push_str(&text[done..]);
    Ok(out)
}

type Span = std::ops::Range<usize>;

fn locate(original: &Normalized<'_>, edit: &Edit, name: &str) -> Result<Span, String> {
    let old = unix(edit.old.strip_prefix('\u{feff}').unwrap_or(&edit.old));
    if old.is_empty() {
        return Err(format!("{name} is empty; to make a file or replace all of it use write"));
    }
    if old == unix(&edit.new) {
        return Err(format!("{name} and its newText are the same; there is nothing to change"));
    }
    let found = occurrences(&original.text, &old);
    match found.as_slice() {
        [start] => Ok(*start..start + old.len()),
        [] => Err(format!("{name} was not found: {}", near_miss(&original.text, &old))),
        many => {
            let lines: Vec<_> = many
                .iter()
                .take(MOST_NAMED)
                .map(|start| original.line_of(*start).to_string())
                .collect();
            let more = if many.len() > MOST_NAMED { ", …" } else { "" };
            Err(format!(
                "{name} occurs {} times (lines {}{more}); add lines around it until it is unique",
                many.len(),
                lines.join(", ")
            ))
        }
    }
}

/// Where a piece begins, overlapping occurrences counted.
fn occurrences(text: &str, piece: &str) -> Vec<usize> {
    let step = piece.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(piece)) {
        found.push(from + at);
        from += at + step;
    }
    found
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A text with `\n` for every `\r\n`, and the way back.
struct Normalized<'a> {
    original: &'a str,
    text: String,
    /// Where in `text` the newlines stand that were `\r\n`, ascending.
    pairs: Vec<usize>,
}

impl<'a> Normalized<'a> {
    fn new(original: &'a str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut pairs = Vec::new();
        for line in original.split_inclusive('\n') {
            match line.strip_suffix("\r\n") {
                Some(body) => {
                    text.push_str(body);
                    pairs.push(text.len());
                    text.push('\n');
                }
                None => text.push_str(line),
            }
        }
        Self { original, text, pairs }
    }

    /// The place in the original of an offset in the normalised text.
    fn place(&self, offset: usize) -> usize {
        offset + self.pairs.partition_point(|pair| *pair < offset)
    }

    fn line_of(&self, offset: usize) -> usize {
        self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// The ending of the newline at this offset of the normalised text.
    fn ending(&self, newline: usize) -> &'static str {
        if self.pairs.binary_search(&newline).is_ok() { "\r\n" } else { "\n" }
    }

    /// The ending that a new line at this offset should have: that of the line it stands in, else
    /// that of the line before.
    fn ending_near(&self, offset: usize) -> &'static str {
        let next = self.text[offset..].find('\n').map(|at| offset + at);
        next.or_else(|| self.text[..offset].rfind('\n')).map_or("\n", |at| self.ending(at))
    }

    /// Writes `new` for the span: lines that stay keep their bytes, a changed line takes the ending
    /// of the one in whose place it comes.
    fn replace(&self, span: &Span, new: &str, out: &mut String) {
        let old: Vec<&str> = self.text[span.clone()].split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let mut starts = Vec::with_capacity(old.len() + 1);
        let mut start = span.start;
        starts.push(start);
        for line in &old {
            start += line.len();
            starts.push(start);
        }
        let usual = self.ending_near(span.start);
        for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
            if let DiffOp::Equal { old_index, len, .. } = op {
                let (from, to) = (starts[old_index], starts[old_index + len]);
                out.push_str(&self.original[self.place(from)..self.place(to)]);
                continue;
            }
            let range = op.old_range();
            for (index, line) in new[op.new_range()].iter().enumerate() {
                let Some(body) = line.strip_suffix('\n') else {
                    out.push_str(line);
                    continue;
                };
                // The line in whose place it comes, else the one that it follows.
                let model = (range.start + index).min(range.end.wrapping_sub(1));
                let ended = old.get(model).is_some_and(|line| line.ends_with('\n'));
                out.push_str(body);
                out.push_str(if ended { self.ending(starts[model + 1] - 1) } else { usual });
            }
        }
    }
}

/// What a model needs to know to get a piece right that was not found.
fn near_miss(text: &str, old: &str) -> String {
    const EXACTLY: &str = "it must match exactly, spaces included";
    if has_line_numbers(old) {
        return "it begins its lines with the numbers that read shows; leave them out".to_owned();
    }
    let lines: Vec<&str> = text.lines().take(MOST_COMPARED_LINES).collect();
    let wanted: Vec<&str> = old.lines().collect();
    let Some(first) = wanted.iter().position(|line| !line.trim().is_empty()) else {
        return format!("{EXACTLY}, and it holds nothing but white space");
    };
    let wanted = &wanted[first..];
    let equal = |at: usize| {
        lines[at..].iter().zip(wanted).take_while(|(line, want)| line.trim() == want.trim()).count()
    };
    // A piece may begin and end within a line.
    let open_end = if old.ends_with('\n') { usize::MAX } else { wanted.len() - 1 };
    let fits = |index: usize, line: &str, want: &str| {
        line == want
            || (first + index == 0 && line.ends_with(want))
            || (index == open_end && line.starts_with(want))
    };
    let best = (0..lines.len())
        .filter(|at| lines[*at].trim() == wanted[0].trim())
        .max_by_key(|at| (equal(*at), std::cmp::Reverse(*at)));
    let Some(at) = best else { return closest_line(&lines, wanted[0], EXACTLY) };
    let different = lines[at..]
        .iter()
        .zip(wanted)
        .enumerate()
        .position(|(index, (line, want))| !fits(index, line, want));
    match different {
        Some(index) => {
            let (line, want) = (lines[at + index], wanted[index]);
            let how = if line.trim() == want.trim() { " (white space differs)" } else { "" };
            format!(
                "line {} of the file is {}, oldText has {} there{how}; {EXACTLY}",
                at + index + 1,
                quoted(line),
                quoted(want)
            )
        }
        None if wanted.len() > lines.len() - at => {
            format!("from line {} on it matches, but the file ends before it does", at + 1)
        }
        None => format!(
            "it matches lines {}–{} but for line breaks or empty lines; {EXACTLY}",
            at + 1,
            at + wanted.len()
        ),
    }
}

fn closest_line(lines: &[&str], wanted: &str, advice: &str) -> String {
    let wanted = wanted.trim();
    let candidates: Vec<&str> = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty() && line.len() < 4 * wanted.len() + 20)
        .collect();
    let close = similar::get_close_matches(wanted, &candidates, 1, 0.6);
    let nearest = close.first().and_then(|near| {
        let number = lines.iter().position(|line| line.trim() == *near)? + 1;
        Some(format!("the nearest line is {number}, {}; {advice}", quoted(lines[number - 1])))
    });
    nearest.unwrap_or_else(|| {
        format!(
            "nothing like {} is among its {}; read the file again",
            quoted(wanted),
            counted(lines.len(), "line")
        )
    })
}

fn has_line_numbers(old: &str) -> bool {
    old.lines().all(|line| {
        line.trim_start().split_once('\t').is_some_and(|(number, _)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

fn quoted(line: &str) -> String {
    format!("`{}`", one_line(line, QUOTE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.to_owned(), new: new.to_owned() }
    }

    fn one(text: &str, old: &str, new: &str) -> Result<String, String> {
        apply(text, &[edit(old, new)])
    }

    #[test]
    fn f77_line_endings_stay_byte_exact_where_nothing_changed() {
        for (text, old, new, expected) in [
            ("a\r\nb\r\nc\r\n", "b\n", "B\nB2\n", "a\r\nB\r\nB2\r\nc\r\n"),
            ("a\nb\nc\n", "b\r\n", "B\r\n", "a\nB\nc\n"),
            // Mixed endings: lines that stay keep theirs, changed ones take their predecessor's.
            ("a\r\nb\nc\r\nd\n", "a\nb\nc\nd\n", "a\nb\nX\nd\n", "a\r\nb\nX\r\nd\n"),
            ("a\r\nb\nc\r\nd\n", "a\nb\nc\nd\n", "A\nB\nC\nD\n", "A\r\nB\nC\r\nD\n"),
            ("a\r\nb\nc\n", "a\nb\nc", "a\nnew\nb\nc", "a\r\nnew\r\nb\nc\n"),
            ("x = 1;\r\ny = 2;\r\n", "= 1;\ny", "= 3;\ny", "x = 3;\r\ny = 2;\r\n"),
            ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
            ("a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"),
            ("one line", "line", "line\nmore", "one line\nmore"),
            ("lone\rcr\r\n", "lone\rcr", "x\ry", "x\ry\r\n"),
            ("a\r\n\r\n\r\nb", "a\n\n", "a\n", "a\r\n\r\nb"),
        ] {
            assert_eq!(one(text, old, new).as_deref(), Ok(expected), "{text:?} {old:?} {new:?}");
        }
    }

    #[test]
    fn f97_overlapping_occurrences_are_ambiguous() {
        for (text, old, times) in [
            ("aXaXa", "aXa", 2),
            ("}\n}\n}\n", "}\n}\n", 2),
            ("aaaa", "aa", 3),
            ("한한한", "한한", 2),
            ("x\r\nx\r\nx\r\n", "x\nx\n", 2),
        ] {
            let error = one(text, old, "-").unwrap_err();
            assert!(error.contains(&format!("occurs {times} times")), "{text:?}: {error}");
        }
        let error = one("a\nb\na\n", "a", "c").unwrap_err();
        assert!(error.contains("(lines 1, 3); add lines around it"), "{error}");
    }

    #[test]
    fn f97_several_edits_are_found_in_the_original_and_must_not_overlap() {
        let text = "one\ntwo\nthree\n";
        let edits = [edit("three", "one"), edit("one", "two"), edit("two", "three")];
        assert_eq!(apply(text, &edits).as_deref(), Ok("two\nthree\none\n"));
        let error = apply(text, &[edit("two\nthree", "x"), edit("one\ntwo", "y")]).unwrap_err();
        assert_eq!(error, "edits 1 and 2 overlap at line 2; join them into one edit");
        assert!(
            apply(text, &[edit("one", "x"), edit("one", "x")]).unwrap_err().contains("overlap")
        );
        assert_eq!(apply("ab", &[edit("a", "1"), edit("b", "2")]).as_deref(), Ok("12"));
    }

    #[test]
    fn f97_empty_and_idle_edits_are_refused() {
        assert!(one("a", "", "b").unwrap_err().contains("is empty; to make a file"));
        assert!(one("a", "\u{feff}", "b").unwrap_err().contains("is empty"));
        assert!(one("a\r\n", "a\n", "a\r\n").unwrap_err().contains("are the same"));
        let error = apply("a", &[edit("a", "b"), edit("", "c")]).unwrap_err();
        assert!(error.starts_with("oldText of edit 2 is empty"), "{error}");
    }

    #[test]
    fn a2_a_near_miss_says_what_differs() {
        let text = "fn main() {\n    let x = 1;\n\tlet y = 2;\n}\n";
        for (old, expected) in [
            (
                "fn main() {\n  let x = 1;",
                "line 2 of the file is `    let x = 1;`, oldText has `  let x = 1;` there (white space differs)",
            ),
            (
                "fn main() {\n    let x = 2;",
                "line 2 of the file is `    let x = 1;`, oldText has `    let x = 2;` there;",
            ),
            ("let z = 1;\n", "the nearest line is 2, `    let x = 1;`"),
            ("quite another thing", "nothing like `quite another thing` is among its 4 lines"),
            ("1\tfn main() {\n2\t    let x = 1;", "begins its lines with the numbers"),
            ("}\nmore\n", "from line 4 on it matches, but the file ends before"),
            ("  \n \n", "nothing but white space"),
            ("let y = 2;\n\n}", "`}`, oldText has `` there"),
        ] {
            let error = one(text, old, "-").unwrap_err();
            assert!(error.contains(expected), "{old:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn i14_all_outside_the_edit_stays_byte_for_byte(
            before in "[a-c\r\n한]{0,30}", piece in "[x-z]{1,3}(\r?\n[x-z]{1,3}){0,3}", after in "[a-c\r\n한]{0,30}",
            new in "[p-r]{0,3}(\n[p-r]{1,3}){0,3}",
        ) {
            let text = format!("{before}{piece}{after}");
            let edited = one(&text, &piece, &new).unwrap();
            prop_assert!(edited.starts_with(&before));
            prop_assert!(edited.ends_with(&after));
            let middle = &edited[before.len()..edited.len() - after.len()];
            prop_assert_eq!(unix(middle), unix(&new));
        }
    }
}
