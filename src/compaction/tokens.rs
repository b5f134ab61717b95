//! Estimates of how many tokens a text takes (SPEC S12, C5).

use crate::message::{Block, Content, Message};

/// Tokens that an image is taken for.
const IMAGE_TOKENS: u64 = 1_200;

/// How tokens are estimated where no provider has counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// UTF-16 units over four, rounded up, and nothing for images in what a person says: what the
    /// systems compute that the format comes from.
    CharsPerFour,
    /// A quarter of a token for ASCII-like characters, one for Hangul, kana and Han.
    #[default]
    ScriptAware,
}

impl Estimator {
    /// Tokens of a text.
    #[must_use]
    pub fn text(self, text: &str) -> u32 {
        self.tokens(self.weight(text), 0)
    }

    /// Tokens of a content.
    #[must_use]
    pub fn content(self, content: &Content) -> u32 {
        match content {
            Content::Text(text) => self.text(text),
            Content::Blocks(blocks) => self.blocks(blocks),
        }
    }

    /// Tokens of a message; 0 for roles that no model sees.
    #[must_use]
    pub fn message(self, message: &Message) -> u32 {
        match message {
            Message::User(user) if self == Self::CharsPerFour => {
                self.tokens(self.weight_of_text(&user.content), 0)
            }
            Message::User(user) => self.content(&user.content),
            Message::Assistant(answer) => self.blocks(&answer.content),
            Message::ToolResult(result) => self.content(&result.content),
            Message::BashExecution(run) => {
                self.tokens(self.weight(&run.command) + self.weight(&run.output), 0)
            }
            Message::Custom(custom) | Message::HookMessage(custom) => self.content(&custom.content),
            Message::BranchSummary(summary) => self.text(&summary.summary),
            Message::CompactionSummary(summary) => self.text(&summary.summary),
            Message::FileMention(_) | Message::Other(_) => 0,
        }
    }

    fn blocks(self, blocks: &[Block]) -> u32 {
        let mut weight = 0;
        let mut images = 0;
        for block in blocks {
            match block {
                Block::Text { text, .. } => weight += self.weight(text),
                Block::Thinking { thinking, .. } => weight += self.weight(thinking),
                Block::ToolCall(call) => {
                    weight += self.weight(&call.name) + self.weight(&call.arguments.to_string());
                }
                Block::Image(_) => images += 1,
                Block::Other(_) => {}
            }
        }
        self.tokens(weight, images)
    }

    fn weight_of_text(self, content: &Content) -> u64 {
        match content {
            Content::Text(text) => self.weight(text),
            Content::Blocks(blocks) => {
                blocks.iter().filter_map(Block::as_text).map(|text| self.weight(text)).sum()
            }
        }
    }

    /// Quarters of a token that a text takes, for whoever adds up several texts.
    pub(crate) fn weight(self, text: &str) -> u64 {
        // Most text is ASCII with a few other characters in it, and opening a session weighs all of
        // it: ASCII is counted by the block.
        const BLOCK: usize = 32;
        let bytes = text.as_bytes();
        let (mut at, mut weight) = (0, 0);
        while at < bytes.len() {
            while bytes.get(at..at + BLOCK).is_some_and(<[u8]>::is_ascii) {
                at += BLOCK;
                weight += BLOCK as u64;
            }
            let end = (at + BLOCK).min(bytes.len());
            while at < end {
                if bytes[at].is_ascii() {
                    at += 1;
                    weight += 1;
                } else {
                    let Some(character) = text[at..].chars().next() else { return weight };
                    at += character.len_utf8();
                    weight += self.weight_of(character);
                }
            }
        }
        weight
    }

    /// Quarters of a token that a character takes.
    pub(crate) const fn weight_of(self, character: char) -> u64 {
        match self {
            Self::CharsPerFour => character.len_utf16() as u64,
            Self::ScriptAware if is_dense(character) => 4,
            Self::ScriptAware => 1,
        }
    }

    /// Tokens of texts that weigh so much together, and of so many images.
    pub(crate) fn tokens(self, weight: u64, images: u64) -> u32 {
        u32::try_from(weight.div_ceil(4) + images * IMAGE_TOKENS).unwrap_or(u32::MAX)
    }
}

/// How far estimates are off, measured on answers whose tokens a provider counted (S12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calibration {
    /// Tokens that were counted.
    pub reported: u64,
    /// Tokens that had been estimated for the same messages.
    pub estimated: u64,
}

impl Calibration {
    /// Below this many estimated tokens a ratio says more about chance than about the text.
    const LEAST: u64 = 500;
    /// Ratios beyond these are no properties of a text. Few tokens were counted where a provider does
    /// not get an answer's thinking back, and what follows must not be underestimated for that.
    const RANGE: (f64, f64) = (0.8, 4.0);

    /// Counted over estimated tokens; 1 while too little is known.
    #[must_use]
    pub fn ratio(self) -> f64 {
        if self.estimated < Self::LEAST || self.reported == 0 {
            return 1.0;
        }
        (self.reported as f64 / self.estimated as f64).clamp(Self::RANGE.0, Self::RANGE.1)
    }

    /// An estimate, corrected.
    #[must_use]
    pub fn apply(self, estimate: u64) -> u64 {
        (estimate as f64 * self.ratio()).round() as u64
    }
}

/// Scripts whose characters take about a token each.
const fn is_dense(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}'
        | '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s12_hangul_counts_a_token_a_character() {
        assert_eq!(Estimator::ScriptAware.text("안녕하세요"), 5);
        assert_eq!(Estimator::ScriptAware.text("hello wor"), 3);
        assert_eq!(Estimator::CharsPerFour.text("안녕하세요"), 2);
        assert_eq!(Estimator::CharsPerFour.text("😀😀😀"), 2);
    }
}
