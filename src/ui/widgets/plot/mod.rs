//! A chart with axes that name their units.
//!
//! ```text
//!  MB/s            best 64 KiB
//!  500┤    ⢀⡠⠤⠒⠒⠒⠤⠤│⠤⠒⠒⠒⠤⠤
//!  250┤⢀⠤⠊⠁        │
//!    0└┬────────┬────────┬──
//!      0        5       10 s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::text::Line as Text;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::Canvas;
use unicode_width::UnicodeWidthStr;

use crate::bench::Shape;
use crate::session::document::Axis;
use crate::ui::look::{Look, Meaning};
use paint::Brush;
use scale::Scale;

mod axes;
mod paint;
mod scale;
#[cfg(test)]
mod tests;

/// One curve of a chart.
#[derive(Debug, Clone, Copy)]
pub struct Curve<'a> {
    /// `[x, y]` in the axes' base units.
    pub points: &'a [[f64; 2]],
    /// 95 % limits of the points, in their order; empty where there are none.
    pub intervals: &'a [Option<[f64; 2]>],
    /// What it stands for.
    pub meaning: Meaning,
    /// What it is drawn with where colours cannot tell it from others.
    pub letter: Option<char>,
}

impl Curve<'_> {
    /// `[x, lower limit, upper limit]` of the points that have limits.
    fn limits(&self) -> impl Iterator<Item = [f64; 3]> {
        let bounded = self.points.iter().zip(self.intervals);
        bounded.filter_map(|(point, interval)| {
            let [low, high] = (*interval)?;
            Some([point[0], low, high])
        })
    }
}

/// A value of the horizontal axis that has a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// What it is, and how much.
    pub label: String,
    /// Where, in the axis' base unit.
    pub x: f64,
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
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// Whether the vertical axis begins at 0.
    pub from_zero: bool,
    /// Bounds of the horizontal axis where the points do not set them.
    pub x_bounds: Option<[f64; 2]>,
    /// Values of the horizontal axis that have a name, in any order.
    pub marks: Vec<Mark>,
    /// How it looks.
    pub look: Look,
}

/// The places of everything in a chart.
struct Ground {
    x: Scale,
    /// Where the curves go.
    plot: Rect,
    /// Columns to the left of them, the axis' line among them.
    left: u16,
}

impl Plot<'_> {
    /// The points as they are drawn: on a circle, or one curve on the other.
    fn points(&self) -> Vec<Vec<[f64; 2]>> {
        let curves = self.curves.iter().map(|curve| curve.points.iter().copied());
        if self.shape == Shape::Polar {
            return curves
                .map(|points| points.map(paint::on_circle).collect())
                .collect();
        }
        let mut curves: Vec<Vec<[f64; 2]>> = curves.map(Iterator::collect).collect();
        if self.shape == Shape::StackedBars {
            paint::stack(&mut curves);
        }
        curves
    }

    /// The axes; `None` where there is nothing to draw.
    fn scales(&self, curves: &[Vec<[f64; 2]>]) -> Option<[Scale; 2]> {
        if self.shape == Shape::Polar {
            let over = |axis: usize| Scale::over(values(curves, axis), false);
            let around = over(0)?.around(over(1)?).apart();
            return Some([around, around]);
        }
        let x = Scale::over(values(curves, 0), self.log_x)?;
        let x = match self.x_bounds {
            Some(bounds) => x.reaching(bounds),
            None => x,
        };
        let x = if matches!(self.shape, Shape::Bars | Shape::StackedBars) {
            // Half a bar at each end.
            let x = x.apart();
            x.padded(paint::least_distance(&shares(curves, x)).unwrap_or(1.0) / 2.0)
        } else {
            x.rounded(self.x.unit).apart()
        };
        let limits = self.curves.iter().filter(|_| self.draws_limits());
        let limits = limits.flat_map(Curve::limits);
        let heights = values(curves, 1).chain(limits.flat_map(|[_, low, high]| [low, high]));
        let y = Scale::over(heights, self.log_y)?;
        Some([x, y.airy(self.from_zero).apart()])
    }

    /// Whether the points' limits are drawn: neither on a circle, nor in a stack, whose pieces do not
    /// begin at 0, nor across bars, which would hide them.
    fn draws_limits(&self) -> bool {
        matches!(self.shape, Shape::Line | Shape::Scatter)
    }

    /// The limits of a curve's points in shares of the plot.
    fn limits(&self, number: usize, [x, y]: [Scale; 2]) -> Vec<[f64; 3]> {
        let curve = self.curves.get(number).filter(|_| self.draws_limits());
        let limits = curve.into_iter().flat_map(Curve::limits);
        limits
            .filter(|[at, low, high]| x.holds(*at) && y.holds(*low) && y.holds(*high))
            .map(|[at, low, high]| [x.share(at), y.share(low), y.share(high)])
            .collect()
    }

    /// The curves in shares of the plot.
    fn draw_curves(
        &self,
        curves: &[Vec<[f64; 2]>],
        scales: [Scale; 2],
        area: Rect,
        buf: &mut Buffer,
    ) {
        let [x, y] = scales;
        let mut curves = shares(curves, x);
        for points in &mut curves {
            points.retain(|point| y.holds(point[1]));
            points
                .iter_mut()
                .for_each(|point| point[1] = y.share(point[1]));
            if self.shape == Shape::StackedBars {
                paint::end_at_cells(points, area.height);
            }
        }
        let brush = Brush {
            shape: self.shape,
            columns: usize::from(area.width) * 2,
            ground: y.ground(),
            distance: paint::least_distance(&curves),
            curves: curves.len(),
        };
        let mut order: Vec<usize> = (0..curves.len()).collect();
        if self.shape == Shape::StackedBars {
            // The whole stack first: what lies lower in it is drawn over it.
            order.reverse();
        }
        for number in order {
            let colour = self.look.colour_of(self.curves[number].meaning);
            let limits = self.limits(number, scales);
            Canvas::default()
                .marker(self.marker(&self.curves[number]))
                .x_bounds([0.0, 1.0])
                .y_bounds([0.0, 1.0])
                .paint(|context| {
                    brush.paint(context, number, &curves[number], colour);
                    paint::limits(context, &limits, colour);
                })
                .render(area, buf);
        }
    }

    /// What a curve is drawn with: bars are solid, and where there are no colours a curve may have
    /// its letter.
    fn marker(&self, curve: &Curve<'_>) -> Marker {
        match (curve.letter, self.shape) {
            (Some(letter), _) if self.look.ascii || !self.look.colour => Marker::Custom(letter),
            (_, Shape::Bars | Shape::StackedBars) if !self.look.ascii => Marker::Quadrant,
            _ => self.look.marker(),
        }
    }
}

/// Every curve with its places along one axis as shares; heights as they are.
fn shares(curves: &[Vec<[f64; 2]>], x: Scale) -> Vec<Vec<[f64; 2]>> {
    let of_curve = |points: &Vec<[f64; 2]>| {
        let held = points.iter().filter(|point| x.holds(point[0]));
        held.map(|point| [x.share(point[0]), point[1]]).collect()
    };
    curves.iter().map(of_curve).collect()
}

fn values(curves: &[Vec<[f64; 2]>], axis: usize) -> impl Iterator<Item = f64> {
    curves.iter().flatten().map(move |point| point[axis])
}

impl Widget for &Plot<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(*buf.area());
        let curves = self.points();
        let Some(scales) = self.scales(&curves) else {
            Text::styled("nothing measured yet", self.look.style(Meaning::Faint)).render(area, buf);
            return;
        };
        if area.width < 16 || area.height < 4 {
            return;
        }
        if self.shape == Shape::Polar {
            return self.draw_curves(&curves, scales, area, buf);
        }
        let (up, unit) = scales[1].ticks(self.y.unit, axes::rows_of_marks(area.height));
        let widest = up.iter().map(|(_, label)| label.width()).max();
        let left = (widest.unwrap_or(0) as u16).min(area.width / 3) + 1;
        let ground = Ground {
            x: scales[0],
            plot: Rect {
                x: area.x + left,
                y: area.y + 1,
                width: area.width - left,
                height: area.height - 3,
            },
            left,
        };
        Text::styled(unit, self.look.style(Meaning::Faint)).render(area, buf);
        self.draw_up(&up, &ground, buf);
        self.draw_across(&ground, buf);
        self.draw_curves(&curves, scales, ground.plot, buf);
        self.draw_marks(unit.width() as u16, &ground, buf);
    }
}
