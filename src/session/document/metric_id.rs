//! Identity of a metric within a run.

use std::borrow::Cow;
use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::metric_kind::{MetricKind, Percentile, metric_table};
use super::metric_unit::MetricUnit;
use crate::files::safe_text::{self, SafeText};

/// Identity of a metric: what it measures, of which variant of the measurement, in which nested
/// benchmark.
///
/// In a document it is a name: `iops`, `write_latency_p99` (variant `write`),
/// `random-read/latency_mean` (nested benchmark `random-read`). A name from elsewhere that is none
/// of ours is kept as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MetricId {
    benchmark: Option<Cow<'static, str>>,
    variant: Option<VariantKey>,
    measured: MeasuredQuantity,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum MeasuredQuantity {
    Known(MetricKind),
    Other(SafeText),
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
        let number = other.0.strip_prefix(&*self.0)?.strip_prefix('_')?;
        number.parse().ok()
    }

    /// The size in KiB at which the other key is this variant, if any.
    #[must_use]
    pub fn kibibytes_of(&self, other: &Self) -> Option<u64> {
        let size = other.0.strip_prefix(&*self.0)?.strip_prefix('_')?;
        size.strip_suffix('k')?.parse().ok()
    }
}

impl fmt::Display for VariantKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

macro_rules! define_constants {
    ($($kind:ident $constant:ident $name:literal $unit:ident $label:literal;)*) => {
        impl MetricId {
            $(
                #[doc = concat!("`", $name, "`: ", $label, ".")]
                pub const $constant: Self = Self {
                    benchmark: None,
                    variant: None,
                    measured: MeasuredQuantity::Known(MetricKind::$kind),
                };
            )*
        }
    };
}
metric_table!(define_constants);

macro_rules! define_percentiles {
    ($($constant:ident $tenths:literal;)*) => {
        impl MetricId {
            $(
                #[doc = concat!("Percentile of the latency, in tenths of a percent: ", $tenths, ".")]
                pub const $constant: Self = Self {
                    benchmark: None,
                    variant: None,
                    measured: MeasuredQuantity::Known(MetricKind::LatencyPercentile(
                        Percentile::from_tenths($tenths),
                    )),
                };
            )*
        }
    };
}
define_percentiles! {
    LATENCY_P50 500;
    LATENCY_P95 950;
    LATENCY_P99 990;
    LATENCY_P99_9 999;
}

impl MetricId {
    /// The metric of the benchmark itself.
    #[must_use]
    pub const fn of(kind: MetricKind) -> Self {
        Self {
            benchmark: None,
            variant: None,
            measured: MeasuredQuantity::Known(kind),
        }
    }

    /// The metric of a variant of the measurement, such as `write_iops`.
    #[must_use]
    pub const fn of_variant(variant: VariantKey, kind: MetricKind) -> Self {
        Self {
            benchmark: None,
            variant: Some(variant),
            measured: MeasuredQuantity::Known(kind),
        }
    }

    /// The metric of a nested benchmark, such as `random-read/iops`.
    #[must_use]
    pub const fn of_nested(benchmark: &'static str, kind: MetricKind) -> Self {
        Self {
            benchmark: Some(Cow::Borrowed(benchmark)),
            variant: None,
            measured: MeasuredQuantity::Known(kind),
        }
    }

    /// A percentile of the latency, such as 99.9.
    #[must_use]
    pub fn latency_percentile(percent: f64) -> Self {
        Self::of(MetricKind::LatencyPercentile(Percentile::from_percent(
            percent,
        )))
    }

    /// Reads a name, such as `write_latency_p99` or `random-read/iops`.
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
            .find_map(|(variant, name)| Some((variant, MetricKind::from_name(name)?)));
        let text = |text: &str| Cow::from(SafeText::from(text));
        Self {
            benchmark: benchmark.map(text),
            variant: known
                .and_then(|(variant, _)| variant)
                .map(|key| VariantKey(text(key))),
            measured: match known {
                Some((_, kind)) => MeasuredQuantity::Known(kind),
                None => MeasuredQuantity::Other(own.into()),
            },
        }
    }

    /// The same metric as a result of a nested benchmark: `iops` in `random-read` is
    /// `random-read/iops`.
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

    /// The metric within its nested benchmark, without the name of that benchmark.
    #[must_use]
    pub fn within_benchmark(&self) -> Self {
        Self {
            benchmark: None,
            ..self.clone()
        }
    }

    /// What the metric measures; `None` for a name from elsewhere.
    #[must_use]
    pub const fn kind(&self) -> Option<MetricKind> {
        match self.measured {
            MeasuredQuantity::Known(kind) => Some(kind),
            MeasuredQuantity::Other(_) => None,
        }
    }

    /// The variant that was measured, if the metric belongs to one.
    #[must_use]
    pub const fn variant(&self) -> Option<&VariantKey> {
        self.variant.as_ref()
    }

    /// The nested benchmark that yielded the metric, if any.
    #[must_use]
    pub fn benchmark(&self) -> Option<&str> {
        self.benchmark.as_deref()
    }

    /// Whether the metric belongs to a nested benchmark.
    #[must_use]
    pub const fn is_nested(&self) -> bool {
        self.benchmark.is_some()
    }

    /// Unit of the metric; `None` for a name from elsewhere.
    #[must_use]
    pub fn unit(&self) -> Option<MetricUnit> {
        self.kind().map(MetricKind::unit)
    }

    /// Label for display, such as `latency p99` or `write IOPS`.
    #[must_use]
    pub fn label(&self) -> String {
        let own = match &self.measured {
            MeasuredQuantity::Known(kind) => kind.label(),
            MeasuredQuantity::Other(name) => name.replace('_', " "),
        };
        let own = match &self.variant {
            Some(variant) => format!("{} {own}", variant.0.replace('_', " ")),
            None => own,
        };
        match &self.benchmark {
            Some(benchmark) => format!("{benchmark}/{own}"),
            None => own,
        }
    }
}

/// The name in the document.
impl fmt::Display for MetricId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = match &self.measured {
            MeasuredQuantity::Known(kind) => kind.to_string(),
            MeasuredQuantity::Other(name) => name.to_string(),
        };
        let own = match &self.variant {
            Some(variant) => format!("{variant}_{own}"),
            None => own,
        };
        match &self.benchmark {
            Some(benchmark) => formatter.pad(&format!("{benchmark}/{own}")),
            None => formatter.pad(&own),
        }
    }
}

impl From<MetricKind> for MetricId {
    fn from(kind: MetricKind) -> Self {
        Self::of(kind)
    }
}

impl Serialize for MetricId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MetricId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&safe_text::name(deserializer)?))
    }
}

#[cfg(test)]
impl JsonSchema for MetricId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MetricId".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_name_reads_back_as_same_id() {
        for id in [
            MetricId::IOPS,
            MetricId::OPTIMAL_DEPTH_IOPS,
            MetricId::LATENCY_P99_9,
            MetricId::of_variant(VariantKey::WRITE, MetricKind::LatencyMax),
            MetricId::of_variant(
                VariantKey::new("buffered").kibibytes(4),
                MetricKind::Latency,
            ),
            MetricId::of_nested("random-read", MetricKind::LatencyMean),
            MetricId::of_variant(VariantKey::READ, MetricKind::Iops).nested_in("mixed"),
            MetricId::IOPS.nested_in("inner").nested_in("outer"),
        ] {
            assert_eq!(MetricId::parse(&id.to_string()), id);
        }
    }

    #[test]
    fn foreign_metric_name_is_kept() {
        for name in [
            "",
            "/",
            "_",
            "a/",
            "latency_p99.90",
            "a b",
            "x_latency_p",
            "my metric/other",
        ] {
            let id = MetricId::parse(name);
            assert_eq!((id.to_string().as_str(), id.kind()), (name, None));
        }
    }

    #[test]
    fn metric_label_names_variant_and_benchmark() {
        for (name, label) in [
            ("iops", "IOPS"),
            ("latency_p99.9", "latency p99.9"),
            ("write_iops", "write IOPS"),
            ("random-read/iops", "random-read/IOPS"),
            ("some_thing", "some thing"),
        ] {
            assert_eq!(MetricId::parse(name).label(), label);
        }
    }
}
