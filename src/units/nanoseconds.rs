//! Durations in JSON: whole nanoseconds (for `#[serde(with = ...)]`).

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

/// Writes a duration; more than 584 years as the greatest number.
///
/// # Errors
/// That of the serializer.
pub fn serialize<S: Serializer>(
    value: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(duration) => {
            serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
        }
        None => serializer.serialize_none(),
    }
}

/// Reads a duration.
///
/// # Errors
/// That of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(Duration::from_nanos))
}
