//! Identity of a metric or a series within a run.

use std::borrow::Cow;
use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::files::safe_text::{self, SafeText};

/// Identity of a result: what it is, of which variant of the measurement, in which nested benchmark.
///
/// In a document it is a name: `iops`, `write_latency_p99` (variant `write`),
/// `random-read/latency_mean` (nested benchmark `random-read`). A name from elsewhere that is none
/// of ours is kept as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResultId<K> {
    pub(super) benchmark: Option<Cow<'static, str>>,
    pub(super) variant: Option<VariantKey>,
    pub(super) own: OwnName<K>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum OwnName<K> {
    Known(K),
    Other(SafeText),
}

/// What a result can be; its [`Display`](fmt::Display) is the name in the document.
pub trait Kind: Copy + fmt::Display {
    /// The kind with this name, such as `latency_p99.9`.
    fn from_name(name: &str) -> Option<Self>;
}

/// Key of one variant of a measurement, such as `write`, `buffered_4k` or `cache_on_plain`; the
/// first part of the names of its metrics.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariantKey(Cow<'static, str>);

impl VariantKey {
    /// Reads of a benchmark that reads and writes.
    pub const READ: Self = Self::new("read");
    /// Writes of a benchmark that reads and writes.
    pub const WRITE: Self = Self::new("write");

    /// Creates a key.
    #[must_use]
    pub const fn new(key: &'static str) -> Self {
        Self(Cow::Borrowed(key))
    }

    /// The key of a variant of this variant: `seq1m_q8` and `read` make `seq1m_q8_read`.
    #[must_use]
    pub fn join(&self, part: &Self) -> Self {
        Self(format!("{self}_{part}").into())
    }

    /// The key of one round of this variant, from 1 on: `random_1`.
    #[must_use]
    pub fn round(&self, number: usize) -> Self {
        Self(format!("{self}_{number}").into())
    }

    /// The key of this variant at a size in KiB: `buffered_4k`.
    #[must_use]
    pub fn kibibytes(&self, kib: u64) -> Self {
        Self(format!("{self}_{kib}k").into())
    }

    /// The number of the round of this variant that the other key is, if any.
    #[must_use]
    pub fn round_of(&self, other: &Self) -> Option<usize> {
        self.part_of(other)?.parse().ok()
    }

    /// The size in KiB at which the other key is this variant, if any.
    #[must_use]
    pub fn kibibytes_of(&self, other: &Self) -> Option<u64> {
        self.part_of(other)?.strip_suffix('k')?.parse().ok()
    }

    fn part_of<'a>(&self, other: &'a Self) -> Option<&'a str> {
        other.0.strip_prefix(&*self.0)?.strip_prefix('_')
    }
}

impl fmt::Display for VariantKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// A constant of the result of a benchmark itself. A macro, because lists of constants that a function
/// made could not be constants.
macro_rules! own_result {
    ($kind:expr) => {
        Self {
            benchmark: None,
            variant: None,
            own: super::result_id::OwnName::Known($kind),
        }
    };
}
pub(super) use own_result;

impl<K> ResultId<K> {
    /// The result of the benchmark itself.
    #[must_use]
    pub const fn of(kind: K) -> Self {
        Self {
            benchmark: None,
            variant: None,
            own: OwnName::Known(kind),
        }
    }

    /// The result of one variant, such as `write_iops`.
    #[must_use]
    pub const fn of_variant(variant: VariantKey, kind: K) -> Self {
        Self {
            benchmark: None,
            variant: Some(variant),
            own: OwnName::Known(kind),
        }
    }

    /// The result of a nested benchmark, such as `random-read/iops`.
    #[must_use]
    pub const fn of_nested(benchmark: &'static str, kind: K) -> Self {
        Self {
            benchmark: Some(Cow::Borrowed(benchmark)),
            variant: None,
            own: OwnName::Known(kind),
        }
    }

    /// The variant of the measurement, if any.
    #[must_use]
    pub const fn variant(&self) -> Option<&VariantKey> {
        self.variant.as_ref()
    }

    /// The nested benchmark that yielded the result, if any.
    #[must_use]
    pub fn benchmark(&self) -> Option<&str> {
        self.benchmark.as_deref()
    }

    /// Whether a nested benchmark yielded the result.
    #[must_use]
    pub const fn is_nested(&self) -> bool {
        self.benchmark.is_some()
    }
}

impl<K: Kind> ResultId<K> {
    /// Reads a name, such as `random-read/write_iops`.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        let (benchmark, own) = match name.rsplit_once('/') {
            Some((benchmark, own)) => (Some(benchmark), own),
            None => (None, name),
        };
        let variants = own
            .match_indices('_')
            .map(|(at, _)| (Some(&own[..at]), &own[at + 1..]));
        let known = std::iter::once((None, own))
            .chain(variants)
            .find_map(|(variant, name)| Some((variant, K::from_name(name)?)));
        let text = |text: &str| Cow::from(SafeText::from(text));
        let (variant, own) = match known {
            Some((variant, kind)) => (variant, OwnName::Known(kind)),
            None => (None, OwnName::Other(own.into())),
        };
        Self {
            benchmark: benchmark.map(text),
            variant: variant.map(|key| VariantKey(text(key))),
            own,
        }
    }

    /// The same result of a nested benchmark.
    #[must_use]
    pub fn nested_in(&self, benchmark: &str) -> Self {
        let path = match &self.benchmark {
            Some(inner) => format!("{benchmark}/{inner}"),
            None => benchmark.to_owned(),
        };
        Self {
            benchmark: Some(path.into()),
            ..self.clone()
        }
    }

    /// The result within its nested benchmark, without the name of that benchmark.
    #[must_use]
    pub fn within_benchmark(&self) -> Self {
        Self {
            benchmark: None,
            ..self.clone()
        }
    }

    /// What the result is; `None` for a name from elsewhere.
    #[must_use]
    pub const fn kind(&self) -> Option<K> {
        match self.own {
            OwnName::Known(kind) => Some(kind),
            OwnName::Other(_) => None,
        }
    }
}

/// The name in the document.
impl<K: Kind> fmt::Display for ResultId<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let benchmark = self.benchmark.iter().map(|name| format!("{name}/"));
        let variant = self.variant.iter().map(|key| format!("{key}_"));
        let own = match &self.own {
            OwnName::Known(kind) => kind.to_string(),
            OwnName::Other(name) => name.to_string(),
        };
        let name: String = benchmark.chain(variant).chain([own]).collect();
        formatter.pad(&name)
    }
}

impl<K: Kind> Serialize for ResultId<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: Kind> Deserialize<'de> for ResultId<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&safe_text::name(deserializer)?))
    }
}

#[cfg(test)]
impl<K> JsonSchema for ResultId<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ResultId".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::document::{MetricId, MetricKind, Percentile, SeriesId, SeriesKind};
    use crate::stats::latency::histogram::PERCENTILES;

    #[test]
    fn every_name_reads_back_as_the_same_id() {
        let percentiles = PERCENTILES.map(Percentile::from_percent);
        let percentiles = percentiles.map(MetricKind::LatencyPercentile);
        let buffered = VariantKey::new("buffered").kibibytes(4);
        for kind in MetricKind::FIXED.iter().chain(&percentiles) {
            for id in [
                MetricId::of(*kind),
                MetricId::of_variant(buffered.clone(), *kind),
                MetricId::of_nested("random-read", *kind).nested_in("survey"),
            ] {
                assert_eq!(MetricId::parse(&id.to_string()), id);
            }
        }
        for kind in SeriesKind::ALL {
            let id = SeriesId::of(*kind);
            for id in [id.nested_in("survey"), id] {
                assert_eq!(SeriesId::parse(&id.to_string()), id);
            }
        }
    }

    #[test]
    fn foreign_name_is_kept() {
        for name in [
            "",
            "/",
            "_",
            "a/",
            "a b",
            "x_latency_p",
            "my metric/other",
            "latency_p99.90",
            "latency_p+99",
            "latency_p1e1",
            "latency_pinf",
            "latency_pNaN",
            "latency_p101",
            "latency_p099",
            "latency_p99.1234567",
        ] {
            let id = MetricId::parse(name);
            assert_eq!((id.to_string().as_str(), id.kind()), (name, None));
            assert_eq!(SeriesId::parse(name).to_string(), name);
        }
    }

    #[test]
    fn metric_label_names_variant_and_benchmark() {
        for (name, label) in [
            ("iops", "IOPS"),
            ("latency_p99.999", "latency p99.999"),
            ("write_iops", "write IOPS"),
            ("random-read/iops", "random-read/IOPS"),
            ("some_thing", "some thing"),
        ] {
            assert_eq!(MetricId::parse(name).label(), label);
        }
    }
}
