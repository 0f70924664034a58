//! Latency histogram on a logarithmic axis, with marks at the percentiles.

use maud::{Markup, html};

use super::frame::{PLOT_BOTTOM, PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, horizontal_axis, html_figure};
use super::line_labels::labelled_lines;
use super::scale::{PixelScale, scale_over};
use crate::session::document::{AxisQuantity, ChartAxis, LatencySummary};
use crate::units;

/// Percentiles with a mark.
const MARKED_PERCENTILES: [&str; 4] = ["50", "90", "99", "99.9"];

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
    let x = PixelScale::new(
        scale_over(times, true).ensure_nonempty(),
        [PLOT_LEFT, PLOT_RIGHT],
    );
    let axis = ChartAxis::new(AxisQuantity::Latency);
    let known = MARKED_PERCENTILES.iter().filter_map(|name| {
        let value = *latency.percentiles.get(*name)?;
        Some((
            format!("p{name} {}", units::format_latency(value as f64)),
            value,
        ))
    });
    let most = format!("max {}", units::format_latency(latency.max_ns as f64));
    let marked: Vec<(String, u64)> = known.chain([(most, latency.max_ns)]).collect();
    let lines = marked
        .iter()
        .map(|(name, value)| (name.as_str(), x.position(*value as f64)));
    let (lines, label_height) = labelled_lines(lines);
    let svg = html! {
        (horizontal_axis(&x, &axis))
        (lines)
        g class=(class) { (histogram_bars(latency, &x, label_height)) }
    };
    html_figure(title, &Markup::default(), &svg)
}

/// Bars whose area is proportional to the number of requests; every non-empty bin is visible.
fn histogram_bars(latency: &LatencySummary, x: &PixelScale, label_height: f64) -> Markup {
    let width = |bin: &[u64; 3]| (x.position(bin[1] as f64) - x.position(bin[0] as f64)).max(0.1);
    let density = |bin: &[u64; 3]| bin[2] as f64 / width(bin);
    let densest = latency
        .histogram
        .iter()
        .map(density)
        .fold(f64::MIN_POSITIVE, f64::max);
    let room = PLOT_BOTTOM - PLOT_TOP - label_height;
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
