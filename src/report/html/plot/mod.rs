//! Charts as inline SVG; the page's style sheet defines colours, fonts and line widths.

mod chart;
mod curve;
mod distribution;
mod frame;
mod line_labels;
mod marks;
mod polar;
mod scale;

pub(super) use self::chart::HtmlPlot;
pub(super) use self::curve::HtmlCurve;
pub(super) use self::distribution::distribution_chart;
