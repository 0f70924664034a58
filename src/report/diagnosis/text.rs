//! A diagnosis as text of 80 columns.

use std::fmt::Write as _;

use super::parties::line;
use super::remedies::{RemedyText, remedy_text};
use super::sentences::{cause_sentence, conclusion, not_examined_reason};
use super::values::measurement_text;
use crate::diagnosis::{Cause, CauseDetail, Certainty, Diagnosis, Measurement, Party};
use crate::privilege;
use crate::units;
use crate::wrap::wrap_text;

/// Columns of the text.
const WIDTH: usize = 80;
/// Column in which the values of a line begin.
const INDENT: usize = 15;
/// Columns of a value; its source stands after it.
const VALUE_WIDTH: usize = 42;
/// Values that are printed of a cause that was ruled out.
const RULED_OUT_VALUES: usize = 1;

/// The diagnosis as text; every line ends in a newline.
#[must_use]
pub fn diagnosis_text(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    let verdict = match diagnosis.is_problem() {
        true => "problem found",
        false => "no problem",
    };
    let watched = units::format_wait(diagnosis.window);
    let time = to_second(&diagnosis.time);
    let _ = writeln!(text, "{watched} watched until {time}: {verdict}");
    for line in wrap_text(&conclusion(diagnosis), WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    match diagnosis.causes.first() {
        Some(cause) => {
            if !diagnosis.is_problem() {
                append_evidence(&mut text, &diagnosis.machine);
            }
            append_cause(&mut text, cause, diagnosis.traced_requests);
        }
        None => append_evidence(&mut text, &diagnosis.machine),
    }
    for cause in diagnosis.causes.iter().skip(1) {
        let code = cause.code().code();
        let why = match cause.consequence_of {
            Some(other) => format!(" (a consequence of {})", other.code()),
            None => String::new(),
        };
        append(
            &mut text,
            "also",
            &format!("{code}: {}{why}", cause_sentence(cause)),
        );
    }
    append_remainder(&mut text, diagnosis);
    text
}

/// A time of RFC 3339 without the fraction of the second.
fn to_second(time: &str) -> String {
    let whole = time.split('.').next().unwrap_or(time);
    format!("{}Z", whole.trim_end_matches('Z'))
}

fn append_cause(text: &mut String, cause: &Cause, traced: Option<u64>) {
    append_evidence(text, &cause.evidence);
    let parties = |text: &mut String, title: &str, what: &str, parties: &[Party]| {
        for party in parties {
            let share = party.share.map_or_else(String::new, |share| {
                format!(": {} {what}", units::format_percent(share))
            });
            append(text, title, &format!("{}{share}", line(party)));
        }
    };
    parties(text, "causes", "of it", &cause.culprits);
    parties(text, "suffers", "of the time blocked", &cause.victims);
    if let CauseDetail::HungIo { stack, .. } = &cause.detail
        && !stack.is_empty()
    {
        let names: Vec<&str> = stack.iter().map(|function| function.as_str()).collect();
        append(text, "stack", &names.join(" < "));
    }
    append(
        text,
        "since",
        &format!("{} or earlier", to_second(&cause.since)),
    );
    for remedy in &cause.remedies {
        append_remedy(text, &remedy_text(remedy));
    }
    if cause.certainty == Certainty::Probable {
        append(text, "certainty", &probable_text(traced));
    }
}

/// Why a cause is not proven, and what would prove it.
fn probable_text(traced: Option<u64>) -> String {
    let why = "probable: these things happened at the same time";
    let more = match traced {
        Some(requests) => {
            format!("{requests} requests of the busiest device were traced and do not prove more")
        }
        None => privilege::root_advice(
            ": then the requests of the busiest device are traced as proof",
            "no device was busy enough to be traced",
        ),
    };
    format!("{why}; {more}")
}

fn append_evidence(text: &mut String, evidence: &[Measurement]) {
    for measurement in evidence {
        append_value(
            text,
            &measurement_text(measurement),
            measurement.quantity.source(),
        );
    }
}

fn append_remainder(text: &mut String, diagnosis: &Diagnosis) {
    let ruled_out: Vec<String> = diagnosis
        .ruled_out
        .iter()
        .map(|(code, evidence)| {
            let values: Vec<String> = evidence
                .iter()
                .take(RULED_OUT_VALUES)
                .map(measurement_text)
                .collect();
            match values.is_empty() {
                true => code.code().to_owned(),
                false => format!("{} ({})", code.code().to_owned(), values.join(", ")),
            }
        })
        .collect();
    append(text, "ruled out", &ruled_out.join(", "));
    for (code, reason) in &diagnosis.not_examined {
        let reason = not_examined_reason(*code, *reason);
        append(
            text,
            "not examined",
            &format!("{}: {reason}", code.code().to_owned()),
        );
    }
}

/// One entry: the title in the first column, the rest wrapped.
fn append(text: &mut String, title: &str, content: &str) {
    append_lines(text, title, &wrap_text(content, WIDTH - INDENT));
}

/// A value and its source in columns; a long value has lines of its own.
fn append_value(text: &mut String, value: &str, source: &str) {
    let room = WIDTH - INDENT - VALUE_WIDTH - 1;
    let mut lines = match value.chars().count() {
        0..=VALUE_WIDTH => Vec::new(),
        _ => wrap_text(value, WIDTH - INDENT),
    };
    let last = match lines.pop() {
        Some(last) if last.chars().count() <= VALUE_WIDTH => last,
        Some(last) => {
            lines.push(last);
            String::new()
        }
        None => value.to_owned(),
    };
    lines.push(
        format!("{last:<VALUE_WIDTH$} {source:<room$}")
            .trim_end()
            .to_owned(),
    );
    append_lines(text, "evidence", &lines);
}

/// A command stays whole, so that it can be copied; what it does has a line of its own where both
/// do not fit one.
fn append_remedy(text: &mut String, remedy: &RemedyText) {
    let line = remedy.line();
    let lines = match &remedy.command {
        Some(command) if line.chars().count() > WIDTH - INDENT => {
            let mut lines = vec![command.clone()];
            let notes = wrap_text(&remedy.note, WIDTH - INDENT - 4);
            lines.extend(notes.into_iter().map(|note| format!("  # {note}")));
            lines
        }
        Some(_) => vec![line],
        None => wrap_text(&line, WIDTH - INDENT),
    };
    append_lines(text, "do", &lines);
}

fn append_lines(text: &mut String, title: &str, lines: &[String]) {
    for (number, line) in lines.iter().enumerate() {
        let title = if number == 0 { title } else { "" };
        let _ = writeln!(text, "  {title:<width$}{line}", width = INDENT - 2);
    }
}
