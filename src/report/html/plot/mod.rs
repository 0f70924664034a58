//! Charts as inline SVG; the page's style sheet defines colours, fonts and line widths.

mod chart;
mod distribution;
mod frame;
mod line_labels;
mod marks;
mod polar;
mod scale;

pub(super) use self::chart::chart_figure;
pub(super) use self::distribution::distribution_chart;
pub(super) use self::frame::colour_class;
