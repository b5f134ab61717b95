//! One message at a time, without what a provider would reject (X4, F65–F68): empty text, foreign
//! thinking and signatures, unusable images, arguments that are no object.
//!
//! A message that needs nothing is passed on as it is, not copied.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::repair::Target;
use crate::message::{
    AssistantMessage, Block, Content, Message, ToolCall, ToolResultMessage, UserMessage,
};

/// What stands where an image cannot be sent.
const IMAGE_PLACEHOLDER: &str = "[image left out]";

/// What an empty tool result is sent as (X4).
const NO_OUTPUT: &str = "(no output)";

/// The message as `target` takes it; `None` when nothing of it can be sent.
pub(super) fn clean(message: Arc<Message>, target: &Target) -> Option<Arc<Message>> {
    match &*message {
        Message::User(user) => {
            let images = target.images;
            if content_is_clean(&user.content, images) {
                return Some(message);
            }
            let content = clean_content(&user.content, images)?;
            Some(Arc::new(Message::User(UserMessage { content, ..user.clone() })))
        }
        Message::ToolResult(result) => {
            // A failed call's result may hold nothing but text.
            let images = target.images && !result.is_error;
            if content_is_clean(&result.content, images) {
                return Some(message);
            }
            let content = clean_content(&result.content, images)
                .unwrap_or_else(|| Content::from_text(NO_OUTPUT));
            Some(Arc::new(Message::ToolResult(ToolResultMessage { content, ..result.clone() })))
        }
        Message::Assistant(answer) => {
            let origin = Origin::of(answer, target);
            if answer.content.iter().all(|block| origin.passes(block)) {
                return is_usable(&answer.content).then_some(message);
            }
            let content: Vec<_> =
                answer.content.iter().filter_map(|block| origin.clean(block)).collect();
            is_usable(&content).then(|| {
                Arc::new(Message::Assistant(AssistantMessage { content, ..answer.clone() }))
            })
        }
        // Only the three roles that `convert_to_llm` lets through can be sent.
        _ => None,
    }
}

/// The message with a placeholder for each image that it holds (F68).
#[must_use]
pub fn without_images(message: &Arc<Message>) -> Arc<Message> {
    let replaced = |content: &Content| {
        content.images().next()?;
        let Content::Blocks(blocks) = content else { return None };
        let replace = |block: &Block| match block {
            Block::Image(_) => Block::text(IMAGE_PLACEHOLDER),
            block => block.clone(),
        };
        Some(Content::Blocks(blocks.iter().map(replace).collect()))
    };
    let changed = match &**message {
        Message::User(user) => replaced(&user.content)
            .map(|content| Message::User(UserMessage { content, ..user.clone() })),
        Message::ToolResult(result) => replaced(&result.content)
            .map(|content| Message::ToolResult(ToolResultMessage { content, ..result.clone() })),
        _ => None,
    };
    changed.map_or_else(|| message.clone(), Arc::new)
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Whether an answer says or wants anything; thinking alone cannot end a message.
fn is_usable(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Text { .. } | Block::ToolCall(_)))
}

fn content_is_clean(content: &Content, images: bool) -> bool {
    match content {
        Content::Text(text) => !is_blank(text),
        Content::Blocks(blocks) => {
            !blocks.is_empty() && blocks.iter().all(|block| input_is_clean(block, images))
        }
    }
}

fn input_is_clean(block: &Block, images: bool) -> bool {
    match block {
        Block::Text { text, text_signature } => !is_blank(text) && text_signature.is_none(),
        Block::Image(image) => {
            let known =
                ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&&*image.mime_type);
            images && known && !image.data.is_empty()
        }
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Other(_) => false,
    }
}

fn clean_content(content: &Content, images: bool) -> Option<Content> {
    let Content::Blocks(blocks) = content else { return None };
    let blocks: Vec<_> = blocks
        .iter()
        .filter_map(|block| match block {
            block if input_is_clean(block, images) => Some(block.clone()),
            Block::Text { text, .. } if !is_blank(text) => Some(Block::text(text)),
            Block::Image(_) => Some(Block::text(IMAGE_PLACEHOLDER)),
            _ => None,
        })
        .collect();
    (!blocks.is_empty()).then_some(Content::Blocks(blocks))
}

/// Whether an answer goes back to the model that made it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It does; its signatures are good there.
    Own {
        /// Thinking without a signature is rejected.
        thinking_needs_signature: bool,
    },
    /// Another provider, model or protocol made it.
    Foreign,
}

impl Origin {
    fn of(answer: &AssistantMessage, target: &Target) -> Self {
        if target.made(answer) {
            // Compatible servers take reasoning as plain text, all others sign it.
            Self::Own { thinking_needs_signature: target.api != "openai-completions" }
        } else {
            Self::Foreign
        }
    }

    fn passes(self, block: &Block) -> bool {
        match block {
            Block::Text { text, text_signature } => {
                !is_blank(text) && (text_signature.is_none() || self != Self::Foreign)
            }
            Block::Thinking { thinking, thinking_signature, .. } => match self {
                Self::Foreign => false,
                Self::Own { thinking_needs_signature } => {
                    let signed = thinking_signature.as_deref().is_some_and(|text| !text.is_empty());
                    signed || (!thinking_needs_signature && !is_blank(thinking))
                }
            },
            Block::ToolCall(call) => {
                call.arguments.is_object()
                    && (call.thought_signature.is_none() || self != Self::Foreign)
            }
            Block::Image(_) | Block::Other(_) => false,
        }
    }

    fn clean(self, block: &Block) -> Option<Block> {
        match block {
            block if self.passes(block) => Some(block.clone()),
            Block::Text { text, .. } if !is_blank(text) => Some(Block::text(text)),
            Block::ToolCall(call) => {
                let signature = call.thought_signature.clone();
                Some(Block::ToolCall(ToolCall {
                    arguments: arguments_object(&call.arguments),
                    thought_signature: signature.filter(|_| self != Self::Foreign),
                    ..call.clone()
                }))
            }
            _ => None,
        }
    }
}

/// Arguments as the object that every protocol demands.
fn arguments_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if is_blank(text) => Value::Object(Map::new()),
        other => json!({ "unparsed": other }),
    }
}
