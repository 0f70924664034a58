//! Series of all sides on shared axes.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::input::RepeatedRuns;
use crate::session::document::{BenchmarkRun, ChartAxis, Series, SeriesId, SeriesKind};

/// Cumulative latency distributions of reads and writes.
const DISTRIBUTIONS: [SeriesKind; 2] = [SeriesKind::LatencyRead, SeriesKind::LatencyWrite];

/// A chart with one curve for each side that has the series.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ChartOverlay {
    /// Name of the series; `latency-read` or `latency-write` for the latency distributions.
    #[serde(rename = "name")]
    pub id: SeriesId,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OverlayCurve {
    /// Index of the side.
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
                id, x, y, points, ..
            } = series;
            let curve = OverlayCurve {
                session: side,
                points,
            };
            let known = overlays
                .iter_mut()
                .find(|known| known.id == id && known.x == x && known.y == y);
            match known {
                Some(known) => known.curves.push(curve),
                None => overlays.push(ChartOverlay {
                    log_x: id.kind().is_some_and(|kind| DISTRIBUTIONS.contains(&kind)),
                    id,
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
        (DISTRIBUTIONS[0], &latency.read),
        (DISTRIBUTIONS[1], &latency.write),
    ];
    let cumulative = distributions.into_iter().filter_map(|(kind, summary)| {
        Some(Series::new(kind, summary.as_ref()?.cumulative_points()))
    });
    run.findings
        .series
        .iter()
        .cloned()
        .chain(cumulative)
        .collect()
}
