//! Two figures against each other.

use schemars::JsonSchema;
use serde::Serialize;

use crate::session::document::{Figure, Unit};
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
    /// Better by more than the limits of both.
    Faster,
    /// Worse by more than the limits of both.
    Slower,
    /// The limits allow either, or there are none.
    CannotTell,
}

impl Judgement {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::CannotTell => "cannot tell",
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
    /// Runs that it rests on.
    pub runs: usize,
    /// This side against the first; null on the first side itself.
    pub against_first: Option<Against>,
}

/// One side's figure against that of the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// This side's value divided by the first side's.
    pub ratio: f64,
    /// Lower 95 % limit of the ratio; null where it cannot be had.
    pub low: Option<f64>,
    /// Upper 95 % limit of the ratio; null where it cannot be had.
    pub high: Option<f64>,
    /// Faster, slower, or cannot tell; null for figures that are neither better high nor low, such
    /// as a position.
    pub judgement: Option<Judgement>,
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
        runs: values.len(),
        against_first: None,
    })
}

/// One side against the first. `None` where a ratio means nothing because a value is not above 0.
///
/// The limits of the ratio follow from the limits of both figures on a logarithmic scale by the
/// method of variance estimates recovery (Zou and Donner, "Construction of confidence limits about
/// effect measures", Statistics in Medicine 27, 2008), which does not ask them to be symmetric.
#[must_use]
pub fn against(first: &Sample, other: &Sample, better: Option<Better>) -> Option<Against> {
    if first.value <= 0.0 || other.value <= 0.0 {
        return None;
    }
    let ratio = other.value / first.value;
    let limits = limits_of_ratio(first, other);
    let judgement = better.map(|better| match (limits, better) {
        (Some([low, _]), Better::High) if low > 1.0 => Judgement::Faster,
        (Some([_, high]), Better::High) if high < 1.0 => Judgement::Slower,
        (Some([low, _]), Better::Low) if low > 1.0 => Judgement::Slower,
        (Some([_, high]), Better::Low) if high < 1.0 => Judgement::Faster,
        _ => Judgement::CannotTell,
    });
    Some(Against {
        ratio,
        low: limits.map(|[low, _]| low),
        high: limits.map(|[_, high]| high),
        judgement,
    })
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
            runs: 1,
            against_first: None,
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
        assert_eq!(judged(&small, &wide, Better::High), Judgement::CannotTell);
        let unsure = Sample {
            low: None,
            high: None,
            ..large
        };
        assert_eq!(judged(&small, &unsure, Better::High), Judgement::CannotTell);
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
