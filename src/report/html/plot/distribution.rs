//! Latency histogram on a logarithmic axis, with marks at the percentiles.

use std::fmt::Write as _;

use super::scale::HtmlScale;
use super::{PLOT_BOTTOM, PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, horizontal_axis, html_figure};
use crate::session::document::{AxisQuantity, ChartAxis, LatencySummary};
use crate::units;

/// Percentiles with a mark.
const MARKED_PERCENTILES: [&str; 5] = ["50", "90", "99", "99.9", "99.99"];
/// Number of rows of labels above the bars.
const LABEL_ROWS: usize = 3;
/// Height of a row of labels.
const LABEL_ROW_HEIGHT: f64 = 17.0;
/// Estimated width of a character in a label.
const LABEL_CHAR_WIDTH: f64 = 7.6;

/// The chart of a distribution; `class` determines its colour.
pub(in crate::report::html) fn distribution_chart(
    title: &str,
    class: &str,
    latency: &LatencySummary,
) -> String {
    let edges = latency
        .histogram
        .iter()
        .flat_map(|bin| [bin[0] as f64, bin[1] as f64]);
    let times = edges.chain([latency.min_ns.max(1) as f64, latency.max_ns.max(1) as f64]);
    let x = HtmlScale::spanning(times, true, false, [PLOT_LEFT, PLOT_RIGHT]);
    let axis = ChartAxis::new(AxisQuantity::Latency);
    let mut svg = horizontal_axis(&x, &axis);
    svg.push_str(&percentile_lines(latency, &x));
    let _ = write!(
        svg,
        "<g class=\"{class}\">{}</g>",
        histogram_bars(latency, &x)
    );
    html_figure(title, "", &svg)
}

/// Bars whose area is proportional to the number of requests; every non-empty bin is visible.
fn histogram_bars(latency: &LatencySummary, x: &HtmlScale) -> String {
    let width = |bin: &[u64; 3]| (x.position(bin[1] as f64) - x.position(bin[0] as f64)).max(0.1);
    let density = |bin: &[u64; 3]| bin[2] as f64 / width(bin);
    let densest = latency
        .histogram
        .iter()
        .map(density)
        .fold(f64::MIN_POSITIVE, f64::max);
    let room = PLOT_BOTTOM - PLOT_TOP - LABEL_ROW_HEIGHT * LABEL_ROWS as f64;
    let mut svg = String::new();
    for bin in &latency.histogram {
        let height = (density(bin) / densest * room).max(1.0);
        let share = units::format_percent(bin[2] as f64 / latency.count.max(1) as f64);
        let (from, to) = (
            units::format_latency(bin[0] as f64),
            units::format_latency(bin[1] as f64),
        );
        let _ = write!(
            svg,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{height:.2}\">\
             <title>{from} to {to}: {} requests, {share}</title></rect>",
            x.position(bin[0] as f64),
            PLOT_BOTTOM - height,
            // A small overlap hides the gaps between bars.
            width(bin) + 0.3,
            bin[2],
        );
    }
    svg
}

/// Vertical lines at the percentiles, with each label in the first row that has space for it.
fn percentile_lines(latency: &LatencySummary, x: &HtmlScale) -> String {
    let known = MARKED_PERCENTILES
        .iter()
        .filter_map(|name| Some((format!("p{name}"), *latency.percentiles.get(*name)?)));
    let mut taken = [0.0_f64; LABEL_ROWS];
    let mut svg = String::new();
    for (name, value) in known.chain([("max".to_owned(), latency.max_ns)]) {
        let place = x.position(value as f64);
        let label = format!("{name} {}", units::format_latency(value as f64));
        let length = label.len() as f64 * LABEL_CHAR_WIDTH;
        let left = (place - length / 2.0).clamp(0.0, PLOT_RIGHT - length);
        let Some(row) = taken.iter().position(|end| *end <= left) else {
            continue;
        };
        taken[row] = left + length + 8.0;
        let baseline = PLOT_TOP - 12.0 + row as f64 * LABEL_ROW_HEIGHT;
        let _ = write!(
            svg,
            "<path class=\"mark\" d=\"M{place:.1} {:.1}V{PLOT_BOTTOM}\"/>\
             <text class=\"name\" x=\"{:.1}\" y=\"{baseline:.1}\" text-anchor=\"middle\">{label}</text>",
            baseline + 4.0,
            left + length / 2.0,
        );
    }
    svg
}
