//! Identifiers and time stamps, and where new ones come from.
//!
//! Nothing here reads a clock or a random source: [`Stamper`] is the port through which the rest of
//! the crate gets both, so that tests can fix them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names one entry of a session file (J2): eight lower-case hex digits when regrow made it, any
/// text when another program did. Unique within its file.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// Takes the text of an id as it stands in a file.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(Arc::from(text.as_ref()))
    }

    /// The id as it is written in the file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl From<&str> for EntryId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

/// A moment, to the millisecond, in UTC. Written as `2026-01-14T15:00:37.013Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the Unix epoch, as messages carry them.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads an ISO 8601 moment; `None` when it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|moment| Self(moment.as_millisecond()))
    }

    /// Whole seconds from `self` to `later`; zero when `later` is earlier.
    #[must_use]
    pub const fn seconds_until(self, later: Self) -> u64 {
        let millis = later.0.saturating_sub(self.0);
        if millis < 0 { 0 } else { millis.unsigned_abs() / 1000 }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        write!(f, "{moment:.3}")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    /// Accepts ISO text or a number of milliseconds; anything else reads as the epoch, because a
    /// wrong time is no reason to lose an entry.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(match &value {
            serde_json::Value::String(text) => Self::parse(text).unwrap_or_default(),
            serde_json::Value::Number(number) => Self(number.as_f64().unwrap_or_default() as i64),
            _ => Self::default(),
        })
    }
}

/// Gives the time and fresh random ids. One per process; built in `startup`, fixed in tests.
pub trait Stamper: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
    /// Thirty-two random bits: an [`EntryId`] is made of them. The caller checks for collisions.
    fn entry_bits(&self) -> u32;
    /// A new session id (a version 7 UUID).
    fn session_id(&self) -> String;
}

/// The [`EntryId`] made of 32 random bits.
#[must_use]
pub fn entry_id(bits: u32) -> EntryId {
    EntryId::new(format!("{bits:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j2_timestamps_are_written_to_the_millisecond() {
        let stamp = Timestamp::parse("2026-01-14T15:00:37.013Z").unwrap();
        assert_eq!(stamp.to_string(), "2026-01-14T15:00:37.013Z");
        assert_eq!(
            Timestamp::from_millis(1_768_402_837_000).to_string(),
            "2026-01-14T15:00:37.000Z"
        );
    }

    #[test]
    fn j2_a_broken_timestamp_does_not_lose_the_entry() {
        assert_eq!(
            serde_json::from_str::<Timestamp>("\"yesterday\"").unwrap(),
            Timestamp::default()
        );
        assert_eq!(serde_json::from_str::<Timestamp>("null").unwrap(), Timestamp::default());
    }

    #[test]
    fn j2_entry_ids_are_eight_hex_digits() {
        assert_eq!(entry_id(0xab).as_str(), "000000ab");
    }
}
