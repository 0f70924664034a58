//! A chart with axes, legend and curves.

use maud::{Markup, html};

use super::frame::{PLOT_BOTTOM, PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, axes, colour_class, html_figure};
use super::line_labels::labelled_lines;
use super::scale::{PixelScale, scale_over};
use super::{marks, polar};
use crate::report::blocks::{Chart, Curve};
use crate::report::words::session_letter;
use crate::session::chart::ChartShape;

/// Space beside the outer bars.
const BAR_MARGIN: f64 = 22.0;

/// The chart with its heading and legend.
pub(in crate::report::html) fn chart_figure(chart: &Chart) -> Markup {
    let svg = match chart.shape {
        ChartShape::Polar => polar::draw_polar(chart),
        _ => draw(chart),
    };
    html_figure(&chart.title, &legend(chart), &svg)
}

fn legend(chart: &Chart) -> Markup {
    let order = match chart.shape {
        ChartShape::Bars => Some("(bars from left to right)"),
        ChartShape::StackedBars => Some("(bars from bottom to top)"),
        _ => None,
    };
    html! {
        @if chart.curves.len() > 1 {
            ul.legend {
                @for (index, curve) in chart.curves.iter().enumerate() {
                    li class=(colour_class(index)) {
                        @if has_letters(chart) { (session_letter(index)) " " }
                        (curve.name)
                    }
                }
                @if let Some(order) = order { li.order { (order) } }
            }
        }
    }
}

/// Whether each curve has its letter at its end: the chart must be readable without colour.
fn has_letters(chart: &Chart) -> bool {
    let is_drawn_along_x = matches!(
        chart.shape,
        ChartShape::Line | ChartShape::Steps | ChartShape::Scatter
    );
    is_drawn_along_x && chart.curves.len() > 1
}

fn draw(chart: &Chart) -> Markup {
    let stacks = marks::stack_segments(&chart.curves);
    let x = horizontal_scale(chart);
    let y = vertical_scale(chart, &stacks);
    let lines = chart.marks.iter().filter(|(_, value)| x.can_draw(*value));
    let lines = lines.map(|(name, value)| (name.as_str(), x.position(*value)));
    let (lines, _) = labelled_lines(lines);
    html! {
        (axes((&x, &chart.x), (&y, &chart.y)))
        (lines)
        @for (index, segments) in stacks.iter().enumerate() {
            g class=(colour_class(index)) { (curve_marks(chart, index, segments, &x, &y)) }
        }
    }
}

fn horizontal_scale(chart: &Chart) -> PixelScale {
    let points = chart.curves.iter().flat_map(|curve| &curve.points);
    let ends = points.map(|point| point[0]).chain(last_step_end(chart));
    let scale = scale_over(ends, chart.log_x);
    let scale = scale.rounded(chart.x.unit).ensure_nonempty();
    let margin = match chart.shape {
        ChartShape::Bars | ChartShape::StackedBars => BAR_MARGIN,
        _ => 0.0,
    };
    PixelScale::new(scale, [PLOT_LEFT + margin, PLOT_RIGHT - margin])
}

fn vertical_scale(chart: &Chart, stacks: &[Vec<[f64; 3]>]) -> PixelScale {
    let points = chart.curves.iter().flat_map(|curve| &curve.points);
    let limits = chart.curves.iter().flat_map(Curve::interval_points);
    let heights = points.map(|point| point[1]);
    let heights = heights.chain(limits.flat_map(|[_, low, high]| [low, high]));
    let scale = match chart.shape {
        ChartShape::StackedBars => {
            let tops = stacks.iter().flatten().map(|bar| bar[2]);
            scale_over(tops, false).pad(true)
        }
        ChartShape::Bars => scale_over(heights, chart.log_y).pad(true),
        _ => scale_over(heights, chart.log_y).pad(chart.from_zero),
    };
    PixelScale::new(scale.ensure_nonempty(), [PLOT_BOTTOM, PLOT_TOP])
}

/// End of the last step, estimated from the mean length of the others, if there are any.
fn last_step_end(chart: &Chart) -> Option<f64> {
    let points = chart.curves.iter().flat_map(|curve| &curve.points);
    let [low, high] = points.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], point| {
        [low.min(point[0]), high.max(point[0])]
    });
    let most = chart.curves.iter().map(|curve| curve.points.len()).max()?;
    let is_stepped = chart.shape == ChartShape::Steps && most > 1;
    is_stepped.then(|| high + (high - low) / (most - 1) as f64)
}

/// The points of a curve and their confidence intervals.
fn curve_marks(
    chart: &Chart,
    index: usize,
    segments: &[[f64; 3]],
    x: &PixelScale,
    y: &PixelScale,
) -> Markup {
    let points: Vec<[f64; 2]> = chart.curves[index]
        .points
        .iter()
        .filter(|[left, up]| x.can_draw(*left) && y.can_draw(*up))
        .map(|[left, up]| [x.position(*left), y.position(*up)])
        .collect();
    let count = chart.curves.len();
    let baseline = y.baseline_position();
    let drawn = match chart.shape {
        ChartShape::Line => marks::svg_line(&points, baseline, count == 1),
        ChartShape::Steps => marks::svg_steps(&points, PLOT_RIGHT),
        ChartShape::Bars => marks::svg_bars(&points, baseline, (index, count)),
        ChartShape::StackedBars => marks::svg_stack(segments, x, y),
        ChartShape::Scatter | ChartShape::Polar => marks::svg_dots(&points),
    };
    html! {
        (drawn)
        (marks::svg_intervals(&interval_positions(chart, index, x, y)))
        @if has_letters(chart) { (marks::svg_curve_letter(&points, &session_letter(index))) }
    }
}

/// Positions of the confidence intervals of a curve's points: beside each other for bars. The parts of a
/// stack have none: they do not start at 0.
fn interval_positions(
    chart: &Chart,
    index: usize,
    x: &PixelScale,
    y: &PixelScale,
) -> Vec<[f64; 3]> {
    let curve = &chart.curves[index];
    let shift = match chart.shape {
        ChartShape::StackedBars => return Vec::new(),
        ChartShape::Bars => marks::bar_offset(&curve.points, x, (index, chart.curves.len())),
        _ => 0.0,
    };
    curve
        .interval_points()
        .filter(|[at, low, high]| x.can_draw(*at) && y.can_draw(*low) && y.can_draw(*high))
        .map(|[at, low, high]| [x.position(at) + shift, y.position(low), y.position(high)])
        .collect()
}
