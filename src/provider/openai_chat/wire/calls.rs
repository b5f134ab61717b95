//! Which piece belongs to which tool call (F64): servers number calls wrongly, leave ids out, or
//! interleave. Pure.

use serde_json::Value;

use crate::provider::{BlockStart, StreamEvent};

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    /// The server's number for it.
    wire: Option<u64>,
    id: String,
    name: String,
    /// All arguments so far: shows whether the call is complete, and waits for a late name.
    arguments: String,
    /// Its block, once the name is known.
    block: Option<usize>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes one element of `tool_calls`; whether a block was begun.
    pub(super) fn take(
        &mut self,
        piece: &Value,
        next: &mut usize,
        events: &mut Vec<StreamEvent>,
    ) -> bool {
        let wire = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        let function = piece.get("function");
        let field = |name: &str| function.and_then(|function| function.get(name));
        let name = field("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = match field("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(whole @ Value::Object(_)) => whole.to_string(),
            _ => String::new(),
        };
        let place = self.find(wire, id, name).unwrap_or_else(|| {
            self.calls.push(Call {
                wire,
                id: id.to_owned(),
                name: String::new(),
                arguments: String::new(),
                block: None,
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&arguments);
        let begins = call.block.is_none() && !call.name.is_empty();
        if begins {
            call.begin(place, next, events);
        } else if let (Some(index), false) = (call.block, arguments.is_empty()) {
            events.push(StreamEvent::Delta { index, text: arguments });
        }
        begins
    }

    /// Begins the calls whose name never came: they are shown, and fail by that name.
    pub(super) fn close(&mut self, next: &mut usize, events: &mut Vec<StreamEvent>) {
        for (place, call) in self.calls.iter_mut().enumerate() {
            if call.block.is_none() {
                call.begin(place, next, events);
            }
        }
    }

    /// The call that a piece continues; `None` for a new one.
    fn find(&self, wire: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let newest = |fits: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(fits);
        if !id.is_empty() {
            if let Some(known) = newest(&|call| call.id == id && call.wire == wire) {
                return Some(known);
            }
            // The id may come late, but never changes: another one is another call.
            return wire.and_then(|_| newest(&|call| call.wire == wire && call.id.is_empty()));
        }
        let known = match wire {
            Some(_) => newest(&|call| call.wire == wire)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[known];
        // Without ids, a name after complete arguments begins the next call.
        let next = !name.is_empty() && !call.name.is_empty() && is_complete(&call.arguments);
        (!next).then_some(known)
    }
}

impl Call {
    fn begin(&mut self, place: usize, next: &mut usize, events: &mut Vec<StreamEvent>) {
        let index = *next;
        *next += 1;
        self.block = Some(index);
        if self.id.is_empty() {
            self.id = format!("call_{place}");
        }
        let block = BlockStart::ToolCall { id: self.id.clone(), name: self.name.clone() };
        events.push(StreamEvent::BlockStart { index, block });
        if !self.arguments.is_empty() {
            events.push(StreamEvent::Delta { index, text: self.arguments.clone() });
        }
    }
}

fn is_complete(arguments: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}
