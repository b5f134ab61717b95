//! How full the window is and what the branch has cost (SPEC S9, I11).

use super::AgentSession;
use super::event::{Gauge, SessionEvent};
use crate::compaction::trigger::compacts_at;
use crate::message::{Message, Usage};
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::tree::NodeKind;

/// Tokens and cost of the branch, summaries included. Counted once per entry as it is appended, and
/// anew when the leaf moves.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    input: u64,
    output: u64,
    cost: f64,
}

impl Totals {
    fn add(&mut self, usage: &Usage) {
        self.input += usage.prompt_tokens();
        self.output += usage.output;
        self.cost += usage.cost.total;
    }
}

/// What an entry's request used, if it took one.
fn usage_of(body: &EntryBody) -> Option<Usage> {
    let details = match body {
        EntryBody::Message { message: Message::Assistant(answer) } => return Some(answer.usage),
        EntryBody::Compaction(compaction) => compaction.details.as_ref(),
        EntryBody::BranchSummary(summary) => summary.details.as_ref(),
        _ => None,
    };
    serde_json::from_value(details?.get("usage")?.clone()).ok()
}

impl AgentSession {
    /// Counts an entry that was appended.
    pub(super) fn count(&mut self, entry: &SessionEntry) {
        if let Some(usage) = usage_of(&entry.body) {
            self.totals.add(&usage);
        }
    }

    /// Counts the path anew. Answers are counted from the tree; of summaries, which are few, the
    /// bodies are read.
    pub(super) fn recount(&mut self) {
        let reader = self.reader();
        let mut totals = Totals::default();
        let mut summaries = Vec::new();
        {
            let tree = reader.tree();
            for index in tree.leaf().into_iter().flat_map(|leaf| tree.ancestors(leaf)) {
                match &tree.node(index).kind {
                    NodeKind::Assistant(answer) => totals.add(&answer.usage),
                    NodeKind::Compaction { .. } | NodeKind::BranchSummary { from: Some(_) } => {
                        summaries.push(index);
                    }
                    _ => {}
                }
            }
        }
        let read = summaries.into_iter().filter_map(|index| reader.entry(index).ok());
        read.filter_map(|entry| usage_of(&entry.body)).for_each(|usage| totals.add(&usage));
        self.totals = totals;
    }

    pub(super) fn show_gauge(&self) {
        let (tokens, estimated) = self.tokens_now();
        let window = self.window;
        self.tell(SessionEvent::Gauge(Gauge {
            tokens,
            estimated,
            window,
            compacts_at: compacts_at(window, &self.deps.settings),
            cost: self.totals.cost,
            total_input: self.totals.input,
            total_output: self.totals.output,
        }));
    }
}
