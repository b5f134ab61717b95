//! The word that somebody probably meant: for unknown commands, keys, tools and models.
//! Knows letters only; what the words stand for is the caller's business.

/// The candidate nearest to `word`, if one is near enough to be worth naming: a third of the letters
/// may differ, and at least one. Case does not count. Of equally near ones the first wins.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = lower(word);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters = lower(candidate);
            let limit = (word.len().max(letters.len()) / 3).max(1);
            let is_beginning = word.len() >= 2 && letters.starts_with(&word);
            let distance = if is_beginning { 1 } else { distance(&word, &letters) };
            (distance <= limit).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn lower(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).collect()
}

/// Letters that must be added, left out, replaced or swapped with their neighbour to make `one`
/// into `other` (optimal string alignment).
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, target) in other.iter().enumerate() {
            let replaced = above[j] + usize::from(letter != target);
            let mut cost = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == other[j - 1] && one[i - 1] == *target {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let known = ["compact", "tree", "copy", "quit", "clone", "reserveTokens"];
        assert_eq!(nearest(word, known), expected, "for {word:?}");
    }

    #[test]
    fn u4_names_what_was_probably_meant() {
        check("comapct", Some("compact"));
        check("treee", Some("tree"));
        check("reserve_tokens", Some("reserveTokens"));
        check("RESERVETOKENS", Some("reserveTokens"));
        check("comp", Some("compact"));
        check("qiut", Some("quit"));
    }

    #[test]
    fn u4_is_silent_when_nothing_is_near() {
        check("weather", None);
        check("", None);
        check("나무", None);
    }

    #[test]
    fn counts_edits() {
        let count = |one: &str, other: &str| distance(&lower(one), &lower(other));
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
        assert_eq!(count("ab", "ba"), 1);
        assert_eq!(count("kitten", "sitting"), 3);
    }
}
