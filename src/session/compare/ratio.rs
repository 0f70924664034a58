//! Two figures against each other.

use schemars::JsonSchema;
use serde::Serialize;

use super::interval::{self, MissingInterval, NotDetermined};
use crate::session::document::{Figure, Run, Unit};
use crate::stats::confidence::independent;

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// The higher the better, as with IOPS.
    High,
    /// The lower the better, as with response times.
    Low,
}

/// What may be said of one side against the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Better: the 95 % interval of the ratio excludes 1.
    Faster,
    /// Worse: the 95 % interval of the ratio excludes 1.
    Slower,
    /// The 95 % interval of the ratio includes 1.
    NoSignificantDifference,
    /// The ratio has no 95 % interval, because a side has none.
    NotDetermined,
}

impl Judgement {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoSignificantDifference => "no significant difference",
            Self::NotDetermined => "not determined",
        }
    }
}

/// A figure of one side, of one run or of several together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// The value; the mean of repeated runs.
    pub value: f64,
    /// Lower 95 % limit; null where it cannot be had.
    pub low: Option<f64>,
    /// Upper 95 % limit; null where it cannot be had.
    pub high: Option<f64>,
    /// Why there are no limits; null where there are.
    pub missing_interval: Option<MissingInterval>,
    /// Runs that it rests on.
    pub runs: usize,
    /// This side against the baseline; null on the baseline itself.
    #[serde(rename = "against_first")]
    pub against_baseline: Option<Against>,
}

/// One side's figure against that of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// This side's value divided by the baseline's.
    pub ratio: f64,
    /// Lower 95 % limit of the ratio; null where it cannot be had.
    pub low: Option<f64>,
    /// Upper 95 % limit of the ratio; null where it cannot be had.
    pub high: Option<f64>,
    /// Which side is better; null for figures that are neither better high nor low, such as a
    /// position.
    pub judgement: Option<Judgement>,
    /// The sides that have no interval, where the judgement is `not-determined`; otherwise empty.
    pub not_determined: Vec<NotDetermined>,
}

/// Which way a figure is better; `None` for what is neither, such as a position, a size, a depth
/// or the speed of rotation.
#[must_use]
pub fn better(name: &str, unit: Unit) -> Option<Better> {
    // A part of a larger test has its name in front.
    let name = name.rsplit('/').next().unwrap_or(name);
    match unit {
        Unit::PerSecond | Unit::BytesPerSecond => Some(Better::High),
        Unit::Nanoseconds if name.starts_with("revolution") => None,
        Unit::Nanoseconds => Some(Better::Low),
        Unit::Ratio if name == "speedup" => Some(Better::High),
        Unit::Ratio if name == "share_slower" => Some(Better::Low),
        _ => None,
    }
}

/// The figures of repeated runs as one. From three runs on their spread gives the limits, since it
/// holds what no single run can know of; of two the limits reach around both. `None` without any.
#[must_use]
pub fn pooled(figures: &[&Figure]) -> Option<Sample> {
    let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
    let around_all = || {
        let low = figures.iter().map(|figure| figure.low);
        let high = figures.iter().map(|figure| figure.high);
        let (low, high): (Option<Vec<f64>>, Option<Vec<f64>>) = (low.collect(), high.collect());
        let low = low?.into_iter().fold(f64::INFINITY, f64::min);
        let high = high?.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Some([low, high])
    };
    let limits = match values.len() {
        0 => return None,
        1 | 2 => around_all(),
        _ => independent(&values).and_then(|estimate| estimate.limits()),
    };
    Some(Sample {
        value: values.iter().sum::<f64>() / values.len() as f64,
        low: limits.map(|[low, _]| low),
        high: limits.map(|[_, high]| high),
        missing_interval: None,
        runs: values.len(),
        against_baseline: None,
    })
}

/// [`pooled`], and where the runs give no limits the reason.
pub(super) fn pooled_of_runs(found: &[(&Run, &Figure)]) -> Option<Sample> {
    let figures: Vec<&Figure> = found.iter().map(|(_, figure)| *figure).collect();
    let mut sample = pooled(&figures)?;
    if sample.low.is_none() {
        let mut reasons = found
            .iter()
            .filter_map(|(run, figure)| interval::missing(run, figure));
        sample.missing_interval = reasons.next().or(Some(MissingInterval::NotEstimated));
    }
    Some(sample)
}

/// One side against the baseline. `None` where a ratio means nothing because a value is not above 0.
///
/// The limits of the ratio follow from the limits of both figures on a logarithmic scale by the
/// method of variance estimates recovery (Zou and Donner, "Construction of confidence limits about
/// effect measures", Statistics in Medicine 27, 2008), which does not ask them to be symmetric.
#[must_use]
pub fn against(baseline: &Sample, other: &Sample, better: Option<Better>) -> Option<Against> {
    if baseline.value <= 0.0 || other.value <= 0.0 {
        return None;
    }
    let limits = limits_of_ratio(baseline, other);
    Some(Against {
        ratio: other.value / baseline.value,
        low: limits.map(|[low, _]| low),
        high: limits.map(|[_, high]| high),
        judgement: better.map(|better| judge(limits, better)),
        not_determined: Vec::new(),
    })
}

impl Against {
    /// Names the sides that keep it from being judged.
    #[must_use]
    pub fn explained(mut self, sides: [(usize, &Sample); 2]) -> Self {
        if self.judgement == Some(Judgement::NotDetermined) {
            let reasons = sides.into_iter().filter_map(|(side, sample)| {
                let reason = without_limits(sample)?;
                Some(NotDetermined { side, reason })
            });
            self.not_determined = reasons.collect();
        }
        self
    }
}

fn judge(limits: Option<[f64; 2]>, better: Better) -> Judgement {
    let Some([low, high]) = limits else {
        return Judgement::NotDetermined;
    };
    match better {
        Better::High if low > 1.0 => Judgement::Faster,
        Better::High if high < 1.0 => Judgement::Slower,
        Better::Low if low > 1.0 => Judgement::Slower,
        Better::Low if high < 1.0 => Judgement::Faster,
        _ => Judgement::NoSignificantDifference,
    }
}

/// Why a sample gives a ratio no limits; `None` where it does.
fn without_limits(sample: &Sample) -> Option<MissingInterval> {
    match (sample.low, sample.high) {
        (Some(low), Some(_)) if low > 0.0 => None,
        (Some(_), Some(_)) => Some(MissingInterval::ReachesZero),
        _ => sample
            .missing_interval
            .or(Some(MissingInterval::NotEstimated)),
    }
}

fn limits_of_ratio(first: &Sample, other: &Sample) -> Option<[f64; 2]> {
    let logarithms = |sample: &Sample| {
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

    fn sample(value: f64, low: f64, high: f64) -> Sample {
        Sample {
            value,
            low: Some(low),
            high: Some(high),
            missing_interval: None,
            runs: 1,
            against_baseline: None,
        }
    }

    fn judged(first: &Sample, other: &Sample, better: Better) -> Judgement {
        against(first, other, Some(better))
            .unwrap()
            .judgement
            .unwrap()
    }

    #[test]
    fn what_is_better_decides_who_is_faster() {
        let (small, large) = (sample(100.0, 98.0, 102.0), sample(120.0, 118.0, 122.0));
        assert_eq!(judged(&small, &large, Better::High), Judgement::Faster);
        assert_eq!(judged(&large, &small, Better::High), Judgement::Slower);
        assert_eq!(judged(&small, &large, Better::Low), Judgement::Slower);
        assert_eq!(judged(&large, &small, Better::Low), Judgement::Faster);
        let wide = sample(120.0, 90.0, 150.0);
        assert_eq!(
            judged(&small, &wide, Better::High),
            Judgement::NoSignificantDifference
        );
    }

    #[test]
    fn ratio_without_an_interval_is_not_determined_and_names_the_side() {
        let known = sample(100.0, 98.0, 102.0);
        let unsure = Sample {
            low: None,
            high: None,
            missing_interval: Some(MissingInterval::Drifting),
            ..known.clone()
        };
        let to_zero = sample(100.0, 0.0, 200.0);
        let explained = |first: &Sample, other: &Sample, better| {
            let against = against(first, other, better).unwrap();
            against.explained([(0, first), (2, other)])
        };
        let reasons = |first: &Sample, other: &Sample| {
            let against = explained(first, other, Some(Better::High));
            assert_eq!(against.judgement, Some(Judgement::NotDetermined));
            let sides = against.not_determined.into_iter();
            sides.map(|it| (it.side, it.reason)).collect::<Vec<_>>()
        };
        let drifting = |side| (side, MissingInterval::Drifting);
        assert_eq!(reasons(&known, &unsure), [drifting(2)]);
        assert_eq!(reasons(&unsure, &unsure), [drifting(0), drifting(2)]);
        let reaches = (0, MissingInterval::ReachesZero);
        assert_eq!(reasons(&to_zero, &known), [reaches]);
        let decided = explained(&known, &known, Some(Better::High));
        assert!(decided.not_determined.is_empty());
        let neither = explained(&known, &unsure, None);
        assert!(neither.not_determined.is_empty() && neither.judgement.is_none());
    }

    #[test]
    fn limits_of_the_ratio_by_hand() {
        // Both known to a factor of 1.1 either way: the ratio to 1.1^sqrt(2) = 1.1443.
        let (first, other) = (
            sample(100.0, 100.0 / 1.1, 110.0),
            sample(200.0, 200.0 / 1.1, 220.0),
        );
        let against = against(&first, &other, None).unwrap();
        assert!((against.high.unwrap() - 2.0 * 1.144_3).abs() < 1e-3);
        assert!((against.low.unwrap() - 2.0 / 1.144_3).abs() < 1e-3);
        assert_eq!(against.judgement, None);
    }

    #[test]
    fn figures_know_which_way_they_are_better() {
        assert_eq!(better("iops", Unit::PerSecond), Some(Better::High));
        assert_eq!(
            better("throughput_min", Unit::BytesPerSecond),
            Some(Better::High)
        );
        assert_eq!(better("latency_p99", Unit::Nanoseconds), Some(Better::Low));
        assert_eq!(better("throughput_min_offset", Unit::Bytes), None);
        assert_eq!(better("rotation/revolution_time", Unit::Nanoseconds), None);
        assert_eq!(better("rotation_speed", Unit::RevolutionsPerMinute), None);
        assert_eq!(better("optimal_depth", Unit::Count), None);
    }

    #[test]
    fn repeated_runs_count_together() {
        let figure = |value: f64| {
            Figure::new("iops", value, Unit::PerSecond).within(value - 1.0, value + 1.0)
        };
        let (a, b, c) = (figure(10.0), figure(12.0), figure(14.0));
        assert_eq!(pooled(&[]), None);
        assert_eq!(pooled(&[&a]), Some(sample(10.0, 9.0, 11.0)));
        let two = pooled(&[&a, &b]).unwrap();
        assert_eq!(
            (two.value, two.low, two.high),
            (11.0, Some(9.0), Some(13.0))
        );
        // Mean 12, deviation 2: 12 +- 4.3027 * 2 / sqrt(3).
        let three = pooled(&[&a, &b, &c]).unwrap();
        assert!((three.high.unwrap() - 16.968_3).abs() < 1e-3);
        assert_eq!(three.runs, 3);
        let bare = Figure::new("iops", 1.0, Unit::PerSecond);
        assert_eq!(pooled(&[&a, &bare]).unwrap().low, None);
    }

    proptest! {
        #[test]
        fn turning_sides_around_turns_the_ratio_around(
            first in 1.0..1e6_f64, other in 1.0..1e6_f64, share in 0.0..0.9_f64,
        ) {
            let around = |value: f64| sample(value, value * (1.0 - share), value * (1.0 + share));
            let there = against(&around(first), &around(other), Some(Better::High)).unwrap();
            let back = against(&around(other), &around(first), Some(Better::High)).unwrap();
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            prop_assert!((there.low.unwrap() * back.high.unwrap() - 1.0).abs() < 1e-9);
            prop_assert!(there.low <= Some(there.ratio * (1.0 + 1e-12)));
            prop_assert!(there.high >= Some(there.ratio * (1.0 - 1e-12)));
        }
    }
}
