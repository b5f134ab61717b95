//! OpenAI's Responses on the wire: `request` builds the body, `answer` decodes the stream. Pure.

mod answer;
mod request;
#[cfg(test)]
mod tests;

pub use answer::ResponsesDecoder;
pub use request::{body, limit};
