//! Chart axes: unit, bounds and ticks.

use crate::session::document::MetricUnit;

/// The unit of an axis's tick labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxisUnit {
    /// Divisor of a value in base units.
    pub factor: f64,
    /// Name of the unit, such as `MB/s`; empty for plain numbers.
    pub name: &'static str,
}

const DECIMAL: [f64; 5] = [1e12, 1e9, 1e6, 1e3, 1.0];

/// The unit in which values up to `largest` have one to three digits.
#[must_use]
pub fn axis_unit(unit: MetricUnit, largest: f64) -> AxisUnit {
    let names: [&'static str; 5] = match unit {
        MetricUnit::BytesPerSecond => ["TB/s", "GB/s", "MB/s", "kB/s", "B/s"],
        MetricUnit::Bytes => ["TB", "GB", "MB", "kB", "B"],
        MetricUnit::PerSecond => ["T/s", "G/s", "M/s", "k/s", "1/s"],
        MetricUnit::Nanoseconds => ["", "s", "ms", "us", "ns"],
        MetricUnit::RevolutionsPerMinute => {
            return AxisUnit {
                factor: 1.0,
                name: "rpm",
            };
        }
        MetricUnit::Ratio => {
            return AxisUnit {
                factor: 0.01,
                name: "%",
            };
        }
        MetricUnit::Revolution => {
            return AxisUnit {
                factor: 1.0,
                name: "rev",
            };
        }
        MetricUnit::Sectors => {
            return AxisUnit {
                factor: 1.0,
                name: "sectors",
            };
        }
        MetricUnit::Count => {
            return AxisUnit {
                factor: 1.0,
                name: "",
            };
        }
    };
    let fits = |(factor, name): &(f64, &'static str)| !name.is_empty() && largest >= *factor;
    let (factor, name) = DECIMAL
        .into_iter()
        .zip(names)
        .find(fits)
        .unwrap_or((1.0, names[4]));
    AxisUnit { factor, name }
}

/// Positions and labels of an axis's ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisTicks {
    /// Value in base units, and its label.
    pub marks: Vec<(f64, String)>,
    /// The unit of the labels.
    pub unit: AxisUnit,
}

/// Ticks at round values (1, 2 or 5 times a power of ten of the unit), at most `most` of them.
#[must_use]
pub fn linear_axis_ticks(unit: MetricUnit, bounds: [f64; 2], most: usize) -> AxisTicks {
    let scale = axis_unit(unit, bounds[0].abs().max(bounds[1].abs()));
    let (low, high) = (bounds[0] / scale.factor, bounds[1] / scale.factor);
    let mut marks = Vec::new();
    let step = round_step_at_least((high - low) / most.max(1) as f64);
    // A range beyond the precision of a floating-point number has no ticks.
    if step.is_normal() && step > 0.0 && (low / step).abs() < 1e15 && (high / step).abs() < 1e15 {
        let digits = usize::try_from(-(step.log10().floor() as i64)).unwrap_or(0);
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        for index in first..=last {
            let value = index as f64 * step;
            marks.push((value * scale.factor, format!("{value:.digits$}")));
        }
    }
    AxisTicks { marks, unit: scale }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
fn round_step_at_least(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(power * 10.0)
}

/// Ticks of a logarithmic axis: powers of ten of the base unit, or of two for bytes and counts,
/// each labelled with its own unit; at most `most` of them. Where there are few powers of ten, also
/// twice and five times each. `bounds` are above 0.
#[must_use]
pub fn log_axis_ticks(unit: MetricUnit, bounds: [f64; 2], most: usize) -> Vec<(f64, String)> {
    let binary = matches!(unit, MetricUnit::Bytes | MetricUnit::Count);
    let base: f64 = if binary { 2.0 } else { 10.0 };
    let first = (bounds[0].ln() / base.ln() - 1e-9).ceil() as i32;
    let last = (bounds[1].ln() / base.ln() + 1e-9).floor() as i32;
    let count = usize::try_from(last - first + 1).unwrap_or(0);
    if !binary && count < 3 {
        let between = round_values(bounds);
        if between.len() <= most {
            let labelled = |value| (value, log_label(unit, value));
            return between.into_iter().map(labelled).collect();
        }
    }
    let step = count.div_ceil(most.max(1)).max(1);
    (first..=last)
        .step_by(step)
        .map(|power| {
            let value = base.powi(power);
            (value, log_label(unit, value))
        })
        .collect()
}

/// Values between the bounds that are 1, 2 or 5 times a power of ten.
fn round_values(bounds: [f64; 2]) -> Vec<f64> {
    let first = bounds[0].log10().floor() as i32;
    let last = bounds[1].log10().floor() as i32;
    let within = |value: &f64| *value >= bounds[0] * 0.999_999 && *value <= bounds[1] * 1.000_001;
    (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(power)))
        .filter(within)
        .collect()
}

fn log_label(unit: MetricUnit, value: f64) -> String {
    match unit {
        MetricUnit::Bytes => crate::units::format_block_size(value),
        MetricUnit::Count => format!("{value:.0}"),
        unit => {
            let scale = axis_unit(unit, value * 1.000_001);
            format!("{:.0} {}", value / scale.factor, scale.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(ticks: &[(f64, String)]) -> Vec<&str> {
        ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn linear_axis_labels_are_round_in_axis_unit() {
        let ticks = linear_axis_ticks(MetricUnit::BytesPerSecond, [0.0, 512e6], 5);
        assert_eq!(ticks.unit.name, "MB/s");
        assert_eq!(labels(&ticks.marks), ["0", "200", "400"]);
        let ticks = linear_axis_ticks(MetricUnit::Nanoseconds, [0.0, 1.2e9], 6);
        assert_eq!(ticks.unit.name, "s");
        assert_eq!(
            labels(&ticks.marks),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2"]
        );
        let ticks = linear_axis_ticks(MetricUnit::Ratio, [0.0, 1.0], 4);
        assert_eq!(labels(&ticks.marks), ["0", "50", "100"]);
    }

    #[test]
    fn log_axis_decade_labels_name_unit() {
        let ticks = log_axis_ticks(MetricUnit::Nanoseconds, [9e3, 2e6], 9);
        assert_eq!(labels(&ticks), ["10 us", "100 us", "1 ms"]);
        let ticks = log_axis_ticks(MetricUnit::Nanoseconds, [15e6, 6e7], 9);
        assert_eq!(labels(&ticks), ["20 ms", "50 ms"]);
        let ticks = log_axis_ticks(MetricUnit::Bytes, [4096.0, 16_384.0], 9);
        assert_eq!(labels(&ticks), ["4 KiB", "8 KiB", "16 KiB"]);
    }

    proptest! {
        #[test]
        fn axis_marks_lie_between_bounds(
            low in -1e12..1e12_f64, span in 1e-3..1e13_f64, most in 1..20_usize,
        ) {
            let bounds = [low, low + span];
            let ticks = linear_axis_ticks(MetricUnit::Count, bounds, most);
            prop_assert!(ticks.marks.len() <= most + 1);
            let slack = span * 1e-6;
            for (value, _) in ticks.marks {
                prop_assert!(value >= bounds[0] - slack && value <= bounds[1] + slack);
            }
        }

        #[test]
        fn log_axis_decades_do_not_exceed_requested_number(low in 1.0..1e9_f64, ratio in 1.0..1e9_f64, most in 1..20_usize) {
            let ticks = log_axis_ticks(MetricUnit::Nanoseconds, [low, low * ratio], most);
            prop_assert!(ticks.len() <= most);
        }
    }
}
