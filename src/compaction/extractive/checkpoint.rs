//! The sections of a checkpoint (S3) and what of a conversation goes into each.

use std::collections::HashMap;

use super::critical::merge_lists;
use super::earlier;
use super::lexicon::{self, CALLED_OFF, CONSTRAINT, DECISION, Language};
use super::material::{Deed, Item, Outcome};
use super::next_steps::next_steps;
use super::sentences::{clip, quoted, sentences};

/// How much room there is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Most lines of a section.
    pub(super) lines: usize,
    /// Most characters of a line.
    pub(super) chars: usize,
}

/// A checkpoint, a line an item, without marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub(super) goal: Vec<String>,
    pub(super) constraints: Vec<String>,
    pub(super) done: Vec<String>,
    pub(super) in_progress: Vec<String>,
    pub(super) blocked: Vec<String>,
    pub(super) decisions: Vec<String>,
    pub(super) next: Vec<String>,
    pub(super) critical: Vec<String>,
}

/// Sifts what happened into the sections of a checkpoint.
pub(super) struct Sifter<'a> {
    pub(super) items: &'a [Item],
    pub(super) language: Language,
    pub(super) room: Room,
}

impl Sifter<'_> {
    /// The checkpoint of the items and of the one before them.
    pub(super) fn sift(&self, previous: Option<&str>) -> Checkpoint {
        let mut before = Checkpoint::default();
        for told in self.told().chain(previous) {
            let sections = earlier::parse(told, self.room.chars * 2);
            before.absorb(sections);
        }
        let mut now = Checkpoint {
            goal: self.goal(&before.goal),
            constraints: self.marked_requests(&CONSTRAINT),
            done: self.done(),
            in_progress: self.in_progress(),
            blocked: self.blocked(),
            decisions: self.decisions(),
            next: next_steps(self.items, self.room),
            critical: self.critical(),
        };
        self.carry(before, &mut now);
        if now.next.is_empty() {
            now.next = self.obvious_next();
        }
        now
    }

    pub(super) fn asked(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| match item {
            Item::Asked(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub(super) fn said(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.items.iter().filter_map(|item| match item {
            Item::Said(text) => Some(text.as_str()),
            _ => None,
        })
    }

    fn told(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| match item {
            Item::Told(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub(super) fn deeds(&self) -> impl DoubleEndedIterator<Item = &Deed> {
        self.items.iter().filter_map(|item| match item {
            Item::Did(deed) => Some(deed),
            _ => None,
        })
    }

    /// The first and the latest request at length, those between in short.
    fn goal(&self, before: &[String]) -> Vec<String> {
        let long = self.room.chars * 2;
        let then = self.language.pick("Then", "이어서");
        let mut requests: Vec<String> =
            before.iter().map(|line| clip(without_label(line), long)).collect();
        let asked: Vec<&str> = self.asked().collect();
        let Some((latest, earlier)) = asked.split_last() else { return requests };
        let telling = earlier.iter().filter(|request| lexicon::says_something(request));
        requests.extend(telling.map(|request| clip(request, long)));
        let mut requests = requests.into_iter();
        let mut goal: Vec<String> = requests.next().into_iter().collect();
        for request in newest(requests.collect(), self.room.lines / 2) {
            goal.push(format!("{then}: {}", clip(&request, self.room.chars / 2)));
        }
        let name = self.language.pick("Latest request", "가장 최근 요청");
        let latest = clip(latest, long);
        goal.push(if goal.is_empty() { latest } else { format!("{name}: {latest}") });
        goal
    }

    fn marked_requests(&self, signs: &lexicon::Signs) -> Vec<String> {
        let marked = self
            .asked()
            .flat_map(sentences)
            .filter(|sentence| !sentence.ends_with(['?', '？']) && signs.mark(sentence))
            .filter(|sentence| !sentence.contains("let me "))
            .map(|sentence| clip(sentence, self.room.chars));
        newest(distinct(marked), self.room.lines)
    }

    fn decisions(&self) -> Vec<String> {
        let by_agent = self.said().flat_map(sentences);
        let marked = by_agent
            .filter(|sentence| !sentence.ends_with(['?', '？', ':']) && DECISION.mark(sentence))
            .filter(|sentence| lexicon::says_something(sentence))
            .map(|sentence| clip(sentence, self.room.chars));
        newest(distinct(marked), self.room.lines / 2)
    }

    /// Answers that closed a turn, files that were changed, checks that passed.
    fn done(&self) -> Vec<String> {
        let mut done = newest(self.answers(), self.room.lines / 2);
        done.extend(newest(self.changes(), self.room.lines));
        done.extend(newest(self.checks(), self.room.lines / 2));
        done
    }

    /// What the agent said last in each turn that it finished, beside the request.
    fn answers(&self) -> Vec<String> {
        let mut answers = Vec::new();
        let mut request: Option<&str> = None;
        let mut answer: Option<&str> = None;
        let next = [Item::Asked(String::new())];
        for item in self.items.iter().chain(&next) {
            match item {
                Item::Asked(text) => {
                    if let (Some(request), Some(answer)) = (request, answer.and_then(gist)) {
                        let request = clip(request, self.room.chars / 4);
                        answers.push(format!("“{request}” → {}", clip(answer, self.room.chars)));
                    }
                    (request, answer) = (Some(text.as_str()), None);
                }
                Item::Said(text) => answer = Some(text),
                Item::Did(_) => answer = None,
                Item::Told(_) => {}
            }
        }
        answers
    }

    fn changes(&self) -> Vec<String> {
        let mut files: Vec<(&str, usize, usize)> = Vec::new();
        for deed in self.deeds().filter(|deed| deed.changes_a_file()) {
            if !matches!(deed.outcome, Outcome::Worked(_)) {
                continue;
            }
            let at =
                files.iter().position(|(path, ..)| *path == deed.subject).unwrap_or_else(|| {
                    files.push((&deed.subject, 0, 0));
                    files.len() - 1
                });
            if deed.tool == "write" { files[at].1 += 1 } else { files[at].2 += 1 }
        }
        let (wrote, edited) = match self.language {
            Language::English => ("written", "edited"),
            Language::Korean => ("새로 씀", "고침"),
        };
        files
            .into_iter()
            .map(|(path, writes, edits)| {
                let parts = [(wrote, writes), (edited, edits)];
                let parts: Vec<_> =
                    parts.iter().filter(|(_, n)| *n > 0).map(|(word, n)| times(word, *n)).collect();
                format!("`{path}`: {}", parts.join(", "))
            })
            .collect()
    }

    /// The last run of each command that ended well.
    fn checks(&self) -> Vec<String> {
        let mut runs: Vec<(&str, &Outcome)> = Vec::new();
        for deed in self.deeds().filter(|d| d.is_command() && !lexicon::only_looks(&d.subject)) {
            runs.retain(|(command, _)| *command != deed.subject);
            runs.push((&deed.subject, &deed.outcome));
        }
        let ran = self.language.pick("ran without error", "오류 없이 실행됨");
        let mut lines = Vec::new();
        for (command, outcome) in runs {
            let Outcome::Worked(output) = outcome else { continue };
            let name = clip(first_line(command), self.room.chars / 2);
            if let Some(line) = ending(output) {
                lines.push(format!("`{name}`: {}", clip(line, self.room.chars / 2)));
            } else if lexicon::leaves_a_mark(command) {
                lines.push(format!("`{name}`: {ran}"));
            }
        }
        lines
    }

    /// Calls without a result, and a latest request that has no closing answer yet.
    fn in_progress(&self) -> Vec<String> {
        let mut open = Vec::new();
        let last_request = self.items.iter().rposition(|item| matches!(item, Item::Asked(_)));
        let answered = matches!(self.items.last(), Some(Item::Said(_)));
        if let Some(at) = last_request
            && !answered
            && let Item::Asked(request) = &self.items[at]
        {
            open.push(clip(request, self.room.chars));
            let since = &self.items[at + 1..];
            if let Some(Item::Said(said)) = since.iter().rfind(|item| matches!(item, Item::Said(_)))
            {
                let name = self.language.pick("Last said", "마지막 말");
                open.push(format!("{name}: {}", clip(said, self.room.chars)));
            }
        }
        let since = last_request.map_or(self.items, |at| &self.items[at..]);
        let waiting = since.iter().filter_map(|item| match item {
            Item::Did(deed) if deed.outcome == Outcome::Open => Some(deed),
            _ => None,
        });
        for deed in waiting {
            let no_result =
                self.language.pick("started, no result recorded", "시작했으나 결과 없음");
            open.push(format!(
                "`{} {}`: {no_result}",
                deed.tool,
                clip(&deed.subject, self.room.chars / 2)
            ));
        }
        newest(open, self.room.lines)
    }

    /// What has to come next, where nobody said so.
    fn obvious_next(&self) -> Vec<String> {
        if self.question().is_some() {
            return vec![
                self.language
                    .pick(
                        "Get the person's answer to the open question",
                        "열린 질문에 대한 사용자의 답 받기",
                    )
                    .to_owned(),
            ];
        }
        let unfinished = !matches!(self.items.last(), Some(Item::Said(_)) | None);
        let go_on =
            self.language.pick("Go on with the latest request", "가장 최근 요청을 계속 진행");
        if unfinished { vec![go_on.to_owned()] } else { Vec::new() }
    }

    /// Whether the turn that an earlier checkpoint stopped in came to its end here.
    fn turn_before_ended(&self) -> bool {
        let next = self.items.iter().position(|item| matches!(item, Item::Asked(_)));
        let end = next.unwrap_or(self.items.len());
        matches!(self.items[..end].last(), Some(Item::Said(_)))
    }

    /// Failures that nothing later made good, and what the person called off.
    fn blocked(&self) -> Vec<String> {
        let mut blocked: Vec<String> = Vec::new();
        for (deed, output) in self.failures(Resolved::No) {
            let line = telling_lines(output, self.room.chars);
            blocked.push(format!("`{}`: {line}", clip(&name_of(deed), self.room.chars / 2)));
        }
        let off =
            self.language.pick("Called off, not to be resumed", "취소됨, 다시 시작하지 말 것");
        let called = self.asked().flat_map(sentences).filter(|s| CALLED_OFF.mark(s));
        blocked
            .extend(called.map(|sentence| format!("{off}: {}", clip(sentence, self.room.chars))));
        newest(distinct(blocked.into_iter()), self.room.lines)
    }

    /// Failed deeds with their output, the last of each matter, made good later or not.
    pub(super) fn failures(&self, resolved: Resolved) -> Vec<(&Deed, &str)> {
        // For each matter where it was last tried, and where it last worked.
        let mut tries: HashMap<String, (usize, Option<usize>)> = HashMap::new();
        for (at, deed) in self.deeds().enumerate() {
            let worked = matches!(deed.outcome, Outcome::Worked(_));
            if worked || matches!(deed.outcome, Outcome::Failed(_)) {
                let (last, good) = tries.entry(matter(deed)).or_default();
                *last = at;
                *good = worked.then_some(at).or(*good);
            }
        }
        let mut failures: Vec<(&Deed, &str)> = Vec::new();
        for (at, deed) in self.deeds().enumerate() {
            let Outcome::Failed(output) = &deed.outcome else { continue };
            if deed.is_command() && lexicon::only_looks(&deed.subject) {
                continue;
            }
            let (last, good) = tries.get(&matter(deed)).copied().unwrap_or((at, None));
            let is_wanted = match resolved {
                Resolved::No => last == at,
                Resolved::Later => good.is_some_and(|good| good > at),
            };
            if is_wanted {
                failures.push((deed, output));
            }
        }
        failures
    }

    /// Brings what an earlier checkpoint said and still holds into the new one.
    fn carry(&self, mut before: Checkpoint, now: &mut Checkpoint) {
        let limit = self.room.lines;
        let mended: Vec<&str> = self
            .deeds()
            .filter(|deed| matches!(deed.outcome, Outcome::Worked(_)))
            .map(|deed| deed.subject.as_str())
            .collect();
        let speaks_of = |line: &String, subject: &str| {
            quoted(line).any(|name| name == subject || name.ends_with(&format!(" {subject}")))
        };
        let fresh = |line: &String| !mended.iter().any(|subject| speaks_of(line, subject));
        let keep = |old: Vec<String>, new: &mut Vec<String>, limit: usize| {
            let old: Vec<_> = old.into_iter().filter(|line| !new.contains(line)).collect();
            let mut both = newest(old, limit);
            both.append(new);
            *new = both;
        };
        keep(before.constraints, &mut now.constraints, limit);
        keep(before.done.into_iter().filter(fresh).collect(), &mut now.done, limit);
        if self.turn_before_ended() {
            before.in_progress.clear();
        }
        keep(
            before.in_progress.into_iter().filter(fresh).collect(),
            &mut now.in_progress,
            limit / 3,
        );
        keep(before.blocked.into_iter().filter(fresh).collect(), &mut now.blocked, limit / 2);
        keep(before.decisions, &mut now.decisions, limit);
        if now.next.is_empty() {
            now.next = before.next;
        }
        now.critical = merge_lists(before.critical, std::mem::take(&mut now.critical), limit);
    }
}

impl Checkpoint {
    fn absorb(&mut self, other: Self) {
        self.goal.extend(other.goal);
        self.constraints.extend(other.constraints);
        self.done.extend(other.done);
        self.in_progress.extend(other.in_progress);
        self.blocked.extend(other.blocked);
        self.decisions.extend(other.decisions);
        self.next.extend(other.next);
        self.critical.extend(other.critical);
    }
}

/// Which failures are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolved {
    /// Those that stand.
    No,
    /// Those that a later try made good.
    Later,
}

/// The first sentence that says something, unless the text asks.
fn gist(text: &str) -> Option<&str> {
    if text.trim_end().ends_with(['?', '？']) {
        return None;
    }
    let sentences = sentences(text);
    let is_filler = |sentence: &&str| !lexicon::says_something(sentence) || sentence.ends_with(':');
    sentences.iter().find(|sentence| !is_filler(sentence)).copied()
}

/// A call in few words: the command itself, else tool and subject.
pub(super) fn name_of(deed: &Deed) -> String {
    if deed.is_command() {
        first_line(&deed.subject).to_owned()
    } else {
        format!("{} {}", deed.tool, deed.subject)
    }
}

/// What a deed was about: two deeds of the same matter are two tries of it.
fn matter(deed: &Deed) -> String {
    if deed.is_command() {
        let words: Vec<&str> = deed.subject.split_whitespace().take(2).collect();
        format!("$ {}", words.join(" "))
    } else if deed.changes_a_file() {
        format!("change {}", deed.subject)
    } else {
        format!("{} {}", deed.tool, deed.subject)
    }
}

/// The lines of an output that say what went wrong.
pub(super) fn telling_lines(output: &str, chars: usize) -> String {
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors: Vec<_> = lines
        .clone()
        .filter(|line| {
            lexicon::is_error_line(line) && !line.trim_start_matches('[').starts_with("Command ")
        })
        .take(2)
        .collect();
    if errors.is_empty() {
        clip(lines.next_back().unwrap_or("failed"), chars)
    } else {
        clip(&errors.join(" / "), chars)
    }
}

/// The line that says how a run ended; one that counts something before one that counts nothing.
fn ending(output: &str) -> Option<&str> {
    let mut endings = output.lines().rev().filter(|line| lexicon::is_outcome_line(line));
    let empty = |line: &&str| line.contains(" 0 passed") || line.contains(" 0 tests");
    let last = endings.clone().next();
    endings.find(|line| !empty(line)).or(last)
}

/// The first line of a command; what follows is shown as a mark only.
pub(super) fn first_line(command: &str) -> &str {
    command.lines().next().unwrap_or_default()
}

/// A request without the words that an earlier checkpoint put before it.
fn without_label(line: &str) -> &str {
    ["Latest request: ", "가장 최근 요청: ", "Then: ", "이어서: "]
        .iter()
        .find_map(|label| line.strip_prefix(label))
        .unwrap_or(line)
}

fn times(word: &str, count: usize) -> String {
    if count > 1 { format!("{word} {count}×") } else { word.to_owned() }
}

fn distinct(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    lines.filter(|line| seen.insert(line.clone())).collect()
}

/// The last `limit` of a list, in order.
pub(super) fn newest<T>(mut list: Vec<T>, limit: usize) -> Vec<T> {
    let skip = list.len().saturating_sub(limit.max(1));
    list.drain(..skip);
    list
}
