//! Results of the sweep: curves, fitted line, and derived metrics.

use crate::bench::RunContext;
use crate::bench::framework;
use crate::bench::framework::rounds::{SweepRounds, interval_from_repetitions};
use crate::bench::framework::sweep::SweepTurn;
use crate::bench::framework::variants::combined_latency;
use crate::drive::Target;
use crate::engine::ExecutionOutcome;
use crate::session::document::check::{CheckEvidence, CheckId, SplitLimit};
use crate::session::document::{ChartAxis, Metric, MetricUnit, Series};
use crate::stats::latency::response_model::{ResponseModel, crossing_point};

/// Minimum number of requests for a mean.
const MIN_REQUESTS: u64 = 5;

/// Metrics derived from the fitted line: name and unit.
const DERIVED_METRICS: [(&str, MetricUnit); 6] = [
    ("access_time", MetricUnit::Nanoseconds),
    ("media_throughput", MetricUnit::BytesPerSecond),
    ("balanced_block_size", MetricUnit::Bytes),
    ("btree_node_size", MetricUnit::Bytes),
    ("btree_lookup_time", MetricUnit::Nanoseconds),
    ("full_copy_time", MetricUnit::Nanoseconds),
];

/// Checks of both block size benchmarks.
pub(crate) const CHECKS: &[CheckId] = &[CheckId::NoResponseModel, CheckId::KernelSplits];

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
        let (requests, seconds) = (outcome.stats.requests(), outcome.elapsed.as_secs_f64());
        self.request_counts[point] += requests;
        if let Some(mean) = combined_latency(outcome).mean().filter(|_| seconds > 0.0) {
            self.mean_latencies.set_value(point, round, mean);
            self.iops.set_value(point, round, requests as f64 / seconds);
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
        name: &str,
        y: (&str, MetricUnit),
        rounds: &SweepRounds,
        factor: impl Fn(f64) -> f64,
    ) -> Series {
        let known = self.sizes_with_enough_requests();
        let bytes: Vec<f64> = known.iter().map(|point| self.bytes[*point]).collect();
        let x = ChartAxis::new("block size", MetricUnit::Bytes);
        let mut series =
            rounds
                .select_points(&known)
                .series_of_means(name, x, ChartAxis::new(y.0, y.1), &bytes);
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
        let response = ("response time", MetricUnit::Nanoseconds);
        let share = ("share of the best", MetricUnit::Ratio);
        for series in [
            self.build_series(
                "throughput-against-block-size",
                ("throughput", MetricUnit::BytesPerSecond),
                &self.iops,
                |bytes| bytes,
            ),
            self.build_series(
                "iops-against-block-size",
                ("IOPS", MetricUnit::PerSecond),
                &self.iops,
                |_| 1.0,
            ),
            self.build_series(
                "response-against-block-size",
                response,
                &self.mean_latencies,
                |_| 1.0,
            ),
            self.build_series("throughput-share", share, &self.iops, |bytes| {
                bytes / top_rate
            }),
            self.build_series("iops-share", share, &self.iops, |_| 1.0 / top_iops),
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
        let names = DERIVED_METRICS.iter().map(|(name, _)| *name);
        let stale: Vec<&str> = names.chain(["crossing_block_size"]).collect();
        let findings = &mut bench.findings;
        findings.figures.retain(|it| !stale.contains(&&*it.name));
        findings.series.retain(|it| it.name != "response-model");
        findings.remove_check(CheckId::NoResponseModel);
        let (means, rounds) = self.measured_points();
        let crossings: Vec<f64> = rounds
            .iter()
            .filter_map(|round| efficiency_crossing(round))
            .collect();
        if let Some(value) = efficiency_crossing(&means) {
            set_metric_with_interval(
                bench,
                ("crossing_block_size", MetricUnit::Bytes),
                value,
                &crossings,
            );
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
                bench.set_check(CheckEvidence::NoResponseModel)
            }
            None => {}
        }
        if let Some(limit) = limit.filter(|limit| means.iter().any(|point| point[0] > *limit)) {
            bench.set_check(CheckEvidence::KernelSplits(SplitLimit {
                limit_bytes: limit,
            }));
        }
    }
}

/// Sets a metric with the confidence interval of its values over the rounds.
fn set_metric_with_interval(
    bench: &mut RunContext<'_>,
    (name, unit): (&str, MetricUnit),
    value: f64,
    rounds: &[f64],
) {
    let figure = Metric::new(name, value, unit);
    bench.set_metric(match interval_from_repetitions(value, rounds) {
        Some([low, high]) => figure.with_interval(low, high),
        None => figure,
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
    let bytes = |name| parameters.bytes(name).unwrap_or(8) as f64;
    let entries = parameters.count("entries").unwrap_or(1_000_000_000) as f64;
    let node = model.best_btree_node(bytes("key-size"), bytes("pointer-size"), entries);
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
    bench.set_series(framework::series(
        "response-model",
        ("block size", MetricUnit::Bytes),
        ("response time", MetricUnit::Nanoseconds),
        line.collect(),
    ));
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
