//! What the agent said it would do next: the last list that speaks of steps to come.

use super::checkpoint::Room;
use super::lexicon::NEXT;
use super::material::Item;
use super::sentences::{clip, is_item, sentences, without_mark};

/// The steps to come, from the newest answers that name any. Lists of what was done are not steps.
pub(super) fn next_steps(items: &[Item], room: Room) -> Vec<String> {
    let latest_request = items.iter().rposition(|item| matches!(item, Item::Asked(_)));
    let answers = items.iter().enumerate().rev().filter_map(|(at, item)| match item {
        Item::Said(text) => Some((at, text)),
        _ => None,
    });
    for (at, text) in answers.take(8) {
        let mut steps: Vec<_> = announced_list(text);
        if steps.is_empty() && latest_request.is_none_or(|request| at > request) {
            steps = sentences(text).into_iter().filter(|sentence| announces(sentence)).collect();
        }
        if !steps.is_empty() {
            return steps.into_iter().take(room.lines).map(|step| clip(step, room.chars)).collect();
        }
    }
    Vec::new()
}

/// A sentence such as `Next I will …`, not one that merely holds the word.
fn announces(sentence: &str) -> bool {
    let start: String = sentence.chars().take(24).collect();
    NEXT.mark(&start) && !sentence.ends_with(['?', '？', ':'])
}

/// The items under a line that announces steps, or unticked boxes.
fn announced_list(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let boxes: Vec<_> =
        lines.iter().filter(|line| line.contains("[ ] ")).map(|line| without_mark(line)).collect();
    if !boxes.is_empty() {
        return boxes;
    }
    let mut steps = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if is_item(line) || !NEXT.mark(line) {
            continue;
        }
        let below = lines[at + 1..].iter().skip_while(|line| line.trim().is_empty());
        let list: Vec<_> = below
            .take_while(|line| is_item(line) || line.starts_with("  ") && !line.trim().is_empty())
            .filter(|line| is_item(line))
            .map(|line| without_mark(line))
            .collect();
        if !list.is_empty() {
            steps = list;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answers: &[&str], expected: &[&str]) {
        let items: Vec<_> = answers.iter().map(|text| Item::Said((*text).to_owned())).collect();
        assert_eq!(next_steps(&items, Room { lines: 9, chars: 200 }), expected);
    }

    #[test]
    fn steps_come_from_the_last_list_that_announces_them() {
        check(
            &["Next steps:\n1. Add tests\n   for both\n2. Write docs", "Done:\n- `a`\n- `b`"],
            &["Add tests", "Write docs"],
        );
        check(&["다음 할 일\n\n- 테스트 추가\n- 문서"], &["테스트 추가", "문서"]);
        check(&["- [x] one\n- [ ] two"], &["two"]);
        check(&["It works. Next I will write the docs."], &["Next I will write the docs."]);
        check(&["I changed three things:\n- a\n- b"], &[]);
    }
}
