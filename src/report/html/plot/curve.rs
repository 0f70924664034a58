//! A curve of a chart.

/// A curve of a chart.
#[derive(Debug, Clone)]
pub(in crate::report::html) struct HtmlCurve {
    /// Name in the legend.
    pub(in crate::report::html) name: String,
    /// `[x, y]`, in the units of the axes.
    pub(in crate::report::html) points: Vec<[f64; 2]>,
    /// 95 % confidence intervals of the points, in their order; empty if there are none.
    pub(in crate::report::html) intervals: Vec<Option<[f64; 2]>>,
}

impl HtmlCurve {
    /// `[x, lower bound, upper bound]` of the points that have a confidence interval.
    pub(super) fn interval_points(&self) -> impl Iterator<Item = [f64; 3]> {
        let bounded = self.points.iter().zip(&self.intervals);
        bounded.filter_map(|(point, interval)| {
            let [low, high] = (*interval)?;
            Some([point[0], low, high])
        })
    }
}
