//! Distributions of response times.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::latency::histogram::{LatencyHistogram, PERCENTILES};

/// Response times of reads and of writes; absent where none were made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyByDirection {
    /// Of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<LatencySummary>,
    /// Of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<LatencySummary>,
}

/// A distribution of response times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// How many requests.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stddev_ns: f64,
    /// The fastest.
    pub min_ns: u64,
    /// The slowest.
    pub max_ns: u64,
    /// By percent, such as `"99.9"`: the response time that this share of requests beats. A
    /// percentile that fewer than 10 observations lie beyond is left out.
    #[serde(deserialize_with = "crate::bounded::bounded_map::<_, _, _, 1_000>")]
    pub percentiles: BTreeMap<String, u64>,
    /// `[low_ns, high_ns, count]`, ascending, empty bins left out; `low` is in, `high` is not.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 100_000>")]
    pub histogram: Vec<[u64; 3]>,
}

impl LatencySummary {
    /// What is kept of many response times; `None` when there are none.
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

    /// The distribution as a curve: `[ns, share of requests that took at most so long]`.
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
