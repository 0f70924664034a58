//! How the curves of a run want to be drawn: data that screen and report share.

/// How a series wants to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartShape {
    /// Points joined in order of x.
    Line,
    /// Points.
    Scatter,
    /// Points joined as steps: each y holds until the next x.
    Steps,
    /// A bar for each x.
    Bars,
    /// A bar for each x, in which the series lie one on the other.
    StackedBars,
    /// Points around a centre: x is the angle in revolutions, y the radius.
    Polar,
}

/// A chart of a test's result.
#[derive(Debug, Clone, Copy)]
pub struct ChartSpec {
    /// Its heading.
    pub title: &'static str,
    /// The series drawn in it, by name; those that a run lacks are left out.
    pub series: &'static [&'static str],
    /// How.
    pub shape: ChartShape,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// Whether the vertical axis begins at 0; otherwise it spans the points.
    pub from_zero: bool,
    /// Figures whose values are marked on the horizontal axis; those that a run lacks are left out.
    pub marked_metrics: &'static [&'static str],
}

impl ChartSpec {
    /// A chart with linear axes, the vertical one from 0, and no marks.
    #[must_use]
    pub const fn new(
        title: &'static str,
        shape: ChartShape,
        series: &'static [&'static str],
    ) -> Self {
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

    /// The same chart with a logarithmic horizontal axis.
    #[must_use]
    pub const fn log_x(self) -> Self {
        Self {
            log_x: true,
            ..self
        }
    }

    /// The same chart with a logarithmic vertical axis.
    #[must_use]
    pub const fn log_y(self) -> Self {
        Self {
            log_y: true,
            from_zero: false,
            ..self
        }
    }

    /// The same chart with a vertical axis that spans the points, wherever they lie.
    #[must_use]
    pub const fn without_zero(self) -> Self {
        Self {
            from_zero: false,
            ..self
        }
    }

    /// The same chart with these figures marked on its horizontal axis.
    #[must_use]
    pub const fn with_marks(self, marks: &'static [&'static str]) -> Self {
        Self {
            marked_metrics: marks,
            ..self
        }
    }
}

/// How the result of a test wants to be presented, as data that its description gives.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultPresentation {
    /// What the test measures, one line.
    pub summary: &'static str,
    /// Figures to put first, in this order.
    pub headline: &'static [&'static str],
    /// The charts, the most telling first.
    pub charts: &'static [ChartSpec],
}
