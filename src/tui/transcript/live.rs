//! What streams: the answer in the making, running tools, the person's running command.

use super::{Block, Origin, Transcript};
use crate::agent_session::event::StreamDelta;
use crate::message::ToolCall;
use crate::tui::cell::{Cell, ShellCell, ToolCell, answer};
use crate::tui::text::{sanitize, split_unfinished};

impl Transcript {
    /// More of the answer.
    pub fn stream(&mut self, delta: &StreamDelta) {
        match delta {
            StreamDelta::Start => self.end_stream(),
            StreamDelta::Text { block, text } => {
                let make = || Cell::Answer(answer(""));
                self.push_text(*block, text, make);
            }
            StreamDelta::Thinking { block, text } => {
                let make = || Cell::Thinking(answer(""));
                self.push_text(*block, text, make);
            }
            StreamDelta::ToolCall { block, id, name } => {
                let cell = Cell::Tool(Box::new(ToolCell::streaming(id, name)));
                self.stream_block(*block, || cell);
            }
            StreamDelta::Arguments { block, text } => {
                let make = || Cell::Tool(Box::new(ToolCell::streaming("", "")));
                let block = self.stream_block(*block, make);
                if let Cell::Tool(tool) = &mut block.cell {
                    tool.push_arguments(text);
                }
                block.look = None;
            }
        }
    }

    fn push_text(&mut self, number: usize, text: &str, make: impl FnOnce() -> Cell) {
        let text = std::mem::take(&mut self.unfinished) + text;
        let (text, unfinished) = split_unfinished(&text);
        self.unfinished = unfinished.to_owned();
        let block = self.stream_block(number, make);
        if let Cell::Answer(growing) | Cell::Thinking(growing) = &mut block.cell {
            // Leading line feeds of an answer would show as a hole.
            let text =
                if growing.source().is_empty() { text.trim_start_matches('\n') } else { text };
            growing.push(&sanitize(text));
        }
        block.look = None;
    }

    /// The block of that number of the answer; made when it is not there.
    fn stream_block(&mut self, number: usize, make: impl FnOnce() -> Cell) -> &mut Block {
        let origin = Origin::Stream(number);
        let place = match self.live.iter().rposition(|block| block.origin == origin) {
            Some(place) => place,
            None => {
                self.next_seq += 1;
                self.live.push(Block::new(self.next_seq, origin, make()));
                self.fix_live_gaps();
                self.live.len() - 1
            }
        };
        &mut self.live[place]
    }

    /// The answer is an entry now: its blocks take the places of those that streamed.
    pub(super) fn replace_stream(&mut self, made: &mut [Block]) {
        let streamed = self.live.iter().filter(|block| matches!(block.origin, Origin::Stream(_)));
        for (block, streamed) in made.iter_mut().zip(streamed) {
            block.seq = streamed.seq;
        }
        self.end_stream();
    }

    /// Drops what streamed; what the screen said meanwhile stays.
    pub fn end_stream(&mut self) {
        self.live.retain(|block| block.origin == Origin::Local);
        self.unfinished.clear();
        self.fix_live_gaps();
    }

    /// What the screen said while an answer streamed takes its place after the answer.
    pub fn settle(&mut self) {
        if self.window.end == self.path.len() {
            let (local, rest) = std::mem::take(&mut self.live).into_iter().partition(|block| {
                block.origin == Origin::Local && !matches!(block.cell, Cell::Shell(_))
            });
            self.live = rest;
            self.append(local);
        }
    }

    /// A tool call starts.
    pub fn tool_started(&mut self, call: &ToolCall) {
        if let Some((tool, look)) = self.tool(&call.id) {
            tool.start();
            *look = None;
        }
    }

    /// Output of a running call, or of the person's command.
    pub fn tool_progress(&mut self, call_id: &str, text: &str) {
        if let Some((tool, look)) = self.tool(call_id) {
            tool.progress(text);
            *look = None;
            return;
        }
        let shell = self.live.iter_mut().rev().find_map(|block| match &mut block.cell {
            Cell::Shell(shell) => Some((shell, &mut block.look)),
            _ => None,
        });
        if let Some((shell, look)) = shell {
            shell.progress(text);
            *look = None;
        }
    }

    /// The person's command starts.
    pub fn shell_started(&mut self, command: &str, excluded: bool) {
        self.next_seq += 1;
        let cell = Cell::Shell(ShellCell::running(command, excluded));
        self.live.push(Block::new(self.next_seq, Origin::Local, cell));
        self.fix_live_gaps();
    }

    fn tool(&mut self, call_id: &str) -> Option<(&mut ToolCell, &mut Option<u64>)> {
        self.live.iter_mut().rev().chain(self.blocks.iter_mut().rev().take(200)).find_map(|block| {
            match &mut block.cell {
                Cell::Tool(tool) if tool.call_id() == call_id => {
                    Some((&mut **tool, &mut block.look))
                }
                _ => None,
            }
        })
    }

    pub(super) fn fix_live_gaps(&mut self) {
        let mut before = self.blocks.back();
        for block in &mut self.live {
            block.gap = before.is_some_and(|before| !block.cell.joins(&before.cell));
            before = Some(block);
        }
    }
}
