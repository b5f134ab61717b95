//! What was sent before, and walking through it (U2).

/// Texts that were sent, oldest first, and where the person is among them.
#[derive(Debug, Default)]
pub struct History {
    sent: Vec<String>,
    /// The text shown now, and what was being written before.
    at: Option<(usize, String)>,
}

impl History {
    /// Starts with what was sent in earlier sessions.
    #[must_use]
    pub const fn new(sent: Vec<String>) -> Self {
        Self { sent, at: None }
    }

    pub(super) fn push(&mut self, text: String) {
        self.at = None;
        if !text.trim().is_empty() && self.sent.last() != Some(&text) {
            self.sent.push(text);
        }
    }

    /// Stops walking.
    pub(super) fn leave(&mut self) {
        self.at = None;
    }

    /// A step back; `written` is what stands in the editor.
    pub(super) fn older(&mut self, written: &str) -> Option<String> {
        let (place, draft) = match self.at.take() {
            // What was changed after it was recalled is a draft of its own.
            Some((place, draft)) if self.sent.get(place).is_some_and(|sent| sent == written) => {
                (place, draft)
            }
            _ => (self.sent.len(), written.to_owned()),
        };
        let Some(place) = place.checked_sub(1) else {
            self.at = Some((place, draft));
            return None;
        };
        self.at = Some((place, draft));
        self.sent.get(place).cloned()
    }

    /// A step towards now; after the newest text comes the draft.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (place, draft) = self.at.take()?;
        match self.sent.get(place + 1) {
            Some(text) => {
                self.at = Some((place + 1, draft));
                Some(text.clone())
            }
            None => Some(draft),
        }
    }

    pub(super) fn search<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = &'a str> {
        let needle = needle.to_lowercase();
        self.sent
            .iter()
            .rev()
            .filter(move |text| text.to_lowercase().contains(&needle))
            .map(String::as_str)
    }
}
