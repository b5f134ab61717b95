//! Whether an answer can serve as a summary (SPEC C19, I3). Pure.

use crate::compaction::extractive::reads_as_refusal;
use crate::message::StopReason;

/// What to do with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is a summary.
    Good(String),
    /// The output limit cut it off; this much is there.
    CutOff(String),
    /// There is no text. `ran_out`: the limit was used up without any (F13).
    Empty {
        /// Whether the output limit ended it.
        ran_out: bool,
    },
    /// The model declined.
    Refused(String),
}

/// Judges an answer. Reasoning and wrapping that some models write into the text are taken off.
pub(super) fn judge(text: &str, reason: StopReason) -> Verdict {
    let text = unwrapped(text);
    let ran_out = reason == StopReason::Length;
    if text.is_empty() {
        Verdict::Empty { ran_out }
    } else if ran_out {
        Verdict::CutOff(text.to_owned())
    } else if reads_as_refusal(text) {
        Verdict::Refused(text.to_owned())
    } else {
        Verdict::Good(text.to_owned())
    }
}

fn unwrapped(text: &str) -> &str {
    let mut text = text.trim();
    if let Some(thought) = text.strip_prefix("<think>") {
        text = thought.split_once("</think>").map_or("", |(_, rest)| rest).trim();
    }
    if let Some(inner) = text.strip_prefix("<summary>") {
        text = inner.strip_suffix("</summary>").unwrap_or(inner).trim();
    }
    if let Some(inner) = text.strip_prefix("```markdown\n").or(text.strip_prefix("```md\n"))
        && let Some(inner) = inner.strip_suffix("```")
    {
        text = inner.trim();
    }
    text
}

/// A text that was cut off and its continuation, without what the continuation repeats.
pub(super) fn join(text: &str, more: &str) -> String {
    let window: Vec<usize> = text.char_indices().map(|(at, _)| at).rev().take(400).collect();
    let overlap = window
        .iter()
        .rev()
        .map(|at| &text[*at..])
        .find(|tail| tail.chars().count() >= 8 && more.starts_with(tail))
        .map_or(0, str::len);
    let more = &more[overlap..];
    let begins_line = more.starts_with(['#', '-', '*']) && !text.ends_with('\n');
    let joint = if overlap == 0 && begins_line { "\n" } else { "" };
    format!("{text}{joint}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c19_only_whole_texts_are_summaries() {
        let stop = StopReason::Stop;
        assert_eq!(judge(" ## Goal\nx ", stop), Verdict::Good("## Goal\nx".into()));
        assert_eq!(judge("<think>a\n</think>\n\nx y", stop), Verdict::Good("x y".into()));
        assert_eq!(judge("```markdown\n## Goal\n```", stop), Verdict::Good("## Goal".into()));
        assert_eq!(judge("<think>forever", StopReason::Length), Verdict::Empty { ran_out: true });
        assert_eq!(judge("\n", stop), Verdict::Empty { ran_out: false });
        assert_eq!(judge("## Goal", StopReason::Length), Verdict::CutOff("## Goal".into()));
        assert!(matches!(judge("I'm sorry, I can't do that.", stop), Verdict::Refused(_)));
    }

    #[test]
    fn c19_a_continuation_follows_without_repetition() {
        assert_eq!(join("the parser fa", "ils on tabs"), "the parser fails on tabs");
        assert_eq!(
            join("## Goal\nfix the parser", "fix the parser today"),
            "## Goal\nfix the parser today"
        );
        assert_eq!(join("- one", "- two"), "- one\n- two");
        assert_eq!(join("설정 파일을 고쳤", "고 테스트했다"), "설정 파일을 고쳤고 테스트했다");
    }
}
