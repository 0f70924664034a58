//! Throughput against what was written, and the cliff where a cache is full.

use std::time::Duration;

use crate::bench::Bench;
use crate::bench::common::series;
use crate::session::document::{Figure, Series, Severity, Unit, Verdict};
use crate::stats::segments::cliff;
use crate::stats::timeline::Timeline;
use crate::units;

/// A fall by less than this share is no cache's end.
const CLIFF: f64 = 0.3;
/// Buckets of time on either side of a cliff.
const CLIFF_BUCKETS: usize = 3;

/// Throughput by bytes written, over the whole test.
#[derive(Debug, Default)]
pub(super) struct Written {
    bytes: f64,
    points: Vec<[f64; 2]>,
    /// Where each phase's points begin: preconditioning and rounds differ by themselves.
    phases: Vec<usize>,
}

impl Written {
    /// Adds a phase.
    pub(super) fn add(&mut self, timeline: &Timeline, elapsed: Duration) {
        self.phases.push(self.points.len());
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let rates = timeline.rates(elapsed_ns);
        for (index, bucket) in timeline.buckets().iter().enumerate() {
            self.bytes += bucket.bytes as f64;
            // The last bucket may be too short to have a rate; its bytes count all the same.
            if let Some(rate) = rates.get(index) {
                self.points.push([self.bytes, rate[2]]);
            }
        }
        if rates.is_empty() && elapsed_ns > 0 {
            let bytes: u64 = timeline.buckets().iter().map(|bucket| bucket.bytes).sum();
            self.points
                .push([self.bytes, bytes as f64 / elapsed.as_secs_f64()]);
        }
    }

    /// What was measured so far, as a curve.
    pub(super) fn series(&self) -> Series {
        series(
            "throughput-against-written",
            ("written", Unit::Bytes),
            ("throughput", Unit::BytesPerSecond),
            self.points.clone(),
        )
    }

    /// Sets the curve, and the size of the cache where there is a cliff.
    pub(super) fn report(&self, bench: &mut Bench<'_>) {
        bench.series(self.series());
        // The first phase fills the cache; without preconditioning that is all rounds together.
        let rounds_only = bench.parameters.number("precondition") == Some(0.0);
        let end = match self.phases.get(1) {
            Some(second) if !rounds_only => *second,
            _ => self.points.len(),
        };
        let rates: Vec<f64> = self.points[..end].iter().map(|point| point[1]).collect();
        let Some(cliff) = cliff(&rates, CLIFF_BUCKETS, CLIFF) else {
            return;
        };
        let bytes = self.points[cliff.at - 1][0];
        bench.figure(Figure::new("cache_bytes", bytes, Unit::Bytes));
        bench.verdict(Verdict::new(
            "write-cliff",
            Severity::Warning,
            format!(
                "after {} throughput fell from {} to {}: a cache of about that size was full",
                units::capacity(bytes),
                units::throughput(cliff.before),
                units::throughput(cliff.after)
            ),
            "count on the lower figure for anything larger than the cache",
        ));
    }
}
