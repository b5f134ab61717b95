//! Images that go with the text. Each stands in the buffer as one character; in the text that is sent
//! and remembered, by its label.

use super::{Change, Editor, Folded, clean, mark_of};
use crate::message::Image;

/// An image and what it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    /// The file's name, or a word for one that has no file.
    pub name: String,
    /// The image.
    pub image: Image,
}

impl Attachment {
    /// `[image login.png]`
    pub(super) fn label(&self) -> String {
        format!("[image {}]", self.name)
    }
}

/// What became of something that was pasted and had to be read first.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrived {
    /// Images.
    Images(Vec<Attachment>),
    /// No images: the text itself.
    Text(String),
}

impl Editor {
    /// Holds a place at the caret for what is being read. Gives the number of the place.
    pub fn hold(&mut self) -> Option<usize> {
        let number = self.folded.len();
        let mark = mark_of(number)?;
        self.begin(Change::Other);
        self.folded.push(Folded::Awaited);
        self.insert_raw(mark.encode_utf8(&mut [0; 4]));
        Some(number)
    }

    /// Whether the text has places that are still empty.
    #[must_use]
    pub fn awaits(&self) -> bool {
        let mut marks = self.state.text.chars();
        marks.any(|mark| matches!(self.folded(mark), Some(Folded::Awaited)))
    }

    /// Fills a place. What was deleted or undone meanwhile stays gone.
    pub fn fill(&mut self, number: usize, arrived: Arrived) {
        let Some(mark) = mark_of(number).filter(|_| number < self.folded.len()) else { return };
        let text = match arrived {
            Arrived::Text(text) => {
                let text = clean(&text);
                self.folded[number] = Folded::Text(text.clone());
                text
            }
            Arrived::Images(images) => {
                let mut text = String::new();
                for (index, attachment) in images.into_iter().enumerate() {
                    let attachment = self.named(attachment);
                    let place = if index == 0 { number } else { self.folded.len() };
                    let Some(mark) = mark_of(place) else { break };
                    if index == 0 {
                        self.folded[number] = Folded::Image(attachment);
                    } else {
                        self.folded.push(Folded::Image(attachment));
                    }
                    text.extend([mark, ' ']);
                }
                text
            }
        };
        let Some(at) = self.state.text.find(mark) else { return };
        let end = at + mark.len_utf8();
        self.state.text.replace_range(at..end, &text);
        if self.state.caret >= end {
            self.state.caret = self.state.caret - (end - at) + text.len();
        }
    }

    /// The images of the text, in its order.
    #[must_use]
    pub fn images(&self) -> Vec<Image> {
        let folded = self.state.text.chars().filter_map(|mark| self.folded(mark)?.image());
        folded.map(|attachment| attachment.image.clone()).collect()
    }

    /// Remembers an image under a name of its own, and gives the character that stands for it.
    fn know(&mut self, attachment: Attachment) -> Option<char> {
        let mark = mark_of(self.folded.len())?;
        let attachment = self.named(attachment);
        self.folded.push(Folded::Image(attachment));
        Some(mark)
    }

    /// The image under a name that no other one here has.
    fn named(&self, mut attachment: Attachment) -> Attachment {
        let name = clean(&attachment.name).replace(['\n', '\t', '[', ']'], " ");
        attachment.name.clone_from(&name);
        let mut number = 1;
        while self.labels().any(|(_, label)| label == attachment.label()) {
            number += 1;
            attachment.name = format!("{name} {number}");
        }
        attachment
    }

    fn labels(&self) -> impl Iterator<Item = (char, String)> + '_ {
        let folded = self.folded.iter().enumerate();
        folded.filter_map(|(number, folded)| Some((mark_of(number)?, folded.image()?.label())))
    }

    /// A text with its images in the places of their labels; `None` when it has none.
    pub(super) fn with_images(&self, text: &str) -> Option<String> {
        let mut whole = clean(text);
        let mut any = false;
        for (mark, label) in self.labels() {
            // One image, one place: a label that is only quoted stays a text.
            if let Some(at) = whole.find(&label) {
                whole.replace_range(at..at + label.len(), mark.encode_utf8(&mut [0; 4]));
                any = true;
            }
        }
        any.then_some(whole)
    }

    /// Takes images back that were sent with a text. Those that it does not name stand before it.
    pub(super) fn know_images(&mut self, text: &str, images: Vec<Image>) -> String {
        let known: Vec<(Image, String)> = self
            .folded
            .iter()
            .filter_map(|folded| folded.image().map(|known| (known.image.clone(), known.label())))
            .collect();
        let mut before = String::new();
        for image in images {
            if known.iter().any(|(other, label)| *other == image && text.contains(label)) {
                continue;
            }
            let name = "from the queue".to_owned();
            if let Some(mark) = self.know(Attachment { name, image })
                && let Some(attachment) = self.folded(mark).and_then(Folded::image)
            {
                before.push_str(&attachment.label());
                before.push(' ');
            }
        }
        before + text
    }
}
