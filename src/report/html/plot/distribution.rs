//! Response times: how many took how long, on a logarithmic axis, with marks at the percentiles.

use std::fmt::Write as _;

use super::scale::Scale;
use super::{BOTTOM, LEFT, RIGHT, TOP, figure, horizontal};
use crate::session::document::{Axis, LatencySummary, Unit};
use crate::units;

/// Percentiles that are marked.
const MARKED: [&str; 5] = ["50", "90", "99", "99.9", "99.99"];
/// Rows of labels above the bars.
const ROWS: usize = 3;
/// Height of such a row.
const ROW: f64 = 17.0;
/// Width that a label of so many characters takes.
const LETTER: f64 = 7.6;

/// The chart of a distribution; `class` gives its colour.
pub(in crate::report::html) fn distribution(
    title: &str,
    class: &str,
    latency: &LatencySummary,
) -> String {
    let edges = latency
        .histogram
        .iter()
        .flat_map(|bin| [bin[0] as f64, bin[1] as f64]);
    let times = edges.chain([latency.min_ns.max(1) as f64, latency.max_ns.max(1) as f64]);
    let x = Scale::over(times, true, false, [LEFT, RIGHT]);
    let axis = Axis::new("response time", Unit::Nanoseconds);
    let mut svg = horizontal(&x, &axis);
    svg.push_str(&percentiles(latency, &x));
    let _ = write!(svg, "<g class=\"{class}\">{}</g>", bars(latency, &x));
    figure(title, "", &svg)
}

/// Bars whose area says how many requests lie below them; what occurred at all is visible.
fn bars(latency: &LatencySummary, x: &Scale) -> String {
    let width = |bin: &[u64; 3]| (x.place(bin[1] as f64) - x.place(bin[0] as f64)).max(0.1);
    let density = |bin: &[u64; 3]| bin[2] as f64 / width(bin);
    let densest = latency
        .histogram
        .iter()
        .map(density)
        .fold(f64::MIN_POSITIVE, f64::max);
    let room = BOTTOM - TOP - ROW * ROWS as f64;
    let mut svg = String::new();
    for bin in &latency.histogram {
        let height = (density(bin) / densest * room).max(1.0);
        let share = units::percent(bin[2] as f64 / latency.count.max(1) as f64);
        let (from, to) = (units::latency(bin[0] as f64), units::latency(bin[1] as f64));
        let _ = write!(
            svg,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{height:.2}\">\
             <title>{from} to {to}: {} requests, {share}</title></rect>",
            x.place(bin[0] as f64),
            BOTTOM - height,
            // A hair's breadth more, or thin lines of paper shine through between bars.
            width(bin) + 0.3,
            bin[2],
        );
    }
    svg
}

/// Upright lines at the percentiles, each label in the first row that has room for it.
fn percentiles(latency: &LatencySummary, x: &Scale) -> String {
    let known = MARKED
        .iter()
        .filter_map(|name| Some((format!("p{name}"), *latency.percentiles.get(*name)?)));
    let mut taken = [0.0_f64; ROWS];
    let mut svg = String::new();
    for (name, value) in known.chain([("max".to_owned(), latency.max_ns)]) {
        let place = x.place(value as f64);
        let label = format!("{name} {}", units::latency(value as f64));
        let length = label.len() as f64 * LETTER;
        let left = (place - length / 2.0).clamp(0.0, RIGHT - length);
        let Some(row) = taken.iter().position(|end| *end <= left) else {
            continue;
        };
        taken[row] = left + length + 8.0;
        let baseline = TOP - 12.0 + row as f64 * ROW;
        let _ = write!(
            svg,
            "<path class=\"mark\" d=\"M{place:.1} {:.1}V{BOTTOM}\"/>\
             <text class=\"name\" x=\"{:.1}\" y=\"{baseline:.1}\" text-anchor=\"middle\">{label}</text>",
            baseline + 4.0,
            left + length / 2.0,
        );
    }
    svg
}
