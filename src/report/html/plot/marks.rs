//! Points as lines, steps, bars and dots. Points are SVG coordinates unless stated otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::scale::HtmlScale;
use super::{HtmlCurve, MAX_LINE_COLUMNS, PLOT_LEFT, PLOT_RIGHT};
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
pub(super) fn svg_line(points: &[[f64; 2]], ground: f64, filled: bool) -> String {
    let points = reduce_by_column(points, [PLOT_LEFT, PLOT_RIGHT], MAX_LINE_COLUMNS);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return String::new();
    };
    let path = svg_path(&points);
    let mut svg = String::new();
    if filled {
        let _ = write!(
            svg,
            "<path class=\"area\" d=\"{path}L{:.1} {ground:.1}L{:.1} {ground:.1}Z\"/>",
            last[0], first[0]
        );
    }
    let _ = write!(svg, "<path class=\"line\" d=\"{path}\"/>");
    if points.len() <= 40 {
        svg.push_str(&svg_circles(&points, 2.6));
    }
    svg
}

/// Steps: each height holds until the next point, that of the last one at most until `end`.
pub(super) fn svg_steps(points: &[[f64; 2]], end: f64) -> String {
    let mut sorted = points.to_vec();
    sorted.sort_by(|left, right| left[0].total_cmp(&right[0]));
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return String::new();
    };
    let width = (last[0] - first[0]) / sorted.len().saturating_sub(1).max(1) as f64;
    let mut path = format!("M{:.1} {:.1}", first[0], first[1]);
    for [x, y] in &sorted[1..] {
        let _ = write!(path, "H{x:.1}V{y:.1}");
    }
    let _ = write!(path, "H{:.1}", (last[0] + width).min(end));
    format!("<path class=\"line\" d=\"{path}\"/>")
}

/// A dot for each point.
pub(super) fn svg_dots(points: &[[f64; 2]]) -> String {
    let each = points.len().div_ceil(MAX_DOTS).max(1);
    let kept: Vec<[f64; 2]> = points.iter().step_by(each).copied().collect();
    svg_circles(&kept, if kept.len() > 400 { 1.4 } else { 2.4 })
}

fn svg_circles(points: &[[f64; 2]], radius: f64) -> String {
    let mut svg = String::new();
    for [x, y] in points {
        let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>");
    }
    svg
}

/// A vertical line with caps from the lower to the upper bound of each interval: `[x, low, high]`.
pub(super) fn svg_intervals(limits: &[[f64; 3]]) -> String {
    let mut svg = String::new();
    for [x, low, high] in limits {
        let left = x - INTERVAL_CAP_WIDTH / 2.0;
        let _ = write!(
            svg,
            "<path class=\"interval\" d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h{INTERVAL_CAP_WIDTH}\
             M{left:.1} {high:.1}h{INTERVAL_CAP_WIDTH}\"/>"
        );
    }
    svg
}

/// A bar for each point; bars of several curves are placed side by side.
pub(super) fn svg_bars(points: &[[f64; 2]], ground: f64, (index, of): (usize, usize)) -> String {
    let all = min_bar_width(points.iter().map(|point| point[0]));
    let width = all / of.max(1) as f64;
    let mut svg = String::new();
    for [x, y] in points {
        let left = x - all / 2.0 + width * index as f64;
        svg.push_str(&svg_rectangle(left, width, [*y, ground]));
    }
    svg
}

/// Offset of the centre of a curve's bars from their x.
pub(super) fn bar_offset(points: &[[f64; 2]], x: &HtmlScale, (index, of): (usize, usize)) -> f64 {
    let held = points.iter().filter(|point| x.can_draw(point[0]));
    let all = min_bar_width(held.map(|point| x.position(point[0])));
    all / of.max(1) as f64 * (index as f64 + 0.5) - all / 2.0
}

/// Width of bars at these x coordinates.
fn min_bar_width(places: impl Iterator<Item = f64>) -> f64 {
    let mut places: Vec<f64> = places.collect();
    places.sort_by(f64::total_cmp);
    let gaps = places.windows(2).map(|pair| pair[1] - pair[0]);
    let gap = gaps.filter(|gap| *gap > 0.1).fold(f64::INFINITY, f64::min);
    (gap * 0.75).clamp(1.0, MAX_BAR_WIDTH)
}

fn svg_rectangle(left: f64, width: f64, [from, to]: [f64; 2]) -> String {
    let (top, height) = (from.min(to), (from - to).abs());
    format!("<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>")
}

/// The segments of the stacks of each curve, in values: `[x, from, to]`.
pub(super) fn stack_segments(curves: &[HtmlCurve]) -> Vec<Vec<[f64; 3]>> {
    let mut tops: BTreeMap<u64, f64> = BTreeMap::new();
    let piece = |[x, y]: &[f64; 2], tops: &mut BTreeMap<u64, f64>| {
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
                .map(|point| piece(point, &mut tops))
                .collect()
        })
        .collect()
}

/// The stack segments of one curve.
pub(super) fn svg_stack(pieces: &[[f64; 3]], x: &HtmlScale, y: &HtmlScale) -> String {
    let width = min_bar_width(pieces.iter().map(|piece| x.position(piece[0])));
    let drawn = pieces.iter().filter(|piece| x.can_draw(piece[0]));
    drawn
        .map(|[at, from, to]| {
            svg_rectangle(
                x.position(*at) - width / 2.0,
                width,
                [y.position(*from), y.position(*to)],
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_line_holds_value_until_next_point() {
        let svg = svg_steps(&[[10.0, 5.0], [20.0, 7.0]], 100.0);
        assert_eq!(svg, "<path class=\"line\" d=\"M10.0 5.0H20.0V7.0H30.0\"/>");
    }

    #[test]
    fn stacked_segments_are_cumulative() {
        let curve = |heights: [f64; 2]| HtmlCurve {
            name: String::new(),
            points: vec![[1.0, heights[0]], [2.0, heights[1]]],
            intervals: Vec::new(),
        };
        let stacks = stack_segments(&[curve([1.0, 2.0]), curve([3.0, 4.0])]);
        assert_eq!(stacks[1], [[1.0, 1.0, 4.0], [2.0, 2.0, 6.0]]);
    }

    #[test]
    fn empty_chart_draws_nothing() {
        assert_eq!(svg_line(&[], 0.0, true), "");
        assert_eq!(svg_steps(&[], 1.0), "");
        assert_eq!(svg_dots(&[]), "");
    }
}
