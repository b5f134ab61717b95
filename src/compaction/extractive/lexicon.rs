//! The words by which the extractive summariser knows demands, decisions and steps to come, and the
//! words that it writes itself, in English and Korean.

/// The language that a checkpoint's own words are written in; headings stay English, as S3 has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Also for every language but Korean.
    English,
    /// When the person mostly writes Hangul.
    Korean,
}

impl Language {
    /// The language of most of the letters.
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let (mut hangul, mut latin) = (0_usize, 0_usize);
        for character in texts.flat_map(str::chars) {
            match character {
                '\u{ac00}'..='\u{d7a3}' => hangul += 1,
                'a'..='z' | 'A'..='Z' => latin += 1,
                _ => {}
            }
        }
        // A Hangul syllable says as much as two or three Latin letters.
        if hangul > 0 && hangul * 3 >= latin { Self::Korean } else { Self::English }
    }

    /// Chooses between two wordings.
    pub(super) const fn pick(self, english: &'static str, korean: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::Korean => korean,
        }
    }
}

/// Whole words (Latin) or parts of words (Hangul, kana) by which a sentence is known.
pub(super) struct Signs {
    latin: &'static [&'static str],
    other: &'static [&'static str],
}

impl Signs {
    pub(super) fn mark(&self, sentence: &str) -> bool {
        if self.other.iter().any(|sign| sentence.contains(sign)) {
            return true;
        }
        let padded = pad(sentence);
        self.latin.iter().any(|sign| padded.contains(&format!(" {sign} ")))
    }
}

/// Lower case, everything but letters, digits and apostrophes turned to single blanks.
fn pad(sentence: &str) -> String {
    let mut padded = String::from(" ");
    for character in sentence.chars() {
        if character.is_alphanumeric() || character == '\'' {
            padded.extend(character.to_lowercase());
        } else if character == '’' {
            padded.push('\'');
        } else if !padded.ends_with(' ') {
            padded.push(' ');
        }
    }
    padded.push(' ');
    padded
}

/// Demands and preferences.
pub(super) const CONSTRAINT: Signs = Signs {
    latin: &[
        "must",
        "never",
        "always",
        "only",
        "don't",
        "do not",
        "mustn't",
        "must not",
        "should",
        "shouldn't",
        "prefer",
        "preferably",
        "avoid",
        "without",
        "make sure",
        "at most",
        "at least",
        "required",
        "instead of",
        "rather than",
        "please keep",
        "keep the",
        "no longer than",
        "cannot",
        "can't",
        "not allowed",
        "needs to",
        "has to",
        "leave the",
        "don’t",
    ],
    other: &[
        "반드시",
        "절대",
        "항상",
        "꼭 ",
        "금지",
        "하지 마",
        "하지 말",
        "하지마",
        "하지말",
        "말고",
        "말아",
        "선호",
        "가급적",
        "되도록",
        "해야",
        "써야",
        "돼야",
        "되어야",
        "없이",
        "이하로",
        "이상으로",
        "만 써",
        "만 사용",
        "만 고",
        "만 수정",
        "만 바꾸",
        "건드리지",
        "유지",
        "必ず",
        "絶対",
        "しないで",
        "だけ",
        "してはいけ",
    ],
};

/// Decisions.
pub(super) const DECISION: Signs = Signs {
    latin: &[
        "decided",
        "decide",
        "decision",
        "we'll use",
        "i'll use",
        "let's use",
        "going with",
        "go with",
        "chose",
        "choose",
        "chosen",
        "rather than",
        "instead of",
        "switched to",
        "switch to",
        "opted",
        "settled on",
        "the reason is",
    ],
    other: &[
        "결정",
        "하기로",
        "쓰기로",
        "가기로",
        "두기로",
        "택했",
        "선택했",
        "선택하",
        "대신에",
        "대신 ",
        "바꾸기로",
        "ことにし",
        "決め",
    ],
};

/// Steps to come.
pub(super) const NEXT: Signs = Signs {
    latin: &[
        "next",
        "next step",
        "next steps",
        "todo",
        "to do",
        "remaining",
        "remains",
        "left to do",
        "still needs",
        "still need",
        "not yet",
        "follow up",
        "later",
        "i will",
        "i'll",
        "plan",
    ],
    other: &["다음", "남은", "앞으로", "이후", "할 일", "계획", "아직", "次に", "残り"],
};

/// Something is called off.
pub(super) const CALLED_OFF: Signs = Signs {
    latin: &[
        "never mind",
        "nevermind",
        "forget it",
        "forget about",
        "cancel",
        "cancel that",
        "cancelled",
        "drop that",
        "drop it",
        "skip that",
        "skip it",
        "revert that",
        "undo that",
        "stop that",
        "not needed anymore",
        "no longer needed",
        "leave that",
        "abandon",
    ],
    other: &[
        "그만두",
        "그만해",
        "취소",
        "됐어",
        "필요 없",
        "필요없",
        "안 해도",
        "되돌려",
        "관두",
        "접자",
        "포기",
    ],
};

/// A line that says what went wrong.
pub(super) fn is_error_line(line: &str) -> bool {
    let line = line.to_lowercase();
    [
        "error",
        "panicked",
        "fail",
        "exception",
        "traceback",
        "not found",
        "no such",
        "denied",
        "cannot",
        "can't",
        "undefined",
        "unresolved",
        "mismatch",
        "timed out",
        "timeout",
        "오류",
        "실패",
        "에러",
        "없습니다",
    ]
    .iter()
    .any(|sign| line.contains(sign))
}

/// A line that says how a check or a build ended.
pub(super) fn is_outcome_line(line: &str) -> bool {
    let line = line.to_lowercase();
    [
        "test result",
        "passed",
        "finished",
        "tests pass",
        " ok",
        "success",
        "built",
        "compiled",
        "통과",
        "성공",
    ]
    .iter()
    .any(|sign| line.contains(sign))
}

/// Commands that only look around: they are no achievement, and finding nothing is no failure.
pub(super) fn only_looks(command: &str) -> bool {
    let (first, second) = head(command);
    matches!(
        first,
        "ls" | "cat"
            | "head"
            | "tail"
            | "grep"
            | "rg"
            | "find"
            | "fd"
            | "pwd"
            | "echo"
            | "wc"
            | "which"
            | "tree"
            | "less"
            | "stat"
            | "file"
            | "du"
            | "df"
            | "env"
            | "date"
            | "cd"
            | "sed"
            | "awk"
            | "sleep"
            | "diff"
            | "ps"
            | "test"
            | "type"
            | "sort"
            | "printf"
            | "nl"
            | "jq"
    ) && !command.contains(" > ")
        && !(first == "sed" && command.contains(" -i"))
        || (first == "git"
            && matches!(second, "status" | "log" | "diff" | "show" | "branch" | "blame" | "grep"))
}

/// Commands that leave something changed, though they print nothing.
pub(super) fn leaves_a_mark(command: &str) -> bool {
    matches!(
        head(command).0,
        "mkdir"
            | "cp"
            | "mv"
            | "rm"
            | "git"
            | "npm"
            | "pnpm"
            | "yarn"
            | "cargo"
            | "pip"
            | "uv"
            | "make"
            | "docker"
            | "touch"
            | "ln"
            | "chmod"
            | "sed"
            | "cat"
            | "go"
            | "apt"
            | "brew"
    )
}

/// The first two words that matter: a leading `cd … &&` and variables are skipped.
fn head(command: &str) -> (&str, &str) {
    let command = match command.split_once("&&") {
        Some((first, rest)) if first.trim_start().starts_with("cd ") => rest,
        _ => command,
    };
    let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// Whether a request says what is wanted, and is not a nod or a command of the screen.
pub(super) fn says_something(request: &str) -> bool {
    let request = request.trim();
    if request.starts_with('/') && !request.contains(' ') {
        return false;
    }
    let weight: usize = request
        .chars()
        .map(|c| match c {
            '\u{1100}'..='\u{d7a3}' => 3,
            c if c.is_alphanumeric() => 1,
            _ => 0,
        })
        .sum();
    weight >= 15
}

/// An answer that is no summary but a refusal to write one.
pub(crate) fn reads_as_refusal(text: &str) -> bool {
    let text = text.trim();
    if text.chars().count() > 400 || text.contains('#') {
        return false;
    }
    let start = pad(text).replace("i am ", "i'm ");
    [
        " i'm sorry",
        " sorry",
        " i can't ",
        " i cannot ",
        " i'm unable",
        " i'm not able",
        " as an ai ",
    ]
    .iter()
    .any(|sign| start.starts_with(sign))
        || text.starts_with("죄송") && (text.contains("없습니다") || text.contains("어렵습니다"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_whole_words_in_latin_and_parts_in_hangul() {
        assert!(CONSTRAINT.mark("You must keep it."));
        assert!(CONSTRAINT.mark("Don’t touch main."));
        assert!(!CONSTRAINT.mark("The mustard is lonely."));
        assert!(CONSTRAINT.mark("main 브랜치는 절대 건드리지 마"));
        assert!(DECISION.mark("serde 대신 직접 쓰기로 했다"));
    }

    #[test]
    fn the_language_is_that_of_most_letters() {
        assert_eq!(
            Language::of(["retry 로직을 client.rs에 추가해 줘"].into_iter()),
            Language::Korean
        );
        assert_eq!(
            Language::of(["Rename 한글.md and fix the parser"].into_iter()),
            Language::English
        );
    }

    #[test]
    fn c19_a_refusal_is_known_and_a_report_of_one_is_not() {
        assert!(reads_as_refusal("I'm sorry, but I can't help with that."));
        assert!(reads_as_refusal("I am unable to summarise this conversation."));
        assert!(reads_as_refusal("죄송합니다. 요약할 수 없습니다."));
        assert!(!reads_as_refusal("## Goal\nI can't be lost"));
        assert!(!reads_as_refusal("The server said: I cannot connect."));
    }
}
