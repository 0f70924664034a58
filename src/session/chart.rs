//! Chart descriptions, shared by the TUI and the report.

use super::document::{MetricId, SeriesId};

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartShape {
    /// Points joined by lines in order of x.
    Line,
    /// Points only.
    Scatter,
    /// Points joined by steps: each y holds until the next x.
    Steps,
    /// One bar for each x.
    Bars,
    /// One bar for each x, with the series stacked in it.
    StackedBars,
    /// Points in polar coordinates: x is the angle in revolutions, y the radius.
    Polar,
}

/// A chart of a benchmark's result.
#[derive(Debug, Clone, Copy)]
pub struct ChartSpec {
    /// Heading of the chart.
    pub title: &'static str,
    /// The series in it; series that a run lacks are omitted.
    pub series: &'static [SeriesId],
    /// How the series are drawn.
    pub shape: ChartShape,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// Whether the vertical axis starts at 0; otherwise it spans the points.
    pub from_zero: bool,
    /// Metrics whose values are marked on the horizontal axis; metrics that a run lacks are
    /// omitted.
    pub marked_metrics: &'static [MetricId],
}

impl ChartSpec {
    /// Creates a chart with linear axes, the vertical one starting at 0, and without marks.
    #[must_use]
    pub const fn new(title: &'static str, shape: ChartShape, series: &'static [SeriesId]) -> Self {
        Self {
            title,
            series,
            shape,
            log_x: false,
            log_y: false,
            from_zero: true,
            marked_metrics: &[],
        }
    }

    /// A chart of lines, as [`new`](Self::new) creates it.
    #[must_use]
    pub const fn line(title: &'static str, series: &'static [SeriesId]) -> Self {
        Self::new(title, ChartShape::Line, series)
    }

    /// Makes the horizontal axis logarithmic.
    #[must_use]
    pub const fn log_x(self) -> Self {
        Self {
            log_x: true,
            ..self
        }
    }

    /// Makes the vertical axis logarithmic.
    #[must_use]
    pub const fn log_y(self) -> Self {
        Self {
            log_y: true,
            from_zero: false,
            ..self
        }
    }

    /// Marks these metrics on the horizontal axis.
    #[must_use]
    pub const fn with_marks(self, marks: &'static [MetricId]) -> Self {
        Self {
            marked_metrics: marks,
            ..self
        }
    }
}

/// How the result of a benchmark is presented; part of the benchmark's description.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultPresentation {
    /// What the benchmark measures, in one line.
    pub summary: &'static str,
    /// The metrics to list first, in this order.
    pub headline: &'static [MetricId],
    /// The charts, the most informative first.
    pub charts: &'static [ChartSpec],
}
