//! Conversion of values to fractions of an axis.

use super::{align_to_cells, linear_axis_step, linear_axis_ticks, log_axis_ticks};
use crate::session::document::MetricUnit;

/// No measured value comes near this; larger ones are not drawn.
const MAX_DRAWABLE: f64 = 1e100;

/// Scale of one axis: its range of values, and the fraction of its length for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlotScale {
    /// The bounds; logarithms of them for a logarithmic axis.
    bounds: [f64; 2],
    log: bool,
}

impl PlotScale {
    /// A scale over these values; `None` where it can hold none of them. A logarithmic one holds
    /// only values above 0.
    #[must_use]
    pub fn from_values(values: impl Iterator<Item = f64>, log: bool) -> Option<Self> {
        let held = values.filter(|value| is_drawable(*value, log));
        let [low, high] = held
            .map(|value| to_axis_value(value, log))
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
                [low.min(value), high.max(value)]
            });
        (low <= high).then_some(Self {
            bounds: [low, high],
            log,
        })
    }

    /// The scale of an axis without values.
    #[must_use]
    pub fn zero_to_one() -> Self {
        Self {
            bounds: [0.0, 1.0],
            log: false,
        }
    }

    /// Extends the scale to include `low` and `high`.
    #[must_use]
    pub fn extended_to(mut self, [low, high]: [f64; 2]) -> Self {
        if is_drawable(low, self.log) && is_drawable(high, self.log) {
            self.bounds[0] = self.bounds[0].min(to_axis_value(low, self.log));
            self.bounds[1] = self.bounds[1].max(to_axis_value(high, self.log));
        }
        self
    }

    /// Extends the scale to 0 where that is close, and to the next tick where that is close.
    #[must_use]
    pub fn rounded(mut self, unit: MetricUnit) -> Self {
        let [low, high] = self.bounds;
        if self.log {
            return self;
        }
        let low = if low > 0.0 && low < high * 0.1 {
            0.0
        } else {
            low
        };
        self.bounds = [low, high];
        let marks = linear_axis_ticks(unit, self.bounds, 6).marks;
        if let [(first, _), (second, _), ..] = marks.as_slice() {
            let step = second - first;
            let next = (high / step).ceil() * step;
            if next - high < (high - low) * 0.04 {
                self.bounds[1] = next;
            }
        }
        self
    }

    /// Pads the upper end, and extends the lower end to 0 or pads it too.
    #[must_use]
    pub fn pad(mut self, from_zero: bool) -> Self {
        let [low, high] = self.bounds;
        let air = (high - low) * 0.05;
        self.bounds = if from_zero && !self.log {
            [low.min(0.0), high.max(0.0) * 1.08]
        } else {
            [low - air, high + air]
        };
        self
    }

    /// Pads both ends by a fraction of the length.
    #[must_use]
    pub fn pad_by(mut self, share: f64) -> Self {
        let [low, high] = self.bounds;
        let room = (high - low) * share;
        self.bounds = [low - room, high + room];
        self
    }

    /// Separates equal bounds, so that something can be drawn between them.
    #[must_use]
    pub fn ensure_nonempty(mut self) -> Self {
        let [low, high] = self.bounds;
        if high <= low {
            // Values of 0 have no negative neighbours: no latency is below 0.
            self.bounds = match low {
                0.0 => [0.0, 1.0],
                low => [low - low.abs() * 0.5, low + low.abs() * 0.5],
            };
        }
        self
    }

    /// Extends the scale so that its ticks are a whole number of cells apart on an axis of `cells`
    /// cells; returns the maximum number of ticks with it. Of the numbers of ticks up to `most`, each
    /// also with a tick above the largest value, the one that wastes least of the axis, and the
    /// largest of these; fewer than three ticks (two on a very low axis) count as waste, for the values
    /// between them are hard to estimate.
    #[must_use]
    pub fn aligned_to_cells(self, unit: MetricUnit, most: usize, cells: u16) -> (Self, usize) {
        /// Waste that is accepted for more ticks, as a fraction of the length.
        const ACCEPTED_WASTE: f64 = 0.06;
        /// Waste that too few ticks are worth, as a factor of the length.
        const FEW_TICKS_COST: f64 = 1.3;
        let length = |scale: &Self| scale.bounds[1] - scale.bounds[0];
        let cost = |scale: &Self, count: usize| {
            let is_sparse = scale.axis_ticks(unit, count).0.len() < most.min(3);
            length(scale) * if is_sparse { FEW_TICKS_COST } else { 1.0 }
        };
        let mut best = (self.aligned_with(unit, most, cells), most);
        for count in (2..=most).rev() {
            let with_top = self.with_top_tick(unit, count - 1);
            for scale in [self, with_top] {
                let candidate = scale.aligned_with(unit, count, cells);
                let accepted = cost(&best.0, best.1) - length(&self) * ACCEPTED_WASTE;
                if cost(&candidate, count) < accepted {
                    best = (candidate, count);
                }
            }
        }
        best
    }

    /// The scale up to the next tick, if it has `most` of them at most now.
    fn with_top_tick(mut self, unit: MetricUnit, most: usize) -> Self {
        let (scale, step) = linear_axis_step(unit, self.bounds, most);
        let next = ((self.bounds[1] / scale.factor / step).floor() + 1.0) * step * scale.factor;
        let marks = linear_axis_ticks(unit, self.bounds, most).marks;
        let is_above_last = marks.last().is_some_and(|(last, _)| *last < self.bounds[1]);
        if !self.log && is_above_last && next.is_finite() {
            self.bounds[1] = next;
        }
        self
    }

    fn aligned_with(mut self, unit: MetricUnit, most: usize, cells: u16) -> Self {
        /// A wider range may have other ticks, which may have to be aligned again.
        const MAX_ROUNDS: usize = 4;
        for _ in 0..MAX_ROUNDS {
            let (marks, _) = self.axis_ticks(unit, most);
            let fractions: Vec<f64> = marks.iter().map(|(share, _)| *share).collect();
            let bounds = align_to_cells(self.bounds, &fractions, cells);
            if bounds == self.bounds {
                break;
            }
            self.bounds = bounds;
        }
        self
    }

    /// A scale symmetric around 0 that includes both.
    #[must_use]
    pub fn symmetric_around_zero(self, other: Self) -> Self {
        let ends = self.bounds.iter().chain(&other.bounds);
        let reach = ends.fold(0.0, |far: f64, value| far.max(value.abs()));
        Self {
            bounds: [-reach, reach],
            log: false,
        }
    }

    /// Whether the value is within the range.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        is_drawable(value, self.log)
    }

    /// Fraction of the axis at a value: 0 is its start, 1 its end.
    #[must_use]
    pub fn fraction(&self, value: f64) -> f64 {
        let [low, high] = self.bounds;
        (to_axis_value(value, self.log) - low) / (high - low)
    }

    /// Baseline of bars: 0, or the end next to it.
    #[must_use]
    pub fn baseline(&self) -> f64 {
        if self.log {
            0.0
        } else {
            self.fraction(0.0).clamp(0.0, 1.0)
        }
    }

    /// Ticks as fractions and labels, at most `most`, and the unit that the labels omit.
    #[must_use]
    pub fn axis_ticks(&self, unit: MetricUnit, most: usize) -> (Vec<(f64, String)>, &'static str) {
        if self.log {
            let values = self.bounds.map(f64::exp);
            let marks = log_axis_ticks(unit, values, most);
            // Less than a decade: even steps are more useful than a single power of ten.
            if marks.len() > 1 {
                return (self.tick_fractions(marks), "");
            }
            let ticks = linear_axis_ticks(unit, values, most);
            return (self.tick_fractions(ticks.marks), ticks.unit.name);
        }
        let ticks = linear_axis_ticks(unit, self.bounds, most);
        (self.tick_fractions(ticks.marks), ticks.unit.name)
    }

    fn tick_fractions(&self, marks: Vec<(f64, String)>) -> Vec<(f64, String)> {
        let shares = marks
            .into_iter()
            .map(|(value, label)| (self.fraction(value), label));
        shares
            .filter(|(share, _)| (-1e-9..=1.0 + 1e-9).contains(share))
            .collect()
    }
}

fn is_drawable(value: f64, log: bool) -> bool {
    value.abs() < MAX_DRAWABLE && (!log || value > 1.0 / MAX_DRAWABLE)
}

fn to_axis_value(value: f64, log: bool) -> f64 {
    if log { value.ln() } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: PlotScale, unit: MetricUnit) -> Vec<String> {
        let (marks, _) = scale.axis_ticks(unit, 6);
        marks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn scaled_values_stay_within_axis_bounds() {
        let linear = PlotScale::from_values([10.0, 20.0].into_iter(), false).unwrap();
        assert_eq!(
            [10.0, 15.0, 20.0].map(|v| linear.fraction(v)),
            [0.0, 0.5, 1.0]
        );
        let log = PlotScale::from_values([1.0, 100.0, -5.0].into_iter(), true).unwrap();
        assert!((log.fraction(10.0) - 0.5).abs() < 1e-12);
        assert!(!log.contains(0.0) && !log.contains(-5.0));
        assert_eq!(log.baseline(), 0.0);
    }

    #[test]
    fn log_axis_ticks_are_decades_or_even_within_one_decade() {
        let decades = PlotScale::from_values([9e3, 2e6].into_iter(), true).unwrap();
        assert_eq!(
            labels(decades, MetricUnit::Nanoseconds),
            ["10 us", "100 us", "1 ms"]
        );
        let within = PlotScale::from_values([2e6, 8e6].into_iter(), true).unwrap();
        assert_eq!(
            labels(within, MetricUnit::Nanoseconds),
            ["2 ms", "4 ms", "8 ms"]
        );
        let narrow = PlotScale::from_values([2.2e6, 4.8e6].into_iter(), true).unwrap();
        assert_eq!(
            labels(narrow, MetricUnit::Nanoseconds),
            ["2.5", "3.0", "3.5", "4.0", "4.5"]
        );
    }

    #[test]
    fn axis_has_a_tick_above_its_values_rather_than_two_ticks() {
        let scale = PlotScale::from_values([0.0, 36_600.0].into_iter(), false).unwrap();
        let unit = MetricUnit::PerSecond;
        let (scale, most) = scale.pad(true).aligned_to_cells(unit, 6, 11);
        let (ticks, _) = scale.axis_ticks(unit, most);
        let labels: Vec<_> = ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["0", "20", "40"]);
        assert!(scale.fraction(36_600.0) > 0.8);
    }

    #[test]
    fn scale_of_no_drawable_value_is_none() {
        assert_eq!(PlotScale::from_values(std::iter::empty(), false), None);
        assert_eq!(
            PlotScale::from_values([f64::NAN, 1e200].into_iter(), false),
            None
        );
        assert_eq!(PlotScale::from_values([0.0, -1.0].into_iter(), true), None);
    }
}
