//! Latency distributions.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::latency::histogram::{LatencyHistogram, PERCENTILES};

/// Latency of reads and of writes; a direction without requests is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LatencyByDirection {
    /// Latency of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<LatencySummary>,
    /// Latency of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<LatencySummary>,
}

/// A latency distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LatencySummary {
    /// Number of requests.
    pub count: u64,
    /// Arithmetic mean in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation in nanoseconds.
    pub stddev_ns: f64,
    /// Minimum in nanoseconds.
    pub min_ns: u64,
    /// Maximum in nanoseconds.
    pub max_ns: u64,
    /// Percentiles in nanoseconds, keyed by percentage, such as `"99.9"`. A percentile with fewer
    /// than 10 observations beyond it is omitted.
    pub percentiles: BTreeMap<String, u64>,
    /// Histogram: `[low_ns, high_ns, count]`, ascending, empty bins omitted; `low_ns` is inclusive,
    /// `high_ns` exclusive.
    pub histogram: Vec<[u64; 3]>,
}

impl LatencySummary {
    /// Summarizes a histogram; `None` if it is empty.
    #[must_use]
    pub fn from_histogram(latency: &LatencyHistogram) -> Option<Self> {
        let percentile = |percent: f64| Some((percent.to_string(), latency.percentile(percent)?));
        Some(Self {
            count: latency.count(),
            mean_ns: latency.mean()?,
            stddev_ns: latency.stddev_ns().unwrap_or(0.0),
            min_ns: latency.min()?,
            max_ns: latency.max()?,
            percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
            histogram: latency.histogram_bins(16),
        })
    }

    /// Lower bound of the histogram bin that holds the tenth percentile, in nanoseconds: within 5 % of
    /// it. `None` without a histogram.
    #[must_use]
    pub fn tenth_percentile(&self) -> Option<f64> {
        let total: u64 = self.histogram.iter().map(|[.., count]| count).sum();
        let mut below = 0_u64;
        let mut bins = self.histogram.iter();
        let bin = bins.find(|[.., count]| {
            below = below.saturating_add(*count);
            below.saturating_mul(10) >= total
        })?;
        Some(bin[0] as f64)
    }

    /// The cumulative distribution: `[ns, fraction of requests with at most this latency]`.
    #[must_use]
    pub fn cumulative_points(&self) -> Vec<[f64; 2]> {
        let mut below = 0_u64;
        let points = self.histogram.iter().map(|[_, high, count]| {
            below = below.saturating_add(*count);
            [*high as f64, below as f64 / self.count.max(1) as f64]
        });
        points.collect()
    }
}
