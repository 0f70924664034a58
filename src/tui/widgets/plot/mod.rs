//! A chart with axes that name their units.
//!
//! ```text
//!  MB/s            best 64 KiB
//!  500┤    ⢀⡠⠤⠒⠒⠒⠤⠤│⠤⠒⠒⠒⠤⠤
//!  250┤⢀⠤⠊⠁        │
//!    0└┬────────┬────────┬──
//!      0        5       10 s
//! ```

mod axes;
mod paint;
#[cfg(test)]
mod tests;
mod ticks;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::text::Line as Text;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::Canvas;
use unicode_width::UnicodeWidthStr;

use crate::bench::ChartShape;
use crate::report::axis::scale::PlotScale;
use crate::session::document::ChartAxis;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::plot::paint::CurvePainter;

/// One curve of a chart.
#[derive(Debug, Clone, Copy)]
pub struct PlotCurve<'a> {
    /// `[x, y]` in the axes' base units.
    pub points: &'a [[f64; 2]],
    /// 95 % confidence intervals of the points, in their order; empty where there are none.
    pub confidence_intervals: &'a [Option<[f64; 2]>],
    /// Role of the curve.
    pub role: StyleRole,
    /// Marker where colours cannot distinguish it from others.
    pub marker_letter: Option<char>,
}

impl PlotCurve<'_> {
    /// `[x, lower limit, upper limit]` of the points with a confidence interval.
    fn confidence_limits(&self) -> impl Iterator<Item = [f64; 3]> {
        let bounded = self.points.iter().zip(self.confidence_intervals);
        bounded.filter_map(|(point, interval)| {
            let [low, high] = (*interval)?;
            Some([point[0], low, high])
        })
    }
}

/// A named value on the horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisMark {
    /// Name and value.
    pub label: String,
    /// Position in the axis' base unit.
    pub x: f64,
}

/// A chart.
#[derive(Debug, Clone)]
pub struct PlotWidget<'a> {
    /// Its curves, the last one drawn on top.
    pub curves: Vec<PlotCurve<'a>>,
    /// Shape of the curves.
    pub shape: ChartShape,
    /// Horizontal axis.
    pub x_axis: &'a ChartAxis,
    /// Vertical axis.
    pub y_axis: &'a ChartAxis,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// Whether the vertical axis begins at 0.
    pub from_zero: bool,
    /// Bounds of the horizontal axis where they do not follow from the points.
    pub x_bounds: Option<[f64; 2]>,
    /// Named values on the horizontal axis, in any order.
    pub marks: Vec<AxisMark>,
    /// Theme of the chart.
    pub theme: Theme,
}

/// Layout of a chart.
struct PlotArea {
    x_scale: PlotScale,
    /// Maximum number of ticks of the horizontal axis.
    max_x_marks: usize,
    /// Area of the curves.
    curve_area: Rect,
    /// Columns to the left of them, including the axis line.
    left_width: u16,
}

impl PlotWidget<'_> {
    /// The points to draw: polar, or stacked.
    fn drawn_points(&self) -> Vec<Vec<[f64; 2]>> {
        let curves = self.curves.iter().map(|curve| curve.points.iter().copied());
        if self.shape == ChartShape::Polar {
            return curves
                .map(|points| points.map(paint::polar_to_cartesian).collect())
                .collect();
        }
        let mut curves: Vec<Vec<[f64; 2]>> = curves.map(Iterator::collect).collect();
        if self.shape == ChartShape::StackedBars {
            paint::stack_curves(&mut curves);
        }
        curves
    }

    /// The scales of the axes; `None` where there is nothing to draw.
    fn scales(&self, curves: &[Vec<[f64; 2]>]) -> Option<[PlotScale; 2]> {
        if self.shape == ChartShape::Polar {
            let over = |axis: usize| PlotScale::from_values(axis_values(curves, axis), false);
            let around = over(0)?.symmetric_around_zero(over(1)?).ensure_nonempty();
            return Some([around, around]);
        }
        let x = PlotScale::from_values(axis_values(curves, 0), self.log_x)?;
        let x = match self.x_bounds {
            Some(bounds) => x.extended_to(bounds),
            None => x,
        };
        let x = if matches!(self.shape, ChartShape::Bars | ChartShape::StackedBars) {
            // Half a bar at each end.
            let x = x.ensure_nonempty();
            x.pad_by(paint::min_distance(&scaled_curves(curves, x)).unwrap_or(1.0) / 2.0)
        } else {
            x.rounded(self.x_axis.unit).ensure_nonempty()
        };
        let limits = self.curves.iter().filter(|_| self.shows_limits());
        let limits = limits.flat_map(PlotCurve::confidence_limits);
        let heights = axis_values(curves, 1).chain(limits.flat_map(|[_, low, high]| [low, high]));
        let y = PlotScale::from_values(heights, self.log_y)?;
        Some([x, y.pad(self.from_zero).ensure_nonempty()])
    }

    /// Whether the confidence intervals are drawn: neither in polar charts, nor in a stack, whose
    /// parts do not start at 0, nor across bars, which would hide them.
    fn shows_limits(&self) -> bool {
        matches!(self.shape, ChartShape::Line | ChartShape::Scatter)
    }

    /// The confidence intervals of a curve's points as fractions of the plot.
    fn scaled_limits(&self, number: usize, [x, y]: [PlotScale; 2]) -> Vec<[f64; 3]> {
        let curve = self.curves.get(number).filter(|_| self.shows_limits());
        let limits = curve.into_iter().flat_map(PlotCurve::confidence_limits);
        limits
            .filter(|[at, low, high]| x.contains(*at) && y.contains(*low) && y.contains(*high))
            .map(|[at, low, high]| [x.fraction(at), y.fraction(low), y.fraction(high)])
            .collect()
    }

    /// Draws the curves as fractions of the plot.
    fn draw_curves(
        &self,
        curves: &[Vec<[f64; 2]>],
        scales: [PlotScale; 2],
        area: Rect,
        buf: &mut Buffer,
    ) {
        let [x, y] = scales;
        let mut curves = scaled_curves(curves, x);
        for points in &mut curves {
            points.retain(|point| y.contains(point[1]));
            points
                .iter_mut()
                .for_each(|point| point[1] = y.fraction(point[1]));
            if self.shape == ChartShape::StackedBars {
                paint::round_to_cells(points, area.height);
            }
        }
        let brush = CurvePainter {
            shape: self.shape,
            dot_columns: usize::from(area.width) * 2,
            baseline: y.baseline(),
            min_bar_distance: paint::min_distance(&curves),
            curve_count: curves.len(),
        };
        let mut order: Vec<usize> = (0..curves.len()).collect();
        if self.shape == ChartShape::StackedBars {
            // The whole stack first: its lower parts are drawn over it.
            order.reverse();
        }
        for number in order {
            let colour = self.theme.role_colour(self.curves[number].role);
            let limits = self.scaled_limits(number, scales);
            Canvas::default()
                .marker(self.curve_marker(number))
                .x_bounds([0.0, 1.0])
                .y_bounds([0.0, 1.0])
                .paint(|context| {
                    brush.paint(context, number, &curves[number], colour);
                    paint::paint_limits(context, &limits, colour);
                })
                .render(area, buf);
        }
        if self.has_labelled_lines() && curves.len() > 1 {
            for (number, points) in curves.iter().enumerate() {
                self.label_line(number, points, area, buf);
            }
        }
    }

    /// Whether curves are lines of the finest marks with their character at intervals, instead of
    /// lines of their character: smooth, and told apart without colours.
    fn has_labelled_lines(&self) -> bool {
        !self.theme.ascii && matches!(self.shape, ChartShape::Line | ChartShape::Steps)
    }

    /// Writes the character of a curve onto its line: at its end and at intervals before it, beside
    /// those of the other curves.
    fn label_line(&self, number: usize, points: &[[f64; 2]], area: Rect, buf: &mut Buffer) {
        /// Columns between two characters.
        const INTERVAL: u16 = 16;
        let curve = &self.curves[number];
        let symbol = curve_symbol(number, curve.marker_letter, self.shape, self.theme);
        let (Some(symbol), Some(last)) = (symbol.or(curve.marker_letter), points.last()) else {
            return;
        };
        let colour = self.theme.role_colour(curve.role);
        let column_of = |x: f64| (x * f64::from(area.width - 1)).round() as u16;
        let shift = number as u16 * INTERVAL / self.curves.len() as u16;
        let (first, end) = (column_of(points[0][0]), column_of(last[0]));
        // They stay in their columns while the line grows. A short line has one at its end.
        let before_end = (area.width - 1).saturating_sub(end);
        let to_column = (shift + INTERVAL - before_end % INTERVAL) % INTERVAL;
        let rightmost = end.checked_sub(to_column).filter(|column| *column >= first);
        let rightmost = rightmost.unwrap_or(end);
        for column in (first..=rightmost).rev().step_by(usize::from(INTERVAL)) {
            let x = f64::from(column) / f64::from((area.width - 1).max(1));
            let y = paint::height_at(points, x);
            let dots = area.height * 4 - 1;
            let row = ((1.0 - y.clamp(0.0, 1.0)) * f64::from(dots)).round() as u16 / 4;
            // The canvas may round to the row beside it. Between two points of which one is outside of
            // the axis there is no line.
            let near = [row, row.saturating_sub(1), (row + 1).min(area.height - 1)];
            let is_line = |row: &u16| {
                let cell = &buf[(area.x + column, area.y + row)];
                cell.symbol() != " " && cell.fg == colour
            };
            if let Some(row) = near.into_iter().find(is_line) {
                buf[(area.x + column, area.y + row)].set_char(symbol);
            }
        }
    }

    /// Marker of a curve. The first one of several is drawn with the finest marks, each further
    /// one of dots, bars or ASCII characters with a character of its own, so that colours are not
    /// needed to tell them apart.
    fn curve_marker(&self, number: usize) -> Marker {
        if self.has_labelled_lines() {
            return self.theme.chart_marker();
        }
        let is_bar = matches!(self.shape, ChartShape::Bars | ChartShape::StackedBars);
        let letter = self.curves[number].marker_letter;
        match curve_symbol(number, letter, self.shape, self.theme) {
            Some(symbol) => Marker::Custom(symbol),
            None if is_bar && !self.theme.ascii => Marker::Quadrant,
            None => self.theme.chart_marker(),
        }
    }
}

/// The character that a curve with this number and letter is drawn with, for the legend; `None` for
/// one that is drawn with the finest marks.
#[must_use]
pub fn curve_symbol(
    number: usize,
    letter: Option<char>,
    shape: ChartShape,
    theme: Theme,
) -> Option<char> {
    let plain = theme.ascii || !theme.colour;
    match (letter, number) {
        (Some(letter), number) if plain || number > 0 => Some(letter),
        (_, 0) => None,
        (_, number) => Some(series_symbol(number, shape, theme)),
    }
}

/// The character of the second, third ... curve of a chart.
fn series_symbol(number: usize, shape: ChartShape, theme: Theme) -> char {
    let glyphs = theme.glyphs();
    let symbols = match shape {
        ChartShape::Bars | ChartShape::StackedBars => &glyphs.bar_series,
        _ => &glyphs.line_series,
    };
    symbols[number.saturating_sub(1) % symbols.len()]
}

/// Every curve with its x values as fractions of the axis; y values are unchanged.
fn scaled_curves(curves: &[Vec<[f64; 2]>], x: PlotScale) -> Vec<Vec<[f64; 2]>> {
    let of_curve = |points: &Vec<[f64; 2]>| {
        let held = points.iter().filter(|point| x.contains(point[0]));
        held.map(|point| [x.fraction(point[0]), point[1]]).collect()
    };
    curves.iter().map(of_curve).collect()
}

fn axis_values(curves: &[Vec<[f64; 2]>], axis: usize) -> impl Iterator<Item = f64> {
    curves.iter().flatten().map(move |point| point[axis])
}

impl Widget for &PlotWidget<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(*buf.area());
        let curves = self.drawn_points();
        let Some(scales) = self.scales(&curves) else {
            Text::styled(
                "nothing measured yet",
                self.theme.role_style(StyleRole::Faint),
            )
            .render(area, buf);
            return;
        };
        if area.width < 16 || area.height < 4 {
            return;
        }
        if self.shape == ChartShape::Polar {
            return self.draw_curves(&curves, scales, area, buf);
        }
        let [x_scale, y_scale] = scales;
        let most = axes::max_vertical_marks(area.height);
        let (y_scale, most) = y_scale.aligned_to_cells(self.y_axis.unit, most, area.height - 3);
        let (up, unit) = y_scale.axis_ticks(self.y_axis.unit, most);
        let widest = up.iter().map(|(_, label)| label.width()).max();
        let left = (widest.unwrap_or(0) as u16).min(area.width / 3) + 1;
        let width = area.width - left;
        let (x_scale, max_x_marks) = x_scale.aligned_to_cells(
            self.x_axis.unit,
            axes::max_horizontal_marks(width),
            width.saturating_sub(1),
        );
        let ground = PlotArea {
            x_scale,
            max_x_marks,
            curve_area: Rect {
                x: area.x + left,
                y: area.y + 1,
                width,
                height: area.height - 3,
            },
            left_width: left,
        };
        Text::styled(unit, self.theme.role_style(StyleRole::Faint)).render(area, buf);
        self.draw_y_axis(&up, &ground, buf);
        self.draw_x_axis(&ground, buf);
        self.draw_curves(&curves, [x_scale, y_scale], ground.curve_area, buf);
        self.draw_marks(unit.width() as u16, &ground, buf);
    }
}
