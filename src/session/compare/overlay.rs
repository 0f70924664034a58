//! Series of all sides on shared axes.

use schemars::JsonSchema;
use serde::Serialize;

use super::input::RepeatedRuns;
use crate::safe_text::SafeText;
use crate::session::document::{BenchmarkRun, ChartAxis, LatencySummary, MetricUnit, Series};

/// Names of the latency distributions of reads and of writes.
const DISTRIBUTION_NAMES: [&str; 2] = ["latency-read", "latency-write"];

/// A chart with one curve for each side that has the series.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChartOverlay {
    /// Name of the series; `latency-read` or `latency-write` for the latency distributions.
    pub name: SafeText,
    /// Horizontal axis.
    pub x: ChartAxis,
    /// Vertical axis.
    pub y: ChartAxis,
    /// Whether x spans decades and needs a logarithmic axis, as latency does.
    pub log_x: bool,
    /// The curves, one for each side that has the series.
    pub curves: Vec<OverlayCurve>,
}

/// The curve of one side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OverlayCurve {
    /// Index of the side.
    #[serde(rename = "side")]
    pub session: usize,
    /// `[x, y]`, in the units of the axes.
    pub points: Vec<[f64; 2]>,
}

/// Every series that at least two sides have; of repeated runs, the last one's.
pub(super) fn chart_overlays(sides: &[Option<RepeatedRuns<'_>>]) -> Vec<ChartOverlay> {
    let mut overlays: Vec<ChartOverlay> = Vec::new();
    for (side, run) in sides
        .iter()
        .enumerate()
        .filter_map(|(side, group)| Some((side, *group.as_ref()?.last()?)))
    {
        for series in run_curves(run) {
            let Series {
                name, x, y, points, ..
            } = series;
            let curve = OverlayCurve {
                session: side,
                points,
            };
            let known = overlays
                .iter_mut()
                .find(|known| known.name == name && known.x == x && known.y == y);
            match known {
                Some(known) => known.curves.push(curve),
                None => overlays.push(ChartOverlay {
                    log_x: DISTRIBUTION_NAMES.contains(&name.as_str()),
                    name,
                    x,
                    y,
                    curves: vec![curve],
                }),
            }
        }
    }
    overlays.retain(|overlay| overlay.curves.len() > 1);
    overlays
}

/// The series of a run, and its latency distributions as cumulative distributions.
fn run_curves(run: &BenchmarkRun) -> Vec<Series> {
    let latency = &run.findings.latency;
    let distributions = [
        (DISTRIBUTION_NAMES[0], &latency.read),
        (DISTRIBUTION_NAMES[1], &latency.write),
    ];
    let cumulative = distributions
        .into_iter()
        .filter_map(|(name, summary)| Some(cumulative_series(name, summary.as_ref()?)));
    run.findings
        .series
        .iter()
        .cloned()
        .chain(cumulative)
        .collect()
}

fn cumulative_series(name: &str, latency: &LatencySummary) -> Series {
    Series {
        name: name.into(),
        x: ChartAxis::new("response time", MetricUnit::Nanoseconds),
        y: ChartAxis::new("share of requests", MetricUnit::Ratio),
        points: latency.cumulative_points(),
        intervals: Vec::new(),
    }
}
