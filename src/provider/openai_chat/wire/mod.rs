//! Chat Completions on the wire: `request` builds the body, `answer` decodes the stream. Pure.

mod answer;
mod calls;
mod request;
#[cfg(test)]
mod tests;
mod usage;

pub use answer::ChatDecoder;
pub use request::body;
