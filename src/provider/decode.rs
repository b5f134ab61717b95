//! What every wire protocol does with the events of an answer. Pure.

use super::sse::Frame;
use super::{ProviderError, StreamEvent};

/// Turns one answer's frames into stream events; one decoder per answer.
pub trait Decode: Send + Sync {
    /// Takes one frame and adds what it means to `events`.
    ///
    /// # Errors
    /// An error that the server reported inside the stream (F62), or a frame that cannot be read.
    /// The answer is over then.
    fn frame(
        &mut self,
        frame: &Frame,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Progress, ProviderError>;

    /// The body has ended, or nothing came any more after [`Progress::Settled`].
    ///
    /// # Errors
    /// When the protocol's terminal signal has not been seen: the answer was cut (F60).
    fn end(&mut self, events: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More has to come.
    Open,
    /// The terminal signal has been seen; only figures may follow, so nobody waits long for them.
    Settled,
    /// Nothing follows; [`StreamEvent::Finish`] has been given out.
    Done,
}

#[cfg(test)]
pub mod testing {
    //! Feeds recorded bodies to a decoder in pieces of several sizes, which must not matter.

    use super::*;
    use crate::ids::Timestamp;
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
        error: Option<(crate::provider::ErrorKind, String)>,
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
        let frames =
            futures::executor::block_on(sse::frames(stream::iter(pieces)).collect::<Vec<_>>());
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
}
