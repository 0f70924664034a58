//! The page: head, comparison, summary, and the sessions with their runs.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::render::{blocks_markup, class_of_severity};
use super::title;
use crate::files::printable::printable_lines;
use crate::report::blocks::compare::comparison_blocks;
use crate::report::blocks::run::{RunBlocks, headline_metrics, presentation_of, repeated_blocks};
use crate::report::words::time_text;
use crate::session::compare::{Comparison, ComparisonInput};
use crate::session::document::{BenchmarkRun, Severity};
use crate::units;

const STYLE_SHEET: &str = include_str!("style.css");
/// Nothing may be loaded and no script may run, whatever a session contains.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
/// Number of metrics in the summary of a run.
const MAX_SUMMARY_METRICS: usize = 2;

/// Renders the page. A comparison of the sessions, if there is one, comes first.
#[must_use]
pub fn html_page(inputs: &[ComparisonInput<'_>], comparison: Option<&Comparison>) -> String {
    let title = title::page_title(inputs);
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                "\n" meta charset="utf-8";
                "\n" meta name="viewport" content="width=device-width, initial-scale=1";
                "\n" meta name="color-scheme" content="light dark";
                "\n" meta http-equiv="Content-Security-Policy" content=(CONTENT_SECURITY_POLICY);
                "\n" title { (title) }
                "\n" style { (PreEscaped(STYLE_SHEET)) } "\n"
            }
            "\n"
            body {
                main {
                    "\n"
                    @if let Some(comparison) = comparison {
                        section.run {
                            header.session { h1 { (title) } }
                            (blocks_markup(&comparison_blocks(comparison)))
                        }
                        "\n"
                    }
                    (all_sessions(inputs, &title))
                }
            }
        }
        "\n"
    };
    // Markup is escaped; control characters and those that change the writing direction are not.
    printable_lines(&page.into_string()).into_owned()
}

/// The sessions with their runs, which are numbered over all sessions.
fn all_sessions(inputs: &[ComparisonInput<'_>], title: &str) -> Markup {
    let labels = title::session_labels(inputs);
    let overview = run_overview(inputs, &labels);
    let several = inputs.len() > 1;
    let mut number = 0;
    html! {
        @if several { (overview) "\n" }
        @for (input, label) in inputs.iter().zip(&labels) {
            (session_heading(input, if several { label } else { title })) "\n"
            @if !several { (overview) "\n" }
            (blocks_markup(&repeated_blocks(&input.session.runs)))
            @for run in &input.session.runs {
                @let run_number = { number += 1; number };
                (run_section(run, run_number)) "\n"
            }
            @if input.session.runs.is_empty() {
                p.soft { "The session contains no run." }
            }
        }
    }
}

/// Drive, time and program of a session.
///
/// With several sessions the heading is the label that distinguishes this one, else the page's title.
fn session_heading(input: &ComparisonInput<'_>, heading: &str) -> Markup {
    let session = input.session;
    let host = &session.host;
    let name = host.name.as_deref().unwrap_or("unknown host");
    let memory = host
        .memory_bytes
        .map(|bytes| units::format_block_size(bytes as f64));
    let facts = [
        (!heading.ends_with(name)).then(|| name.to_owned()),
        host.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        host.architecture.clone().map(String::from),
        host.processors.map(|count| format!("{count} CPUs")),
        memory.map(|memory| format!("{memory} of memory")),
        host.virtualization.clone().map(String::from),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    html! {
        header.session {
            h1 { (heading) }
            p.when { (time_text(&session.started)) }
            p.soft { (facts.join(", ")) }
            p.soft { (session.program) ", " (input.name) }
            @if let Some(note) = &session.note { p { "Note: " (note) } }
        }
    }
}

/// A run's section of the page.
fn run_section(run: &BenchmarkRun, number: usize) -> Markup {
    let blocks = RunBlocks::of(run);
    let results = [
        blocks.title,
        blocks.headline,
        blocks.checks,
        blocks.goals,
        blocks.charts,
        blocks.metrics,
        blocks.notes,
    ];
    html! {
        section.run id=(format_args!("run-{number}")) {
            (blocks_markup(&results.concat()))
            div.details {
                div { (blocks_markup(&blocks.drive)) }
                div { (blocks_markup(&blocks.system)) }
            }
            (blocks_markup(&blocks.commands))
            @for (name, nested) in &blocks.nested {
                div.part { h2 { (name) } (blocks_markup(nested)) }
            }
        }
    }
}

/// The summary: one line for each run, with a link to it; empty for a single run, whose section
/// begins with the same.
fn run_overview(inputs: &[ComparisonInput<'_>], labels: &[String]) -> Markup {
    let sessions = inputs.iter().zip(labels);
    let runs: Vec<(&String, &BenchmarkRun)> = sessions
        .flat_map(|(input, label)| input.session.runs.iter().map(move |run| (label, run)))
        .collect();
    let several = inputs.len() > 1;
    if runs.len() < 2 {
        return Markup::default();
    }
    html! {
        nav {
            h3 { "Summary" }
            div.wide {
                table {
                    thead {
                        tr {
                            th { "benchmark" }
                            th { "target" }
                            @if several { th { "session" } }
                            th { "result" }
                            th { "checks" }
                        }
                    }
                    tbody {
                        @for (index, (label, run)) in runs.iter().enumerate() {
                            tr {
                                td { a href=(format_args!("#run-{}", index + 1)) { (run.test) } }
                                td { (run.target.path) }
                                @if several { td { (label) } }
                                td { (headline_text(run)) }
                                td { (check_summary(run)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The headline metrics in one line.
fn headline_text(run: &BenchmarkRun) -> String {
    let headline = presentation_of(&run.test).headline;
    let shown = headline_metrics(&run.findings.metrics, headline).into_iter();
    let words = shown
        .take(MAX_SUMMARY_METRICS)
        .map(|metric| format!("{} {}", metric.label(), metric.value_text()));
    words.collect::<Vec<_>>().join(", ")
}

/// How a run ended and what the checks say, in a few words.
fn check_summary(run: &BenchmarkRun) -> Markup {
    let verdicts = run.findings.verdicts_by_severity().into_iter();
    let grave = verdicts.filter(|verdict| verdict.severity > Severity::Note);
    let mut found: Vec<(&str, &str)> = grave
        .map(|verdict| (class_of_severity(verdict.severity), verdict.code.as_str()))
        .collect();
    if run.error.is_some() {
        found.insert(0, ("invalid", "failed"));
    }
    html! {
        @if found.is_empty() { "no problems detected" }
        @for (class, words) in found { span class=(class) { (words) } " " }
    }
}
