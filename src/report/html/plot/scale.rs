//! Maps values to SVG coordinates.

use crate::report::axis::scale::PlotScale;
use crate::session::document::MetricUnit;

/// One axis of a chart: its scale and the coordinates of its ends.
#[derive(Debug, Clone)]
pub(super) struct PixelScale {
    scale: PlotScale,
    ends: [f64; 2],
}

impl PixelScale {
    /// An axis between these coordinates.
    pub(super) fn new(scale: PlotScale, ends: [f64; 2]) -> Self {
        Self { scale, ends }
    }

    /// Whether the axis can show the value.
    pub(super) fn can_draw(&self, value: f64) -> bool {
        self.scale.contains(value)
    }

    /// Coordinate of a value, clamped to the axis.
    pub(super) fn position(&self, value: f64) -> f64 {
        self.at(self.scale.fraction(value).clamp(0.0, 1.0))
    }

    /// Coordinate of 0, or of the end next to it.
    pub(super) fn baseline_position(&self) -> f64 {
        self.at(self.scale.baseline())
    }

    /// Coordinates and labels of the ticks, and the unit that the labels omit.
    pub(super) fn ticks(
        &self,
        unit: MetricUnit,
        most: usize,
    ) -> (Vec<(f64, String)>, &'static str) {
        let (marks, name) = self.scale.axis_ticks(unit, most);
        let placed = marks
            .into_iter()
            .map(|(share, label)| (self.at(share), label));
        (placed.collect(), name)
    }

    fn at(&self, share: f64) -> f64 {
        let [from, to] = self.ends;
        from + share * (to - from)
    }
}

/// A scale over values; over 0 to 1 where none can be drawn, and linear where none is above 0.
pub(super) fn scale_over(values: impl Iterator<Item = f64>, log: bool) -> PlotScale {
    let values: Vec<f64> = values.collect();
    let over = |log| PlotScale::from_values(values.iter().copied(), log);
    let known = over(log).or_else(|| over(false));
    known.unwrap_or_else(PlotScale::zero_to_one)
}
