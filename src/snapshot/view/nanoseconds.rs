//! Durations in JSON: whole nanoseconds.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(
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

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(Duration::from_nanos))
}
