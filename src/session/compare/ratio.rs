//! Ratios of two metrics, with confidence intervals.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::interval;
use super::interval::{MissingInterval, NotDetermined};
use crate::session::document::{BenchmarkRun, Metric, MetricId, MetricKind, MetricUnit};
use crate::stats::general::confidence::independent_mean_estimate;

/// The direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BetterDirection {
    /// Higher is better, as with IOPS.
    #[serde(rename = "high")]
    HigherIsBetter,
    /// Lower is better, as with latency.
    #[serde(rename = "low")]
    LowerIsBetter,
}

/// The result of comparing one side with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RatioJudgement {
    /// Better: the 95 % interval of the ratio excludes 1.
    Faster,
    /// Worse: the 95 % interval of the ratio excludes 1.
    Slower,
    /// The 95 % interval of the ratio includes 1.
    NoSignificantDifference,
    /// The ratio has no 95 % interval, because a side has none.
    NotDetermined,
}

impl RatioJudgement {
    /// The judgement for display.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Faster => "better",
            Self::Slower => "worse",
            Self::NoSignificantDifference => "no significant difference",
            Self::NotDetermined => "not determined",
        }
    }
}

/// A metric of one side, from one run or from several.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MetricSample {
    /// The value; the mean of repeated runs.
    pub value: f64,
    /// Lower bound of the 95 % confidence interval; null if not determined.
    pub low: Option<f64>,
    /// Upper bound of the 95 % confidence interval; null if not determined.
    pub high: Option<f64>,
    /// Why there is no confidence interval; null if there is one.
    pub missing_interval: Option<MissingInterval>,
    /// Number of runs that the value is based on.
    pub runs: usize,
    /// This side compared with the baseline; null on the baseline itself.
    pub against_baseline: Option<BaselineRatio>,
}

/// A metric of one side compared with that of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct BaselineRatio {
    /// This side's value divided by the baseline's.
    pub ratio: f64,
    /// Lower bound of the ratio's 95 % confidence interval; null if not determined.
    pub low: Option<f64>,
    /// Upper bound of the ratio's 95 % confidence interval; null if not determined.
    pub high: Option<f64>,
    /// Which side is better; null for metrics where neither high nor low is better, such as an
    /// offset.
    pub judgement: Option<RatioJudgement>,
    /// The sides without a confidence interval, if the judgement is `not-determined`; otherwise
    /// empty.
    pub not_determined: Vec<NotDetermined>,
}

/// The direction in which a metric is better; `None` for metrics without one, such as an offset, a
/// size, a queue depth or the rotational speed.
#[must_use]
pub fn better_direction(id: &MetricId, unit: MetricUnit) -> Option<BetterDirection> {
    match unit {
        MetricUnit::PerSecond | MetricUnit::BytesPerSecond => Some(BetterDirection::HigherIsBetter),
        MetricUnit::Nanoseconds if id.kind() == Some(MetricKind::RevolutionTime) => None,
        MetricUnit::Nanoseconds => Some(BetterDirection::LowerIsBetter),
        MetricUnit::Ratio => match id.kind()? {
            MetricKind::Speedup => Some(BetterDirection::HigherIsBetter),
            MetricKind::ShareSlower => Some(BetterDirection::LowerIsBetter),
            _ => None,
        },
        _ => None,
    }
}

/// Combines a metric of repeated runs. With three or more runs the confidence interval is computed
/// from their spread, which contains variation that no single run shows; with two it covers the
/// intervals of both. `None` without runs.
#[must_use]
pub fn pool_metrics(metrics: &[&Metric]) -> Option<MetricSample> {
    let values: Vec<f64> = metrics.iter().map(|metric| metric.value).collect();
    let around_all = || {
        let low = metrics.iter().map(|metric| metric.low);
        let high = metrics.iter().map(|metric| metric.high);
        let (low, high): (Option<Vec<f64>>, Option<Vec<f64>>) = (low.collect(), high.collect());
        let low = low?.into_iter().fold(f64::INFINITY, f64::min);
        let high = high?.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Some([low, high])
    };
    let limits = match values.len() {
        0 => return None,
        1 | 2 => around_all(),
        _ => independent_mean_estimate(&values).and_then(|estimate| estimate.confidence_interval()),
    };
    Some(MetricSample {
        value: values.iter().sum::<f64>() / values.len() as f64,
        low: limits.map(|[low, _]| low),
        high: limits.map(|[_, high]| high),
        missing_interval: None,
        runs: values.len(),
        against_baseline: None,
    })
}

/// As [`pool_metrics`], with the reason if the runs have no confidence interval.
pub(super) fn pool_metrics_of_runs(found: &[(&BenchmarkRun, &Metric)]) -> Option<MetricSample> {
    let metrics: Vec<&Metric> = found.iter().map(|(_, metric)| *metric).collect();
    let mut sample = pool_metrics(&metrics)?;
    if sample.low.is_none() {
        let mut reasons = found
            .iter()
            .filter_map(|(run, metric)| interval::missing_interval(run, metric));
        sample.missing_interval = reasons.next().or(Some(MissingInterval::NotEstimated));
    }
    Some(sample)
}

/// Compares one side with the baseline. `None` if a ratio is undefined because a value is not above
/// 0.
///
/// The confidence interval of the ratio is computed from the intervals of both metrics on a
/// logarithmic scale by the method of variance estimates recovery (Zou and Donner, "Construction of
/// confidence limits about effect measures", Statistics in Medicine 27, 2008), which does not
/// require symmetric intervals.
#[must_use]
pub fn ratio_to_baseline(
    baseline: &MetricSample,
    other: &MetricSample,
    better: Option<BetterDirection>,
) -> Option<BaselineRatio> {
    if baseline.value <= 0.0 || other.value <= 0.0 {
        return None;
    }
    let limits = ratio_interval(baseline, other);
    Some(BaselineRatio {
        ratio: other.value / baseline.value,
        low: limits.map(|[low, _]| low),
        high: limits.map(|[_, high]| high),
        judgement: better.map(|better| judge_ratio(limits, better)),
        not_determined: Vec::new(),
    })
}

impl BaselineRatio {
    /// Records the sides that prevent a judgement.
    #[must_use]
    pub fn with_missing_intervals(mut self, sides: [(usize, &MetricSample); 2]) -> Self {
        if self.judgement == Some(RatioJudgement::NotDetermined) {
            let reasons = sides.into_iter().filter_map(|(side, sample)| {
                let reason = sample_missing_interval(sample)?;
                Some(NotDetermined {
                    session: side,
                    missing_interval_of: reason,
                })
            });
            self.not_determined = reasons.collect();
        }
        self
    }
}

fn judge_ratio(limits: Option<[f64; 2]>, better: BetterDirection) -> RatioJudgement {
    let Some([low, high]) = limits else {
        return RatioJudgement::NotDetermined;
    };
    match better {
        BetterDirection::HigherIsBetter if low > 1.0 => RatioJudgement::Faster,
        BetterDirection::HigherIsBetter if high < 1.0 => RatioJudgement::Slower,
        BetterDirection::LowerIsBetter if low > 1.0 => RatioJudgement::Slower,
        BetterDirection::LowerIsBetter if high < 1.0 => RatioJudgement::Faster,
        _ => RatioJudgement::NoSignificantDifference,
    }
}

/// Why a sample gives a ratio no confidence interval; `None` if it gives one.
fn sample_missing_interval(sample: &MetricSample) -> Option<MissingInterval> {
    match (sample.low, sample.high) {
        (Some(low), Some(_)) if low > 0.0 => None,
        (Some(_), Some(_)) => Some(MissingInterval::ReachesZero),
        _ => sample
            .missing_interval
            .or(Some(MissingInterval::NotEstimated)),
    }
}

fn ratio_interval(first: &MetricSample, other: &MetricSample) -> Option<[f64; 2]> {
    let logarithms = |sample: &MetricSample| {
        let low = sample.low.filter(|low| *low > 0.0)?;
        Some([low.ln(), sample.value.ln(), sample.high?.ln()])
    };
    let [first_low, first, first_high] = logarithms(first)?;
    let [other_low, other, other_high] = logarithms(other)?;
    let difference = other - first;
    let below = (other - other_low).hypot(first_high - first);
    let above = (other_high - other).hypot(first - first_low);
    Some([(difference - below).exp(), (difference + above).exp()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(value: f64, low: f64, high: f64) -> MetricSample {
        MetricSample {
            value,
            low: Some(low),
            high: Some(high),
            missing_interval: None,
            runs: 1,
            against_baseline: None,
        }
    }

    #[test]
    fn better_direction_decides_faster_or_slower() {
        let (small, large) = (sample(100.0, 98.0, 102.0), sample(120.0, 118.0, 122.0));
        let wide = sample(120.0, 90.0, 150.0);
        let [higher, lower] = [
            BetterDirection::HigherIsBetter,
            BetterDirection::LowerIsBetter,
        ];
        for (first, other, better, judgement) in [
            (&small, &large, higher, RatioJudgement::Faster),
            (&large, &small, higher, RatioJudgement::Slower),
            (&small, &large, lower, RatioJudgement::Slower),
            (&large, &small, lower, RatioJudgement::Faster),
            (
                &small,
                &wide,
                higher,
                RatioJudgement::NoSignificantDifference,
            ),
        ] {
            let against = ratio_to_baseline(first, other, Some(better)).unwrap();
            assert_eq!(against.judgement, Some(judgement));
        }
    }

    #[test]
    fn ratio_without_interval_is_not_determined_and_names_session() {
        let known = sample(100.0, 98.0, 102.0);
        let unsure = MetricSample {
            low: None,
            high: None,
            missing_interval: Some(MissingInterval::Drifting),
            ..known.clone()
        };
        let to_zero = sample(100.0, 0.0, 200.0);
        let explained = |first: &MetricSample, other: &MetricSample, better| {
            let against = ratio_to_baseline(first, other, better).unwrap();
            against.with_missing_intervals([(0, first), (2, other)])
        };
        let reasons = |first: &MetricSample, other: &MetricSample| {
            let against = explained(first, other, Some(BetterDirection::HigherIsBetter));
            assert_eq!(against.judgement, Some(RatioJudgement::NotDetermined));
            let sides = against.not_determined.into_iter();
            sides
                .map(|it| (it.session, it.missing_interval_of))
                .collect::<Vec<_>>()
        };
        let drifting = |side| (side, MissingInterval::Drifting);
        assert_eq!(reasons(&known, &unsure), [drifting(2)]);
        assert_eq!(reasons(&unsure, &unsure), [drifting(0), drifting(2)]);
        let reaches = (0, MissingInterval::ReachesZero);
        assert_eq!(reasons(&to_zero, &known), [reaches]);
        let decided = explained(&known, &known, Some(BetterDirection::HigherIsBetter));
        assert!(decided.not_determined.is_empty());
        let neither = explained(&known, &unsure, None);
        assert!(neither.not_determined.is_empty() && neither.judgement.is_none());
    }

    #[test]
    fn ratio_interval_matches_manual_calculation() {
        // Both are known to a factor of 1.1 either way: the ratio to 1.1^sqrt(2) = 1.1443.
        let (first, other) = (
            sample(100.0, 100.0 / 1.1, 110.0),
            sample(200.0, 200.0 / 1.1, 220.0),
        );
        let against = ratio_to_baseline(&first, &other, None).unwrap();
        assert!((against.high.unwrap() - 2.0 * 1.144_3).abs() < 1e-3);
        assert!((against.low.unwrap() - 2.0 / 1.144_3).abs() < 1e-3);
        assert_eq!(against.judgement, None);
    }

    #[test]
    fn better_direction_follows_metric_name_and_unit() {
        let [higher, lower] = [
            BetterDirection::HigherIsBetter,
            BetterDirection::LowerIsBetter,
        ];
        for (name, better) in [
            ("iops", Some(higher)),
            ("throughput_min", Some(higher)),
            ("latency_p99", Some(lower)),
            ("throughput_min_offset", None),
            ("rotation/revolution_time", None),
            ("rotation_speed", None),
            ("optimal_depth", None),
        ] {
            let id = MetricId::parse(name);
            assert_eq!(better_direction(&id, id.unit().unwrap()), better, "{name}");
        }
    }

    #[test]
    fn repeated_runs_are_pooled() {
        let metric =
            |value: f64| Metric::new(MetricId::IOPS, value).with_interval(value - 1.0, value + 1.0);
        let (a, b, c) = (metric(10.0), metric(12.0), metric(14.0));
        assert_eq!(pool_metrics(&[]), None);
        assert_eq!(pool_metrics(&[&a]), Some(sample(10.0, 9.0, 11.0)));
        let two = pool_metrics(&[&a, &b]).unwrap();
        assert_eq!(
            (two.value, two.low, two.high),
            (11.0, Some(9.0), Some(13.0))
        );
        // Mean 12, standard deviation 2: 12 +- 4.3027 * 2 / sqrt(3).
        let three = pool_metrics(&[&a, &b, &c]).unwrap();
        assert!((three.high.unwrap() - 16.968_3).abs() < 1e-3);
        assert_eq!(three.runs, 3);
        let bare = Metric::new(MetricId::IOPS, 1.0);
        assert_eq!(pool_metrics(&[&a, &bare]).unwrap().low, None);
    }

    proptest! {
        #[test]
        fn swapped_sessions_invert_ratio(
            first in 1.0..1e6_f64, other in 1.0..1e6_f64, share in 0.0..0.9_f64,
        ) {
            let around = |value: f64| sample(value, value * (1.0 - share), value * (1.0 + share));
            let there = ratio_to_baseline(&around(first), &around(other), Some(BetterDirection::HigherIsBetter)).unwrap();
            let back = ratio_to_baseline(&around(other), &around(first), Some(BetterDirection::HigherIsBetter)).unwrap();
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            prop_assert!((there.low.unwrap() * back.high.unwrap() - 1.0).abs() < 1e-9);
            prop_assert!(there.low <= Some(there.ratio * (1.0 + 1e-12)));
            prop_assert!(there.high >= Some(there.ratio * (1.0 - 1e-12)));
        }
    }
}
