//! Which tool result answers which call, by position (X4, F19–F22, F26).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::message::Message;

/// A stretch of a request that is sent as it is.
pub(super) enum Group {
    /// A user message, or an answer without calls.
    Plain(Arc<Message>),
    /// An answer with calls.
    Calls {
        /// The answer.
        answer: Arc<Message>,
        /// Per call in order, its result where one was recorded.
        results: Vec<Option<Arc<Message>>>,
    },
}

/// Brings each result to its call, wherever it stands after it.
///
/// A result belongs to the newest answer before it that has a call with its id; where one answer
/// has several such calls, to the first that has no result yet. Results that find no call are left
/// out.
pub(super) fn group(messages: Vec<Arc<Message>>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::with_capacity(messages.len());
    let mut open: HashMap<String, VecDeque<(usize, usize)>> = HashMap::new();
    for message in messages {
        match &*message {
            Message::ToolResult(result) => {
                let slot = open.get_mut(&result.tool_call_id).and_then(VecDeque::pop_front);
                let Some((position, call)) = slot else { continue };
                if let Some(Group::Calls { results, .. }) = groups.get_mut(position) {
                    results[call] = Some(message);
                }
            }
            Message::Assistant(answer) if answer.tool_calls().next().is_some() => {
                let position = groups.len();
                let mut calls = 0;
                for call in answer.tool_calls() {
                    let slots = open.entry(call.id.clone()).or_default();
                    // An older answer's call of the same name can no longer be meant.
                    slots.retain(|(owner, _)| *owner == position);
                    slots.push_back((position, calls));
                    calls += 1;
                }
                groups.push(Group::Calls { answer: message, results: vec![None; calls] });
            }
            _ => groups.push(Group::Plain(message)),
        }
    }
    groups
}
