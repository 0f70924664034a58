//! Tables of repeated runs: the metrics over all runs, and their spread.

use std::fmt::Write as _;

use super::layout::{cell, indent_table, plain_table, right_align};
use crate::session::compare::align::group_repeated_runs;
use crate::session::document::BenchmarkRun;
use crate::session::stability::{RepeatedMetric, summarize_repeats};

/// Headings of the columns after the metric's name.
pub(super) const METRIC_COLUMNS: [&str; 4] = ["mean", "95 % CI", "lowest", "highest"];

/// For each repeated measurement, a heading and the cells of its metrics over all runs.
pub(super) fn repeated_tables(runs: &[BenchmarkRun]) -> Vec<(String, Vec<[String; 5]>)> {
    let groups = group_repeated_runs(runs, &[])
        .into_iter()
        .filter(|group| group.len() > 1);
    let table = |group: Vec<&BenchmarkRun>| {
        let heading = format!("all {} runs of {}", group.len(), group[0].test);
        (
            heading,
            summarize_repeats(&group).iter().map(metric_cells).collect(),
        )
    };
    groups.map(table).collect()
}

fn metric_cells(sum: &RepeatedMetric) -> [String; 5] {
    [
        sum.mean.label(),
        sum.mean.value_text(),
        sum.mean.interval_text().unwrap_or_default(),
        sum.lowest.value_text(),
        sum.highest.value_text(),
    ]
}

/// The tables as text; empty if there are no repeated runs.
#[must_use]
pub fn repeated_runs_text(runs: &[BenchmarkRun]) -> String {
    let mut text = String::new();
    for (heading, rows) in repeated_tables(runs) {
        let mut drawn = plain_table();
        drawn.add_row(std::iter::once("").chain(METRIC_COLUMNS));
        rows.iter().for_each(|row| {
            drawn.add_row(row.iter().map(cell));
        });
        (1..=METRIC_COLUMNS.len()).for_each(|column| right_align(&mut drawn, column));
        let _ = writeln!(text, "{}", heading.to_uppercase());
        text.push_str(&indent_table(&drawn));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample::sample_run;

    #[test]
    fn repeated_runs_are_summarized() {
        let runs = [10.0, 12.0, 14.0].map(|value| sample_run("iops", 100.0 * value, 1.0));
        let text = repeated_runs_text(&runs);
        assert!(text.starts_with("ALL 3 RUNS OF RANDOM-READ\n"), "{text}");
        // 1200 +- 4.3027 * 200 / sqrt(3).
        for part in ["1.20k /s", "703 to 1.70k /s", "1.00k /s", "1.40k /s"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }

    #[test]
    fn single_runs_get_no_repeat_summary() {
        let mut deeper = sample_run("iops", 10.0, 1.0);
        deeper.parameters.insert("depth".into(), 64.into());
        let runs = [sample_run("iops", 10.0, 1.0), deeper];
        assert_eq!(repeated_runs_text(&runs), "");
        assert_eq!(repeated_runs_text(&[]), "");
    }
}
