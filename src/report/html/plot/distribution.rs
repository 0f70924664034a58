//! Latency histogram on a logarithmic axis, with marks at the percentiles.

use maud::{Markup, html};

use super::chart::scale_over;
use super::frame::{
    LABEL_CHAR_WIDTH, LABEL_ROW_HEIGHT, PLOT_BOTTOM, PLOT_LEFT, PLOT_RIGHT, PLOT_TOP,
    horizontal_axis, html_figure, px, vertical_mark,
};
use super::scale::PixelScale;
use crate::session::document::{AxisQuantity, ChartAxis, LatencySummary};
use crate::units;

/// Percentiles with a mark.
const MARKED_PERCENTILES: [&str; 5] = ["50", "90", "99", "99.9", "99.99"];
/// Number of rows of labels above the bars.
const LABEL_ROWS: usize = 3;

/// The chart of a distribution; `class` determines its colour.
pub(in crate::report::html) fn distribution_chart(
    title: &str,
    class: &str,
    latency: &LatencySummary,
) -> Markup {
    let edges = latency
        .histogram
        .iter()
        .flat_map(|bin| [bin[0] as f64, bin[1] as f64]);
    let times = edges.chain([latency.min_ns.max(1) as f64, latency.max_ns.max(1) as f64]);
    let x = PixelScale::new(scale_over(times, true).ensure_nonempty(), [PLOT_LEFT, PLOT_RIGHT]);
    let axis = ChartAxis::new(AxisQuantity::Latency);
    let svg = html! {
        (horizontal_axis(&x, &axis))
        (percentile_lines(latency, &x))
        g class=(class) { (histogram_bars(latency, &x)) }
    };
    html_figure(title, &Markup::default(), &svg)
}

/// Bars whose area is proportional to the number of requests; every non-empty bin is visible.
fn histogram_bars(latency: &LatencySummary, x: &PixelScale) -> Markup {
    let width = |bin: &[u64; 3]| (x.position(bin[1] as f64) - x.position(bin[0] as f64)).max(0.1);
    let density = |bin: &[u64; 3]| bin[2] as f64 / width(bin);
    let densest = latency
        .histogram
        .iter()
        .map(density)
        .fold(f64::MIN_POSITIVE, f64::max);
    let room = PLOT_BOTTOM - PLOT_TOP - LABEL_ROW_HEIGHT * LABEL_ROWS as f64;
    html! {
        @for bin in &latency.histogram {
            @let height = (density(bin) / densest * room).max(1.0);
            rect x=(hundredths(x.position(bin[0] as f64))) y=(hundredths(PLOT_BOTTOM - height))
                // A small overlap hides the gaps between bars.
                width=(hundredths(width(bin) + 0.3)) height=(hundredths(height)) {
                title { (bin_text(bin, latency.count)) }
            }
        }
    }
}

/// A coordinate with two decimals: bars are narrow.
fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

/// Range and number of requests of a bin, such as `1.00 us to 1.02 us: 10 requests, 5 %`.
fn bin_text([low, high, requests]: &[u64; 3], all_requests: u64) -> String {
    let fraction = units::format_percent(*requests as f64 / all_requests.max(1) as f64);
    let (from, to) = (
        units::format_latency(*low as f64),
        units::format_latency(*high as f64),
    );
    format!("{from} to {to}: {requests} requests, {fraction}")
}

/// A label of a percentile: its text, the position of its line, and where it is drawn.
struct PercentileLabel {
    text: String,
    position: f64,
    center: f64,
    baseline: f64,
}

/// Vertical lines at the percentiles, with each label in the first row that has space for it.
fn percentile_lines(latency: &LatencySummary, x: &PixelScale) -> Markup {
    html! {
        @for label in percentile_labels(latency, x) {
            (vertical_mark(label.position, label.baseline + 4.0))
            text.name x=(px(label.center)) y=(px(label.baseline)) text-anchor="middle" {
                (label.text)
            }
        }
    }
}

/// The labels that have space in a row.
fn percentile_labels(latency: &LatencySummary, x: &PixelScale) -> Vec<PercentileLabel> {
    let known = MARKED_PERCENTILES
        .iter()
        .filter_map(|name| Some((format!("p{name}"), *latency.percentiles.get(*name)?)));
    let mut row_ends = [0.0_f64; LABEL_ROWS];
    let mut labels = Vec::new();
    for (name, value) in known.chain([("max".to_owned(), latency.max_ns)]) {
        let position = x.position(value as f64);
        let text = format!("{name} {}", units::format_latency(value as f64));
        let length = text.len() as f64 * LABEL_CHAR_WIDTH;
        let left = (position - length / 2.0).clamp(0.0, PLOT_RIGHT - length);
        let Some(row) = row_ends.iter().position(|end| *end <= left) else {
            continue;
        };
        row_ends[row] = left + length + 8.0;
        labels.push(PercentileLabel {
            text,
            position,
            center: left + length / 2.0,
            baseline: PLOT_TOP - 12.0 + row as f64 * LABEL_ROW_HEIGHT,
        });
    }
    labels
}
