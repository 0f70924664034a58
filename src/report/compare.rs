//! Comparisons as text of 80 columns.

pub mod words;

use std::fmt::Write as _;

use comfy_table::{ColumnConstraint, ContentArrangement, Table};

use self::words::session_letter;
use super::layout::{append_wrapped, cell, indent_table, plain_table, right_align};
use crate::files::printable::printable_lines;
use crate::files::shell;
use crate::session::compare::{
    BaselineRatio, ChartOverlay, ComparedBenchmark, ComparedMetric, Comparison, MetricSample,
    UnmatchedMeasurement,
};
use crate::session::document::{Severity, Verdict};

/// Width of a table: 80 columns minus the blank before it.
const TABLE_WIDTH: u16 = 79;
/// Maximum number of rows of an overlaid chart; more points are merged.
const MAX_CHART_ROWS: usize = 12;
/// Maximum width of a bar in an overlaid chart, in characters.
const MAX_BAR_WIDTH: usize = 20;

/// Renders a comparison of two or more sessions.
#[must_use]
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (index, side) in comparison.sessions.iter().enumerate() {
        let host = side.host.as_deref().unwrap_or("unknown host");
        let words = format!("{}, {host}, {}", side.name, side.started);
        append_wrapped(
            &mut text,
            "  ",
            &format!("{}  {}", session_letter(index), words),
        );
    }
    for test in &comparison.benchmarks {
        benchmark_section(&mut text, test);
    }
    if comparison.benchmarks.is_empty() {
        text.push_str("\nno benchmark can be compared\n");
    }
    if !comparison.mismatches.is_empty() {
        text.push_str("\nNOT COMPARED\n");
    }
    for mismatch in &comparison.mismatches {
        append_wrapped(&mut text, "  ", &mismatch_text(mismatch));
    }
    printable_lines(&text).into_owned()
}

fn benchmark_section(text: &mut String, test: &ComparedBenchmark) {
    let _ = writeln!(text, "\n{}", test.benchmark.to_uppercase());
    append_wrapped(text, "  ", &test.parameters.join(", "));
    for parameter in &test.differing {
        append_wrapped(text, "  ", &format!("ignored: {}", parameter.values_text()));
    }
    for (index, measured) in test.targets.iter().enumerate() {
        let Some(measured) = measured else { continue };
        let mut words = format!("{}  {}", session_letter(index), measured.target);
        if let Some(model) = &measured.model {
            let _ = write!(words, ", {model}");
        }
        if measured.runs > 1 {
            let _ = write!(words, ", {} runs", measured.runs);
        }
        append_wrapped(text, "  ", &words);
    }
    for pair in test.compared_pairs() {
        text.push('\n');
        text.push_str(&metrics_table(&test.metrics, pair));
    }
    for reason in test.not_determined_reasons() {
        append_wrapped(text, "  ", &reason);
    }
    for overlay in &test.charts {
        text.push_str(&chart_text(overlay));
    }
    cautions_section(text, test);
}

/// The metrics of the baseline and one other side, and their ratio.
fn metrics_table(metrics: &[ComparedMetric], (baseline, other): (usize, usize)) -> String {
    let mut table = plain_table();
    let names = [session_letter(baseline), session_letter(other)];
    let against = format!("{}/{}", names[1], names[0]);
    table.set_header(["", &names[0], &names[1], &against, "95 % CI", ""]);
    for metric in metrics.iter().filter(|it| it.baseline == baseline) {
        let of = |side: usize| metric.samples.get(side)?.as_ref();
        let (Some(first), Some(sample)) = (of(baseline), of(other)) else {
            continue;
        };
        let value = |sample: &MetricSample| metric.metric_of(sample).value_text();
        let against = sample.against_baseline.as_ref();
        let [ratio, interval, words] = against
            .map(BaselineRatio::ratio_columns)
            .unwrap_or_default();
        table.add_row(
            [
                metric.label(),
                value(first),
                value(sample),
                ratio,
                interval,
                words,
            ]
            .map(cell),
        );
    }
    (1..5).for_each(|column| right_align(&mut table, column));
    shrink_to_width(&mut table);
    indent_table(&table)
}

/// If the table exceeds 80 columns, columns are separated by one blank; if it still does, the last
/// column is wrapped.
pub(super) fn shrink_to_width(table: &mut Table) {
    let widest = table.lines().map(|line| line.trim_end().chars().count());
    if widest.max().unwrap_or(0) <= usize::from(TABLE_WIDTH) {
        return;
    }
    table.set_width(TABLE_WIDTH);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let last = table.column_count().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(index == 0), 1));
        if index < last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// An overlaid chart as rows with one bar for each side.
fn chart_text(overlay: &ChartOverlay) -> String {
    let all = || overlay.curves.iter().flat_map(|curve| &curve.points);
    let most = all().map(|point| point[1]).fold(0.0, f64::max);
    let [low, high] = all().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], point| {
        [low.min(point[0]), high.max(point[0])]
    });
    if most <= 0.0 || high <= low {
        return String::new();
    }
    let mut text = format!("\n{}\n", overlay.title().to_uppercase());
    for row in 0..MAX_CHART_ROWS {
        let (from, to) = (
            row_start(overlay, [low, high], row),
            row_start(overlay, [low, high], row + 1),
        );
        let mut x = overlay.x.unit.format(from);
        for curve in &overlay.curves {
            let within = |point: &&[f64; 2]| {
                point[0] >= from && (point[0] < to || row + 1 == MAX_CHART_ROWS)
            };
            let heights: Vec<f64> = curve
                .points
                .iter()
                .filter(within)
                .map(|point| point[1])
                .collect();
            if heights.is_empty() {
                continue;
            }
            let mean = heights.iter().sum::<f64>() / heights.len() as f64;
            let bar = "#".repeat((mean / most * MAX_BAR_WIDTH as f64).max(0.0).round() as usize);
            let (side, height) = (session_letter(curve.session), overlay.y.unit.format(mean));
            let _ = writeln!(text, "  {x:>10}  {side} {height:>12}  {bar}");
            x.clear();
        }
    }
    text
}

/// Lower bound of a row. Rows have equal widths, or equal ratios if the values span decades.
fn row_start(overlay: &ChartOverlay, [low, high]: [f64; 2], row: usize) -> f64 {
    let share = row as f64 / MAX_CHART_ROWS as f64;
    if overlay.log_x && low > 0.0 {
        low * (high / low).powf(share)
    } else {
        low + (high - low) * share
    }
}

fn cautions_section(text: &mut String, test: &ComparedBenchmark) {
    let sides = test.targets.iter().enumerate();
    let all: Vec<(usize, &Verdict)> = sides
        .filter_map(|(index, measured)| Some((index, measured.as_ref()?)))
        .flat_map(|(index, measured)| measured.cautions.iter().map(move |it| (index, it)))
        .collect();
    if !all.is_empty() {
        text.push_str("\nCAUTION\n");
    }
    for (side, caution) in all {
        let severity = match caution.severity {
            Severity::Invalid => "INVALID",
            Severity::Warning | Severity::Note => "WARNING",
        };
        let words = format!(
            "{}  {severity} {}: {}",
            session_letter(side),
            caution.code,
            caution.evidence
        );
        append_wrapped(text, "  ", &words);
    }
}

/// What was not compared, and how it can be.
fn mismatch_text(mismatch: &UnmatchedMeasurement) -> String {
    let sentence = mismatch.sentence();
    let differences = mismatch.differences.iter();
    let options: Vec<String> = differences
        .filter_map(|it| shell::command_line(["--ignore", &it.parameter]))
        .map(shell::for_terminal)
        .collect();
    if options.is_empty() {
        return sentence;
    }
    let options = options.join(" ");
    format!("{sentence}; to compare them: {options}")
}

#[cfg(test)]
mod tests;
