//! The charts of a run: those of its benchmark's description, and all other series.

use maud::{Markup, html};

use super::plot::{HtmlCurve, HtmlPlot, distribution_chart};
use crate::files::safe_text::SafeText;
use crate::session::chart::{ChartShape, ChartSpec};
use crate::session::document::{ChartAxis, Findings, Metric, MetricUnit, Series};

/// Chart settings of a series that is in no described chart.
fn default_chart(series: &Series) -> ChartSpec {
    let is_angle = series.x.unit == MetricUnit::Revolution;
    ChartSpec::new(
        "",
        if is_angle {
            ChartShape::Polar
        } else {
            ChartShape::Line
        },
        &[],
    )
}

/// All charts of a run: the benchmark's first chart, the latency distributions, the benchmark's
/// other charts, the remaining series.
pub(super) fn run_charts(findings: &Findings, specs: &[ChartSpec]) -> Markup {
    let (first, others) = specs.split_at(specs.len().min(1));
    let mut charts: Vec<Markup> = Vec::new();
    charts.extend(
        first
            .iter()
            .flat_map(|spec| specified_charts(findings, spec)),
    );
    charts.extend(distribution_charts(findings));
    charts.extend(
        others
            .iter()
            .flat_map(|spec| specified_charts(findings, spec)),
    );
    let is_specified = |series: &Series| {
        let mut specs = specs.iter();
        specs.any(|spec| spec.series.contains(&series.id))
    };
    let remaining = findings
        .series
        .iter()
        .filter(|series| series.id.benchmark().is_none() && !is_specified(series));
    charts.extend(remaining.filter_map(|series| {
        let heading = chart_heading(&series.y, &series.x);
        plot_chart(findings, &default_chart(series), &heading, &[series])
    }));
    charts_section(&charts)
}

/// Charts next to each other where the page is wide enough; empty if there are none.
pub(super) fn charts_section(charts: &[Markup]) -> Markup {
    html! {
        @if !charts.is_empty() {
            div.charts { @for chart in charts { (chart) "\n" } }
        }
    }
}

/// Heading of a chart without a title.
pub(super) fn chart_heading(y: &ChartAxis, x: &ChartAxis) -> String {
    let words = format!("{} against {}", y.name, x.name);
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

fn distribution_charts(findings: &Findings) -> impl Iterator<Item = Markup> {
    let latency = &findings.latency;
    [
        ("Read latency", "c0", &latency.read),
        ("Write latency", "c1", &latency.write),
    ]
    .into_iter()
    .filter_map(|(title, class, summary)| Some((title, class, summary.as_ref()?)))
    .filter(|(.., summary)| !summary.histogram.is_empty())
    .map(|(title, class, summary)| distribution_chart(title, class, summary))
}

/// The charts of a description. Series in other units than the first get a separate chart: two
/// scales in one chart are misleading.
fn specified_charts(findings: &Findings, spec: &ChartSpec) -> Vec<Markup> {
    let known = spec.series.iter().filter_map(|id| findings.series(id));
    let series: Vec<&Series> = known.collect();
    let same_units = |left: &&Series, right: &&Series| {
        (left.x.unit, left.y.unit) == (right.x.unit, right.y.unit)
    };
    series
        .chunk_by(same_units)
        .filter_map(|alike| plot_chart(findings, spec, spec.title, alike))
        .collect()
}

/// A chart of these series; `None` if they have no points.
fn plot_chart(
    findings: &Findings,
    chart: &ChartSpec,
    title: &str,
    series: &[&Series],
) -> Option<Markup> {
    let first = series.first()?;
    let mark = |metric: &Metric| {
        (
            format!("{} {}", metric.label(), metric.value_text()),
            metric.value,
        )
    };
    let unnamed = ChartAxis {
        name: SafeText::new(),
        unit: first.y.unit,
    };
    let alike = series.iter().all(|series| series.y.name == first.y.name);
    HtmlPlot {
        title,
        x: &first.x,
        y: if alike { &first.y } else { &unnamed },
        shape: chart.shape,
        log_x: chart.log_x,
        log_y: chart.log_y,
        from_zero: chart.from_zero,
        curves: series
            .iter()
            .map(|series| legend_curve(series, alike))
            .collect(),
        marked_values: chart
            .marked_metrics
            .iter()
            .filter_map(|id| findings.metric(id))
            .filter(|metric| metric.unit == first.x.unit)
            .map(mark)
            .collect(),
    }
    .render_figure()
}

/// A legend entry: the series' own name if its quantity does not distinguish it from the others.
fn legend_curve(series: &Series, quantities_alike: bool) -> HtmlCurve {
    let name = if quantities_alike {
        series.id.to_string().replace('-', " ")
    } else {
        series.y.name.clone().into()
    };
    HtmlCurve {
        name,
        points: series.points.clone(),
        intervals: series.intervals.clone(),
    }
}
