//! Results of the sweep: curves, fitted line, and derived metrics.

use serde_json::{Value, json};

use super::description::{KERNEL_SPLITS, KEY_SIZE, NO_RESPONSE_MODEL, POINTER_SIZE, TREE_ENTRIES};
use crate::bench::RunContext;
use crate::bench::framework;
use crate::bench::framework::rounds::{SweepRounds, interval_from_repetitions};
use crate::bench::framework::sweep::SweepTurn;
use crate::drive::Target;
use crate::engine::ExecutionOutcome;
use crate::session::document::{Metric, MetricId, Series, SeriesId, SeriesKind};
use crate::stats::latency::response_model::{ResponseModel, crossing_point};
use crate::units;

/// Minimum number of requests for a mean.
const MIN_REQUESTS: u64 = 5;

/// Metrics derived from the fitted line.
const DERIVED_METRICS: [MetricId; 6] = [
    MetricId::ACCESS_TIME,
    MetricId::MEDIA_THROUGHPUT,
    MetricId::BALANCED_BLOCK_SIZE,
    MetricId::BTREE_NODE_SIZE,
    MetricId::BTREE_LOOKUP_TIME,
    MetricId::FULL_COPY_TIME,
];

/// Results per size from the rounds so far.
#[derive(Debug)]
pub(crate) struct BlockSizePoints {
    bytes: Vec<f64>,
    request_counts: Vec<u64>,
    /// Mean latencies in nanoseconds.
    mean_latencies: SweepRounds,
    /// Requests per second.
    iops: SweepRounds,
}

impl BlockSizePoints {
    /// Creates it without any measurements.
    pub(crate) fn new(sizes: &[u32], seed: u64) -> Self {
        Self {
            bytes: sizes.iter().map(|size| f64::from(*size)).collect(),
            request_counts: vec![0; sizes.len()],
            mean_latencies: SweepRounds::new(sizes.len(), seed),
            iops: SweepRounds::new(sizes.len(), seed),
        }
    }

    pub(crate) fn add(
        &mut self,
        SweepTurn { point, round, .. }: SweepTurn,
        outcome: &ExecutionOutcome,
    ) {
        let requests = outcome.stats.requests();
        self.request_counts[point] += requests;
        let mean = outcome.stats.latency().mean();
        if let Some((mean, rate)) = mean.zip(outcome.per_second(requests)) {
            self.mean_latencies.set_value(point, round, mean);
            self.iops.set_value(point, round, rate);
        }
    }

    /// Indices of the sizes with enough requests.
    fn sizes_with_enough_requests(&self) -> Vec<usize> {
        let enough = |point: &usize| self.request_counts[*point] >= MIN_REQUESTS;
        (0..self.bytes.len())
            .filter(enough)
            .filter(|point| self.mean_latencies.mean(*point).is_some())
            .collect()
    }

    /// A curve over the size in bytes: means and confidence intervals over the rounds, each
    /// multiplied by a factor of its size.
    fn build_series(
        &self,
        kind: SeriesKind,
        rounds: &SweepRounds,
        factor: impl Fn(f64) -> f64,
    ) -> Series {
        let known = self.sizes_with_enough_requests();
        let bytes: Vec<f64> = known.iter().map(|point| self.bytes[*point]).collect();
        let mut series = rounds.select_points(&known).series_of_means(kind, &bytes);
        for point in &mut series.points {
            point[1] *= factor(point[0]);
        }
        for (interval, bytes) in series.intervals.iter_mut().zip(bytes) {
            *interval = interval.map(|limits| limits.map(|limit| limit * factor(bytes)));
        }
        series
    }

    pub(crate) fn set_series(&self, bench: &mut RunContext<'_>) {
        let most = |factor: fn(f64) -> f64| {
            let values = self
                .sizes_with_enough_requests()
                .into_iter()
                .filter_map(|point| {
                    let rate = self.iops.mean(point)?;
                    Some(rate * factor(self.bytes[point]))
                });
            values.fold(0.0, f64::max)
        };
        let (top_rate, top_iops) = (most(|bytes| bytes), most(|_| 1.0));
        for series in [
            self.build_series(
                SeriesKind::ThroughputAgainstBlockSize,
                &self.iops,
                |bytes| bytes,
            ),
            self.build_series(SeriesKind::IopsAgainstBlockSize, &self.iops, |_| 1.0),
            self.build_series(
                SeriesKind::ResponseAgainstBlockSize,
                &self.mean_latencies,
                |_| 1.0,
            ),
            self.build_series(SeriesKind::ThroughputShare, &self.iops, |bytes| {
                bytes / top_rate
            }),
            self.build_series(SeriesKind::IopsShare, &self.iops, |_| 1.0 / top_iops),
        ] {
            bench.set_series(series);
        }
    }

    /// `[bytes, latency, IOPS]` of every size with enough requests: the means, then those of each
    /// round with all of these sizes.
    fn measured_points(&self) -> (Vec<[f64; 3]>, Vec<Vec<[f64; 3]>>) {
        let known = self.sizes_with_enough_requests();
        let means = known.iter().filter_map(|point| {
            let (mean, rate) = (self.mean_latencies.mean(*point)?, self.iops.mean(*point)?);
            Some([self.bytes[*point], mean, rate])
        });
        let round = |round: usize| -> Option<Vec<[f64; 3]>> {
            let one = |point: &usize| {
                let (mean, rate) = (
                    self.mean_latencies.value_in_round(*point, round)?,
                    self.iops.value_in_round(*point, round)?,
                );
                Some([self.bytes[*point], mean, rate])
            };
            known.iter().map(one).collect()
        };
        let rounds = (0..crate::bench::framework::rounds::DEFAULT_ROUNDS).filter_map(round);
        (means.collect(), rounds.collect())
    }

    /// Sets the metrics of the fitted line and of the crossing; their confidence intervals come
    /// from the same metrics of each round.
    pub(crate) fn set_model_metrics(&self, bench: &mut RunContext<'_>) {
        let is_derived =
            |id: &MetricId| DERIVED_METRICS.contains(id) || *id == MetricId::CROSSING_BLOCK_SIZE;
        let findings = &mut bench.findings;
        findings.metrics.retain(|it| !is_derived(&it.id));
        findings
            .series
            .retain(|it| it.id != SeriesId::RESPONSE_MODEL);
        findings.remove_check(NO_RESPONSE_MODEL);
        let (means, rounds) = self.measured_points();
        let crossings: Vec<f64> = rounds
            .iter()
            .filter_map(|round| efficiency_crossing(round))
            .collect();
        if let Some(value) = efficiency_crossing(&means) {
            set_metric_with_interval(bench, MetricId::CROSSING_BLOCK_SIZE, value, &crossings);
        }
        let limit = split_limit(bench.target);
        let models: Vec<ResponseModel> = rounds
            .iter()
            .filter_map(|round| fit_unsplit(round, limit))
            .collect();
        // A line must fit in every round.
        let model = fit_unsplit(&means, limit).filter(|_| models.len() == rounds.len());
        match model {
            Some(model) => set_fitted_line(bench, &model, &models, &means),
            None if unsplit_points(&means, limit).count() >= 3 => {
                bench.set_check(NO_RESPONSE_MODEL.found(
                    "the latency does not grow with the block size as access time plus transfer time",
                    "a cache answers, or the drive has other users: use --cache bypass, a larger window \
                     and an idle drive",
                    Value::Null,
                ));
            }
            None => {}
        }
        if let Some(limit) = limit.filter(|limit| means.iter().any(|point| point[0] > *limit)) {
            bench.set_check(KERNEL_SPLITS.found(
                format!(
                    "the kernel splits requests above {} (max_sectors_kb)",
                    units::format_block_size(limit)
                ),
                "larger blocks only save system calls on this drive",
                json!({ "limit_bytes": limit }),
            ));
        }
    }
}

/// Sets a metric with the confidence interval of its values over the rounds.
fn set_metric_with_interval(bench: &mut RunContext<'_>, id: MetricId, value: f64, rounds: &[f64]) {
    let run_metric = Metric::new(id, value);
    bench.set_metric(match interval_from_repetitions(value, rounds) {
        Some([low, high]) => run_metric.with_interval(low, high),
        None => run_metric,
    });
}

/// Size at which throughput and IOPS, as fractions of their maxima, cross.
fn efficiency_crossing(points: &[[f64; 3]]) -> Option<f64> {
    let most = |value: fn(&[f64; 3]) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let (rate, iops) = (most(|point| point[0] * point[2]), most(|point| point[2]));
    let shares: Vec<[f64; 3]> = points
        .iter()
        .map(|point| [point[0], point[0] * point[2] / rate, point[2] / iops])
        .collect();
    crossing_point(&shares)
}

/// Sizes that the kernel does not split: it submits the pieces of larger requests in parallel.
fn unsplit_points(points: &[[f64; 3]], limit: Option<f64>) -> impl Iterator<Item = [f64; 2]> {
    points
        .iter()
        .filter(move |point| limit.is_none_or(|limit| point[0] <= limit))
        .map(|point| [point[0], point[1]])
}

fn fit_unsplit(points: &[[f64; 3]], limit: Option<f64>) -> Option<ResponseModel> {
    ResponseModel::fit(&unsplit_points(points, limit).collect::<Vec<_>>())
}

/// Values of the metrics in [`DERIVED_METRICS`], in that order.
fn derived_metrics(bench: &RunContext<'_>, model: &ResponseModel) -> [f64; 6] {
    let parameters = bench.parameters;
    let node = model.best_btree_node(
        parameters.get(KEY_SIZE) as f64,
        parameters.get(POINTER_SIZE) as f64,
        parameters.get(TREE_ENTRIES) as f64,
    );
    [
        model.access_ns,
        model.bytes_per_second,
        model.balanced_bytes(),
        node.node_bytes,
        node.lookup_ns,
        framework::underlying_capacity(bench.target) as f64 / model.bytes_per_second * 1e9,
    ]
}

/// Sets the fitted line and the metrics derived from it.
fn set_fitted_line(
    bench: &mut RunContext<'_>,
    model: &ResponseModel,
    rounds: &[ResponseModel],
    points: &[[f64; 3]],
) {
    let line = points
        .iter()
        .map(|point| [point[0], model.response_ns(point[0])]);
    bench.set_series(Series::new(SeriesKind::ResponseModel, line.collect()));
    let values = derived_metrics(bench, model);
    let rounds: Vec<[f64; 6]> = rounds
        .iter()
        .map(|model| derived_metrics(bench, model))
        .collect();
    for (index, (metric, value)) in DERIVED_METRICS.into_iter().zip(values).enumerate() {
        let repeated: Vec<f64> = rounds.iter().map(|round| round[index]).collect();
        set_metric_with_interval(bench, metric, value, &repeated);
    }
}

/// Size in bytes above which the kernel splits requests, if known.
fn split_limit(target: &Target) -> Option<f64> {
    let kib = target.drive.as_ref()?.max_request_kib?;
    Some(f64::from(kib) * 1024.0)
}
