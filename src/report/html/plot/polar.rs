//! Points around a centre: x is the angle in revolutions, clockwise from above, y the radius.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::scale::Scale;
use super::{HEIGHT, Plot, WIDTH, colour, marks, titled};

/// Middle of the chart.
const CENTRE: [f64; 2] = [WIDTH / 2.0, HEIGHT / 2.0];
/// Radius of the outermost circle.
const OUTER: f64 = HEIGHT / 2.0 - 22.0;
/// Radius of the lowest value: a platter has a hole, and angles near the centre cannot be told.
const INNER: f64 = 18.0;

/// Circles, angles and dots.
pub(super) fn draw(plot: &Plot<'_>) -> String {
    let radii = plot
        .curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|point| point[1]));
    let radius = Scale::over(radii, plot.log_y, plot.from_zero, [INNER, OUTER]);
    let mut svg = String::new();
    let (ticks, unit) = radius.ticks(plot.y, 4);
    let [x, y] = CENTRE;
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
        let [left, top] = at(quarter as f64 / 4.0, OUTER + 12.0);
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            top + 4.0
        );
    }
    let _ = write!(
        svg,
        "<text class=\"axis\" x=\"0\" y=\"14\">{}</text>",
        titled(plot.y, unit)
    );
    for (index, curve) in plot.curves.iter().enumerate() {
        let points: Vec<[f64; 2]> = curve
            .points
            .iter()
            .filter(|[angle, value]| angle.is_finite() && radius.holds(*value))
            .map(|[angle, value]| at(*angle, radius.place(*value)))
            .collect();
        let _ = write!(
            svg,
            "<g class=\"{}\">{}</g>",
            colour(index),
            marks::dots(&points)
        );
    }
    svg
}

fn at(revolutions: f64, radius: f64) -> [f64; 2] {
    let angle = revolutions.fract() * TAU;
    [
        CENTRE[0] + radius * angle.sin(),
        CENTRE[1] - radius * angle.cos(),
    ]
}
