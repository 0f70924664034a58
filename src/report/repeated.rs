//! Repeated runs in one table: what they have in common, and how far they are apart.

use std::fmt::Write as _;

use crate::report::text::{indented, plain_table, right_align};
use crate::session::compare::align::grouped;
use crate::session::compare::ratio::pooled;
use crate::session::document::{Figure, Run, is_part};

/// For each measurement that was repeated its figures over all runs: mean, 95 % limits, lowest and
/// highest; empty where nothing was repeated.
#[must_use]
pub fn repeated(runs: &[Run]) -> String {
    let mut text = String::new();
    for group in grouped(runs, &[]).iter().filter(|group| group.len() > 1) {
        let (test, count) = (&group[0].test, group.len());
        let _ = writeln!(text, "ALL {count} RUNS OF {}", test.to_uppercase());
        text.push_str(&table(group));
    }
    text
}

fn table(group: &[&Run]) -> String {
    let mut drawn = plain_table();
    drawn.add_row(["", "mean", "95 % limits", "lowest", "highest"]);
    let own = group[0].findings.figures.iter();
    for figure in own.filter(|figure| !is_part(&figure.name)) {
        let all: Vec<&Figure> = group
            .iter()
            .filter_map(|run| run.findings.figure(&figure.name))
            .collect();
        let Some(sample) = pooled(&all) else { continue };
        let mean = Figure {
            low: sample.low,
            high: sample.high,
            ..Figure::new(&figure.name, sample.value, figure.unit)
        };
        let by_value = |one: &&&Figure, other: &&&Figure| one.value.total_cmp(&other.value);
        let text = |found: Option<&&Figure>| found.map_or_else(String::new, |it| it.text());
        drawn.add_row([
            mean.label(),
            mean.text(),
            mean.limits_text().unwrap_or_default(),
            text(all.iter().min_by(by_value)),
            text(all.iter().max_by(by_value)),
        ]);
    }
    (1..5).for_each(|column| right_align(&mut drawn, column));
    indented(&drawn)
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
        for part in ["1.20k /s", "703 /s to 1.70k /s", "1.00k /s", "1.40k /s"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }

    #[test]
    fn single_runs_are_not() {
        let mut deeper = run("iops", 10.0, 1.0);
        deeper.parameters.insert("depth".to_owned(), 64.into());
        assert_eq!(repeated(&[run("iops", 10.0, 1.0), deeper]), "");
        assert_eq!(repeated(&[]), "");
    }
}
