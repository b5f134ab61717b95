//! A unified diff as lines: number, sign, text. The sign tells additions from removals also without
//! colour.

use ratatui::text::{Line, Span};

use crate::tui::text::sanitize;
use crate::tui::theme::Theme;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// Draws a diff in `columns`. Header lines are left out; hunks are set apart.
#[must_use]
pub fn draw(diff: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let (mut old, mut new) = (1usize, 1usize);
    let digits = last_number(diff).to_string().len();
    let mut in_hunk = false;
    for text in diff.lines() {
        if let Some((old_start, new_start)) = hunk_starts(text) {
            if in_hunk {
                lines.push(Line::styled(format!("{:>digits$} ┆", ""), theme.dim));
            }
            (old, new, in_hunk) = (old_start, new_start, true);
            continue;
        }
        if !in_hunk {
            continue;
        }
        let (number, sign, style) = match text.as_bytes().first() {
            Some(b'-') => (old, "- ", theme.removed),
            Some(b'+') => (new, "+ ", theme.added),
            Some(b'\\') => continue,
            _ => (new, "  ", theme.dim),
        };
        old += usize::from(sign != "+ ");
        new += usize::from(sign != "- ");
        let margins = Margins {
            first: vec![
                Span::styled(format!("{number:>digits$} │ "), theme.dim),
                Span::styled(sign, style),
            ],
            rest: vec![Span::styled(format!("{:>digits$} │   ", ""), theme.dim)],
        };
        let text = sanitize(text.get(1..).unwrap_or_default());
        lines.extend(wrap(&[Span::styled(text, style)], columns, &margins, Breaking::Anywhere));
    }
    lines
}

/// `@@ -41,3 +41,7 @@` → 41 and 41.
fn hunk_starts(line: &str) -> Option<(usize, usize)> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let start = |range: &str| range.split([',', ' ']).next()?.parse::<usize>().ok();
    Some((start(old)?, start(rest)?))
}

fn last_number(diff: &str) -> usize {
    let starts = diff.lines().filter_map(hunk_starts);
    let last = starts.map(|(old, new)| old.max(new)).max().unwrap_or(1);
    last + diff.lines().rev().take_while(|line| hunk_starts(line).is_none()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a2_a_diff_shows_numbers_and_signs() {
        let diff = "--- a/x\n+++ b/x\n@@ -41,2 +41,2 @@ fn a\n context\n-old 한\n+new 국\n@@ -90 +90 @@\n-a\n\\ No newline at end of file\n+b\n";
        let lines: Vec<String> =
            draw(diff, 20, &Theme::dark()).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            ["41 │   context", "42 │ - old 한", "42 │ + new 국", "   ┆", "90 │ - a", "90 │ + b",]
        );
    }
}
