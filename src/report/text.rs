//! A session as text for a terminal or a log: no colours, no control characters, 80 columns.

use std::fmt::Write as _;
use std::time::Duration;

use super::layout::{append_wrapped, cell, indent_table, plain_table, right_align};
use super::repeated::repeated_runs_text;
use super::{again, evidence, goals};
use crate::files::printable::printable_lines;
use crate::files::safe_text::SafeText;
use crate::session::compare::align::format_parameters;
use crate::session::document;
use crate::session::document::{
    BenchmarkRun, Findings, KernelCounts, LatencySummary, Metric, MetricId, MetricIndex, RunState,
    Series, Session, Severity, SloResult, StageBreakdown, TargetRecord,
};
use crate::stats::sorting::SortList as _;
use crate::units;

/// Maximum width of a bar in the histogram, in characters.
const MAX_BAR_WIDTH: usize = 40;
/// Columns for a point's confidence interval.
const INTERVAL_WIDTH: usize = 20;
/// Maximum number of rows of a histogram or curve; more are merged.
const MAX_CHART_ROWS: usize = 16;

/// Renders a session.
#[must_use]
pub fn session_text(session: &Session) -> String {
    let mut text = format!("{}, {}\n", session.program, session.started);
    let host = [
        &session.host.name,
        &session.host.kernel,
        &session.host.virtualization,
    ];
    let host: Vec<&str> = host.into_iter().flatten().map(SafeText::as_str).collect();
    if !host.is_empty() {
        let _ = writeln!(text, "on {}", host.join(", "));
    }
    let mut text = printable_lines(&text).into_owned();
    for one in &session.runs {
        text.push('\n');
        text.push_str(&run_text(one));
    }
    let repeated = repeated_runs_text(&session.runs);
    if !repeated.is_empty() {
        text.push('\n');
        text.push_str(&repeated);
    }
    if session.runs.is_empty() {
        text.push_str("\nthe session contains no run\n");
    }
    text
}

/// Renders one run. A session may come from any source: control characters are escaped.
#[must_use]
pub fn run_text(run: &BenchmarkRun) -> String {
    let mut text = run_heading(run);
    let by_name = run.findings.index();
    for table in run.findings.top_level_tables() {
        append_section(
            &mut text,
            &table.name.to_uppercase(),
            &metric_table(table, &by_name),
        );
    }
    append_section(
        &mut text,
        "METRICS",
        &metrics_table(&run.findings.metrics_outside_tables()),
    );
    for (word, latency) in [
        ("READS", &run.findings.latency.read),
        ("WRITES", &run.findings.latency.write),
    ] {
        if let Some(latency) = latency {
            let title = format!("LATENCY OF {} {word}", latency.count);
            append_section(&mut text, &title, &histogram_text(latency));
        }
    }
    for series in run.findings.series.iter().filter(is_worth_plotting) {
        append_section(
            &mut text,
            &curve_title(series, &run.findings),
            &curve_text(series),
        );
    }
    if let Some(kernel) = &run.kernel {
        append_section(
            &mut text,
            &format!("BLOCK LAYER COUNTERS OF {}", kernel.device),
            &kernel_counts_text(kernel),
        );
    }
    if let Some(stages) = &run.stages {
        let title = format!("LATENCY BY STAGE ON {}", stages.device);
        append_section(&mut text, &title, &stage_breakdown_text(stages));
    }
    append_section(&mut text, "SYSTEM DURING THE RUN", &evidence_text(run));
    append_section(&mut text, "CHECKS", &verdicts_text(run));
    append_section(&mut text, "GOALS", &goals_text(&run.findings.goals));
    append_section(&mut text, "REPEAT THIS RUN", &commands(run));
    printable_lines(&text).into_owned()
}

fn append_section(text: &mut String, title: &str, body: &str) {
    if !body.is_empty() {
        let _ = write!(text, "\n{title}\n{body}");
    }
}

fn run_heading(run: &BenchmarkRun) -> String {
    let how = match run.state {
        RunState::Finished => "finished after",
        RunState::Interrupted => "INTERRUPTED after",
        RunState::Failed => "FAILED after",
        RunState::Running => "running for",
    };
    let elapsed = units::format_wait(Duration::from_nanos(run.elapsed_ns));
    let mut text = String::new();
    let first = format!(
        "{} of {}: {how} {elapsed}",
        run.test,
        target_text(&run.target)
    );
    append_wrapped(&mut text, "", &first);
    if let Some(error) = &run.error {
        append_wrapped(&mut text, "  ", &error.message);
        append_wrapped(&mut text, "  ", &error.advice);
    }
    append_wrapped(&mut text, "  ", &format_parameters(run).join(", "));
    let mut engine = format!("engine {}", run.engine.name);
    if !run.engine.features.is_empty() {
        let _ = write!(engine, ": {}", run.engine.features.join(", "));
    }
    if let Some(reason) = &run.engine.reason {
        let _ = write!(engine, " ({reason})");
    }
    append_wrapped(&mut text, "  ", &engine);
    text
}

fn target_text(target: &TargetRecord) -> String {
    let mut text = match target.kind.as_str() {
        "scratch" => format!("a scratch file in {}", target.path),
        _ => target.path.clone().into(),
    };
    let _ = write!(text, ", {}", units::format_size(target.size_bytes));
    let about = [
        &target.file_system,
        &target.device,
        &target.model,
        &target.transport,
    ];
    for word in about.into_iter().flatten() {
        let _ = write!(text, ", {word}");
    }
    text
}

/// Whether a series is plotted as text: a line between two points adds no information.
fn is_worth_plotting(series: &&Series) -> bool {
    series.points.len() > 2 && series.id.benchmark().is_none()
}

/// The quantities of a curve, and its name if another curve has the same quantities.
fn curve_title(series: &Series, findings: &Findings) -> String {
    let mut title = format!("{} AGAINST {}", series.y.name, series.x.name);
    let alike = |other: &&Series| (&other.x, &other.y) == (&series.x, &series.y);
    if findings.series.iter().filter(alike).count() > 1 {
        let _ = write!(title, ": {}", series.id.to_string().replace('-', " "));
    }
    title.to_uppercase()
}

/// A table of metrics; a metric that the run lacks is `n/a`.
fn metric_table(table: &document::MetricTable, metrics: &MetricIndex<'_>) -> String {
    let mut drawn = plain_table();
    let headings = std::iter::once("").chain(table.columns.iter().map(SafeText::as_str));
    drawn.add_row(headings.map(cell));
    for row in &table.rows {
        let value = |id: &MetricId| {
            let metric = metrics.get(id);
            metric.map_or_else(|| "n/a".to_owned(), value_with_margin)
        };
        let cells = std::iter::once(row.name.to_string()).chain(row.cells.iter().map(value));
        drawn.add_row(cells.map(cell));
    }
    (1..=table.columns.len()).for_each(|column| right_align(&mut drawn, column));
    indent_table(&drawn)
}

/// A metric as a table cell: the value and its uncertainty.
pub(super) fn value_with_margin(metric: &Metric) -> String {
    let text = metric.value_text();
    match metric.margin_text() {
        Some(margin) => format!("{text} {margin}"),
        None => text,
    }
}

/// Metrics as a table: name, value, 95 % confidence interval, observations.
#[must_use]
pub fn metrics_table(metrics: &[&Metric]) -> String {
    let mut table = plain_table();
    for metric in metrics {
        table.add_row(
            [
                metric.label(),
                metric.value_text(),
                metric
                    .interval_text()
                    .map_or_else(String::new, |limits| format!("95 % CI: {limits}")),
                metric
                    .observations
                    .map_or_else(String::new, |count| format!("n = {count}")),
            ]
            .map(cell),
        );
    }
    right_align(&mut table, 1);
    indent_table(&table)
}

/// A histogram of the latency, with percentiles below it.
#[must_use]
pub(super) fn histogram_text(latency: &LatencySummary) -> String {
    let bins = merge_bins(&latency.histogram);
    let most = bins.iter().map(|bin| bin[2]).max().unwrap_or(1).max(1);
    let mut text = String::new();
    for [low, high, count] in bins {
        let length = (count as f64 / most as f64 * MAX_BAR_WIDTH as f64).ceil() as usize;
        let share = units::format_percent(count as f64 / latency.count.max(1) as f64);
        let (low, high) = (
            units::format_latency(low as f64),
            units::format_latency(high as f64),
        );
        let _ = writeln!(
            text,
            "  {low:>8} to {high:>8} {share:>7}  {}",
            "#".repeat(length)
        );
    }
    let mut percentiles: Vec<(f64, u64)> = latency
        .percentiles
        .iter()
        .filter_map(|(name, value)| Some((name.parse().ok()?, *value)))
        .collect();
    percentiles.sort_list_by(|left, right| left.0.total_cmp(&right.0));
    let words: Vec<String> = percentiles
        .into_iter()
        .map(|(percent, value)| format!("p{percent} {}", units::format_latency(value as f64)))
        .chain([format!(
            "max {}",
            units::format_latency(latency.max_ns as f64)
        )])
        .collect();
    append_wrapped(&mut text, "  ", &words.join(", "));
    text
}

/// Merges adjacent bins until there are few enough to print.
fn merge_bins(bins: &[[u64; 3]]) -> Vec<[u64; 3]> {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        return Vec::new();
    };
    let octaves = (last[1] as f64 / first[0].max(1) as f64).log2();
    let width = (octaves / MAX_CHART_ROWS as f64).max(0.25);
    let mut rows: Vec<[u64; 3]> = Vec::new();
    let mut row_of_last = None;
    for bin in bins {
        let row = ((bin[0].max(1) as f64 / first[0].max(1) as f64).log2() / width) as usize;
        match rows.last_mut().filter(|_| row_of_last == Some(row)) {
            Some(joined) => {
                joined[1] = bin[1];
                joined[2] = joined[2].saturating_add(bin[2]);
            }
            None => rows.push(*bin),
        }
        row_of_last = Some(row);
    }
    rows
}

/// A curve as at most [`MAX_CHART_ROWS`] rows with a bar each: the mean of the points in each row
/// and, if each point has its own row, its 95 % confidence interval.
fn curve_text(series: &Series) -> String {
    let points = &series.points;
    let most = points.iter().map(|point| point[1]).fold(0.0, f64::max);
    if points.is_empty() || most <= 0.0 {
        return String::new();
    }
    let each = points.len().div_ceil(MAX_CHART_ROWS);
    let bounded = each == 1 && !series.intervals.is_empty();
    let widest = if bounded {
        MAX_BAR_WIDTH - INTERVAL_WIDTH
    } else {
        MAX_BAR_WIDTH
    };
    points
        .chunks(each)
        .enumerate()
        .map(|(index, chunk)| {
            let mean = chunk.iter().map(|point| point[1]).sum::<f64>() / chunk.len() as f64;
            let length = (mean / most * widest as f64).max(0.0).round() as usize;
            let x = series.x.format(chunk[0][0]);
            let value = series.y.unit.format(mean);
            let bar = "#".repeat(length);
            if !bounded {
                return format!("  {x:>10} {value:>12}  {bar}\n");
            }
            let limits =
                series
                    .confidence_interval(index)
                    .map_or_else(String::new, |[low, high]| {
                        let metric = Metric {
                            low: Some(low),
                            high: Some(high),
                            ..Metric::with_unit(MetricId::parse(""), mean, series.y.unit)
                        };
                        metric.interval_text().unwrap_or_default()
                    });
            let line = format!("  {x:>10} {value:>12}  {limits:<INTERVAL_WIDTH$} {bar}");
            format!("{}\n", line.trim_end())
        })
        .collect()
}

fn stage_breakdown_text(stages: &StageBreakdown) -> String {
    let mut text = format!("  {} requests traced", stages.requests);
    if stages.lost_events > 0 {
        let _ = write!(text, ", {} EVENTS LOST", stages.lost_events);
    }
    text.push('\n');
    for (word, queue, drive) in [
        ("reads", &stages.q2d.read, &stages.d2c.read),
        ("writes", &stages.q2d.write, &stages.d2c.write),
    ] {
        for (stage, latency) in [("Q2D", queue), ("D2C", drive)] {
            let Some(latency) = latency else { continue };
            let p99 = latency.percentiles.get("99");
            let p99 = p99.map_or_else(
                || "n/a".to_owned(),
                |p99| units::format_latency(*p99 as f64),
            );
            let mean = units::format_latency(latency.mean_ns);
            let _ = writeln!(text, "  {word:<6} {stage}  mean {mean}, p99 {p99}");
        }
    }
    text
}

fn kernel_counts_text(kernel: &KernelCounts) -> String {
    let mut text = String::new();
    for (word, count, merged, bytes) in [
        (
            "reads",
            kernel.reads,
            kernel.reads_merged,
            kernel.read_bytes,
        ),
        (
            "writes",
            kernel.writes,
            kernel.writes_merged,
            kernel.written_bytes,
        ),
    ] {
        if count > 0 {
            let size = units::format_block_size((bytes as f64 / count as f64).round());
            let bytes = units::format_capacity(bytes as f64);
            let _ = writeln!(
                text,
                "  {count} {word}, {bytes}, mean size {size}, {merged} merged"
            );
        }
    }
    text
}

fn evidence_text(run: &BenchmarkRun) -> String {
    let mut text = String::new();
    for (name, value) in evidence::evidence_lines(&run.evidence) {
        append_wrapped(&mut text, "  ", &format!("{name}: {value}"));
    }
    text
}

fn goals_text(results: &[SloResult]) -> String {
    let mut text = String::new();
    for goal in results {
        let word = match goal.met {
            Some(false) => goals::status(goal).to_uppercase(),
            _ => goals::status(goal).to_owned(),
        };
        let verdict = match goals::undetermined_reason(goal) {
            Some(reason) => format!("{word}: {reason}"),
            None => word,
        };
        let measured = goals::outcome_text(goal)
            .map_or_else(String::new, |outcome| format!(" (measured {outcome})"));
        let _ = writeln!(text, "  {}: {verdict}{measured}", goal.goal);
    }
    text
}

fn verdicts_text(run: &BenchmarkRun) -> String {
    let mut text = String::new();
    for verdict in run.findings.verdicts_by_severity() {
        let severity = severity_word(verdict.severity);
        append_wrapped(
            &mut text,
            "  ",
            &format!("{severity} {}: {}", verdict.code, verdict.evidence),
        );
        append_wrapped(&mut text, "    ", &verdict.advice);
    }
    text
}

/// The word for a severity; more severe ones are in capitals.
pub fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "WARNING",
        Severity::Invalid => "INVALID",
    }
}

fn commands(run: &BenchmarkRun) -> String {
    let mut text = String::new();
    for line in again::lines(run) {
        let _ = writeln!(text, "  {line}");
    }
    text
}
