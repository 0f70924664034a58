//! Maps values to SVG coordinates.

use crate::report::axis::{linear_axis_ticks, log_axis_ticks};
use crate::session::document::{ChartAxis, MetricUnit};

/// One axis of a chart: its range of values and their coordinates.
#[derive(Debug, Clone)]
pub(super) struct HtmlScale {
    bounds: [f64; 2],
    log: bool,
    pixel_range: [f64; 2],
}

impl HtmlScale {
    /// An axis over these values. A logarithmic axis spans the values above 0, and is linear if
    /// there are none; `zero` makes a linear axis start at 0.
    pub(super) fn spanning(
        values: impl Iterator<Item = f64>,
        log: bool,
        zero: bool,
        pixels: [f64; 2],
    ) -> Self {
        let usable: Vec<f64> = values
            .filter(|value| value.is_finite() && value.abs() < 1e300)
            .collect();
        let log = log && usable.iter().any(|value| *value > 0.0);
        let spanned = usable.into_iter().filter(|value| !log || *value > 0.0);
        let [mut low, mut high] = spanned
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
                [low.min(value), high.max(value)]
            });
        if zero && !log {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if low == high {
            // Centre a single value in a non-empty range.
            let room = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
            (low, high) = if log {
                (low / 2.0, low * 2.0)
            } else {
                (low - room, high + room)
            };
        }
        Self {
            bounds: [low, high],
            log,
            pixel_range: pixels,
        }
    }

    /// Adds space above the highest value.
    pub(super) fn with_headroom(mut self) -> Self {
        let [low, high] = self.bounds;
        self.bounds[1] = if self.log {
            high * 1.15
        } else {
            high + (high - low) * 0.06
        };
        self
    }

    /// Makes the axis start at 0 if its lowest value is close to 0.
    pub(super) fn down_to_near_zero(mut self) -> Self {
        let [low, high] = self.bounds;
        if !self.log && low > 0.0 && low < high / 10.0 {
            self.bounds[0] = 0.0;
        }
        self
    }

    /// Whether the axis can show the value.
    pub(super) fn can_draw(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }

    /// Coordinate of a value, clamped to the axis.
    pub(super) fn position(&self, value: f64) -> f64 {
        let [low, high] = self.bounds;
        let share = if self.log {
            (value.max(low) / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        let [from, to] = self.pixel_range;
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// Coordinate of 0, or of the lowest value if 0 is not on the axis.
    pub(super) fn baseline_position(&self) -> f64 {
        if self.log {
            self.pixel_range[0]
        } else {
            self.position(0.0)
        }
    }

    /// Coordinates of minor ticks between the powers of ten of a logarithmic axis. Axes of bytes
    /// and counts use powers of two, which have no minor ticks.
    pub(super) fn minor_ticks(&self, axis: &ChartAxis) -> Vec<f64> {
        let [low, high] = self.bounds;
        let binary = matches!(axis.unit, MetricUnit::Bytes | MetricUnit::Count);
        if !self.log || binary || high / low > 1e9 {
            return Vec::new();
        }
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        (first..last)
            .flat_map(|power| (2..10).map(move |step| f64::from(step) * 10_f64.powi(power)))
            .filter(|value| *value >= low && *value <= high)
            .map(|value| self.position(value))
            .collect()
    }

    /// Coordinates and labels of the ticks, and the unit that the labels omit.
    pub(super) fn ticks(
        &self,
        axis: &ChartAxis,
        most: usize,
    ) -> (Vec<(f64, String)>, &'static str) {
        let at = |marks: Vec<(f64, String)>| {
            marks
                .into_iter()
                .map(|(value, label)| (self.position(value), label))
                .collect()
        };
        if self.log {
            let marks = log_axis_ticks(axis.unit, self.bounds, most);
            if marks.len() >= 2 {
                return (at(marks), "");
            }
        }
        let ticks = linear_axis_ticks(axis.unit, self.bounds, most);
        (at(ticks.marks), ticks.unit.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_values_stay_within_axis_bounds() {
        let scale = HtmlScale::spanning([10.0, 20.0].into_iter(), false, true, [0.0, 100.0]);
        assert_eq!(
            [0.0, 10.0, 20.0, 99.0].map(|value| scale.position(value)),
            [0.0, 50.0, 100.0, 100.0]
        );
        let scale = HtmlScale::spanning([1.0, 100.0, -5.0].into_iter(), true, false, [100.0, 0.0]);
        assert_eq!(
            [1.0, 10.0, 100.0].map(|value| scale.position(value).round()),
            [100.0, 50.0, 0.0]
        );
        assert!(!scale.can_draw(-5.0));
    }

    #[test]
    fn extreme_values_give_finite_axis() {
        for values in [
            vec![],
            vec![0.0],
            vec![5.0, 5.0],
            vec![f64::NAN],
            vec![f64::MAX, -f64::MAX],
        ] {
            for (log, zero) in [(true, false), (false, true), (false, false)] {
                let scale = HtmlScale::spanning(values.iter().copied(), log, zero, [0.0, 100.0])
                    .with_headroom();
                assert!(scale.position(5.0).is_finite(), "{values:?}");
                scale.ticks(&ChartAxis::named("x", MetricUnit::Bytes), 6);
            }
        }
    }
}
