//! Sessions as one self-contained HTML file: no scripts, and no external fonts or images. The page
//! follows the reader's preference for a light or dark colour scheme and can be printed.

use std::fmt::Write as _;

use crate::session::chart::ResultPresentation;
use crate::session::compare::{Comparison, ComparisonInput};

mod charts;
mod compare;
mod escape;
mod parts;
mod plot;
mod run;
mod title;

/// Returns how the result of the benchmark with that name is presented; `None` for a benchmark that
/// this program does not know.
pub type PresentationLookup<'a> = dyn Fn(&str) -> Option<ResultPresentation> + 'a;

const STYLE_SHEET: &str = include_str!("style.css");

/// Renders the page. A comparison of the sessions, if there is one, comes first.
#[must_use]
pub fn html_page(
    inputs: &[ComparisonInput<'_>],
    comparison: Option<&Comparison>,
    presentations: &PresentationLookup<'_>,
) -> String {
    let title = escape::escape_html(&title::page_title(inputs));
    let labels = title::session_labels(inputs);
    let mut body = String::new();
    if let Some(comparison) = comparison {
        body.push_str(&compare::comparison_section(
            comparison,
            &title,
            presentations,
        ));
    }
    body.push_str(&table_of_contents(inputs, &labels));
    let mut number = 0;
    for (input, label) in inputs.iter().zip(&labels) {
        let label = (inputs.len() > 1).then_some(label.as_str());
        body.push_str(&session_heading(input, label));
        body.push_str(&parts::repeated_runs_table(&input.session.runs));
        for one in &input.session.runs {
            number += 1;
            body.push_str(&run::run_section(one, number, presentations));
        }
        if input.session.runs.is_empty() {
            body.push_str("<p class=\"soft\">There is no run in it.</p>\n");
        }
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE_SHEET}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         </body>\n</html>\n"
    )
}

/// Drive, time and program of a session.
///
/// With several sessions the heading is the label that distinguishes this one.
fn session_heading(input: &ComparisonInput<'_>, label: Option<&str>) -> String {
    let session = input.session;
    let host = &session.host;
    let name = host.name.as_deref().unwrap_or("unknown host");
    let facts = [
        label
            .filter(|label| *label != name)
            .map(|_| name.to_owned()),
        host.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        host.architecture.clone().map(String::from),
        host.processors.map(|count| format!("{count} processors")),
        host.memory_bytes.map(|bytes| {
            format!(
                "{} of memory",
                crate::units::format_block_size(bytes as f64)
            )
        }),
        host.virtualization.clone().map(String::from),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    format!(
        "<header class=\"session\"><h1>{}</h1><p class=\"when\">{}</p><p class=\"soft\">{}</p>\
         <p class=\"soft\">{} &middot; {}</p></header>\n",
        escape::escape_html(label.unwrap_or(name)),
        escape::escape_html(&format_timestamp(&session.started)),
        escape::escape_html(&facts.join(", ")),
        escape::escape_html(&session.program),
        escape::escape_html(input.name),
    )
}

/// Formats a time as `2026-01-02 03:04:05+00:00`; RFC 3339 has a `T` and many decimals.
fn format_timestamp(rfc3339: &str) -> String {
    let Ok(time) = rfc3339.parse::<jiff::Timestamp>() else {
        return rfc3339.to_owned();
    };
    let offset = jiff::fmt::strtime::parse("%Y-%m-%dT%H:%M:%S%.f%:z", rfc3339)
        .ok()
        .and_then(|parsed| parsed.offset())
        .unwrap_or(jiff::tz::Offset::UTC);
    let zoned = time.to_zoned(jiff::tz::TimeZone::fixed(offset));
    zoned.strftime("%-d %B %Y, %H:%M %:z").to_string()
}

/// Links to the runs, if there are several.
fn table_of_contents(inputs: &[ComparisonInput<'_>], labels: &[String]) -> String {
    let runs = || {
        let sessions = inputs.iter().zip(labels);
        sessions.flat_map(|(input, label)| input.session.runs.iter().map(move |run| (label, run)))
    };
    if runs().count() < 2 {
        return String::new();
    }
    let mut list = String::new();
    for (index, (label, run)) in runs().enumerate() {
        let label = Some(label).filter(|label| inputs.len() > 1 && run.target.path != **label);
        let label = label.map_or_else(String::new, |label| {
            format!(" <span>{}</span>", escape::escape_html(label))
        });
        let _ = write!(
            list,
            "<li><a href=\"#run-{}\">{} <span>{}</span>{label}</a></li>",
            index + 1,
            escape::escape_html(&run.test),
            escape::escape_html(&run.target.path),
        );
    }
    format!("<nav><ol>{list}</ol></nav>\n")
}

#[cfg(test)]
mod tests;
