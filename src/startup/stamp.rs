//! The real clock and the real source of ids.

use crate::ids::{Stamper, Timestamp};

/// Reads the system's clock and random source.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SystemStamper;

impl Stamper for SystemStamper {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }

    fn entry_bits(&self) -> u32 {
        uuid::Uuid::new_v4().as_fields().0
    }

    fn session_id(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}
