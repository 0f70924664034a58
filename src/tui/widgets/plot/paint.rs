//! Curves as dots of a canvas. All coordinates are fractions of the plot, from 0 to 1, so that no
//! number is too large for the canvas.

use ratatui::style::Color;
use ratatui::widgets::canvas::{Context, Line, Points};

use crate::bench::ChartShape;
use crate::stats::general::reduce::reduce_by_column;

/// The place of a curve's bar among the bars at one x value.
#[derive(Clone, Copy)]
struct BarSlot {
    index: usize,
    /// Number of bars.
    count: usize,
}

/// Bounds of the whole axis.
const UNIT_BOUNDS: [f64; 2] = [0.0, 1.0];
/// Maximum width of bars, as a fraction of the plot.
const MAX_BAR_FRACTION: f64 = 0.1;

/// Parameters for painting the curves of one chart.
#[derive(Debug, Clone, Copy)]
pub(super) struct CurvePainter {
    /// Shape of the curves.
    pub(super) shape: ChartShape,
    /// Horizontal number of dots.
    pub(super) dot_columns: usize,
    /// Baseline of bars.
    pub(super) baseline: f64,
    /// Minimum distance between two bars of one curve.
    pub(super) min_bar_distance: Option<f64>,
    /// Curves of the chart.
    pub(super) curve_count: usize,
}

impl CurvePainter {
    /// Paints the curve with this index.
    pub(super) fn paint(
        &self,
        context: &mut Context<'_>,
        number: usize,
        points: &[[f64; 2]],
        colour: Color,
    ) {
        match self.shape {
            ChartShape::Line => paint_line(
                context,
                &reduce_by_column(points, UNIT_BOUNDS, self.dot_columns),
                colour,
            ),
            ChartShape::Steps => {
                let points =
                    reduce_by_column(&step_points(points, 1.0), UNIT_BOUNDS, self.dot_columns);
                paint_line(context, &points, colour);
            }
            ChartShape::Bars => {
                let slot = BarSlot {
                    index: number,
                    count: self.curve_count,
                };
                self.paint_bars(context, slot, points, colour);
            }
            ChartShape::StackedBars => {
                self.paint_bars(context, BarSlot { index: 0, count: 1 }, points, colour)
            }
            ChartShape::Scatter | ChartShape::Polar => paint_dots(context, points, colour),
        }
    }

    /// Paints a bar for each point. The bars of all curves at one x value share two thirds of the
    /// distance to the next.
    fn paint_bars(
        &self,
        context: &mut Context<'_>,
        slot: BarSlot,
        points: &[[f64; 2]],
        colour: Color,
    ) {
        let pixel = 1.0 / self.dot_columns.max(1) as f64;
        let group_width = self
            .min_bar_distance
            .map_or(pixel * 8.0, |least| least * 2.0 / 3.0);
        let group_width = group_width.min(MAX_BAR_FRACTION * slot.count as f64);
        let bar_width = group_width / slot.count as f64;
        // No dot may be left out.
        let lines = ((bar_width / pixel).ceil() as usize).clamp(1, 400);
        for [x, y] in points {
            let left = x - group_width / 2.0 + bar_width * slot.index as f64;
            for line in 0..lines {
                let x = left + (line as f64 + 0.5) * (bar_width / lines as f64);
                context.draw(&Line::new(x, self.baseline, x, *y, colour));
            }
        }
    }
}

/// Minimum distance between two x values of one curve.
pub(super) fn min_distance(curves: &[Vec<[f64; 2]>]) -> Option<f64> {
    let of_curve = |points: &Vec<[f64; 2]>| {
        let mut places: Vec<_> = points.iter().map(|point| point[0]).collect();
        places.sort_by(f64::total_cmp);
        let distances = places.windows(2).map(|pair| pair[1] - pair[0]);
        distances
            .filter(|distance| *distance > 0.0)
            .min_by(f64::total_cmp)
    };
    curves.iter().filter_map(of_curve).min_by(f64::total_cmp)
}

/// Stacks each curve on those before it, where they have a point at the same x value.
pub(super) fn stack_curves(curves: &mut [Vec<[f64; 2]>]) {
    for upper in 1..curves.len() {
        let (below, above) = curves.split_at_mut(upper);
        for point in &mut above[0] {
            let under = below[upper - 1].iter().find(|under| under[0] == point[0]);
            point[1] += under.map_or(0.0, |under| under[1]);
        }
    }
}

/// Rounds the ends of bars to rows of cells; bars shorter than a row are dropped. A cell has one
/// colour: where two parts of a stack shared a cell, a gap would remain between them.
pub(super) fn round_to_cells(points: &mut Vec<[f64; 2]>, rows: u16) {
    let rows = f64::from(rows);
    for point in points.iter_mut() {
        // The last of the dots, two per row, that belong to the full rows.
        let full = (point[1] * rows).round();
        point[1] = (2.0 * full - 1.0) / (2.0 * rows - 1.0);
    }
    points.retain(|point| point[1] > 0.0);
}

/// A point in polar coordinates: x is the angle in revolutions from the top, clockwise.
pub(super) fn polar_to_cartesian([turn, radius]: [f64; 2]) -> [f64; 2] {
    let angle = turn * std::f64::consts::TAU;
    [radius * angle.sin(), radius * angle.cos()]
}

/// Height of the line through these points at `x`, between the two next to it; points are in the
/// order of their x values.
pub(super) fn height_at(points: &[[f64; 2]], x: f64) -> f64 {
    let after = points.partition_point(|point| point[0] < x);
    match (points.get(after.wrapping_sub(1)), points.get(after)) {
        (Some([x1, y1]), Some([x2, y2])) if x2 > x1 => y1 + (y2 - y1) * (x - x1) / (x2 - x1),
        (_, Some([_, y])) | (Some([_, y]), None) => *y,
        (None, None) => 0.0,
    }
}

/// Steps: each height holds until the next point; the last step has the average length of the
/// others, up to the end.
fn step_points(points: &[[f64; 2]], end: f64) -> Vec<[f64; 2]> {
    let mut drawn = Vec::with_capacity(points.len() * 2 + 1);
    for pair in points.windows(2) {
        drawn.extend([pair[0], [pair[1][0], pair[0][1]]]);
    }
    if let (Some(first), Some(last)) = (points.first(), points.last()) {
        let mean = (last[0] - first[0]) / (points.len().max(2) - 1) as f64;
        drawn.extend([*last, [(last[0] + mean).min(end), last[1]]]);
    }
    drawn
}

fn paint_line(context: &mut Context<'_>, points: &[[f64; 2]], colour: Color) {
    for pair in points.windows(2) {
        let ([x1, y1], [x2, y2]) = (pair[0], pair[1]);
        context.draw(&Line::new(x1, y1, x2, y2, colour));
    }
    if let [point] = points {
        paint_dots(context, &[*point], colour);
    }
}

/// Paints a vertical line from the lower to the upper limit of each point: `[x, low, high]`.
pub(super) fn paint_limits(context: &mut Context<'_>, limits: &[[f64; 3]], colour: Color) {
    for [x, low, high] in limits {
        context.draw(&Line::new(*x, *low, *x, *high, colour));
    }
}

fn paint_dots(context: &mut Context<'_>, points: &[[f64; 2]], colour: Color) {
    let coords: Vec<_> = points.iter().map(|[x, y]| (*x, *y)).collect();
    context.draw(&Points::new(&coords, colour));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacked_curves_add_up() {
        let mut curves = vec![
            vec![[1.0, 10.0], [2.0, 20.0]],
            vec![[1.0, 1.0], [3.0, 3.0]],
            vec![[1.0, 5.0]],
        ];
        stack_curves(&mut curves);
        assert_eq!(curves[1], [[1.0, 11.0], [3.0, 3.0]]);
        assert_eq!(curves[2], [[1.0, 16.0]]);
    }

    #[test]
    fn stacked_bars_are_rounded_to_cells() {
        let mut points = vec![[0.1, 0.52], [0.2, 0.04], [0.3, 1.0]];
        round_to_cells(&mut points, 10);
        assert_eq!(points, [[0.1, 9.0 / 19.0], [0.3, 1.0]]);
    }

    #[test]
    fn height_between_points_is_interpolated() {
        let points = [[0.0, 1.0], [0.5, 3.0], [1.0, 3.0]];
        let heights = [0.0, 0.25, 0.75, 2.0].map(|x| height_at(&points, x));
        assert_eq!(heights, [1.0, 2.0, 3.0, 3.0]);
    }

    #[test]
    fn step_curve_holds_value_until_next_point() {
        assert_eq!(
            step_points(&[[0.0, 1.0], [2.0, 3.0]], 9.0),
            [[0.0, 1.0], [2.0, 1.0], [2.0, 3.0], [4.0, 3.0]]
        );
    }

    #[test]
    fn bar_distance_is_minimum_within_one_curve() {
        let curves = [
            vec![[0.0, 1.0], [0.5, 1.0], [0.8, 1.0]],
            vec![[0.01, 1.0], [0.51, 1.0]],
        ];
        let least = min_distance(&curves).unwrap();
        assert!((least - 0.3).abs() < 1e-9);
        assert_eq!(min_distance(&[vec![[0.5, 1.0]]]), None);
    }
}
