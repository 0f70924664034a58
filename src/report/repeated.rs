//! Repeated runs in one table: what they have in common, and how far they are apart.

use std::fmt::Write as _;

use super::text::{cell, indented, plain_table, right_align};
use crate::session::compare::align::grouped;
use crate::session::document::Run;
use crate::session::stability::{Summed, summed};

/// Headings of the columns behind the figure's name.
pub(super) const COLUMNS: [&str; 4] = ["mean", "95 % limits", "lowest", "highest"];

/// For each measurement that was repeated a heading and its figures over all runs, cell by cell.
pub(super) fn tables(runs: &[Run]) -> Vec<(String, Vec<[String; 5]>)> {
    let groups = grouped(runs, &[])
        .into_iter()
        .filter(|group| group.len() > 1);
    let table = |group: Vec<&Run>| {
        let heading = format!("all {} runs of {}", group.len(), group[0].test);
        (heading, summed(&group).iter().map(cells).collect())
    };
    groups.map(table).collect()
}

fn cells(sum: &Summed) -> [String; 5] {
    [
        sum.mean.label(),
        sum.mean.text(),
        sum.mean.limits_text().unwrap_or_default(),
        sum.lowest.text(),
        sum.highest.text(),
    ]
}

/// The tables as text; empty where nothing was repeated.
#[must_use]
pub fn repeated(runs: &[Run]) -> String {
    let mut text = String::new();
    for (heading, rows) in tables(runs) {
        let mut drawn = plain_table();
        drawn.add_row(std::iter::once("").chain(COLUMNS));
        rows.iter().for_each(|row| {
            drawn.add_row(row.iter().map(cell));
        });
        (1..=COLUMNS.len()).for_each(|column| right_align(&mut drawn, column));
        let _ = writeln!(text, "{}", heading.to_uppercase());
        text.push_str(&indented(&drawn));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample::run;

    #[test]
    fn runs_of_one_kind_are_summed_up() {
        let runs = [10.0, 12.0, 14.0].map(|value| run("iops", 100.0 * value, 1.0));
        let text = repeated(&runs);
        assert!(text.starts_with("ALL 3 RUNS OF RANDOM-READ\n"), "{text}");
        // 1200 +- 4.3027 * 200 / sqrt(3).
        for part in ["1.20k /s", "703 to 1.70k /s", "1.00k /s", "1.40k /s"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }

    #[test]
    fn single_runs_are_not() {
        let mut deeper = run("iops", 10.0, 1.0);
        deeper.parameters.insert("depth".into(), 64.into());
        let runs = [run("iops", 10.0, 1.0), deeper];
        assert_eq!(repeated(&runs), "");
        assert_eq!(repeated(&[]), "");
    }
}
