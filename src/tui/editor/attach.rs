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

impl Editor {
    /// Puts an image in at the caret.
    pub fn attach(&mut self, attachment: Attachment) {
        self.begin(Change::Other);
        if let Some(mark) = self.know(attachment) {
            self.insert_raw(mark.encode_utf8(&mut [0; 4]));
            self.insert_raw(" ");
        }
    }

    /// The images of the text, in its order.
    #[must_use]
    pub fn images(&self) -> Vec<Image> {
        let folded = self.state.text.chars().filter_map(|mark| self.folded(mark));
        folded
            .filter_map(|folded| match folded {
                Folded::Image(attachment) => Some(attachment.image.clone()),
                Folded::Text(_) => None,
            })
            .collect()
    }

    /// Remembers an image under a name of its own, and gives the character that stands for it.
    fn know(&mut self, mut attachment: Attachment) -> Option<char> {
        let mark = mark_of(self.folded.len())?;
        let name = clean(&attachment.name).replace(['\n', '\t', '[', ']'], " ");
        attachment.name.clone_from(&name);
        let mut number = 1;
        while self.labels().any(|(_, label)| label == attachment.label()) {
            number += 1;
            attachment.name = format!("{name} {number}");
        }
        self.folded.push(Folded::Image(attachment));
        Some(mark)
    }

    fn labels(&self) -> impl Iterator<Item = (char, String)> + '_ {
        self.folded.iter().enumerate().filter_map(|(number, folded)| match folded {
            Folded::Image(attachment) => Some((mark_of(number)?, attachment.label())),
            Folded::Text(_) => None,
        })
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
            .filter_map(|folded| match folded {
                Folded::Image(known) => Some((known.image.clone(), known.label())),
                Folded::Text(_) => None,
            })
            .collect();
        let mut before = String::new();
        for image in images {
            if known.iter().any(|(other, label)| *other == image && text.contains(label)) {
                continue;
            }
            let name = "from the queue".to_owned();
            if let Some(mark) = self.know(Attachment { name, image })
                && let Some(Folded::Image(attachment)) = self.folded(mark)
            {
                before.push_str(&attachment.label());
                before.push(' ');
            }
        }
        before + text
    }
}
