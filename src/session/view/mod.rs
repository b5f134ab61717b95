//! From the messages of a path to the messages that a model is sent (SPEC X3, X4).
//!
//! Everything here is a view: it never writes, and running it twice changes nothing more.
//! [`convert_to_llm`] turns what only we know into user messages; [`repair`] makes the result valid
//! for one provider, whatever the file holds.

mod call_ids;
mod clean;
mod pairs;
mod repair;

use std::sync::Arc;

pub use call_ids::CallIdRule;
pub use clean::without_images;
pub use repair::{Target, repair};

use crate::message::{BashExecutionMessage, Content, Message, UserMessage};

const COMPACTION_SUMMARY: &str =
    include_str!("../../../prompts/compaction/compaction-summary-context.md");
const BRANCH_SUMMARY: &str = include_str!("../../../prompts/compaction/branch-summary-context.md");

/// Turns session messages into the roles that providers know: user, assistant, toolResult (X3).
///
/// Messages that no model sees (`!!` commands, unknown roles) are left out.
#[must_use]
pub fn convert_to_llm(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    messages.iter().filter_map(convert).collect()
}

fn convert(message: &Arc<Message>) -> Option<Arc<Message>> {
    let (content, timestamp) = match &**message {
        Message::User(_) | Message::Assistant(_) | Message::ToolResult(_) => {
            return Some(message.clone());
        }
        Message::CompactionSummary(summary) => {
            (Content::from_text(fill(COMPACTION_SUMMARY, &summary.summary)), summary.timestamp)
        }
        Message::BranchSummary(summary) => {
            (Content::from_text(fill(BRANCH_SUMMARY, &summary.summary)), summary.timestamp)
        }
        Message::Custom(custom) | Message::HookMessage(custom) => {
            (custom.content.clone(), custom.timestamp)
        }
        Message::BashExecution(run) if run.exclude_from_context != Some(true) => {
            (Content::from_text(bash_execution_text(run)), run.timestamp)
        }
        Message::BashExecution(_) | Message::FileMention(_) | Message::Other(_) => return None,
    };
    Some(Arc::new(Message::User(UserMessage { content, timestamp })))
}

/// Puts a summary into its template as it is: nothing in the summary is a placeholder.
fn fill(template: &str, summary: &str) -> String {
    let (before, after) = template.trim_end().split_once("{{summary}}").unwrap_or((template, ""));
    [before, summary, after].concat()
}

/// A command that the person ran, as the model reads it.
#[must_use]
pub fn bash_execution_text(run: &BashExecutionMessage) -> String {
    let mut text = format!("Ran `{}`\n", run.command);
    if run.output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str("```\n");
        text.push_str(&run.output);
        text.push_str("\n```");
    }
    if run.cancelled {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = run.exit_code.filter(|code| *code != 0) {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    match &run.full_output_path {
        Some(path) if run.truncated => {
            text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
        }
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(message: Value, expect: Option<&str>) {
        let message = Arc::new(serde_json::from_value(message).unwrap());
        let converted = convert_to_llm(&[message]);
        let text = converted.first().map(|message| match &**message {
            Message::User(user) => user.content.text(),
            other => panic!("{other:?}"),
        });
        assert_eq!(text.as_deref(), expect);
    }

    #[test]
    fn x3_what_only_we_know_becomes_a_user_message() {
        check(json!({"role": "custom", "customType": "t", "content": "c"}), Some("c"));
        check(json!({"role": "hookMessage", "customType": "t", "content": "h"}), Some("h"));
        check(json!({"role": "developer", "content": "d"}), None);
        check(json!({"role": "fileMention", "files": []}), None);
        let bash = |more: Value| {
            let mut run = json!({"role": "bashExecution", "command": "ls", "output": "a"});
            run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            run
        };
        check(bash(json!({"exitCode": 0})), Some("Ran `ls`\n```\na\n```"));
        check(
            bash(json!({"exitCode": 2})),
            Some("Ran `ls`\n```\na\n```\n\nCommand exited with code 2"),
        );
        check(
            bash(json!({"exitCode": 2, "cancelled": true, "output": ""})),
            Some("Ran `ls`\n(no output)\n\n(command cancelled)"),
        );
        check(bash(json!({"excludeFromContext": true})), None);
    }

    #[test]
    fn x3_a_summary_goes_into_its_template_untouched() {
        for (template, role) in
            [(COMPACTION_SUMMARY, "compactionSummary"), (BRANCH_SUMMARY, "branchSummary")]
        {
            let summary = "a {{summary}} b  \n";
            let (lead, _) = template.split_once("{{summary}}").unwrap();
            let expect = format!("{lead}{summary}\n</summary>");
            assert!(lead.ends_with("<summary>\n"));
            check(json!({"role": role, "summary": summary, "fromId": "x"}), Some(&expect));
        }
    }
}
