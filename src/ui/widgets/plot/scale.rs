//! From values to shares of an axis.

use crate::axis::{linear_ticks, log_ticks};
use crate::session::document::Unit;

/// Nothing that is measured comes near this; what is beyond has no place on an axis.
const DRAWABLE: f64 = 1e100;

/// One axis of a chart: which values it spans, and which share of its length each is at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// The ends; of a logarithmic axis their logarithms.
    bounds: [f64; 2],
    log: bool,
}

impl Scale {
    /// An axis over these values; `None` where there is none that it can hold. A logarithmic one
    /// holds those above 0 only.
    pub(super) fn over(values: impl Iterator<Item = f64>, log: bool) -> Option<Self> {
        let held = values.filter(|value| holds(*value, log));
        let [low, high] = held
            .map(|value| place(value, log))
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
                [low.min(value), high.max(value)]
            });
        (low <= high).then_some(Self {
            bounds: [low, high],
            log,
        })
    }

    /// The same axis, reaching at least from `low` to `high`.
    pub(super) fn reaching(mut self, [low, high]: [f64; 2]) -> Self {
        if holds(low, self.log) && holds(high, self.log) {
            self.bounds[0] = self.bounds[0].min(place(low, self.log));
            self.bounds[1] = self.bounds[1].max(place(high, self.log));
        }
        self
    }

    /// The same axis from 0 where that is close, to the next mark where that is close.
    pub(super) fn rounded(mut self, unit: Unit) -> Self {
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
        let marks = linear_ticks(unit, self.bounds, 6).marks;
        if let [(first, _), (second, _), ..] = marks.as_slice() {
            let step = second - first;
            let next = (high / step).ceil() * step;
            if next - high < (high - low) * 0.04 {
                self.bounds[1] = next;
            }
        }
        self
    }

    /// The same axis with air at its upper end, and from 0 or with air at the lower end too.
    pub(super) fn airy(mut self, from_zero: bool) -> Self {
        let [low, high] = self.bounds;
        let air = (high - low) * 0.05;
        self.bounds = if from_zero && !self.log {
            [low.min(0.0), high * 1.08]
        } else {
            [low - air, high + air]
        };
        self
    }

    /// The same axis with that share of its length added at both ends.
    pub(super) fn padded(mut self, share: f64) -> Self {
        let [low, high] = self.bounds;
        let room = (high - low) * share;
        self.bounds = [low - room, high + room];
        self
    }

    /// The same axis with ends that differ, so that something can be drawn between them.
    pub(super) fn apart(mut self) -> Self {
        let [low, high] = self.bounds;
        if high <= low {
            let half = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
            self.bounds = [low - half, high + half];
        }
        self
    }

    /// An axis around 0 that holds all of both.
    pub(super) fn around(self, other: Self) -> Self {
        let ends = self.bounds.iter().chain(&other.bounds);
        let reach = ends.fold(0.0, |far: f64, value| far.max(value.abs()));
        Self {
            bounds: [-reach, reach],
            log: false,
        }
    }

    /// Whether the value has a place on it.
    pub(super) fn holds(&self, value: f64) -> bool {
        holds(value, self.log)
    }

    /// How far along the axis a value lies: 0 is its beginning, 1 its end.
    pub(super) fn share(&self, value: f64) -> f64 {
        let [low, high] = self.bounds;
        (place(value, self.log) - low) / (high - low)
    }

    /// What bars stand on: 0, or the end that is next to it.
    pub(super) fn ground(&self) -> f64 {
        if self.log {
            0.0
        } else {
            self.share(0.0).clamp(0.0, 1.0)
        }
    }

    /// Marks as shares and labels, at most `most`, and the unit that the labels leave out.
    pub(super) fn ticks(&self, unit: Unit, most: usize) -> (Vec<(f64, String)>, &'static str) {
        if self.log {
            let values = self.bounds.map(f64::exp);
            let marks = log_ticks(unit, values, most);
            // Less than a decade: even steps tell more than a single power of ten.
            if marks.len() > 1 {
                return (self.shares(marks), "");
            }
            let ticks = linear_ticks(unit, values, most);
            return (self.shares(ticks.marks), ticks.scale.name);
        }
        let ticks = linear_ticks(unit, self.bounds, most);
        (self.shares(ticks.marks), ticks.scale.name)
    }

    fn shares(&self, marks: Vec<(f64, String)>) -> Vec<(f64, String)> {
        let shares = marks
            .into_iter()
            .map(|(value, label)| (self.share(value), label));
        shares
            .filter(|(share, _)| (-1e-9..=1.0 + 1e-9).contains(share))
            .collect()
    }
}

fn holds(value: f64, log: bool) -> bool {
    value.abs() < DRAWABLE && (!log || value > 1.0 / DRAWABLE)
}

fn place(value: f64, log: bool) -> f64 {
    if log { value.ln() } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, unit: Unit) -> Vec<String> {
        let (marks, _) = scale.ticks(unit, 6);
        marks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn values_lie_between_the_ends() {
        let linear = Scale::over([10.0, 20.0].into_iter(), false).unwrap();
        assert_eq!([10.0, 15.0, 20.0].map(|v| linear.share(v)), [0.0, 0.5, 1.0]);
        let log = Scale::over([1.0, 100.0, -5.0].into_iter(), true).unwrap();
        assert!((log.share(10.0) - 0.5).abs() < 1e-12);
        assert!(!log.holds(0.0) && !log.holds(-5.0));
        assert_eq!(log.ground(), 0.0);
    }

    #[test]
    fn a_logarithmic_axis_is_marked_by_decades_or_evenly_within_one() {
        let decades = Scale::over([9e3, 2e6].into_iter(), true).unwrap();
        assert_eq!(
            labels(decades, Unit::Nanoseconds),
            ["10 us", "100 us", "1 ms"]
        );
        let within = Scale::over([2e6, 8e6].into_iter(), true).unwrap();
        assert_eq!(labels(within, Unit::Nanoseconds), ["2 ms", "5 ms"]);
        let narrow = Scale::over([2.2e6, 4.8e6].into_iter(), true).unwrap();
        assert_eq!(
            labels(narrow, Unit::Nanoseconds),
            ["2.5", "3.0", "3.5", "4.0", "4.5"]
        );
    }

    #[test]
    fn nothing_has_no_axis() {
        assert_eq!(Scale::over(std::iter::empty(), false), None);
        assert_eq!(Scale::over([f64::NAN, 1e200].into_iter(), false), None);
        assert_eq!(Scale::over([0.0, -1.0].into_iter(), true), None);
    }
}
