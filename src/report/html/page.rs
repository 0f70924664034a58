//! The page: head, comparison, summary, and the sessions with their runs.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::presentation::PresentationLookup;
use super::{compare, parts, run, timestamp, title};
use crate::files::printable::printable_lines;
use crate::session::compare::{Comparison, ComparisonInput};
use crate::session::document::BenchmarkRun;

const STYLE_SHEET: &str = include_str!("style.css");
/// Nothing may be loaded and no script may run, whatever a session contains.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Renders the page. A comparison of the sessions, if there is one, comes first.
#[must_use]
pub fn html_page(
    inputs: &[ComparisonInput<'_>],
    comparison: Option<&Comparison>,
    presentations: &PresentationLookup<'_>,
) -> String {
    let title = title::page_title(inputs);
    let labels = title::session_labels(inputs);
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
                        (compare::comparison_section(comparison, &title, presentations)) "\n"
                    }
                    (all_sessions(inputs, &labels, &title, presentations))
                }
            }
        }
        "\n"
    };
    // Markup is escaped; control characters and those that change the writing direction are not.
    printable_lines(&page.into_string()).into_owned()
}

/// The sessions with their runs, which are numbered over all sessions.
fn all_sessions(
    inputs: &[ComparisonInput<'_>],
    labels: &[String],
    title: &str,
    presentations: &PresentationLookup<'_>,
) -> Markup {
    let mut number = 0;
    let overview = run_overview(inputs, labels, presentations);
    let several = inputs.len() > 1;
    html! {
        @if several { (overview) "\n" }
        @for (input, label) in inputs.iter().zip(labels) {
            (session_heading(input, if several { label } else { title })) "\n"
            @if !several { (overview) "\n" }
            (parts::repeated_runs_table(&input.session.runs))
            @for one in &input.session.runs {
                @let run_number = { number += 1; number };
                (run::run_section(one, run_number, presentations)) "\n"
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
    let facts = [
        (!heading.ends_with(name)).then(|| name.to_owned()),
        host.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        host.architecture.clone().map(String::from),
        host.processors.map(|count| format!("{count} CPUs")),
        host.memory_bytes.map(|bytes| {
            format!(
                "{} of memory",
                crate::units::format_block_size(bytes as f64)
            )
        }),
        host.virtualization.clone().map(String::from),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    html! {
        header.session {
            h1 { (heading) }
            p.when { (timestamp::format_timestamp(&session.started)) }
            p.soft { (facts.join(", ")) }
            p.soft { (session.program) " \u{b7} " (input.name) }
            @if let Some(note) = &session.note { p { "Note: " (note) } }
        }
    }
}

/// The summary: one line for each run, with a link to it; empty for a single run, whose section
/// begins with the same.
fn run_overview(
    inputs: &[ComparisonInput<'_>],
    labels: &[String],
    presentations: &PresentationLookup<'_>,
) -> Markup {
    let sessions = inputs.iter().zip(labels);
    let runs: Vec<_> = sessions
        .flat_map(|(input, label)| input.session.runs.iter().map(move |run| (label, run)))
        .collect();
    let several = inputs.len() > 1;
    let head = html! {
        th { "benchmark" }
        th { "target" }
        @if several { th { "session" } }
        th { "result" }
        th { "checks" }
    };
    let row = |(index, (label, run)): (usize, &(&String, &BenchmarkRun))| {
        let presentation = presentations(&run.test).unwrap_or_default();
        html! {
            td { a href=(format_args!("#run-{}", index + 1)) { (run.test) } }
            td { (run.target.path) }
            @if several { td { (label) } }
            td { (parts::headline_text(&run.findings.metrics, presentation.headline)) }
            td { (parts::check_summary(run)) }
        }
    };
    let rows: Vec<Markup> = runs.iter().enumerate().map(row).collect();
    html! {
        @if rows.len() > 1 { nav { (parts::html_table("Summary", Some(&head), &rows)) } }
    }
}
