//! The metrics that a benchmark can yield and for which goals can be set.

use crate::session::document::{MetricId, MetricKind, Percentile, VariantKey};
use crate::stats::latency::histogram::PERCENTILES;
use crate::text;

/// A group of metrics that a benchmark can yield.
#[derive(Debug)]
pub enum MetricFamily {
    /// Metrics of the benchmark itself.
    Own(&'static [MetricKind]),
    /// Latency of all requests: mean, percentiles and maximum.
    Latency,
    /// Metrics of every variant of the measurement.
    Variants {
        /// The variants.
        variants: &'static [VariantFamily],
        /// What is measured of each, other than variants.
        metrics: &'static [Self],
    },
    /// Every metric of nested benchmarks: their names and their metrics.
    Nested(fn() -> Vec<(&'static str, &'static [MetricFamily])>),
}

/// A group of variants of a measurement.
#[derive(Debug)]
pub enum VariantFamily {
    /// One variant.
    One(VariantKey),
    /// The rounds of a variant, from 1 on.
    Rounds(VariantKey),
    /// A variant at several sizes in KiB.
    Kibibytes(VariantKey),
}

impl VariantFamily {
    fn contains(&self, variant: &VariantKey) -> bool {
        match self {
            Self::One(key) => key == variant,
            Self::Rounds(key) => key.round_of(variant).is_some(),
            Self::Kibibytes(key) => key.kibibytes_of(variant).is_some(),
        }
    }

    /// The first part of the metrics' names, for the user.
    fn pattern(&self) -> String {
        match self {
            Self::One(key) => key.to_string(),
            Self::Rounds(key) => format!("{key}_N"),
            Self::Kibibytes(key) => format!("{key}_Nk"),
        }
    }
}

/// Mean, percentiles and maximum of the latency.
fn latency_kinds() -> impl Iterator<Item = MetricKind> {
    let percentiles = PERCENTILES.map(Percentile::from_percent);
    [MetricKind::LatencyMean]
        .into_iter()
        .chain(percentiles.map(MetricKind::LatencyPercentile))
        .chain([MetricKind::LatencyMax])
}

impl MetricFamily {
    fn contains(&self, id: &MetricId) -> bool {
        match self {
            Self::Nested(nested) => nested().into_iter().any(|(benchmark, metrics)| {
                id.benchmark() == Some(benchmark) && contains(metrics, &id.within_benchmark())
            }),
            _ if id.is_nested() => false,
            Self::Variants { variants, metrics } => {
                let is_variant = |key| variants.iter().any(|family| family.contains(key));
                id.variant().is_some_and(is_variant)
                    && id
                        .kind()
                        .is_some_and(|kind| contains(metrics, &kind.into()))
            }
            _ if id.variant().is_some() => false,
            Self::Own(kinds) => id.kind().is_some_and(|kind| kinds.contains(&kind)),
            Self::Latency => latency_kinds().any(|kind| id.kind() == Some(kind)),
        }
    }

    /// What is measured, without variants and nested benchmarks.
    fn kinds(&self) -> Vec<MetricKind> {
        match self {
            Self::Own(kinds) => kinds.to_vec(),
            Self::Latency => latency_kinds().collect(),
            Self::Variants { .. } | Self::Nested(_) => Vec::new(),
        }
    }

    /// The metrics that can be listed: all but those of rounds and sizes.
    fn members(&self) -> Vec<MetricId> {
        match self {
            Self::Own(_) | Self::Latency => self.kinds().into_iter().map(MetricId::of).collect(),
            Self::Variants { variants, metrics } => {
                let keys = variants.iter().filter_map(|family| match family {
                    VariantFamily::One(key) => Some(key),
                    VariantFamily::Rounds(_) | VariantFamily::Kibibytes(_) => None,
                });
                let of_variant = |key: &VariantKey| {
                    let kinds = metrics.iter().flat_map(Self::kinds);
                    kinds
                        .map(|kind| MetricId::of_variant(key.clone(), kind))
                        .collect::<Vec<_>>()
                };
                keys.flat_map(of_variant).collect()
            }
            Self::Nested(nested) => {
                let of_nested = |(benchmark, metrics): (_, &'static [Self])| {
                    let own = metrics.iter().flat_map(Self::members);
                    own.map(move |id| id.nested_in(benchmark))
                };
                nested().into_iter().flat_map(of_nested).collect()
            }
        }
    }

    /// The metrics as text for the user.
    fn descriptions(&self) -> Vec<String> {
        match self {
            Self::Own(_) | Self::Latency => self.kinds().iter().map(ToString::to_string).collect(),
            Self::Variants { variants, metrics } => {
                let kinds: Vec<MetricKind> = metrics.iter().flat_map(Self::kinds).collect();
                let measured = match kinds[..] {
                    [kind] => kind.to_string(),
                    _ => "*".to_owned(),
                };
                let each = variants.iter().map(VariantFamily::pattern);
                each.map(|variant| format!("{variant}_{measured}"))
                    .collect()
            }
            Self::Nested(nested) => {
                let names = nested().into_iter().map(|(benchmark, _)| benchmark);
                names
                    .map(|benchmark| format!("those of {benchmark} as {benchmark}/..."))
                    .collect()
            }
        }
    }
}

/// Whether one of the families contains the metric.
#[must_use]
pub fn contains(families: &[MetricFamily], id: &MetricId) -> bool {
    families.iter().any(|family| family.contains(id))
}

/// All families as text for the user.
#[must_use]
pub fn describe(families: &[MetricFamily]) -> String {
    let words: Vec<String> = families
        .iter()
        .flat_map(MetricFamily::descriptions)
        .collect();
    words.join(", ")
}

/// `, did you mean NAME?` if a similar metric exists.
#[must_use]
pub fn suggest_metric(families: &[MetricFamily], id: &MetricId) -> String {
    let members = families.iter().flat_map(MetricFamily::members);
    let known: Vec<String> = members.map(|id| id.to_string()).collect();
    text::suggestion(&id.to_string(), known.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BENCHMARKS;

    const FAMILIES: &[MetricFamily] = &[
        MetricFamily::Own(&[MetricKind::Iops]),
        MetricFamily::Variants {
            variants: &[
                VariantFamily::One(VariantKey::WRITE),
                VariantFamily::Rounds(VariantKey::new("random")),
                VariantFamily::Kibibytes(VariantKey::new("read_ahead")),
            ],
            metrics: &[MetricFamily::Own(&[MetricKind::Throughput])],
        },
        MetricFamily::Nested(|| {
            let metrics: &[MetricFamily] = &[
                MetricFamily::Own(&[MetricKind::Iops]),
                MetricFamily::Latency,
            ];
            vec![("random-read", metrics)]
        }),
    ];

    #[test]
    fn metric_families_contain_own_variants_and_nested_metrics() {
        for (name, expected) in [
            ("iops", true),
            ("iops2", false),
            ("throughput", false),
            ("write_throughput", true),
            ("write_iops", false),
            ("read_throughput", false),
            ("random_3_throughput", true),
            ("random_x_throughput", false),
            ("random_throughput", false),
            ("read_ahead_128k_throughput", true),
            ("read_ahead_k_throughput", false),
            ("random-read/iops", true),
            ("random-read/latency_p99", true),
            ("random-read/write_throughput", false),
            ("random-read/foo", false),
            ("mixed/iops", false),
        ] {
            assert_eq!(
                contains(FAMILIES, &MetricId::parse(name)),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn similar_metric_is_suggested() {
        let suggestion = |name| suggest_metric(FAMILIES, &MetricId::parse(name));
        assert_eq!(suggestion("iosp"), ", did you mean iops?");
        assert!(suggestion("random-read/iop").contains("random-read/iops"));
        assert!(suggestion("write_throughputt").contains("write_throughput"));
    }

    #[test]
    fn declared_metrics_read_back_from_their_names() {
        for benchmark in BENCHMARKS {
            let description = benchmark.description();
            let declared = description.metrics.iter().flat_map(MetricFamily::members);
            for id in declared.chain(description.headline_metrics.iter().cloned()) {
                assert_eq!(MetricId::parse(&id.to_string()), id);
                assert!(
                    contains(description.metrics, &id),
                    "{}: {id}",
                    description.name
                );
            }
        }
    }
}
