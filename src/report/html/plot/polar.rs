//! Polar charts: x is the angle in revolutions, clockwise from the top, y the radius.

use std::f64::consts::TAU;

use maud::{Markup, html};

use super::frame::{CHART_HEIGHT, CHART_WIDTH, axis_title, colour_class, px};
use super::marks;
use super::scale::{PixelScale, scale_over};
use crate::report::blocks::{Chart, Curve};

/// Centre of the chart.
const CHART_CENTRE: [f64; 2] = [CHART_WIDTH / 2.0, CHART_HEIGHT / 2.0];
/// Radius of the outermost circle.
const OUTER_RADIUS: f64 = CHART_HEIGHT / 2.0 - 22.0;
/// Radius of the lowest value: a platter has a hole, and angles near the centre are illegible.
const INNER_RADIUS: f64 = 18.0;

/// Circles, angles and dots.
pub(super) fn draw_polar(chart: &Chart) -> Markup {
    let points = chart.curves.iter().flat_map(|curve| &curve.points);
    let mut scale = scale_over(points.map(|point| point[1]), chart.log_y);
    if chart.from_zero {
        scale = scale.extended_to([0.0, 0.0]);
    }
    let radius = PixelScale::new(scale.ensure_nonempty(), [INNER_RADIUS, OUTER_RADIUS]);
    let (ticks, unit) = radius.ticks(chart.y.unit, 4);
    let [x, y] = CHART_CENTRE;
    let quarters = ["0", "1/4", "1/2", "3/4"].into_iter().enumerate();
    html! {
        @for (at, label) in ticks {
            circle.ring cx=(x) cy=(y) r=(px(at)) {}
            text.tick x=(px(x + 4.0)) y=(px(y - at - 3.0)) { (label) }
        }
        @for (quarter, label) in quarters {
            @let [left, top] = polar_to_cartesian(quarter as f64 / 4.0, OUTER_RADIUS + 12.0);
            text.tick x=(px(left)) y=(px(top + 4.0)) text-anchor="middle" { (label) }
        }
        text.axis x="0" y="14" { (axis_title(&chart.y, unit)) }
        @for (index, curve) in chart.curves.iter().enumerate() {
            g class=(colour_class(index)) { (marks::svg_dots(&polar_points(curve, &radius))) }
        }
    }
}

fn polar_points(curve: &Curve, radius: &PixelScale) -> Vec<[f64; 2]> {
    curve
        .points
        .iter()
        .filter(|[angle, value]| angle.is_finite() && radius.can_draw(*value))
        .map(|[angle, value]| polar_to_cartesian(*angle, radius.position(*value)))
        .collect()
}

fn polar_to_cartesian(revolutions: f64, radius: f64) -> [f64; 2] {
    let angle = revolutions.fract() * TAU;
    [
        CHART_CENTRE[0] + radius * angle.sin(),
        CHART_CENTRE[1] - radius * angle.cos(),
    ]
}
