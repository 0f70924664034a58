//! Many drives by one figure, as text of 80 columns.

use std::fmt::Write as _;

use super::compare::{narrow, safe};
use super::text::{cell, indented, plain_table, right_align, wrap};
use crate::printable::printable_lines;
use crate::session::compare::Fleet;
use crate::session::compare::fleet::{FleetRow, FleetTable};
use crate::session::document::Figure;
use crate::units;

/// Longest name of a host or a model in a table.
const NAME: usize = 15;
/// Longest name of a target in a table.
const TARGET: usize = 11;

/// Many drives by one figure.
#[must_use]
pub fn fleet(fleet: &Fleet) -> String {
    let mut text = String::new();
    for table in &fleet.tables {
        let heading = format!("{} of {}", fleet.figure, table.test);
        let _ = writeln!(text, "{}", safe(&heading).to_uppercase());
        wrap(&mut text, "  ", &safe(&table.parameters.join(", ")));
        text.push('\n');
        text.push_str(&drives(&fleet.figure, table));
        text.push_str(&summary(table));
        text.push_str(&doubts(table));
        text.push('\n');
    }
    if fleet.tables.is_empty() {
        let _ = writeln!(text, "no session has the figure {}\n", safe(&fleet.figure));
    }
    for verdict in &fleet.unstable {
        wrap(
            &mut text,
            "  ",
            &safe(&format!("WARNING {}: {}", verdict.code, verdict.evidence)),
        );
    }
    if !fleet.left_out.is_empty() {
        text.push_str("LEFT OUT\n");
    }
    for one in &fleet.left_out {
        wrap(
            &mut text,
            "  ",
            &safe(&format!("{}: {}", one.name, one.reason)),
        );
    }
    printable_lines(&text).into_owned()
}

fn drives(name: &str, table: &FleetTable) -> String {
    let mut rows = plain_table();
    rows.set_header(["host", "target", "model", "value", "to model", ""]);
    for row in &table.rows {
        let figure = Figure::new(name, row.value, table.unit);
        rows.add_row(
            [
                short(row.host.as_deref().unwrap_or(&row.name), NAME),
                short(row.target.trim_start_matches("/dev/"), TARGET),
                short(row.model.as_deref().unwrap_or("unknown"), NAME),
                figure.text(),
                row.peers
                    .as_ref()
                    .map_or_else(String::new, |peers| signed(peers.distance)),
                remarks(row),
            ]
            .map(cell),
        );
    }
    right_align(&mut rows, 3);
    right_align(&mut rows, 4);
    narrow(&mut rows);
    indented(&rows)
}

fn signed(share: f64) -> String {
    format!(
        "{}{}",
        if share >= 0.0 { "+" } else { "" },
        units::percent(share)
    )
}

fn remarks(row: &FleetRow) -> String {
    let stands_out = row.peers.as_ref().is_some_and(|peers| peers.outlier);
    let doubtful = if row.cautions.is_empty() { "" } else { "!" };
    let outlier = if stands_out { "OUTLIER" } else { "" };
    let parameters = safe(&row.parameters.join(", "));
    let words = [outlier, doubtful, &parameters];
    let words = words.iter().filter(|word| !word.is_empty());
    words.copied().collect::<Vec<_>>().join(" ")
}

/// What keeps the figures of marked rows from being believed.
fn doubts(table: &FleetTable) -> String {
    let mut text = String::new();
    for row in table.rows.iter().filter(|row| !row.cautions.is_empty()) {
        let host = row.host.as_deref().unwrap_or(&row.name);
        let words = format!("! {host}, {}: {}", row.target, row.cautions.join(", "));
        wrap(&mut text, "  ", &safe(&words));
    }
    text
}

/// A name short enough for a column.
fn short(name: &str, most: usize) -> String {
    let name = safe(name);
    if name.chars().count() <= most {
        return name;
    }
    // The end tells names of one kind apart better than the beginning.
    let tail: Vec<char> = name.chars().rev().take(most - 2).collect();
    format!("..{}", tail.into_iter().rev().collect::<String>())
}

fn summary(table: &FleetTable) -> String {
    let outliers = table
        .rows
        .iter()
        .filter(|row| row.peers.as_ref().is_some_and(|it| it.outlier));
    let unjudged = table.rows.iter().filter(|row| row.peers.is_none()).count();
    let mut words = format!(
        "{} drives, {} of them stand out",
        table.rows.len(),
        outliers.count()
    );
    if unjudged > 0 {
        let _ = write!(
            words,
            "; {unjudged} not judged: fewer than 5 of their model"
        );
    }
    let mut text = String::new();
    wrap(&mut text, "  ", &words);
    text
}
