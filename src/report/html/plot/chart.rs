//! A chart with axes, legend and curves.

use maud::{Markup, html};

use super::curve::HtmlCurve;
use super::frame::{PLOT_BOTTOM, PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, axes, colour_class, html_figure};
use super::line_labels::labelled_lines;
use super::scale::HtmlScale;
use super::{marks, polar};
use crate::session::chart::ChartShape;
use crate::session::document::ChartAxis;

/// A chart.
#[derive(Debug, Clone)]
pub(in crate::report::html) struct HtmlPlot<'a> {
    /// Heading of the chart.
    pub(in crate::report::html) title: &'a str,
    /// Horizontal axis; for a polar chart the angle.
    pub(in crate::report::html) x: &'a ChartAxis,
    /// Vertical axis; for a polar chart the radius.
    pub(in crate::report::html) y: &'a ChartAxis,
    /// How the points are drawn.
    pub(in crate::report::html) shape: ChartShape,
    /// Whether the horizontal axis is logarithmic.
    pub(in crate::report::html) log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub(in crate::report::html) log_y: bool,
    /// Whether the vertical axis starts at 0.
    pub(in crate::report::html) from_zero: bool,
    /// The curves.
    pub(in crate::report::html) curves: Vec<HtmlCurve>,
    /// Named values on the horizontal axis.
    pub(in crate::report::html) marked_values: Vec<(String, f64)>,
}

impl HtmlPlot<'_> {
    /// Renders the chart with heading and legend; `None` if there are no points.
    pub(in crate::report::html) fn render_figure(&self) -> Option<Markup> {
        if self.curves.iter().all(|curve| curve.points.is_empty()) {
            return None;
        }
        let svg = match self.shape {
            ChartShape::Polar => {
                polar::draw_polar(&self.curves, self.y, self.log_y, self.from_zero)
            }
            _ => self.draw(),
        };
        Some(html_figure(self.title, &self.legend(), &svg))
    }

    fn legend(&self) -> Markup {
        html! {
            @if self.curves.len() > 1 {
                ul.legend {
                    @for (index, curve) in self.curves.iter().enumerate() {
                        li class=(colour_class(index)) {
                            @if self.has_numbered_curves() { (index + 1) " " }
                            (curve.name)
                        }
                    }
                    @if let Some(order) = self.bar_order() { li.order { (order) } }
                }
            }
        }
    }

    /// Whether each curve has its number at its end: the chart must be readable without colour.
    fn has_numbered_curves(&self) -> bool {
        let is_drawn_along_x = matches!(
            self.shape,
            ChartShape::Line | ChartShape::Steps | ChartShape::Scatter
        );
        is_drawn_along_x && self.curves.len() > 1
    }

    /// Which bar belongs to which name, without colour.
    fn bar_order(&self) -> Option<&'static str> {
        match self.shape {
            ChartShape::Bars => Some("(bars from left to right)"),
            ChartShape::StackedBars => Some("(bars from bottom to top)"),
            _ => None,
        }
    }

    fn draw(&self) -> Markup {
        let values = |index: usize| {
            self.curves
                .iter()
                .flat_map(move |curve| curve.points.iter().map(move |point| point[index]))
        };
        let bars = matches!(self.shape, ChartShape::Bars | ChartShape::StackedBars);
        let inset = if bars { 22.0 } else { 0.0 };
        let ends = values(0).chain(self.last_step_end());
        let across = [PLOT_LEFT + inset, PLOT_RIGHT - inset];
        let x = HtmlScale::spanning(ends, self.log_x, false, across).down_to_near_zero();
        let stacked = marks::stack_segments(&self.curves);
        let heights = stacked.iter().flatten().map(|bar| bar[2]);
        let y = match self.shape {
            ChartShape::StackedBars => {
                HtmlScale::spanning(heights, false, true, [PLOT_BOTTOM, PLOT_TOP])
            }
            _ => {
                let limits = self.curves.iter().flat_map(HtmlCurve::interval_points);
                let heights = values(1).chain(limits.flat_map(|[_, low, high]| [low, high]));
                HtmlScale::spanning(
                    heights,
                    self.log_y,
                    self.from_zero || bars,
                    [PLOT_BOTTOM, PLOT_TOP],
                )
            }
        };
        let y = y.with_headroom();
        html! {
            (axes((&x, self.x), (&y, self.y)))
            (self.marked_value_lines(&x))
            @for index in 0..self.curves.len() {
                g class=(colour_class(index)) { (self.curve_marks(index, &stacked[index], &x, &y)) }
            }
        }
    }

    /// The points of a curve and their confidence intervals.
    fn curve_marks(
        &self,
        index: usize,
        segments: &[[f64; 3]],
        x: &HtmlScale,
        y: &HtmlScale,
    ) -> Markup {
        let points: Vec<[f64; 2]> = self.curves[index]
            .points
            .iter()
            .filter(|[left, up]| x.can_draw(*left) && y.can_draw(*up))
            .map(|[left, up]| [x.position(*left), y.position(*up)])
            .collect();
        let count = self.curves.len();
        let baseline = y.baseline_position();
        let marks = match self.shape {
            ChartShape::Line => marks::svg_line(&points, baseline, count == 1),
            ChartShape::Steps => marks::svg_steps(&points, PLOT_RIGHT),
            ChartShape::Bars => marks::svg_bars(&points, baseline, (index, count)),
            ChartShape::StackedBars => marks::svg_stack(segments, x, y),
            ChartShape::Scatter | ChartShape::Polar => marks::svg_dots(&points),
        };
        let intervals = self.interval_positions(index, segments, x, y);
        let number = self.has_numbered_curves().then_some(index + 1);
        html! {
            (marks)
            (marks::svg_intervals(&intervals))
            @if let Some(number) = number { (marks::svg_curve_number(&points, number)) }
        }
    }

    /// Positions of the confidence intervals of a curve's points: next to each other for bars, and
    /// at the heights of the segments for stacks.
    fn interval_positions(
        &self,
        index: usize,
        segments: &[[f64; 3]],
        x: &HtmlScale,
        y: &HtmlScale,
    ) -> Vec<[f64; 3]> {
        let curve = &self.curves[index];
        let below = |at: f64| {
            let segment = segments.iter().find(|segment| segment[0] == at);
            match self.shape {
                ChartShape::StackedBars => segment.map_or(0.0, |segment| segment[1]),
                _ => 0.0,
            }
        };
        let shift = match self.shape {
            ChartShape::Bars => marks::bar_offset(&curve.points, x, (index, self.curves.len())),
            _ => 0.0,
        };
        curve
            .interval_points()
            .filter(|[at, low, high]| x.can_draw(*at) && y.can_draw(*low) && y.can_draw(*high))
            .map(|[at, low, high]| {
                let below = below(at);
                [
                    x.position(at) + shift,
                    y.position(low + below),
                    y.position(high + below),
                ]
            })
            .collect()
    }

    /// End of the last step, estimated from the mean length of the others, if there are any.
    fn last_step_end(&self) -> Option<f64> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        points.for_each(|[x, _]| (low, high) = (low.min(*x), high.max(*x)));
        let most = self.curves.iter().map(|curve| curve.points.len()).max()?;
        (self.shape == ChartShape::Steps && most > 1)
            .then(|| high + (high - low) / (most - 1) as f64)
    }

    /// Vertical lines at the named values.
    fn marked_value_lines(&self, x: &HtmlScale) -> Markup {
        let drawn = self
            .marked_values
            .iter()
            .filter(|(_, value)| x.can_draw(*value))
            .map(|(name, value)| (name.as_str(), x.position(*value)));
        labelled_lines(drawn)
    }
}
