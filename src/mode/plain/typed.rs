//! What a typed line means. Pure.

use crate::agent_session::command::{Delivery, PermissionAnswer, SessionCommand};
use crate::agent_session::event::PermissionQuestion;
use crate::agent_session::queue::Prompt;
use crate::prompt::template::Template;
use crate::slash::{self, Meaning, SlashAction};

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub enum Typed {
    /// Nothing that is worth a word.
    Nothing,
    /// Something to be done.
    Act(SlashAction),
    /// It cannot be; in a sentence.
    Wrong(String),
}

/// Reads what was typed while nothing is asked.
#[must_use]
pub fn read(text: &str, templates: &[Template]) -> Typed {
    let text = text.trim_end();
    if text.trim().is_empty() {
        return Typed::Nothing;
    }
    if slash::is_command(text) {
        return match slash::meaning(text, templates) {
            Ok(Meaning::Action(action)) => Typed::Act(action),
            Ok(Meaning::Prompt(text)) => Typed::Act(say(text)),
            Err(error) => Typed::Wrong(error.to_string()),
        };
    }
    if let Some(line) = text.strip_prefix('!') {
        let (line, excluded) = line.strip_prefix('!').map_or((line, false), |line| (line, true));
        let command = line.trim().to_owned();
        if !command.is_empty() {
            return Typed::Act(SlashAction::Send(SessionCommand::Shell { command, excluded }));
        }
    }
    Typed::Act(say(text.to_owned()))
}

fn say(text: String) -> SlashAction {
    SlashAction::Send(Prompt::text(text).into_command(Delivery::Steer))
}

/// Reads what was typed while a question waits.
///
/// # Errors
/// It is no answer; what is one.
pub fn answer(text: &str, question: &PermissionQuestion) -> Result<PermissionAnswer, String> {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim().to_owned();
    match (word.to_lowercase().as_str(), rest.is_empty()) {
        ("y" | "yes", true) => Ok(PermissionAnswer::Once),
        ("a" | "always", true) => Ok(PermissionAnswer::Always),
        ("n" | "no", nothing) => Ok(PermissionAnswer::No { reason: (!nothing).then_some(rest) }),
        ("e" | "edit", false) if question.editable => {
            Ok(PermissionAnswer::Edited { command: rest })
        }
        _ if question.editable => {
            Err("type y, a, n, n and why, or e and another command".to_owned())
        }
        _ => Err("type y, a, n, or n and why".to_owned()),
    }
}

/// Joins lines that belong together: one that ends in `\` goes on in the next.
#[derive(Debug, Default)]
pub struct Joining(String);

impl Joining {
    /// Takes a line; the whole text, once it is one.
    pub fn line(&mut self, line: &str) -> Option<String> {
        match line.strip_suffix('\\') {
            Some(begun) => {
                self.0.push_str(begun);
                self.0.push('\n');
                None
            }
            None => {
                self.0.push_str(line);
                Some(std::mem::take(&mut self.0))
            }
        }
    }

    /// Whether a line is awaited.
    #[must_use]
    pub const fn goes_on(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(editable: bool) -> PermissionQuestion {
        PermissionQuestion {
            question: 1,
            tool: "bash".into(),
            subject: "rm x".into(),
            marks: Vec::new(),
            diff: None,
            note: None,
            rule: "rm x".into(),
            editable,
        }
    }

    #[test]
    fn u2_lines_mean_what_they_mean_on_the_screen() {
        let shell = |command: &str, excluded| {
            Typed::Act(SlashAction::Send(SessionCommand::Shell {
                command: command.into(),
                excluded,
            }))
        };
        for (line, meaning) in [
            ("  ", Typed::Nothing),
            ("안녕 ", Typed::Act(say("안녕".into()))),
            ("!ls -l", shell("ls -l", false)),
            ("!!ls", shell("ls", true)),
            ("!", Typed::Act(say("!".into()))),
            (" /tree", Typed::Act(say(" /tree".into()))),
            ("/tree", Typed::Act(SlashAction::OpenTree(None))),
            (
                "/compact",
                Typed::Act(SlashAction::Send(SessionCommand::Compact { instructions: None })),
            ),
        ] {
            assert_eq!(read(line, &[]), meaning, "{line}");
        }
        let Typed::Wrong(why) = read("/tre", &[]) else { panic!("not wrong") };
        assert!(why.contains("/tree"), "{why}");
        let template = Template::parse("fix", "fix.md", "Fix $1.").unwrap();
        assert_eq!(read("/fix it", &[template]), Typed::Act(say("Fix it.".into())));
    }

    #[test]
    fn a3_only_a_clear_answer_is_one() {
        let no = |reason: &str| PermissionAnswer::No { reason: Some(reason.into()) };
        for (line, expected) in [
            ("y", PermissionAnswer::Once),
            (" YES ", PermissionAnswer::Once),
            ("a", PermissionAnswer::Always),
            ("n", PermissionAnswer::No { reason: None }),
            ("no not  here", no("not  here")),
            ("e ls -l", PermissionAnswer::Edited { command: "ls -l".into() }),
        ] {
            assert_eq!(answer(line, &question(true)), Ok(expected), "{line}");
        }
        for line in ["", "ok", "y now", "yeah", "a b", "e", "1", "/quit"] {
            assert!(answer(line, &question(true)).is_err(), "{line}");
        }
        assert!(answer("e ls", &question(false)).is_err());
    }

    #[test]
    fn u2_a_backslash_goes_on_in_the_next_line() {
        let mut joining = Joining::default();
        assert_eq!(joining.line("one\\"), None);
        assert!(joining.goes_on());
        assert_eq!(joining.line("two").as_deref(), Some("one\ntwo"));
        assert_eq!(joining.line("three").as_deref(), Some("three"));
    }
}
