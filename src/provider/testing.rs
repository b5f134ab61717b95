//! For the tests of the wire modules: requests from JSON, and recorded bodies fed to a decoder in
//! pieces of several sizes, which must not matter. Compiled for tests only.

use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::decode::{Decode, Progress};
use super::model::Model;
use super::{ErrorKind, ProviderError, Purpose, Request, StreamEvent, ThinkingLevel};
use crate::ids::Timestamp;
use crate::message::Message;
use crate::message::{AssistantMessage, StopReason};
use crate::provider::assemble::Assembler;
use crate::provider::catalogue::guessed_model;
use crate::provider::sse;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use std::convert::Infallible;

/// What became of a body.
#[derive(Debug, PartialEq)]
pub struct Decoded {
    pub events: Vec<StreamEvent>,
    error: Option<(ErrorKind, String)>,
}

impl Decoded {
    /// The finished answer.
    #[track_caller]
    pub fn message(&self) -> AssistantMessage {
        assert_eq!(self.error, None);
        let Some(StreamEvent::Finish { reason }) = self.events.last() else {
            panic!("no finish in {:?}", self.events)
        };
        self.assemble(*reason)
    }

    /// What had come when it failed.
    #[track_caller]
    pub fn partial(&self) -> AssistantMessage {
        assert!(self.error.is_some());
        assert!(!self.events.iter().any(|event| matches!(event, StreamEvent::Finish { .. })));
        self.assemble(StopReason::Error)
    }

    #[track_caller]
    pub fn error(&self) -> ProviderError {
        let (kind, message) = self.error.clone().expect("an error");
        ProviderError::new(kind, message)
    }

    fn assemble(&self, reason: StopReason) -> AssistantMessage {
        let model = guessed_model("acme", "m", None, 1_000);
        let mut assembler = Assembler::new(&model, Timestamp::from_millis(0));
        self.events.iter().for_each(|event| assembler.apply(event));
        assembler.finish(reason, &model)
    }
}

/// Decodes `body` whole and in small pieces; all must agree.
#[track_caller]
pub fn decode_split<D: Decode>(body: &str, decoder: impl Fn() -> D) -> Decoded {
    let whole = decode(body.as_bytes(), body.len().max(1), decoder());
    let sizes: &[usize] = if body.len() < 20_000 { &[1, 2, 3, 17] } else { &[1, 1_024] };
    for size in sizes {
        assert_eq!(decode(body.as_bytes(), *size, decoder()), whole, "in pieces of {size}");
    }
    whole
}

fn decode(body: &[u8], size: usize, mut decoder: impl Decode) -> Decoded {
    let pieces: Vec<Result<Bytes, Infallible>> =
        body.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let frames = futures::executor::block_on(sse::frames(stream::iter(pieces)).collect::<Vec<_>>());
    let mut events = Vec::new();
    for frame in frames {
        match decoder.frame(&frame.expect("UTF-8"), &mut events) {
            Ok(Progress::Done) => return Decoded { events, error: None },
            Ok(_) => {}
            Err(error) => {
                return Decoded { events, error: Some((error.kind, error.message)) };
            }
        }
    }
    let error = decoder.end(&mut events).err().map(|error| (error.kind, error.message));
    Decoded { events, error }
}

/// A request of `messages` for a thinking, seeing model with the facts of `model`.
pub fn request(model: Value, messages: Value) -> Request {
    let mut facts = json!({"provider": "p", "id": "m", "api": "a", "contextWindow": 100_000,
        "maxTokens": 32_000, "reasoning": true, "images": true});
    facts.as_object_mut().unwrap().extend(model.as_object().unwrap().clone());
    let model: Model = serde_json::from_value(facts).unwrap();
    let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
    Request {
        purpose: Purpose::Turn,
        model: Arc::new(model),
        system: "be good".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Vec::new(),
        max_tokens: 16_000,
        thinking: ThinkingLevel::Low,
        parameters: Map::new(),
        session_id: "s1".into(),
        cache: true,
    }
}

/// The events of a body whose data are JSON values, named by their `type`.
pub fn sse(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        })
        .collect()
}
