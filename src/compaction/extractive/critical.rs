//! The critical context of a checkpoint: what has to be exact.

use super::checkpoint::{Resolved, Sifter, first_line, name_of, newest, telling_lines};
use super::lexicon::{self, Language};
use super::material::Item;
use super::sentences::{Tally, clip, is_identifier, is_path, names, quoted, sentences};

impl Sifter<'_> {
    /// Paths, commands, names, addresses, errors and the open question.
    pub(super) fn critical(&self) -> Vec<String> {
        let mut files = Tally::default();
        let mut identifiers = Tally::default();
        let mut commands = Tally::default();
        let mut addresses = Tally::default();
        for text in self.asked().chain(self.said()) {
            for address in text.split_whitespace().filter_map(address_in) {
                addresses.add(address, 1);
            }
            for name in names(text) {
                if is_path(name) { files.add(name, 1) } else { identifiers.add(name, 1) }
            }
            for name in quoted(text).filter(|name| !name.contains(' ') && !is_path(name)) {
                let telling = is_identifier(name) || name.chars().any(|c| !c.is_alphabetic());
                identifiers.add(name, usize::from(telling) + usize::from(name.len() > 3));
            }
        }
        for deed in self.deeds() {
            if deed.is_command() {
                if !lexicon::only_looks(&deed.subject) {
                    commands.add(&clip(first_line(&deed.subject), self.room.chars / 2), 1);
                }
            } else if matches!(deed.tool.as_str(), "read" | "write" | "edit") {
                files.add(&deed.subject, 2);
            }
        }
        let limit = self.room.lines;
        let mut critical = Vec::new();
        let mut list = |label: Label, names: Vec<&str>| {
            if !names.is_empty() {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                critical.push(format!("{}: {}", label.text(self.language), names.join(", ")));
            }
        };
        list(Label::Files, files.most(1, limit));
        list(Label::Commands, commands.most(1, limit / 2));
        list(Label::Names, identifiers.most(3, limit));
        list(Label::Addresses, addresses.most(1, limit / 2));
        for (deed, output) in newest(self.failures(Resolved::Later), self.room.lines / 3) {
            let label = self.language.pick("Error, since resolved", "해결된 오류");
            let line = telling_lines(output, self.room.chars / 2);
            critical
                .push(format!("{label}: `{}`: {line}", clip(&name_of(deed), self.room.chars / 3)));
        }
        critical.extend(self.open_question());
        critical
    }

    fn open_question(&self) -> Option<String> {
        let label = self.language.pick(
            "Open question, the person has to answer",
            "답을 기다리는 질문(사용자가 답해야 함)",
        );
        self.question().map(|question| format!("{label}: “{}”", clip(question, self.room.chars)))
    }

    /// A question that the agent ended on and nobody answered.
    pub(super) fn question(&self) -> Option<&str> {
        let Some(Item::Said(text)) = self.items.last() else { return None };
        let question = sentences(text).into_iter().rfind(|s| s.ends_with(['?', '？']))?;
        text.trim_end().ends_with(question).then_some(question)
    }
}

/// The lists of names in the critical context.
#[derive(Clone, Copy)]
enum Label {
    Files,
    Commands,
    Names,
    Addresses,
}

impl Label {
    const ALL: [Self; 4] = [Self::Files, Self::Commands, Self::Names, Self::Addresses];

    const fn text(self, language: Language) -> &'static str {
        match self {
            Self::Files => language.pick("Files", "파일"),
            Self::Commands => language.pick("Commands", "명령"),
            Self::Names => language.pick("Names", "이름"),
            Self::Addresses => language.pick("Addresses", "주소"),
        }
    }

    fn of(line: &str) -> Option<(&str, &str)> {
        Self::ALL
            .into_iter()
            .flat_map(|label| [label.text(Language::English), label.text(Language::Korean)])
            .find_map(|text| {
                line.strip_prefix(text)?.strip_prefix(": ").map(|rest| (&line[..text.len()], rest))
            })
    }
}

/// Lists of names from both checkpoints become one list each; other lines follow each other.
pub(super) fn merge_lists(old: Vec<String>, mut new: Vec<String>, limit: usize) -> Vec<String> {
    let mut kept = Vec::new();
    for line in old {
        let Some((label, list)) = Label::of(&line) else {
            if !new.contains(&line) {
                kept.push(line);
            }
            continue;
        };
        match new.iter_mut().find(|fresh| fresh.starts_with(label)) {
            Some(fresh) => {
                let known: Vec<_> = quoted(fresh).map(str::to_owned).collect();
                let room = limit.saturating_sub(known.len()).max(limit / 2);
                for name in quoted(list).filter(|name| !known.iter().any(|k| k == name)).take(room)
                {
                    fresh.push_str(&format!(", `{name}`"));
                }
            }
            None => new.push(line),
        }
    }
    // Lists first, then what was said before, then what is new.
    let (mut merged, new): (Vec<_>, Vec<_>) =
        new.into_iter().partition(|line| Label::of(line).is_some());
    merged.extend(newest(kept, limit));
    merged.extend(new);
    merged
}

/// An address inside a word, without the marks around it.
fn address_in(word: &str) -> Option<&str> {
    let scheme = word.find("://")?;
    let start = word[..scheme].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    let address = &word[start..];
    let end = address.find([')', ']', '"', '\'', '>', '`', ',']).unwrap_or(address.len());
    let address = address[..end].trim_end_matches(['.', ';', ':', '*']);
    (start < scheme && address.len() > "http://".len()).then_some(address)
}
