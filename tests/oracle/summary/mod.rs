//! Summaries against what the systems of the seeds make: kinds `fileLists`, `bashText`, and of
//! `session` the serialised conversations and the requests and results of whole summaries (`e2e`).
//!
//! The kind `truncate` has no counterpart here: results are cut for a summary as C16 says, and for a
//! model by tokens.

mod requests;
mod scene;
mod stage;
mod texts;
mod transcripts;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Length in UTF-16 units and the first 32 hex digits of the hash, as the cases give texts.
fn print_of(text: &str) -> (u64, String) {
    let hash: String =
        Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    (text.encode_utf16().count() as u64, hash)
}

/// The same of a case's figure.
fn expected_print(value: &Value) -> (u64, String) {
    (
        value["len16"].as_u64().unwrap_or_default(),
        value["sha256_32"].as_str().unwrap_or_default().to_owned(),
    )
}
