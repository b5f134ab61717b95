//! Events as a session would tell them, without anything that happens (`regrow hooks test`).

use serde_json::json;

use super::AgentSession;
use super::activity::NavigationJob;
use super::command::{Navigation, SummaryChoice};
use crate::compaction::Reason;
use crate::compaction::plan::CompactionPlan;
use crate::hook::chain::Occasion;
use crate::hook::conversation::{AfterCall, BeforeCall, BeforePrompt};
use crate::hook::told::Told;
use crate::hook::{EventName, SessionFacts};
use crate::ids::EntryId;
use crate::message::{Content, Message, ToolCall, ToolResultMessage};
use crate::session::entry::{CompactionEntry, EntryBody, SessionEntry};
use crate::session::tree::NodeKind;

impl AgentSession {
    /// What hooks are told of this session in every event.
    #[must_use]
    pub fn facts(&self) -> SessionFacts {
        self.desk().facts().clone()
    }

    /// An event about this session as it is: the next compaction, a move back to its beginning, its
    /// newest prompt and tool call. `call` is taken in place of the newest one.
    ///
    /// # Errors
    /// The session has nothing of that kind yet.
    pub fn sample(
        &self,
        event: EventName,
        call: Option<ToolCall>,
    ) -> Result<Box<dyn Occasion>, String> {
        Ok(match event {
            EventName::SessionBeforeCompact => Box::new(self.sample_maker()?.before()),
            EventName::SessionCompacting => Box::new(self.sample_maker()?.compacting()),
            EventName::SessionCompact => {
                Box::new(Told::session_compact(&self.sample_compaction()?, false))
            }
            EventName::SessionBeforeTree => {
                let job = self.sample_move()?;
                Box::new(self.branch_maker(&job).before())
            }
            EventName::SessionTree => {
                let job = self.sample_move()?;
                let [new, old] = [job.new_leaf, job.old_leaf].map(|leaf| self.speaking_id(leaf));
                Box::new(Told::session_tree(new.as_ref(), old.as_ref(), None, false))
            }
            EventName::SessionStart => Box::new(Told::session_start("startup")),
            EventName::SessionShutdown => Box::new(Told::session_shutdown("quit")),
            EventName::BeforePrompt => {
                Box::new(BeforePrompt::new(self.newest_prompt(), Vec::new()))
            }
            EventName::ToolCall => Box::new(BeforeCall::new(self.sample_call(call).0)),
            EventName::ToolResult => {
                let (call, result) = self.sample_call(call);
                Box::new(AfterCall::new(call.arguments, result))
            }
            EventName::TurnEnd => Box::new(self.turn_end()),
        })
    }

    /// What a compaction would do now, or with less to keep.
    fn sample_plan(&self) -> Result<CompactionPlan, String> {
        let plan = self.plan_compaction().or_else(|_| self.plan_after_overflow());
        plan.map_err(|nothing| format!("{nothing} in this session"))
    }

    fn sample_maker(&self) -> Result<super::making::CompactionMaker, String> {
        Ok(self.compaction_maker(&self.sample_plan()?, Reason::Manual, None))
    }

    /// The newest compaction, or one as it would be stored.
    fn sample_compaction(&self) -> Result<SessionEntry, String> {
        let reader = self.store.reader();
        let newest = {
            let tree = reader.tree();
            let is_compaction =
                |index: &_| matches!(tree.node(*index).kind, NodeKind::Compaction { .. });
            tree.leaf().and_then(|leaf| tree.ancestors(leaf).find(is_compaction))
        };
        if let Some(entry) = newest.and_then(|index| reader.entry(index).ok()) {
            return Ok(SessionEntry::clone(&entry));
        }
        let plan = self.sample_plan()?;
        let tree = reader.tree();
        Ok(SessionEntry {
            id: EntryId::new("00000000"),
            parent_id: Some(tree.node(plan.leaf).id.clone()),
            timestamp: tree.node(plan.leaf).timestamp,
            body: EntryBody::Compaction(CompactionEntry {
                summary: "(the summary)".to_owned(),
                short_summary: None,
                first_kept_entry_id: tree.node(plan.first_kept).id.clone(),
                tokens_before: plan.tokens_before,
                details: None,
                preserve_data: None,
                from_extension: None,
            }),
        })
    }

    /// A move from the leaf to the first answer, with a summary.
    fn sample_move(&self) -> Result<NavigationJob, String> {
        let tree = self.store.reader().tree();
        let path = tree.active_path();
        let is_answer = |index: &&_| matches!(tree.node(**index).kind, NodeKind::Assistant(_));
        let target = path.iter().find(is_answer).copied();
        let target = target.ok_or("nothing was answered in this session")?;
        Ok(NavigationJob {
            navigation: Navigation {
                target: tree.node(target).id.clone(),
                summary: SummaryChoice::Default,
                label: None,
            },
            old_leaf: tree.leaf(),
            new_leaf: Some(target),
            editor: None,
        })
    }

    /// All messages of the path, newest first.
    fn newest_messages(&self) -> impl Iterator<Item = std::sync::Arc<Message>> + use<> {
        let reader = self.reader();
        let path = reader.tree().active_path();
        path.into_iter().rev().filter_map(move |index| {
            reader.messages(&[index]).0.into_iter().next().map(|(_, message)| message)
        })
    }

    fn newest_prompt(&self) -> String {
        let text = self.newest_messages().find_map(|message| match message.as_ref() {
            Message::User(user) => Some(user.content.text()),
            _ => None,
        });
        text.unwrap_or_else(|| "What is in this folder?".to_owned())
    }

    /// A call and its result.
    fn sample_call(&self, call: Option<ToolCall>) -> (ToolCall, ToolResultMessage) {
        let newest = || {
            self.newest_messages().find_map(|message| match message.as_ref() {
                Message::Assistant(answer) => answer.tool_calls().last().cloned(),
                _ => None,
            })
        };
        let made_up = || ToolCall {
            id: "call".to_owned(),
            name: "bash".to_owned(),
            arguments: json!({ "command": "ls" }),
            thought_signature: None,
        };
        let given = call.is_some();
        let call = call.or_else(newest).unwrap_or_else(made_up);
        let result = self.newest_messages().find_map(|message| match message.as_ref() {
            Message::ToolResult(result) if !given && result.tool_call_id == call.id => {
                Some(result.clone())
            }
            _ => None,
        });
        let result = result.unwrap_or_else(|| ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: Content::from_text("(the result)"),
            ..ToolResultMessage::default()
        });
        (call, result)
    }
}
