//! A chart with axes that name their units.
//!
//! ```text
//!  MB/s
//!  500┤    ⢀⡠⠤⠒⠒⠒⠤⠤⠤⠒⠒⠒⠤⠤
//!  250┤⢀⠤⠊⠁
//!    0└┬────────┬────────┬──
//!      0        5       10 s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::Line as Text;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Context, Line, Points};
use unicode_width::UnicodeWidthStr;

use crate::axis::{Ticks, linear_ticks, log_ticks};
use crate::bench::Shape;
use crate::session::document::Axis;
use crate::stats::reduce::by_column;
use crate::ui::look::{Look, Meaning};

/// One curve of a chart.
#[derive(Debug, Clone, Copy)]
pub struct Curve<'a> {
    /// `[x, y]` in the axes' base units.
    pub points: &'a [[f64; 2]],
    /// What it stands for.
    pub meaning: Meaning,
}

/// A chart.
#[derive(Debug, Clone)]
pub struct Plot<'a> {
    /// Its curves, the last on top.
    pub curves: Vec<Curve<'a>>,
    /// How they are drawn.
    pub shape: Shape,
    /// Horizontal axis.
    pub x: &'a Axis,
    /// Vertical axis.
    pub y: &'a Axis,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis begins at 0.
    pub from_zero: bool,
    /// Bounds of the horizontal axis where the points do not set them.
    pub x_bounds: Option<[f64; 2]>,
    /// How it looks.
    pub look: Look,
}

/// Columns between two marks of the horizontal axis, at least.
const MARK_WIDTH: u16 = 12;
/// Rows between two marks of the vertical axis, at least; in a low chart fewer.
const MARK_HEIGHT: u16 = 3;
/// Nothing that is measured comes near this; what is beyond has no place on an axis.
const DRAWABLE: f64 = 1e100;
/// A chart below this height is low.
const LOW: u16 = 12;

impl Plot<'_> {
    /// The horizontal place of a value: itself, or its logarithm.
    fn across(&self, x: f64) -> f64 {
        if self.log_x { x.max(1e-9).ln() } else { x }
    }

    fn points(&self) -> Vec<Vec<[f64; 2]>> {
        let drawable = |point: &&[f64; 2]| {
            point.iter().all(|value| value.abs() < DRAWABLE) && (!self.log_x || point[0] > 0.0)
        };
        let placed = |curve: &Curve<'_>| -> Vec<[f64; 2]> {
            let points = curve.points.iter().filter(drawable);
            if self.shape == Shape::Polar {
                return points.map(on_circle).collect();
            }
            points.map(|[x, y]| [self.across(*x), *y]).collect()
        };
        let mut curves: Vec<Vec<[f64; 2]>> = self.curves.iter().map(placed).collect();
        if self.shape == Shape::StackedBars {
            stack(&mut curves);
        }
        curves
    }

    fn bounds(&self, curves: &[Vec<[f64; 2]>]) -> Option<([f64; 2], [f64; 2])> {
        let mut x = range(curves.iter().flatten().map(|point| point[0]))?;
        let mut y = range(curves.iter().flatten().map(|point| point[1]))?;
        if self.shape == Shape::Polar {
            let reach = [x, y]
                .iter()
                .flatten()
                .fold(0.0, |far: f64, v| far.max(v.abs()));
            return Some(([-reach, reach], [-reach, reach]));
        }
        if let Some([low, high]) = self.x_bounds {
            x = [self.across(low).min(x[0]), self.across(high).max(x[1])];
        }
        if !self.log_x {
            x = self.rounded(x);
        }
        let head = (y[1] - y[0]) * 0.05;
        if self.from_zero {
            y = [y[0].min(0.0), y[1] * 1.08];
        } else {
            y = [y[0] - head, y[1] + head];
        }
        Some((apart(x), apart(y)))
    }

    /// The horizontal bounds, from 0 where that is close, to the next mark where that is close.
    fn rounded(&self, [low, high]: [f64; 2]) -> [f64; 2] {
        let low = if low > 0.0 && low < high * 0.1 {
            0.0
        } else {
            low
        };
        let marks = linear_ticks(self.x.unit, [low, high], 6).marks;
        let step = match marks.as_slice() {
            [(first, _), (second, _), ..] => second - first,
            _ => return [low, high],
        };
        let next = (high / step).ceil() * step;
        let close = next - high < (high - low) * 0.04;
        [low, if close { next } else { high }]
    }

    fn ticks(&self, x: [f64; 2], y: [f64; 2], area: Rect) -> (Vec<(f64, String)>, Ticks) {
        let apart = if area.height < LOW { 2 } else { MARK_HEIGHT };
        let rows = usize::from(area.height / apart + 1);
        let vertical = linear_ticks(self.y.unit, y, rows);
        let columns = usize::from((area.width / MARK_WIDTH).max(1));
        if self.log_x {
            let values = [x[0].exp(), x[1].exp()];
            let marks = log_ticks(self.x.unit, values, columns);
            let placed = marks.into_iter().map(|(value, label)| (value.ln(), label));
            return (placed.collect(), vertical);
        }
        let mut horizontal = linear_ticks(self.x.unit, x, columns);
        if let Some((_, label)) = horizontal.marks.last_mut() {
            *label = format!("{label} {}", horizontal.scale.name);
        }
        (horizontal.marks, vertical)
    }
}

/// A point around a centre: x is the angle in revolutions from the top, clockwise.
fn on_circle([turn, radius]: &[f64; 2]) -> [f64; 2] {
    let angle = turn * std::f64::consts::TAU;
    [radius * angle.sin(), radius * angle.cos()]
}

fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    (low <= high).then_some([low, high])
}

/// Bounds that differ, so that something can be drawn between them.
fn apart([low, high]: [f64; 2]) -> [f64; 2] {
    if high > low {
        [low, high]
    } else {
        let half = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
        [low - half, high + half]
    }
}

impl Widget for &Plot<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(*buf.area());
        let curves = self.points();
        let Some((x, y)) = self.bounds(&curves) else {
            Text::styled("nothing measured yet", self.look.style(Meaning::Faint)).render(area, buf);
            return;
        };
        if area.width < 16 || area.height < 4 {
            return;
        }
        if self.shape == Shape::Polar {
            return self.draw_curves(&curves, x, y, area, buf);
        }
        let (across, up) = self.ticks(x, y, area);
        let widest = up.marks.iter().map(|(_, label)| label.width()).max();
        let left = (widest.unwrap_or(0) as u16).min(area.width / 3) + 1;
        let plot = Rect {
            x: area.x + left,
            y: area.y + 1,
            width: area.width - left,
            height: area.height - 3,
        };
        Text::styled(up.scale.name, self.look.style(Meaning::Faint)).render(area, buf);
        self.draw_up(&up.marks, y, plot, left, buf);
        self.draw_across(&across, x, plot, left, buf);
        self.draw_curves(&curves, x, y, plot, buf);
    }
}

impl Plot<'_> {
    /// The vertical axis: its line, marks and labels, to the left of the plot.
    fn draw_up(
        &self,
        marks: &[(f64, String)],
        y: [f64; 2],
        plot: Rect,
        left: u16,
        buf: &mut Buffer,
    ) {
        let style = self.look.style(Meaning::Faint);
        let glyphs = self.look.glyphs();
        for row in plot.top()..plot.bottom() {
            buf[(plot.x - 1, row)]
                .set_char(glyphs.vertical)
                .set_style(style);
        }
        buf[(plot.x - 1, plot.bottom())]
            .set_char(glyphs.corner)
            .set_style(style);
        for (value, label) in marks {
            let share = (value - y[0]) / (y[1] - y[0]);
            // Row 0 of the plot is its highest; the value 0 sits on the axis itself.
            let up = (share * f64::from(plot.height)).round() as u16;
            let row = plot.bottom() - up.min(plot.height);
            if up > 0 {
                buf[(plot.x - 1, row)]
                    .set_char(glyphs.tick_left)
                    .set_style(style);
            }
            let cell = Rect::new(plot.x - left, row, left - 1, 1);
            Text::styled(label.as_str(), style)
                .right_aligned()
                .render(cell, buf);
        }
    }

    /// The horizontal axis: its line, marks and labels, below the plot.
    fn draw_across(
        &self,
        marks: &[(f64, String)],
        x: [f64; 2],
        plot: Rect,
        left: u16,
        buf: &mut Buffer,
    ) {
        let style = self.look.style(Meaning::Faint);
        let glyphs = self.look.glyphs();
        let row = plot.bottom();
        for column in plot.left()..plot.right() {
            buf[(column, row)]
                .set_char(glyphs.horizontal)
                .set_style(style);
        }
        let mut free = plot.x - left;
        for (value, label) in marks {
            let share = (value - x[0]) / (x[1] - x[0]);
            let column = plot.x + (share * f64::from(plot.width - 1)).round() as u16;
            if column >= plot.right() {
                continue;
            }
            buf[(column, row)]
                .set_char(glyphs.tick_below)
                .set_style(style);
            let wide = label.width() as u16;
            let from = column
                .saturating_sub(wide / 2)
                .min(plot.right().saturating_sub(wide));
            if from >= free {
                let cell = Rect::new(from, row + 1, wide, 1).intersection(*buf.area());
                Text::styled(label.as_str(), style).render(cell, buf);
                free = from + wide + 1;
            }
        }
    }

    /// The curves, drawn in shares of the plot: between 0 and 1 no number is too large for the
    /// canvas.
    fn draw_curves(
        &self,
        curves: &[Vec<[f64; 2]>],
        x: [f64; 2],
        y: [f64; 2],
        plot: Rect,
        buf: &mut Buffer,
    ) {
        let columns = usize::from(plot.width) * 2;
        let pixel = 1.0 / columns as f64;
        let whole = [0.0, 1.0];
        let share = |value: f64, [low, high]: [f64; 2]| (value - low) / (high - low);
        let ground = share(0.0, y).clamp(0.0, 1.0);
        let canvas = Canvas::default()
            .marker(self.look.marker())
            .x_bounds(whole)
            .y_bounds(whole)
            .paint(|context| {
                let mut pairs: Vec<_> = self.curves.iter().zip(curves).collect();
                if self.shape == Shape::StackedBars {
                    // The whole stack first: what lies lower in it is drawn over it.
                    pairs.reverse();
                }
                for (curve, points) in pairs {
                    let colour = self.look.colour_of(curve.meaning);
                    let points: Vec<_> = points
                        .iter()
                        .map(|point| [share(point[0], x), share(point[1], y)])
                        .collect();
                    match self.shape {
                        Shape::Line => {
                            paint_line(context, &by_column(&points, whole, columns), colour);
                        }
                        Shape::Steps => {
                            let points = by_column(&steps(&points, 1.0), whole, columns);
                            paint_line(context, &points, colour);
                        }
                        Shape::Bars | Shape::StackedBars => {
                            paint_bars(context, &points, pixel, ground, colour);
                        }
                        Shape::Scatter | Shape::Polar => paint_points(context, &points, colour),
                    }
                    context.layer();
                }
            });
        canvas.render(plot, buf);
    }
}

/// Puts each curve on top of those before it, where they have a point at the same place.
fn stack(curves: &mut [Vec<[f64; 2]>]) {
    for upper in 1..curves.len() {
        let (below, above) = curves.split_at_mut(upper);
        for point in &mut above[0] {
            let under = below[upper - 1].iter().find(|under| under[0] == point[0]);
            point[1] += under.map_or(0.0, |under| under[1]);
        }
    }
}

/// Each height holds until the next point; the last one as far as the others on average, not
/// beyond the end.
fn steps(points: &[[f64; 2]], end: f64) -> Vec<[f64; 2]> {
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
        paint_points(context, &[*point], colour);
    }
}

fn paint_points(context: &mut Context<'_>, points: &[[f64; 2]], colour: Color) {
    let coords: Vec<_> = points.iter().map(|[x, y]| (*x, *y)).collect();
    context.draw(&Points::new(&coords, colour));
}

/// A bar for each point, as wide as two thirds of the least distance between two.
fn paint_bars(
    context: &mut Context<'_>,
    points: &[[f64; 2]],
    pixel: f64,
    from: f64,
    colour: Color,
) {
    let mut places: Vec<_> = points.iter().map(|point| point[0]).collect();
    places.sort_by(f64::total_cmp);
    let least = places
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .filter(|distance| *distance > 0.0)
        .fold(f64::INFINITY, f64::min);
    let half = if least.is_finite() {
        least / 3.0
    } else {
        pixel * 4.0
    };
    let lines = ((2.0 * half / pixel) as usize).clamp(1, 200);
    for [x, y] in points {
        for line in 0..lines {
            let x = x - half + (line as f64 + 0.5) * (2.0 * half / lines as f64);
            context.draw(&Line::new(x, from, x, *y, colour));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::document::Unit;

    fn plot<'a>(points: &'a [[f64; 2]], shape: Shape, axes: &'a [Axis; 2]) -> Plot<'a> {
        Plot {
            curves: vec![Curve {
                points,
                meaning: Meaning::Read,
            }],
            shape,
            x: &axes[0],
            y: &axes[1],
            log_x: false,
            from_zero: true,
            x_bounds: None,
            look: Look::FULL,
        }
    }

    fn axes() -> [Axis; 2] {
        [
            Axis::new("time", Unit::Nanoseconds),
            Axis::new("throughput", Unit::BytesPerSecond),
        ]
    }

    fn drawn(plot: &Plot<'_>, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        plot.render(area, &mut buf);
        let row = |y| {
            (0..width)
                .map(|x| buf[(x, y)].symbol().to_owned())
                .collect::<String>()
        };
        (0..height).map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn stacked_curves_stand_on_each_other() {
        let mut curves = vec![
            vec![[1.0, 10.0], [2.0, 20.0]],
            vec![[1.0, 1.0], [3.0, 3.0]],
            vec![[1.0, 5.0]],
        ];
        stack(&mut curves);
        assert_eq!(curves[1], [[1.0, 11.0], [3.0, 3.0]]);
        assert_eq!(curves[2], [[1.0, 16.0]]);
    }

    #[test]
    fn axes_name_their_units() {
        let points = [[0.0, 100e6], [5e9, 500e6], [10e9, 400e6]];
        let axes = axes();
        let text = drawn(&plot(&points, Shape::Line, &axes), 40, 12);
        for label in ["MB/s", "200", "400", "10 s"] {
            assert!(text.contains(label), "{label}\n{text}");
        }
    }

    #[test]
    fn a_step_holds_until_the_next() {
        assert_eq!(
            steps(&[[0.0, 1.0], [2.0, 3.0]], 9.0),
            [[0.0, 1.0], [2.0, 1.0], [2.0, 3.0], [4.0, 3.0]]
        );
    }

    #[test]
    fn nothing_measured_is_said() {
        let axes = axes();
        assert!(drawn(&plot(&[], Shape::Line, &axes), 40, 6).contains("nothing measured"));
    }

    proptest! {
        #[test]
        fn any_points_can_be_drawn_at_any_size(
            points in prop::collection::vec([any::<f64>(), any::<f64>()], 0..50),
            width in 1..100_u16, height in 1..40_u16, log_x in any::<bool>(), shape in 0..5_u8,
        ) {
            let shapes = [Shape::Line, Shape::Steps, Shape::Bars, Shape::Scatter, Shape::Polar];
            let axes = axes();
            let mut plot = plot(&points, shapes[usize::from(shape)], &axes);
            plot.log_x = log_x;
            drawn(&plot, width, height);
        }
    }
}
