//! The curves of all sides under one axis.

use schemars::JsonSchema;
use serde::Serialize;

use super::Group;
use crate::safe_text::SafeText;
use crate::session::document::{Axis, LatencySummary, Run, Series, Unit};

/// Names of the distributions of reads and of writes.
const DISTRIBUTIONS: [&str; 2] = ["latency-read", "latency-write"];

/// One chart with a curve for each side that has it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Overlay {
    /// Name of the series, or `latency-read`, `latency-write` for the distributions.
    pub name: SafeText,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Whether x spans decades and wants a logarithmic axis, as response times do.
    pub log_x: bool,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// The curve of one side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Curve {
    /// Index of the side.
    pub side: usize,
    /// `[x, y]`.
    pub points: Vec<[f64; 2]>,
}

/// Every series that at least two sides have; of repeated runs the last one's.
pub(super) fn overlays(sides: &[Option<Group<'_>>]) -> Vec<Overlay> {
    let mut overlays: Vec<Overlay> = Vec::new();
    for (side, run) in sides
        .iter()
        .enumerate()
        .filter_map(|(side, group)| Some((side, *group.as_ref()?.last()?)))
    {
        for series in curves(run) {
            let Series {
                name, x, y, points, ..
            } = series;
            let curve = Curve { side, points };
            let known = overlays
                .iter_mut()
                .find(|known| known.name == name && known.x == x && known.y == y);
            match known {
                Some(known) => known.curves.push(curve),
                None => overlays.push(Overlay {
                    log_x: DISTRIBUTIONS.contains(&name.as_str()),
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

/// The series of a run, and its distributions as shares of requests that took at most so long.
fn curves(run: &Run) -> Vec<Series> {
    let latency = &run.findings.latency;
    let distributions = [
        (DISTRIBUTIONS[0], &latency.read),
        (DISTRIBUTIONS[1], &latency.write),
    ];
    let cumulative = distributions
        .into_iter()
        .filter_map(|(name, summary)| Some(cumulative(name, summary.as_ref()?)));
    run.findings
        .series
        .iter()
        .cloned()
        .chain(cumulative)
        .collect()
}

fn cumulative(name: &str, latency: &LatencySummary) -> Series {
    Series {
        name: name.into(),
        x: Axis::new("response time", Unit::Nanoseconds),
        y: Axis::new("share of requests", Unit::Ratio),
        points: latency.cumulative(),
        intervals: Vec::new(),
    }
}
