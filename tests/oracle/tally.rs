//! Counts what was compared, what was left out and why, and what differs.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

/// One comparison of many figures.
pub(crate) struct Tally {
    kind: &'static str,
    compared: usize,
    excepted: BTreeMap<&'static str, usize>,
    differing: Vec<String>,
}

impl Tally {
    pub(crate) fn new(kind: &'static str) -> Self {
        Self { kind, compared: 0, excepted: BTreeMap::new(), differing: Vec::new() }
    }

    /// Compares one figure.
    pub(crate) fn compare<T: PartialEq + Debug>(
        &mut self,
        place: impl Display,
        ours: T,
        theirs: T,
    ) {
        self.compared += 1;
        if ours != theirs {
            self.differing.push(format!("{place}: ours {ours:?}, theirs {theirs:?}"));
        }
    }

    /// Leaves a figure out; `why` names the row or the requirement by which it differs.
    pub(crate) fn except(&mut self, why: &'static str) {
        *self.excepted.entry(why).or_default() += 1;
    }

    /// Prints the counts, and fails if anything differs or less than `least` was compared.
    pub(crate) fn finish(self, least: usize) {
        println!("{}: {} compared", self.kind, self.compared);
        for (why, count) in &self.excepted {
            println!("    {count} differ on purpose: {why}");
        }
        let shown = self.differing.iter().take(40).map(String::as_str).collect::<Vec<_>>();
        assert!(
            self.differing.is_empty(),
            "{}: {} of {} differ\n{}",
            self.kind,
            self.differing.len(),
            self.compared,
            shown.join("\n")
        );
        assert!(self.compared >= least, "{}: only {} compared", self.kind, self.compared);
    }
}
