//! A last resort in the view: when what is kept does not fit the window, tool results are shortened,
//! oldest first, rather than given up on (SPEC C14, F03). Pure; it never touches the file.

use std::sync::Arc;

use super::ends::{Ends, ends};
use super::tokens::Estimator;
use crate::message::{Block, Content, Message, ToolResultMessage};

/// What stays of a result at most, in characters: its beginning and its end.
const MOST_CHARS: usize = 1_200;
/// A result that is longer by no more than the note that would stand in it stays as it is.
const NOTE_CHARS: usize = 100;

/// Shortens tool results, oldest first, until the messages take at most `room` tokens or nothing is
/// left to shorten. Images in results go before text.
#[must_use]
pub fn shorten_to_fit(
    mut messages: Vec<Arc<Message>>,
    room: u64,
    estimator: Estimator,
) -> Vec<Arc<Message>> {
    let size = |message: &Message| u64::from(estimator.message(message));
    let mut total: u64 = messages.iter().map(|message| size(message)).sum();
    for message in &mut messages {
        if total <= room {
            break;
        }
        let Message::ToolResult(result) = message.as_ref() else { continue };
        let Some(shorter) = shorten(result) else { continue };
        let shorter = Message::ToolResult(shorter);
        total = total - size(message) + size(&shorter);
        *message = Arc::new(shorter);
    }
    messages
}

/// A result with the middle of its text and all images left out; `None` when that would not help.
fn shorten(result: &ToolResultMessage) -> Option<ToolResultMessage> {
    let text = result.content.text();
    let images = result.content.images().count();
    let characters = text.chars().count();
    let is_long = characters > MOST_CHARS + NOTE_CHARS;
    let mut shortened = match ends(&text, MOST_CHARS).filter(|_| is_long) {
        Some(Ends { head, tail }) => {
            let left_out = characters - head.chars().count() - tail.chars().count();
            format!("{head}\n[… {left_out} characters left out to fit the window …]\n{tail}")
        }
        None if images == 0 => return None,
        None => text,
    };
    if images > 0 {
        shortened.push_str("\n[image left out to fit the window]");
    }
    Some(ToolResultMessage {
        content: Content::Blocks(vec![Block::text(shortened)]),
        ..result.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::UserMessage;

    fn result(text: &str) -> Arc<Message> {
        Arc::new(Message::ToolResult(ToolResultMessage {
            content: Content::from_text(text),
            ..ToolResultMessage::default()
        }))
    }

    #[test]
    fn c14_oldest_results_are_shortened_first_and_only_as_many_as_needed() {
        let long = "가나다라".repeat(1_000);
        let user = Arc::new(Message::User(UserMessage {
            content: Content::from_text(long.clone()),
            timestamp: 0,
        }));
        let messages = vec![user.clone(), result(&long), result(&long)];
        let estimator = Estimator::ScriptAware;
        let fitted = shorten_to_fit(messages.clone(), 9_500, estimator);
        assert_eq!(fitted[0], user);
        assert!(estimator.message(&fitted[1]) < 1_300);
        assert_eq!(fitted[2], messages[2]);
        let tight = shorten_to_fit(messages.clone(), 100, estimator);
        assert!(estimator.message(&tight[2]) < 1_300, "everything that can be is shortened");
        assert_eq!(shorten_to_fit(messages.clone(), 12_000, estimator), messages);
    }
}
