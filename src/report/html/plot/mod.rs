//! Charts as inline SVG: colours, fonts and line widths come from the page's style sheet.

use std::fmt::Write as _;

use super::escape;
use crate::session::chart::Shape;
use crate::session::document::Axis;
use scale::Scale;

mod distribution;
mod marks;
mod polar;
mod scale;

pub(super) use distribution::distribution;

/// Width of a chart in its own units; the page stretches it.
const WIDTH: f64 = 640.0;
/// Height.
const HEIGHT: f64 = 300.0;
/// Where the plotted area begins and ends.
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 22.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = HEIGHT - 44.0;
/// Most columns that a line is reduced to.
const COLUMNS: usize = 600;
/// Colours that the style sheet knows.
const COLOURS: usize = 6;

/// A curve of a chart.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// What it is called in the legend.
    pub(super) name: String,
    /// `[x, y]`.
    pub(super) points: Vec<[f64; 2]>,
    /// 95 % limits of the points, in their order; empty where there are none.
    pub(super) intervals: Vec<Option<[f64; 2]>>,
}

impl Curve {
    /// `[x, lower limit, upper limit]` of the points that have limits.
    fn limits(&self) -> impl Iterator<Item = [f64; 3]> {
        let bounded = self.points.iter().zip(&self.intervals);
        bounded.filter_map(|(point, interval)| {
            let [low, high] = (*interval)?;
            Some([point[0], low, high])
        })
    }
}

/// A chart.
#[derive(Debug, Clone)]
pub(super) struct Plot<'a> {
    /// Its heading.
    pub(super) title: &'a str,
    /// Horizontal axis; for a polar chart the angle.
    pub(super) x: &'a Axis,
    /// Vertical axis; for a polar chart the radius.
    pub(super) y: &'a Axis,
    /// How points become a picture.
    pub(super) shape: Shape,
    /// Whether the horizontal axis is logarithmic.
    pub(super) log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub(super) log_y: bool,
    /// Whether the vertical axis begins at 0.
    pub(super) from_zero: bool,
    /// What is drawn.
    pub(super) curves: Vec<Curve>,
    /// Values on the horizontal axis that have a name.
    pub(super) marks: Vec<(String, f64)>,
}

impl Plot<'_> {
    /// The chart with heading and legend; nothing where there is no point.
    pub(super) fn figure(&self) -> String {
        if self.curves.iter().all(|curve| curve.points.is_empty()) {
            return String::new();
        }
        let svg = if self.shape == Shape::Polar {
            polar::draw(self)
        } else {
            self.draw()
        };
        figure(self.title, &self.legend(), &svg)
    }

    fn legend(&self) -> String {
        if self.curves.len() < 2 {
            return String::new();
        }
        let item = |(index, curve): (usize, &Curve)| {
            format!(
                "<li class=\"{}\">{}</li>",
                colour(index),
                escape::text(&curve.name)
            )
        };
        let items: String = self.curves.iter().enumerate().map(item).collect();
        format!("<ul class=\"legend\">{items}</ul>")
    }

    fn draw(&self) -> String {
        let values = |index: usize| {
            self.curves
                .iter()
                .flat_map(move |curve| curve.points.iter().map(move |point| point[index]))
        };
        let bars = matches!(self.shape, Shape::Bars | Shape::StackedBars);
        let inset = if bars { 22.0 } else { 0.0 };
        let ends = values(0).chain(self.end_of_steps());
        let across = [LEFT + inset, RIGHT - inset];
        let x = Scale::over(ends, self.log_x, false, across).down_to_near_zero();
        let stacked = marks::stacked(&self.curves);
        let heights = stacked.iter().flatten().map(|bar| bar[2]);
        let y = match self.shape {
            Shape::StackedBars => Scale::over(heights, false, true, [BOTTOM, TOP]),
            _ => {
                let limits = self.curves.iter().flat_map(Curve::limits);
                let heights = values(1).chain(limits.flat_map(|[_, low, high]| [low, high]));
                Scale::over(heights, self.log_y, self.from_zero || bars, [BOTTOM, TOP])
            }
        };
        let y = y.with_headroom();
        let mut svg = axes((&x, self.x), (&y, self.y));
        svg.push_str(&self.named_values(&x));
        for (index, curve) in self.curves.iter().enumerate() {
            let points: Vec<[f64; 2]> = curve
                .points
                .iter()
                .filter(|[left, up]| x.holds(*left) && y.holds(*up))
                .map(|[left, up]| [x.place(*left), y.place(*up)])
                .collect();
            let _ = write!(svg, "<g class=\"{}\">", colour(index));
            svg.push_str(&match self.shape {
                Shape::Line => marks::line(&points, y.ground(), self.curves.len() == 1),
                Shape::Steps => marks::steps(&points, RIGHT),
                Shape::Bars => marks::bars(&points, y.ground(), (index, self.curves.len())),
                Shape::StackedBars => marks::stack(&stacked[index], &x, &y),
                Shape::Scatter | Shape::Polar => marks::dots(&points),
            });
            svg.push_str(&marks::intervals(&self.limits(
                index,
                &stacked[index],
                &x,
                &y,
            )));
            svg.push_str("</g>");
        }
        svg
    }

    /// Where the limits of a curve's points are drawn: beside each other with the bars, and as high as
    /// the pieces of a stack lie.
    fn limits(&self, index: usize, pieces: &[[f64; 3]], x: &Scale, y: &Scale) -> Vec<[f64; 3]> {
        let curve = &self.curves[index];
        let below = |at: f64| {
            let piece = pieces.iter().find(|piece| piece[0] == at);
            match self.shape {
                Shape::StackedBars => piece.map_or(0.0, |piece| piece[1]),
                _ => 0.0,
            }
        };
        let shift = match self.shape {
            Shape::Bars => marks::bar_shift(&curve.points, x, (index, self.curves.len())),
            _ => 0.0,
        };
        curve
            .limits()
            .filter(|[at, low, high]| x.holds(*at) && y.holds(*low) && y.holds(*high))
            .map(|[at, low, high]| {
                let below = below(at);
                [
                    x.place(at) + shift,
                    y.place(low + below),
                    y.place(high + below),
                ]
            })
            .collect()
    }

    /// Where the last step ends, if the others on average are a measure for it.
    fn end_of_steps(&self) -> Option<f64> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        points.for_each(|[x, _]| (low, high) = (low.min(*x), high.max(*x)));
        let most = self.curves.iter().map(|curve| curve.points.len()).max()?;
        (self.shape == Shape::Steps && most > 1).then(|| high + (high - low) / (most - 1) as f64)
    }

    /// Upright lines at the named values.
    fn named_values(&self, x: &Scale) -> String {
        let known = self.marks.iter().filter(|(_, value)| x.holds(*value));
        known
            .map(|(name, value)| {
                let place = x.place(*value);
                let (anchor, shift) = if place > WIDTH / 2.0 { ("end", -4.0) } else { ("start", 4.0) };
                format!(
                    "<path class=\"mark\" d=\"M{place:.1} {TOP}V{BOTTOM}\"/>\
                     <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                    place + shift,
                    TOP + 10.0,
                    escape::text(name),
                )
            })
            .collect()
    }
}

/// The class that gives a curve its colour.
fn colour(index: usize) -> String {
    format!("c{}", index % COLOURS)
}

/// A picture with its heading.
fn figure(title: &str, legend: &str, svg: &str) -> String {
    let title = escape::text(title);
    format!(
        "<figure class=\"chart\"><figcaption>{title}</figcaption>{legend}<div class=\"paper\">\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">{svg}</svg></div></figure>\n"
    )
}

/// Lines and labels of both axes. The vertical one's name stands above it, where it is read
/// without turning the head.
fn axes((x, x_axis): (&Scale, &Axis), (y, y_axis): (&Scale, &Axis)) -> String {
    let mut svg = String::new();
    let (marks, unit) = y.ticks(y_axis, 5);
    for (place, label) in marks {
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {place:.1}H{RIGHT}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            place + 4.0,
        );
    }
    let name = titled(y_axis, unit);
    let _ = write!(svg, "<text class=\"axis\" x=\"0\" y=\"14\">{name}</text>");
    svg.push_str(&horizontal(x, x_axis));
    svg
}

/// The horizontal axis.
fn horizontal(x: &Scale, axis: &Axis) -> String {
    let mut svg = format!("<path class=\"base\" d=\"M{LEFT} {BOTTOM}H{RIGHT}\"/>");
    for place in x.minor_ticks(axis) {
        let _ = write!(svg, "<path class=\"base\" d=\"M{place:.1} {BOTTOM}v2\"/>");
    }
    let (marks, unit) = x.ticks(axis, 8);
    for (place, label) in marks {
        let _ = write!(
            svg,
            "<path class=\"base\" d=\"M{place:.1} {BOTTOM}v4\"/>\
             <text class=\"tick\" x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            BOTTOM + 18.0,
        );
    }
    let _ = write!(
        svg,
        "<text class=\"axis\" x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        HEIGHT - 6.0,
        titled(axis, unit),
    );
    svg
}

fn titled(axis: &Axis, unit: &str) -> String {
    let name = escape::text(&axis.name);
    if name.is_empty() {
        unit.to_owned()
    } else if unit.is_empty() {
        name
    } else {
        format!("{name}, {unit}")
    }
}
