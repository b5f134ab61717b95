//! Characters as seen that many terminals keep in several cells (F84): flags, and letters with vowel
//! signs beside them (Thai, Devanagari). Overwriting the first cell of one leaves its rest, unlike that
//! of a wide character, and ratatui writes only what has changed: so the rest is wiped by hand.

use std::collections::HashMap;
use std::ops::Range;

use super::text::columns;

/// Where such characters stand: row and first column, with their columns.
#[derive(Debug, Default)]
pub(super) struct Clusters(HashMap<(u16, u16), u16>);

/// Columns before a cell that a character may reach over it.
const REACH: u16 = 8;

impl Clusters {
    /// A symbol is drawn. Gives the columns behind it that must be wiped.
    pub(super) fn draw(&mut self, x: u16, y: u16, symbol: &str) -> Range<u16> {
        let wide = symbol_columns(symbol);
        let end = x.saturating_add(wide);
        let mut wiped = end..end;
        if !self.0.is_empty() {
            for column in x.saturating_sub(REACH)..end {
                let Some(old) = self.0.get(&(y, column)) else { continue };
                let old_end = column + old;
                // One that begins before and reaches here is gone only when its own beginning is drawn.
                if column >= x || old_end > x {
                    wiped.end = wiped.end.max(old_end);
                    self.0.remove(&(y, column));
                }
            }
        }
        if is_split(symbol, wide) {
            self.0.insert((y, x), wide);
        }
        wiped
    }
}

fn symbol_columns(symbol: &str) -> u16 {
    u16::try_from(columns(symbol)).unwrap_or(1).max(1)
}

/// Whether the columns are not those of its first character.
fn is_split(symbol: &str, wide: u16) -> bool {
    let Some(first) = symbol.chars().next() else { return false };
    wide > 1 && symbol_columns(first.encode_utf8(&mut [0; 4])) < wide
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
        assert!(clusters.draw(6, 0, "a").is_empty(), "terminals wipe wide characters themselves");
    }
}
