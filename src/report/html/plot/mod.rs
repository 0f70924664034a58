//! Charts as inline SVG; the page's style sheet defines colours, fonts and line widths.

use maud::{Markup, html};

use self::scale::HtmlScale;
use crate::session::chart::ChartShape;
use crate::session::document::ChartAxis;

mod distribution;
mod marks;
mod polar;
mod scale;

pub(super) use self::distribution::distribution_chart;

/// Width of a chart in SVG units; the page scales it.
const CHART_WIDTH: f64 = 640.0;
/// Height of a chart in SVG units.
const CHART_HEIGHT: f64 = 300.0;
/// Edges of the plot area.
const PLOT_LEFT: f64 = 58.0;
const PLOT_RIGHT: f64 = CHART_WIDTH - 22.0;
const PLOT_TOP: f64 = 34.0;
const PLOT_BOTTOM: f64 = CHART_HEIGHT - 44.0;
/// Maximum number of columns that a line is reduced to.
const MAX_LINE_COLUMNS: usize = 600;
/// Number of colours in the style sheet.
const COLOUR_COUNT: usize = 6;

/// A curve of a chart.
#[derive(Debug, Clone)]
pub(super) struct HtmlCurve {
    /// Name in the legend.
    pub(super) name: String,
    /// `[x, y]`, in the units of the axes.
    pub(super) points: Vec<[f64; 2]>,
    /// 95 % confidence intervals of the points, in their order; empty if there are none.
    pub(super) intervals: Vec<Option<[f64; 2]>>,
}

impl HtmlCurve {
    /// `[x, lower bound, upper bound]` of the points that have a confidence interval.
    fn interval_points(&self) -> impl Iterator<Item = [f64; 3]> {
        let bounded = self.points.iter().zip(&self.intervals);
        bounded.filter_map(|(point, interval)| {
            let [low, high] = (*interval)?;
            Some([point[0], low, high])
        })
    }
}

/// A chart.
#[derive(Debug, Clone)]
pub(super) struct HtmlPlot<'a> {
    /// Heading of the chart.
    pub(super) title: &'a str,
    /// Horizontal axis; for a polar chart the angle.
    pub(super) x: &'a ChartAxis,
    /// Vertical axis; for a polar chart the radius.
    pub(super) y: &'a ChartAxis,
    /// How the points are drawn.
    pub(super) shape: ChartShape,
    /// Whether the horizontal axis is logarithmic.
    pub(super) log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub(super) log_y: bool,
    /// Whether the vertical axis starts at 0.
    pub(super) from_zero: bool,
    /// The curves.
    pub(super) curves: Vec<HtmlCurve>,
    /// Named values on the horizontal axis.
    pub(super) marked_values: Vec<(String, f64)>,
}

impl HtmlPlot<'_> {
    /// Renders the chart with heading and legend; `None` if there are no points.
    pub(super) fn render_figure(&self) -> Option<Markup> {
        if self.curves.iter().all(|curve| curve.points.is_empty()) {
            return None;
        }
        let svg = match self.shape {
            ChartShape::Polar => polar::draw_polar(self),
            _ => self.draw(),
        };
        Some(html_figure(self.title, &self.legend(), &svg))
    }

    fn legend(&self) -> Markup {
        html! {
            @if self.curves.len() > 1 {
                ul.legend {
                    @for (index, curve) in self.curves.iter().enumerate() {
                        li class=(colour_class(index)) { (curve.name) }
                    }
                }
            }
        }
    }

    fn draw(&self) -> Markup {
        let values = |index: usize| {
            self.curves
                .iter()
                .flat_map(move |curve| curve.points.iter().map(move |point| point[index]))
        };
        let bars = matches!(self.shape, ChartShape::Bars | ChartShape::StackedBars);
        let inset = if bars { 22.0 } else { 0.0 };
        let ends = values(0).chain(self.last_step_end());
        let across = [PLOT_LEFT + inset, PLOT_RIGHT - inset];
        let x = HtmlScale::spanning(ends, self.log_x, false, across).down_to_near_zero();
        let stacked = marks::stack_segments(&self.curves);
        let heights = stacked.iter().flatten().map(|bar| bar[2]);
        let y = match self.shape {
            ChartShape::StackedBars => {
                HtmlScale::spanning(heights, false, true, [PLOT_BOTTOM, PLOT_TOP])
            }
            _ => {
                let limits = self.curves.iter().flat_map(HtmlCurve::interval_points);
                let heights = values(1).chain(limits.flat_map(|[_, low, high]| [low, high]));
                HtmlScale::spanning(
                    heights,
                    self.log_y,
                    self.from_zero || bars,
                    [PLOT_BOTTOM, PLOT_TOP],
                )
            }
        };
        let y = y.with_headroom();
        html! {
            (axes((&x, self.x), (&y, self.y)))
            (self.marked_value_lines(&x))
            @for index in 0..self.curves.len() {
                g class=(colour_class(index)) { (self.curve_marks(index, &stacked[index], &x, &y)) }
            }
        }
    }

    /// The points of a curve and their confidence intervals.
    fn curve_marks(
        &self,
        index: usize,
        segments: &[[f64; 3]],
        x: &HtmlScale,
        y: &HtmlScale,
    ) -> Markup {
        let points: Vec<[f64; 2]> = self.curves[index]
            .points
            .iter()
            .filter(|[left, up]| x.can_draw(*left) && y.can_draw(*up))
            .map(|[left, up]| [x.position(*left), y.position(*up)])
            .collect();
        let count = self.curves.len();
        let baseline = y.baseline_position();
        let marks = match self.shape {
            ChartShape::Line => marks::svg_line(&points, baseline, count == 1),
            ChartShape::Steps => marks::svg_steps(&points, PLOT_RIGHT),
            ChartShape::Bars => marks::svg_bars(&points, baseline, (index, count)),
            ChartShape::StackedBars => marks::svg_stack(segments, x, y),
            ChartShape::Scatter | ChartShape::Polar => marks::svg_dots(&points),
        };
        let intervals = self.interval_positions(index, segments, x, y);
        html! { (marks) (marks::svg_intervals(&intervals)) }
    }

    /// Positions of the confidence intervals of a curve's points: next to each other for bars, and
    /// at the heights of the segments for stacks.
    fn interval_positions(
        &self,
        index: usize,
        segments: &[[f64; 3]],
        x: &HtmlScale,
        y: &HtmlScale,
    ) -> Vec<[f64; 3]> {
        let curve = &self.curves[index];
        let below = |at: f64| {
            let segment = segments.iter().find(|segment| segment[0] == at);
            match self.shape {
                ChartShape::StackedBars => segment.map_or(0.0, |segment| segment[1]),
                _ => 0.0,
            }
        };
        let shift = match self.shape {
            ChartShape::Bars => marks::bar_offset(&curve.points, x, (index, self.curves.len())),
            _ => 0.0,
        };
        curve
            .interval_points()
            .filter(|[at, low, high]| x.can_draw(*at) && y.can_draw(*low) && y.can_draw(*high))
            .map(|[at, low, high]| {
                let below = below(at);
                [
                    x.position(at) + shift,
                    y.position(low + below),
                    y.position(high + below),
                ]
            })
            .collect()
    }

    /// End of the last step, estimated from the mean length of the others, if there are any.
    fn last_step_end(&self) -> Option<f64> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        points.for_each(|[x, _]| (low, high) = (low.min(*x), high.max(*x)));
        let most = self.curves.iter().map(|curve| curve.points.len()).max()?;
        (self.shape == ChartShape::Steps && most > 1)
            .then(|| high + (high - low) / (most - 1) as f64)
    }

    /// Vertical lines at the named values.
    fn marked_value_lines(&self, x: &HtmlScale) -> Markup {
        let drawn = self
            .marked_values
            .iter()
            .filter(|(_, value)| x.can_draw(*value))
            .map(|(name, value)| (name, x.position(*value)));
        html! {
            @for (name, position) in drawn {
                @let is_right = position > CHART_WIDTH / 2.0;
                @let (anchor, shift) = if is_right { ("end", -4.0) } else { ("start", 4.0) };
                (vertical_mark(position, PLOT_TOP))
                text.name x=(px(position + shift)) y=(px(PLOT_TOP + 10.0)) text-anchor=(anchor) {
                    (name)
                }
            }
        }
    }
}

/// A coordinate with one decimal.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// A dashed vertical line from `top` to the horizontal axis.
fn vertical_mark(position: f64, top: f64) -> Markup {
    html! { path.mark d=(format_args!("M{position:.1} {top:.1}V{PLOT_BOTTOM}")) {} }
}

/// The CSS class that determines a curve's colour.
fn colour_class(index: usize) -> String {
    format!("c{}", index % COLOUR_COUNT)
}

/// A chart with its heading.
fn html_figure(title: &str, legend: &Markup, svg: &Markup) -> Markup {
    html! {
        figure.chart {
            figcaption { (title) }
            (legend)
            div.paper {
                svg viewBox=(format_args!("0 0 {CHART_WIDTH} {CHART_HEIGHT}")) role="img"
                    aria-label=(title) { (svg) }
            }
        }
    }
}

/// Lines and labels of both axes. The name of the vertical axis is horizontal, above the axis.
fn axes((x, x_axis): (&HtmlScale, &ChartAxis), (y, y_axis): (&HtmlScale, &ChartAxis)) -> Markup {
    let (ticks, unit) = y.ticks(y_axis, 5);
    html! {
        @for (position, label) in ticks {
            path.grid d=(format_args!("M{PLOT_LEFT} {position:.1}H{PLOT_RIGHT}")) {}
            text.tick x=(px(PLOT_LEFT - 8.0)) y=(px(position + 4.0)) text-anchor="end" { (label) }
        }
        text.axis x="0" y="14" { (axis_title(y_axis, unit)) }
        (horizontal_axis(x, x_axis))
    }
}

/// The horizontal axis.
fn horizontal_axis(x: &HtmlScale, axis: &ChartAxis) -> Markup {
    let (ticks, unit) = x.ticks(axis, 8);
    let tick_line = |position: f64, length: u32| {
        html! { path.base d=(format_args!("M{position:.1} {PLOT_BOTTOM}v{length}")) {} }
    };
    html! {
        path.base d=(format_args!("M{PLOT_LEFT} {PLOT_BOTTOM}H{PLOT_RIGHT}")) {}
        @for position in x.minor_ticks(axis) { (tick_line(position, 2)) }
        @for (position, label) in ticks {
            (tick_line(position, 4))
            text.tick x=(px(position)) y=(px(PLOT_BOTTOM + 18.0)) text-anchor="middle" { (label) }
        }
        text.axis x=(PLOT_RIGHT) y=(px(CHART_HEIGHT - 6.0)) text-anchor="end" {
            (axis_title(axis, unit))
        }
    }
}

fn axis_title(axis: &ChartAxis, unit: &str) -> String {
    match (axis.name.is_empty(), unit.is_empty()) {
        (true, _) => unit.to_owned(),
        (false, true) => axis.name.to_string(),
        (false, false) => format!("{}, {unit}", axis.name),
    }
}
