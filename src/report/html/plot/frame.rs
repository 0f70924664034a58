//! Size, axes and labels of a chart.

use maud::{Markup, html};

use super::scale::PixelScale;
use crate::session::document::ChartAxis;

/// Width of a chart in SVG units; the page scales it.
pub(super) const CHART_WIDTH: f64 = 640.0;
/// Height of a chart in SVG units.
pub(super) const CHART_HEIGHT: f64 = 300.0;
/// Left edge of the plot area.
pub(super) const PLOT_LEFT: f64 = 58.0;
/// Right edge of the plot area.
pub(super) const PLOT_RIGHT: f64 = CHART_WIDTH - 22.0;
/// Upper edge of the plot area.
pub(super) const PLOT_TOP: f64 = 34.0;
/// Lower edge of the plot area.
pub(super) const PLOT_BOTTOM: f64 = CHART_HEIGHT - 44.0;
/// Maximum number of columns that a line is reduced to.
pub(super) const MAX_LINE_COLUMNS: usize = 600;
/// Number of colours in the style sheet.
const COLOUR_COUNT: usize = 6;

/// Height of a row of labels.
pub(super) const LABEL_ROW_HEIGHT: f64 = 17.0;
/// Estimated width of a character in a label.
pub(super) const LABEL_CHAR_WIDTH: f64 = 7.6;

/// A coordinate with one decimal.
pub(super) fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// A dashed vertical line from `top` to the horizontal axis.
pub(super) fn vertical_mark(position: f64, top: f64) -> Markup {
    html! { path.mark d=(format_args!("M{position:.1} {top:.1}V{PLOT_BOTTOM}")) {} }
}

/// The CSS class that determines a curve's colour.
pub(in crate::report::html) fn colour_class(index: usize) -> String {
    format!("c{}", index % COLOUR_COUNT)
}

/// A chart with its heading.
pub(super) fn html_figure(title: &str, legend: &Markup, svg: &Markup) -> Markup {
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
pub(super) fn axes(
    (x, x_axis): (&PixelScale, &ChartAxis),
    (y, y_axis): (&PixelScale, &ChartAxis),
) -> Markup {
    let (ticks, unit) = y.ticks(y_axis.unit, 5);
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
pub(super) fn horizontal_axis(x: &PixelScale, axis: &ChartAxis) -> Markup {
    let (ticks, unit) = x.ticks(axis.unit, 8);
    html! {
        path.base d=(format_args!("M{PLOT_LEFT} {PLOT_BOTTOM}H{PLOT_RIGHT}")) {}
        @for (position, label) in ticks {
            path.base d=(format_args!("M{position:.1} {PLOT_BOTTOM}v4")) {}
            text.tick x=(px(position)) y=(px(PLOT_BOTTOM + 18.0)) text-anchor="middle" { (label) }
        }
        text.axis x=(PLOT_RIGHT) y=(px(CHART_HEIGHT - 6.0)) text-anchor="end" {
            (axis_title(axis, unit))
        }
    }
}

pub(super) fn axis_title(axis: &ChartAxis, unit: &str) -> String {
    match (axis.name.is_empty(), unit.is_empty()) {
        (true, _) => unit.to_owned(),
        (false, true) => axis.name.to_string(),
        (false, false) => format!("{}, {unit}", axis.name),
    }
}
