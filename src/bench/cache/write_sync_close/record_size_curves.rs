//! Times of the write, sync and close steps: metrics and curves.

use std::time::Duration;

use super::io_path::IoPath;
use super::parameters::DEFAULT_RECORD_BYTES;
use crate::bench::framework::rounds::SweepRounds;
use crate::bench::framework::sweep::SweepTurn;
use crate::bench::framework::variants::{PassHook, Variant, VariantTotal, total_time};
use crate::engine::ExecutionOutcome;
use crate::session::document::{Findings, MetricId, MetricKind, SeriesKind};

/// Steps of a variant: the time of each, and its curve over the record size.
const STEPS: [(MetricKind, SeriesKind); 3] = [
    (
        MetricKind::WriteTime,
        SeriesKind::WriteTimeAgainstRecordSize,
    ),
    (MetricKind::SyncTime, SeriesKind::SyncTimeAgainstRecordSize),
    (
        MetricKind::CloseTime,
        SeriesKind::CloseTimeAgainstRecordSize,
    ),
];

/// Whether the metric has no meaning for a variant with separately timed steps.
fn is_meaningless(kind: MetricKind) -> bool {
    matches!(
        kind,
        MetricKind::Iops | MetricKind::Latency | MetricKind::LatencyPercentile(_)
    )
}

fn write_sync_close_times(outcome: &ExecutionOutcome) -> [Duration; 3] {
    let finish = outcome.finish_times.unwrap_or_default();
    [outcome.elapsed, finish.sync_time, finish.close_time]
}

/// Times of every record size and I/O path in the rounds so far; variants after those of the record
/// sizes are not included.
pub(crate) struct RecordTimes<'a> {
    records: &'a [(u32, IoPath, Variant)],
    /// Nanoseconds per step.
    step_times: [SweepRounds; 3],
    /// Bytes per second until the data is durable.
    throughputs: SweepRounds,
    /// Whether a limit truncated a file of these variants.
    cut_short: Vec<bool>,
}

impl<'a> RecordTimes<'a> {
    /// Creates it without any measurements.
    pub(crate) fn new(records: &'a [(u32, IoPath, Variant)], seed: u64) -> Self {
        let rounds = SweepRounds::new(records.len(), seed);
        Self {
            records,
            step_times: [rounds.clone(), rounds.clone(), rounds.clone()],
            throughputs: rounds,
            cut_short: vec![false; records.len()],
        }
    }

    /// Labels of variants with truncated files.
    pub(crate) fn cut_short(&self) -> Vec<&'a str> {
        let cut = self.records.iter().zip(&self.cut_short);
        cut.filter(|(_, cut)| **cut)
            .map(|((_, _, variant), _)| variant.label.as_str())
            .collect()
    }

    fn add(&mut self, SweepTurn { point, round, .. }: SweepTurn, outcome: &ExecutionOutcome) {
        let bytes = outcome.stats.bytes();
        let rate = bytes as f64 / total_time(outcome).as_secs_f64();
        self.throughputs.set_value(point, round, rate);
        let planned_bytes = self.records[point].2.plan.limits.bytes;
        if planned_bytes.is_some_and(|planned_bytes| bytes < planned_bytes) {
            self.cut_short[point] = true;
            return;
        }
        for (rounds, time) in self
            .step_times
            .iter_mut()
            .zip(write_sync_close_times(outcome))
        {
            rounds.set_value(point, round, time.as_nanos() as f64);
        }
    }

    /// Sets the three times of a variant; those of buffered 1 MiB records are the headline metrics.
    fn set_times(&self, findings: &mut Findings, point: usize) {
        let (record, way, variant) = &self.records[point];
        for ((time, _), rounds) in STEPS.into_iter().zip(&self.step_times) {
            let mut put = |id| {
                if let Some(metric) = rounds.metric_of_point(point, id) {
                    findings.set_metric(metric);
                }
            };
            put(MetricId::of_variant(variant.key.clone(), time));
            if *record == DEFAULT_RECORD_BYTES && *way == IoPath::Buffered {
                put(time.into());
            }
        }
    }

    /// Sets the curves from the data so far.
    fn set_series(&self, findings: &mut Findings) {
        let mut put = |kind, way: IoPath, rounds: &SweepRounds| {
            let points: Vec<usize> = (0..self.records.len())
                .filter(|point| self.records[*point].1 == way)
                .collect();
            let positions: Vec<f64> = points
                .iter()
                .map(|point| f64::from(self.records[*point].0))
                .collect();
            findings.set_series(
                rounds
                    .select_points(&points)
                    .series_of_means(kind, &positions),
            );
        };
        for ((_, curve), rounds) in STEPS.into_iter().zip(&self.step_times) {
            put(curve, IoPath::Buffered, rounds);
        }
        let rates = &self.throughputs;
        put(SeriesKind::ThroughputBuffered, IoPath::Buffered, rates);
        put(SeriesKind::ThroughputDirect, IoPath::Direct, rates);
    }
}

impl PassHook for RecordTimes<'_> {
    fn after_variant(
        &mut self,
        findings: &mut Findings,
        turn: SweepTurn,
        outcome: &ExecutionOutcome,
        _: &VariantTotal,
    ) {
        let Some((_, _, variant)) = self.records.get(turn.point) else {
            return;
        };
        self.add(turn, outcome);
        findings.metrics.retain(|metric| {
            metric.id.variant() != Some(&variant.key)
                || !metric.id.kind().is_some_and(is_meaningless)
        });
        self.set_times(findings, turn.point);
        self.set_series(findings);
    }
}
