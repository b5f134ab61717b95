//! What fills the window, part by part (SPEC section 12 `context`, SCREEN `/context`).

use std::sync::Arc;

use super::AgentSession;
use super::event::SessionEvent;
use crate::compaction::trigger::compacts_at;
use crate::message::{Block, Message};
use crate::session::report::{ContextReport, Share, SummaryShare};
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};

/// How many of the largest messages are named.
const LARGEST: usize = 5;

impl AgentSession {
    /// `/context`.
    pub(super) fn show_context(&mut self) {
        self.measure_overhead();
        match serde_json::to_value(self.context_report()) {
            Ok(report) => self.tell(SessionEvent::Context { report }),
            Err(error) => self.complain(format!("the report cannot be made: {error}")),
        }
    }

    /// What a model would be sent now, and what fills it (`regrow context`).
    ///
    /// # Errors
    /// It cannot be made to fit the window.
    pub fn look(&mut self) -> Result<(Vec<Arc<Message>>, ContextReport), String> {
        let request = self.build_request()?;
        Ok((request.messages, self.context_report()))
    }

    fn context_report(&self) -> ContextReport {
        let text = |text: &str| u64::from(self.deps.estimator.text(text));
        let specs = self.deps.tools.specs();
        let cwd = self.store.header().cwd.clone();
        let system = self.deps.prompts.system_prompt(cwd.as_ref(), &specs);
        let instructions = text(&system.instructions);
        let (tokens, estimated) = self.tokens_now();
        let outline = self.live_outline();
        let tree = self.store.reader().tree();
        let mut report = ContextReport {
            tokens,
            estimated,
            window: self.window,
            compacts_at: compacts_at(self.window, &self.deps.settings),
            system_prompt: text(&system.text).saturating_sub(instructions),
            tools: self.overhead.saturating_sub(text(&system.text)),
            instructions,
            ..ContextReport::default()
        };
        for index in &outline.nodes {
            let node = tree.node(*index);
            let share = match outline.compaction {
                Some(compaction) if compaction == *index => {
                    report.summary = Some(summary_share(&tree, compaction));
                    continue;
                }
                Some(compaction) if *index < compaction => &mut report.kept_tail,
                _ => &mut report.since,
            };
            *share =
                Share { tokens: share.tokens + u64::from(node.tokens), entries: share.entries + 1 };
            if let NodeKind::Assistant(answer) = &node.kind {
                report.cached = Some(answer.usage.cache_read);
            }
        }
        let mut by_size = outline.nodes.clone();
        by_size.sort_by_key(|index| std::cmp::Reverse(tree.node(*index).tokens));
        by_size.truncate(LARGEST);
        let sizes: Vec<_> =
            by_size.iter().map(|index| (*index, u64::from(tree.node(*index).tokens))).collect();
        drop(tree);
        report.largest =
            sizes.into_iter().map(|(index, tokens)| (self.name_of(index), tokens)).collect();
        report
    }

    /// A message in a few words; a result is named by its call.
    fn name_of(&self, index: NodeIndex) -> String {
        let reader = self.store.reader();
        let (kind, preview, parent) = {
            let tree = reader.tree();
            let node = tree.node(index);
            (node.kind.clone(), node.preview.to_string(), tree.parent(index))
        };
        match kind {
            NodeKind::ToolResult { tool, .. } => {
                self.call_of(index, parent).unwrap_or_else(|| tool.to_string())
            }
            NodeKind::User => format!("you: {preview}"),
            NodeKind::Assistant(_) => format!("answer: {preview}"),
            NodeKind::BashExecution { .. } => format!("!{preview}"),
            NodeKind::Compaction { .. } => "summary".to_owned(),
            _ => preview,
        }
    }

    /// The call that a result answers: looked for in the nearest answer above.
    fn call_of(&self, result: NodeIndex, parent: Option<NodeIndex>) -> Option<String> {
        let reader = self.store.reader();
        let call_id = match reader.messages(&[result]).0.first()?.1.as_ref() {
            Message::ToolResult(result) => result.tool_call_id.clone(),
            _ => return None,
        };
        let answer = {
            let tree = reader.tree();
            tree.ancestors(parent?)
                .find(|index| matches!(tree.node(*index).kind, NodeKind::Assistant(_)))?
        };
        let (_, message) = reader.messages(&[answer]).0.into_iter().next()?;
        let Message::Assistant(answer) = message.as_ref() else { return None };
        answer.content.iter().find_map(|block| match block {
            Block::ToolCall(call) if call.id == call_id => {
                Some(crate::session::describe::preview_of_call(&call.name, &call.arguments))
            }
            _ => None,
        })
    }
}

fn summary_share(tree: &SessionTree, compaction: NodeIndex) -> SummaryShare {
    let node = tree.node(compaction);
    let first_kept = match &node.kind {
        NodeKind::Compaction { first_kept, .. } => tree.find(first_kept),
        _ => None,
    };
    let entries = tree
        .ancestors(compaction)
        .skip(1)
        .filter(|index| tree.node(*index).kind.bears_message())
        .filter(|index| first_kept.is_none_or(|kept| *index < kept))
        .count();
    SummaryShare { tokens: u64::from(node.tokens), entries, made: node.timestamp }
}
