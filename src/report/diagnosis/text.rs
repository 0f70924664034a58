//! A diagnosis as text of 80 columns.

use std::fmt::Write as _;

use super::parties::line;
use super::remedies::remedy_text;
use super::sentences::{cause_sentence, conclusion, not_examined_reason};
use super::values::measurement_text;
use crate::diagnosis::{Cause, CauseDetail, Certainty, Diagnosis, Measurement, Party};
use crate::units;
use crate::wrap::{wrap_text, wrap_words};

/// Columns of the text.
const WIDTH: usize = 80;
/// Column in which the values of a line begin.
const INDENT: usize = 13;
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
    let _ = writeln!(
        text,
        "{watched} watched until {}: {verdict}",
        diagnosis.time
    );
    for line in wrap_text(&conclusion(diagnosis), WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    match diagnosis.causes.first() {
        Some(cause) => append_cause(&mut text, cause),
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

fn append_cause(text: &mut String, cause: &Cause) {
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
    append(text, "since", &format!("{} or earlier", cause.since));
    for remedy in &cause.remedies {
        append_command(text, "do", &remedy_text(remedy).line());
    }
    if cause.certainty == Certainty::Probable {
        append(
            text,
            "certainty",
            "probable: it is what happened at the same time; as root, single requests of the busiest device are traced as proof",
        );
    }
}

fn append_evidence(text: &mut String, evidence: &[Measurement]) {
    for measurement in evidence {
        let value = measurement_text(measurement);
        let source = measurement.quantity.source();
        append(text, "evidence", &format!("{value:<46} {source}"));
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
    append_lines(text, title, &preserve_columns(content));
}

/// As [`append`]; a command stays whole, so that it can be copied.
fn append_command(text: &mut String, title: &str, content: &str) {
    append_lines(text, title, &wrap_words(content, usize::MAX));
}

fn preserve_columns(content: &str) -> Vec<String> {
    match content.chars().count() <= WIDTH - INDENT {
        true => vec![content.to_owned()],
        false => wrap_text(content, WIDTH - INDENT),
    }
}

fn append_lines(text: &mut String, title: &str, lines: &[String]) {
    for (number, line) in lines.iter().enumerate() {
        let title = if number == 0 { title } else { "" };
        let _ = writeln!(text, "  {title:<width$}{line}", width = INDENT - 2);
    }
}
