//! The charts of a run: those of its benchmark's description, and all other series.

use super::{Block, Chart, Curve};
use crate::files::safe_text::SafeText;
use crate::session::chart::{ChartShape, ChartSpec};
use crate::session::compare::{ChartOverlay, Comparison};
use crate::session::document::{ChartAxis, Findings, Metric, MetricUnit, Series};

/// All charts of a run: the benchmark's first chart, the latency distributions, the benchmark's
/// other charts, the remaining series.
pub(super) fn run_charts(findings: &Findings, specs: &[ChartSpec]) -> Vec<Block> {
    let (first, others) = specs.split_at(specs.len().min(1));
    let mut charts: Vec<Block> = Vec::new();
    for spec in first {
        charts.extend(specified_charts(findings, spec));
    }
    charts.extend(latency_charts(findings));
    for spec in others {
        charts.extend(specified_charts(findings, spec));
    }
    for series in &findings.series {
        let is_specified = specs.iter().any(|spec| spec.series.contains(&series.id));
        if series.id.benchmark().is_none() && !is_specified {
            let shape = match series.x.unit {
                MetricUnit::Revolution => ChartShape::Polar,
                _ => ChartShape::Line,
            };
            let heading = chart_heading(&series.y, &series.x);
            let spec = ChartSpec::new("", shape, &[]);
            charts.extend(chart_of(findings, &spec, heading, &[series]));
        }
    }
    charts
}

/// Heading of a chart without a title.
fn chart_heading(y: &ChartAxis, x: &ChartAxis) -> String {
    let words = format!("{} against {}", y.name, x.name);
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

fn latency_charts(findings: &Findings) -> impl Iterator<Item = Block> {
    let latency = &findings.latency;
    let directions = [("reads", &latency.read), ("writes", &latency.write)];
    let known = directions.into_iter().enumerate();
    known.filter_map(|(colour, (word, summary))| {
        let summary = summary
            .clone()
            .filter(|summary| !summary.histogram.is_empty())?;
        Some(Block::Latency {
            title: format!("Latency of {} {word}", summary.count),
            colour,
            summary,
        })
    })
}

/// The charts of a description. Series in other units than the first get a separate chart: two
/// scales in one chart are misleading.
fn specified_charts(findings: &Findings, spec: &ChartSpec) -> Vec<Block> {
    let known = spec.series.iter().filter_map(|id| findings.series(id));
    let series: Vec<&Series> = known.collect();
    let same_units = |left: &&Series, right: &&Series| {
        (left.x.unit, left.y.unit) == (right.x.unit, right.y.unit)
    };
    let charts = series.chunk_by(same_units);
    charts
        .filter_map(|alike| chart_of(findings, spec, spec.title.to_owned(), alike))
        .collect()
}

/// A chart of these series; `None` if they have no points.
fn chart_of(
    findings: &Findings,
    spec: &ChartSpec,
    title: String,
    series: &[&Series],
) -> Option<Block> {
    let first = series.first()?;
    let alike = series.iter().all(|series| series.y.name == first.y.name);
    let mut y = first.y.clone();
    if !alike {
        y.name = SafeText::new();
    }
    // A series' own name where its quantity does not distinguish it from the others.
    let curve = |series: &&Series| Curve {
        name: match alike {
            true => series.id.to_string().replace('-', " "),
            false => series.y.name.to_string(),
        },
        points: series.points.clone(),
        intervals: series.intervals.clone(),
    };
    let marked = spec
        .marked_metrics
        .iter()
        .filter_map(|id| findings.metric(id));
    let mark = |metric: &Metric| {
        let text = format!("{} {}", metric.label(), metric.value_text());
        (text, metric.value)
    };
    let chart = Chart {
        title,
        x: first.x.clone(),
        y,
        shape: spec.shape,
        log_x: spec.log_x,
        log_y: spec.log_y,
        from_zero: spec.from_zero,
        curves: series.iter().map(curve).collect(),
        marks: marked
            .filter(|metric| metric.unit == first.x.unit)
            .map(mark)
            .collect(),
    };
    with_points(chart)
}

fn with_points(chart: Chart) -> Option<Block> {
    let mut curves = chart.curves.iter();
    let has_points = curves.any(|curve| !curve.points.is_empty());
    has_points.then_some(Block::Chart(chart))
}

/// The last part of a session's path.
fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The curves of all sessions in one chart; `None` if they have no points.
pub(super) fn overlay_chart(
    overlay: &ChartOverlay,
    comparison: &Comparison,
    specs: &[ChartSpec],
) -> Option<Block> {
    let specified = specs.iter().find(|spec| spec.series.contains(&overlay.id));
    let style = specified
        .copied()
        .unwrap_or(ChartSpec::new("", ChartShape::Line, &[]));
    let points_of = |session: usize| {
        let curve = overlay.curves.iter().find(|curve| curve.session == session);
        curve.map(|curve| curve.points.clone()).unwrap_or_default()
    };
    let curves = comparison
        .sessions
        .iter()
        .enumerate()
        .map(|(index, session)| Curve {
            name: file_name(&session.name).to_owned(),
            points: points_of(index),
            intervals: Vec::new(),
        });
    with_points(Chart {
        title: match specified {
            Some(spec) => spec.title.to_owned(),
            None => chart_heading(&overlay.y, &overlay.x),
        },
        x: overlay.x.clone(),
        y: overlay.y.clone(),
        // Stacked bars of several sessions cannot be drawn next to each other.
        shape: match style.shape {
            ChartShape::StackedBars => ChartShape::Bars,
            shape => shape,
        },
        log_x: style.log_x || overlay.log_x,
        log_y: style.log_y,
        from_zero: style.from_zero,
        curves: curves.collect(),
        marks: Vec::new(),
    })
}
