//! Polar charts: x is the angle in revolutions, clockwise from the top, y the radius.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::scale::HtmlScale;
use super::{CHART_HEIGHT, CHART_WIDTH, HtmlPlot, axis_title, colour_class, marks};

/// Centre of the chart.
const CHART_CENTRE: [f64; 2] = [CHART_WIDTH / 2.0, CHART_HEIGHT / 2.0];
/// Radius of the outermost circle.
const OUTER_RADIUS: f64 = CHART_HEIGHT / 2.0 - 22.0;
/// Radius of the lowest value: a platter has a hole, and angles near the centre are illegible.
const INNER_RADIUS: f64 = 18.0;

/// Circles, angles and dots.
pub(super) fn draw_polar(plot: &HtmlPlot<'_>) -> String {
    let radii = plot
        .curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|point| point[1]));
    let radius = HtmlScale::spanning(
        radii,
        plot.log_y,
        plot.from_zero,
        [INNER_RADIUS, OUTER_RADIUS],
    );
    let mut svg = String::new();
    let (ticks, unit) = radius.ticks(plot.y, 4);
    let [x, y] = CHART_CENTRE;
    for (at, label) in ticks {
        let _ = write!(
            svg,
            "<circle class=\"ring\" cx=\"{x}\" cy=\"{y}\" r=\"{at:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            x + 4.0,
            y - at - 3.0,
        );
    }
    for (quarter, label) in ["0", "1/4", "1/2", "3/4"].into_iter().enumerate() {
        let [left, top] = polar_to_cartesian(quarter as f64 / 4.0, OUTER_RADIUS + 12.0);
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            top + 4.0
        );
    }
    let _ = write!(
        svg,
        "<text class=\"axis\" x=\"0\" y=\"14\">{}</text>",
        axis_title(plot.y, unit)
    );
    for (index, curve) in plot.curves.iter().enumerate() {
        let points: Vec<[f64; 2]> = curve
            .points
            .iter()
            .filter(|[angle, value]| angle.is_finite() && radius.can_draw(*value))
            .map(|[angle, value]| polar_to_cartesian(*angle, radius.position(*value)))
            .collect();
        let _ = write!(
            svg,
            "<g class=\"{}\">{}</g>",
            colour_class(index),
            marks::svg_dots(&points)
        );
    }
    svg
}

fn polar_to_cartesian(revolutions: f64, radius: f64) -> [f64; 2] {
    let angle = revolutions.fract() * TAU;
    [
        CHART_CENTRE[0] + radius * angle.sin(),
        CHART_CENTRE[1] - radius * angle.cos(),
    ]
}
