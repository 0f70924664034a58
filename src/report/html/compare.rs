//! A comparison of the page's sessions: ratios with confidence intervals, and charts with the
//! curves of all sides.

use maud::{Markup, html};

use super::charts::{chart_heading, charts_section};
use super::parts::html_table;
use super::plot::{HtmlCurve, HtmlPlot};
use super::presentation::PresentationLookup;
use super::timestamp::format_timestamp;
use crate::report::compare::words::session_letter;
use crate::session::chart::{ChartShape, ChartSpec};
use crate::session::compare::{
    BaselineRatio, ChartOverlay, ComparedBenchmark, ComparedMetric, ComparedSession, Comparison,
    RatioJudgement,
};

/// The comparison's section of the page.
pub(super) fn comparison_section(
    comparison: &Comparison,
    title: &str,
    presentations: &PresentationLookup<'_>,
) -> Markup {
    html! {
        section.run {
            header.session {
                h1 { (title) }
                ul.legend.sides {
                    @for (index, session) in comparison.sessions.iter().enumerate() {
                        (session_entry(index, session))
                    }
                }
            }
            "\n"
            @for benchmark in &comparison.benchmarks {
                (benchmark_section(benchmark, comparison, presentations)) "\n"
            }
            @if !comparison.mismatches.is_empty() {
                h3 { "Not compared" }
                ul {
                    @for mismatch in &comparison.mismatches {
                        li { (mismatch.sentence()) }
                    }
                }
            }
        }
    }
}

fn session_entry(index: usize, session: &ComparedSession) -> Markup {
    let host = session.host.as_deref().unwrap_or("unknown host");
    html! {
        li class=(format_args!("c{}", index % 6)) {
            (session_letter(index)) " " (session.name) " "
            span { (host) ", " (format_timestamp(&session.started)) }
        }
    }
}

fn benchmark_section(
    benchmark: &ComparedBenchmark,
    comparison: &Comparison,
    presentations: &PresentationLookup<'_>,
) -> Markup {
    let presentation = presentations(&benchmark.benchmark).unwrap_or_default();
    let overlays = benchmark.charts.iter();
    let charts: Vec<Markup> = overlays
        .filter_map(|overlay| overlay_chart(overlay, comparison, presentation.charts))
        .collect();
    html! {
        h2 { (benchmark.benchmark) } "\n"
        p.soft { (benchmark.parameters.join(", ")) } "\n"
        @for parameter in &benchmark.differing {
            p.soft { "ignored: " (parameter.values_text()) }
        }
        (cautions_section(benchmark, comparison)) "\n"
        (metrics_table(benchmark, comparison)) "\n"
        (charts_section(&charts))
    }
}

fn cautions_section(benchmark: &ComparedBenchmark, comparison: &Comparison) -> Markup {
    let sessions = benchmark.targets.iter().zip(&comparison.sessions);
    let measured = sessions.filter_map(|(target, session)| Some((target.as_ref()?, session)));
    html! {
        @for (target, session) in measured {
            @for caution in &target.cautions {
                div.verdict.warning {
                    p { b { (session.name) ": " (caution.code) } " " (caution.evidence) }
                }
                "\n"
            }
        }
    }
}

fn metrics_table(benchmark: &ComparedBenchmark, comparison: &Comparison) -> Markup {
    let head = html! {
        th { "metric" }
        @for (index, session) in comparison.sessions.iter().enumerate() {
            th.n title=(session.name) { (session_letter(index)) " " (file_name(&session.name)) }
            @if index > 0 { th.n { "ratio, 95 % CI" } th {} }
        }
    };
    let rows: Vec<Markup> = benchmark.metrics.iter().map(metric_row).collect();
    let baseline = comparison.sessions.get(benchmark.baseline);
    let baseline = baseline.map_or("", |session| session.name.as_str());
    html! {
        (html_table("Metrics", Some(&head), &rows))
        p.soft { "Ratios to " (baseline) ", or to the first session that has the metric." }
        @for reason in benchmark.not_determined_reasons() { p.soft { (reason) } }
    }
}

/// The last part of a session's path.
fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn metric_row(metric: &ComparedMetric) -> Markup {
    html! {
        td { (metric.label()) }
        @for (index, sample) in metric.samples.iter().enumerate() {
            @match sample {
                Some(sample) => td.n { (metric.metric_of(sample).value_text()) },
                None => td.n { "n/a" },
            }
            @if index > 0 {
                @let ratio = sample.as_ref().and_then(|sample| sample.against_baseline.as_ref());
                (ratio_cells(ratio))
            }
        }
    }
}

fn ratio_cells(against: Option<&BaselineRatio>) -> Markup {
    let Some(against) = against else {
        return html! { td {} td {} };
    };
    let class = match against.judgement {
        Some(RatioJudgement::Faster) => "good",
        Some(RatioJudgement::Slower) => "trouble",
        _ => "soft",
    };
    let [ratio, interval, judgement] = against.ratio_columns();
    html! {
        td.n { (ratio) @if !interval.is_empty() { " " span.soft { (interval) } } }
        td class=(class) { (judgement) }
    }
}

/// The curves of all sessions in one chart; `None` if they have no points.
fn overlay_chart(
    overlay: &ChartOverlay,
    comparison: &Comparison,
    charts: &[ChartSpec],
) -> Option<Markup> {
    let fallback = ChartSpec::new("", ChartShape::Line, &[]);
    let described = charts
        .iter()
        .find(|chart| chart.series.contains(&overlay.id));
    let style = described.unwrap_or(&fallback);
    let title = match described {
        Some(chart) => chart.title.to_owned(),
        None => chart_heading(&overlay.y, &overlay.x),
    };
    // The colour depends on the index of the side, even if one side has no such curve.
    let curves = comparison
        .sessions
        .iter()
        .enumerate()
        .map(|(index, side)| HtmlCurve {
            name: side.name.clone().into(),
            intervals: Vec::new(),
            points: overlay
                .curves
                .iter()
                .find(|curve| curve.session == index)
                .map(|curve| curve.points.clone())
                .unwrap_or_default(),
        });
    HtmlPlot {
        title: &title,
        x: &overlay.x,
        y: &overlay.y,
        // Stacked bars of several sides cannot be drawn next to each other.
        shape: if style.shape == ChartShape::StackedBars {
            ChartShape::Bars
        } else {
            style.shape
        },
        log_x: style.log_x || overlay.log_x,
        log_y: style.log_y,
        from_zero: style.from_zero,
        curves: curves.collect(),
        marked_values: Vec::new(),
    }
    .render_figure()
}
