//! Cutting a transcript into pieces that fit a window (SPEC C18, I5). Pure.

use crate::compaction::tokens::Estimator;

/// The texts joined by blank lines, in as few pieces of at most `budget` tokens as their order
/// allows. A text that is larger by itself is cut between lines, or where it must be.
pub(super) fn split(texts: &[String], budget: u64, estimator: Estimator) -> Vec<String> {
    let budget = budget.max(16);
    let mut pieces: Vec<String> = Vec::new();
    let mut filled = 0;
    for text in texts {
        for part in parts(text, budget, estimator) {
            let tokens = u64::from(estimator.text(part)) + 1;
            match pieces.last_mut() {
                Some(piece) if filled + tokens <= budget => {
                    piece.push_str("\n\n");
                    piece.push_str(part);
                    filled += tokens;
                }
                _ => {
                    pieces.push(part.to_owned());
                    filled = tokens;
                }
            }
        }
    }
    pieces
}

/// The text, or its cuts when it is over the budget.
fn parts(text: &str, budget: u64, estimator: Estimator) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while u64::from(estimator.text(rest)) >= budget {
        let end = fitting_end(rest, budget, estimator);
        let (part, more) = rest.split_at(end);
        parts.push(part.trim_end_matches('\n'));
        rest = more.trim_start_matches('\n');
    }
    if !rest.is_empty() || parts.is_empty() {
        parts.push(rest);
    }
    parts
}

/// Where the longest beginning ends that stays under the budget; after a line break if one is near.
fn fitting_end(text: &str, budget: u64, estimator: Estimator) -> usize {
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let fits = |end: &usize| u64::from(estimator.text(&text[..*end])) < budget;
    let count = partition_point(&ends, fits).max(1);
    let end = ends.get(count - 1).copied().unwrap_or(text.len());
    match text[..end].rfind('\n') {
        Some(at) if at > end / 2 => at + 1,
        _ => end,
    }
}

fn partition_point(ends: &[usize], fits: impl Fn(&usize) -> bool) -> usize {
    ends.partition_point(fits)
}

/// The newest part of a text that stays under the budget.
pub(super) fn newest(texts: &[String], budget: u64, estimator: Estimator) -> String {
    split_newest(texts, budget, estimator).join("\n\n")
}

fn split_newest(texts: &[String], budget: u64, estimator: Estimator) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut filled = 0;
    for text in texts.iter().rev() {
        let tokens = u64::from(estimator.text(text)) + 1;
        if filled + tokens > budget {
            break;
        }
        filled += tokens;
        kept.push(text.as_str());
    }
    if kept.is_empty()
        && let Some(text) = texts.last()
    {
        kept.extend(parts(text, budget.max(16), estimator).first().copied());
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ESTIMATOR: Estimator = Estimator::ScriptAware;

    #[test]
    fn c18_a_text_that_fits_is_one_piece_word_for_word() {
        let texts = ["[User]: a".to_owned(), "[Assistant]: b".to_owned()];
        assert_eq!(split(&texts, 100, ESTIMATOR), ["[User]: a\n\n[Assistant]: b"]);
        assert!(split(&[], 100, ESTIMATOR).is_empty());
    }

    #[test]
    fn c18_the_newest_part_stays_when_only_a_part_can() {
        let texts: Vec<_> = (0..9).map(|n| format!("message {n} {}", "x".repeat(60))).collect();
        let kept = newest(&texts, 50, ESTIMATOR);
        assert!(kept.starts_with("message 7") && kept.contains("message 8"), "{kept}");
    }

    proptest! {
        #[test]
        fn c18_f12_no_piece_is_over_its_budget_and_nothing_is_lost(
            texts in proptest::collection::vec("[a-z가-힣🙂\n ]{0,300}", 0..12),
            budget in 16_u64..200,
        ) {
            let pieces = split(&texts, budget, ESTIMATOR);
            for piece in &pieces {
                prop_assert!(u64::from(ESTIMATOR.text(piece)) <= budget, "{piece}");
            }
            let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let (all, cut) = (texts.concat(), pieces.concat());
            prop_assert_eq!(bare(&all), bare(&cut));
        }
    }
}
