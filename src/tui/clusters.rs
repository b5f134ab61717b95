//! What terminals leave behind when something narrower is drawn over a wide character. A character of
//! several code points that each have columns (a flag, a vowel sign) is kept apart by some of them, and
//! its rest stays; of any other the rest is wiped, but in the colours of what is drawn over it. So the
//! rest is drawn again (F84).

use std::ops::Range;

use super::text::columns;

/// Columns of the wide characters that were drawn, by row and column; 0 where none begins.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    rows: Vec<Vec<u16>>,
    /// Whether there was any: most screens have none.
    any: bool,
}

/// Columns before a cell that a character may reach over it.
const REACH: u16 = 8;

impl Clusters {
    /// A symbol is drawn. Gives the columns behind it that must be wiped.
    pub(super) fn draw(&mut self, x: u16, y: u16, symbol: &str) -> Range<u16> {
        let wide = symbol_columns(symbol);
        let end = x.saturating_add(wide);
        let mut wiped = end..end;
        if self.any
            && let Some(row) = self.rows.get_mut(usize::from(y))
        {
            for column in x.saturating_sub(REACH)..end {
                let Some(old) = row.get_mut(usize::from(column)).filter(|old| **old > 0) else {
                    continue;
                };
                let old_end = column + *old;
                // One that begins before and reaches here is gone only when its own beginning is drawn.
                if column >= x || old_end > x {
                    wiped.end = wiped.end.max(old_end);
                    *old = 0;
                }
            }
        }
        if wide > 1 {
            self.any = true;
            let (x, y) = (usize::from(x), usize::from(y));
            if self.rows.len() <= y {
                self.rows.resize_with(y + 1, Vec::new);
            }
            if self.rows[y].len() <= x {
                self.rows[y].resize(x + 1, 0);
            }
            self.rows[y][x] = wide;
        }
        wiped
    }
}

fn symbol_columns(symbol: &str) -> u16 {
    u16::try_from(columns(symbol)).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f84_the_rest_of_a_flag_is_wiped() {
        let mut clusters = Clusters::default();
        assert!(clusters.draw(3, 0, "🇰🇷").is_empty());
        assert!(clusters.draw(3, 1, "a").is_empty(), "another row");
        assert_eq!(clusters.draw(3, 0, "a"), 4..5);
        assert!(clusters.draw(3, 0, "b").is_empty(), "once");
        clusters.draw(3, 0, "กำ");
        assert!(clusters.draw(3, 0, "한").is_empty(), "both cells are overwritten");
        clusters.draw(3, 0, "🇰🇷");
        assert_eq!(clusters.draw(2, 0, "한"), 4..5);
        clusters.draw(6, 0, "한");
        assert_eq!(clusters.draw(6, 0, "a"), 7..8, "terminals wipe it in the colours of the a");
        clusters.draw(6, 0, "한");
        assert!(clusters.draw(7, 0, "a").is_empty(), "its end is overwritten");
    }
}
