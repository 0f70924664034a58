//! The parameters of a run that its checks depend on. The benchmarks declare these parameters with the
//! names and keywords that are defined here.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::files::safe_text::SafeText;
use crate::units;

/// A parameter that checks depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterName {
    /// Size of a request.
    BlockSize,
    /// Alignment of the offsets.
    Align,
    /// Requests in flight per worker.
    Depth,
    /// Number of workers.
    Workers,
    /// Arrivals per second of an open loop.
    Rate,
    /// Use of the page cache.
    Cache,
    /// When a write is durable.
    Sync,
    /// Content of the writes.
    Data,
}

/// The keyword of [`ParameterName::Cache`] for direct I/O.
pub const CACHE_BYPASS: &str = "bypass";
/// The keyword of [`ParameterName::Sync`] for writes that are not durable when they complete.
pub const SYNC_NONE: &str = "none";
/// The keyword of [`ParameterName::Data`] for data that cannot be compressed.
pub const DATA_RANDOM: &str = "random";

impl ParameterName {
    /// The name on the command line and in the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BlockSize => "block-size",
            Self::Align => "align",
            Self::Depth => "depth",
            Self::Workers => "workers",
            Self::Rate => "rate",
            Self::Cache => "cache",
            Self::Sync => "sync",
            Self::Data => "data",
        }
    }
}

/// The parameters of a run, typed.
#[derive(Debug, Clone, Copy)]
pub struct RunParameters<'a>(pub(super) &'a BTreeMap<SafeText, Value>);

impl<'a> RunParameters<'a> {
    /// Whether the benchmark has a parameter of this name.
    #[must_use]
    pub fn contains(self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn value(self, name: ParameterName) -> Option<&'a Value> {
        self.0.get(name.as_str()).filter(|value| !value.is_null())
    }

    fn keyword(self, name: ParameterName) -> Option<&'a str> {
        self.value(name)?.as_str()
    }

    /// The keyword of the page cache mode if the page cache is used.
    #[must_use]
    pub fn page_cache_mode(self) -> Option<&'a str> {
        self.keyword(ParameterName::Cache)
            .filter(|mode| *mode != CACHE_BYPASS)
    }

    /// Whether a write completes only when its data is durable.
    #[must_use]
    pub fn has_synchronous_writes(self) -> bool {
        self.keyword(ParameterName::Sync)
            .is_some_and(|mode| mode != SYNC_NONE)
    }

    /// The keyword of the write data if it can be compressed or deduplicated.
    #[must_use]
    pub fn compressible_data(self) -> Option<&'a str> {
        self.keyword(ParameterName::Data)
            .filter(|data| *data != DATA_RANDOM)
    }

    /// Requests in flight that all workers together aim at; `None` without a depth.
    #[must_use]
    pub fn total_depth(self) -> Option<u64> {
        let workers = match self.value(ParameterName::Workers) {
            Some(workers) => workers.as_u64()?,
            None => 1,
        };
        self.value(ParameterName::Depth)?
            .as_u64()?
            .checked_mul(workers)
    }

    /// A size in bytes; of a range of sizes, which is a string, the smallest.
    #[must_use]
    pub fn smallest_bytes(self, name: ParameterName) -> Option<u64> {
        let value = self.value(name)?;
        let range_start = || units::parse_size(value.as_str()?.split('-').next()?).ok();
        value.as_u64().or_else(range_start)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unset_and_malformed_parameters_are_none() {
        let mut parameters = BTreeMap::new();
        let typed = RunParameters(&parameters);
        assert!(!typed.has_synchronous_writes());
        assert_eq!((typed.total_depth(), typed.page_cache_mode()), (None, None));
        parameters.insert("depth".into(), json!(u64::MAX));
        parameters.insert("workers".into(), json!(2));
        parameters.insert("block-size".into(), json!("4KiB-64KiB"));
        parameters.insert("align".into(), json!("?"));
        let typed = RunParameters(&parameters);
        assert_eq!(typed.total_depth(), None);
        assert_eq!(typed.smallest_bytes(ParameterName::BlockSize), Some(4096));
        assert_eq!(typed.smallest_bytes(ParameterName::Align), None);
    }
}
