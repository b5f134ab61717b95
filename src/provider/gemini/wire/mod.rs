//! Gemini on the wire: `request` builds the body, `thinking` says how each model is asked to think,
//! `answer` decodes the stream. Pure.

mod answer;
mod request;
#[cfg(test)]
mod tests;
mod thinking;

pub use answer::GeminiDecoder;
pub use request::body;
