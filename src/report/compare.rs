//! Comparisons as text of 80 columns.

use std::fmt::Write as _;

use comfy_table::{ColumnConstraint, ContentArrangement, Table};

use super::text::{cell, indented, plain_table, right_align, wrap};
use crate::printable::{printable, printable_lines};
use crate::session::compare::words::letter;
use crate::session::compare::{
    Against, ComparedFigure, ComparedTest, Comparison, Mismatch, Overlay, Sample,
};
use crate::session::document::{Severity, Verdict};

/// Columns of a table: 80 less the blank before it.
const WIDTH: u16 = 79;
/// Rows of an overlaid chart; more points are joined.
const ROWS: usize = 12;
/// Widest bar of an overlaid chart in characters.
const BAR: usize = 20;

/// A comparison of two or more sessions.
#[must_use]
pub fn comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (index, side) in comparison.sides.iter().enumerate() {
        let host = side.host.as_deref().unwrap_or("unknown host");
        let words = format!("{}, {host}, {}", side.name, side.started);
        wrap(
            &mut text,
            "  ",
            &format!("{}  {}", letter(index), safe(&words)),
        );
    }
    for test in &comparison.tests {
        compared(&mut text, test);
    }
    if comparison.tests.is_empty() {
        text.push_str("\nnothing in them can be compared\n");
    }
    if !comparison.mismatches.is_empty() {
        text.push_str("\nNOT COMPARED\n");
    }
    for mismatch in &comparison.mismatches {
        wrap(&mut text, "  ", &mismatched(mismatch));
    }
    printable_lines(&text).into_owned()
}

/// Text from outside that a terminal shows as it stands.
pub(super) fn safe(text: &str) -> String {
    printable(text.as_bytes())
}

fn compared(text: &mut String, test: &ComparedTest) {
    let _ = writeln!(text, "\n{}", safe(&test.test).to_uppercase());
    wrap(text, "  ", &safe(&test.parameters.join(", ")));
    for parameter in &test.differing {
        wrap(
            text,
            "  ",
            &safe(&format!("ignored: {}", parameter.words())),
        );
    }
    for (index, measured) in test.measured.iter().enumerate() {
        let Some(measured) = measured else { continue };
        let mut words = format!("{}  {}", letter(index), measured.target);
        if let Some(model) = &measured.model {
            let _ = write!(words, ", {model}");
        }
        if measured.runs > 1 {
            let _ = write!(words, ", {} runs", measured.runs);
        }
        wrap(text, "  ", &safe(&words));
    }
    for pair in test.pairs() {
        text.push('\n');
        text.push_str(&figures(&test.figures, pair));
    }
    for reason in test.reasons() {
        wrap(text, "  ", &safe(&reason));
    }
    for overlay in &test.charts {
        text.push_str(&chart(overlay));
    }
    cautions(text, test);
}

/// The figures of the baseline and one other side, and their ratio.
fn figures(figures: &[ComparedFigure], (baseline, other): (usize, usize)) -> String {
    let mut table = plain_table();
    let names = [letter(baseline), letter(other)];
    let against = format!("{}/{}", names[1], names[0]);
    table.set_header(["", &names[0], &names[1], &against, "95 % CI", ""]);
    for figure in figures.iter().filter(|it| it.baseline == baseline) {
        let of = |side: usize| figure.sides.get(side)?.as_ref();
        let (Some(first), Some(sample)) = (of(baseline), of(other)) else {
            continue;
        };
        let value = |sample: &Sample| figure.of(sample).text();
        let against = sample.against_baseline.as_ref();
        let [ratio, interval, words] = against.map(Against::words).unwrap_or_default();
        table.add_row(
            [
                safe(&figure.label()),
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
    narrow(&mut table);
    indented(&table)
}

/// Where 80 columns do not hold the table, one blank separates two columns; where that is not
/// enough, the last column is wrapped.
pub(super) fn narrow(table: &mut Table) {
    let widest = table.lines().map(|line| line.trim_end().chars().count());
    if widest.max().unwrap_or(0) <= usize::from(WIDTH) {
        return;
    }
    table.set_width(WIDTH);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let last = table.column_count().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(index == 0), 1));
        if index < last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// The curves of an overlay row by row: a bar for each side.
fn chart(overlay: &Overlay) -> String {
    let all = || overlay.curves.iter().flat_map(|curve| &curve.points);
    let most = all().map(|point| point[1]).fold(0.0, f64::max);
    let [low, high] = all().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], point| {
        [low.min(point[0]), high.max(point[0])]
    });
    if most <= 0.0 || high <= low {
        return String::new();
    }
    let mut text = format!("\n{}\n", overlay.title().to_uppercase());
    for row in 0..ROWS {
        let (from, to) = (
            edge(overlay, [low, high], row),
            edge(overlay, [low, high], row + 1),
        );
        let mut place = overlay.x.unit.format(from);
        for curve in &overlay.curves {
            let within = |point: &&[f64; 2]| point[0] >= from && (point[0] < to || row + 1 == ROWS);
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
            let bar = "#".repeat((mean / most * BAR as f64).max(0.0).round() as usize);
            let (side, height) = (letter(curve.side), overlay.y.unit.format(mean));
            let _ = writeln!(text, "  {place:>10}  {side} {height:>12}  {bar}");
            place.clear();
        }
    }
    text
}

/// Where a row begins: rows are even, or where the values span decades each is the same number of
/// times the one before.
fn edge(overlay: &Overlay, [low, high]: [f64; 2], row: usize) -> f64 {
    let share = row as f64 / ROWS as f64;
    if overlay.log_x && low > 0.0 {
        low * (high / low).powf(share)
    } else {
        low + (high - low) * share
    }
}

fn cautions(text: &mut String, test: &ComparedTest) {
    let sides = test.measured.iter().enumerate();
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
            letter(side),
            caution.code,
            caution.evidence
        );
        wrap(text, "  ", &safe(&words));
    }
}

/// What was not compared, and how it could be.
fn mismatched(mismatch: &Mismatch) -> String {
    let sentence = safe(&mismatch.sentence());
    let differences = mismatch.differences.iter();
    let options: Vec<String> = differences
        .map(|it| format!("--ignore {}", it.parameter))
        .collect();
    if options.is_empty() {
        return sentence;
    }
    let options = safe(&options.join(" "));
    format!("{sentence}; to compare them: {options}")
}

#[cfg(test)]
mod tests;
