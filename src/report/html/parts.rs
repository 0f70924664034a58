//! Elements of a run's section of the page.

use std::fmt::Write as _;

use super::escape::escape_html;
use crate::report::repeated::{METRIC_COLUMNS, repeated_tables as tables_of_repeated};
use crate::report::text::{severity_word, value_with_margin};
use crate::report::{again, evidence};
use crate::safe_text::SafeText;
use crate::session::document::{
    BenchmarkRun, Findings, KernelCounts, LatencyByDirection, Metric, MetricTableRow, RunEvidence,
    Severity, SloResult, StageBreakdown, Verdict,
};
use crate::units;

/// Number of cards at the top of a run whose benchmark defines no headline metrics.
const MAX_DEFAULT_CARDS: usize = 4;

/// Names and values; unknown values are omitted. Values are already HTML.
pub(super) fn fact_list(title: &str, facts: &[(&str, Option<String>)]) -> String {
    let rows = facts.iter().filter_map(|(name, value)| {
        let value = value.as_deref().filter(|value| !value.is_empty())?;
        Some(format!("<dt>{name}</dt><dd>{value}</dd>"))
    });
    let rows: String = rows.collect();
    if rows.is_empty() {
        rows
    } else {
        format!("<h3>{title}</h3><dl>{rows}</dl>\n")
    }
}

/// The error that stopped the run.
pub(super) fn error_section(run: &BenchmarkRun) -> String {
    run.error.as_ref().map_or_else(String::new, |error| {
        format!(
            "<div class=\"verdict invalid\"><p><b>failed</b> {}</p><p class=\"soft\">{}</p></div>\n",
            escape_html(&error.message),
            escape_html(&error.advice),
        )
    })
}

/// Verdicts of severity warning or invalid, the most severe first.
pub(super) fn problems_section(verdicts: &[Verdict]) -> String {
    let grave = |verdict: &&Verdict| verdict.severity > Severity::Note;
    let mut sorted: Vec<&Verdict> = verdicts.iter().filter(grave).collect();
    sorted.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
    let block = |verdict: &Verdict| {
        let class = severity_word(verdict.severity).to_lowercase();
        format!(
            "<div class=\"verdict {class}\"><p><b>{class}: {}</b> {}</p>\
             <p class=\"soft\">{}</p></div>\n",
            escape_html(&verdict.code.to_string()),
            escape_html(&verdict.evidence),
            escape_html(&verdict.advice),
        )
    };
    sorted.into_iter().map(block).collect()
}

/// Verdicts of severity note.
pub(super) fn notes_section(verdicts: &[Verdict]) -> String {
    let notes = verdicts.iter().filter(|it| it.severity == Severity::Note);
    let row = |verdict: &Verdict| {
        format!(
            "<tr><td>{}</td><td><p>{}</p><p class=\"soft\">{}</p></td></tr>",
            escape_html(&verdict.code.to_string()),
            escape_html(&verdict.evidence),
            escape_html(&verdict.advice),
        )
    };
    html_table("Notes", "", &notes.map(row).collect::<String>())
}

/// The headline metrics as cards.
pub(super) fn metric_cards(figures: &[Metric], headline: &[&str]) -> String {
    let named: Vec<&Metric> = headline
        .iter()
        .filter_map(|name| figures.iter().find(|it| it.name == *name))
        .collect();
    let first = if named.is_empty() {
        figures.iter().take(MAX_DEFAULT_CARDS).collect()
    } else {
        named
    };
    let card = |figure: &&Metric| {
        let rendered = figure.value_text();
        let (value, unit) = split_value_and_unit(&rendered);
        let limits = figure.interval_text().map_or_else(String::new, |limits| {
            format!("<p class=\"soft\">95 %: {limits}</p>")
        });
        format!(
            "<div class=\"card\"><h3>{}</h3><p class=\"value\">{value}<span>{unit}</span></p>{limits}</div>",
            escape_html(&figure.label()),
        )
    };
    let cards: String = first.iter().map(card).collect();
    if cards.is_empty() {
        cards
    } else {
        format!("<div class=\"cards\">{cards}</div>\n")
    }
}

/// Splits a rendered metric into its number and its unit.
fn split_value_and_unit(rendered: &str) -> (&str, &str) {
    rendered.split_once(' ').unwrap_or((rendered, ""))
}

/// Goals and whether they were met.
pub(super) fn goals_table(goals: &[SloResult]) -> String {
    let row = |goal: &SloResult| {
        let class = match goal.met {
            Some(true) => "good",
            Some(false) => "trouble",
            None => "soft",
        };
        let word = goal.status();
        let measured = goal.measured_text().map_or_else(
            || goal.undetermined_reason().unwrap_or_default().to_owned(),
            |value| format!("{value} measured"),
        );
        let margin = goal.margin_text().unwrap_or_default();
        format!(
            "<tr><td>{}</td><td class=\"{class}\">{word}</td><td>{measured}</td><td>{margin}</td></tr>",
            escape_html(&goal.goal),
        )
    };
    html_table("Goals", "", &goals.iter().map(row).collect::<String>())
}

/// All metrics with confidence intervals and observations; empty columns are omitted.
pub(super) fn metrics_table(figures: &[&Metric]) -> String {
    let bounded = figures.iter().any(|figure| figure.low.is_some());
    let counted = figures.iter().any(|figure| figure.observations.is_some());
    let column = |shown: bool, tag: &str, class: &str, text: &str| {
        if shown {
            format!("<{tag} class=\"n{class}\">{text}</{tag}>")
        } else {
            String::new()
        }
    };
    let row = |figure: &&Metric| {
        let limits = figure.interval_text().unwrap_or_default();
        let count = figure
            .observations
            .map_or_else(String::new, group_thousands);
        format!(
            "<tr><td>{}</td><td class=\"n\">{}</td>{}{}</tr>",
            escape_html(&figure.label()),
            figure.value_text(),
            column(bounded, "td", " soft", &limits),
            column(counted, "td", " soft", &count),
        )
    };
    let head = format!(
        "<th>figure</th><th class=\"n\">value</th>{}{}",
        column(bounded, "th", "", "95 % limits"),
        column(counted, "th", "", "observations"),
    );
    let rows: String = figures.iter().map(row).collect();
    format!("<div>{}</div>\n", html_table("Figures", &head, &rows))
}

/// Tables of metrics; a metric that the run lacks is n/a.
pub(super) fn metric_tables(findings: &Findings) -> String {
    let own = findings.top_level_tables();
    let figures = findings.index();
    own.map(|crossed| {
        let headings = crossed.columns.iter();
        let head: String = std::iter::once("<th></th>".to_owned())
            .chain(headings.map(|name| format!("<th class=\"n\">{}</th>", escape_html(name))))
            .collect();
        let cell = |name: &SafeText| {
            let figure = figures
                .get(name)
                .map_or_else(|| "n/a".to_owned(), value_with_margin);
            format!("<td class=\"n\">{figure}</td>")
        };
        let row = |row: &MetricTableRow| {
            let cells: String = row.cells.iter().map(cell).collect();
            format!("<tr><td>{}</td>{cells}</tr>", escape_html(&row.name))
        };
        let rows: String = crossed.rows.iter().map(row).collect();
        html_table(&escape_html(&crossed.name), &head, &rows)
    })
    .collect()
}

/// Q2D and D2C latency of the traced requests.
pub(super) fn stages_table(stages: Option<&StageBreakdown>) -> String {
    let Some(stages) = stages else {
        return String::new();
    };
    let words = |by: &LatencyByDirection| {
        let each = [("reads", &by.read), ("writes", &by.write)].into_iter();
        let known = each.filter_map(|(word, summary)| {
            Some(format!(
                "{word} {} on average",
                units::format_latency(summary.as_ref()?.mean_ns)
            ))
        });
        Some(known.collect::<Vec<_>>().join(", "))
    };
    fact_list(
        "Where requests spent their time",
        &[
            ("device", Some(escape_html(&stages.device))),
            (
                "followed",
                Some(format!("{} requests", group_thousands(stages.requests))),
            ),
            (
                "lost",
                (stages.lost_events > 0)
                    .then(|| format!("{} events", group_thousands(stages.lost_events))),
            ),
            ("queued", words(&stages.q2d)),
            ("in the drive", words(&stages.d2c)),
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

/// A table with a heading; empty if there are no rows. `head` and `rows` are already HTML.
pub(super) fn html_table(title: &str, head: &str, rows: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head = if head.is_empty() {
        String::new()
    } else {
        format!("<thead><tr>{head}</tr></thead>")
    };
    format!(
        "<h3>{title}</h3><div class=\"wide\"><table>{head}<tbody>{rows}</tbody></table></div>\n"
    )
}

/// The kernel's counters of the device.
pub(super) fn kernel_counts_table(kernel: Option<&KernelCounts>) -> String {
    let Some(kernel) = kernel else {
        return String::new();
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
    let time = |nanoseconds: u64| units::format_wait(std::time::Duration::from_nanos(nanoseconds));
    fact_list(
        "Kernel's own counts",
        &[
            ("device", Some(escape_html(&kernel.device))),
            (
                "reads",
                direction(kernel.reads, kernel.reads_merged, kernel.read_bytes),
            ),
            (
                "writes",
                direction(kernel.writes, kernel.writes_merged, kernel.written_bytes),
            ),
            (
                "discards",
                kernel
                    .discards
                    .filter(|count| *count > 0)
                    .map(group_thousands),
            ),
            (
                "flushes",
                kernel
                    .flushes
                    .filter(|count| *count > 0)
                    .map(group_thousands),
            ),
            (
                "busy",
                Some(format!(
                    "{} (on parallel drives not saturation)",
                    time(kernel.busy_ns)
                )),
            ),
        ],
    )
}

/// Metrics of repeated runs over all of them; empty if there are none.
pub(super) fn repeated_runs_table(runs: &[BenchmarkRun]) -> String {
    let head: String = std::iter::once("<th>figure</th>".to_owned())
        .chain(METRIC_COLUMNS.map(|name| format!("<th class=\"n\">{name}</th>")))
        .collect();
    let row = |[name, values @ ..]: &[String; 5]| {
        let values = values.iter();
        let values: String = values
            .map(|it| format!("<td class=\"n\">{}</td>", escape_html(it)))
            .collect();
        format!("<tr><td>{}</td>{values}</tr>", escape_html(name))
    };
    let drawn = tables_of_repeated(runs).into_iter().map(|(heading, rows)| {
        html_table(
            &escape_html(&heading),
            &head,
            &rows.iter().map(row).collect::<String>(),
        )
    });
    drawn.collect()
}

/// The evidence collected during the run.
pub(super) fn evidence_section(evidence: &RunEvidence) -> String {
    let told = evidence::evidence_lines(evidence);
    let rows: Vec<(&str, Option<String>)> = told
        .iter()
        .map(|(name, value)| (*name, Some(escape_html(value))))
        .collect();
    fact_list("Around it", &rows)
}

/// The command lines that repeat the run.
pub(super) fn commands(run: &BenchmarkRun) -> String {
    let mut lines = String::new();
    for line in again::lines(run) {
        let _ = writeln!(lines, "{}", escape_html(&line));
    }
    if lines.is_empty() {
        lines
    } else {
        format!("<h3>Again</h3><pre>{lines}</pre>\n")
    }
}
