//! What a program can ask, one JSON object a line. `assets/docs/rpc.md` is the reference; a test reads
//! its examples with these types.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::agent_session::command::{
    Delivery, Navigation, PermissionAnswer, SessionCommand, SummaryChoice, SwitchTo,
};
use crate::ids::EntryId;
use crate::message::Image;
use crate::nearest::nearest;
use crate::provider::ThinkingLevel;
use crate::session::tree::ModelRef;

/// A line as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Whatever the program named it by, for the response.
    pub id: Value,
    /// The name of the command as sent.
    pub name: String,
    /// What is asked.
    pub command: RpcCommand,
}

/// Why a line was not understood, with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// See [`Request::id`]; null when it could not be read.
    pub id: Value,
    /// See [`Request::name`].
    pub name: Option<String>,
    /// What is wrong, in a sentence.
    pub error: String,
}

/// What is asked. Words and fields are those of the JSON.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum RpcCommand {
    /// Say something; `/name` of a template is filled in.
    Prompt {
        /// The text.
        #[serde(default)]
        text: String,
        /// Pictures that go with it.
        #[serde(default)]
        images: Vec<Image>,
        /// When, if a turn is running.
        #[serde(default = "follow_up")]
        delivery: Delivery,
    },
    /// Stop what runs.
    Abort {},
    /// Take back what waits.
    TakeQueue {},
    /// Summarise old history.
    Compact {
        /// What to look at.
        instructions: Option<String>,
    },
    /// Say what a compaction would do.
    PlanCompaction {},
    /// Go back before the newest compaction.
    UndoCompaction {},
    /// Put pruned output back.
    Unprune {},
    /// Move in the tree.
    Navigate {
        /// Where to.
        target: EntryId,
        /// What becomes of the branch that is left.
        #[serde(default = "no_summary")]
        summary: SummaryChoice,
        /// A name for the target.
        label: Option<String>,
    },
    /// Name an entry; null takes the name away.
    Label {
        /// Which.
        target: EntryId,
        /// The name.
        label: Option<String>,
    },
    /// Name the session.
    Name {
        /// The name.
        name: String,
    },
    /// Run a command for the person.
    Shell {
        /// The command.
        command: String,
        /// Whether the model does not get to see it.
        #[serde(default)]
        excluded: bool,
    },
    /// Answer with another model.
    SetModel {
        /// Its provider.
        provider: String,
        /// Its id.
        model: String,
    },
    /// Think more or less.
    SetThinking {
        /// How much.
        level: ThinkingLevel,
    },
    /// Answer a question for permission.
    Permission {
        /// Its number.
        question: u64,
        /// The answer.
        answer: AnswerWord,
        /// With `no`: why, for the model.
        reason: Option<String>,
        /// With `edited`: what to run instead.
        command: Option<String>,
    },
    /// Say what fills the window.
    Context {},
    /// Go on in a fresh session.
    NewSession {},
    /// Go on in another one.
    OpenSession {
        /// Its file.
        path: PathBuf,
    },
    /// Go on in a new file with the path to an entry.
    Fork {
        /// Which; the leaf when absent.
        entry: Option<EntryId>,
    },
    /// Go on in a copy of the whole session.
    Clone {},
    /// End when all is done.
    Finish {},
    /// Stop everything and end.
    Quit {},

    /// What is open and what goes on.
    State {},
    /// All entries, a few words of each.
    Tree {},
    /// One entry.
    Entry {
        /// Which.
        entry: EntryId,
    },
    /// The entries from the root to a leaf.
    Path {
        /// Which leaf; the active one when absent.
        leaf: Option<EntryId>,
        /// Only so many, the last ones.
        last: Option<usize>,
    },
    /// All models.
    Models {},
    /// The sessions of all folders.
    Sessions {},
    /// The person's own prompts.
    Templates {},
    /// All settings.
    Settings {},
    /// Change one in the person's own file.
    SetSetting {
        /// Which, such as `compaction.enabled`.
        key: String,
        /// What to; null takes it out of the file.
        value: Value,
    },
    /// Read settings, templates, skills and instructions again.
    Reload {},
    /// Write the session for others.
    Export {
        /// `html`, `md` or `jsonl`.
        format: String,
        /// Where to; beside the session's folder when absent.
        path: Option<PathBuf>,
        /// Whether what looks like a key is blacked out.
        #[serde(default)]
        redact: bool,
    },
}

/// See [`RpcCommand::Permission`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerWord {
    /// This time.
    Once,
    /// This, and what the offered rule covers.
    Always,
    /// Something else instead.
    Edited,
    /// No.
    No,
}

const fn follow_up() -> Delivery {
    Delivery::FollowUp
}

const fn no_summary() -> SummaryChoice {
    SummaryChoice::None
}

/// Reads a line.
///
/// # Errors
/// It is no command that is known.
pub fn read(line: &[u8]) -> Result<Request, Refusal> {
    let refuse = |error: String| Refusal { id: Value::Null, name: None, error };
    let mut object: Map<String, Value> = serde_json::from_slice(line)
        .map_err(|error| refuse(format!("a line must be one JSON object: {error}")))?;
    let id = object.remove("id").unwrap_or_default();
    if !matches!(id, Value::Null | Value::String(_) | Value::Number(_)) {
        return Err(refuse("`id` must be a string or a number".to_owned()));
    }
    let refuse = |name: Option<String>, error: String| Refusal { id: id.clone(), name, error };
    let Some(name) = object.get("type").and_then(Value::as_str).map(ToOwned::to_owned) else {
        return Err(refuse(None, "`type` must be the name of a command".to_owned()));
    };
    if !NAMES.contains(&name.as_str()) {
        let near = nearest(&name, NAMES.iter().copied());
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let error = format!("there is no command `{name}`{near}");
        return Err(refuse(Some(name), error));
    }
    match serde_json::from_value(Value::Object(object)) {
        Ok(command) => Ok(Request { id, name, command }),
        Err(error) => Err(refuse(Some(name), error.to_string())),
    }
}

/// The names of all commands.
pub const NAMES: &[&str] = &[
    "prompt",
    "abort",
    "take_queue",
    "compact",
    "plan_compaction",
    "undo_compaction",
    "unprune",
    "navigate",
    "label",
    "name",
    "shell",
    "set_model",
    "set_thinking",
    "permission",
    "context",
    "new_session",
    "open_session",
    "fork",
    "clone",
    "finish",
    "quit",
    "state",
    "tree",
    "entry",
    "path",
    "models",
    "sessions",
    "templates",
    "settings",
    "set_setting",
    "reload",
    "export",
];

impl AnswerWord {
    /// The answer with what belongs to it.
    ///
    /// # Errors
    /// Something is missing, or does not belong to it.
    pub fn with(
        self,
        reason: Option<String>,
        command: Option<String>,
    ) -> Result<PermissionAnswer, String> {
        match (self, reason, command) {
            (Self::No, reason, None) => Ok(PermissionAnswer::No { reason }),
            (Self::Edited, None, Some(command)) => Ok(PermissionAnswer::Edited { command }),
            (Self::Once, None, None) => Ok(PermissionAnswer::Once),
            (Self::Always, None, None) => Ok(PermissionAnswer::Always),
            (Self::Edited, None, None) => Err("`edited` needs `command`".to_owned()),
            (_, Some(_), _) => Err("`reason` goes with `no` alone".to_owned()),
            (_, _, Some(_)) => Err("`command` goes with `edited` alone".to_owned()),
        }
    }
}

/// Who carries a command out.
#[derive(Debug, Clone, PartialEq)]
pub enum Addressee {
    /// The session; its events tell what comes of it.
    Session(SessionCommand),
    /// The mode itself; the response holds what was asked for.
    Mode(RpcCommand),
}

impl RpcCommand {
    /// Says who carries it out. Templates are not filled in here.
    ///
    /// # Errors
    /// Its fields contradict each other; in a sentence.
    pub fn address(self) -> Result<Addressee, String> {
        Ok(Addressee::Session(match self {
            Self::Prompt { text, images, delivery } => {
                SessionCommand::Prompt { text, images, delivery }
            }
            Self::Abort {} => SessionCommand::Abort,
            Self::TakeQueue {} => SessionCommand::TakeQueue,
            Self::Compact { instructions } => SessionCommand::Compact { instructions },
            Self::PlanCompaction {} => SessionCommand::PlanCompaction,
            Self::UndoCompaction {} => SessionCommand::UndoCompaction,
            Self::Unprune {} => SessionCommand::Unprune,
            Self::Navigate { target, summary, label } => {
                SessionCommand::Navigate(Navigation { target, summary, label })
            }
            Self::Label { target, label } => SessionCommand::Label { target, label },
            Self::Name { name } => SessionCommand::Name(name),
            Self::Shell { command, excluded } => SessionCommand::Shell { command, excluded },
            Self::SetModel { provider, model } => {
                SessionCommand::SetModel(ModelRef::new(provider, model))
            }
            Self::SetThinking { level } => SessionCommand::SetThinking(level),
            Self::Permission { question, answer, reason, command } => {
                SessionCommand::Permission { question, answer: answer.with(reason, command)? }
            }
            Self::Context {} => SessionCommand::ShowContext,
            Self::NewSession {} => SessionCommand::Switch(SwitchTo::New),
            Self::OpenSession { path } => SessionCommand::Switch(SwitchTo::Open(path)),
            Self::Fork { entry } => SessionCommand::Switch(SwitchTo::Fork(entry)),
            Self::Clone {} => SessionCommand::Switch(SwitchTo::Clone),
            Self::Finish {} => SessionCommand::Finish,
            Self::Quit {} => SessionCommand::Quit,
            own @ (Self::State {}
            | Self::Tree {}
            | Self::Entry { .. }
            | Self::Path { .. }
            | Self::Models {}
            | Self::Sessions {}
            | Self::Templates {}
            | Self::Settings {}
            | Self::SetSetting { .. }
            | Self::Reload {}
            | Self::Export { .. }) => return Ok(Addressee::Mode(own)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(line: &str) -> String {
        read(line.as_bytes()).unwrap_err().error
    }

    #[test]
    fn section_12_every_name_is_a_command_and_every_command_has_its_name() {
        let error = serde_json::from_value::<RpcCommand>(json!({"type": "?"})).unwrap_err();
        let known: Vec<_> = NAMES.iter().map(|name| format!("`{name}`")).collect();
        assert!(error.to_string().ends_with(&known.join(", ")), "{error}");
    }

    #[test]
    fn section_12_what_is_not_understood_is_said_with_the_id_it_came_with() {
        for (line, error) in [
            ("", "a line must be one JSON object: EOF while parsing a value at line 1 column 0"),
            ("{\"id\": [1], \"type\": \"abort\"}", "`id` must be a string or a number"),
            ("{\"id\": 1}", "`type` must be the name of a command"),
            ("{\"type\": \"promt\"}", "there is no command `promt`; did you mean `prompt`?"),
            ("{\"type\": \"name\"}", "missing field `name`"),
            ("{\"type\": \"abort\", \"now\": true}", "unknown field `now`, there are no fields"),
            (
                "{\"type\": \"set_thinking\", \"level\": \"much\"}",
                "unknown variant `much`, expected one of `off`, `minimal`, `low`, `medium`, `high`, \
                 `xhigh`",
            ),
        ] {
            assert_eq!(refused(line), error, "{line}");
        }
        let refusal = read(b"{\"id\": \"a7\", \"type\": \"label\"}").unwrap_err();
        assert_eq!((refusal.id, refusal.name.as_deref()), (json!("a7"), Some("label")));
    }

    #[test]
    fn a3_an_answer_takes_only_what_belongs_to_it() {
        let text = || Some("x".to_owned());
        assert!(AnswerWord::No.with(text(), None).is_ok());
        assert!(AnswerWord::Edited.with(None, text()).is_ok());
        for (word, reason, command) in [
            (AnswerWord::Once, text(), None),
            (AnswerWord::Always, None, text()),
            (AnswerWord::Edited, None, None),
            (AnswerWord::Edited, text(), text()),
            (AnswerWord::No, None, text()),
        ] {
            assert!(word.with(reason, command).is_err(), "{word:?}");
        }
    }
}
