//! Server-sent events: bytes in any pieces → whole events (P2, F58, F59). Pure: whoever owns the
//! connection feeds it. Comments are not events; idle timers therefore watch the bytes.

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use sse_stream::SseByteStream;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The `event:` field, if there was one.
    pub event: Option<String>,
    /// The `data:` lines, joined by newlines.
    pub data: String,
}

/// Splits a body into events. Events without data are left out.
///
/// An end of the body also ends the last event (F59). Errors of `bytes` come out as they went in,
/// inside [`sse_stream::Error::Body`].
pub fn frames<S, E>(bytes: S) -> impl Stream<Item = Result<Frame, sse_stream::Error>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    let closing = stream::once(async { Ok(Bytes::from_static(b"\n\n")) });
    SseByteStream::new(Box::pin(bytes.chain(closing))).filter_map(|event| async {
        match event {
            Ok(event) => event.data.map(|data| Ok(Frame { event: event.event, data })),
            Err(error) => Some(Err(error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// The events of `body`, delivered in pieces of `size` bytes.
    fn parse(body: &[u8], size: usize) -> Vec<Frame> {
        let pieces: Vec<Result<Bytes, Infallible>> =
            body.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let events = frames(stream::iter(pieces)).map(Result::unwrap).collect::<Vec<_>>();
        futures::executor::block_on(events)
    }

    #[track_caller]
    fn check(body: &str, expected: &[(Option<&str>, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(event, data)| Frame { event: event.map(str::to_owned), data: (*data).into() })
            .collect();
        for size in [1, 2, 3, 7, body.len().max(1)] {
            assert_eq!(parse(body.as_bytes(), size), expected, "{body:?} in pieces of {size}");
        }
    }

    #[test]
    fn f58_characters_survive_any_split() {
        check("data: 안녕 👩‍👩‍👧 e\u{301}\n\n", &[(None, "안녕 👩‍👩‍👧 e\u{301}")]);
    }

    #[test]
    fn f59_line_ends_comments_and_fields() {
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[(None, "a"), (None, "b"), (None, "c")]);
        check(": ping\n\n:\n\ndata:x\n\n", &[(None, "x")]);
        check(
            "event: e\ndata: 1\ndata:  2\ndata\nid: 7\nretry: 1\nfoo: bar\n\n",
            &[(Some("e"), "1\n 2\n")],
        );
        check("\u{feff}data: a\n\n", &[(None, "a")]);
        check("event: lonely\n\ndata: a\n\n", &[(None, "a")]);
        check("", &[]);
    }

    #[test]
    fn f59_the_end_of_the_body_ends_the_last_event() {
        for tail in ["", "\n", "\r", "\r\n", "\n\n"] {
            check(&format!("data: a\n\ndata: b{tail}"), &[(None, "a"), (None, "b")]);
        }
    }
}
