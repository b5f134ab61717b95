//! From an entry of the session to the cells that show it.

use super::{Cell, NoticeCell, ShellCell, SummaryCell, ToolCell, UserCell, answer};
use crate::agent_session::event::NoticeLevel;
use crate::message::{AssistantMessage, Block, Message, StopReason, ToolResultMessage};
use crate::session::entry::{BranchSummaryEntry, CompactionEntry, EntryBody, SessionEntry};

/// What an entry adds to the transcript.
#[derive(Debug)]
pub enum Shown<'e> {
    /// Cells of its own.
    Cells(Vec<Cell>),
    /// The result of a call that is shown already.
    Result(&'e ToolResultMessage),
}

/// The cells of an entry. `after` is what a compaction left in context.
#[must_use]
pub fn cells_of(entry: &SessionEntry, after: Option<u64>) -> Shown<'_> {
    Shown::Cells(match &entry.body {
        EntryBody::Message { message } => match message {
            Message::ToolResult(result) => return Shown::Result(result),
            message => cells_of_message(message),
        },
        EntryBody::Compaction(compaction) => {
            vec![Cell::Summary(SummaryCell::compaction(compaction, after))]
        }
        EntryBody::BranchSummary(summary) => vec![Cell::Summary(SummaryCell::branch(summary))],
        EntryBody::CustomMessage { content, display: true, .. } => {
            vec![Cell::User(UserCell::from_content(content))]
        }
        EntryBody::ModelChange { provider, model_id } => {
            let text = format!("model: {provider}/{model_id}");
            vec![Cell::Notice(NoticeCell::new(NoticeLevel::Info, &text))]
        }
        _ => Vec::new(),
    })
}

fn cells_of_message(message: &Message) -> Vec<Cell> {
    match message {
        Message::User(user) => vec![Cell::User(UserCell::new(user))],
        Message::Assistant(answer) => cells_of_answer(answer),
        Message::BashExecution(run) => vec![Cell::Shell(ShellCell::new(run))],
        Message::Custom(custom) | Message::HookMessage(custom) if custom.display => {
            vec![Cell::User(UserCell::from_content(&custom.content))]
        }
        Message::BranchSummary(summary) => {
            vec![Cell::Summary(SummaryCell::branch(&BranchSummaryEntry {
                from_id: summary.from_id.clone(),
                summary: summary.summary.clone(),
                details: None,
                from_extension: None,
            }))]
        }
        Message::CompactionSummary(summary) => {
            let entry = CompactionEntry {
                summary: summary.summary.clone(),
                short_summary: summary.short_summary.clone(),
                first_kept_entry_id: "".into(),
                tokens_before: summary.tokens_before,
                details: None,
                preserve_data: None,
                from_extension: None,
            };
            vec![Cell::Summary(SummaryCell::compaction(&entry, None))]
        }
        _ => Vec::new(),
    }
}

fn cells_of_answer(message: &AssistantMessage) -> Vec<Cell> {
    let mut cells: Vec<Cell> = message.content.iter().filter_map(cell_of_block).collect();
    let notice = |level, text: &str| Cell::Notice(NoticeCell::new(level, text));
    match message.stop_reason {
        StopReason::Error => {
            let words = message.error_message.as_deref().unwrap_or("the request failed");
            cells.push(notice(NoticeLevel::Error, words));
        }
        StopReason::Aborted => cells.push(notice(NoticeLevel::Info, "stopped")),
        StopReason::Length => {
            let words = "the answer was cut off by the output limit; ask to go on";
            cells.push(notice(NoticeLevel::Warning, words));
        }
        StopReason::Stop | StopReason::ToolUse | StopReason::Unknown => {}
    }
    cells
}

fn cell_of_block(block: &Block) -> Option<Cell> {
    match block {
        Block::Text { text, .. } if !text.trim().is_empty() => Some(Cell::Answer(answer(text))),
        Block::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
            Some(Cell::Thinking(answer(thinking)))
        }
        Block::ToolCall(call) => Some(Cell::Tool(Box::new(ToolCell::new(call)))),
        _ => None,
    }
}
