//! Messages that wait for their turn (SPEC U3, F89). Pure.

use std::collections::VecDeque;

use super::command::{Delivery, SessionCommand};
use crate::message::{Block, Content, Image, UserMessage};

/// What a person said, not yet part of the conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// Pictures that go with it.
    pub images: Vec<Image>,
}

impl Prompt {
    /// A prompt of text alone.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }

    /// What a shell sends to have it said.
    #[must_use]
    pub fn into_command(self, delivery: Delivery) -> SessionCommand {
        let Self { text, images } = self;
        SessionCommand::Prompt { text, images, delivery }
    }

    /// The message that it becomes.
    #[must_use]
    pub fn into_message(self, timestamp: i64) -> UserMessage {
        let mut blocks = Vec::new();
        if !self.text.is_empty() {
            blocks.push(Block::text(self.text));
        }
        blocks.extend(self.images.into_iter().map(Block::Image));
        UserMessage { content: Content::Blocks(blocks), timestamp }
    }
}

/// A prompt on its way into the conversation, with what hooks have added to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Saying {
    /// What the person said.
    pub(super) prompt: Prompt,
    /// Texts for the model, in order.
    pub(super) added: Vec<String>,
}

impl From<Prompt> for Saying {
    fn from(prompt: Prompt) -> Self {
        Self { prompt, added: Vec::new() }
    }
}

/// Two lines of waiting prompts: those that steer the running turn and those for afterwards.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    steering: VecDeque<Prompt>,
    follow_up: VecDeque<Prompt>,
}

impl Queue {
    /// Puts a prompt at the end of its line.
    pub fn push(&mut self, prompt: Prompt, delivery: Delivery) {
        match delivery {
            Delivery::Steer => self.steering.push_back(prompt),
            Delivery::FollowUp => self.follow_up.push_back(prompt),
        }
    }

    /// Whether somebody wants to steer.
    #[must_use]
    pub fn has_steering(&self) -> bool {
        !self.steering.is_empty()
    }

    /// Whether anything waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    /// Takes all that steers: the model reads them together.
    pub fn take_steering(&mut self) -> Vec<Prompt> {
        self.steering.drain(..).collect()
    }

    /// Takes what comes next when a turn is over: all that steers, else one follow-up.
    pub fn take_next(&mut self) -> Vec<Prompt> {
        if self.has_steering() {
            self.take_steering()
        } else {
            self.follow_up.pop_front().into_iter().collect()
        }
    }

    /// Takes everything back, in the order in which it would have been said.
    pub fn take_all(&mut self) -> Vec<Prompt> {
        self.steering.drain(..).chain(self.follow_up.drain(..)).collect()
    }

    /// The waiting texts: steering, follow-up.
    #[must_use]
    pub fn texts(&self) -> (Vec<String>, Vec<String>) {
        let texts =
            |line: &VecDeque<Prompt>| line.iter().map(|prompt| prompt.text.clone()).collect();
        (texts(&self.steering), texts(&self.follow_up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f89_steering_goes_together_and_follow_ups_one_by_one() {
        let mut queue = Queue::default();
        queue.push(Prompt::text("later 1"), Delivery::FollowUp);
        queue.push(Prompt::text("now 1"), Delivery::Steer);
        queue.push(Prompt::text("later 2"), Delivery::FollowUp);
        queue.push(Prompt::text("now 2"), Delivery::Steer);
        let texts = |prompts: Vec<Prompt>| {
            prompts.into_iter().map(|prompt| prompt.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(queue.clone().take_all()), ["now 1", "now 2", "later 1", "later 2"]);
        assert_eq!(texts(queue.take_next()), ["now 1", "now 2"]);
        assert_eq!(texts(queue.take_next()), ["later 1"]);
        assert_eq!(texts(queue.take_next()), ["later 2"]);
        assert!(queue.is_empty());
    }
}
