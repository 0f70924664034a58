//! Many drives compared by one metric, as text of 80 columns.

use std::fmt::Write as _;

use super::compare::shrink_to_width;
use super::layout::{append_wrapped, cell, indent_table, plain_table, right_align};
use crate::files::printable::printable_lines;
use crate::session::compare::FleetComparison;
use crate::session::compare::fleet::{FleetRow, FleetTable};
use crate::session::document::{Metric, MetricId};
use crate::units;

/// Maximum width of a host's or model's name in a table.
const MAX_NAME_WIDTH: usize = 15;
/// Maximum width of a target's name in a table.
const MAX_TARGET_WIDTH: usize = 11;

/// Renders a comparison of many drives by one metric.
#[must_use]
pub fn fleet_text(fleet: &FleetComparison) -> String {
    let mut text = String::new();
    for table in &fleet.tables {
        let heading = format!("{} of {}", fleet.metric, table.benchmark);
        let _ = writeln!(text, "{}", heading.to_uppercase());
        append_wrapped(&mut text, "  ", &table.parameters.join(", "));
        text.push('\n');
        text.push_str(&drives_table(&fleet.metric, table));
        text.push_str(&peer_summary(table));
        text.push_str(&caution_notes(table));
        text.push('\n');
    }
    if fleet.tables.is_empty() {
        let _ = writeln!(text, "no session has the metric {}\n", fleet.metric);
    }
    for verdict in &fleet.unstable {
        append_wrapped(
            &mut text,
            "  ",
            &format!("WARNING {}: {}", verdict.code, verdict.evidence),
        );
    }
    if !fleet.excluded.is_empty() {
        text.push_str("EXCLUDED\n");
    }
    for one in &fleet.excluded {
        append_wrapped(&mut text, "  ", &format!("{}: {}", one.name, one.reason));
    }
    printable_lines(&text).into_owned()
}

fn drives_table(id: &MetricId, table: &FleetTable) -> String {
    let mut rows = plain_table();
    rows.set_header(["host", "target", "model", "value", "vs median", ""]);
    for row in &table.rows {
        let run_metric = Metric::with_unit(id.clone(), row.value, table.unit);
        rows.add_row(
            [
                shorten_name(row.host.as_deref().unwrap_or(&row.name), MAX_NAME_WIDTH),
                shorten_name(row.target.trim_start_matches("/dev/"), MAX_TARGET_WIDTH),
                shorten_name(row.model.as_deref().unwrap_or("unknown"), MAX_NAME_WIDTH),
                run_metric.value_text(),
                row.peers
                    .as_ref()
                    .map_or_else(String::new, |peers| signed_percent(peers.relative_distance)),
                row_remarks(row),
            ]
            .map(cell),
        );
    }
    right_align(&mut rows, 3);
    right_align(&mut rows, 4);
    shrink_to_width(&mut rows);
    indent_table(&rows)
}

fn signed_percent(share: f64) -> String {
    format!(
        "{}{}",
        if share >= 0.0 { "+" } else { "" },
        units::format_percent(share)
    )
}

fn row_remarks(row: &FleetRow) -> String {
    let stands_out = row.peers.as_ref().is_some_and(|peers| peers.outlier);
    let doubtful = if row.cautions.is_empty() { "" } else { "!" };
    let outlier = if stands_out { "OUTLIER" } else { "" };
    let parameters = row.parameters.join(", ");
    let words = [outlier, doubtful, &parameters];
    let words = words.iter().filter(|word| !word.is_empty());
    words.copied().collect::<Vec<_>>().join(" ")
}

/// Reasons to doubt the metrics of the marked rows.
fn caution_notes(table: &FleetTable) -> String {
    let mut text = String::new();
    for row in table.rows.iter().filter(|row| !row.cautions.is_empty()) {
        let host = row.host.as_deref().unwrap_or(&row.name);
        let codes: Vec<String> = row.cautions.iter().map(ToString::to_string).collect();
        let words = format!("! {host}, {}: {}", row.target, codes.join(", "));
        append_wrapped(&mut text, "  ", &words);
    }
    text
}

/// Shortens a name to fit a column.
fn shorten_name(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    // The end of similar names differs more often than the beginning.
    let tail: Vec<char> = name.chars().rev().take(most - 2).collect();
    format!("..{}", tail.into_iter().rev().collect::<String>())
}

fn peer_summary(table: &FleetTable) -> String {
    let outliers = table
        .rows
        .iter()
        .filter(|row| row.peers.as_ref().is_some_and(|it| it.outlier));
    let unjudged = table.rows.iter().filter(|row| row.peers.is_none()).count();
    let mut words = format!(
        "{} drives, outliers: {}",
        table.rows.len(),
        outliers.count()
    );
    if unjudged > 0 {
        let _ = write!(
            words,
            "; {unjudged} not tested for outliers: fewer than 5 drives of the model"
        );
    }
    let mut text = String::new();
    append_wrapped(&mut text, "  ", &words);
    text
}
