//! Chart axes: unit, bounds and ticks.

pub mod scale;

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
    let fixed = |factor, name| AxisUnit { factor, name };
    let names: [&'static str; 5] = match unit {
        MetricUnit::BytesPerSecond => ["TB/s", "GB/s", "MB/s", "kB/s", "B/s"],
        MetricUnit::Bytes => ["TB", "GB", "MB", "kB", "B"],
        MetricUnit::PerSecond => ["T/s", "G/s", "M/s", "k/s", "1/s"],
        MetricUnit::Nanoseconds => ["", "s", "ms", "us", "ns"],
        MetricUnit::RevolutionsPerMinute => return fixed(1.0, "rpm"),
        MetricUnit::Ratio => return fixed(0.01, "%"),
        MetricUnit::Revolution => return fixed(1.0, "rev"),
        MetricUnit::Sectors => return fixed(1.0, "sectors"),
        MetricUnit::Count => return fixed(1.0, ""),
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

/// Ticks at round values (1, 2 or 5 times a power of ten of the unit; whole fractions and multiples of
/// a minute for seconds), at most `most` of them.
#[must_use]
pub fn linear_axis_ticks(unit: MetricUnit, bounds: [f64; 2], most: usize) -> AxisTicks {
    let (scale, step) = linear_axis_step(unit, bounds, most);
    let (low, high) = (bounds[0] / scale.factor, bounds[1] / scale.factor);
    let mut marks = Vec::new();
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

/// The unit of an axis, and the distance of its ticks in this unit.
#[must_use]
pub fn linear_axis_step(unit: MetricUnit, bounds: [f64; 2], most: usize) -> (AxisUnit, f64) {
    let scale = axis_unit(unit, bounds[0].abs().max(bounds[1].abs()));
    let least = (bounds[1] - bounds[0]) / scale.factor / most.max(1) as f64;
    let is_long_time = unit == MetricUnit::Nanoseconds && scale.name == "s";
    let step = if is_long_time {
        time_step_at_least(least)
    } else {
        round_step_at_least(least)
    };
    (scale, step)
}

/// The smallest step in seconds that is not below `least`.
fn time_step_at_least(least: f64) -> f64 {
    /// Steps for which powers of ten would not meet whole minutes.
    const MINUTE_STEPS: [f64; 7] = [15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0];
    let mut steps = MINUTE_STEPS.into_iter().filter(|_| least > 10.0);
    steps
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or_else(|| round_step_at_least(least))
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

/// Ticks of a logarithmic axis, at equal distances: powers of ten of the base unit, or of two for
/// bytes and counts, each labelled with its own unit; at most `most` of them. Where there are fewer
/// than three powers of ten, values that double from tick to tick. `bounds` are above 0.
#[must_use]
pub fn log_axis_ticks(unit: MetricUnit, bounds: [f64; 2], most: usize) -> Vec<(f64, String)> {
    let binary = matches!(unit, MetricUnit::Bytes | MetricUnit::Count);
    let ticks = if binary {
        geometric_ticks(bounds, 2.0, 1.0, most)
    } else if decades(bounds) < 3 {
        geometric_ticks(bounds, 2.0, round_anchor(bounds), most)
    } else {
        geometric_ticks(bounds, 10.0, 1.0, most)
    };
    let labelled = |value| (value, log_label(unit, value));
    ticks.into_iter().map(labelled).collect()
}

/// Larger exponents are beyond the range of floating-point numbers.
const MAX_POWER: f64 = 2000.0;

/// Number of powers of ten within the bounds.
fn decades(bounds: [f64; 2]) -> i32 {
    let power = |value: f64| value.log10().clamp(-MAX_POWER, MAX_POWER);
    (power(bounds[1]) + 1e-9).floor() as i32 - (power(bounds[0]) - 1e-9).ceil() as i32 + 1
}

/// Values within the bounds that are `anchor` times a power of `base`; where there are more than
/// `most`, every second, third ... of them.
fn geometric_ticks(bounds: [f64; 2], base: f64, anchor: f64, most: usize) -> Vec<f64> {
    let power = |value: f64| ((value / anchor).ln() / base.ln()).clamp(-MAX_POWER, MAX_POWER);
    let first = (power(bounds[0]) - 1e-9).ceil() as i32;
    let last = (power(bounds[1]) + 1e-9).floor() as i32;
    let count = usize::try_from(last - first + 1).unwrap_or(0);
    let step = count.div_ceil(most.max(1)).max(1);
    (first..=last)
        .step_by(step)
        .map(|power| anchor * base.powi(power))
        .collect()
}

/// A round value within the bounds, or close to them, from which the others are doubled or halved:
/// the lowest power of ten, otherwise twice or five times one.
fn round_anchor(bounds: [f64; 2]) -> f64 {
    let power = 10_f64.powf((bounds[0].log10() - 1e-9).ceil());
    let candidates = [power, power / 5.0, power / 2.0];
    let within = |value: &f64| *value >= bounds[0] * 0.999_999 && *value <= bounds[1] * 1.000_001;
    candidates.into_iter().find(within).unwrap_or(power)
}

fn log_label(unit: MetricUnit, value: f64) -> String {
    match unit {
        MetricUnit::Bytes if value >= 1.0 => crate::units::format_block_size(value),
        MetricUnit::Count => exact_digits(value),
        unit => {
            let scale = axis_unit(unit, value * 1.000_001);
            format!("{} {}", exact_digits(value / scale.factor), scale.name)
        }
    }
}

/// The number with as many digits as it takes to tell it from other ticks: three significant ones,
/// without trailing zeros.
fn exact_digits(value: f64) -> String {
    let magnitude = value.abs().max(1e-9).log10().floor() as i32;
    let digits = usize::try_from(2 - magnitude).unwrap_or(0);
    let text = format!("{value:.digits$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bounds, extended so that ticks at these fractions of the axis are a whole number of cells apart
/// on an axis of `cells` cells. Unchanged where the ticks are not at equal distances, or are a whole
/// number of cells apart when rounded.
#[must_use]
pub fn align_to_cells(bounds: [f64; 2], fractions: &[f64], cells: u16) -> [f64; 2] {
    let cell_count = f64::from(cells);
    let [first, second, ..] = *fractions else {
        return bounds;
    };
    let gap = second - first;
    let even = |pair: &[f64]| (pair[1] - pair[0] - gap).abs() < 1e-6;
    let rounded: Vec<f64> = fractions
        .iter()
        .map(|it| (it * cell_count).round())
        .collect();
    let aligned = |pair: &[f64]| pair[1] - pair[0] == rounded[1] - rounded[0];
    if !fractions.windows(2).all(even) || rounded.windows(2).all(aligned) {
        return bounds;
    }
    let [low, high] = bounds;
    let span = high - low;
    let before = (first * cell_count - 1e-6).ceil();
    let mut cells_apart = (gap * cell_count + 1e-6).floor();
    while cells_apart >= 1.0 {
        let cell = gap * span / cells_apart;
        let start = low + first * span - before * cell;
        let end = start + cell * cell_count;
        if end >= high - span * 1e-9 {
            return [start, end];
        }
        cells_apart -= 1.0;
    }
    bounds
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
        let ticks = linear_axis_ticks(MetricUnit::Nanoseconds, [-60e9, 0.0], 2);
        assert_eq!(labels(&ticks.marks), ["-60", "-30", "0"]);
        let ticks = linear_axis_ticks(MetricUnit::Ratio, [0.0, 1.0], 4);
        assert_eq!(labels(&ticks.marks), ["0", "50", "100"]);
    }

    #[test]
    fn log_axis_decade_labels_name_unit() {
        let ticks = log_axis_ticks(MetricUnit::Nanoseconds, [9e3, 2e6], 9);
        assert_eq!(labels(&ticks), ["10 us", "100 us", "1 ms"]);
        let ticks = log_axis_ticks(MetricUnit::Nanoseconds, [15e6, 6e7], 9);
        assert_eq!(labels(&ticks), ["20 ms", "40 ms"]);
        let ticks = log_axis_ticks(MetricUnit::Nanoseconds, [40e3, 2e6], 9);
        assert_eq!(
            labels(&ticks),
            ["50 us", "100 us", "200 us", "400 us", "800 us", "1.6 ms"]
        );
        let ticks = log_axis_ticks(MetricUnit::Bytes, [4096.0, 16_384.0], 9);
        assert_eq!(labels(&ticks), ["4 KiB", "8 KiB", "16 KiB"]);
    }

    #[test]
    fn log_axis_labels_below_one_are_not_rounded_to_whole_numbers() {
        let ticks = log_axis_ticks(MetricUnit::Count, [0.25, 2.0], 9);
        assert_eq!(labels(&ticks), ["0.25", "0.5", "1", "2"]);
        let ticks = log_axis_ticks(MetricUnit::Ratio, [0.001, 1.0], 9);
        assert_eq!(labels(&ticks), ["0.1 %", "1 %", "10 %", "100 %"]);
    }

    #[test]
    fn aligned_axis_has_ticks_at_whole_cells() {
        // Ticks at 0, 2 ... 10 of 0 to 10 on 68 cells are 13.6 cells apart.
        let fractions = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
        let [low, high] = align_to_cells([0.0, 10.0], &fractions, 68);
        assert_eq!(low, 0.0);
        assert!((high - 68.0 / 13.0 * 2.0).abs() < 1e-9, "{high}");
        // Already even.
        assert_eq!(align_to_cells([0.0, 10.0], &fractions, 50), [0.0, 10.0]);
        assert_eq!(align_to_cells([0.0, 10.0], &[0.3], 50), [0.0, 10.0]);
    }

    proptest! {
        #[test]
        fn aligned_axis_contains_the_bounds_and_even_ticks(
            low in -1e6..1e6_f64, span in 1e-3..1e6_f64, most in 2..12_usize, cells in 2..300_u16,
        ) {
            let bounds = [low, low + span];
            let ticks = linear_axis_ticks(MetricUnit::Count, bounds, most);
            let share = |[low, high]: [f64; 2], value: f64| (value - low) / (high - low);
            let fractions: Vec<f64> = ticks.marks.iter().map(|(at, _)| share(bounds, *at)).collect();
            let wider = align_to_cells(bounds, &fractions, cells);
            let slack = span * 1e-6;
            prop_assert!(wider[0] <= bounds[0] + slack && wider[1] >= bounds[1] - slack);
            let columns = ticks.marks.iter().map(|(at, _)| (share(wider, *at) * f64::from(cells)).round());
            let columns: Vec<f64> = columns.collect();
            if wider != bounds {
                let gaps: Vec<f64> = columns.windows(2).map(|pair| pair[1] - pair[0]).collect();
                prop_assert!(gaps.iter().all(|gap| *gap == gaps[0]), "{:?}", columns);
            }
        }

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
