//! Throughput over bytes written, and the drop where a cache is full.

use std::time::Duration;

use crate::bench::RunContext;
use crate::session::document::check::Check;
use crate::session::document::{Metric, MetricId, Series, SeriesKind};
use crate::stats::general::segments::find_level_drop;
use crate::stats::general::timeline::RunTimeline;
use crate::units;

/// Minimum relative drop at the end of a cache.
const MIN_DROP_FRACTION: f64 = 0.3;
/// Minimum number of time buckets on either side of a drop.
const MIN_DROP_BUCKETS: usize = 3;

pub(super) const WRITE_CLIFF: Check = Check::warning(
    "write-cliff",
    "The throughput fell permanently after a number of written bytes.",
);

/// Throughput over bytes written, for the whole benchmark.
#[derive(Debug, Default)]
pub(crate) struct ThroughputByBytesWritten {
    written_bytes: f64,
    points: Vec<[f64; 2]>,
    /// First point of each phase: preconditioning and rounds differ in rate by design.
    phase_starts: Vec<usize>,
    /// Whether the first phase fills the cache; else that is all rounds together.
    has_precondition: bool,
}

impl ThroughputByBytesWritten {
    /// Nothing was written yet.
    pub(crate) fn new(has_precondition: bool) -> Self {
        Self {
            has_precondition,
            ..Self::default()
        }
    }

    pub(crate) fn add_phase(&mut self, timeline: &RunTimeline, elapsed: Duration) {
        self.phase_starts.push(self.points.len());
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let rates = timeline.rates_over_time(elapsed_ns);
        for (index, bucket) in timeline.buckets().iter().enumerate() {
            self.written_bytes += bucket.bytes as f64;
            // The last bucket may be too short for a rate; its bytes still count.
            if let Some(rate) = rates.get(index) {
                self.points.push([self.written_bytes, rate[2]]);
            }
        }
        if rates.is_empty() && elapsed_ns > 0 {
            let bytes: u64 = timeline.buckets().iter().map(|bucket| bucket.bytes).sum();
            self.points
                .push([self.written_bytes, bytes as f64 / elapsed.as_secs_f64()]);
        }
    }

    /// The measurement so far as a curve.
    pub(crate) fn series(&self) -> Series {
        Series::new(SeriesKind::ThroughputAgainstWritten, self.points.clone())
    }

    /// Sets the curve, and the cache size if there is a drop.
    pub(crate) fn set_results(&self, bench: &mut RunContext<'_>) {
        bench.set_series(self.series());
        let end = match self.phase_starts.get(1) {
            Some(second) if self.has_precondition => *second,
            _ => self.points.len(),
        };
        let rates: Vec<f64> = self.points[..end].iter().map(|point| point[1]).collect();
        let Some(cliff) = find_level_drop(&rates, MIN_DROP_BUCKETS, MIN_DROP_FRACTION) else {
            return;
        };
        let bytes = self.points[cliff.first_index_after - 1][0];
        bench.set_metric(Metric::new(MetricId::CACHE_BYTES, bytes));
        bench.set_check(WRITE_CLIFF.found(
            format!(
                "after {} the throughput fell from {} to {}: a cache of about that size was full",
                units::format_capacity(bytes),
                units::format_throughput(cliff.mean_before),
                units::format_throughput(cliff.mean_after)
            ),
            "expect the lower throughput for anything larger than the cache",
            serde_json::json!({
                "written_bytes": bytes,
                "before": cliff.mean_before,
                "after": cliff.mean_after,
            }),
        ));
    }
}
