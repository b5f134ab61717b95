//! Tool-call ids in the alphabet of a provider, told apart where a file repeats them (X4).
//!
//! What an id becomes depends only on the ids before it, so the beginning of a request stays the
//! same from round to round and provider caches keep working.

use std::collections::HashSet;

/// What ids of tool calls a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIdRule {
    /// Any text.
    Any,
    /// ASCII letters, digits, `_` and `-`, at most this many of them.
    Word {
        /// Longest id.
        max: usize,
    },
    /// ASCII letters and digits, exactly this many of them.
    Exactly {
        /// Length of every id.
        len: usize,
    },
}

impl CallIdRule {
    fn accepts(self, id: &str) -> bool {
        match self {
            Self::Any => !id.is_empty(),
            Self::Word { max } => !id.is_empty() && id.len() <= max && id.bytes().all(is_word_byte),
            Self::Exactly { len } => {
                id.len() == len && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
        }
    }

    /// The id, changed as little as the rule demands; `attempt` counts up while it is taken.
    fn map(self, id: &str, attempt: usize) -> String {
        match self {
            Self::Any => {
                let id = if id.is_empty() { "call" } else { id };
                if attempt == 1 { id.to_owned() } else { format!("{id}-{attempt}") }
            }
            Self::Word { max } => {
                let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
                let room = max.saturating_sub(suffix.len());
                let word = |character: char| {
                    let fits = character.is_ascii() && is_word_byte(character as u8);
                    if fits { character } else { '_' }
                };
                let id = if id.is_empty() { "call" } else { id };
                id.chars().take(room).map(word).chain(suffix.chars()).collect()
            }
            Self::Exactly { len } => digest(id, attempt, len),
        }
    }
}

const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// A text of `len` letters and digits that depends on `id` and `attempt` alone.
fn digest(id: &str, attempt: usize, len: usize) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // FNV-1a: stable between versions, unlike the standard library's hasher.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in id.bytes().chain(attempt.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut text = String::with_capacity(len);
    for _ in 0..len {
        text.push(char::from(DIGITS[(hash % 36) as usize]));
        hash = (hash / 36) ^ hash.rotate_left(23);
    }
    text
}

/// Gives every call of a request an id of its own.
#[derive(Debug)]
pub(super) struct CallIds {
    rule: CallIdRule,
    used: HashSet<String>,
}

impl CallIds {
    pub(super) fn new(rule: CallIdRule) -> Self {
        Self { rule, used: HashSet::new() }
    }

    /// The id under which the next call is sent.
    pub(super) fn assign(&mut self, id: &str) -> String {
        let mut assigned = id.to_owned();
        let mut attempt = 1;
        if !self.rule.accepts(id) {
            assigned = self.rule.map(id, attempt);
        }
        while self.used.contains(&assigned) {
            attempt += 1;
            assigned = self.rule.map(id, attempt);
        }
        self.used.insert(assigned.clone());
        assigned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: CallIdRule, ids: &[&str], expect: &[&str]) {
        let mut assigner = CallIds::new(rule);
        let assigned: Vec<_> = ids.iter().map(|id| assigner.assign(id)).collect();
        assert_eq!(assigned, expect);
    }

    #[test]
    fn x4_ids_are_mapped_to_the_alphabet_and_told_apart() {
        check(CallIdRule::Any, &["a|b", "a|b", ""], &["a|b", "a|b-2", "call"]);
        check(
            CallIdRule::Word { max: 6 },
            &["call|fc", "call|fd", "ok", "ok", "ok-2"],
            &["call_f", "call-2", "ok", "ok-2", "ok-2-2"],
        );
        let mut nine = CallIds::new(CallIdRule::Exactly { len: 9 });
        let (one, other) = (nine.assign("toolu_1"), nine.assign("toolu_1"));
        assert_ne!(one, other);
        assert!(CallIdRule::Exactly { len: 9 }.accepts(&one), "{one}");
        assert_eq!(nine.assign("abcDEF123"), "abcDEF123");
    }
}
