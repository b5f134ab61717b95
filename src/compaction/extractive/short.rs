//! The sentence or two that the screen shows of a compaction.

use super::language_of;
use super::lexicon::{self, Language};
use super::material::{Item, Outcome};
use super::sentences::{clip, goal_of};

/// What was worked on, which files changed, what was asked last.
pub(super) fn short_sentence(items: &[Item]) -> String {
    let asked: Vec<&str> = items.iter().filter_map(request_in).collect();
    let telling: Vec<&str> =
        asked.iter().copied().filter(|text| lexicon::says_something(text)).collect();
    let asked = if telling.is_empty() { asked } else { telling };
    let first = clip(asked.first().copied().unwrap_or_default(), 90);
    let latest = asked.iter().skip(1).next_back().map(|text| clip(text, 70));
    let files = changed_files(items);
    let named: Vec<String> = files.iter().rev().take(3).map(|path| format!("`{path}`")).collect();
    let more = files.len() - named.len();
    let named = named.join(", ");
    match language_of(items) {
        Language::Korean => korean(&first, latest, &named, more),
        Language::English => english(&first, latest, &named, more),
    }
}

fn request_in(item: &Item) -> Option<&str> {
    match item {
        Item::Asked(text) => Some(text),
        Item::Told(text) => goal_of(text),
        Item::Said(_) | Item::Did(_) => None,
    }
}

/// Files that were written or edited, the latest last.
fn changed_files(items: &[Item]) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    for item in items {
        if let Item::Did(deed) = item
            && deed.changes_a_file()
            && matches!(deed.outcome, Outcome::Worked(_))
        {
            files.retain(|path| *path != deed.subject);
            files.push(&deed.subject);
        }
    }
    files
}

fn english(first: &str, latest: Option<String>, named: &str, more: usize) -> String {
    let mut text = format!("I worked on “{first}”");
    if !named.is_empty() {
        text.push_str(&format!(" and changed {named}"));
    }
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text.push('.');
    if let Some(latest) = latest {
        text.push_str(&format!(" The latest request was “{latest}”."));
    }
    text
}

fn korean(first: &str, latest: Option<String>, named: &str, more: usize) -> String {
    let mut text = format!("“{first}” 요청을 처리했습니다");
    match (named.is_empty(), more) {
        (true, _) => {}
        (false, 0) => text.push_str(&format!("({named} 변경)")),
        (false, more) => text.push_str(&format!("({named} 외 {more}개 변경)")),
    }
    text.push('.');
    if let Some(latest) = latest {
        text.push_str(&format!(" 가장 최근 요청: “{latest}”."));
    }
    text
}
