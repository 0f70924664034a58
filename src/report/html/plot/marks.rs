//! Points as lines, steps, bars and dots. Points are SVG coordinates unless stated otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};

use super::frame::{MAX_LINE_COLUMNS, PLOT_LEFT, PLOT_RIGHT, px};
use super::scale::PixelScale;
use crate::report::blocks::Curve;
use crate::stats::general::reduce::reduce_by_column;

/// Maximum number of dots; of more points, every n-th is drawn.
const MAX_DOTS: usize = 4000;
/// Width of the caps of an interval.
const INTERVAL_CAP_WIDTH: f64 = 6.0;
/// Maximum width of a bar.
const MAX_BAR_WIDTH: f64 = 28.0;

/// A path through the points.
fn svg_path(points: &[[f64; 2]]) -> String {
    let mut path = String::new();
    for (index, [x, y]) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
    }
    path
}

/// Lines between the points in order of x; `filled` shades the area down to `ground`.
pub(super) fn svg_line(points: &[[f64; 2]], ground: f64, filled: bool) -> Markup {
    let points = reduce_by_column(points, [PLOT_LEFT, PLOT_RIGHT], MAX_LINE_COLUMNS);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Markup::default();
    };
    let path = svg_path(&points);
    let (left, right) = (first[0], last[0]);
    html! {
        @if filled {
            path.area d=(format_args!("{path}L{right:.1} {ground:.1}L{left:.1} {ground:.1}Z")) {}
        }
        path.line d=(path) {}
        @if points.len() <= 40 { (svg_circles(&points, 2.6)) }
    }
}

/// The letter of a curve above its last point.
pub(super) fn svg_curve_letter(points: &[[f64; 2]], letter: &str) -> Markup {
    let by_position = |left: &&[f64; 2], right: &&[f64; 2]| left[0].total_cmp(&right[0]);
    let Some([x, y]) = points.iter().max_by(by_position) else {
        return Markup::default();
    };
    html! { text.name x=(px(*x)) y=(px(y - 7.0)) text-anchor="end" { (letter) } }
}

/// Steps: each height holds until the next point, that of the last one at most until `end`.
pub(super) fn svg_steps(points: &[[f64; 2]], end: f64) -> Markup {
    let mut sorted = points.to_vec();
    sorted.sort_by(|left, right| left[0].total_cmp(&right[0]));
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return Markup::default();
    };
    let width = (last[0] - first[0]) / sorted.len().saturating_sub(1).max(1) as f64;
    let mut path = format!("M{:.1} {:.1}", first[0], first[1]);
    for [x, y] in &sorted[1..] {
        let _ = write!(path, "H{x:.1}V{y:.1}");
    }
    let _ = write!(path, "H{:.1}", (last[0] + width).min(end));
    html! { path.line d=(path) {} }
}

/// A dot for each point.
pub(super) fn svg_dots(points: &[[f64; 2]]) -> Markup {
    let each = points.len().div_ceil(MAX_DOTS).max(1);
    let reduced: Vec<[f64; 2]> = points.iter().step_by(each).copied().collect();
    svg_circles(&reduced, if reduced.len() > 400 { 1.4 } else { 2.4 })
}

fn svg_circles(points: &[[f64; 2]], radius: f64) -> Markup {
    html! { @for [x, y] in points { circle cx=(px(*x)) cy=(px(*y)) r=(radius) {} } }
}

/// A vertical line with caps from the lower to the upper bound of each interval: `[x, low, high]`.
pub(super) fn svg_intervals(limits: &[[f64; 3]]) -> Markup {
    let path = |[x, low, high]: &[f64; 3]| {
        let left = x - INTERVAL_CAP_WIDTH / 2.0;
        format!(
            "M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h{INTERVAL_CAP_WIDTH}M{left:.1} \
             {high:.1}h{INTERVAL_CAP_WIDTH}"
        )
    };
    html! { @for interval in limits { path.interval d=(path(interval)) {} } }
}

/// A bar for each point; bars of several curves are placed side by side.
pub(super) fn svg_bars(points: &[[f64; 2]], ground: f64, (index, of): (usize, usize)) -> Markup {
    let all = min_bar_width(points.iter().map(|point| point[0]));
    let width = all / of.max(1) as f64;
    html! {
        @for [x, y] in points {
            (svg_rectangle(x - all / 2.0 + width * index as f64, width, [*y, ground]))
        }
    }
}

/// Offset of the centre of a curve's bars from their x.
pub(super) fn bar_offset(points: &[[f64; 2]], x: &PixelScale, (index, of): (usize, usize)) -> f64 {
    let held = points.iter().filter(|point| x.can_draw(point[0]));
    let all = min_bar_width(held.map(|point| x.position(point[0])));
    all / of.max(1) as f64 * (index as f64 + 0.5) - all / 2.0
}

/// Width of bars at these x coordinates.
fn min_bar_width(positions: impl Iterator<Item = f64>) -> f64 {
    let mut positions: Vec<f64> = positions.collect();
    positions.sort_by(f64::total_cmp);
    let gaps = positions.windows(2).map(|pair| pair[1] - pair[0]);
    let gap = gaps.filter(|gap| *gap > 0.1).fold(f64::INFINITY, f64::min);
    (gap * 0.75).clamp(1.0, MAX_BAR_WIDTH)
}

fn svg_rectangle(left: f64, width: f64, [from, to]: [f64; 2]) -> Markup {
    let (top, height) = (from.min(to), (from - to).abs());
    html! { rect x=(px(left)) y=(px(top)) width=(px(width)) height=(px(height)) {} }
}

/// The segments of the stacks of each curve, in values: `[x, from, to]`.
pub(super) fn stack_segments(curves: &[Curve]) -> Vec<Vec<[f64; 3]>> {
    let mut tops: BTreeMap<u64, f64> = BTreeMap::new();
    let segment = |[x, y]: &[f64; 2], tops: &mut BTreeMap<u64, f64>| {
        let top = tops.entry(x.to_bits()).or_default();
        let from = *top;
        *top += y;
        [*x, from, *top]
    };
    curves
        .iter()
        .map(|curve| {
            curve
                .points
                .iter()
                .map(|point| segment(point, &mut tops))
                .collect()
        })
        .collect()
}

/// The stack segments of one curve.
pub(super) fn svg_stack(segments: &[[f64; 3]], x: &PixelScale, y: &PixelScale) -> Markup {
    let width = min_bar_width(segments.iter().map(|segment| x.position(segment[0])));
    let drawn = segments.iter().filter(|segment| x.can_draw(segment[0]));
    html! {
        @for [at, from, to] in drawn {
            (svg_rectangle(
                x.position(*at) - width / 2.0,
                width,
                [y.position(*from), y.position(*to)],
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_line_holds_value_until_next_point() {
        let svg = svg_steps(&[[10.0, 5.0], [20.0, 7.0]], 100.0);
        assert_eq!(
            svg.into_string(),
            "<path class=\"line\" d=\"M10.0 5.0H20.0V7.0H30.0\"></path>"
        );
    }

    #[test]
    fn stacked_segments_are_cumulative() {
        let curve = |heights: [f64; 2]| Curve {
            name: String::new(),
            points: vec![[1.0, heights[0]], [2.0, heights[1]]],
            intervals: Vec::new(),
        };
        let stacks = stack_segments(&[curve([1.0, 2.0]), curve([3.0, 4.0])]);
        assert_eq!(stacks[1], [[1.0, 1.0, 4.0], [2.0, 2.0, 6.0]]);
    }

    #[test]
    fn empty_chart_draws_nothing() {
        assert_eq!(svg_line(&[], 0.0, true).into_string(), "");
        assert_eq!(svg_steps(&[], 1.0).into_string(), "");
        assert_eq!(svg_dots(&[]).into_string(), "");
    }
}
