//! Elements of a run's section of the page.

use maud::{Markup, html};

use crate::report::repeated::{METRIC_COLUMNS, repeated_tables as tables_of_repeated};
use crate::report::text::{severity_word, value_with_margin};
use crate::report::{again, evidence, goals};
use crate::session::document::{
    BenchmarkRun, Findings, KernelCounts, LatencyByDirection, Metric, MetricId, RunEvidence,
    Severity, SloResult, StageBreakdown, Verdict,
};
use crate::stats::sorting::SortList as _;
use crate::units;

/// Number of cards at the top of a run whose benchmark defines no headline metrics.
const MAX_DEFAULT_CARDS: usize = 4;
/// Number of metrics in the summary of a run.
const MAX_SUMMARY_METRICS: usize = 2;

/// Names and values; unknown and empty values are omitted.
pub(super) fn fact_list(title: &str, facts: Vec<(&str, Option<String>)>) -> Markup {
    let known = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
    let known: Vec<(&str, String)> = known.collect();
    html! {
        @if !known.is_empty() {
            h3 { (title) }
            dl { @for (name, value) in &known { dt { (name) } dd { (value) } } }
        }
    }
}

/// A table with a heading; empty if there are no rows.
pub(super) fn html_table(title: &str, head: Option<&Markup>, rows: &[Markup]) -> Markup {
    html! {
        @if !rows.is_empty() {
            h3 { (title) }
            div.wide {
                table {
                    @if let Some(head) = head { thead { tr { (head) } } }
                    tbody { @for row in rows { tr { (row) } } }
                }
            }
        }
    }
}

/// The error that stopped the run.
pub(super) fn error_section(run: &BenchmarkRun) -> Markup {
    html! {
        @if let Some(error) = &run.error {
            div.verdict.invalid {
                p { b { "failed" } " " (error.message) }
                p.soft { (error.advice) }
            }
        }
    }
}

/// Checks of severity warning or invalid, the most severe first; says so if there are none.
pub(super) fn problems_section(run: &BenchmarkRun) -> Markup {
    let verdicts = &run.findings.verdicts;
    let grave = |verdict: &&Verdict| verdict.severity > Severity::Note;
    let mut sorted: Vec<&Verdict> = verdicts.iter().filter(grave).collect();
    sorted.sort_list_by_key(|verdict| std::cmp::Reverse(verdict.severity));
    html! {
        @if sorted.is_empty() && run.error.is_none() { p.good.passed { "Checks: no problems detected" } }
        @for verdict in sorted {
            @let class = severity_word(verdict.severity).to_lowercase();
            div.verdict.(class) {
                p { b { (class) ": " (verdict.code) } " " (verdict.evidence) }
                p.soft { (verdict.advice) }
            }
            "\n"
        }
    }
}

/// The headline metrics in one line.
pub(super) fn headline_text(metrics: &[Metric], headline: &[MetricId]) -> String {
    let shown = headline_metrics(metrics, headline).into_iter();
    let words = shown
        .take(MAX_SUMMARY_METRICS)
        .map(|metric| format!("{} {}", metric.label(), metric.value_text()));
    words.collect::<Vec<_>>().join(", ")
}

/// How a run ended and what the checks say, in a few words.
pub(super) fn check_summary(run: &BenchmarkRun) -> Markup {
    let verdicts = &run.findings.verdicts;
    let codes = |severity| -> Vec<&str> {
        let alike = verdicts.iter().filter(|it| it.severity == severity);
        alike.map(|verdict| verdict.code.as_str()).collect()
    };
    let (invalid, warnings) = (codes(Severity::Invalid), codes(Severity::Warning));
    html! {
        @if run.error.is_some() { span.invalid { "failed" } " " }
        @if !invalid.is_empty() { span.invalid { "invalid: " (invalid.join(", ")) } " " }
        @if !warnings.is_empty() { span.warning { "warning: " (warnings.join(", ")) } }
        @if run.error.is_none() && invalid.is_empty() && warnings.is_empty() { "no problems detected" }
    }
}

/// Checks of severity note.
pub(super) fn notes_section(verdicts: &[Verdict]) -> Markup {
    let notes = verdicts.iter().filter(|it| it.severity == Severity::Note);
    let row = |verdict: &Verdict| {
        html! {
            td { (verdict.code) }
            td { p { (verdict.evidence) } p.soft { (verdict.advice) } }
        }
    };
    html! { div.notes { (html_table("Notes", None, &notes.map(row).collect::<Vec<_>>())) } }
}

/// The headline metrics as cards.
pub(super) fn metric_cards(metrics: &[Metric], headline: &[MetricId]) -> Markup {
    let shown = headline_metrics(metrics, headline);
    html! {
        @if !shown.is_empty() {
            div.cards { @for metric in shown { (metric_card(metric)) } }
        }
    }
}

/// The metrics of these names; the first ones where the run has none of them.
fn headline_metrics<'m>(metrics: &'m [Metric], headline: &[MetricId]) -> Vec<&'m Metric> {
    let named: Vec<&Metric> = headline
        .iter()
        .filter_map(|id| metrics.iter().find(|it| it.id == *id))
        .collect();
    match named.is_empty() {
        true => metrics.iter().take(MAX_DEFAULT_CARDS).collect(),
        false => named,
    }
}

fn metric_card(metric: &Metric) -> Markup {
    let rendered = metric.value_text();
    let (value, unit) = split_value_and_unit(&rendered);
    html! {
        div.card {
            h3 { (metric.label()) }
            p.value { (value) span { (unit) } }
            @if let Some(interval) = metric.interval_text() {
                p.soft { "95 % CI: " (interval) }
            }
        }
    }
}

/// Splits a rendered metric into its number and its unit.
fn split_value_and_unit(rendered: &str) -> (&str, &str) {
    rendered.split_once(' ').unwrap_or((rendered, ""))
}

/// Goals and whether they were met.
pub(super) fn goals_table(results: &[SloResult]) -> Markup {
    let row = |goal: &SloResult| {
        let class = match goal.met {
            Some(true) => "good",
            Some(false) => "trouble",
            None => "soft",
        };
        let measured = goals::measured_text(goal).map_or_else(
            || {
                goals::undetermined_reason(goal)
                    .unwrap_or_default()
                    .to_owned()
            },
            |value| format!("{value} measured"),
        );
        html! {
            td { (goal.goal) }
            td class=(class) { (goals::status(goal)) }
            td { (measured) }
            td { (goals::margin_text(goal).unwrap_or_default()) }
        }
    };
    html_table("Goals", None, &results.iter().map(row).collect::<Vec<_>>())
}

/// All metrics with confidence intervals and observations; empty columns are omitted.
pub(super) fn metrics_table(metrics: &[&Metric]) -> Markup {
    let has_intervals = metrics.iter().any(|metric| metric.low.is_some());
    let has_counts = metrics.iter().any(|metric| metric.observations.is_some());
    let row = |metric: &&Metric| {
        let count = metric.observations.map(group_thousands);
        html! {
            td { (metric.label()) }
            td.n { (metric.value_text()) }
            @if has_intervals { td.n.soft { (metric.interval_text().unwrap_or_default()) } }
            @if has_counts { td.n.soft { (count.unwrap_or_default()) } }
        }
    };
    let head = html! {
        th { "metric" }
        th.n { "value" }
        @if has_intervals { th.n { "95 % CI" } }
        @if has_counts { th.n { "observations" } }
    };
    let rows: Vec<Markup> = metrics.iter().map(row).collect();
    html! { div { (html_table("Metrics", Some(&head), &rows)) } }
}

/// Tables of metrics; a metric that the run lacks is n/a.
pub(super) fn metric_tables(findings: &Findings) -> Markup {
    let metrics = findings.index();
    html! {
        @for table in findings.top_level_tables() {
            @let head = html! { th {} @for name in &table.columns { th.n { (name) } } };
            @let rows: Vec<Markup> = table.rows.iter().map(|row| html! {
                td { (row.name) }
                @for name in &row.cells {
                    td.n { (metrics.get(name).map_or_else(|| "n/a".to_owned(), value_with_margin)) }
                }
            }).collect();
            (html_table(&table.name, Some(&head), &rows)) "\n"
        }
    }
}

/// Q2D and D2C latency of the traced requests.
pub(super) fn stages_table(stages: Option<&StageBreakdown>) -> Markup {
    let Some(stages) = stages else {
        return Markup::default();
    };
    let words = |by: &LatencyByDirection| {
        let each = [("reads", &by.read), ("writes", &by.write)].into_iter();
        let known = each.filter_map(|(word, summary)| {
            let mean = units::format_latency(summary.as_ref()?.mean_ns);
            Some(format!("{word} {mean} on average"))
        });
        Some(known.collect::<Vec<_>>().join(", "))
    };
    let lost = (stages.lost_events > 0).then_some(stages.lost_events);
    fact_list(
        "Latency by stage",
        vec![
            ("device", Some(stages.device.to_string())),
            (
                "traced",
                Some(format!("{} requests", group_thousands(stages.requests))),
            ),
            (
                "lost",
                lost.map(|events| format!("{} events", group_thousands(events))),
            ),
            ("Q2D", words(&stages.q2d)),
            ("D2C", words(&stages.d2c)),
        ],
    )
}

/// A number with thin spaces as thousands separators.
fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped
}

/// The block layer's counters of the device.
pub(super) fn kernel_counts_table(kernel: Option<&KernelCounts>) -> Markup {
    let Some(kernel) = kernel else {
        return Markup::default();
    };
    let direction = |count: u64, merged: u64, bytes: u64| {
        (count > 0).then(|| {
            format!(
                "{}, {}, mean size {}, {} merged",
                group_thousands(count),
                units::format_capacity(bytes as f64),
                units::format_block_size((bytes as f64 / count as f64).round()),
                group_thousands(merged),
            )
        })
    };
    let count = |count: Option<u64>| count.filter(|count| *count > 0).map(group_thousands);
    let duration = |nanoseconds| units::format_wait(std::time::Duration::from_nanos(nanoseconds));
    let counted = kernel.counted_ns.map(duration);
    let counted = counted.map_or_else(String::new, |counted| format!(" of {counted}"));
    let busy = duration(kernel.busy_ns) + &counted;
    fact_list(
        "Block layer counters",
        vec![
            ("device", Some(kernel.device.to_string())),
            (
                "reads",
                direction(kernel.reads, kernel.reads_merged, kernel.read_bytes),
            ),
            (
                "writes",
                direction(kernel.writes, kernel.writes_merged, kernel.written_bytes),
            ),
            ("discards", count(kernel.discards)),
            ("flushes", count(kernel.flushes)),
            (
                "busy",
                Some(format!(
                    "{busy} (no measure of saturation for parallel drives)"
                )),
            ),
        ],
    )
}

/// Metrics of repeated runs over all of them; empty if there are none.
pub(super) fn repeated_runs_table(runs: &[BenchmarkRun]) -> Markup {
    let head = html! { th { "metric" } @for name in METRIC_COLUMNS { th.n { (name) } } };
    let row = |[name, values @ ..]: &[String; 5]| {
        html! { td { (name) } @for value in values { td.n { (value) } } }
    };
    html! {
        @for (heading, rows) in tables_of_repeated(runs) {
            (html_table(&heading, Some(&head), &rows.iter().map(row).collect::<Vec<_>>())) "\n"
        }
    }
}

/// The evidence collected during the run.
pub(super) fn evidence_section(evidence: &RunEvidence) -> Markup {
    let lines = evidence::evidence_lines(evidence).into_iter();
    fact_list(
        "System during the run",
        lines.map(|(name, value)| (name, Some(value))).collect(),
    )
}

/// The command lines that repeat the run.
pub(super) fn commands(run: &BenchmarkRun) -> Markup {
    let lines = again::lines(run);
    html! {
        @if !lines.is_empty() {
            h3 { "Repeat this run" }
            pre { @for line in lines { (line) "\n" } }
        }
    }
}
