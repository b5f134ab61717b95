//! Pruning of old tool output in the file, and putting it back (SPEC C7–C9).

use std::collections::BTreeMap;

use super::command::SessionCommand;
use super::event::{NoticeLevel, SessionEvent};
use super::{AgentSession, chain};
use crate::compaction::prune::{PrunePolicy, plan_prune, pruned_message};
use crate::message::Message;
use crate::session::entry::{EntryBody, SessionEntry};
use crate::session::originals::{keep_originals, load_originals};
use crate::session::tree::NodeKind;

impl AgentSession {
    /// Replaces old tool output by a short note. Gives the tokens saved: 0 when it was not worth it.
    ///
    /// # Errors
    /// What could not be written; then nothing has changed.
    pub(super) fn prune(&mut self) -> Result<u64, String> {
        let reader = self.reader();
        let plan = {
            // Only what is in context: pruning anything else would save nothing.
            let outline = self.live_outline();
            plan_prune(&reader.tree(), &outline.nodes, &PrunePolicy::default())
        };
        // Without a file there is no safe place for the originals.
        let Some(path) = self.store.path().map(std::path::Path::to_path_buf) else { return Ok(0) };
        if plan.results.is_empty() {
            return Ok(0);
        }
        let now = self.deps.stamper.now().as_millis();
        let mut originals = Vec::new();
        let mut changed = BTreeMap::new();
        for (index, tokens) in plan.results {
            let Ok(entry) = reader.entry(index) else { continue };
            let EntryBody::Message { message: Message::ToolResult(result) } = &entry.body else {
                continue;
            };
            let pruned = Message::ToolResult(pruned_message(result, tokens, now));
            let body = EntryBody::Message { message: pruned };
            changed.insert(index, SessionEntry { body, ..entry.as_ref().clone() });
            originals.push(entry);
        }
        keep_originals(&path, &originals)
            .map_err(|error| format!("cannot keep the originals of pruned output: {error}"))?;
        self.store.rewrite(&changed).map_err(|error| chain(&error))?;
        self.refresh(&format!(
            "{} old tool results shortened, about {} tokens freed; /unprune puts them back",
            changed.len(),
            plan.saved
        ));
        Ok(plan.saved)
    }

    /// `/unprune`: puts all originals back.
    pub(super) fn unprune(&mut self) {
        let is_pruned = {
            let tree = self.store.reader().tree();
            tree.nodes().any(|(_, node)| {
                matches!(node.kind, NodeKind::ToolResult { pruned_at: Some(_), .. })
            })
        };
        if !is_pruned {
            self.notice(NoticeLevel::Info, "nothing in this session is pruned");
            return;
        }
        if self.stop_first(SessionCommand::Unprune) {
            return;
        }
        match self.restore_originals() {
            Ok(0) => self.complain("the originals of what was pruned are not beside the session"),
            Ok(count) => self.refresh(&format!("{count} tool results are whole again")),
            Err(words) => self.complain(words),
        }
    }

    fn restore_originals(&mut self) -> Result<usize, String> {
        let Some(path) = self.store.path().map(std::path::Path::to_path_buf) else { return Ok(0) };
        let originals = load_originals(&path)
            .map_err(|error| format!("cannot read the originals of pruned output: {error}"))?;
        let changed: BTreeMap<_, _> = {
            let tree = self.store.reader().tree();
            let found =
                originals.into_iter().filter_map(|(id, entry)| Some((tree.find(&id)?, entry)));
            let is_pruned =
                |kind: &NodeKind| matches!(kind, NodeKind::ToolResult { pruned_at: Some(_), .. });
            found.filter(|(index, _)| is_pruned(&tree.node(*index).kind)).collect()
        };
        if !changed.is_empty() {
            self.store.rewrite(&changed).map_err(|error| chain(&error))?;
        }
        Ok(changed.len())
    }

    /// What is shown is read anew: entries have changed in place.
    fn refresh(&mut self, words: &str) {
        self.notice(NoticeLevel::Info, words);
        let leaf = self.leaf().map(|leaf| self.store.reader().tree().node(leaf).id.clone());
        self.tell(SessionEvent::Moved { leaf, editor: None });
        self.show_gauge();
    }
}
