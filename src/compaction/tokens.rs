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
        // Opening a session weighs all its text, so ASCII is counted by the block, and a character
        // is decoded only where its first byte does not tell.
        const BLOCK: usize = 32;
        let mut weight = 0;
        for (number, block) in text.as_bytes().chunks(BLOCK).enumerate() {
            if block.is_ascii() {
                weight += block.len() as u64;
                continue;
            }
            for (position, byte) in block.iter().enumerate() {
                weight += self.weight_of_first(*byte).unwrap_or_else(|| {
                    let rest = text.get(number * BLOCK + position..).unwrap_or_default();
                    rest.chars().next().map_or(0, |character| self.weight_of(character))
                });
            }
        }
        weight
    }

    /// What a character weighs that begins with this byte, where all such characters weigh the
    /// same; bytes inside a character weigh nothing.
    const fn weight_of_first(self, byte: u8) -> Option<u64> {
        match (byte, self) {
            (0x80..=0xbf, _) => Some(0),
            (0..=0x7f | 0xc0..=0xe0, _) | (0xe1..=0xef, Self::CharsPerFour) => Some(1),
            (0xf0.., Self::CharsPerFour) => Some(2),
            (0xe3..=0xe9 | 0xeb..=0xed, Self::ScriptAware) => Some(4),
            (0xe1.., Self::ScriptAware) => None,
        }
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
    fn s12_a_text_weighs_what_its_characters_weigh() {
        for estimator in [Estimator::CharsPerFour, Estimator::ScriptAware] {
            let all: String = ('\0'..=char::MAX).step_by(61).collect();
            for start in (0..40).filter(|start| all.is_char_boundary(*start)) {
                let text = &all[start..];
                let expect: u64 =
                    text.chars().map(|character| estimator.weight_of(character)).sum();
                assert_eq!(estimator.weight(text), expect);
            }
            for character in '\0'..=char::MAX {
                let mut buffer = [0; 4];
                let text = character.encode_utf8(&mut buffer);
                assert_eq!(estimator.weight(text), estimator.weight_of(character), "{character:?}");
            }
        }
    }

    #[test]
    fn s12_hangul_counts_a_token_a_character() {
        assert_eq!(Estimator::ScriptAware.text("안녕하세요"), 5);
        assert_eq!(Estimator::ScriptAware.text("hello wor"), 3);
        assert_eq!(Estimator::CharsPerFour.text("안녕하세요"), 2);
        assert_eq!(Estimator::CharsPerFour.text("😀😀😀"), 2);
    }
}
