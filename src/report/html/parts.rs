//! The pieces that a run's part of the page is made of.

use std::fmt::Write as _;

use super::escape::text;
use crate::report::repeated::{COLUMNS, tables as tables_of_repeated};
use crate::report::text::{severity, with_margin};
use crate::report::{again, evidence};
use crate::safe_text::SafeText;
use crate::session::document::{
    Evidence, Figure, Findings, Goal, KernelCounts, LatencyByDirection, Run, Severity, StageSplit,
    TableRow, Verdict,
};
use crate::units;

/// Cards at the top of a run whose test does not say which figures come first.
const CARDS: usize = 4;

/// Names and values; unknown ones are left out. Values are HTML already.
pub(super) fn facts(title: &str, facts: &[(&str, Option<String>)]) -> String {
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

/// What stopped the run.
pub(super) fn error(run: &Run) -> String {
    run.error.as_ref().map_or_else(String::new, |error| {
        format!(
            "<div class=\"verdict invalid\"><p><b>failed</b> {}</p><p class=\"soft\">{}</p></div>\n",
            text(&error.message),
            text(&error.advice),
        )
    })
}

/// What keeps the figures from being believed, the gravest first.
pub(super) fn verdicts(verdicts: &[Verdict]) -> String {
    let grave = |verdict: &&Verdict| verdict.severity > Severity::Note;
    let mut sorted: Vec<&Verdict> = verdicts.iter().filter(grave).collect();
    sorted.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
    let block = |verdict: &Verdict| {
        let class = severity(verdict.severity).to_lowercase();
        format!(
            "<div class=\"verdict {class}\"><p><b>{class}: {}</b> {}</p>\
             <p class=\"soft\">{}</p></div>\n",
            text(&verdict.code),
            text(&verdict.evidence),
            text(&verdict.advice),
        )
    };
    sorted.into_iter().map(block).collect()
}

/// What is good to know besides.
pub(super) fn notes(verdicts: &[Verdict]) -> String {
    let notes = verdicts.iter().filter(|it| it.severity == Severity::Note);
    let row = |verdict: &Verdict| {
        format!(
            "<tr><td>{}</td><td><p>{}</p><p class=\"soft\">{}</p></td></tr>",
            text(&verdict.code),
            text(&verdict.evidence),
            text(&verdict.advice),
        )
    };
    table("Notes", "", &notes.map(row).collect::<String>())
}

/// The figures that are to be seen first, large.
pub(super) fn cards(figures: &[Figure], headline: &[&str]) -> String {
    let named: Vec<&Figure> = headline
        .iter()
        .filter_map(|name| figures.iter().find(|it| it.name == *name))
        .collect();
    let first = if named.is_empty() {
        figures.iter().take(CARDS).collect()
    } else {
        named
    };
    let card = |figure: &&Figure| {
        let rendered = figure.text();
        let (value, unit) = split(&rendered);
        let limits = figure.limits_text().map_or_else(String::new, |limits| {
            format!("<p class=\"soft\">95 %: {limits}</p>")
        });
        format!(
            "<div class=\"card\"><h3>{}</h3><p class=\"value\">{value}<span>{unit}</span></p>{limits}</div>",
            text(&figure.label()),
        )
    };
    let cards: String = first.iter().map(card).collect();
    if cards.is_empty() {
        cards
    } else {
        format!("<div class=\"cards\">{cards}</div>\n")
    }
}

/// A rendered figure as its number and its unit.
fn split(rendered: &str) -> (&str, &str) {
    rendered.split_once(' ').unwrap_or((rendered, ""))
}

/// Goals and whether they were met.
pub(super) fn goals(goals: &[Goal]) -> String {
    let row = |goal: &Goal| {
        let class = match goal.met {
            Some(true) => "good",
            Some(false) => "trouble",
            None => "soft",
        };
        let word = goal.word();
        let measured = goal.measured_text().map_or_else(
            || goal.reason().unwrap_or_default().to_owned(),
            |value| format!("{value} measured"),
        );
        let margin = goal.margin().unwrap_or_default();
        format!(
            "<tr><td>{}</td><td class=\"{class}\">{word}</td><td>{measured}</td><td>{margin}</td></tr>",
            text(&goal.goal),
        )
    };
    table("Goals", "", &goals.iter().map(row).collect::<String>())
}

/// Every figure with its limits and what it rests on; a column that would be empty is left out.
pub(super) fn figures(figures: &[&Figure]) -> String {
    let bounded = figures.iter().any(|figure| figure.low.is_some());
    let counted = figures.iter().any(|figure| figure.observations.is_some());
    let column = |shown: bool, tag: &str, class: &str, text: &str| {
        if shown {
            format!("<{tag} class=\"n{class}\">{text}</{tag}>")
        } else {
            String::new()
        }
    };
    let row = |figure: &&Figure| {
        let limits = figure.limits_text().unwrap_or_default();
        let count = figure.observations.map_or_else(String::new, grouped);
        format!(
            "<tr><td>{}</td><td class=\"n\">{}</td>{}{}</tr>",
            text(&figure.label()),
            figure.text(),
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
    format!("<div>{}</div>\n", table("Figures", &head, &rows))
}

/// Figures that are best read side by side; what the run lacks is n/a.
pub(super) fn tables(findings: &Findings) -> String {
    let own = findings.own_tables();
    let figures = findings.index();
    own.map(|crossed| {
        let headings = crossed.columns.iter();
        let head: String = std::iter::once("<th></th>".to_owned())
            .chain(headings.map(|name| format!("<th class=\"n\">{}</th>", text(name))))
            .collect();
        let cell = |name: &SafeText| {
            let figure = figures
                .get(name)
                .map_or_else(|| "n/a".to_owned(), |figure| with_margin(figure));
            format!("<td class=\"n\">{figure}</td>")
        };
        let row = |row: &TableRow| {
            let cells: String = row.cells.iter().map(cell).collect();
            format!("<tr><td>{}</td>{cells}</tr>", text(&row.name))
        };
        let rows: String = crossed.rows.iter().map(row).collect();
        table(&text(&crossed.name), &head, &rows)
    })
    .collect()
}

/// Where the traced requests spent their time.
pub(super) fn stages(stages: Option<&StageSplit>) -> String {
    let Some(stages) = stages else {
        return String::new();
    };
    let words = |by: &LatencyByDirection| {
        let each = [("reads", &by.read), ("writes", &by.write)].into_iter();
        let known = each.filter_map(|(word, summary)| {
            Some(format!(
                "{word} {} on average",
                units::latency(summary.as_ref()?.mean_ns)
            ))
        });
        Some(known.collect::<Vec<_>>().join(", "))
    };
    facts(
        "Where requests spent their time",
        &[
            ("device", Some(text(&stages.device))),
            (
                "followed",
                Some(format!("{} requests", grouped(stages.requests))),
            ),
            (
                "lost",
                (stages.lost > 0).then(|| format!("{} events", grouped(stages.lost))),
            ),
            ("queued", words(&stages.queue)),
            ("in the drive", words(&stages.drive)),
        ],
    )
}

/// A number with its thousands set apart by thin spaces.
fn grouped(number: u64) -> String {
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

/// A table with a heading; nothing without rows. Head and rows are HTML already.
pub(super) fn table(title: &str, head: &str, rows: &str) -> String {
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

/// What the kernel counted of the same device.
pub(super) fn kernel(kernel: Option<&KernelCounts>) -> String {
    let Some(kernel) = kernel else {
        return String::new();
    };
    let direction = |count: u64, merged: u64, bytes: u64| {
        (count > 0).then(|| {
            format!(
                "{}, {}, mean size {}, {} merged",
                grouped(count),
                units::capacity(bytes as f64),
                units::block_size((bytes as f64 / count as f64).round()),
                grouped(merged),
            )
        })
    };
    let time = |nanoseconds: u64| units::waiting(std::time::Duration::from_nanos(nanoseconds));
    facts(
        "Kernel's own counts",
        &[
            ("device", Some(text(&kernel.device))),
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
                kernel.discards.filter(|count| *count > 0).map(grouped),
            ),
            (
                "flushes",
                kernel.flushes.filter(|count| *count > 0).map(grouped),
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

/// Figures of repeated runs over all of them; empty where nothing was repeated.
pub(super) fn repeated(runs: &[Run]) -> String {
    let head: String = std::iter::once("<th>figure</th>".to_owned())
        .chain(COLUMNS.map(|name| format!("<th class=\"n\">{name}</th>")))
        .collect();
    let row = |[name, values @ ..]: &[String; 5]| {
        let values = values.iter();
        let values: String = values
            .map(|it| format!("<td class=\"n\">{}</td>", text(it)))
            .collect();
        format!("<tr><td>{}</td>{values}</tr>", text(name))
    };
    let drawn = tables_of_repeated(runs).into_iter().map(|(heading, rows)| {
        table(
            &text(&heading),
            &head,
            &rows.iter().map(row).collect::<String>(),
        )
    });
    drawn.collect()
}

/// What was seen around the run.
pub(super) fn surroundings(evidence: &Evidence) -> String {
    let told = evidence::facts(evidence);
    let rows: Vec<(&str, Option<String>)> = told
        .iter()
        .map(|(name, value)| (*name, Some(text(value))))
        .collect();
    facts("Around it", &rows)
}

/// The command lines that do the same.
pub(super) fn commands(run: &Run) -> String {
    let mut lines = String::new();
    for line in again::lines(run) {
        let _ = writeln!(lines, "{}", text(&line));
    }
    if lines.is_empty() {
        lines
    } else {
        format!("<h3>Again</h3><pre>{lines}</pre>\n")
    }
}
